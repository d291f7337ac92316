package comparison

import (
	"fmt"

	"refundlab/evidence"
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
		if f.Conflict != "" { // permitted under every profile
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
		case t.promise.strongLookup && f.PresumedAbsent == nil && t.knownAtProvider(r.id):
			violations = append(violations, fmt.Sprintf("run %s is UNKNOWN at rest under %s although a look-up would show its result", r.name, t.Trial.Profile))
		}
	}
	return violations
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
		tell := func(status refund.RunStatus, where string) {
			if told != "" && status != told {
				violations = append(violations, fmt.Sprintf("run %s was told as %s by %s, and is %s in %s", r.name, told, by, status, where))
			}
			if status.Terminal() && told == "" {
				told, by = status, where
			}
		}
		for _, view := range t.viewsOf(r.id) {
			tell(view.Status, "the answer to "+view.process)
		}
		if t.Trial.RestSeq != 0 {
			for _, notice := range t.Provider.Notices {
				if notice.OperationID == r.id && notice.Status != r.export.View.Status {
					violations = append(violations, fmt.Sprintf("a notice said %s of run %s, which is %s", notice.Status, r.name, r.export.View.Status))
				}
			}
			tell(r.export.View.Status, "the export")
		}
	}
	return violations
}

// I11: a run that the matrix lets end has ended, within the stated bound counted from the last thing that kept it from going on.
func endedInTime(t *trial) []string {
	var violations []string
	for _, r := range t.present() {
		view := r.export.View
		if refund.RunStatus(r.end.Status).Terminal() && !view.Status.Terminal() && view.Status != refund.StatusUnknown {
			violations = append(violations, fmt.Sprintf("run %s is %s at rest and never reached %s", r.name, view.Status, r.end.Status))
			continue
		}
		ended, ok := r.endedAt()
		if !ok || t.Trial.Budget.BoundMS == 0 {
			continue
		}
		free := t.freeSince(r, ended)
		if took := ended - free; took > refund.Instant(t.Trial.Budget.BoundMS) {
			violations = append(violations, fmt.Sprintf("run %s took %d ms from the last event that it waited for to its end; the bound is %d ms", r.name, took, t.Trial.Budget.BoundMS))
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

// freeSince is the last moment before the end at which something else than the engine moved the run: its intake, a decision, a
// person's settlement, a fault and its end, a step of the script.
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
		consider(t.timeOf(p.StartSeq))
	}
	for _, step := range t.Trial.Steps {
		consider(t.timeOf(step.StartSeq))
	}
	// An expiry waits for its deadline, which nothing in the engine can bring forward.
	if len(r.factsOf(refund.FactExpiry)) > 0 {
		consider(r.facts.Intake.At + refund.Instant(r.facts.Intake.Terms.DecideWithin))
	}
	return free
}

// I12: one recorded proposal for everyone, from an answer that the model did give, and no more requests than the budget.
func proposalReused(t *trial) []string {
	var violations []string
	for _, r := range t.present() {
		bill := t.bill(r.id)
		if budget := r.facts.Intake.Terms.ModelBudget; len(bill) > budget {
			violations = append(violations, fmt.Sprintf("run %s: the model received %d requests, the budget is %d", r.name, len(bill), budget))
		}
		recorded := map[string]bool{}
		for _, fact := range r.factsOf(refund.FactProposal) {
			recorded[fact.Hash] = true
		}
		if len(recorded) > 1 {
			violations = append(violations, fmt.Sprintf("run %s recorded %d different proposals", r.name, len(recorded)))
		}
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
