package comparison

import (
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
)

func TestTheModelSectionSaysWhatWasExploredAndFound(t *testing.T) {
	story := []string{"worker A sends the refund", "the ledger holds two entries for one operation: I1"}
	m := evidence.Model{
		Command: "lab model",
		Spaces: []evidence.ModelSpace{
			{Profile: "full", Ownership: "leases", Claims: 3, Settlements: 1, States: 10, Transitions: 20, Depth: 5, ElapsedMS: 7},
			{Profile: "opaque", Ownership: "rounds", Claims: 2, Rounds: 2, Settlements: 1, States: 30, Transitions: 40, Depth: 6, ElapsedMS: 8},
		},
		Controls: []evidence.ModelControl{
			{Name: "second-send-after-look-up", Title: "sent again", Profile: "lookup", Ownership: "leases", Invariant: "I1", Found: true, States: 9, Story: story},
			{Name: "blind", Title: "nothing", Profile: "full", Ownership: "leases", Invariant: "I3", States: 99},
		},
	}
	text := ModelSection(m)
	require.Contains(t, text, "visited 40 states")
	require.Contains(t, text, "| full | leases | 3 | - | 1 | - | 10 | 20 | 5 | 7 ms | nothing |")
	require.Contains(t, text, "| `second-send-after-look-up` | sent again | lookup | leases | I1 | 9 states | 1 |")
	require.Contains(t, text, "| `blind` | nothing | full | leases | I3 | **not found** | 0 |")
	require.Contains(t, text, "1. worker A sends the refund\n2. the ledger holds two entries")
	require.False(t, m.Passed(), "a control was not found")

	m.Controls = m.Controls[:1]
	require.True(t, m.Passed())
	m.Spaces[0].Violated, m.Spaces[0].Story = "I1", story
	require.False(t, m.Passed())
	require.Contains(t, ModelSection(m), "**full under leases violates I1**")
	require.False(t, evidence.Model{}.Passed(), "nothing was explored")
}
