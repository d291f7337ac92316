package ledger

import (
	"context"
	"database/sql"

	"refundlab/refund"
)

// Entry is one line of the ledger: money that moved.
type Entry struct {
	RefundID     string
	Tenant       string
	OperationID  refund.OperationID
	Digest       refund.Digest
	Order        string
	Amount       refund.Money
	OrderVersion int64 // that the provider saw at the commit
	DecisionID   string
	Fence        refund.Fence
	At           refund.Instant
}

// Contents is everything that a ledger holds: orders by name, operations in the order of their results, entries in the order
// of their commits.
type Contents struct {
	Orders     []Order
	Operations []Operation
	Entries    []Entry
}

// Dump reads the whole ledger. Give it a transaction, or the three lists may be of different moments.
func Dump(ctx context.Context, q Querier) (Contents, error) {
	var c Contents
	var err error
	c.Orders, err = list(ctx, q, `SELECT tenant, id, currency, captured_minor, opening_minor, refunded_minor, version FROM ledger_orders ORDER BY tenant, id`,
		func(rows *sql.Rows, o *Order) error {
			return rows.Scan(&o.Tenant, &o.ID, &o.Currency, &o.Captured, &o.Opening, &o.Refunded, &o.Version)
		})
	if err != nil {
		return Contents{}, err
	}
	c.Operations, err = list(ctx, q, `SELECT o.tenant, o.kind, o.operation_id, o.digest, o.result, o.code, o.message, coalesce(o.refund_id, ''),
		coalesce(f.term, 0), coalesce(f.seq, 0), o.at FROM ledger_operations o LEFT JOIN ledger_fences f USING (tenant, kind, operation_id)
		ORDER BY o.at, o.operation_id`,
		func(rows *sql.Rows, o *Operation) error {
			return rows.Scan(&o.Tenant, &o.Kind, &o.OperationID, &o.Digest, &o.Result, &o.Code, &o.Message, &o.RefundID, &o.Fence.Term, &o.Fence.Seq, &o.At)
		})
	if err != nil {
		return Contents{}, err
	}
	c.Entries, err = list(ctx, q, `SELECT refund_id, tenant, operation_id, digest, order_id, amount_minor, currency, order_version, decision_id,
		fence_term, fence_seq, at FROM ledger_entries ORDER BY seq`,
		func(rows *sql.Rows, e *Entry) error {
			return rows.Scan(&e.RefundID, &e.Tenant, &e.OperationID, &e.Digest, &e.Order, &e.Amount.Minor, &e.Amount.Currency, &e.OrderVersion,
				&e.DecisionID, &e.Fence.Term, &e.Fence.Seq, &e.At)
		})
	return c, err
}

func list[T any](ctx context.Context, q Querier, query string, scan func(*sql.Rows, *T) error) ([]T, error) {
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := []T{}
	for rows.Next() {
		var one T
		if err := scan(rows, &one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}
