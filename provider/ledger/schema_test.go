package ledger_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/provider"
	"refundlab/provider/ledger"
	"refundlab/refund"
)

// Whoever writes around Accept meets the constraints.
func TestTheTablesRefuseWhatAcceptMustNeverWrite(t *testing.T) {
	const entry = `INSERT INTO ledger_entries (refund_id, tenant, kind, operation_id, digest, order_id, amount_minor, currency,
		order_version, decision_id, fence_term, fence_seq, at, once)
		SELECT %NEW, tenant, kind, operation_id, digest, %ORDER, %AMOUNT, currency, order_version, decision_id, fence_term, fence_seq, at, once FROM ledger_entries`
	insert := func(id, order, amount string) string {
		return strings.NewReplacer("%NEW", id, "%ORDER", order, "%AMOUNT", amount).Replace(entry)
	}
	cases := map[string]struct{ statement, constraint string }{
		"a second entry of one operation":   {insert("'re-2'", "order_id", "1"), "UNIQUE constraint failed: ledger_entries.tenant"},
		"a second use of a refund id":       {insert("refund_id", "order_id", "1"), "UNIQUE constraint failed"},
		"a second result of one operation":  {`INSERT INTO ledger_operations SELECT * FROM ledger_operations`, "UNIQUE constraint failed: ledger_operations.tenant"},
		"refunded above captured":           {`UPDATE ledger_orders SET refunded_minor = captured_minor + 1`, "CHECK constraint failed"},
		"refunded below what it opened":     {`UPDATE ledger_orders SET refunded_minor = -1`, "CHECK constraint failed"},
		"an amount of nothing":              {`UPDATE ledger_entries SET amount_minor = 0`, "CHECK constraint failed"},
		"an entry of no order":              {`UPDATE ledger_entries SET order_id = 'o9'`, "FOREIGN KEY constraint failed"},
		"a receipt without its entry":       {`UPDATE ledger_operations SET refund_id = NULL`, "CHECK constraint failed"},
		"a receipt of an entry not written": {`UPDATE ledger_operations SET refund_id = 're-9'`, "FOREIGN KEY constraint failed"},
		"text where a number belongs":       {`UPDATE ledger_orders SET refunded_minor = 'all'`, "cannot store TEXT"},
	}
	b := newBook(t, refund.ProfileFull)
	b.submit(submission("r1"))
	before := b.contents()
	for name, c := range cases {
		_, err := b.db.Exec(c.statement)
		require.ErrorContains(t, err, c.constraint, name)
	}
	require.Equal(t, before, b.contents())
}

func TestWhereAKeyIsReusableTheTablesAllowASecondEntry(t *testing.T) {
	b := newBook(t, refund.ProfileRetention)
	b.submit(submission("r1"))
	b.now = b.now.Add(b.promise.Retention)
	b.submit(submission("r1"))
	b.requireLedger(2)
}

// Should the check before it ever be blind, the constraint turns a second refund into an error.
func TestAcceptFailsRatherThanCommitTwice(t *testing.T) {
	b := newBook(t, refund.ProfileFull)
	b.submit(submission("r1"))
	_, err := b.db.Exec(`DELETE FROM ledger_operations`)
	require.NoError(t, err)
	err = b.write(func(tx *sql.Tx) error {
		_, err := ledger.Accept(ctx(t), tx, b.promise, submission("r1"), noon)
		return err
	})
	require.ErrorContains(t, err, "UNIQUE constraint failed")
	require.Len(t, b.contents().Entries, 1)
}

func TestAFileKeepsItsProfile(t *testing.T) {
	b := newBook(t, refund.ProfileLenient)
	require.NoError(t, ledger.Schema(ctx(t), b.db, refund.ProfileLenient), "creating the tables again is harmless")
	err := ledger.Schema(ctx(t), b.db, refund.ProfileFull)
	require.Equal(t, refund.CodeProfileMismatch, refund.CodeOf(err))
	require.ErrorContains(t, err, `"lenient"`)
}

func TestTheClockNeverRunsBackwards(t *testing.T) {
	b := newBook(t, refund.ProfileFull)
	now := func(read refund.Instant) refund.Instant {
		at, err := ledger.Now(ctx(t), b.db, read)
		require.NoError(t, err)
		return at
	}
	require.Equal(t, noon, now(noon))
	b.now = noon + 500
	b.submit(submission("r1"))
	require.Equal(t, noon+500, now(noon), "an entry was written later than the clock says")
	b.now = noon + 700
	b.close(submission("r2").Ref, fence(1, 0))
	require.Equal(t, noon+700, now(noon), "so was a tombstone")
	require.Equal(t, noon+900, now(noon+900))
}

func TestPutOrderRefusesWhatIsNoOrder(t *testing.T) {
	good := ledger.Order{Tenant: "shop", Order: refund.Order{ID: "o2", Currency: "EUR", Captured: 100, Version: 1}}
	cases := map[string]struct {
		change func(*ledger.Order)
		code   refund.Code
		text   string
	}{
		"no tenant":           {func(o *ledger.Order) { o.Tenant = "" }, refund.CodeInvalidIdentity, "tenant is empty"},
		"another spelling":    {func(o *ledger.Order) { o.ID = "O2" }, refund.CodeInvalidIdentity, `write "o2"`},
		"unknown currency":    {func(o *ledger.Order) { o.Currency = "EURO" }, refund.CodeInvalidCurrency, "EURO"},
		"nothing captured":    {func(o *ledger.Order) { o.Captured = 0 }, refund.CodeInvalidAmount, "more than zero"},
		"refunded negative":   {func(o *ledger.Order) { o.Refunded = -1 }, refund.CodeInvalidAmount, "-1 of 100"},
		"refunded too much":   {func(o *ledger.Order) { o.Refunded = 101 }, refund.CodeInvalidAmount, "101 of 100"},
		"no version":          {func(o *ledger.Order) { o.Version = 0 }, refund.CodeInvalidBody, "counted from 1"},
		"it is there already": {func(o *ledger.Order) { o.ID = "o1" }, refund.CodeAlreadyExists, "is there already"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBook(t, refund.ProfileFull)
			b.submit(submission("r1"))
			before := b.contents()
			order := good
			c.change(&order)
			err := b.write(func(tx *sql.Tx) error { return ledger.PutOrder(ctx(t), tx, order) })
			require.Equal(t, c.code, refund.CodeOf(err))
			require.ErrorContains(t, err, c.text)
			require.Equal(t, before, b.contents())
		})
	}
}

func TestAnOrderThatWasPartlyRefundedBeforeKeepsItsOpening(t *testing.T) {
	b := newBook(t, refund.ProfileFull)
	order := ledger.Order{Tenant: "shop", Order: refund.Order{ID: "o2", Currency: "EUR", Captured: 5000, Refunded: 1000, Version: 1}}
	require.NoError(t, b.write(func(tx *sql.Tx) error { return ledger.PutOrder(ctx(t), tx, order) }))
	large := with(submission("r1"), func(s *provider.Submission) { s.Order = "o2" })
	require.Equal(t, refund.CodeInsufficientBalance, b.submit(large).Code, "40.00 are left of 50.00")
	require.Equal(t, int64(1000), b.contents().Orders[1].Opening)
}

func TestVersionsOnlyGrow(t *testing.T) {
	b := newBook(t, refund.ProfileFull)
	set := func(order string, version int64) error {
		return b.write(func(tx *sql.Tx) error { return ledger.SetVersion(ctx(t), tx, "shop", order, version) })
	}
	require.NoError(t, set("o1", 3))
	require.Equal(t, refund.CodeInvalidBody, refund.CodeOf(set("o1", 3)))
	require.Equal(t, refund.CodeInvalidBody, refund.CodeOf(set("o1", 2)))
	require.Equal(t, refund.CodeOrderNotFound, refund.CodeOf(set("o9", 2)))
	order, err := ledger.ReadOrder(ctx(t), b.db, "shop", "o1")
	require.NoError(t, err)
	require.Equal(t, refund.Order{ID: "o1", Currency: "EUR", Captured: 10000, Version: 3}, order)
}

func TestAResultIsCheckedLikeAnAnswerFromANetwork(t *testing.T) {
	request, err := refund.NewRequest(refund.Request{Tenant: "shop", RequestID: "r1", Order: "o1", Amount: refund.Money{Minor: 4200, Currency: "EUR"}, Reason: "broken", Requester: "rita"})
	require.NoError(t, err)
	in := refund.NewIntake(request, refund.Terms{Profile: refund.ProfileLocal}, noon)
	s := submission("r1")
	require.Equal(t, in.Digest, s.Digest())

	b := newBook(t, refund.ProfileLocal)
	require.Equal(t, refund.ObservedNotFound, b.lookUp(s.Ref, nil).Answer(in).Observation)
	receipt := b.submit(s).Answer(in)
	require.Equal(t, refund.ObservedReceipt, receipt.Observation)
	require.Equal(t, in.Digest, receipt.Receipt.Digest)
	require.Equal(t, refund.ObservedConflict, b.submit(with(s, func(s *provider.Submission) { s.Reason = "late" })).Answer(in).Observation)
	stale := b.submit(with(s, func(s *provider.Submission) { s.Fence = fence(0, 1) })).Answer(in)
	require.Equal(t, refund.ObservedStaleFence, stale.Observation)
	require.Equal(t, fence(1, 0), stale.Fence)

	other := request
	other.Reason = "late"
	require.Equal(t, refund.ObservedConflict, b.lookUp(s.Ref, nil).Answer(refund.NewIntake(other, in.Terms, noon)).Observation, "a receipt for something else")

	closed := newBook(t, refund.ProfileLocal)
	tombstone := closed.close(s.Ref, fence(1, 0)).Answer(in)
	require.Equal(t, refund.ObservedRefusal, tombstone.Observation)
	require.Equal(t, refund.CodeClosed, tombstone.Refusal)
}
