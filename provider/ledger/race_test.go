package ledger_test

import (
	"database/sql"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/provider"
	"refundlab/provider/ledger"
	"refundlab/refund"
)

// atOnce runs all operations from a common start, each in its own transaction on its own connection.
func (b *book) atOnce(operations ...func(*sql.Tx) (ledger.Result, error)) []ledger.Result {
	b.t.Helper()
	results, errs := make([]ledger.Result, len(operations)), make([]error, len(operations))
	start := make(chan struct{})
	var done sync.WaitGroup
	for i, operation := range operations {
		done.Go(func() {
			<-start
			errs[i] = b.write(func(tx *sql.Tx) (err error) {
				results[i], err = operation(tx)
				return err
			})
		})
	}
	close(start)
	done.Wait()
	for _, err := range errs {
		require.NoError(b.t, err)
	}
	return results
}

func (b *book) accepting(s provider.Submission) func(*sql.Tx) (ledger.Result, error) {
	return func(tx *sql.Tx) (ledger.Result, error) { return ledger.Accept(ctx(b.t), tx, b.promise, s, b.now) }
}

func count(results []ledger.Result, outcome ledger.Outcome) int {
	n := 0
	for _, result := range results {
		if result.Outcome == outcome {
			n++
		}
	}
	return n
}

func TestTwentyIdenticalSubmissionsAtOnce(t *testing.T) {
	eachProfile(t, func(t *testing.T, b *book) {
		small := with(submission("r1"), func(s *provider.Submission) { s.Amount.Minor = 100 })
		var operations []func(*sql.Tx) (ledger.Result, error)
		for range 20 {
			operations = append(operations, b.accepting(small))
		}
		results := b.atOnce(operations...)
		if !b.promise.Idempotent {
			require.Equal(t, 20, count(results, ledger.Committed), "every copy is a refund, and it can be seen")
			b.requireLedger(20)
			return
		}
		require.Equal(t, 1, count(results, ledger.Committed), "I1")
		require.Equal(t, 19, count(results, ledger.Receipt))
		for _, result := range results {
			require.Equal(t, results[0].Receipt, result.Receipt)
		}
		b.requireLedger(1)
	})
}

func TestRefundsAtOnceNeverExceedTheCapture(t *testing.T) {
	eachProfile(t, func(t *testing.T, b *book) {
		for round := range 5 {
			order := fmt.Sprintf("p%d", round)
			b.putOrder(order, 10000)
			partial := func(id string) func(*sql.Tx) (ledger.Result, error) {
				return b.accepting(with(submission(order+id), func(s *provider.Submission) { s.Order, s.Amount.Minor = order, 6000 }))
			}
			results := b.atOnce(partial("a"), partial("b"))
			require.Equal(t, 1, count(results, ledger.Committed), "I7")
			require.Equal(t, 1, count(results, ledger.Refusal))
		}
		b.requireLedger(5)
	})
	t.Run("101 of one hundredth", func(t *testing.T) {
		b := newBook(t, refund.ProfileFull)
		var operations []func(*sql.Tx) (ledger.Result, error)
		for i := range 101 {
			operations = append(operations, b.accepting(with(submission(fmt.Sprint(i)), func(s *provider.Submission) { s.Amount.Minor = 100 })))
		}
		require.Equal(t, 100, count(b.atOnce(operations...), ledger.Committed))
		b.requireLedger(100)
	})
}

func TestASubmissionAndACloseAtOnceAgree(t *testing.T) {
	b := newBook(t, refund.ProfileFull)
	b.putOrder("o2", 1_000_000)
	entries := 0
	for round := range 30 {
		s := with(submission(fmt.Sprint(round)), func(s *provider.Submission) { s.Order, s.Amount.Minor = "o2", 100 })
		results := b.atOnce(b.accepting(s), func(tx *sql.Tx) (ledger.Result, error) {
			return ledger.Close(ctx(t), tx, b.promise, s.Ref, fence(1, 0), b.now)
		})
		submitted, closed := results[0], results[1]
		if submitted.Outcome == ledger.Committed {
			entries++
			require.Equal(t, submitted.Receipt, closed.Receipt, "committed before the close, which returns it")
		} else {
			require.Equal(t, ledger.Tombstone, submitted.Outcome, "or never")
			require.Equal(t, ledger.Tombstone, closed.Outcome)
		}
		require.Equal(t, closed.Outcome, b.submit(s).Outcome)
		b.requireLedger(entries)
	}
}
