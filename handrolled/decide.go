package handrolled

import (
	"context"

	"refundlab/refund"
)

// Decide gives a decision its one verdict (I10) in the transaction that stores it, so the reply is the record. It needs no
// worker: the transaction excludes every other writer, and its own reading of the clock says whether the deadline is over,
// whatever time the sender believes it is.
func (s *Store) Decide(ctx context.Context, d refund.Decision, party string) (verdict refund.RecordedVerdict, err error) {
	err = s.rewrite(ctx, func(tx *transaction) error {
		run, err := tx.load(d.OperationID)
		if err != nil {
			return err
		}
		f := run.Facts
		for _, recorded := range f.Verdicts {
			if recorded.DecisionID == d.DecisionID {
				verdict, err = refund.Repeat(d, recorded)
				return err
			}
		}
		overdue := !tx.now.Before(f.Intake.DecideBy())
		verdict = refund.RecordedVerdict{DecisionID: d.DecisionID, Hash: d.Hash(), At: tx.now, Code: refund.Judge(d, refund.Bench{
			Intake: f.Intake, Proposal: f.Proposal, Accepted: f.Decision, Overdue: overdue, Expired: f.Expired, Closed: f.State.Final(),
		})}
		body, err := text(d)
		if err != nil {
			return err
		}
		// Schema: one verdict for each decision id, and at most one ACCEPTED for each run.
		if err := tx.must("INSERT INTO decisions (operation_id, decision_id, choice, hash, verdict, at, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
			d.OperationID, d.DecisionID, d.Choice, verdict.Hash, verdict.Code, tx.now, body); err != nil {
			return err
		}
		if err := tx.record(d.OperationID, refund.FactVerdict, party, run.Lease.Generation, d.DecisionID, string(verdict.Code), d); err != nil {
			return err
		}
		switch {
		case verdict.Code == refund.VerdictExpired && !f.Expired:
			// No worker was there at the deadline. The person is told EXPIRED, so EXPIRED is recorded with it (I3).
			return tx.expire(run, party)
		case verdict.Code != refund.VerdictAccepted:
			return nil
		case d.Choice == refund.ChoiceReject:
			if err := tx.must("UPDATE runs SET due_at = NULL WHERE operation_id = ?", d.OperationID); err != nil {
				return err
			}
			return tx.conclude(run, party, Outcome{Event: refund.EventWithdrawn, Code: refund.CodeApprovalRejected})
		}
		return tx.must("UPDATE runs SET due_at = ?, asks = 0 WHERE operation_id = ?", tx.now, d.OperationID)
	})
	if err != nil {
		return refund.RecordedVerdict{}, err // what was not recorded is no verdict, and must not be told as one
	}
	return verdict, nil
}

// Expire ends a run whose deadline is over. The condition is read in the transaction that writes: a decision that was
// accepted between the worker's claim and this line wins.
func (s *Store) Expire(ctx context.Context, lease Lease) (Run, error) {
	return s.owned(ctx, lease, func(tx *transaction, run Run) error {
		f := run.Facts
		if err := tx.holds(lease); err != nil {
			return err
		}
		if f.Expired || f.State.Final() {
			// A late decision's transaction was faster. Nothing is left to do under this lease.
			return tx.asOwner(lease, "due_at = NULL, lease_until = ?", tx.now)
		}
		if f.Decision != nil || f.State != refund.StatePrepared || tx.now.Before(f.Intake.DecideBy()) {
			return nil
		}
		if err := tx.asOwner(lease, "lease_until = ?", tx.now); err != nil {
			return err
		}
		return tx.expire(run, lease.Owner)
	})
}

// expire records that the run is over for want of a decision, with its notice.
func (tx *transaction) expire(run Run, party string) error {
	id := run.Facts.Intake.OperationID
	if err := tx.must("UPDATE runs SET expired = 1, due_at = NULL WHERE operation_id = ? AND expired = 0", id); err != nil {
		return err
	}
	deadline := map[string]refund.Instant{"decide_by": run.Facts.Intake.DecideBy()}
	if err := tx.record(id, refund.FactExpiry, party, run.Lease.Generation, "", string(refund.StatusExpired), deadline); err != nil {
		return err
	}
	return tx.announce(refund.Notice{OperationID: id, Status: refund.StatusExpired})
}
