package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"refundlab/provider"
	"refundlab/refund"
)

// CheckOrderRequest names the request whose order is read.
type CheckOrderRequest struct {
	Intake refund.Intake `json:"intake"`
}

// CheckOrderResult is the order as it was read, or the code of the rule that forbids the refund.
type CheckOrderResult struct {
	Order    refund.Order `json:"order"`
	Rejected refund.Code  `json:"rejected,omitempty"`
}

// CheckOrder reads the order and checks eligibility, so that no model is paid for a request that cannot pass. It is apart
// from Propose because an order that cannot be read must not use up the budget of model calls. A broken rule is a result; an
// order that could not be read is an error, to be tried again.
func (a *Activities) CheckOrder(ctx context.Context, request CheckOrderRequest) (CheckOrderResult, error) {
	in := request.Intake
	order, err := a.bounded(in).Order(ctx, in.Request.Tenant, in.Request.Order)
	if refund.CodeOf(err) == refund.CodeOrderNotFound {
		return CheckOrderResult{Rejected: refund.CodeOrderNotFound}, nil
	}
	if err != nil {
		return CheckOrderResult{}, failure(err, asked(ctx, in.Terms, provider.RetryAfter(err)))
	}
	return CheckOrderResult{Order: order, Rejected: refund.CheckOrder(in.Request, order, 0)}, nil
}

// ProposeRequest is what the model is shown.
type ProposeRequest struct {
	Intake refund.Intake `json:"intake"`
	Order  refund.Order  `json:"order"`
}

// ProposeResult is the model's recommendation.
type ProposeResult struct {
	Proposal refund.Proposal `json:"proposal"`
}

// Propose makes exactly one model call per attempt. The server counts an attempt durably before a worker hears of it, so a call can be
// lost but never made in excess (I12). The budget is the activity's MaximumAttempts too, which alone would not do: the server goes
// beyond it where an operator pauses the activity or gives it another limit.
func (a *Activities) Propose(ctx context.Context, request ProposeRequest) (ProposeResult, error) {
	if ctx.Err() != nil {
		return ProposeResult{}, ctx.Err()
	}
	if attempt, budget := int(activity.GetInfo(ctx).Attempt), request.Intake.Terms.ModelBudget; attempt > budget {
		return ProposeResult{}, temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("attempt %d would be a call beyond the budget of %d: nothing was asked", attempt, budget), string(refund.CodeProposalFailed), nil)
	}
	if err := a.awaited(ctx); err != nil {
		return ProposeResult{}, err
	}
	stop := heartbeat(ctx)
	defer stop()
	calling, cancel := context.WithTimeout(ctx, callTimeout(request.Intake.Terms))
	defer cancel()
	proposal, err := a.Model.Propose(calling, request.Intake, request.Order)
	if err != nil {
		return ProposeResult{}, failure(err, asked(ctx, request.Intake.Terms, provider.RetryAfter(err)))
	}
	return ProposeResult{Proposal: proposal}, nil
}

// heartbeat tells the server that this attempt lives, until stop is called or ctx is over. A call that hangs goes on beating,
// so it is the start-to-close time-out that ends it; heartbeats make the death of a worker known earlier than that, and
// bring a cancellation.
func heartbeat(ctx context.Context) (stop func()) {
	interval := activity.GetInfo(ctx).HeartbeatTimeout / 3
	if interval <= 0 {
		return func() {}
	}
	beating, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-beating.Done():
				return
			case <-ticker.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
