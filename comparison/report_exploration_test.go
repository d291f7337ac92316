package comparison

import (
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
)

func TestExplorationSectionNamesHolesAndWhatDidNotPass(t *testing.T) {
	x := evidence.Exploration{
		Command: "lab explore", Jobs: 2, ElapsedMS: 60_000, Unplayed: 3, Pairless: 2, Asked: evidence.ExplorationAsked{Pairs: "all", Seed: 1},
		Unaimed: []evidence.UnaimedPairs{{Engine: "temporal", Profile: "opaque", Recoveries: 40, Pairs: 3, Places: []string{"b at claim.before #3: 2", "b at claim.before #4: 1"}}},
		Samples: []evidence.PairSample{{Engine: "temporal", Population: 900, Drawn: 50, Seed: 1}},
		Groups: []evidence.ExploredGroup{
			{Engine: "temporal", Profile: "full", Flow: "approved", Kind: "freeze", Tally: evidence.Tally{Trials: 1, Passed: 1}, Ends: map[string]int{"CONFIRMED, 1 in the ledger": 1}},
			{Engine: "temporal", Profile: "full", Flow: "approved", Kind: "kill", Tally: evidence.Tally{Trials: 3, Passed: 1, Failed: 1, NotReached: 1, Repeats: 2}, TookMS: 6000, Ends: map[string]int{"CONFIRMED, 1 in the ledger": 3}},
		},
		Points: []evidence.ExploredPoint{
			{Engine: "temporal", Profile: "full", Point: "intake.before", Known: 1, Single: evidence.Tally{Trials: 2, Passed: 1, Failed: 1}, Second: evidence.Tally{Trials: 1, NotReached: 1}},
			{Engine: "temporal", Profile: "full", Point: "claim.before", Why: "this engine has no such boundary"},
			{Engine: "temporal", Profile: "full", Point: "finish.before", Unstable: []string{"a #2 of finish.before, flow approved"}},
		},
		Repeated: []evidence.RepeatedTrial{{Engine: "temporal", Profile: "full", Name: "approved~kill-bob-reply-after-1", Verdict: "pass", Earlier: []string{"play 1: EVIDENCE: rule fault-1 never fired", "play 2: EVIDENCE: too busy"}}},
		Open:     []evidence.ExploredTrial{{Engine: "temporal", Profile: "full", Name: "approved~kill-a-intake-before-1", Verdict: "fail", Findings: []string{"I1: two entries"}}},
	}
	section := ExplorationSection(x)
	for _, line := range []string{
		"| trials | 4, 2 at a time |",
		"| trials a minute | 4 |",
		"| sample, temporal | 50 drawn from 900 pairs, seed 1 |",
		"| **not played** | at least 3 trials, which the budget of time cut off: later parts are made from the traces of these |",
		"| **without pairs** | 2 single faults: a play of theirs did not take place",
		"| temporal | kill | 3 | 1 | 1 | - | - | 1 | 2 | 2.00 s |",
		"| temporal | approved | full | CONFIRMED, 1 in the ledger: 4 |",
		"| intake.before | 1 · 2 + 1, **1 failed**, **1 not reached** |",
		"| claim.before | (a) |",
		"- (a) this engine has no such boundary",
		"| finish.before | **hole** |",
		"| temporal | opaque | 40 | 3 | b at claim.before #3: 2; b at claim.before #4: 1 |",
		"**1 cells are holes: no place is known, and nothing explains it.**",
		"| temporal | a #2 of finish.before, flow approved | full |",
		"| temporal | full | `approved~kill-bob-reply-after-1` | pass | play 1: EVIDENCE: rule fault-1 never fired; play 2: EVIDENCE: too busy |",
		"| fail | temporal | full | `approved~kill-a-intake-before-1` | I1: two entries |",
	} {
		require.Contains(t, section, line)
	}
	require.NotContains(t, section, "Every trial passed")
	x.Open, x.Pairless, x.Repeated, x.Unaimed = nil, 0, nil, nil
	section = ExplorationSection(x)
	require.Contains(t, section, "Every trial passed.")
	require.Contains(t, section, "This run did not keep why.", "results of the time before reasons were kept can still be read")
	require.NotContains(t, section, "without pairs")
	require.NotContains(t, section, "only some recoveries hold")
	x.Groups[1].Repeats = 0
	require.NotContains(t, ExplorationSection(x), "Plays that were repeated")
}
