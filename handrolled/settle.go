package handrolled

import (
	"context"
	"time"

	"refundlab/refund"
)

// Settle records what a person knows about a run of which nobody could know more.
func (s *Store) Settle(ctx context.Context, settlement refund.Settlement, party string) (run Run, err error) {
	err = s.rewrite(ctx, func(tx *transaction) error {
		if settlement.Kind == refund.SettleClose {
			return refund.Errorf(refund.CodeInternal, "a settlement by close needs a claim: ClaimToClose makes it")
		}
		done, err := tx.settled(settlement)
		if err == nil && !done {
			err = tx.settle(settlement, party, 0)
		}
		if err != nil {
			return err
		}
		run, err = tx.load(settlement.OperationID)
		return err
	})
	return run, err
}

// ClaimToClose claims the run for the person's close: the close is a call like any other, under its own generation, and if
// the client dies during it a worker takes the run over when the lease is over.
//
// A settlement that is recorded is never told as refused: not when a COMMIT failed that is there, after which it finds the run
// held by itself, nor to whoever repeats a close that is under way.
func (s *Store) ClaimToClose(ctx context.Context, settlement refund.Settlement, owner string, length time.Duration) (run Run, err error) {
	err = s.rewrite(ctx, func(tx *transaction) error {
		done, err := tx.settled(settlement)
		if err != nil {
			return err
		}
		if run, err = tx.load(settlement.OperationID); err != nil || done && !run.askable() {
			return err
		}
		if done {
			if err = tx.takeOver(settlement.OperationID, owner, length); refund.CodeOf(err) == refund.CodeSettlementRefused {
				err = refund.Errorf(refund.CodeVerdictPending, "settlement %q is recorded and its close is under way until %s: ask again with the same id",
					settlement.SettlementID, run.Lease.Until)
			}
		} else {
			err = tx.settle(settlement, owner, length)
		}
		if err != nil {
			return err
		}
		run, err = tx.load(settlement.OperationID)
		return err
	})
	return run, err
}

// askable tells whether anything may be asked about the run; nothing may once it is over, or in a conflict or presumed absent by a
// person, whoever repeats a close.
func (r Run) askable() bool {
	return !r.Facts.State.Final() && r.Facts.Conflict == "" && r.Facts.PresumedAbsent == nil
}

// settled tells whether this settlement is recorded already. The same id with other content is a conflict.
func (tx *transaction) settled(s refund.Settlement) (bool, error) {
	bodies, err := collect(tx, scanText[string], "SELECT body FROM journal WHERE operation_id = ? AND kind = ? AND ref = ?",
		s.OperationID, refund.FactSettlement, s.SettlementID)
	if err != nil || len(bodies) == 0 {
		return false, err
	}
	body, err := text(s)
	if err == nil && body != bodies[0] {
		return false, refund.Errorf(refund.CodeDecisionConflict, "settlement id %q already stands for another settlement of this run: use a new id", s.SettlementID)
	}
	return true, err
}

// settle checks the settlement and records it. The run must not be held: a worker that is asking may learn more in a moment.
func (tx *transaction) settle(s refund.Settlement, party string, length time.Duration) error {
	run, err := tx.load(s.OperationID)
	if err != nil {
		return err
	}
	profile, err := refund.ProfileNamed(run.Facts.Intake.Terms.Profile)
	if err != nil {
		return err
	}
	if s, err = refund.CheckSettlement(s, run.Facts, profile, tx.now); err != nil {
		return err
	}
	if err := tx.takeOver(s.OperationID, party, length); err != nil {
		return err
	}
	if run, err = tx.load(s.OperationID); err != nil {
		return err
	}
	if err := tx.record(s.OperationID, refund.FactSettlement, party, run.Lease.Generation, s.SettlementID, string(s.Kind), s); err != nil {
		return err
	}
	switch s.Kind {
	case refund.SettleReceipt:
		return tx.conclude(run, party, Outcome{Event: refund.EventReceipt, Receipt: s.Receipt})
	case refund.SettlePresumedAbsent:
		state, err := after(run, refund.EventAmbiguous)
		if err != nil {
			return err
		}
		body, err := text(s)
		if err != nil {
			return err
		}
		return tx.must("UPDATE operations SET state = ?, presumed_absent = ? WHERE operation_id = ?", state, body, s.OperationID)
	}
	return nil
}

// takeOver raises the generation, so that an owner who was frozen, and whose lease ended meanwhile, can no longer write
// (I6). With a length it is a claim; without one nobody holds the run afterwards and nothing makes it due.
func (tx *transaction) takeOver(id refund.OperationID, party string, length time.Duration) error {
	due := tx.now
	if length == 0 {
		due = 0
	}
	changed, err := tx.exec(`UPDATE runs SET generation = generation + 1, owner = ?, lease_until = ?, due_at = ?
		WHERE operation_id = ? AND ? >= lease_until`, party, tx.now.Add(length), instant(due), id, tx.now)
	if err != nil || changed == 1 {
		return err
	}
	run, err := tx.load(id)
	if err != nil {
		return err
	}
	return refund.Errorf(refund.CodeSettlementRefused, "%s holds the run until %s and may learn more: settle after that", run.Lease.Owner, run.Lease.Until)
}
