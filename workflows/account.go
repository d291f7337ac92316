package workflows

import (
	"refundlab/provider"
	"refundlab/refund"
)

// account is what a run has recorded, and the only place where a recorded thing changes what is known. The workflow moves it
// as it decides and the fold moves it as it reads the history, so that both must come to the same facts.
type account struct {
	refund.Facts
	profile refund.Profile

	round int64           // the fence's first part: raised before any provider activity is scheduled
	last  provider.Answer // the last answer to Submit, LookUp or Close
	sent  bool            // something may have left
}

func newAccount(in refund.Intake) (*account, error) {
	profile, err := refund.ProfileNamed(in.Terms.Profile)
	if err != nil {
		return nil, err
	}
	return &account{
		Facts:   refund.Facts{Intake: in, State: refund.StatePrepared},
		profile: profile,
		last:    provider.Answer{Observation: refund.ObservedNothing},
	}, nil
}

// move takes the operation along a legal transition and leaves it where the event means nothing: final states stay (I2, I3).
func (a *account) move(event refund.OperationEvent) {
	if next, legal := a.State.After(event); legal {
		a.State = next
	}
}

// recordVerdict records a verdict; accepted is the decision that the run goes on by. Where its verdict is another than ACCEPTED, it may have
// been accepted before a reset: what was sent by it is to be found out, and there is no authority to send by it again (I3, I5).
func (a *account) recordVerdict(verdict refund.RecordedVerdict, accepted *refund.Decision) {
	a.Verdicts = append(a.Verdicts, verdict)
	if accepted == nil || a.Decision != nil {
		return
	}
	a.Decision = accepted
	if verdict.Code != refund.VerdictAccepted {
		a.Lapsed = refund.CodeApprovalExpired
	}
}

// verdict returns what is recorded for a decision id.
func (a *account) verdict(id string) (refund.RecordedVerdict, bool) {
	for _, v := range a.Verdicts {
		if v.DecisionID == id {
			return v, true
		}
	}
	return refund.RecordedVerdict{}, false
}

// intent records that a provider activity is about to be scheduled: from then on its effect is possible, whatever becomes of
// workers and answers.
func (a *account) intent(action refund.Action, round int64, at refund.Instant) {
	a.round = round
	a.move(refund.EventIntent)
	if action == refund.ActSend && a.FirstSentAt == 0 {
		a.FirstSentAt = at
	}
}

// observe records an answer. sent tells whether something may have left by now.
func (a *account) observe(answer provider.Answer, sent bool) {
	a.last, a.sent = answer, a.sent || sent
	a.Last = string(answer.Observation) + ": " + answer.Detail
	if answer.Observation == refund.ObservedReceipt || answer.Observation == refund.ObservedRefusal {
		a.Last = ""
	}
	switch answer.Observation {
	case refund.ObservedReceipt:
		a.move(refund.EventReceipt)
		a.Receipt = answer.Receipt
	case refund.ObservedRefusal:
		a.move(refund.EventRefusal)
		a.Rejected = answer.Refusal
	case refund.ObservedConflict:
		a.move(refund.EventAmbiguous)
		a.Conflict = answer.Detail
		if a.Conflict == "" {
			a.Conflict = string(refund.ObservedConflict)
		}
	case refund.ObservedStaleFence:
		// Somebody was ahead, for instance a run that was reset: the next round begins above it.
		a.round = max(a.round, answer.Fence.Term)
	case refund.ObservedUnsent:
		switch {
		case !a.sent:
			a.FirstSentAt = 0 // the intent was all there was
		case answer.Refusal != "":
			a.Lapsed = answer.Refusal
		}
	default:
		a.move(refund.EventAmbiguous)
	}
}

// unanswered records that a provider activity ended without a result: a time-out is an observation, never a verdict (I4).
func (a *account) unanswered(detail string) {
	a.observe(provider.Answer{Observation: refund.ObservedAmbiguous, Detail: detail}, true)
}

// recordReset records that the run goes on from another one that was reset. What that one did after the point of the reset is not
// known here, so something may have been sent, and as early as the intake: the provider's memory is counted from there.
func (a *account) recordReset() {
	a.intent(refund.ActSend, a.round, a.Intake.At)
	a.unanswered("the run was reset, and what it had sent by then is not known")
}

// recordSettlement records what a person said of the outcome.
func (a *account) recordSettlement(s refund.Settlement) {
	switch s.Kind {
	case refund.SettleReceipt:
		a.observe(provider.Answer{Observation: refund.ObservedReceipt, Receipt: s.Receipt}, true)
	case refund.SettleClose:
		a.Closing = true
	case refund.SettlePresumedAbsent:
		a.move(refund.EventAmbiguous)
		a.PresumedAbsent = &s
	}
}

// recordEnding records an end that the run itself decided, before anything was sent.
func (a *account) recordEnding(end ending) {
	a.Expired, a.Last = end.Expired, ""
	if end.Rejected != "" {
		a.move(refund.EventWithdrawn)
		a.Rejected = end.Rejected
	}
}

// over tells whether the run's status is final; closing the run is a matter of the notice alone then.
func (a *account) over() bool { return a.State.Final() || a.Expired }

// next is what may be done about the operation now.
func (a *account) next(now refund.Instant) refund.Action {
	switch {
	case a.Conflict != "" || a.PresumedAbsent != nil:
		return refund.ActHold
	case a.Closing:
		return refund.ActClose
	}
	return refund.Next(refund.Situation{
		Profile:     a.profile,
		Observation: a.last.Observation,
		Authorised:  a.Lapsed == "" && a.last.Refusal == "" && now.Before(a.Intake.CommitBy()),
		Sent:        a.sent,
		Retained:    refund.Retained(a.Intake.Terms, a.FirstSentAt, now),
	})
}
