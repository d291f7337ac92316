package evidence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
)

func TestWhatATrialWithAPowerFailureMustShow(t *testing.T) {
	found := func(checks ...string) (list []evidence.PowerFinding) {
		for _, check := range checks {
			list = append(list, evidence.PowerFinding{Check: check})
		}
		return list
	}
	for _, c := range []struct {
		name  string
		trial evidence.PowerTrial
		right bool
	}{
		{"the product holds", evidence.PowerTrial{Synchronous: "FULL", Breaks: "I4", Verdict: "pass"}, true},
		{"the product breaks", evidence.PowerTrial{Synchronous: "FULL", Breaks: "I4", Verdict: "fail", Findings: found("I4")}, false},
		{"the product's trial did not take place", evidence.PowerTrial{Synchronous: "FULL", Verdict: "invalid", Findings: found("EVIDENCE")}, false},
		{"a control is found by its name", evidence.PowerTrial{Synchronous: "OFF", Breaks: "I4", Verdict: "fail", Findings: found("I2", "I4")}, true},
		{"a control is found by another", evidence.PowerTrial{Synchronous: "OFF", Breaks: "I4", Verdict: "fail", Findings: found("I2")}, false},
		{"a control is not found", evidence.PowerTrial{Synchronous: "NORMAL", Breaks: "I4", Verdict: "pass"}, false},
		{"a control's trial did not take place", evidence.PowerTrial{Synchronous: "OFF", Breaks: "I4", Verdict: "fail", Findings: found("I4", "EVIDENCE")}, false},
		{"a control's trial decides nothing", evidence.PowerTrial{Synchronous: "OFF", Breaks: "I10", Verdict: "inconclusive", Findings: found("I10")}, false},
		{"a loss that contradicts nobody", evidence.PowerTrial{Synchronous: "OFF", Verdict: "pass"}, true},
		{"a loss that should contradict nobody", evidence.PowerTrial{Synchronous: "OFF", Verdict: "fail", Findings: found("I1")}, false},
		{"a loss of which nobody knows", evidence.PowerTrial{Synchronous: "NORMAL", Verdict: "inconclusive", Findings: found("HISTORY")}, false},
		{"nothing was run", evidence.PowerTrial{Synchronous: "FULL", Verdict: evidence.NotRun}, false},
		{"no control was run", evidence.PowerTrial{Synchronous: "OFF", Verdict: evidence.NotRun}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.right, c.trial.Right())
			require.Equal(t, c.right, evidence.Power{Trials: []evidence.PowerTrial{c.trial}}.Passed())
		})
	}
	require.False(t, evidence.Power{}.Passed(), "no trial shows nothing")
}
