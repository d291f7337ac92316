package ledger_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/provider"
	"refundlab/provider/ledger"
	"refundlab/refund"
)

// ways are the three requests of an owner; each carries the fence and raises it.
var ways = map[string]func(*book, refund.Fence) ledger.Result{
	"submit": func(b *book, f refund.Fence) ledger.Result {
		return b.submit(with(submission("r1"), func(s *provider.Submission) { s.Fence = f }))
	},
	"look-up": func(b *book, f refund.Fence) ledger.Result { return b.lookUp(submission("r1").Ref, &f) },
	"close":   func(b *book, f refund.Fence) ledger.Result { return b.close(submission("r1").Ref, f) },
}

func TestAfterANewerOwnerWasSeenAnOlderOneIsRefused(t *testing.T) {
	pairs := []struct {
		name         string
		seen, caller refund.Fence
		stale        bool
	}{
		{"lower term", fence(2, 0), fence(1, 9), true},
		{"lower sequence of the same term", fence(2, 5), fence(2, 4), true},
		{"the same pair", fence(2, 5), fence(2, 5), false},
		{"higher sequence", fence(2, 5), fence(2, 6), false},
		{"higher term, lower sequence", fence(2, 5), fence(3, 0), false},
	}
	for first, raise := range ways {
		for second, ask := range ways {
			t.Run(first+" then "+second, func(t *testing.T) {
				for _, p := range pairs {
					b := newBook(t, refund.ProfileFull)
					raise(b, p.seen)
					before := b.contents()
					result := ask(b, p.caller)
					if !p.stale {
						require.NotEqual(t, ledger.StaleFence, result.Outcome, p.name)
						continue
					}
					require.Equal(t, ledger.StaleFence, result.Outcome, p.name)
					require.Equal(t, refund.CodeStaleFence, result.Code)
					require.Equal(t, p.seen, result.Fence, "the current pair is told")
					require.Equal(t, before, b.contents(), "STALE_FENCE is never stored, and nothing is changed (I6)")
				}
			})
		}
	}
}

func TestAStaleOwnerIsNotAnsweredFromTheStore(t *testing.T) {
	b := newBook(t, refund.ProfileFull)
	ways["submit"](b, fence(2, 0))
	require.Equal(t, ledger.StaleFence, ways["submit"](b, fence(1, 0)).Outcome)
	require.Equal(t, ledger.Receipt, ways["submit"](b, fence(3, 0)).Outcome, "a newer owner is, and raises the fence")
	require.Equal(t, fence(3, 0), b.contents().Operations[0].Fence)
}

func TestAConflictComesBeforeTheFence(t *testing.T) {
	b := newBook(t, refund.ProfileFull)
	ways["submit"](b, fence(2, 0))
	result := b.submit(with(submission("r1"), func(s *provider.Submission) { s.Fence, s.Reason = fence(1, 0), "late" }))
	require.Equal(t, ledger.Conflict, result.Outcome)
}

func TestAReaderIsNeverRefusedAndRaisesNothing(t *testing.T) {
	b := newBook(t, refund.ProfileFull)
	ways["submit"](b, fence(2, 0))
	require.Equal(t, ledger.Receipt, b.lookUp(submission("r1").Ref, nil).Outcome)
	require.Equal(t, ledger.Receipt, ways["look-up"](b, fence(2, 0)).Outcome, "the owner's fence still counts")
	require.Equal(t, ledger.NotFound, b.lookUp(submission("r2").Ref, nil).Outcome)
}

func TestAFenceIsRaisedOnlyWithTheTransactionThatSawIt(t *testing.T) {
	b := newBook(t, refund.ProfileFull)
	tx, err := b.db.BeginTx(ctx(t), nil)
	require.NoError(t, err)
	high := fence(9, 0)
	_, err = ledger.LookUp(ctx(t), tx, b.promise, submission("r1").Ref, &high, noon)
	require.NoError(t, err)
	require.NoError(t, tx.Rollback())
	require.Equal(t, ledger.Committed, ways["submit"](b, fence(1, 0)).Outcome)
}

func TestOtherProfilesLookAtNoFence(t *testing.T) {
	eachProfile(t, func(t *testing.T, b *book) {
		if b.promise.Fence {
			t.Skip("the other tests are about this one")
		}
		ways["submit"](b, fence(2, 0))
		require.NotEqual(t, ledger.StaleFence, ways["submit"](b, fence(1, 0)).Outcome)
		if b.promise.Lookup != refund.LookupNone {
			require.NotEqual(t, ledger.StaleFence, ways["look-up"](b, fence(0, 0)).Outcome)
		}
		var fences int
		require.NoError(t, b.db.QueryRow(`SELECT count(*) FROM ledger_fences`).Scan(&fences))
		require.Zero(t, fences)
	})
}

func TestCloseIsGetOrTombstone(t *testing.T) {
	s := submission("r1")
	t.Run("an id never seen", func(t *testing.T) {
		b := newBook(t, refund.ProfileFull)
		closed := b.close(s.Ref, fence(1, 0))
		require.Equal(t, ledger.Tombstone, closed.Outcome)
		require.Equal(t, refund.CodeClosed, closed.Code)
		require.Equal(t, closed, b.close(s.Ref, fence(1, 0)), "closing again changes nothing")
		require.Equal(t, closed, b.lookUp(s.Ref, nil))
		require.Equal(t, closed, b.submit(s), "every later request is refused (I3)")
		require.Equal(t, closed, b.submit(with(s, func(s *provider.Submission) { s.Reason = "late" })), "with any digest")
		b.requireLedger(0)
	})
	t.Run("a receipt", func(t *testing.T) {
		b := newBook(t, refund.ProfileFull)
		committed := b.submit(s)
		closed := b.close(s.Ref, fence(1, 0))
		require.Equal(t, ledger.Receipt, closed.Outcome)
		require.Equal(t, committed.Receipt, closed.Receipt)
		require.Equal(t, ledger.Receipt, b.submit(s).Outcome)
	})
	t.Run("a refusal", func(t *testing.T) {
		b := newBook(t, refund.ProfileFull)
		b.now = deadline
		refused := b.submit(s)
		require.Equal(t, refund.CodeApprovalExpired, refused.Code)
		require.Equal(t, refused, b.close(s.Ref, fence(1, 0)))
	})
}

func TestWhatAProfileDoesNotHaveIsAnError(t *testing.T) {
	eachProfile(t, func(t *testing.T, b *book) {
		lookUp := b.write(func(tx *sql.Tx) error {
			_, err := ledger.LookUp(ctx(t), tx, b.promise, submission("r1").Ref, nil, noon)
			return err
		})
		require.Equal(t, b.promise.Lookup == refund.LookupNone, refund.CodeOf(lookUp) == refund.CodeProfileMismatch)
		close := b.write(func(tx *sql.Tx) error {
			_, err := ledger.Close(ctx(t), tx, b.promise, submission("r1").Ref, fence(1, 0), noon)
			return err
		})
		require.Equal(t, !b.promise.Profile.Close, refund.CodeOf(close) == refund.CodeProfileMismatch)
	})
}
