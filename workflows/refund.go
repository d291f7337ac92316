package workflows

import (
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"refundlab/activities"
	"refundlab/refund"
)

// WorkflowName is the registered name of Refund.
const WorkflowName = "Refund"

// Refund takes one refund from its intake to its end. Its input is the request and its terms, and nothing that a
// configuration could change under a running refund.
//
// The run closes when its notice was delivered; its status is final, and shown, as soon as it is recorded. A run that is
// UNKNOWN and presumed absent stays open, because a receipt may still turn up.
//
// A cancellation ends the run REJECTED while nothing was approved. Afterwards it stands in the history and has no effect: the
// refund may be on its way, and only its outcome ends the run.
func Refund(ctx workflow.Context, in refund.Intake) (Result, error) {
	r, err := begin(ctx, in)
	if err != nil {
		return Result{}, temporal.NewNonRetryableApplicationError(err.Error(), string(refund.CodeOf(err)), err)
	}
	r.propose()
	r.decide()
	r.submit()
	r.notify()
	return r.finish()
}

// run is one execution of the workflow.
type run struct {
	*account
	door *door
	// ctx is not cancelled with the workflow: what was begun is brought to its end. caller is.
	ctx, caller workflow.Context

	firstRun string // id of the run that stored the intake: it stays through a reset
	lastRun  string // id of the run that was seen submitting last
	// decidedBefore: of the decisions that a reset carried over late, the one was seen that could have been accepted in time.
	decidedBefore bool
	submitting    bool            // whether a reset came before is on record
	asks          int             // provider activities so far, for the pauses between them
	asking        bool            // one is open
	interrupted   bool            // a settlement waits for it to end
	settlements   map[string]bool // ids that were answered; never ranged over
	shown         refund.RunStatus
}

func begin(ctx workflow.Context, in refund.Intake) (*run, error) {
	// The one clock of the deadlines: the server's, when it stored the request. The client that sends the intake cannot know it.
	in.At = refund.At(workflow.GetInfo(ctx).WorkflowStartTime)
	if err := checkIntake(in, workflow.GetInfo(ctx).WorkflowExecution.ID); err != nil {
		return nil, err
	}
	account, err := newAccount(in)
	if err != nil {
		return nil, err
	}
	door, ok := ctx.Value(doorKey{}).(*door)
	if !ok {
		panic("the worker lacks the interceptor workflows.Door: decisions could not be judged")
	}
	first := workflow.GetInfo(ctx).OriginalRunID
	r := &run{account: account, door: door, caller: ctx, firstRun: first, lastRun: first, settlements: map[string]bool{}}
	r.ctx, _ = workflow.NewDisconnectedContext(ctx)
	door.deadline = workflow.NewTimerWithOptions(r.ctx, in.DecideBy().Sub(now(ctx)), workflow.TimerOptions{
		Summary: "waiting for a decision until " + in.DecideBy().String(),
	})
	r.describe()
	workflow.GoNamed(r.ctx, "decisions", r.answerDecisions)
	workflow.GoNamed(r.ctx, "settlements", r.answerSettlements)
	return r, nil
}

// checkIntake checks what any program that reaches the server could have written. The comparison of requester and approver
// (I5), the one run per operation (I9) and every bound on calls stand on it.
func checkIntake(in refund.Intake, workflowID string) error {
	request, err := refund.NewRequest(in.Request)
	if err != nil {
		return err
	}
	terms, err := refund.NewTerms(in.Terms)
	if err != nil {
		return err
	}
	switch named := refund.NewIntake(request, terms, in.At); {
	case terms.Profile == refund.ProfileLocal:
		return refund.Errorf(refund.CodeInvalidProfile, "profile %q needs a ledger in the engine's own transaction, which Temporal does not have: choose another", terms.Profile)
	case named != in:
		return refund.Errorf(refund.CodeInvalidBody, "intake is not in the form that the client gives it: a name, a default or the digest differs")
	case workflowID != WorkflowID(in.OperationID):
		return refund.Errorf(refund.CodeInvalidIdentity, "workflow id %q is not the one of operation %q: one run per operation could not be had", workflowID, in.OperationID)
	}
	return nil
}

// propose reads the order and has the model recommend.
func (r *run) propose() {
	stage, stop := workflow.WithCancel(r.ctx)
	defer stop()
	var checked activities.CheckOrderResult
	order := workflow.ExecuteActivity(workflow.WithActivityOptions(stage, r.checkOrderOptions(stage)), activities.CheckOrder,
		activities.CheckOrderRequest{Intake: r.Intake})
	if !r.inTime(order.IsReady) {
		return
	}
	if err := order.Get(stage, &checked); err != nil {
		r.failed(err)
		return
	}
	if checked.Rejected != "" {
		r.end(ending{Rejected: checked.Rejected})
		return
	}
	r.door.proposal = workflow.ExecuteActivity(workflow.WithActivityOptions(stage, r.proposeOptions(stage)), activities.Propose,
		activities.ProposeRequest{Intake: r.Intake, Order: checked.Order})
	if !r.inTime(r.door.proposal.IsReady) {
		return
	}
	var result activities.ProposeResult
	if err := r.door.proposal.Get(stage, &result); err != nil {
		r.failed(err)
		return
	}
	r.Proposal = &result.Proposal
	r.show(r.ctx)
}

// failed ends a run without a proposal. Temporal gives an activity up ahead of the deadline when its next attempt would come
// after it; the run then ends as the deadline says, EXPIRED, and not for want of a proposal. Where the time ran out during an attempt,
// an older server (1.29) says so by the cause alone.
func (r *run) failed(err error) {
	var failure *temporal.ActivityError
	var timeout *temporal.TimeoutError
	if errors.As(err, &failure) && failure.RetryState() == enumspb.RETRY_STATE_TIMEOUT && r.failsClosed() ||
		errors.As(err, &timeout) && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE && r.endsUndecided() {
		r.inTime(func() bool { return false })
		return
	}
	r.end(ending{Rejected: refund.CodeProposalFailed}) // the budget is spent, or no attempt can help
}

// decide waits for the decision that the door accepts, and for nothing else: the verdict is made there.
func (r *run) decide() {
	if r.over() || !r.inTime(func() bool { return r.Decision != nil }) {
		return
	}
	if r.Decision.Choice == refund.ChoiceReject {
		r.end(ending{Rejected: refund.CodeApprovalRejected})
	}
}

// inTime waits for something before there is a decision. When the time to decide is over first, or the run is cancelled, the
// run ends and inTime is false. Decisions that arrived are answered before either is looked at: one of them may have been in
// time.
func (r *run) inTime(happened func() bool) bool {
	r.await(r.ctx, func() bool {
		return len(r.door.arrivals) == 0 && (happened() || ready(r.door.deadline) || r.caller.Err() != nil)
	})
	switch {
	case happened():
		return true
	case r.withdrawn():
		r.end(ending{Rejected: refund.CodeCancelled})
	default:
		r.end(ending{Expired: true})
	}
	return false
}

// withdrawn tells whether a run without a decision ends by its cancellation. EXPIRED is what the run has recorded, so a cancellation
// that came before that counts, also where the deadline's timer has fired.
func (r *run) withdrawn() bool {
	return r.caller.Err() != nil && (!ready(r.door.deadline) || r.endsUndecided())
}

// end records an end that the run itself decides.
func (r *run) end(end ending) {
	r.record(r.ctx, memoEnding, end)
	r.recordEnding(end)
	r.show(r.ctx)
}

// notify tells the receiver of notices, until it has acknowledged.
func (r *run) notify() {
	notice := refund.Notice{
		OperationID: r.Intake.OperationID, Revision: refund.NoticeRevision, Status: r.status(), Reason: r.Rejected, At: now(r.ctx),
	}
	if r.Receipt != nil {
		notice.RefundID = r.Receipt.RefundID
	}
	for {
		delivery := workflow.ExecuteActivity(workflow.WithActivityOptions(r.ctx, r.notifyOptions()), activities.Notify,
			activities.NotifyRequest{Notice: notice, Timeout: r.Intake.Terms.CallTimeout})
		if delivery.Get(r.ctx, nil) == nil {
			return
		}
		_ = workflow.Sleep(r.ctx, r.Intake.Terms.Pause(1))
	}
}

// finish closes the run once every signal was answered. A signal that arrives while this task runs makes the server refuse
// the close; the task runs again and finds it here.
func (r *run) finish() (Result, error) {
	r.await(r.ctx, r.door.idle)
	result := Result{Status: r.status(), Reason: r.Rejected}
	if r.Receipt != nil {
		result.RefundID = r.Receipt.RefundID
	}
	if r.Rejected == refund.CodeCancelled {
		return result, r.caller.Err()
	}
	return result, nil
}

func (r *run) status() refund.RunStatus { return refund.StatusOf(r.Facts, r.profile, now(r.ctx)) }

// await waits for a condition. The run's contexts are never cancelled, so nothing else can end it.
func (r *run) await(ctx workflow.Context, condition func() bool) {
	if err := workflow.Await(ctx, condition); err != nil {
		panic(err)
	}
}

// pause waits before the next ask, or for a person's settlement.
func (r *run) pause(d time.Duration) {
	ctx, stop := workflow.WithCancel(r.ctx)
	defer stop()
	over, answered := workflow.NewTimerWithOptions(ctx, d, workflow.TimerOptions{Summary: "pause before the next ask"}), len(r.settlements)
	r.await(ctx, func() bool { return over.IsReady() || r.interrupted || len(r.settlements) > answered })
}

func now(ctx workflow.Context) refund.Instant { return refund.At(workflow.Now(ctx)) }
