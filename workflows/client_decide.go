package workflows

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"

	"refundlab/refund"
)

// Decide sends a decision and waits for its verdict, until ctx ends. A decision whose id has a verdict already is not sent again.
//
// A run that is closed takes no signal. Its answer is made by the same rule from what the run recorded, is recorded nowhere,
// and carries no instant: nothing was acknowledged that would be owed a record.
//
// Errors: NOT_FOUND; DECISION_CONFLICT when the id stands for other content; VERDICT_PENDING when the decision is stored and ctx
// ended before its verdict; INVALID_*; UNAVAILABLE when it is not known whether the decision is stored. After the last two, the
// same call with the same id asks again.
func (c *Client) Decide(ctx context.Context, in refund.Decision) (refund.RecordedVerdict, error) {
	decision, err := refund.NewDecision(in)
	if err != nil {
		return refund.RecordedVerdict{}, err
	}
	f, err := c.read(ctx, decision.OperationID)
	if err != nil {
		return refund.RecordedVerdict{}, err
	}
	if f.closed {
		return closedVerdict(decision, f)
	}
	if recorded, found := f.verdict(decision.DecisionID); found {
		return refund.Repeat(decision, recorded)
	}
	err = c.temporal.SignalWorkflow(ctx, WorkflowID(decision.OperationID), "", DecisionSignal, decision)
	var missing *serviceerror.NotFound
	switch {
	case errors.As(err, &missing): // it closed in the meantime
		if f, err = c.read(ctx, decision.OperationID); err != nil {
			return refund.RecordedVerdict{}, err
		}
		return closedVerdict(decision, f)
	case err != nil:
		return refund.RecordedVerdict{}, unavailable(err, "whether the decision is stored is not known: ask again with decision id "+decision.DecisionID)
	}
	f, err = c.follow(ctx, decision.OperationID, 0, func(f *fold) bool {
		_, found := f.verdict(decision.DecisionID)
		return found
	})
	if err != nil && ctx.Err() != nil {
		return refund.RecordedVerdict{}, refund.Wrap(refund.CodeVerdictPending, err, "decision %q is stored and has no verdict yet: ask again with the same id once a worker runs", decision.DecisionID)
	}
	if err != nil {
		return refund.RecordedVerdict{}, err
	}
	if recorded, found := f.verdict(decision.DecisionID); found {
		return refund.Repeat(decision, recorded)
	}
	return closedVerdict(decision, f) // terminated before a worker came
}

// closedVerdict answers from the record of a closed run.
func closedVerdict(d refund.Decision, f *fold) (refund.RecordedVerdict, error) {
	if recorded, found := f.verdict(d.DecisionID); found {
		return refund.Repeat(d, recorded)
	}
	code := refund.Judge(d, refund.Bench{
		Intake: f.Intake, Proposal: f.Proposal, Accepted: f.Decision, Expired: f.Expired, Closed: true,
	})
	return refund.RecordedVerdict{DecisionID: d.DecisionID, Hash: d.Hash(), Code: code}, nil
}

// unsettled is the answer to a settlement of a run that is closed.
func (f *fold) unsettled(now refund.Instant) error {
	status := refund.StatusOf(f.Facts, f.profile, now)
	if f.stopped != "" {
		return refund.Errorf(refund.CodeSettlementRefused, "run %s while it was %s: nothing can be recorded in it any more", f.stopped, status)
	}
	return refund.Errorf(refund.CodeSettlementRefused, "run is %s: only a run whose outcome is unknown can be settled", status)
}

// Settle sends a person's settlement and waits for its answer; after a close, also for the outcome that the provider gives.
// When ctx ends in that wait, the view is what was recorded by then.
//
// Errors: NOT_FOUND; SETTLEMENT_REFUSED; DECISION_CONFLICT; VERDICT_PENDING when the settlement is stored and ctx ended before its answer; INVALID_*;
// UNAVAILABLE when it is not known whether it is stored. After the last two, the same call with the same id asks again.
func (c *Client) Settle(ctx context.Context, in refund.Settlement) (refund.View, error) {
	settlement, err := refund.NewSettlement(in)
	if err != nil {
		return refund.View{}, err
	}
	f, err := c.read(ctx, settlement.OperationID)
	if err != nil {
		return refund.View{}, err
	}
	if _, found := f.settlement(settlement.SettlementID); !found {
		if f.closed {
			return refund.View{}, f.unsettled(c.clock())
		}
		err := c.temporal.SignalWorkflow(ctx, WorkflowID(settlement.OperationID), "", SettlementSignal, settlement)
		var missing *serviceerror.NotFound
		if err != nil && !errors.As(err, &missing) { // missing: it closed in the meantime, and its record says how
			return refund.View{}, unavailable(err, "whether the settlement is stored is not known: ask again with settlement id "+settlement.SettlementID)
		}
	}
	f, err = c.follow(ctx, settlement.OperationID, 0, func(f *fold) bool {
		record, found := f.settlement(settlement.SettlementID)
		return found && (record.Refused != "" || record.Hash != settlementHash(settlement) || settlement.Kind != refund.SettleClose || f.over() || f.Conflict != "")
	})
	if err != nil && ctx.Err() == nil {
		return refund.View{}, err
	}
	record, found := f.settlement(settlement.SettlementID)
	switch {
	case !found && f.closed:
		return refund.View{}, f.unsettled(c.clock())
	case !found:
		return refund.View{}, refund.Wrap(refund.CodeVerdictPending, err, "settlement %q is stored and has no answer yet: ask again with the same id once a worker runs", settlement.SettlementID)
	case record.Hash != settlementHash(settlement):
		return refund.View{}, refund.Errorf(refund.CodeDecisionConflict, "settlement id %q already stands for another settlement: use a new id", settlement.SettlementID)
	case record.Refused != "":
		return refund.View{}, refund.Errorf(record.Refused, "settlement %q was refused: %s", settlement.SettlementID, record.Detail)
	}
	return f.view(c.clock())
}
