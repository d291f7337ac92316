package comparison

import (
	"fmt"
	"slices"

	"refundlab/evidence"
	"refundlab/faults"
)

// Verdict is what the judge says of one cell of the matrix.
type Verdict string

// The verdicts. Only Pass and NotApplicable let a run succeed; the zero value is none of them.
const (
	Pass          Verdict = "pass"
	Fail          Verdict = "fail"           // an invariant or the permitted end is violated
	Invalid       Verdict = "invalid"        // the trial did not take place as planned, or its evidence is incomplete
	Inconclusive  Verdict = "inconclusive"   // the trial took place, and its evidence does not decide an invariant
	NotApplicable Verdict = "not applicable" // with a reason
)

// Finding is one reason for a verdict. Check is the invariant ("I1"), "END" for the permitted end, "TRACE" for a request that
// nobody traced, "HISTORY" for answers that no order of the calls explains, "EVIDENCE" for what makes a trial invalid, or "SCOPE" for what makes it not applicable.
type Finding struct {
	Check string
	Text  string // one sentence with the values
}

// Judged is one cell of the matrix with its verdict.
type Judged struct {
	evidence.Cell
	Verdict  Verdict
	Findings []Finding
	Again    bool     // it is invalid for nothing but a fault that did not hit or a machine that was too busy
	Measures Measures // the zero value where no evidence could be read
}

// Result is a whole run, judged.
type Result struct {
	Suite     evidence.Suite
	Scenarios []faults.ScenarioText // those with a cell in this run
	Trials    []Judged              // in the order of the matrix, then what was found outside it
	Hash      string                // of the evidence, see HashEvidence
}

// Judge judges the evidence below dir against the matrix, narrowed to the part that the run was asked for.
// Errors: only where there is no run to speak of (no readable suite.json); everything else is a verdict.
func Judge(dir string, matrix faults.Matrix) (Result, error) {
	suite, err := evidence.LoadSuite(dir)
	if err != nil {
		return Result{}, err
	}
	found, err := evidence.Cells(dir)
	if err != nil {
		return Result{}, err
	}
	result := Result{Suite: suite}
	if result.Hash, err = HashEvidence(dir); err != nil {
		return Result{}, err
	}
	expected := map[evidence.Cell]bool{}
	for _, expectation := range Select(matrix.Cells, suite.Filter) {
		cell := CellOf(expectation)
		expected[cell] = true
		result.Trials = append(result.Trials, judgeCell(dir, suite, cell, expectation, slices.Contains(found, cell)))
	}
	for _, cell := range found {
		if !expected[cell] {
			result.Trials = append(result.Trials, Judged{Cell: cell, Verdict: Invalid,
				Findings: []Finding{{"EVIDENCE", "the matrix has no such cell: nobody said what this trial may show"}}})
		}
	}
	for _, text := range matrix.Scenarios {
		if slices.ContainsFunc(result.Trials, func(j Judged) bool { return j.Scenario == text.Name }) {
			result.Scenarios = append(result.Scenarios, text)
		}
	}
	return result, nil
}

// Passed tells whether the run succeeds: it has trials, and each cell passes or is not applicable.
func (r Result) Passed() bool {
	passes := 0
	for _, trial := range r.Trials {
		switch trial.Verdict {
		case Pass:
			passes++
		case NotApplicable:
		default:
			return false
		}
	}
	return passes > 0
}

// CellOf names the cell that an expectation is about.
func CellOf(e faults.Expectation) evidence.Cell {
	return evidence.Cell{Scenario: e.Scenario, Engine: e.Engine, Profile: profileName(e.Profile), Arm: evidence.Arm(e.Arm)}
}

// Select returns the expectations that a filter asks for, in their order.
func Select(cells []faults.Expectation, f evidence.Filter) []faults.Expectation {
	asked := func(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }
	var selected []faults.Expectation
	for _, cell := range cells {
		if asked(f.Scenarios, cell.Scenario) && asked(f.Engines, cell.Engine) && asked(f.Profiles, cell.Profile) {
			selected = append(selected, cell)
		}
	}
	return selected
}

func judgeCell(dir string, suite evidence.Suite, cell evidence.Cell, expectation faults.Expectation, found bool) Judged {
	judged := Judged{Cell: cell}
	if expectation.NotApplicable != "" {
		judged.Verdict, judged.Findings = NotApplicable, []Finding{{"SCOPE", expectation.NotApplicable}}
		if found {
			judged.Verdict, judged.Findings = Invalid, []Finding{{"EVIDENCE", "a trial is there although the cell is not applicable: " + expectation.NotApplicable}}
		}
		return judged
	}
	want, listed := suite.Trials[cell.Dir()]
	record, err := evidence.Load(dir, cell, want)
	switch {
	case err != nil:
		judged.Verdict, judged.Findings = Invalid, []Finding{{"EVIDENCE", err.Error()}}
		return judged
	case !listed:
		judged.Verdict, judged.Findings = Invalid, []Finding{{"EVIDENCE", evidence.SuiteFile + " does not list the trial"}}
		return judged
	}
	return JudgeRecord(record, expectation)
}

// JudgeRecord judges one trial whose evidence is in memory.
func JudgeRecord(record evidence.Record, expectation faults.Expectation) Judged {
	t := newTrial(record, expectation)
	judged := Judged{Cell: record.Trial.Cell, Measures: measure(t)}
	doubts := unsound(t)
	reasons := doubts.all()
	// A trial that did not take place as planned says nothing in favour of anyone. What it shows against somebody stands.
	for _, check := range checks {
		if check.needs == asPlanned && len(reasons) > 0 || check.needs == atRest && len(doubts.incomplete) > 0 {
			continue
		}
		for _, text := range check.run(t) {
			judged.Findings = append(judged.Findings, Finding{check.id, text})
		}
	}
	failed := len(judged.Findings) > 0
	for _, text := range reasons {
		judged.Findings = append(judged.Findings, Finding{"EVIDENCE", text})
	}
	switch {
	case failed:
		judged.Verdict = Fail
	case len(reasons) > 0:
		judged.Verdict = Invalid
		judged.Again = len(doubts.incomplete)+len(doubts.unplanned) == 0
	default:
		judged.Verdict, judged.Findings = undecided(t)
	}
	return judged
}

// undecided is the verdict on a sound trial without a violation: it passes unless its evidence cannot decide an invariant or
// lies outside the scope in which one was promised.
func undecided(t *trial) (Verdict, []Finding) {
	var silent, outside []Finding
	for _, run := range t.runs {
		if !run.absent && len(run.export.Facts) == 0 {
			silent = append(silent, Finding{"I10", fmt.Sprintf("the export of run %s lists no durable fact, so verdicts, fences and the proposal cannot be followed", run.name)})
		}
		if reason := t.excused(run); reason != "" {
			outside = append(outside, Finding{"SCOPE", reason})
		}
	}
	for _, name := range undecidedHistories(t) {
		silent = append(silent, Finding{"HISTORY", fmt.Sprintf("the order of the calls about run %s was not found in %s, and not excluded either", name, historyWithin)})
	}
	for _, text := range notFollowed(t) {
		silent = append(silent, Finding{"MODEL", text})
	}
	switch {
	case len(silent) > 0:
		return Inconclusive, silent
	case len(outside) > 0:
		return NotApplicable, outside
	}
	return Pass, nil
}
