package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"strings"

	"refundlab/provider"
	"refundlab/refund"
)

// Accept decides one submission at now and writes what it decided. The order of its checks is the contract: another digest,
// the fence, a stored result, then rules, balance, order version and deadline. A refusal by the last group becomes the
// operation's stored result in this same transaction, so that the same question has the same answer for ever (I3).
//
// A profile that is not idempotent looks at none of the first three and remembers no refusal: it refuses one request, and
// the same operation sent again is a new question.
func Accept(ctx context.Context, tx *sql.Tx, p Promise, s provider.Submission, now refund.Instant) (Result, error) {
	digest := s.Digest()
	if p.Idempotent {
		stored, err := recall(ctx, tx, p, s.Ref, now)
		if err != nil {
			return Result{}, err
		}
		// I9. A tombstone of an id never seen has no digest: whatever comes later is refused as CLOSED, not as a conflict.
		if stored != nil && p.OtherDigest == refund.DigestConflict && stored.Digest != "" && stored.Digest != digest {
			return Result{Outcome: Conflict, Code: refund.CodeKeyConflict,
				Message: fmt.Sprintf("operation %s is bound to other parameters: a new refund needs a new operation id", s.OperationID)}, nil
		}
		if stale, err := raise(ctx, tx, p, s.Ref, s.Fence); stale.Outcome != "" || err != nil {
			return stale, err
		}
		if stored != nil {
			return stored.result(ctx, tx)
		}
	}

	order, err := ReadOrder(ctx, tx, s.Tenant, s.Order)
	if err != nil && refund.CodeOf(err) != refund.CodeOrderNotFound {
		return Result{}, err
	}
	if code, message := check(p, s, order, now); code != "" {
		err := remember(ctx, tx, p, Operation{Ref: s.Ref, Digest: digest, Result: Refusal, Code: code, Message: message, At: now})
		return Result{Outcome: Refusal, Code: code, Message: message, Digest: digest}, err
	}
	receipt, err := commit(ctx, tx, p, s, order, digest, now)
	if err != nil {
		return Result{}, err
	}
	return Result{Outcome: Committed, Receipt: &receipt}, nil
}

// check is the provider's own reading of the rules; it returns the first that fails, with a text for a person.
func check(p Promise, s provider.Submission, order refund.Order, now refund.Instant) (refund.Code, string) {
	switch {
	case order.ID != s.Order:
		return refund.CodeOrderNotFound, fmt.Sprintf("tenant %q has no order %q", s.Tenant, s.Order)
	case order.Currency != s.Amount.Currency:
		return refund.CodeCurrencyMismatch, fmt.Sprintf("order %q is in %s, the refund in %s", s.Order, order.Currency, s.Amount.Currency)
	case s.Amount.Minor > order.Captured-order.Refunded:
		return refund.CodeInsufficientBalance, fmt.Sprintf("order %q has %s left, the refund is %s",
			s.Order, refund.Money{Minor: order.Captured - order.Refunded, Currency: order.Currency}, s.Amount)
	case p.OrderVersion && order.Version != s.OrderVersion: // I5
		return refund.CodeOrderVersionChanged, fmt.Sprintf("order %q has version %d, the approval was given for %d", s.Order, order.Version, s.OrderVersion)
	case p.Deadline && !now.Before(s.CommitBy): // I5
		return refund.CodeApprovalExpired, fmt.Sprintf("approval was valid until %s, it is %s", s.CommitBy, now)
	}
	return "", ""
}

// commit moves the money: balance, entry and result in one transaction.
func commit(ctx context.Context, tx *sql.Tx, p Promise, s provider.Submission, order refund.Order, digest refund.Digest, now refund.Instant) (refund.Receipt, error) {
	// The condition and not the check before it is what keeps two refunds from exceeding the capture (I7): it holds whatever
	// kind of transaction the caller gave.
	paid, err := oneRow(tx.ExecContext(ctx, `UPDATE ledger_orders SET refunded_minor = refunded_minor + ?1
		WHERE tenant = ?2 AND id = ?3 AND currency = ?4 AND ?1 <= captured_minor - refunded_minor`, s.Amount.Minor, s.Tenant, s.Order, s.Amount.Currency))
	if err != nil {
		return refund.Receipt{}, err
	}
	if !paid {
		return refund.Receipt{}, refund.Errorf(refund.CodeInternal, "order %q changed inside the transaction that checked it: the transaction is not an immediate one", s.Order)
	}
	receipt := refund.Receipt{RefundID: "re-" + strings.ToLower(rand.Text()), OperationID: s.OperationID, Digest: digest, Order: s.Order, Amount: s.Amount, At: now}
	if _, err := tx.ExecContext(ctx, `INSERT INTO ledger_entries (refund_id, tenant, kind, operation_id, digest, order_id, amount_minor, currency,
		order_version, decision_id, fence_term, fence_seq, at, once) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		receipt.RefundID, s.Tenant, s.Kind, s.OperationID, digest, s.Order, s.Amount.Minor, s.Amount.Currency,
		order.Version, s.DecisionID, s.Fence.Term, s.Fence.Seq, now, p.Idempotent && !p.Expires); err != nil {
		return refund.Receipt{}, err
	}
	return receipt, remember(ctx, tx, p, Operation{Ref: s.Ref, Digest: digest, Result: Receipt, RefundID: receipt.RefundID, At: now})
}
