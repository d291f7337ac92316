package activities

import (
	"context"
	"time"

	"refundlab/provider"
	"refundlab/refund"
)

// bounded gives each call of one attempt its own time-out, by the terms that the run was taken in under. An attempt then ends
// with an answer that it can still report; without the bound only the start-to-close time-out would end a call that hangs.
type bounded struct {
	refunds provider.Refunds
	timeout time.Duration
}

func (a *Activities) bounded(in refund.Intake) bounded {
	return bounded{a.Refunds, callTimeout(in.Terms)}
}

func callTimeout(t refund.Terms) time.Duration {
	return time.Duration(t.CallTimeout) * time.Millisecond
}

func (b bounded) Order(ctx context.Context, tenant, order string) (refund.Order, error) {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	return b.refunds.Order(ctx, tenant, order)
}

func (b bounded) Submit(ctx context.Context, in refund.Intake, s provider.Submission) provider.Answer {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	return b.refunds.Submit(ctx, in, s)
}

func (b bounded) LookUp(ctx context.Context, in refund.Intake, fence *refund.Fence) provider.Answer {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	return b.refunds.LookUp(ctx, in, fence)
}

func (b bounded) Close(ctx context.Context, in refund.Intake, fence refund.Fence) provider.Answer {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	return b.refunds.Close(ctx, in, fence)
}
