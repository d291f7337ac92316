package handrolled

import (
	"context"
	"database/sql"
	"errors"

	"refundlab/refund"
)

// Admit stores everything that a recovery needs before anything else happens. The operation id is made from the caller's own
// request id, so a repeated request, also one whose answer was lost, finds its run.
func (s *Store) Admit(ctx context.Context, request refund.Request, terms refund.Terms, party string) (run Run, existing bool, err error) {
	err = s.rewrite(ctx, func(tx *transaction) error {
		in := refund.NewIntake(request, terms, tx.now)
		var stored refund.Digest
		existing = false
		err := tx.row("SELECT digest FROM runs WHERE operation_id = ?", in.OperationID).Scan(&stored)
		switch {
		case err == nil && stored != in.Digest: // I9: another meaning never gets the old answer as its own
			return refund.Errorf(refund.CodeKeyConflict, "request id %q of tenant %q already stands for another refund: use a new request id for a new refund",
				request.RequestID, request.Tenant)
		case err == nil:
			existing = true
			run, err = tx.load(in.OperationID)
			return err
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		body, err := text(in)
		if err != nil {
			return err
		}
		if err := tx.must(`INSERT INTO runs (operation_id, tenant, request_id, digest, intake, at, model_budget, due_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			in.OperationID, request.Tenant, request.RequestID, in.Digest, body, tx.now, terms.ModelBudget, tx.now); err != nil {
			return err
		}
		if err := tx.must("INSERT INTO operations (operation_id) VALUES (?)", in.OperationID); err != nil {
			return err
		}
		if err := tx.record(in.OperationID, refund.FactIntake, party, 0, "", "", in); err != nil {
			return err
		}
		run, err = tx.load(in.OperationID)
		return err
	})
	return run, existing, err
}
