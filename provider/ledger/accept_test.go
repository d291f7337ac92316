package ledger_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/provider"
	"refundlab/provider/ledger"
	"refundlab/refund"
)

func TestAcceptMovesTheMoneyAndGivesAReceiptForExactlyWhatWasAsked(t *testing.T) {
	eachProfile(t, func(t *testing.T, b *book) {
		s := submission("r1")
		result := b.submit(s)
		require.Equal(t, ledger.Committed, result.Outcome)
		receipt := result.Receipt
		require.NotEmpty(t, receipt.RefundID)
		require.Equal(t, refund.Receipt{RefundID: receipt.RefundID, OperationID: s.OperationID, Digest: s.Digest(), Order: "o1", Amount: s.Amount, At: noon}, *receipt)
		b.requireLedger(1)
		require.Equal(t, ledger.Entry{RefundID: receipt.RefundID, Tenant: "shop", OperationID: s.OperationID, Digest: s.Digest(), Order: "o1", Amount: s.Amount,
			OrderVersion: 1, DecisionID: "d1", Fence: fence(1, 0), At: noon}, b.contents().Entries[0])
	})
}

func TestTheSameSubmissionAgain(t *testing.T) {
	eachProfile(t, func(t *testing.T, b *book) {
		first, second := b.submit(submission("r1")), b.submit(submission("r1"))
		if b.promise.Idempotent {
			require.Equal(t, ledger.Receipt, second.Outcome)
			require.Equal(t, first.Receipt, second.Receipt, "a retry gets the same receipt (I2)")
			b.requireLedger(1)
			return
		}
		require.Equal(t, ledger.Committed, second.Outcome, "a duplicate can happen here, and be seen")
		require.NotEqual(t, first.Receipt.RefundID, second.Receipt.RefundID)
		b.requireLedger(2)
		require.Empty(t, b.contents().Operations)
	})
}

func TestTheSameKeyWithAnotherDigest(t *testing.T) {
	changes := map[string]func(*provider.Submission){
		"amount": func(s *provider.Submission) { s.Amount.Minor = 101 },
		"order":  func(s *provider.Submission) { s.Order = "o2" },
		"reason": func(s *provider.Submission) { s.Reason = "late" },
	}
	eachProfile(t, func(t *testing.T, b *book) {
		b.putOrder("o2", 10000)
		small := with(submission("r1"), func(s *provider.Submission) { s.Amount.Minor = 100 })
		first := b.submit(small)
		before := b.contents()
		for name, change := range changes {
			// A higher fence shows that a conflict changes nothing, not even that.
			other := b.submit(with(small, func(s *provider.Submission) { change(s); s.Fence = fence(9, 0) }))
			switch b.promise.OtherDigest {
			case refund.DigestConflict:
				require.Equal(t, ledger.Conflict, other.Outcome, name)
				require.Equal(t, refund.CodeKeyConflict, other.Code)
				require.Nil(t, other.Receipt, "never the old result as its own (I9)")
			case refund.DigestOldAnswer:
				require.Equal(t, ledger.Receipt, other.Outcome, name)
				require.Equal(t, first.Receipt, other.Receipt, "the caller must compare the digest")
			case refund.DigestUnseen:
				require.Equal(t, ledger.Committed, other.Outcome, name)
			}
		}
		if b.promise.Idempotent {
			require.Equal(t, before.Entries, b.contents().Entries)
		}
		if b.promise.OtherDigest == refund.DigestConflict {
			require.Equal(t, before, b.contents(), "a conflict changes nothing")
		}
	})
}

func TestTwoTenantsShareNoKey(t *testing.T) {
	b := newBook(t, refund.ProfileFull)
	order := ledger.Order{Tenant: "other", Order: refund.Order{ID: "o1", Currency: "EUR", Captured: 5000, Version: 1}}
	require.NoError(t, b.write(func(tx *sql.Tx) error { return ledger.PutOrder(ctx(t), tx, order) }))
	b.submit(submission("r1"))
	require.Equal(t, ledger.Committed, b.submit(with(submission("r1"), func(s *provider.Submission) { s.Tenant = "other" })).Outcome)
	require.Equal(t, ledger.NotFound, b.lookUp(provider.Ref{Tenant: "third", Kind: refund.Kind, OperationID: submission("r1").OperationID}, nil).Outcome)
	b.requireLedger(2)
}

func TestEqualParametersUnderTwoOperationsAreTwoRefunds(t *testing.T) {
	eachProfile(t, func(t *testing.T, b *book) {
		require.Equal(t, ledger.Committed, b.submit(submission("r1")).Outcome)
		require.Equal(t, ledger.Committed, b.submit(submission("r2")).Outcome, "I8")
		b.requireLedger(2)
	})
}

func TestRefusals(t *testing.T) {
	full := func(p ledger.Promise) bool { return p.Profile.Close }
	always := func(ledger.Promise) bool { return true }
	cases := []struct {
		name    string
		change  func(*provider.Submission)
		at      refund.Instant
		version int64
		code    refund.Code
		where   func(ledger.Promise) bool
	}{
		{"no such order", func(s *provider.Submission) { s.Order = "o9" }, noon, 1, refund.CodeOrderNotFound, always},
		{"another currency", func(s *provider.Submission) { s.Amount.Currency = "USD" }, noon, 1, refund.CodeCurrencyMismatch, always},
		{"one unit too much", func(s *provider.Submission) { s.Amount.Minor = 10001 }, noon, 1, refund.CodeInsufficientBalance, always},
		{"order version changed", func(*provider.Submission) {}, noon, 2, refund.CodeOrderVersionChanged, full},
		{"at the deadline", func(*provider.Submission) {}, deadline, 1, refund.CodeApprovalExpired, full},
		{"rules come before the balance", func(s *provider.Submission) { s.Amount = refund.Money{Minor: 10001, Currency: "USD"} }, noon, 1, refund.CodeCurrencyMismatch, always},
		{"the balance comes before the version", func(s *provider.Submission) { s.Amount.Minor = 10001 }, noon, 2, refund.CodeInsufficientBalance, always},
		{"the version comes before the deadline", func(*provider.Submission) {}, deadline, 2, refund.CodeOrderVersionChanged, full},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			eachProfile(t, func(t *testing.T, b *book) {
				b.now = c.at
				if c.version > 1 {
					b.setVersion(c.version)
				}
				s := with(submission("r1"), c.change)
				result := b.submit(s)
				if !c.where(b.promise) {
					require.Equal(t, ledger.Committed, result.Outcome, "this provider does not look")
					return
				}
				require.Equal(t, ledger.Refusal, result.Outcome)
				require.Equal(t, c.code, result.Code)
				require.Equal(t, s.Digest(), result.Digest)
				require.NotEmpty(t, result.Message)
				b.requireLedger(0)
				if b.promise.Idempotent {
					stored := b.contents().Operations
					require.Len(t, stored, 1)
					require.Equal(t, ledger.Refusal, stored[0].Result)
					require.Equal(t, c.code, stored[0].Code)
				}
			})
		})
	}
}

func TestAMillisecondBeforeTheDeadlineIsInTime(t *testing.T) {
	b := newBook(t, refund.ProfileFull)
	b.now = deadline - 1
	require.Equal(t, ledger.Committed, b.submit(submission("r1")).Outcome)
}

// What was refused stays refused although its cause is gone: otherwise REJECTED would not be final (I3).
func TestARefusalIsStored(t *testing.T) {
	causes := map[string]struct {
		cause func(*book, *provider.Submission)
		cured func(*book, *provider.Submission)
	}{
		"order was missing": {
			cause: func(_ *book, s *provider.Submission) { s.Order = "o2" },
			cured: func(b *book, _ *provider.Submission) { b.putOrder("o2", 10000) },
		},
		"approval had expired": {
			cause: func(b *book, _ *provider.Submission) { b.now = deadline },
			cured: func(_ *book, s *provider.Submission) { s.CommitBy = deadline + 1000 }, // not part of the digest
		},
		"order version had changed": {
			cause: func(b *book, _ *provider.Submission) { b.setVersion(2) },
			cured: func(_ *book, s *provider.Submission) { s.OrderVersion = 2 }, // not part of the digest
		},
	}
	for name, c := range causes {
		t.Run(name, func(t *testing.T) {
			eachProfile(t, func(t *testing.T, b *book) {
				s := submission("r1")
				c.cause(b, &s)
				first := b.submit(s)
				if first.Outcome == ledger.Committed {
					t.Skip("this provider does not look")
				}
				c.cured(b, &s)
				second := b.submit(s)
				if !b.promise.Idempotent {
					require.Equal(t, ledger.Committed, second.Outcome, "nothing is remembered: the same question is new")
					return
				}
				require.Equal(t, first, second)
				require.Equal(t, first, b.lookUp(s.Ref, nil))
				b.requireLedger(0)
			})
		})
	}
}

func TestAnErrorInsideTheTransactionLeavesNothing(t *testing.T) {
	b := newBook(t, refund.ProfileFull)
	over, end := context.WithCancel(ctx(t))
	err := b.write(func(tx *sql.Tx) error {
		result, err := ledger.Accept(ctx(t), tx, b.promise, submission("r1"), noon)
		require.NoError(t, err)
		require.Equal(t, ledger.Committed, result.Outcome)
		end()
		_, err = ledger.Accept(over, tx, b.promise, submission("r2"), noon)
		return err
	})
	require.ErrorIs(t, err, context.Canceled)
	b.requireLedger(0)
	require.Empty(t, b.contents().Operations)
}

func TestAmountsAreExact(t *testing.T) {
	cases := []struct {
		captured int64
		amounts  []int64
		last     ledger.Outcome
	}{
		{3020, []int64{1185, 1835}, ledger.Committed},
		{14505, []int64{14505}, ledger.Committed},
		{10000, []int64{3333, 3333, 3333, 1}, ledger.Committed},
		{10000, []int64{3333, 3333, 3333, 2}, ledger.Refusal},
		{refund.MaxMinor, []int64{refund.MaxMinor - 1, 1}, ledger.Committed},
		{refund.MaxMinor, []int64{refund.MaxMinor, 1}, ledger.Refusal},
	}
	for _, c := range cases {
		b := newBook(t, refund.ProfileFull)
		b.putOrder("o2", c.captured)
		for i, amount := range c.amounts {
			outcome := b.submit(with(submission(string(rune('a'+i))), func(s *provider.Submission) { s.Order, s.Amount.Minor = "o2", amount })).Outcome
			if i == len(c.amounts)-1 {
				require.Equal(t, c.last, outcome, "%v", c)
			} else {
				require.Equal(t, ledger.Committed, outcome, "%v", c)
			}
		}
		b.requireLedger(len(b.contents().Entries))
	}
}
