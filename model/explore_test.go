package model

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

func TestProbe(t *testing.T) {
	c, _ := strconv.Atoi(os.Getenv("CLAIMS"))
	for _, p := range refund.Profiles() {
		for _, rounds := range []bool{false, true} {
			if p.Shared && rounds {
				continue
			}
			if want := os.Getenv("PROF"); want != "" && want != string(p.Name) {
				continue
			}
			x, err := Explore(Space{Profile: p.Name, Rounds: rounds, Bounds: Bounds{Claims: c, Rounds: 2, Settlements: 1}, Rules: RealRules()})
			require.NoError(t, err)
			t.Log(x)
			if x.Found != nil {
				t.Error(x.Found.Invariant)
				for i, l := range x.Found.Story {
					t.Log(i+1, l)
				}
			}
		}
	}
}

func TestControlsProbe(t *testing.T) {
	for _, c := range Controls() {
		x, err := Explore(c.Space())
		require.NoError(t, err)
		if x.Found == nil {
			t.Errorf("%s NOT FOUND %s", c.Name, x)
			continue
		}
		if x.Found.Invariant != c.Invariant {
			t.Errorf("%s found %s", c.Name, x.Found.Invariant)
		}
		t.Log(c.Name, x)
		for i, l := range x.Found.Story {
			t.Log(i+1, l)
		}
	}
}
