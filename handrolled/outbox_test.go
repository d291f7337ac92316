package handrolled

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

// deliver lets one relay send everything that is due now.
func deliver(t *testing.T, store *Store, w *world) {
	e, _ := executor(store, w, "A")
	for {
		sent, err := e.relay(bounded(t))
		require.NoError(t, err)
		if !sent {
			return
		}
	}
}

func TestEveryEndIsTold(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(t *testing.T, store *Store, clock *hands) Run
		want refund.Notice
	}{
		{"confirmed", func(t *testing.T, store *Store, _ *hands) Run {
			run := approved(t, store, refund.Terms{})
			drive(t, store, newWorld(), "A")
			return run
		}, refund.Notice{Status: refund.StatusConfirmed, RefundID: "re-1"}},
		{"refused by the provider", func(t *testing.T, store *Store, clock *hands) Run {
			run := approved(t, store, refund.Terms{})
			answers(refusalAnswer(refund.CodeClosed))(t, store, clock, newWorld())
			return run
		}, refund.Notice{Status: refund.StatusRejected, Reason: refund.CodeClosed}},
		{"rejected by a person", func(t *testing.T, store *Store, _ *hands) Run {
			admit(t, store, refund.Terms{})
			run := propose(t, store)
			_, err := store.Decide(bounded(t), decision(run, "1", refund.ChoiceReject), "client")
			require.NoError(t, err)
			return run
		}, refund.Notice{Status: refund.StatusRejected, Reason: refund.CodeApprovalRejected}},
		{"expired", func(t *testing.T, store *Store, clock *hands) Run {
			run := admit(t, store, refund.Terms{})
			clock.pass(refund.DefaultDecide)
			drive(t, store, newWorld(), "A")
			return run
		}, refund.Notice{Status: refund.StatusExpired}},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, clock := newStore(t)
			run, w := c.end(t, store, clock), newWorld()
			deliver(t, store, w)
			c.want.OperationID, c.want.Revision, c.want.At = run.Lease.OperationID, refund.NoticeRevision, clock.now()
			require.Equal(t, []refund.Notice{c.want}, w.notices)
			deliver(t, store, w)
			require.Len(t, w.notices, 1, "an acknowledged notice is not sent again")
		})
	}
}

// An outcome without its notice, or a notice without its outcome, cannot be: when the second write of the transaction fails,
// the first is not there.
func TestOutcomeAndNoticeAreThereTogetherOrNotAtAll(t *testing.T) {
	store, clock := newStore(t)
	run := approved(t, store, refund.Terms{})
	_, err := store.writer.Exec("CREATE TRIGGER full BEFORE INSERT ON outbox BEGIN SELECT RAISE(ABORT, 'the outbox is full'); END")
	require.NoError(t, err)
	require.Contains(t, drive(t, store, newWorld(), "A"), "the outbox is full")
	require.NotContains(t, kinds(t, store, run.Lease.OperationID), "OUTCOME CONFIRMED")
	require.Equal(t, refund.StateSubmitted, status(t, store, run.Lease.OperationID).Facts.State)

	_, err = store.writer.Exec("DROP TRIGGER full")
	require.NoError(t, err)
	clock.pass(lease)
	drive(t, store, newWorld(), "B")
	w := newWorld()
	deliver(t, store, w)
	require.Len(t, w.notices, 1)
}

// B44: a receiver that refuses, and relays that die before and after it has the notice.
func TestANoticeIsDeliveredAtLeastOnce(t *testing.T) {
	store, clock := newStore(t)
	approved(t, store, refund.Terms{})
	drive(t, store, newWorld(), "A")
	w := newWorld()
	w.notice = func(refund.Notice) error { return refund.Errorf(refund.CodeUnavailable, "not now") }
	deliver(t, store, w)
	deliver(t, store, w)
	require.Equal(t, 1, w.reached("notice"), "sent again before the pause was over")
	for range 3 {
		clock.pass(time.Minute)
		deliver(t, store, w)
	}
	require.Equal(t, 4, w.reached("notice"))

	// A relay takes it and dies, whether or not the receiver had it.
	clock.pass(time.Minute)
	taken, found, err := store.TakeNotice(bounded(t))
	require.NoError(t, err)
	require.True(t, found)
	w.notice = func(refund.Notice) error { return nil }
	deliver(t, store, w)
	require.Empty(t, w.notices)
	clock.pass(time.Minute)
	deliver(t, store, w)
	require.Equal(t, []refund.Notice{taken.Notice}, w.notices)

	// The relay that was thought dead acknowledges too: one fact.
	require.NoError(t, store.MarkDelivered(bounded(t), taken.Notice, "B"))
	list := kinds(t, store, taken.Notice.OperationID)
	require.Equal(t, []string{"OUTCOME CONFIRMED", "NOTICE CONFIRMED"}, list[len(list)-2:])
	_, due, err := store.NextNotice(bounded(t))
	require.NoError(t, err)
	require.False(t, due)
}

// A later revision waits for the earlier one of its run, and for no other run.
func TestNoticesOfOneRunAreDeliveredInRevisionOrder(t *testing.T) {
	store, clock := newStore(t)
	run := approved(t, store, refund.Terms{})
	drive(t, store, newWorld(), "A")
	other, _, err := store.Admit(bounded(t), request(2), terms(t, refund.Terms{DecideWithin: 1}), "client")
	require.NoError(t, err)
	clock.pass(time.Millisecond)
	drive(t, store, newWorld(), "A")
	later := refund.Notice{OperationID: run.Lease.OperationID, Revision: 2, Status: refund.StatusConfirmed}
	body, err := text(later)
	require.NoError(t, err)
	_, err = store.writer.Exec("INSERT INTO outbox (operation_id, revision, body, next_at) VALUES (?, 2, ?, 0)", later.OperationID, body)
	require.NoError(t, err)

	w := newWorld()
	refusals := 0
	w.notice = func(n refund.Notice) error {
		if n.OperationID == run.Lease.OperationID && n.Revision == 1 && refusals < 3 {
			refusals++
			return refund.Errorf(refund.CodeUnavailable, "not now")
		}
		return nil
	}
	deliver(t, store, w)
	require.Len(t, w.notices, 1)
	require.Equal(t, other.Lease.OperationID, w.notices[0].OperationID)
	for range 4 {
		clock.pass(time.Minute)
		deliver(t, store, w)
	}
	require.Len(t, w.notices, 3)
	require.Equal(t, int64(1), w.notices[1].Revision)
	require.Equal(t, int64(2), w.notices[2].Revision)
}

// I11: a notice that cannot be told costs its own turn and nobody else's.
func TestAnUnreadableNoticeIsNoObstacleForTheOthers(t *testing.T) {
	for what, breaks := range map[string]string{
		"the notice":            "UPDATE outbox SET body = 'not JSON'",
		"the intake of its run": "UPDATE runs SET intake = 'not JSON'",
	} {
		t.Run(what, func(t *testing.T) {
			store, clock := newStore(t)
			approved(t, store, refund.Terms{})
			drive(t, store, newWorld(), "A")
			spoil(t, store, breaks)
			other, _, err := store.Admit(bounded(t), request(2), terms(t, refund.Terms{DecideWithin: 1}), "client")
			require.NoError(t, err)
			clock.pass(time.Millisecond)
			w := newWorld()
			drive(t, store, w, "A")

			e, _ := executor(store, w, "A")
			sent, err := e.relay(bounded(t))
			requireCode(t, err, refund.CodeInternal, "cannot be read")
			require.False(t, sent)
			deliver(t, store, w)
			require.Len(t, w.notices, 1)
			require.Equal(t, other.Lease.OperationID, w.notices[0].OperationID)
			_, due, err := store.NextNotice(bounded(t))
			require.NoError(t, err)
			require.True(t, due, "it is told when somebody has mended it")
		})
	}
}
