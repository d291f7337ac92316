package exploration

import (
	"fmt"
	"slices"

	"refundlab/evidence"
	"refundlab/refund"
)

// Verdicts of a result beside those of the judge.
const (
	Pass         = "pass"
	Fail         = "fail"
	Invalid      = "invalid"
	Inconclusive = "inconclusive"
	NotReached   = "not reached" // in no play did all faults hit, and nothing else was amiss in any
)

// Result is one line of a run's results: a trial, played, and what it tells the trials that follow from it.
type Result struct {
	Trial
	// Turn counts plays of the same trial that are compared, from 1; the others' places must be the same to be stable.
	Turn     int      `json:"turn"`
	Verdict  string   `json:"verdict"`
	Findings []string `json:"findings,omitempty"`
	Repeats  int      `json:"repeats,omitempty"` // plays before the last, in which something did not take place
	Earlier  []string `json:"earlier,omitempty"` // findings of these plays
	Status   string   `json:"status,omitempty"`  // of the run at its end, with its reason
	Entries  int      `json:"entries"`           // in the ledger
	Submits  int      `json:"submits"`           // received by the provider
	TookMS   int64    `json:"took_ms"`
	Evidence string   `json:"evidence"` // SHA-256 of the trial's trial.json, which holds those of its other files
	// Places are those after the last fault's hit, or of the flow's own part without a fault.
	Places []Place `json:"places,omitempty"`
}

// ID names a result among all.
func (r Result) ID() string { return fmt.Sprintf("%s#%d", r.Key(), r.Turn) }

// Cell is the name of the trial's evidence.
func (r Result) Cell() evidence.Cell {
	name := r.Name()
	if r.Turn > 1 {
		name += fmt.Sprintf("~turn-%d", r.Turn)
	}
	return evidence.Cell{Scenario: name, Engine: r.Engine, Profile: refund.ProfileName(r.Profile), Arm: evidence.ArmFault}
}

// About says for a person what the trial is.
func (t Trial) About() string {
	text := "Flow " + t.Flow
	for i, f := range t.Faults {
		text += []string{": ", "; then "}[min(i, 1)] + f.String()
	}
	return text + "."
}

// Missed counts the faults of the trial that never fired. One that fired and had no effect is not among them: its place was
// reached.
func (t Trial) Missed(record evidence.Record) int {
	missed := 0
	for i := range t.Faults {
		if !slices.ContainsFunc(record.Trial.Fired, func(f evidence.Fired) bool { return f.Rule == ruleName(i) && !record.Trial.TooLate(f) }) {
			missed++
		}
	}
	return missed
}

// tookPlace tells whether a result says what its trial comes past.
func (r Result) tookPlace() bool { return r.Verdict != Invalid && r.Verdict != NotReached }

// Recovery lists the places of a trial after its last fault had hit; of one without a fault, those of the flow's own part.
func (t Trial) Recovery(record evidence.Record) []Place {
	if len(t.Faults) == 0 {
		flow, err := FlowNamed(t.Flow)
		if err != nil {
			return nil
		}
		places, _ := flow.Places(record)
		return places
	}
	for _, f := range record.Trial.Fired {
		if f.Rule == ruleName(len(t.Faults)-1) {
			return Places(record.Trace, f.Seq)
		}
	}
	return nil
}

// tally is the result as a count of one.
func (r Result) tally() evidence.Tally {
	t := evidence.Tally{Trials: 1, Repeats: r.Repeats}
	switch r.Verdict {
	case Pass:
		t.Passed = 1
	case Fail:
		t.Failed = 1
	case Inconclusive:
		t.Inconclusive = 1
	case NotReached:
		t.NotReached = 1
	default:
		t.Invalid = 1
	}
	return t
}
