package ledger_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"refundlab/provider"
	"refundlab/provider/ledger"
	"refundlab/refund"
)

const (
	noon     = refund.Instant(1_750_000_000_000)
	deadline = noon + 10_000
)

// book is a ledger in a file of its own, with a clock that stands still until it is moved.
type book struct {
	t       *testing.T
	db      *sql.DB
	promise ledger.Promise
	now     refund.Instant
}

func newBook(t *testing.T, name refund.ProfileName) *book {
	t.Helper()
	profile, err := refund.ProfileNamed(name)
	require.NoError(t, err)
	// No power fails here: what is tested is the same without waiting for the disk.
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "ledger.db")+
		"?_txlock=immediate&_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=foreign_keys(1)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	b := &book{t: t, db: db, promise: ledger.Promise{Profile: profile, Retention: time.Hour, Lag: ledger.LagManual}, now: noon}
	require.NoError(t, b.write(func(tx *sql.Tx) error { return ledger.Schema(ctx(t), tx, name) }))
	b.putOrder("o1", 10000)
	return b
}

func ctx(t *testing.T) context.Context { return t.Context() }

func (b *book) write(work func(*sql.Tx) error) error {
	tx, err := b.db.BeginTx(b.t.Context(), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := work(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// decide runs one operation of the ledger in a transaction of its own.
func (b *book) decide(operation func(*sql.Tx) (ledger.Result, error)) ledger.Result {
	b.t.Helper()
	var result ledger.Result
	require.NoError(b.t, b.write(func(tx *sql.Tx) (err error) {
		result, err = operation(tx)
		return err
	}))
	return result
}

func (b *book) putOrder(id string, captured int64) {
	b.t.Helper()
	order := ledger.Order{Tenant: "shop", Order: refund.Order{ID: id, Currency: "EUR", Captured: captured, Version: 1}}
	require.NoError(b.t, b.write(func(tx *sql.Tx) error { return ledger.PutOrder(ctx(b.t), tx, order) }))
}

func (b *book) setVersion(version int64) {
	b.t.Helper()
	require.NoError(b.t, b.write(func(tx *sql.Tx) error { return ledger.SetVersion(ctx(b.t), tx, "shop", "o1", version) }))
}

func (b *book) submit(s provider.Submission) ledger.Result {
	b.t.Helper()
	return b.decide(func(tx *sql.Tx) (ledger.Result, error) { return ledger.Accept(ctx(b.t), tx, b.promise, s, b.now) })
}

func (b *book) lookUp(ref provider.Ref, fence *refund.Fence) ledger.Result {
	b.t.Helper()
	return b.decide(func(tx *sql.Tx) (ledger.Result, error) {
		return ledger.LookUp(ctx(b.t), tx, b.promise, ref, fence, b.now)
	})
}

func (b *book) close(ref provider.Ref, fence refund.Fence) ledger.Result {
	b.t.Helper()
	return b.decide(func(tx *sql.Tx) (ledger.Result, error) {
		return ledger.Close(ctx(b.t), tx, b.promise, ref, fence, b.now)
	})
}

func (b *book) contents() ledger.Contents {
	b.t.Helper()
	contents, err := ledger.Dump(ctx(b.t), b.db)
	require.NoError(b.t, err)
	return contents
}

// requireLedger asserts the number of entries, and that the order's balance is exactly their sum.
func (b *book) requireLedger(entries int) {
	b.t.Helper()
	contents := b.contents()
	require.Len(b.t, contents.Entries, entries)
	sums := map[string]int64{}
	for _, entry := range contents.Entries {
		sums[entry.Tenant+"/"+entry.Order] += entry.Amount.Minor
	}
	for _, order := range contents.Orders {
		require.Equal(b.t, sums[order.Tenant+"/"+order.ID], order.Refunded-order.Opening, "order %s", order.ID)
		require.LessOrEqual(b.t, order.Refunded, order.Captured, "I7")
	}
}

func fence(term, seq int64) refund.Fence { return refund.Fence{Term: term, Seq: seq} }

// submission is a refund of 42.00 EUR that every profile accepts.
func submission(requestID string) provider.Submission {
	return provider.Submission{
		Ref:   provider.Ref{Tenant: "shop", Kind: refund.Kind, OperationID: refund.NewOperationID("shop", refund.Kind, requestID)},
		Order: "o1", Amount: refund.Money{Minor: 4200, Currency: "EUR"}, Reason: "broken",
		OrderVersion: 1, CommitBy: deadline, DecisionID: "d1", Fence: fence(1, 0),
	}
}

func with(s provider.Submission, change func(*provider.Submission)) provider.Submission {
	change(&s)
	return s
}

func eachProfile(t *testing.T, test func(t *testing.T, b *book)) {
	for _, profile := range refund.Profiles() {
		t.Run(string(profile.Name), func(t *testing.T) { test(t, newBook(t, profile.Name)) })
	}
}
