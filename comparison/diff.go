package comparison

import (
	"fmt"
	"strings"

	"refundlab/evidence"
)

// Change is a cell whose verdict, status or ledger differs between two runs.
type Change struct {
	Cell        evidence.Cell
	Before, Now string
}

// Diff lists the cells that changed from one run to another, in the order of the matrices. A cell that one of them lacks is a
// change too.
func Diff(before, now Result) []Change {
	old := map[evidence.Cell]string{}
	for _, trial := range before.Trials {
		old[trial.Cell] = outcome(trial)
	}
	var changes []Change
	for _, trial := range now.Trials {
		was, known := old[trial.Cell]
		delete(old, trial.Cell)
		if !known {
			was = "no such cell"
		}
		if is := outcome(trial); was != is {
			changes = append(changes, Change{trial.Cell, was, is})
		}
	}
	for _, trial := range before.Trials {
		if was, gone := old[trial.Cell]; gone {
			changes = append(changes, Change{trial.Cell, was, "no such cell"})
		}
	}
	return changes
}

func outcome(j Judged) string {
	var checks []string
	for _, finding := range j.Findings {
		checks = append(checks, finding.Check)
	}
	text := string(j.Verdict)
	if len(checks) > 0 {
		text += " (" + strings.Join(unique(checks), ", ") + ")"
	}
	if j.Measures.Steps != nil {
		text += fmt.Sprintf(": %s, %d ledger entries", strings.Join(j.Measures.Statuses, ", "), j.Measures.Entries)
	}
	return text
}
