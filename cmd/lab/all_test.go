package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A slice lets the power failures end with 0 where they could not be played. Its table must not read like a pass.
func TestAStageThatWasNotRunDoesNotLookLikeAPass(t *testing.T) {
	can := func() error { return nil }
	cannot := func() error { return errors.New("this machine has no FUSE") }
	var power []string
	for _, list := range [][][]string{sliceStages(1), stages(1)} {
		for _, args := range list {
			if args[0] == "power" {
				power = args
				require.Equal(t, "not run (0): this machine has no FUSE", stageStatus(args, 0, cannot))
				continue
			}
			require.Equal(t, "0", stageStatus(args, 0, cannot), "it needs no FUSE")
		}
		require.NotNil(t, power)
	}
	require.Equal(t, "0", stageStatus(power, 0, can))
	require.Equal(t, "1", stageStatus(power, 1, can))
}

func TestTheEndOfAStageIsKeptByWholeLines(t *testing.T) {
	for name, c := range map[string]struct{ written, kept []string }{
		"little":                  {[]string{"one\n", "two"}, []string{"one\n", "two"}},
		"more than it holds":      {[]string{strings.Repeat("x", tailBytes), "y\n", "one\n", "two"}, []string{"one\n", "two"}},
		"to the byte":             {[]string{"gone\n", strings.Repeat("x", tailBytes-1), "\n"}, []string{strings.Repeat("x", tailBytes-1), "\n"}},
		"one line without an end": {[]string{"gone", strings.Repeat("x", tailBytes)}, []string{strings.Repeat("x", tailBytes)}},
	} {
		t.Run(name, func(t *testing.T) {
			last := &tail{}
			for _, text := range c.written {
				_, err := fmt.Fprint(last, text)
				require.NoError(t, err)
			}
			require.Equal(t, strings.Join(c.kept, ""), last.String())
		})
	}
}
