package comparison

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// Tolerances of I5, in milliseconds. The journal has none: its deadline is read in the transaction that stores the decision.
const (
	// timerShift: the server of Temporal fires a timer up to a second late, and a decision before the firing is in time by its
	// own order of events.
	timerShift = 1000
	// sendLag: between an engine's last check and the moment at which its request is announced.
	sendLag = 250
)

// I5: each entry has one approval behind it: accepted, in time, by another person, for this digest and order version.
func entriesAuthorised(t *trial) []string {
	var violations []string
	for _, entry := range t.Provider.Ledger {
		r, known := t.runOf(entry.OperationID)
		if !known {
			violations = append(violations, fmt.Sprintf("entry %s moved %s under operation %s, of which no run is known", entry.RefundID, entry.Amount, entry.OperationID))
			continue
		}
		for _, text := range t.lacksAuthority(r, entry) {
			violations = append(violations, fmt.Sprintf("entry %s of run %s: %s", entry.RefundID, r.name, text))
		}
	}
	return violations
}

func (t *trial) lacksAuthority(r run, entry evidence.Entry) []string {
	var lacks []string
	add := func(format string, args ...any) { lacks = append(lacks, fmt.Sprintf(format, args...)) }
	accepted := r.verdictsWith(refund.VerdictAccepted)
	decision := r.facts.Decision
	if len(accepted) != 1 || decision == nil {
		add("%d decisions were accepted, there must be one", len(accepted))
		return lacks
	}
	q := r.facts.Intake.Request
	if decision.Choice != refund.ChoiceApprove {
		add("decision %s was to %s", decision.DecisionID, decision.Choice)
	}
	if decision.DecisionID != accepted[0].DecisionID || decision.DecisionID != entry.DecisionID {
		add("the accepted verdict is for decision %q, the run holds %q, the entry names %q", accepted[0].DecisionID, decision.DecisionID, entry.DecisionID)
	}
	if decision.Approver == "" || decision.Approver == q.Requester {
		add("%q asked for it and approved it", q.Requester)
	}
	if text := t.decidedOtherwise(r, *decision); text != "" {
		add("%s", text)
	}
	if want := digestOf(r); decision.Digest != want || entry.Digest != want {
		add("the digest is %.8s, the person approved %.8s, the provider saw %.8s", want, decision.Digest, entry.Digest)
	}
	if r.facts.Proposal == nil || r.facts.Proposal.OrderVersion != decision.OrderVersion {
		add("the person approved order version %d, which was not the one shown", decision.OrderVersion)
	}
	if t.promise.commitChecks && entry.OrderVersion != decision.OrderVersion {
		add("approved for order version %d, committed at version %d", decision.OrderVersion, entry.OrderVersion)
	}
	intake := r.facts.Intake
	decideBy, commitBy := intake.At+refund.Instant(intake.Terms.DecideWithin), intake.At+refund.Instant(intake.Terms.CommitWithin)
	if arrived := r.arrivedAt(accepted[0]); arrived >= decideBy+t.timerShift() {
		add("decision %s arrived at %s, the deadline was %s", decision.DecisionID, arrived, decideBy)
	}
	if t.promise.commitChecks {
		if entry.At >= commitBy {
			add("committed at %s, the deadline was %s", entry.At, commitBy)
		}
	} else if sent, traced := t.sentAt(entry); traced && sent >= commitBy+sendLag {
		add("sent at %s, the deadline was %s", sent, commitBy)
	}
	if !t.promise.commitChecks && entry.OrderVersion != decision.OrderVersion && t.changeWasVisible(r, entry) {
		add("approved for order version %d, sent although the order had changed before it was read for this send, and committed at version %d", decision.OrderVersion, entry.OrderVersion)
	}
	return lacks
}

// decidedOtherwise compares the decision that a run records with the commands that gave it: its person and choice stand in the
// engine's own record. Every command that was told ACCEPTED gave this very decision. Where none was told, one of them must have,
// and not one that was told that its id stands for other content. A run whose request is not in the evidence says nothing.
func (t *trial) decidedOtherwise(r run, d refund.Decision) string {
	if !slices.ContainsFunc(t.answers("request"), func(a evidence.Answer) bool { return a.Run == r.name }) {
		return ""
	}
	same := func(a evidence.Answer) bool { return a.Verb == string(d.Choice) && identityIn(a, "as") == d.Approver }
	possible := 0
	for _, a := range t.answers("approve", "reject") {
		said := replyOf(a)
		switch {
		case a.Run != r.name || cmp.Or(said.DecisionID, identityIn(a, "decision-id")) != d.DecisionID:
		case said.Verdict == refund.VerdictAccepted && !same(a):
			return fmt.Sprintf("decision %s is recorded as %q to %s, %s gave it as %q to %s", d.DecisionID, d.Approver, d.Choice, a.Process, identityIn(a, "as"), a.Verb)
		case same(a) && codeOf(a) != string(refund.CodeDecisionConflict):
			possible++
		}
	}
	if possible == 0 {
		return fmt.Sprintf("decision %s is recorded as %q to %s, and no command gave that", d.DecisionID, d.Approver, d.Choice)
	}
	return ""
}

// changeWasVisible tells whether the script had changed the order, after a person was shown it, before the sender's last look at it:
// then the engine's own check had to refuse. A change between that look and the commit is nobody's fault where the provider does
// not compare. Looks do not name their run, so a trial with several says nothing.
func (t *trial) changeWasVisible(r run, entry evidence.Entry) bool {
	call, traced := t.callOf(entry)
	if !traced || len(t.present()) != 1 {
		return false
	}
	var shown int64
	for _, c := range t.crossings(faults.Proposal, faults.After, r.id) {
		shown = max(shown, c.Seq)
	}
	look := call.Seq // a sender that did not look saw as much as one that looked at the last moment
	for _, c := range t.crossings(faults.OrderCall, faults.Before, "") {
		if c.Process == call.Process && c.Seq > shown && c.Seq < call.Seq {
			look = c.Seq
		}
	}
	return slices.ContainsFunc(t.Trial.Steps, func(s evidence.Step) bool {
		return strings.HasPrefix(s.Text, string(faults.DoOrderVersion)+" ") && s.StartSeq > shown && s.EndSeq < look
	})
}

func (t *trial) timerShift() refund.Instant {
	if t.Trial.Engine == "temporal" {
		return timerShift
	}
	return 0
}

// verdictsWith are the run's verdicts with a code.
func (r run) verdictsWith(code refund.VerdictCode) []refund.RecordedVerdict {
	return filter(r.facts.Verdicts, func(v refund.RecordedVerdict) bool { return v.Code == code })
}

// arrivedAt is when a decision arrived; where arriving and judging are one transaction there is only the verdict's time.
func (r run) arrivedAt(v refund.RecordedVerdict) refund.Instant {
	for _, fact := range r.factsOf(refund.FactDecision) {
		if fact.Ref == v.DecisionID {
			return fact.At
		}
	}
	return v.At
}

// callOf is the announcement of the call whose fence the entry bears.
func (t *trial) callOf(entry evidence.Entry) (evidence.Crossing, bool) {
	for _, c := range t.crossings(faults.ProviderCall, faults.Before, entry.OperationID) {
		if f, ok := parseFence(c.Fence); ok && f == entry.Fence {
			return c, true
		}
	}
	return evidence.Crossing{}, false
}

// sentAt is when that call was announced.
func (t *trial) sentAt(entry evidence.Entry) (refund.Instant, bool) {
	call, traced := t.callOf(entry)
	return call.At, traced
}

// I10: each acknowledged decision has exactly one verdict, and a reply that names one equals the record.
func oneVerdictEach(t *trial) []string {
	var violations []string
	for _, r := range t.present() {
		counts := map[string]int{}
		for _, v := range r.facts.Verdicts {
			counts[v.DecisionID]++
		}
		for _, id := range sortedKeys(counts) {
			if counts[id] > 1 {
				violations = append(violations, fmt.Sprintf("run %s: decision %s has %d verdicts", r.name, id, counts[id]))
			}
		}
		if accepted := r.verdictsWith(refund.VerdictAccepted); len(accepted) > 1 {
			violations = append(violations, fmt.Sprintf("run %s: %d decisions were accepted", r.name, len(accepted)))
		}
	}
	for _, answer := range t.answers("approve", "reject") {
		if text := t.replyAgainstRecord(answer); text != "" {
			violations = append(violations, text)
		}
	}
	return violations
}

func (t *trial) replyAgainstRecord(answer evidence.Answer) string {
	said, code := replyOf(answer), codeOf(answer)
	id := said.DecisionID
	if id == "" {
		id = flagValue(answer.Args, "decision-id")
	}
	r, known := t.runNamed(answer.Run)
	stored := slices.ContainsFunc(t.crossings(faults.Decision, faults.After, r.id), func(c evidence.Crossing) bool {
		return c.Process == answer.Process && !refused(c)
	})
	// A run that is over may take no decision any more. Its "no" without an instant speaks of the run's own record; nothing was
	// stored that would be owed a verdict.
	unsent := said.At == 0 && !stored && said.Verdict != refund.VerdictAccepted && answer.Exit != 0
	acknowledged := said.Verdict != "" || code == string(refund.CodeVerdictPending)
	if !known || id == "" || !acknowledged {
		return ""
	}
	recorded := filter(r.facts.Verdicts, func(v refund.RecordedVerdict) bool { return v.DecisionID == id })
	switch {
	case len(recorded) == 0 && unsent && code != string(refund.CodeVerdictPending):
		return ""
	case len(recorded) == 0:
		return fmt.Sprintf("decision %s of run %s was acknowledged to %s and has no verdict", id, r.name, answer.Process)
	case said.Verdict != "" && said.Verdict != recorded[0].Code:
		return fmt.Sprintf("decision %s of run %s: %s was told %s, the record says %s", id, r.name, answer.Process, said.Verdict, recorded[0].Code)
	case said.At != 0 && said.At != recorded[0].At:
		return fmt.Sprintf("decision %s of run %s: %s was told a verdict of %s, the record is of %s", id, r.name, answer.Process, said.At, recorded[0].At)
	case answer.Exit == 0 && recorded[0].Code != refund.VerdictAccepted:
		return fmt.Sprintf("decision %s of run %s: %s ended with success, the record says %s", id, r.name, answer.Process, recorded[0].Code)
	}
	return ""
}
