package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/comparison"
	"refundlab/evidence"
)

// A control's worker that panics on its first task leaves a run that never ends: that is no find, and the next play forgets it.
func TestWhatEndedByItselfStandsInTheResultOfAControl(t *testing.T) {
	play := func(status string) (evidence.Record, comparison.Judged) {
		record := evidence.Record{Trial: evidence.Trial{Processes: []evidence.Process{{Name: "a", Role: "worker", WaitStatus: status}}}}
		judged := comparison.Judged{Verdict: comparison.Fail, Findings: []comparison.Finding{{Check: "I11", Text: "run r1 is PENDING"}}}
		if status != "" {
			judged.Findings = append(judged.Findings, comparison.Finding{Check: "EVIDENCE", Text: "process a ended by itself: " + status})
		}
		return record, judged
	}
	trial := evidence.ControlTrial{Expected: []string{"I11"}}
	record, judged := play("exit 2")
	summarised(&trial, record, judged)
	require.False(t, trial.Caught())
	require.Equal(t, []string{"I11", "EVIDENCE"}, trial.Reported)
	require.Equal(t, []string{"process a ended by itself: exit 2"}, trial.Unsound)
	record, judged = play("")
	summarised(&trial, record, judged)
	require.True(t, trial.Caught())
	require.Empty(t, trial.Unsound)
}
