package handrolled

import (
	"context"
	"database/sql"

	"refundlab/provider"
	"refundlab/provider/ledger"
	"refundlab/refund"
)

// LocalLedger is the ledger of the profile "local": its tables are in the journal's file, and it accepts inside the
// transaction that it is given.
type LocalLedger interface {
	Accept(ctx context.Context, tx *sql.Tx, in refund.Intake, s provider.Submission, now refund.Instant) (provider.Answer, error)
}

// FileLedger is the provider's own ledger code on the journal's file.
func FileLedger() LocalLedger { return fileLedger{} }

type fileLedger struct{}

func (fileLedger) Accept(ctx context.Context, tx *sql.Tx, in refund.Intake, s provider.Submission, now refund.Instant) (provider.Answer, error) {
	promise, err := localPromise()
	if err != nil {
		return provider.Answer{}, err
	}
	result, err := ledger.Accept(ctx, tx, promise, s, now)
	return result.Answer(in), err
}

func localPromise() (ledger.Promise, error) {
	profile, err := refund.ProfileNamed(refund.ProfileLocal)
	return ledger.Promise{Profile: profile}, err
}

// SubmitLocally is what a shared transaction gives: the money, the outcome and its notice are there together or not at all.
// No answer can be lost, nothing can be in flight, and there is no UNKNOWN to recover from.
func (s *Store) SubmitLocally(ctx context.Context, lease Lease) (Run, error) {
	return s.owned(ctx, lease, func(tx *transaction, run Run) error {
		f := run.Facts
		if f.Decision == nil {
			return refund.Errorf(refund.CodeInternal, "run %s has no decision to submit under", lease.OperationID)
		}
		if err := tx.asOwner(lease, "due_at = NULL, lease_until = ?", tx.now); err != nil {
			return err
		}
		if err := tx.intend(lease, run, refund.ActSend); err != nil {
			return err
		}
		answer, err := s.ledger.Accept(ctx, tx.Tx, f.Intake, provider.NewSubmission(f.Intake, *f.Decision, lease.Fence()), tx.now)
		if err != nil {
			return err
		}
		if run, err = tx.load(lease.OperationID); err != nil {
			return err
		}
		switch answer.Observation {
		case refund.ObservedReceipt:
			return tx.conclude(run, lease.Owner, Outcome{Event: refund.EventReceipt, Receipt: answer.Receipt})
		case refund.ObservedRefusal:
			return tx.conclude(run, lease.Owner, Outcome{Event: refund.EventRefusal, Code: answer.Refusal})
		case refund.ObservedConflict:
			return tx.observe(lease, run, Observed{Action: refund.ActSend, Answer: answer, Hold: true})
		}
		return refund.Errorf(refund.CodeInternal, "the ledger in the journal's file answered %s: %s", answer.Observation, answer.Detail)
	})
}

// LocalOrder reads an order of the ledger in this file.
func (s *Store) LocalOrder(ctx context.Context, tenant, order string) (found refund.Order, err error) {
	err = s.read(ctx, func(tx *transaction) error {
		found, err = ledger.ReadOrder(ctx, tx, tenant, order)
		return err
	})
	return found, err
}

// SeedLocalOrders stores orders that are not there yet, all or none; what is there keeps its balance. Where none is missing it
// only reads: a worker that starts after another was frozen in a transaction must be able to, or nobody goes on (I11).
//
// Errors: INVALID_*, and those of every method.
func (s *Store) SeedLocalOrders(ctx context.Context, orders []ledger.Order) error {
	missing := false
	for _, order := range orders {
		_, err := s.LocalOrder(ctx, order.Tenant, order.ID)
		if err != nil && refund.CodeOf(err) != refund.CodeOrderNotFound {
			return err
		}
		missing = missing || err != nil
	}
	if !missing {
		return nil
	}
	return s.write(ctx, func(tx *transaction) error {
		for _, order := range orders {
			if err := ledger.PutOrder(ctx, tx, order); err != nil && refund.CodeOf(err) != refund.CodeAlreadyExists {
				return err
			}
		}
		return nil
	})
}
