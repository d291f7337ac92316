package model

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

// All profiles, both kinds of ownership: no order of steps within the bounds violates an invariant, and from every state one
// undisturbed worker brings the run to an end. The largest space is cut down here; "lab model" explores it whole.
func TestNoOrderOfStepsViolatesAnInvariant(t *testing.T) {
	for _, space := range Spaces() {
		t.Run(fmt.Sprintf("%s under %s, %d resets", space.Profile, space.Ownership(), space.Bounds.Resets), func(t *testing.T) {
			t.Parallel()
			if space.Rounds && space.Profile == refund.ProfileRetention {
				space.Bounds = Bounds{Claims: 2, Rounds: 1, Resets: space.Bounds.Resets}
			}
			x, err := Explore(space)
			require.NoError(t, err)
			require.Nil(t, x.Found, "%v", x.Found)
			require.Greater(t, x.States, 1000, "a space that is as small as that holds no story")
			t.Log(x)
		})
	}
}

// A control that is not found means that the explorer is blind. What is found must be a story, and a shortest one: with one
// step less nothing is violated.
func TestEveryChangeOfTheRulesIsFound(t *testing.T) {
	for _, control := range Controls() {
		t.Run(control.Name+" under "+control.Space().Ownership(), func(t *testing.T) {
			t.Parallel()
			x, err := Explore(control.Space())
			require.NoError(t, err)
			require.NotNil(t, x.Found, control.Title)
			require.Equal(t, control.Invariant, x.Found.Invariant)
			require.Contains(t, x.Found.Story[len(x.Found.Story)-1], control.Invariant)
			require.NotContains(t, x.Found.Story, "?", "every step is told")
			require.GreaterOrEqual(t, len(x.Found.Story)-1, x.Depth)
			require.LessOrEqual(t, len(x.Found.Story)-1, x.Depth+1, "an opening sentence at most is beside the steps")
		})
	}
}

func TestTheStoryOfASecondSend(t *testing.T) {
	for _, control := range Controls() {
		if control.Name != "second-send-after-look-up" || control.Rounds {
			continue
		}
		x, err := Explore(control.Space())
		require.NoError(t, err)
		require.Equal(t, []string{
			"worker A claims the run under generation 1; by what is recorded its next step is PROPOSE",
			"worker A records the proposal and leaves the run to a person",
			"a person approves what was shown: ACCEPTED",
			"worker A claims the run under generation 2; by what is recorded its next step is SEND",
			"worker A records the intent to SEND",
			"the lease is over; its owner does not know",
			"worker B claims the run under generation 3; by what is recorded its next step is SEND",
			"worker A sends the refund",
			"worker B records the intent to SEND",
			"worker B sends the refund",
			"the refund sent under fence 2.0 arrives; the provider commits entry 1",
			"the refund sent under fence 3.0 arrives; the provider commits entry 2",
			"the ledger holds two entries for one operation: I1",
		}, x.Found.Story)
	}
}

// Each protection is looked for where it stands: one that both engines have, in both of their ways to own a run.
func TestAChangeIsLookedForUnderEachOwnershipThatItAppliesTo(t *testing.T) {
	found := map[string][]string{}
	for _, control := range Controls() {
		found[control.Name] = append(found[control.Name], control.Space().Ownership())
	}
	require.Len(t, found, len(changes), "two changes have one name")
	for _, c := range changes {
		switch c.under {
		case both:
			require.Equal(t, []string{"leases", "rounds"}, found[c.name])
		case leases:
			require.Equal(t, []string{"leases"}, found[c.name])
		default:
			require.Equal(t, []string{"rounds"}, found[c.name])
		}
	}
}

// A key is compared and hashed as memory, millions of times.
func TestAKeyHasNoPadding(t *testing.T) {
	require.Equal(t, unsafe.Sizeof(core{})+keyOwners*unsafe.Sizeof(owner{})+keyWire*unsafe.Sizeof(message{}), unsafe.Sizeof(key{}))
	require.Equal(t, uintptr(4+6), unsafe.Sizeof(owner{}))
	require.Equal(t, uintptr(4+4), unsafe.Sizeof(message{}))
}

func TestAnUnknownProfileIsRefused(t *testing.T) {
	_, err := Explore(Space{Profile: "none", Rules: RealRules()})
	require.Equal(t, refund.CodeInvalidProfile, refund.CodeOf(err))
	_, err = Check(Trace{Profile: "none"})
	require.Equal(t, refund.CodeInvalidProfile, refund.CodeOf(err))
}
