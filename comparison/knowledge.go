package comparison

import (
	"fmt"
	"math"
	"slices"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// I4: at rest, UNKNOWN stands only where nobody can know.
func unknownOnlyWherePermitted(t *trial) []string {
	var violations []string
	for _, r := range t.present() {
		f := r.facts
		if contradiction := statusAgainstFacts(r.export.View); contradiction != "" {
			violations = append(violations, fmt.Sprintf("run %s: %s", r.name, contradiction))
		}
		if r.export.View.Status != refund.StatusUnknown {
			continue
		}
		if r.end.UnknownBecause == "" {
			violations = append(violations, fmt.Sprintf("run %s is UNKNOWN at rest, and the matrix permits no UNKNOWN here", r.name))
		}
		if f.Conflict != "" || f.PresumedAbsent != nil { // permitted under every profile: nothing may be sent or asked any more
			continue
		}
		authorised := f.Lapsed == "" && t.Trial.EndedAt < f.Intake.At+refund.Instant(f.Intake.Terms.CommitWithin)
		retained := !t.promise.expires || f.FirstSentAt == 0 ||
			t.Trial.EndedAt+refund.Instant(f.Intake.Terms.CallTimeout) < f.FirstSentAt+refund.Instant(f.Intake.Terms.Retention)
		switch {
		case t.promise.close:
			violations = append(violations, fmt.Sprintf("run %s is UNKNOWN at rest under %s, where a close always tells", r.name, t.Trial.Profile))
		case t.promise.idempotent && authorised && retained:
			violations = append(violations, fmt.Sprintf("run %s is UNKNOWN at rest under %s although the same operation may still be sent", r.name, t.Trial.Profile))
		case t.promise.strongLookup && t.knownAtProvider(r.id) && t.askedSince(r.id):
			violations = append(violations, fmt.Sprintf("run %s is UNKNOWN at rest under %s although a look-up would show its result", r.name, t.Trial.Profile))
		}
	}
	return violations
}

// askedSince tells whether the run was asked about later than the last submit was dealt with. A run may rest in silence while its
// next ask is far away; what it would hear then, nobody knows yet.
func (t *trial) askedSince(id refund.OperationID) bool {
	var dealt int64
	for _, when := range []faults.When{faults.Before, faults.After} {
		for _, c := range t.crossings(faults.ProviderRecv, when, id) {
			dealt = max(dealt, c.Seq)
		}
	}
	asks := t.crossings(faults.LookupCall, faults.Before, id)
	return slices.ContainsFunc(asks, func(c evidence.Crossing) bool { return c.Seq > dealt && t.isWorker(c.Process) })
}

// knownAtProvider tells whether there is an entry or a stored result.
func (t *trial) knownAtProvider(id refund.OperationID) bool {
	stored := filter(t.Provider.Operations, func(o evidence.Operation) bool { return o.OperationID == id })
	return len(t.entries(id))+len(stored) > 0
}

// statusAgainstFacts compares a shown status with the facts that are shown beside it.
func statusAgainstFacts(v refund.View) string {
	f := v.Facts
	decided := f.State == refund.StateConfirmed || f.State == refund.StateRejected
	var fits bool
	switch v.Status {
	case refund.StatusConfirmed:
		fits = f.State == refund.StateConfirmed && f.Receipt != nil
	case refund.StatusRejected:
		byPerson := f.Decision != nil && f.Decision.Choice == refund.ChoiceReject
		fits = f.Receipt == nil && (f.State == refund.StateRejected && f.Rejected != "" || byPerson && f.State != refund.StateConfirmed)
	case refund.StatusExpired:
		fits = f.Expired && !decided
	case refund.StatusPending:
		fits = f.Proposal == nil && f.Decision == nil && !decided && !f.Expired
	case refund.StatusApprovalRequired:
		fits = f.Proposal != nil && f.Decision == nil && !decided && !f.Expired
	case refund.StatusRetryable:
		fits = f.Decision != nil && !decided && !f.Expired && f.Conflict == ""
	case refund.StatusUnknown:
		fits = f.Decision != nil && f.State != refund.StatePrepared && !decided && !f.Expired
	}
	if fits {
		return ""
	}
	return fmt.Sprintf("status %s does not follow from its facts (operation state %s, receipt %t, decision %t, expired %t)",
		v.Status, f.State, f.Receipt != nil, f.Decision != nil, f.Expired)
}

// I4, the other half: what was told as done or failed stays so, and an unknown outcome is told as neither.
func neverToldOtherwise(t *trial) []string {
	var violations []string
	for _, r := range t.present() {
		var told refund.RunStatus
		var by string
		var since int64
		tell := func(status refund.RunStatus, where string, asked, answered int64) {
			switch {
			case told == "" && status.Terminal():
				told, by, since = status, where, answered
			case told != "" && status != told && (status.Terminal() || asked > since): // what was asked before it was told may be older
				violations = append(violations, fmt.Sprintf("run %s was told as %s by %s, and is %s in %s", r.name, told, by, status, where))
			}
		}
		for _, view := range t.viewsOf(r.id) {
			tell(view.Status, "the answer to "+view.process, view.startSeq, view.endSeq)
		}
		if t.Trial.RestSeq != 0 {
			for _, notice := range t.Provider.Notices {
				if notice.OperationID == r.id && notice.Status != r.export.View.Status {
					violations = append(violations, fmt.Sprintf("a notice said %s of run %s, which is %s", notice.Status, r.name, r.export.View.Status))
				}
			}
			tell(r.export.View.Status, "the export", math.MaxInt64, math.MaxInt64)
		}
	}
	return violations
}

// I4, at its root: before a request leaves, the intent to send it is durable. Otherwise a crash leaves a run that says
// "nothing was sent" about a refund that is on its way.
func sentOnlyAsIntended(t *trial) []string {
	// The server may hand the activity to a worker before the answer to the task that scheduled it is back, so on Temporal the
	// side before the record is what must come first. The journal's owner waits for its own transaction.
	side := faults.After
	if t.Trial.Engine == "temporal" {
		side = faults.Before
	}
	var violations []string
	for _, r := range t.present() {
		intents := t.crossings(faults.Intent, side, r.id)
		for _, call := range t.crossings(faults.ProviderCall, faults.Before, r.id) {
			if !t.isWorker(call.Process) {
				continue // another caller that the script plays
			}
			intended := slices.ContainsFunc(intents, func(c evidence.Crossing) bool {
				return c.Seq < call.Seq && !refused(c) && (c.Fence == "" || c.Fence == call.Fence)
			})
			if !intended {
				violations = append(violations, fmt.Sprintf("run %s: %s sent a submit with fence %s before its intent was recorded", r.name, call.Process, call.Fence))
			}
		}
	}
	return violations
}

// calledAgain finds a request to the model that was begun once the run's proposal had been recorded.
func (t *trial) calledAgain(r run) (evidence.Crossing, bool) {
	for _, recorded := range t.crossings(faults.Proposal, faults.After, r.id) {
		for _, call := range t.crossings(faults.ModelCall, faults.Before, r.id) {
			if !refused(recorded) && call.Seq > recorded.Seq {
				return call, true
			}
		}
	}
	return evidence.Crossing{}, false
}

// I12, at its root: no more requests than the budget, copies of the network's apart, none once a proposal is recorded, and no second proposal.
func modelNotAskedAgain(t *trial) []string {
	var violations []string
	for _, r := range t.present() {
		bill := t.bill(r.id)
		copies := t.doubledAt(faults.ModelCall, r.id) // they are the network's, and no engine can take them from its budget
		if budget := r.facts.Intake.Terms.ModelBudget; len(bill)-copies > budget {
			violations = append(violations, fmt.Sprintf("run %s: the model received %d requests, %d of them copies that the network made, and the budget is %d", r.name, len(bill), copies, budget))
		}
		recorded := map[string]bool{}
		for _, fact := range r.factsOf(refund.FactProposal) {
			recorded[fact.Hash] = true
		}
		if len(recorded) > 1 {
			violations = append(violations, fmt.Sprintf("run %s recorded %d different proposals", r.name, len(recorded)))
		}
		if call, found := t.calledAgain(r); found {
			violations = append(violations, fmt.Sprintf("run %s: %s asked the model (%d) although a proposal was recorded", r.name, call.Process, call.Seq))
		}
	}
	return violations
}

// I12: one recorded proposal for everyone, from an answer that the model did give.
func proposalReused(t *trial) []string {
	var violations []string
	for _, r := range t.present() {
		bill := t.bill(r.id)
		if r.facts.Proposal == nil {
			continue
		}
		answer := r.facts.Proposal.AnswerID
		if len(filter(bill, func(m evidence.ModelRequest) bool { return m.AnswerID == answer })) == 0 {
			violations = append(violations, fmt.Sprintf("run %s recorded proposal %q, which is on no bill of the model", r.name, answer))
		}
		for _, view := range t.viewsOf(r.id) {
			if view.Facts.Proposal != nil && view.Facts.Proposal.AnswerID != answer {
				violations = append(violations, fmt.Sprintf("run %s showed proposal %q to %s, and its record is %q", r.name, view.Facts.Proposal.AnswerID, view.process, answer))
			}
		}
	}
	return violations
}
