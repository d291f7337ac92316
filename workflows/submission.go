package workflows

import (
	"go.temporal.io/sdk/workflow"

	"refundlab/activities"
	"refundlab/refund"
)

// submit brings an approved operation to its outcome. Each turn is one round of one provider activity; within a round Temporal
// tries again where repeating is harmless.
func (r *run) submit() {
	for !r.over() {
		r.noticeReset()
		r.submitting = true
		action := r.next(now(r.ctx))
		switch action {
		case refund.ActReject:
			// Nothing was ever sent, so the refund can be withdrawn as if it had never been asked for.
			code := r.last.Refusal
			if code == "" {
				code = refund.CodeApprovalExpired
			}
			r.end(ending{Rejected: code})
		case refund.ActHold:
			r.await(r.ctx, func() bool { return r.over() || r.next(now(r.ctx)) != refund.ActHold })
		default:
			r.ask(action)
		}
		// A person's word comes before the next round.
		if r.failsClosed() {
			r.await(r.ctx, func() bool { return r.door.settlements == 0 })
		} else {
			r.await(r.ctx, func() bool { return !r.interrupted })
		}
	}
	if r.Decision != nil && r.caller.Err() != nil {
		workflow.GetLogger(r.ctx).Warn("a cancellation came after the approval: it had no effect")
	}
}

// ask does one round and records what it showed.
func (r *run) ask(action refund.Action) {
	r.asks++
	// I6: the fence is raised before anything is scheduled, and it is in the state that a replay rebuilds.
	round := r.round + 1
	r.intent(action, round, now(r.ctx))
	r.show(r.ctx)

	ctx, stop := workflow.WithCancel(r.ctx)
	defer stop()
	r.asking = true
	defer func() { r.asking = false }()
	var answered workflow.Future
	switch action {
	case refund.ActSend:
		answered = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, r.submitOptions(ctx)), activities.Submit, activities.SubmitRequest{
			Intake: r.Intake, Decision: *r.Decision, Round: r.round, Sent: r.sent, FirstSentAt: r.FirstSentAt,
			RunID: workflow.GetInfo(ctx).WorkflowExecution.RunID,
		})
	case refund.ActLookUp:
		answered = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, r.askOptions("look the refund up")), activities.LookUp,
			activities.AskRequest{Intake: r.Intake, Round: r.round})
	case refund.ActClose:
		answered = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, r.askOptions("close the operation")), activities.Close,
			activities.AskRequest{Intake: r.Intake, Round: r.round})
	}
	r.await(r.ctx, func() bool { return answered.IsReady() || r.interrupted })
	stop() // no attempt after this one; WaitForCancellation makes Get wait for it

	var result activities.SubmitResult // a look-up's and a close's answer is a part of it
	if err := answered.Get(r.ctx, &result); err != nil {
		r.unanswered(err.Error())
	} else {
		r.observe(result.Answer, result.Sent || action != refund.ActSend)
	}
	r.asking = false
	r.show(r.ctx)
	if r.last.Observation == refund.ObservedAmbiguous && action == refund.ActSend && !r.profile.Idempotent && r.last.RetryAfterMS == 0 {
		return // look it up at once
	}
	switch {
	case r.last.Observation == refund.ObservedAmbiguous,
		r.last.Observation == refund.ObservedUnsent && r.last.Refusal == "",
		// Refused by a fence that this round was not behind: the next round would be no better at once.
		r.last.Observation == refund.ObservedStaleFence && r.last.Fence.Term < round && r.failsClosed():
		r.pause(max(r.Intake.Terms.Pause(r.asks), r.last.Later()))
	}
}
