package handrolled

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

func TestADecisionGetsItsVerdictAtOnceWithNoWorkerAlive(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(d *refund.Decision, store *Store, clock *hands)
		want   refund.VerdictCode
		status refund.RunStatus
	}{
		{"approve", func(*refund.Decision, *Store, *hands) {}, refund.VerdictAccepted, refund.StatusRetryable},
		{"reject", func(d *refund.Decision, _ *Store, _ *hands) { d.Choice = refund.ChoiceReject }, refund.VerdictAccepted, refund.StatusRejected},
		{"the last millisecond", func(_ *refund.Decision, _ *Store, c *hands) { c.pass(refund.DefaultDecide - time.Millisecond) }, refund.VerdictAccepted, refund.StatusRetryable},
		{"the deadline itself", func(_ *refund.Decision, _ *Store, c *hands) { c.pass(refund.DefaultDecide) }, refund.VerdictExpired, refund.StatusExpired},
		{"another digest", func(d *refund.Decision, _ *Store, _ *hands) { d.Digest = request(2).Digest() }, refund.VerdictDigestMismatch, refund.StatusApprovalRequired},
		{"another order version", func(d *refund.Decision, _ *Store, _ *hands) { d.OrderVersion++ }, refund.VerdictOrderMismatch, refund.StatusApprovalRequired},
		{"the requester's own", func(d *refund.Decision, _ *Store, _ *hands) { d.Approver = "user-1" }, refund.VerdictSelfApproval, refund.StatusApprovalRequired},
		{"the requester's rejection", func(d *refund.Decision, _ *Store, _ *hands) { d.Approver, d.Choice = "user-1", refund.ChoiceReject }, refund.VerdictAccepted, refund.StatusRejected},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, clock := newStore(t)
			admit(t, store, refund.Terms{})
			run := propose(t, store)
			d := decision(run, "1", refund.ChoiceApprove)
			c.change(&d, store, clock)
			verdict, err := store.Decide(bounded(t), d, "client")
			require.NoError(t, err)
			require.Equal(t, c.want, verdict.Code)
			view := status(t, store, d.OperationID)
			require.Equal(t, c.status, view.Status)
			require.Equal(t, []refund.RecordedVerdict{verdict}, view.Facts.Verdicts, "the reply is the record (I10)")

			// The same again is the same, however late; the same id with other content changes nothing.
			clock.pass(time.Hour)
			before := dump(t, store)
			repeated, err := store.Decide(bounded(t), d, "client")
			require.NoError(t, err)
			require.Equal(t, verdict, repeated)
			d.Approver = "somebody-else"
			_, err = store.Decide(bounded(t), d, "client")
			requireCode(t, err, refund.CodeDecisionConflict)
			require.Equal(t, before, dump(t, store))
		})
	}
}

func TestAVerdictThatWasNotRecordedIsNotTold(t *testing.T) {
	store, _ := newStore(t)
	admit(t, store, refund.Terms{})
	run := propose(t, store)
	_, err := store.writer.ExecContext(bounded(t), "CREATE TRIGGER full BEFORE INSERT ON decisions BEGIN SELECT RAISE(ABORT, 'no room'); END")
	require.NoError(t, err)
	verdict, err := store.Decide(bounded(t), decision(run, "1", refund.ChoiceApprove), "client")
	requireCode(t, err, refund.CodeInternal)
	require.Zero(t, verdict)
}

func TestADecisionBeforeTheProposalIsNotReadyAndUsesNothingUp(t *testing.T) {
	store, _ := newStore(t)
	run := admit(t, store, refund.Terms{})
	verdict, err := store.Decide(bounded(t), decision(run, "early", refund.ChoiceApprove), "client")
	require.NoError(t, err)
	require.Equal(t, refund.VerdictNotReady, verdict.Code)
	propose(t, store)
	verdict, err = store.Decide(bounded(t), decision(run, "2", refund.ChoiceApprove), "client")
	require.NoError(t, err)
	require.Equal(t, refund.VerdictAccepted, verdict.Code)
}

func TestADecisionForNoRunIsNotFound(t *testing.T) {
	store, _ := newStore(t)
	run := admit(t, store, refund.Terms{})
	d := decision(run, "1", refund.ChoiceApprove)
	d.OperationID = refund.NewOperationID("acme", refund.Kind, "no-such-request")
	_, err := store.Decide(bounded(t), d, "client")
	requireCode(t, err, refund.CodeNotFound, string(d.OperationID))
}

// B01: twenty clicks through two processes' connections, half of them one resent message.
func TestTwentyDecisionsAtOnceAreOneDecision(t *testing.T) {
	path := journalPath(t)
	stores := []*Store{openAt(t, path, Options{}), openAt(t, path, Options{})}
	admit(t, stores[0], refund.Terms{})
	run := propose(t, stores[0])
	verdicts := make([]refund.RecordedVerdict, 20)
	var clicks sync.WaitGroup
	for i := range verdicts {
		id := "same"
		if i%2 == 1 {
			id = fmt.Sprint("click-", i)
		}
		d := decision(run, id, refund.ChoiceApprove)
		clicks.Go(func() {
			var err error
			verdicts[i], err = stores[i/2%2].Decide(bounded(t), d, "client")
			require.NoError(t, err)
		})
	}
	clicks.Wait()
	accepted := map[string]bool{}
	for _, v := range verdicts {
		if v.Code == refund.VerdictAccepted {
			accepted[v.DecisionID] = true
		} else {
			require.Equal(t, refund.VerdictAlreadyDecided, v.Code)
		}
	}
	require.Len(t, accepted, 1)
	w := newWorld()
	drive(t, stores[0], w, "A")
	require.Equal(t, 1, w.reached("submit"))
}

// B02: approve and reject cross each other. Whoever is first wins, and an entry is there exactly when approve won.
func TestApproveCrossingRejectIsOneOfThem(t *testing.T) {
	path := journalPath(t)
	stores := []*Store{openAt(t, path, Options{}), openAt(t, path, Options{})}
	for n := range 30 {
		_, _, err := stores[0].Admit(bounded(t), request(n), terms(t, refund.Terms{}), "client")
		require.NoError(t, err)
		run := propose(t, stores[0])
		verdicts := make([]refund.RecordedVerdict, 2)
		var crossing sync.WaitGroup
		for i, choice := range []refund.Choice{refund.ChoiceApprove, refund.ChoiceReject} {
			crossing.Go(func() {
				var err error
				verdicts[i], err = stores[i].Decide(bounded(t), decision(run, fmt.Sprint(choice), choice), "client")
				require.NoError(t, err)
			})
		}
		crossing.Wait()
		w := newWorld()
		drive(t, stores[0], w, "A")
		if verdicts[0].Code == refund.VerdictAccepted {
			require.Equal(t, refund.VerdictAlreadyDecided, verdicts[1].Code)
			require.Equal(t, 1, w.reached("submit"))
			require.Equal(t, refund.StatusConfirmed, status(t, stores[1], run.Lease.OperationID).Status)
		} else {
			require.Equal(t, refund.VerdictAlreadyDecided, verdicts[0].Code)
			require.Equal(t, refund.VerdictAccepted, verdicts[1].Code)
			require.Zero(t, w.reached("submit"))
			require.Equal(t, refund.CodeApprovalRejected, status(t, stores[1], run.Lease.OperationID).Reason)
		}
	}
}

func TestADecisionAgainstTheDeadlineInBothOrders(t *testing.T) {
	t.Run("the worker's expiry first", func(t *testing.T) {
		store, clock := newStore(t)
		admit(t, store, refund.Terms{})
		run := propose(t, store)
		clock.pass(refund.DefaultDecide)
		require.Equal(t, refund.StatusApprovalRequired, status(t, store, run.Lease.OperationID).Status, "EXPIRED is recorded, never inferred from a clock")
		drive(t, store, newWorld(), "A")
		require.Equal(t, refund.StatusExpired, status(t, store, run.Lease.OperationID).Status)
		verdict, err := store.Decide(bounded(t), decision(run, "late", refund.ChoiceApprove), "client")
		require.NoError(t, err)
		require.Equal(t, refund.VerdictExpired, verdict.Code)
	})
	t.Run("an accepted decision between the worker's claim and its expiry", func(t *testing.T) {
		store, clock := newStore(t)
		admit(t, store, refund.Terms{DecideWithin: 100, CommitWithin: 10_000})
		run := propose(t, store)
		clock.pass(100 * time.Millisecond)
		held := claim(t, store, "A")
		// The clock cannot run backwards, so the decision that was first is written as it would stand in the file.
		_, err := store.writer.Exec(`INSERT INTO decisions VALUES (?, 'first', 'approve', 'x', 'ACCEPTED', 1099, ?)`, run.Lease.OperationID, `{"choice":"approve"}`)
		require.NoError(t, err)
		after, err := store.Expire(bounded(t), held.Lease)
		require.NoError(t, err)
		require.False(t, after.Facts.Expired)
		require.True(t, after.Held(), "the worker goes on with the run")
		require.NotContains(t, kinds(t, store, run.Lease.OperationID), "EXPIRY EXPIRED")
	})
	t.Run("a late decision is faster than the worker that came to expire", func(t *testing.T) {
		store, clock := newStore(t)
		admit(t, store, refund.Terms{DecideWithin: 100})
		run := propose(t, store)
		clock.pass(100 * time.Millisecond)
		held := claim(t, store, "A")
		verdict, err := store.Decide(bounded(t), decision(run, "1", refund.ChoiceApprove), "client")
		require.NoError(t, err)
		require.Equal(t, refund.VerdictExpired, verdict.Code)
		old := held.Lease
		old.Generation--
		_, err = store.Expire(bounded(t), old)
		requireCode(t, err, refund.CodeLeaseLost)
		after, err := store.Expire(bounded(t), held.Lease)
		require.NoError(t, err)
		require.False(t, after.Held(), "there is nothing left to do, and no step to take again and again")
	})
	t.Run("both at once", func(t *testing.T) { // B04
		path, clock := journalPath(t), clockAt(1000)
		stores := []*Store{openAt(t, path, Options{Clock: clock.read}), openAt(t, path, Options{Clock: clock.read})}
		for n := range 60 {
			_, _, err := stores[0].Admit(bounded(t), request(n), terms(t, refund.Terms{DecideWithin: 100, CommitWithin: 10_000}), "client")
			require.NoError(t, err)
			run := propose(t, stores[0])
			clock.set(run.Facts.Intake.DecideBy() - 1)
			w := newWorld()
			var verdict refund.RecordedVerdict
			var both sync.WaitGroup
			both.Go(func() {
				clock.pass(time.Millisecond)
				drive(t, stores[0], w, "A")
			})
			both.Go(func() {
				var err error
				verdict, err = stores[1].Decide(bounded(t), decision(run, "1", refund.ChoiceApprove), "client")
				require.NoError(t, err)
			})
			both.Wait()
			drive(t, stores[0], w, "A")
			view := status(t, stores[1], run.Lease.OperationID)
			if verdict.Code == refund.VerdictAccepted {
				require.Equal(t, refund.StatusConfirmed, view.Status)
				require.Equal(t, 1, w.reached("submit"))
			} else {
				require.Equal(t, refund.VerdictExpired, verdict.Code)
				require.Equal(t, refund.StatusExpired, view.Status, "the reply equals the record")
				require.Zero(t, w.reached("submit"))
			}
		}
	})
}

func TestARequestIsOneRunHoweverOftenItIsSent(t *testing.T) {
	path := journalPath(t)
	stores := []*Store{openAt(t, path, Options{}), openAt(t, path, Options{})}
	var created sync.Map
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			client := &Client{Journal: stores[i%2], Name: fmt.Sprint("client-", i)}
			view, existing, err := client.Request(bounded(t), request(1), refund.Terms{})
			require.NoError(t, err)
			require.Equal(t, refund.NewOperationID("acme", refund.Kind, "req-1"), view.OperationID)
			if !existing {
				created.Store(i, true)
			}
		})
	}
	all.Wait()
	n := 0
	created.Range(func(any, any) bool { n++; return true })
	require.Equal(t, 1, n)

	// I9, I8
	other := request(1)
	other.Amount.Minor++
	_, _, err := (&Client{Journal: stores[0]}).Request(bounded(t), other, refund.Terms{})
	requireCode(t, err, refund.CodeKeyConflict, "req-1")
	_, existing, err := (&Client{Journal: stores[0]}).Request(bounded(t), request(2), refund.Terms{})
	require.NoError(t, err)
	require.False(t, existing, "equal parameters under another request id are another refund")
}

func TestWhatHasExpiredStaysExpired(t *testing.T) {
	store, clock := newStore(t)
	run := admit(t, store, refund.Terms{})
	clock.pass(refund.DefaultDecide)
	drive(t, store, newWorld(), "A")
	_, err := store.writer.Exec("UPDATE runs SET expired = 0")
	require.ErrorContains(t, err, "never changes")
	require.Equal(t, refund.StatusExpired, status(t, store, run.Lease.OperationID).Status)
}
