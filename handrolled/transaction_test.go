package handrolled

import (
	"context"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"

	"refundlab/refund"
)

// unreliable makes the next COMMIT fail: with its effect there, or without.
type unreliable struct {
	driver.Connector
	next *string // "", "there" or "gone"
}

func (u unreliable) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := u.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return unreliableConn{conn.(fullConn), u.next}, nil
}

type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

type unreliableConn struct {
	fullConn
	next *string
}

func (c unreliableConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	tx, err := c.fullConn.BeginTx(ctx, options)
	return unreliableTx{tx, c.next}, err
}

type unreliableTx struct {
	driver.Tx
	next *string
}

var errLost = errors.New("disk I/O error")

func (tx unreliableTx) Commit() error {
	how := *tx.next
	*tx.next = ""
	switch how {
	case "there":
		return errors.Join(errLost, tx.Tx.Commit())
	case "gone":
		return errors.Join(errLost, tx.Tx.Rollback())
	}
	return tx.Tx.Commit()
}

// shaky is a store whose next COMMIT fails as next says.
func shaky(t *testing.T) (store *Store, clock *hands, next *string) {
	path := journalPath(t)
	connect, err := sqlite.NewConnector(dsn(path))
	require.NoError(t, err)
	next, clock = new(string), clockAt(1000)
	store, err = open(path, unreliable{connect, next}, Options{Clock: clock.read})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store, clock, next
}

// A failed COMMIT is ambiguous, like any answer that does not come. Clients read again under their own id.
func TestAfterAFailedCommitAClientFindsOrMakesItsRecord(t *testing.T) {
	for _, how := range []string{"there", "gone"} {
		t.Run(how, func(t *testing.T) {
			store, _, next := shaky(t)
			*next = how
			run := admit(t, store, refund.Terms{})
			require.Equal(t, []string{"INTAKE"}, kinds(t, store, run.Lease.OperationID))
			propose(t, store)

			*next = how
			verdict, err := store.Decide(bounded(t), decision(run, "1", refund.ChoiceReject), "client")
			require.NoError(t, err)
			require.Equal(t, refund.VerdictAccepted, verdict.Code)
			require.Equal(t, []refund.RecordedVerdict{verdict}, status(t, store, run.Lease.OperationID).Facts.Verdicts)
			require.Equal(t, []string{"VERDICT ACCEPTED", "OUTCOME APPROVAL_REJECTED"}, kinds(t, store, run.Lease.OperationID)[3:])
		})
	}
}

// An owner drops the run, and what it does next is made from what the file says: a receipt that is there is not asked for
// again, one that is gone is, and neither is paid twice.
func TestAfterAFailedCommitAnOwnerActsOnTheFileAlone(t *testing.T) {
	for _, c := range []struct {
		step        string
		there, gone int // submits in all when the commit is there, and when it is gone
	}{
		{"intent", 1, 1},
		{"outcome", 1, 2}, // the same operation, which the provider answers with the same receipt
	} {
		for _, how := range []string{"there", "gone"} {
			t.Run(c.step+" "+how, func(t *testing.T) {
				store, clock, next := shaky(t)
				run := approved(t, store, refund.Terms{})
				w := newWorld()
				e, said := executor(failing{store, next, how, c.step}, w, "A")
				held := claim(t, store, "A")
				e.drive(bounded(t), held)
				want := c.there
				if how == "gone" {
					want = c.gone
				}
				if c.step == "intent" {
					require.Zero(t, w.reached("submit"), "nothing is sent on an intent of which nobody knows")
				}
				require.Contains(t, said.String(), "drops the run")

				clock.set(held.Lease.Until)
				drive(t, store, w, "B")
				require.Equal(t, refund.StatusConfirmed, status(t, store, run.Lease.OperationID).Status)
				require.Equal(t, want, w.reached("submit"))
			})
		}
	}
}

// failing lets the commit of one step fail.
type failing struct {
	*Store
	next      *string
	how, step string
}

func (f failing) RecordIntent(ctx context.Context, lease Lease, action refund.Action) (Run, error) {
	if f.step == "intent" {
		*f.next = f.how
	}
	return f.Store.RecordIntent(ctx, lease, action)
}

func (f failing) RecordOutcome(ctx context.Context, lease Lease, outcome Outcome) (Run, error) {
	if f.step == "outcome" {
		*f.next = f.how
	}
	return f.Store.RecordOutcome(ctx, lease, outcome)
}

// A panic inside a transaction ends it: it does not keep the file from everybody while the process hangs.
func TestAPanicInATransactionGivesTheFileBack(t *testing.T) {
	path := journalPath(t)
	store := openAt(t, path, Options{})
	require.Panics(t, func() {
		_ = store.write(bounded(t), func(*transaction) error { panic("a ledger of somebody else's") })
	})
	admit(t, openAt(t, path, Options{}), refund.Terms{})
	admit(t, store, refund.Terms{})
}
