package comparison

import (
	"fmt"
	"slices"
	"strings"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// I11: a run that the matrix lets end has ended, within the stated bound counted from the last thing that kept it from going
// on. A trial that broke off shows only what had already taken longer than the bound.
func endedInTime(t *trial) []string {
	var violations []string
	bound := refund.Instant(t.Trial.Budget.BoundMS)
	for _, r := range t.present() {
		status := r.export.View.Status
		ended, over := t.endedAt(r)
		if !over {
			ended = t.Trial.EndedAt
		}
		took := ended - t.freeSince(r, ended)
		switch {
		case over && took > bound:
			violations = append(violations, fmt.Sprintf("run %s took %d ms from the last event that it waited for to its end; the bound is %d ms", r.name, took, bound))
		case !over && !status.Terminal() && status != refund.StatusUnknown && refund.RunStatus(r.end.Status).Terminal() && (t.Trial.RestSeq != 0 || took > bound):
			violations = append(violations, fmt.Sprintf("run %s is %s, %d ms after the last event that it waited for, and never reached %s", r.name, status, took, r.end.Status))
		}
	}
	return violations
}

// I11, the last step: the receiver heard of each end.
func endsAreTold(t *trial) []string {
	if len(t.Provider.Orders) == 0 {
		return nil // the dump is empty, which completeness says
	}
	var violations []string
	for _, r := range t.present() {
		ended, over := t.endedAt(r)
		// A run that had fallen silent may end between the rest and the end of the workers, who then tell nobody.
		cutOff := t.Trial.RestSeq == 0 || slices.ContainsFunc(t.crossings(faults.Outcome, faults.Before, r.id), func(c evidence.Crossing) bool { return c.Seq > t.Trial.RestSeq })
		if !over || cutOff && t.Trial.EndedAt-ended <= refund.Instant(t.Trial.Budget.BoundMS) {
			continue
		}
		told := filter(t.Provider.Notices, func(n evidence.NoticeArrival) bool { return n.OperationID == r.id })
		if len(told) == 0 {
			violations = append(violations, fmt.Sprintf("run %s is %s and no notice of it ever arrived", r.name, statusText(r)))
		}
	}
	return violations
}

// endedAt is when the run's end became durable.
func (r run) endedAt() (refund.Instant, bool) {
	if !r.export.View.Status.Terminal() {
		return 0, false
	}
	for _, kind := range []refund.FactKind{refund.FactOutcome, refund.FactExpiry, refund.FactSettlement, refund.FactClosed} {
		if facts := r.factsOf(kind); len(facts) > 0 {
			return facts[len(facts)-1].At, true
		}
	}
	return 0, false
}

// endedAt is when the run's end became durable by the harness's clock. Where the script sets clocks, the time in a record is
// anybody's: there the first attempt to tell of the end, which follows it at once, says when it was.
func (t *trial) endedAt(r run) (refund.Instant, bool) {
	at, over := r.endedAt()
	told := t.crossings(faults.NoticeCall, faults.Before, r.id)
	if over && len(told) > 0 && slices.ContainsFunc(t.Trial.Steps, func(s evidence.Step) bool { return strings.HasPrefix(s.Text, string(faults.DoClock)+" ") }) {
		at = told[0].At
	}
	return at, over
}

// freeSince is the last moment before the end at which something else than the engine moved the run: its intake, a decision, a
// person's settlement, a fault and its end, the start of a worker or a far side, a step of the script or a command that is about it.
func (t *trial) freeSince(r run, ended refund.Instant) refund.Instant {
	free := r.facts.Intake.At
	consider := func(at refund.Instant) {
		if at > free && at <= ended {
			free = at
		}
	}
	for _, kind := range []refund.FactKind{refund.FactDecision, refund.FactVerdict} {
		for _, fact := range r.factsOf(kind) {
			consider(fact.At)
		}
	}
	for _, fired := range t.Trial.Fired {
		consider(fired.At)
		consider(t.timeOf(fired.DoneSeq))
	}
	for _, p := range t.Trial.Processes {
		if p.Role != "client" { // a client counts where it speaks of this run
			consider(t.timeOf(p.StartSeq))
		}
	}
	for _, answer := range t.Answers {
		if answer.Run == r.name && answer.Verb != string(faults.DoStatus) {
			consider(t.timeOf(answer.StartSeq))
		}
	}
	for _, step := range t.Trial.Steps {
		if t.moves(step, r) {
			consider(t.timeOf(step.StartSeq))
			consider(t.timeOf(step.EndSeq))
		}
	}
	// An expiry waits for its deadline, which nothing in the engine can bring forward.
	if len(r.factsOf(refund.FactExpiry)) > 0 {
		consider(r.facts.Intake.At + refund.Instant(r.facts.Intake.Terms.DecideWithin))
	}
	return free
}

// moves tells whether a step of the script can have moved a run. One that only waits or reads moves nothing, and what is done about
// another run is no reason to forget this one: in a round of dozens there is always something being done about another.
func (t *trial) moves(step evidence.Step, r run) bool {
	words := strings.Fields(step.Text)
	named := func(r run) bool { return slices.Contains(words[1:], r.name) }
	switch {
	case step.Waits || len(words) == 0 || words[0] == string(faults.DoStatus):
		return false
	case named(r):
		return true
	}
	return !slices.ContainsFunc(t.runs, named)
}
