package comparison

import (
	"fmt"
	"slices"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// permittedEnd compares the end of the trial with the one that the matrix permits.
func permittedEnd(t *trial) []string {
	var violations []string
	for _, r := range t.runs {
		for _, text := range t.againstEnd(r, r.end) {
			if len(r.end.Or) > 0 {
				text += fmt.Sprintf(", and none of %d other permitted ends fits", len(r.end.Or))
			}
			violations = append(violations, text)
		}
	}
	violations = append(violations, patience(t)...)
	violations = append(violations, permittedVerdicts(t)...)
	return append(violations, permittedAnswers(t)...)
}

// reached is the permitted end that a run has reached: of several the first that fits, and the first of all where none does.
func (t *trial) reached(r run) faults.End {
	for _, end := range append([]faults.End{r.end}, r.end.Or...) {
		if end.Absent == r.absent && len(t.againstEnd(r, end)) == 0 {
			end.Or = r.end.Or
			return end
		}
	}
	return r.end
}

// againstEnd lists in what a run differs from a permitted end. Of a run of which nothing is known it says nothing.
func (t *trial) againstEnd(r run, end faults.End) []string {
	var differences []string
	add := func(format string, args ...any) { differences = append(differences, fmt.Sprintf(format, args...)) }
	switch {
	case r.absent:
		return nil
	case end.Absent:
		add("run %s was to leave nothing at intake, and is %s", r.name, statusText(r))
		return differences
	}
	if string(r.export.View.Status) != end.Status || string(r.export.View.Reason) != end.Reason {
		add("run %s ended %s, permitted is %s", r.name, statusText(r), endText(end))
	}
	if n := len(t.entries(r.id)); n != end.Entries && t.unscoped(r.id) == "" {
		add("run %s has %d ledger entries, permitted are %d", r.name, n, end.Entries)
	}
	if n := len(t.received("submit", r.id)); n < end.LeastSubmits || n > end.MostSubmits {
		add("run %s: the provider received %d submits, permitted are %s", r.name, n, span(end.LeastSubmits, end.MostSubmits))
	}
	if n := len(t.bill(r.id)); n < end.LeastModelCalls || end.MostModelCalls > 0 && n > end.MostModelCalls {
		add("run %s: the model was called %d times, permitted are %s", r.name, n, span(end.LeastModelCalls, end.MostModelCalls))
	}
	return differences
}

func endText(end faults.End) string {
	if end.Reason != "" {
		return fmt.Sprintf("%s(%s)", end.Status, end.Reason)
	}
	return end.Status
}

func span(least, most int) string {
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

// patience asks that who was told when to come back came no earlier.
func patience(t *trial) []string {
	toProvider := []faults.Boundary{faults.OrderCall, faults.ProviderCall, faults.LookupCall, faults.CloseCall}
	var violations []string
	for _, p := range t.expect.Patience {
		told := filter(t.crossings(p.Boundary, faults.After, ""), func(c evidence.Crossing) bool { return c.Detail[faults.DetailStatus] == p.Status })
		if len(told) == 0 {
			continue // that it was told is a witness's business
		}
		for _, c := range t.Trace {
			same := c.Point.Boundary == p.Boundary || slices.Contains(toProvider, p.Boundary) && slices.Contains(toProvider, c.Point.Boundary)
			waited := c.At - told[0].At
			if c.Seq > told[0].Seq && c.Point.When == faults.Before && same && (c.Operation == told[0].Operation || c.Operation == "") && int64(waited) < p.LeastMS {
				violations = append(violations, fmt.Sprintf("%s came back at %s %d ms after a %s that asked for %d ms", c.Process, c.Point, waited, p.Status, p.LeastMS))
				break
			}
		}
	}
	return violations
}

func permittedVerdicts(t *trial) []string {
	recorded := map[string]refund.VerdictCode{}
	for _, r := range t.present() {
		for _, v := range r.facts.Verdicts {
			recorded[v.DecisionID] = v.Code
		}
	}
	var violations []string
	for _, id := range sortedKeys(t.expect.Verdicts) {
		if want := t.expect.Verdicts[id]; string(recorded[id]) != want {
			violations = append(violations, fmt.Sprintf("decision %s got verdict %q, permitted is %q", id, recorded[id], want))
		}
	}
	return violations
}

func permittedAnswers(t *trial) []string {
	var violations []string
	for _, process := range sortedKeys(t.expect.Answers) {
		want := t.expect.Answers[process]
		of := filter(t.Answers, func(a evidence.Answer) bool { return a.Process == process })
		if len(of) != 1 {
			violations = append(violations, fmt.Sprintf("command %s has %d answers in the evidence, there must be one", process, len(of)))
		} else if got := codeOf(of[0]); got != want {
			violations = append(violations, fmt.Sprintf("command %s (%s) ended with %q, permitted is %q", process, of[0].Verb, got, want))
		}
	}
	return violations
}

// nothingUntraced compares what arrived with what was traced: a copy that no boundary saw was sent behind the suite's back,
// for instance by a transport that resends silently.
func nothingUntraced(t *trial) []string {
	var violations []string
	for _, r := range t.present() {
		for _, call := range []struct {
			verb     string
			boundary faults.Boundary
		}{{"submit", faults.ProviderCall}, {"close", faults.CloseCall}} {
			// Another caller's use of the operation id bears another digest, where the script plays one.
			own := filter(t.received(call.verb, r.id), func(x evidence.Received) bool {
				return x.Digest == "" || x.Digest == digestOf(r) || !t.played(faults.DoForeign, r.name)
			})
			arrived, traced := len(own), t.sent(call.boundary, r.id)
			if call.verb == "submit" {
				traced += t.doubledAt(faults.ProviderRecv, r.id)
			}
			if arrived > traced {
				violations = append(violations, fmt.Sprintf("run %s: %d requests to %s arrived at the provider, %d were traced", r.name, arrived, call.verb, traced))
			}
		}
	}
	billed := map[refund.OperationID]int{}
	for _, request := range t.Provider.Bill {
		billed[request.OperationID]++
	}
	for _, id := range sortedKeys(billed) { // each by itself: what one never sent is no room for another's
		if arrived, traced := billed[id], t.sent(faults.ModelCall, id); arrived > traced {
			violations = append(violations, fmt.Sprintf("%d requests are on the model's bill for operation %q (%s), %d were traced", arrived, id, t.nameOf(id), traced))
		}
	}
	return violations
}

// doubledAt counts the copies that the schedule itself made of a run's messages at a boundary.
func (t *trial) doubledAt(boundary faults.Boundary, id refund.OperationID) int {
	return len(filter(t.crossings(boundary, faults.Before, id), func(c evidence.Crossing) bool { return c.Reply == faults.Duplicate }))
}

// sent counts an operation's messages that left at a boundary.
func (t *trial) sent(boundary faults.Boundary, id refund.OperationID) int {
	n := 0
	for _, c := range t.crossings(boundary, faults.Before, "") {
		if _, known := t.process(c.Process); !known || c.Operation != string(id) || !left(c) {
			continue // unknown is another caller that the script plays
		}
		n++
		if c.Reply == faults.Duplicate {
			n++
		}
	}
	return n
}

// left tells whether a message that was announced did leave. A process that was never answered died at the point.
func left(c evidence.Crossing) bool { return c.Reply != "" && !wentNowhere(c) }

// wentNowhere tells whether a fault kept a message from its far side.
func wentNowhere(c evidence.Crossing) bool { return c.Reply == faults.Refuse || c.Reply == faults.Drop }
