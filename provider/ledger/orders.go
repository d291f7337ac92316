package ledger

import (
	"context"

	"refundlab/refund"
)

// Order is an order of one tenant.
type Order struct {
	Tenant string `json:"tenant"`
	refund.Order
	// Opening is what was refunded already when the order was put in; Dump alone sets it.
	Opening int64 `json:"-"`
}

// ReadOrder reads an order, strongly.
//
// Errors: ORDER_NOT_FOUND, and the store's own.
func ReadOrder(ctx context.Context, q Querier, tenant, id string) (refund.Order, error) {
	order := refund.Order{ID: id}
	ok, err := found(q.QueryRowContext(ctx, `SELECT currency, captured_minor, refunded_minor, version FROM ledger_orders WHERE tenant = ? AND id = ?`, tenant, id).
		Scan(&order.Currency, &order.Captured, &order.Refunded, &order.Version))
	if err != nil {
		return refund.Order{}, err
	}
	if !ok {
		return refund.Order{}, refund.Errorf(refund.CodeOrderNotFound, "tenant %q has no order %q", tenant, id)
	}
	return order, nil
}

// PutOrder stores a new order. One that is there already is left as it is, because its balance belongs to the ledger and not
// to whoever seeds orders at each start.
//
// Errors: INVALID_IDENTITY, INVALID_AMOUNT, INVALID_CURRENCY, INVALID_BODY, ALREADY_EXISTS, and the store's own.
func PutOrder(ctx context.Context, q Querier, o Order) error {
	for what, value := range map[string]string{"tenant": o.Tenant, "order": o.ID} {
		if id, err := refund.ParseIdentity(what, value); err != nil {
			return err
		} else if id != value {
			return refund.Errorf(refund.CodeInvalidIdentity, "%s %q is not in its one spelling: write %q", what, value, id)
		}
	}
	if _, err := refund.NewMoney(o.Captured, o.Currency); err != nil {
		return err
	}
	if o.Refunded < 0 || o.Refunded > o.Captured {
		return refund.Errorf(refund.CodeInvalidAmount, "order %q says that %d of %d minor units are refunded: it must be from 0 to what was captured", o.ID, o.Refunded, o.Captured)
	}
	if o.Version < 1 {
		return refund.Errorf(refund.CodeInvalidBody, "order %q has version %d: versions are counted from 1", o.ID, o.Version)
	}
	added, err := oneRow(q.ExecContext(ctx, `INSERT INTO ledger_orders (tenant, id, currency, captured_minor, opening_minor, refunded_minor, version)
		VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6) ON CONFLICT DO NOTHING`, o.Tenant, o.ID, o.Currency, o.Captured, o.Refunded, o.Version))
	if err == nil && !added {
		return refund.Errorf(refund.CodeAlreadyExists, "order %q of tenant %q is there already: its balance is the ledger's", o.ID, o.Tenant)
	}
	return err
}

// SetVersion gives an order a new, higher version: something about it changed, and an approval given for the old one no
// longer counts where the provider compares versions (I5).
//
// Errors: ORDER_NOT_FOUND, INVALID_BODY, and the store's own.
func SetVersion(ctx context.Context, q Querier, tenant, id string, version int64) error {
	raised, err := oneRow(q.ExecContext(ctx, `UPDATE ledger_orders SET version = ? WHERE tenant = ? AND id = ? AND version < ?`, version, tenant, id, version))
	if err != nil || raised {
		return err
	}
	order, err := ReadOrder(ctx, q, tenant, id)
	if err != nil {
		return err
	}
	return refund.Errorf(refund.CodeInvalidBody, "order %q has version %d, and %d is not higher: versions only grow", id, order.Version, version)
}
