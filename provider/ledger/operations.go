package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"refundlab/provider"
	"refundlab/refund"
)

// Operation is what an idempotent provider remembers of one operation id.
type Operation struct {
	provider.Ref
	Digest   refund.Digest
	Result   Outcome // Receipt, Refusal or Tombstone
	Code     refund.Code
	Message  string
	RefundID string
	Fence    refund.Fence // the highest seen; set by Dump alone
	At       refund.Instant
}

// recall returns what is remembered of an operation, or nil. Under a profile that expires, a result older than the retention
// is forgotten, and a reused key is new (I1 ends there).
func recall(ctx context.Context, tx *sql.Tx, p Promise, ref provider.Ref, now refund.Instant) (*Operation, error) {
	op := Operation{Ref: ref}
	var refundID sql.NullString
	ok, err := found(tx.QueryRowContext(ctx, `SELECT digest, result, code, message, refund_id, at FROM ledger_operations
		WHERE tenant = ? AND kind = ? AND operation_id = ?`, ref.Tenant, ref.Kind, ref.OperationID).
		Scan(&op.Digest, &op.Result, &op.Code, &op.Message, &refundID, &op.At))
	if !ok || err != nil {
		return nil, err
	}
	op.RefundID = refundID.String
	if p.Expires && !now.Before(op.At.Add(p.Retention)) {
		return nil, nil
	}
	return &op, nil
}

// remember stores an operation's result, where the profile remembers anything. It takes the place of a forgotten one only: the
// primary key refuses a second result for an operation that is still remembered (I1).
func remember(ctx context.Context, tx *sql.Tx, p Promise, op Operation) error {
	if !p.Idempotent {
		return nil
	}
	if p.Expires {
		if _, err := tx.ExecContext(ctx, `DELETE FROM ledger_operations WHERE tenant = ? AND kind = ? AND operation_id = ? AND at <= ?`,
			op.Tenant, op.Kind, op.OperationID, op.At.Add(-p.Retention)); err != nil {
			return err
		}
	}
	refundID := sql.NullString{String: op.RefundID, Valid: op.RefundID != ""}
	_, err := tx.ExecContext(ctx, `INSERT INTO ledger_operations (tenant, kind, operation_id, digest, result, code, message, refund_id, at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, op.Tenant, op.Kind, op.OperationID, op.Digest, op.Result, op.Code, op.Message, refundID, op.At)
	return err
}

// result turns what is remembered into an answer.
func (op *Operation) result(ctx context.Context, q Querier) (Result, error) {
	if op.Result != Receipt {
		return Result{Outcome: op.Result, Code: op.Code, Message: op.Message, Digest: op.Digest}, nil
	}
	receipt, err := readReceipt(ctx, q, `refund_id = ?`, op.RefundID)
	if err != nil || receipt == nil {
		return Result{}, fmt.Errorf("entry %q of operation %s: %w", op.RefundID, op.OperationID, err)
	}
	return Result{Outcome: Receipt, Receipt: receipt}, nil
}

// raise compares the caller's fence with the highest that was seen for the operation, in the transaction of what follows:
// once a newer owner was seen, nothing of an older one is accepted (I6). A lower fence gets STALE_FENCE, which speaks about
// the caller and is never stored; otherwise the result is empty.
func raise(ctx context.Context, tx *sql.Tx, p Promise, ref provider.Ref, fence refund.Fence) (Result, error) {
	if !p.Fence {
		return Result{}, nil
	}
	var current refund.Fence
	known, err := found(tx.QueryRowContext(ctx, `SELECT term, seq FROM ledger_fences WHERE tenant = ? AND kind = ? AND operation_id = ?`,
		ref.Tenant, ref.Kind, ref.OperationID).Scan(&current.Term, &current.Seq))
	if err != nil {
		return Result{}, err
	}
	if known && fence.Less(current) {
		return Result{Outcome: StaleFence, Code: refund.CodeStaleFence, Fence: current,
			Message: fmt.Sprintf("fence %d.%d is older than %d.%d: another owner has taken over", fence.Term, fence.Seq, current.Term, current.Seq)}, nil
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO ledger_fences (tenant, kind, operation_id, term, seq) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (tenant, kind, operation_id) DO UPDATE SET term = excluded.term, seq = excluded.seq`,
		ref.Tenant, ref.Kind, ref.OperationID, fence.Term, fence.Seq)
	return Result{}, err
}

// LookUp answers with what is known of an operation. An owner gives its fence, which is raised in this transaction; a reader
// gives nil, is never refused and raises nothing. Not found proves nothing about a request that is still on its way.
//
// A remembered result comes first. Where the profile remembers nothing (any more) the entry itself is found: a strong
// look-up never denies money that moved. Of several entries it shows the first, whatever is added later.
func LookUp(ctx context.Context, tx *sql.Tx, p Promise, ref provider.Ref, fence *refund.Fence, now refund.Instant) (Result, error) {
	if p.Lookup == refund.LookupNone {
		return Result{}, refund.Errorf(refund.CodeProfileMismatch, "profile %s has no look-up", p.Name)
	}
	if fence != nil {
		if stale, err := raise(ctx, tx, p, ref, *fence); stale.Outcome != "" || err != nil {
			return stale, err
		}
	}
	if p.Idempotent {
		if stored, err := recall(ctx, tx, p, ref, now); err != nil {
			return Result{}, err
		} else if stored != nil {
			return stored.result(ctx, tx)
		}
	}
	visible, args := `tenant = ? AND kind = ? AND operation_id = ?`, []any{ref.Tenant, ref.Kind, ref.OperationID}
	switch {
	case p.Lookup != refund.LookupLagging:
	case p.Lag == LagManual:
		visible += ` AND seq <= (SELECT replica_seq FROM ledger_state)`
	default:
		visible, args = visible+` AND at <= ?`, append(args, now.Add(-p.Lag))
	}
	receipt, err := readReceipt(ctx, tx, visible, args...)
	if err != nil {
		return Result{}, err
	}
	if receipt == nil {
		return Result{Outcome: NotFound, Code: refund.CodeNotFound, Message: fmt.Sprintf("nothing is known of operation %s, which proves nothing", ref.OperationID)}, nil
	}
	return Result{Outcome: Receipt, Receipt: receipt}, nil
}

// CatchUp lets the manual replica see everything that is committed now.
func CatchUp(ctx context.Context, q Querier) error {
	_, err := q.ExecContext(ctx, `UPDATE ledger_state SET replica_seq = (SELECT coalesce(max(seq), 0) FROM ledger_entries)`)
	return err
}

// Close is get-or-tombstone: a stored result is returned, otherwise a tombstone is written, also for an id never seen, and
// every later request under it is refused as CLOSED. Both happen in this one transaction, so a request in flight commits
// before the close, which then returns its receipt, or never (I3). No other answer proves absence.
func Close(ctx context.Context, tx *sql.Tx, p Promise, ref provider.Ref, fence refund.Fence, now refund.Instant) (Result, error) {
	if !p.Profile.Close {
		return Result{}, refund.Errorf(refund.CodeProfileMismatch, "profile %s has no close", p.Name)
	}
	if stale, err := raise(ctx, tx, p, ref, fence); stale.Outcome != "" || err != nil {
		return stale, err
	}
	stored, err := recall(ctx, tx, p, ref, now)
	if err != nil {
		return Result{}, err
	}
	if stored == nil {
		stored = &Operation{Ref: ref, Result: Tombstone, Code: refund.CodeClosed, Message: fmt.Sprintf("operation %s was closed and is refused for ever", ref.OperationID), At: now}
		if err := remember(ctx, tx, p, *stored); err != nil {
			return Result{}, err
		}
	}
	return stored.result(ctx, tx)
}

// readReceipt makes the receipt of the first entry that matches, or returns nil.
func readReceipt(ctx context.Context, q Querier, where string, args ...any) (*refund.Receipt, error) {
	var r refund.Receipt
	ok, err := found(q.QueryRowContext(ctx, `SELECT refund_id, operation_id, digest, order_id, amount_minor, currency, at FROM ledger_entries
		WHERE `+where+` ORDER BY seq LIMIT 1`, args...).
		Scan(&r.RefundID, &r.OperationID, &r.Digest, &r.Order, &r.Amount.Minor, &r.Amount.Currency, &r.At))
	if !ok || err != nil {
		return nil, err
	}
	return &r, nil
}
