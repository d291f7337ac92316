package inject

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/faults"
	"refundlab/handrolled"
	book "refundlab/provider/ledger"
	"refundlab/refund"
)

// approvedLocally brings a run of the profile local to where it is submitted, and returns its lease.
func approvedLocally(t *testing.T, store *handrolled.Store) handrolled.Lease {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, store.SeedLocalOrders(ctx, []book.Order{{Tenant: "acme", Order: refund.Order{ID: "order-1", Currency: "EUR", Captured: 10_000, Version: 1}}}))
	request, err := refund.NewRequest(refund.Request{Tenant: "acme", RequestID: "req-1", Order: "order-1",
		Amount: refund.Money{Minor: 4200, Currency: "EUR"}, Reason: "broken cup", Requester: "alice"})
	require.NoError(t, err)
	terms, err := refund.NewTerms(refund.Terms{Profile: refund.ProfileLocal})
	require.NoError(t, err)
	run, _, err := store.Admit(ctx, request, terms, "alice")
	require.NoError(t, err)
	claim := func() handrolled.Run {
		run, found, err := store.Claim(ctx, "a", time.Minute)
		require.NoError(t, err)
		require.True(t, found)
		return run
	}
	_, err = store.RecordProposal(ctx, claim().Lease, refund.Proposal{Recommendation: "approve", OrderVersion: 1, AnswerID: "answer-1"})
	require.NoError(t, err)
	verdict, err := store.Decide(ctx, refund.Decision{DecisionID: "d1", OperationID: run.Lease.OperationID, Choice: refund.ChoiceApprove, Approver: "bob",
		Digest: run.Facts.Intake.Digest, OrderVersion: 1}, "bob")
	require.NoError(t, err)
	require.Equal(t, refund.VerdictAccepted, verdict.Code)
	return claim().Lease
}

func TestTheSharedTransactionIsAnnouncedFromItsInside(t *testing.T) {
	stage, announcer := newStage(t)
	Commits(announcer)
	t.Cleanup(func() { commitsCount.Store(false) })
	path := filepath.Join(t.TempDir(), "journal.db")
	store, err := handrolled.Open(path, handrolled.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	lease := approvedLocally(t, store)
	stage.empty()                                     // nobody could count the commits before
	states := func() (refund.OperationState, int64) { // as another process finds them
		run, err := store.Load(context.Background(), lease.OperationID)
		require.NoError(t, err)
		order, err := store.LocalOrder(context.Background(), "acme", "order-1")
		require.NoError(t, err)
		return run.Facts.State, order.Refunded
	}
	done := make(chan error, 1)
	go func() {
		_, err := Journal(store, announcer).SubmitLocally(t.Context(), lease)
		done <- err
	}()
	stage.answer("provider-commit.before", faults.Continue)
	inside := stage.next("store-commit.before")
	state, refunded := states()
	require.Equal(t, refund.StatePrepared, state)
	require.Zero(t, refunded)
	inside.answer <- faults.Reply{Action: faults.Continue}
	stage.next("provider-commit.after").answer <- faults.Reply{Action: faults.Continue} // and no second commit in between
	state, refunded = states()
	require.Equal(t, refund.StateConfirmed, state)
	require.EqualValues(t, 4200, refunded)
	require.NoError(t, receive(t, done))
}
