package ledger_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/provider"
	"refundlab/provider/ledger"
	"refundlab/refund"
)

func TestAStrongLookUpSeesEveryCommit(t *testing.T) {
	eachProfile(t, func(t *testing.T, b *book) {
		if b.promise.Lookup != refund.LookupStrong {
			t.Skip("no strong look-up")
		}
		s := submission("r1")
		require.Equal(t, ledger.NotFound, b.lookUp(s.Ref, nil).Outcome)
		committed := b.submit(s)
		found := b.lookUp(s.Ref, nil)
		require.Equal(t, ledger.Receipt, found.Outcome)
		require.Equal(t, committed.Receipt, found.Receipt)
		if !b.promise.Idempotent {
			b.submit(s)
			require.Equal(t, committed.Receipt, b.lookUp(s.Ref, nil).Receipt, "a later duplicate does not change the answer")
		}
	})
}

func TestALaggingReplicaSaysNotFoundAfterACommit(t *testing.T) {
	t.Run("until it is told to catch up", func(t *testing.T) {
		b := newBook(t, refund.ProfileStale)
		b.submit(submission("r1"))
		require.Equal(t, ledger.NotFound, b.lookUp(submission("r1").Ref, nil).Outcome)
		require.NoError(t, b.write(func(tx *sql.Tx) error { return ledger.CatchUp(ctx(t), tx) }))
		require.Equal(t, ledger.Receipt, b.lookUp(submission("r1").Ref, nil).Outcome)
		b.submit(submission("r2"))
		require.Equal(t, ledger.NotFound, b.lookUp(submission("r2").Ref, nil).Outcome, "from then on it lags again")
	})
	t.Run("for a duration", func(t *testing.T) {
		b := newBook(t, refund.ProfileStale)
		b.promise.Lag = 5 * time.Second
		b.submit(submission("r1"))
		b.now = noon + 4999
		require.Equal(t, ledger.NotFound, b.lookUp(submission("r1").Ref, nil).Outcome)
		b.now = noon + 5000
		require.Equal(t, ledger.Receipt, b.lookUp(submission("r1").Ref, nil).Outcome)
	})
}

func TestRetention(t *testing.T) {
	end := noon.Add(time.Hour)
	s := submission("r1")
	late := with(s, func(s *provider.Submission) { s.Reason = "late" })

	t.Run("inside it the result is returned and another digest is a conflict", func(t *testing.T) {
		b := newBook(t, refund.ProfileRetention)
		first := b.submit(s)
		b.now = end - 1
		require.Equal(t, first.Receipt, b.submit(s).Receipt)
		require.Equal(t, ledger.Conflict, b.submit(late).Outcome)
		b.requireLedger(1)
	})
	t.Run("after it a reused key is a new refund", func(t *testing.T) {
		b := newBook(t, refund.ProfileRetention)
		first := b.submit(s)
		b.now = end
		second := b.submit(s)
		require.Equal(t, ledger.Committed, second.Outcome)
		require.NotEqual(t, first.Receipt.RefundID, second.Receipt.RefundID)
		require.Equal(t, second.Receipt, b.submit(s).Receipt, "which is remembered for as long again")
		b.requireLedger(2)
	})
	t.Run("after it another digest is new too", func(t *testing.T) {
		b := newBook(t, refund.ProfileRetention)
		b.submit(s)
		b.now = end
		require.Equal(t, ledger.Committed, b.submit(late).Outcome)
	})
	t.Run("after it a look-up still finds money that moved", func(t *testing.T) {
		b := newBook(t, refund.ProfileRetention)
		first := b.submit(s)
		b.now = end
		require.Equal(t, first.Receipt, b.lookUp(s.Ref, nil).Receipt)
	})
	t.Run("after it a refusal is forgotten", func(t *testing.T) {
		b := newBook(t, refund.ProfileRetention)
		missing := with(s, func(s *provider.Submission) { s.Order = "o2" })
		require.Equal(t, ledger.Refusal, b.submit(missing).Outcome)
		b.putOrder("o2", 10000)
		b.now = end
		require.Equal(t, ledger.NotFound, b.lookUp(s.Ref, nil).Outcome)
		require.Equal(t, ledger.Committed, b.submit(missing).Outcome)
	})
	t.Run("other idempotent profiles never forget", func(t *testing.T) {
		for _, name := range []refund.ProfileName{refund.ProfileFull, refund.ProfileLenient} {
			b := newBook(t, name)
			first := b.submit(s)
			b.now = end + refund.Instant(365*24*time.Hour/time.Millisecond)
			require.Equal(t, first.Receipt, b.submit(s).Receipt)
		}
	})
}
