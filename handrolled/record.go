package handrolled

import (
	"context"
	"math"
	"time"

	"refundlab/provider"
	"refundlab/refund"
)

// owned runs fn as one transaction of the lease's owner and returns the run as it is then. Before fn writes anything else it goes
// through asOwner or holds.
func (s *Store) owned(ctx context.Context, lease Lease, fn func(tx *transaction, run Run) error) (run Run, err error) {
	err = s.write(ctx, func(tx *transaction) error {
		before, err := tx.load(lease.OperationID)
		if err != nil {
			return err
		}
		if err := fn(tx, before); err != nil {
			return err
		}
		if run, err = tx.load(lease.OperationID); err == nil && run.Lease.Generation != lease.Generation {
			return refund.Errorf(refund.CodeLeaseLost, "run %s is under generation %d, not %d", lease.OperationID, run.Lease.Generation, lease.Generation)
		}
		return err
	})
	return run, err
}

// ReserveModelCall takes one call from the budget. It is durable before the call, because a call that was made and not
// counted is a bill that nobody limited (I12): a worker killed in between has spent it.
func (s *Store) ReserveModelCall(ctx context.Context, lease Lease) (Run, error) {
	return s.owned(ctx, lease, func(tx *transaction, run Run) error {
		if run.Facts.ModelCalls >= run.Facts.Intake.Terms.ModelBudget {
			return refund.Errorf(refund.CodeProposalFailed, "all %d model calls of run %s are spent", run.Facts.ModelCalls, lease.OperationID)
		}
		if err := tx.asOwner(lease, "model_calls = model_calls + 1"); err != nil {
			return err
		}
		return tx.fact(lease, refund.FactModelCall, "", "", map[string]int{"call": run.Facts.ModelCalls + 1})
	})
}

// RecordProposal records the one answer that counts (I12) and ends the lease: from here a person moves the run, or its
// deadline does, and waiting costs a row and nothing else.
func (s *Store) RecordProposal(ctx context.Context, lease Lease, proposal refund.Proposal) (Run, error) {
	return s.owned(ctx, lease, func(tx *transaction, run Run) error {
		body, err := text(proposal)
		if err != nil {
			return err
		}
		if err := tx.asOwner(lease, "proposal = ?, due_at = ?, asks = 0, lease_until = ?", body, run.Facts.Intake.DecideBy(), tx.now); err != nil {
			return err
		}
		// Schema: a second PROPOSAL of this run is refused.
		return tx.fact(lease, refund.FactProposal, proposal.AnswerID, proposal.Recommendation, proposal)
	})
}

// RecordNoProposal pauses the run, longer each time.
func (s *Store) RecordNoProposal(ctx context.Context, lease Lease, cause error) (Run, error) {
	return s.owned(ctx, lease, func(tx *transaction, run Run) error {
		// A run that cannot get its proposal still ends at its deadline, however long the pause (I11).
		if err := tx.pause(lease, run, provider.RetryAfter(cause), run.Facts.Intake.DecideBy()); err != nil {
			return err
		}
		return tx.fact(lease, refund.FactObservation, "PROPOSE", string(refund.CodeOf(cause)), map[string]string{"detail": cause.Error()})
	})
}

// RecordIntent makes the intent durable before the provider is called. A worker that dies from here on leaves a run that may
// have been sent, and its successor acts on that and not on hope (I1, I4).
func (s *Store) RecordIntent(ctx context.Context, lease Lease, action refund.Action) (Run, error) {
	return s.owned(ctx, lease, func(tx *transaction, run Run) error {
		if err := tx.holds(lease); err != nil {
			return err
		}
		return tx.intend(lease, run, action)
	})
}

func (tx *transaction) intend(lease Lease, run Run, action refund.Action) error {
	state, err := after(run, refund.EventIntent)
	if err != nil {
		return err
	}
	firstSent := run.Facts.FirstSentAt
	if action == refund.ActSend && firstSent == 0 {
		firstSent = tx.now
	}
	if err := tx.must("UPDATE operations SET state = ?, first_sent_at = ? WHERE operation_id = ?", state, instant(firstSent), lease.OperationID); err != nil {
		return err
	}
	// Schema: refused unless an approval was accepted.
	return tx.fact(lease, refund.FactIntent, string(action), "", map[string]refund.Action{"action": action})
}

// RecordObservation records an answer that decides nothing and ends the lease: between two asks nobody holds the run, so a
// person can settle it.
func (s *Store) RecordObservation(ctx context.Context, lease Lease, o Observed) (Run, error) {
	return s.owned(ctx, lease, func(tx *transaction, run Run) error {
		var err error
		if o.Hold {
			err = tx.asOwner(lease, "due_at = NULL, lease_until = ?", tx.now)
		} else {
			err = tx.pause(lease, run, o.Answer.Later(), math.MaxInt64)
		}
		if err != nil {
			return err
		}
		return tx.observe(lease, run, o)
	})
}

func (tx *transaction) observe(lease Lease, run Run, o Observed) error {
	f, state := run.Facts, run.Facts.State
	conflict, firstSent, lapsed := f.Conflict, f.FirstSentAt, f.Lapsed
	switch o.Answer.Observation {
	case refund.ObservedUnsent:
		if o.NothingSent {
			firstSent = 0
		} else if o.Answer.Refusal != "" {
			lapsed = o.Answer.Refusal
		}
	case refund.ObservedConflict:
		conflict = string(o.Answer.Observation)
		if o.Answer.Detail != "" {
			conflict = o.Answer.Detail
		}
		fallthrough
	default:
		var err error
		if state, err = after(run, refund.EventAmbiguous); err != nil {
			return err
		}
	}
	if err := tx.must("UPDATE operations SET state = ?, first_sent_at = ?, conflict = nullif(?, ''), lapsed = nullif(?, '') WHERE operation_id = ?",
		state, instant(firstSent), conflict, lapsed, lease.OperationID); err != nil {
		return err
	}
	return tx.fact(lease, refund.FactObservation, string(o.Action), string(o.Answer.Observation), o)
}

// RecordOutcome ends the run.
func (s *Store) RecordOutcome(ctx context.Context, lease Lease, outcome Outcome) (Run, error) {
	return s.owned(ctx, lease, func(tx *transaction, run Run) error {
		if err := tx.asOwner(lease, "due_at = NULL, lease_until = ?", tx.now); err != nil {
			return err
		}
		return tx.conclude(run, lease.Owner, outcome)
	})
}

// conclude records what ended the run, and its notice in the same transaction: a crash leaves both or neither, so nobody is
// told of an outcome that is not there, and no outcome stays untold.
func (tx *transaction) conclude(run Run, party string, outcome Outcome) error {
	in := run.Facts.Intake
	state, err := after(run, outcome.Event)
	if err != nil {
		return err
	}
	notice := refund.Notice{OperationID: in.OperationID, Status: refund.StatusRejected, Reason: outcome.Code}
	ref, code, receipt := "", string(outcome.Code), any(nil)
	if outcome.Receipt != nil {
		// Evidence is checked where it becomes a fact, whoever brought it (I2, I9).
		if seen := refund.CheckReceipt(in, *outcome.Receipt); seen != refund.ObservedReceipt {
			return refund.Errorf(refund.CodeInternal, "receipt %q of run %s does not prove it: %s", outcome.Receipt.RefundID, in.OperationID, seen)
		}
		notice.Status, notice.RefundID = refund.StatusConfirmed, outcome.Receipt.RefundID
		ref, code = outcome.Receipt.RefundID, string(state)
		if receipt, err = text(outcome.Receipt); err != nil {
			return err
		}
	}
	// Schema: a final state never changes, CONFIRMED needs the receipt and REJECTED the code.
	if err := tx.must("UPDATE operations SET state = ?, receipt = ?, rejected = nullif(?, '') WHERE operation_id = ?",
		state, receipt, outcome.Code, in.OperationID); err != nil {
		return err
	}
	if err := tx.record(in.OperationID, refund.FactOutcome, party, run.Lease.Generation, ref, code, outcome); err != nil {
		return err
	}
	return tx.announce(notice)
}

func (tx *transaction) fact(lease Lease, kind refund.FactKind, ref, code string, body any) error {
	return tx.record(lease.OperationID, kind, lease.Owner, lease.Generation, ref, code, body)
}

// pause ends the lease and makes the run due again after the terms' pause, or the longer one that the far side asked for, and no
// later than latest.
func (tx *transaction) pause(lease Lease, run Run, asked time.Duration, latest refund.Instant) error {
	due := min(latest, tx.now.Add(max(asked, run.Facts.Intake.Terms.Pause(run.Asks+1))))
	return tx.asOwner(lease, "asks = asks + 1, due_at = ?, lease_until = ?", due, tx.now)
}

// after is the operation's next state by the shared table; a move that is not in it is a mistake of this program.
func after(run Run, event refund.OperationEvent) (refund.OperationState, error) {
	state, legal := run.Facts.State.After(event)
	if !legal {
		return "", refund.Errorf(refund.CodeInternal, "run %s is %s, where %s is no legal move", run.Facts.Intake.OperationID, run.Facts.State, event)
	}
	return state, nil
}

// instant writes an instant, with NULL for one that is not set.
func instant(i refund.Instant) any {
	if i == 0 {
		return nil
	}
	return int64(i)
}
