package handrolled

import (
	"context"

	"refundlab/refund"
)

// propose reads the order, checks that it allows the refund at all, and asks the model once. It is never reached when a
// proposal is recorded: that one is reused by every recovery (I12).
func (e *Executor) propose(ctx context.Context, run Run) (Run, error) {
	in := run.Facts.Intake
	if run.Facts.ModelCalls >= in.Terms.ModelBudget {
		return e.withdraw(ctx, run, refund.CodeProposalFailed)
	}
	var order refund.Order
	var err error
	if lost := e.call(ctx, run, func(ctx context.Context) { order, err = e.order(ctx, in) }); lost != nil {
		return run, lost
	}
	if err != nil && refund.CodeOf(err) != refund.CodeOrderNotFound {
		return e.Journal.RecordNoProposal(ctx, run.Lease, err)
	}
	// Before the call that costs: what the order does not allow needs no model and no person.
	if code := refund.CheckOrder(in.Request, order, 0); code != "" {
		return e.withdraw(ctx, run, code)
	}
	if run, err = e.Journal.ReserveModelCall(ctx, run.Lease); err != nil {
		return run, err
	}
	var proposal refund.Proposal
	if lost := e.call(ctx, run, func(ctx context.Context) { proposal, err = e.Model.Propose(ctx, in, order) }); lost != nil {
		return run, lost
	}
	if err != nil {
		return e.Journal.RecordNoProposal(ctx, run.Lease, err)
	}
	recorded, err := e.kept(func() (Run, error) { return e.Journal.RecordProposal(ctx, run.Lease, proposal) })
	e.late(err, run, "answer", proposal.AnswerID)
	return recorded, err
}

func (e *Executor) order(ctx context.Context, in refund.Intake) (refund.Order, error) {
	if in.Terms.Profile == refund.ProfileLocal {
		return e.Journal.LocalOrder(ctx, in.Request.Tenant, in.Request.Order)
	}
	return e.Refunds.Order(ctx, in.Request.Tenant, in.Request.Order)
}

// withdraw ends a run of which nothing was ever sent.
func (e *Executor) withdraw(ctx context.Context, run Run, code refund.Code) (Run, error) {
	return e.Journal.RecordOutcome(ctx, run.Lease, Outcome{Event: refund.EventWithdrawn, Code: code})
}
