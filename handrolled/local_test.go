package handrolled

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/provider"
	"refundlab/provider/ledger"
	"refundlab/refund"
)

var localOrders = []ledger.Order{{Tenant: "acme", Order: refund.Order{ID: "order-1", Currency: "EUR", Captured: 10_000, Version: theProposal.OrderVersion}}}

func seed(t testing.TB, store *Store) {
	require.NoError(t, store.SeedLocalOrders(bounded(t), localOrders))
}

func contents(t *testing.T, store *Store) (c ledger.Contents) {
	require.NoError(t, store.read(bounded(t), func(tx *transaction) (err error) {
		c, err = ledger.Dump(tx.ctx, tx)
		return err
	}))
	return c
}

func TestALocalRefundIsOneTransaction(t *testing.T) {
	store, _ := newStore(t)
	seed(t, store)
	run := approved(t, store, refund.Terms{Profile: refund.ProfileLocal})
	w := newWorld()
	drive(t, store, w, "A")

	view := status(t, store, run.Lease.OperationID)
	require.Equal(t, refund.StatusConfirmed, view.Status)
	require.Zero(t, w.reached(""), "a local refund needs no network")
	entries := contents(t, store).Entries
	require.Len(t, entries, 1)
	require.Equal(t, view.Facts.Receipt.RefundID, entries[0].RefundID)
	require.Equal(t, int64(4200), contents(t, store).Orders[0].Refunded)
	require.Equal(t, refund.Fence{Term: 2}, entries[0].Fence)
	require.Equal(t, []string{"INTENT", "OUTCOME CONFIRMED"}, kinds(t, store, run.Lease.OperationID)[4:])
}

// breaking is a ledger whose transaction fails after the money moved in it.
type breaking struct{ LocalLedger }

func (b breaking) Accept(ctx context.Context, tx *sql.Tx, in refund.Intake, s provider.Submission, now refund.Instant) (provider.Answer, error) {
	_, err := b.LocalLedger.Accept(ctx, tx, in, s, now)
	return provider.Answer{}, errors.Join(err, errors.New("the worker ends here"))
}

func TestALocalRefundThatDoesNotCommitLeavesNothing(t *testing.T) {
	clock := clockAt(1000)
	store := openAt(t, journalPath(t), Options{Clock: clock.read, Ledger: breaking{FileLedger()}})
	seed(t, store)
	run := approved(t, store, refund.Terms{Profile: refund.ProfileLocal})
	held := claim(t, store, "A")
	before := dump(t, store)
	_, err := store.SubmitLocally(bounded(t), held.Lease)
	require.ErrorContains(t, err, "the worker ends here")
	require.Equal(t, before, dump(t, store))
	require.Equal(t, refund.StatusRetryable, status(t, store, run.Lease.OperationID).Status)

	store.ledger = FileLedger()
	clock.set(held.Lease.Until)
	drive(t, store, newWorld(), "B")
	require.Equal(t, refund.StatusConfirmed, status(t, store, run.Lease.OperationID).Status)
	require.Len(t, contents(t, store).Entries, 1)
}

func TestALocalRefusalEndsTheRun(t *testing.T) {
	for _, c := range []struct {
		name   string
		change string
		code   refund.Code
	}{
		{"order version", "UPDATE ledger_orders SET version = 4", refund.CodeOrderVersionChanged},
		{"balance", "UPDATE ledger_orders SET refunded_minor = 9000", refund.CodeInsufficientBalance},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, _ := newStore(t)
			seed(t, store)
			run := approved(t, store, refund.Terms{Profile: refund.ProfileLocal})
			_, err := store.writer.Exec(c.change)
			require.NoError(t, err)
			drive(t, store, newWorld(), "A")
			view := status(t, store, run.Lease.OperationID)
			require.Equal(t, refund.StatusRejected, view.Status)
			require.Equal(t, c.code, view.Reason)
			require.Empty(t, contents(t, store).Entries)
		})
	}
}

// A worker seeds at its start, and the one whom it replaces may be frozen with the lock in hand.
func TestSeedingWhatIsThereNeedsNoLock(t *testing.T) {
	t.Parallel()
	path := journalPath(t)
	seed(t, openAt(t, path, Options{}))
	store := openAt(t, path, Options{})
	defer lock(t, path)()
	began := time.Now()
	require.NoError(t, store.SeedLocalOrders(bounded(t), nil))
	seed(t, store)
	require.Less(t, time.Since(began), busyTimeout)
	other := []ledger.Order{{Tenant: "acme", Order: refund.Order{ID: "order-2", Currency: "EUR", Captured: 1, Version: 1}}}
	requireCode(t, store.SeedLocalOrders(bounded(t), other), refund.CodeStoreLocked)
}

func TestSeedingOrdersAgainKeepsTheirBalance(t *testing.T) {
	store, _ := newStore(t)
	seed(t, store)
	_, err := store.writer.Exec("UPDATE ledger_orders SET refunded_minor = 4200")
	require.NoError(t, err)
	seed(t, store)
	order, err := store.LocalOrder(bounded(t), "acme", "order-1")
	require.NoError(t, err)
	require.Equal(t, int64(4200), order.Refunded)
	_, err = store.LocalOrder(bounded(t), "acme", "order-2")
	requireCode(t, err, refund.CodeOrderNotFound)
}
