package handrolled

import (
	"context"

	"refundlab/provider"
	"refundlab/refund"
)

// ask makes the one call to the provider that the shared rule allows from what is recorded, and records what it showed.
func (e *Executor) ask(ctx context.Context, run Run) (Run, error) {
	f := run.Facts
	profile, err := refund.ProfileNamed(f.Intake.Terms.Profile)
	if err != nil {
		return run, err
	}
	// What a conflict or a person has decided binds every later owner, so it is read from the record: a client that died in
	// its close, or that repeated it, must not leave the run to the rule for those that may be sent (I4).
	switch {
	case f.Conflict != "" || f.PresumedAbsent != nil:
		return e.hold(ctx, run)
	case f.Closing:
		return e.close(ctx, run)
	}
	situation := refund.Situation{
		Profile: profile,
		// Nothing is remembered of a call that has not been recorded: whether it ended, and how, its worker knew at best.
		Observation: refund.ObservedNothing,
		Authorised:  f.Lapsed == "" && run.At.Before(f.Intake.CommitBy()),
		Sent:        f.FirstSentAt != 0,
		Retained:    e.retained(f, run.At),
	}
	action := refund.Next(situation)
	switch action {
	case refund.ActReject:
		return e.withdraw(ctx, run, refund.CodeApprovalExpired)
	case refund.ActHold:
		return e.hold(ctx, run)
	case refund.ActSend:
		if profile.Shared {
			return e.Journal.SubmitLocally(ctx, run.Lease)
		}
	}
	return e.send(ctx, run, situation, action)
}

// retained tells whether the provider still remembers what was sent first. Where the host's clock was set back nobody knows how
// long ago that was, and its memory is not relied on (I1). A step back that is too small to be told is reckoned with.
func (e *Executor) retained(f refund.Facts, now refund.Instant) bool {
	return refund.Retained(f.Intake.Terms, f.FirstSentAt, now.Add(smallStep)) && (f.FirstSentAt == 0 || !e.Journal.SetBack())
}

// hold leaves the run to a person.
func (e *Executor) hold(ctx context.Context, run Run) (Run, error) {
	held := Observed{Action: refund.ActHold, Answer: provider.Answer{Observation: refund.ObservedNothing}, Hold: true}
	return e.Journal.RecordObservation(ctx, run.Lease, held)
}

// close closes the operation at the provider, whatever else the rule would allow: the step of a person who settles.
func (e *Executor) close(ctx context.Context, run Run) (Run, error) {
	profile, err := refund.ProfileNamed(run.Facts.Intake.Terms.Profile)
	if err != nil {
		return run, err
	}
	return e.send(ctx, run, refund.Situation{Profile: profile, Observation: refund.ObservedNothing, Sent: true}, refund.ActClose)
}

// send makes one call and records what it showed.
func (e *Executor) send(ctx context.Context, run Run, situation refund.Situation, action refund.Action) (Run, error) {
	var err error
	if action != refund.ActLookUp { // a look-up changes nothing, so it needs no intent
		if run, err = e.Journal.RecordIntent(ctx, run.Lease, action); err != nil {
			return run, err
		}
	}
	var answer provider.Answer
	// One time-out for the whole step, the reading of the order included: Retained reckons with no more.
	if err := e.call(ctx, run, func(ctx context.Context) { answer = e.perform(ctx, run, situation, action) }); err != nil {
		return run, err
	}
	learnt, err := e.kept(func() (Run, error) { return e.learn(ctx, run, situation, action, answer) })
	e.late(err, run, "action", action, "observation", answer.Observation, "refusal", answer.Refusal, "receipt", answer.Receipt, "detail", answer.Detail)
	return learnt, err
}

func (e *Executor) perform(ctx context.Context, run Run, s refund.Situation, action refund.Action) provider.Answer {
	in, fence := run.Facts.Intake, run.Lease.Fence()
	switch action {
	case refund.ActSend:
		// Again, and by the clock of now: the intent may have waited for the file, or this process for its turn, and a copy that
		// arrives when the provider has forgotten the first one is a second refund (I1). A first send need not be the first once its
		// lease is over: its worker stood still, and the next owner has sent meanwhile. While it runs nobody else can have.
		now := e.Journal.Now()
		again := s.Sent || !now.Before(run.Lease.Until)
		if again && s.Profile.Expires && !e.retained(run.Facts, now) {
			return provider.Answer{Observation: refund.ObservedUnsent, Detail: "the provider may have forgotten the operation"}
		}
		return provider.CheckAndSubmit(ctx, e.Refunds, in, *run.Facts.Decision, fence, e.Journal.Now)
	case refund.ActClose:
		return e.Refunds.Close(ctx, in, fence)
	}
	return e.Refunds.LookUp(ctx, in, &fence)
}

// learn records an answer by the shared rule. before is the situation in which the call was made.
func (e *Executor) learn(ctx context.Context, run Run, before refund.Situation, action refund.Action, answer provider.Answer) (Run, error) {
	after := before
	after.Observation = answer.Observation
	switch answer.Observation {
	case refund.ObservedStaleFence:
		// It speaks about this worker and not about the refund, so it is traced and not recorded.
		e.log().Warn("the provider saw a newer owner", "worker", e.Name, "operation", run.Lease.OperationID,
			"generation", run.Lease.Generation, "current", answer.Fence.Term)
		if run.Lease.Fence().Less(answer.Fence) {
			return e.release(ctx, run, answer.Fence)
		}
		// A fence that is not ahead of ours tells of no newer owner. It decides nothing, and asking at once would not either.
		after.Sent = before.Sent || action == refund.ActSend
	case refund.ObservedUnsent:
		after.Authorised = before.Authorised && answer.Refusal == ""
	default:
		after.Sent = before.Sent || action == refund.ActSend
	}
	observed := Observed{Action: action, Answer: answer, NothingSent: !after.Sent}
	switch refund.Next(after) {
	case refund.ActConfirm:
		return e.Journal.RecordOutcome(ctx, run.Lease, Outcome{Event: refund.EventReceipt, Receipt: answer.Receipt})
	case refund.ActReject:
		if answer.Observation == refund.ObservedUnsent {
			return e.withdraw(ctx, run, answer.Refusal)
		}
		return e.Journal.RecordOutcome(ctx, run.Lease, Outcome{Event: refund.EventRefusal, Code: answer.Refusal})
	case refund.ActHold:
		observed.Hold = true
	}
	return e.Journal.RecordObservation(ctx, run.Lease, observed)
}
