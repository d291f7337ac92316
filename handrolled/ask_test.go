package handrolled

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/provider"
	"refundlab/refund"
)

var networked = []refund.ProfileName{refund.ProfileFull, refund.ProfileRetention, refund.ProfileLenient, refund.ProfileLookup, refund.ProfileStale, refund.ProfileOpaque}

// story is one operation at a provider: what happens to the first submit, and where that leads under each profile.
type story struct {
	name string
	// first happens to the first attempt; the world answers well afterwards unless it says otherwise.
	first func(t *testing.T, store *Store, clock *hands, w *world)
	want  map[refund.ProfileName]end
}

// end is what is asked after the first attempt, and the status once that was answered.
type end struct {
	then   string // the next call, or "" for none
	status refund.RunStatus
	reason refund.Code
}

var (
	paid     = end{"", refund.StatusConfirmed, ""}
	sentOnce = end{"submit", refund.StatusConfirmed, ""}
	looking  = end{"lookup", refund.StatusUnknown, ""}
	closed   = end{"close", refund.StatusRejected, refund.CodeClosed}
	holding  = end{"", refund.StatusUnknown, ""}
)

func all(e end) map[refund.ProfileName]end {
	m := map[refund.ProfileName]end{}
	for _, p := range networked {
		m[p] = e
	}
	return m
}

// again is where the same operation may be sent again.
func again(idempotent end, others end, opaque end) map[refund.ProfileName]end {
	return map[refund.ProfileName]end{
		refund.ProfileFull: idempotent, refund.ProfileRetention: idempotent, refund.ProfileLenient: idempotent,
		refund.ProfileLookup: others, refund.ProfileStale: others, refund.ProfileOpaque: opaque,
	}
}

// lapsed is where something may have been sent and nothing more may be.
var lapsed = map[refund.ProfileName]end{
	refund.ProfileFull: closed, refund.ProfileRetention: looking, refund.ProfileLenient: looking,
	refund.ProfileLookup: looking, refund.ProfileStale: looking, refund.ProfileOpaque: holding,
}

// answers lets the first submit be answered with a, and later ones well.
func answers(a provider.Answer) func(*testing.T, *Store, *hands, *world) {
	return func(t *testing.T, store *Store, _ *hands, w *world) {
		w.submit = func(context.Context, refund.Intake, provider.Submission) provider.Answer {
			w.submit = func(_ context.Context, in refund.Intake, _ provider.Submission) provider.Answer {
				return receiptAnswer(in)
			}
			return a
		}
		drive(t, store, w, "A")
	}
}

// crash lets a worker die with the intent recorded and nothing else; whether something left is not known.
func crash(t *testing.T, store *Store, clock *hands, w *world) {
	run := claim(t, store, "A")
	_, err := store.RecordIntent(bounded(t), run.Lease, refund.ActSend)
	require.NoError(t, err)
	w.note("submit", nil)
	clock.set(run.Lease.Until)
}

func newVersion() (refund.Order, error) {
	return refund.Order{ID: "order-1", Currency: "EUR", Captured: 10_000, Version: 4}, nil
}

var stories = []story{
	{"a receipt", answers(provider.Answer{}), nil}, // set below: the receipt needs the intake
	{"a stored refusal", answers(refusalAnswer(refund.CodeInsufficientBalance)), all(end{"", refund.StatusRejected, refund.CodeInsufficientBalance})},
	{"a conflict", answers(answer(refund.ObservedConflict)), all(holding)},
	{"no answer", answers(answer(refund.ObservedAmbiguous)), again(sentOnce, looking, holding)},
	{"a crash after the intent", crash, again(sentOnce, looking, holding)},
	{"an order that cannot be read", func(t *testing.T, store *Store, _ *hands, w *world) {
		good := w.order
		w.order = func() (refund.Order, error) {
			return refund.Order{}, refund.Errorf(refund.CodeUnavailable, "no answer")
		}
		drive(t, store, w, "A")
		runs, err := store.Runs(bounded(t))
		require.NoError(t, err)
		require.Equal(t, refund.StatusRetryable, status(t, store, runs[0].Lease.OperationID).Status)
		w.order = good
	}, all(sentOnce)}, // nothing was sent, so it may be sent under every profile
	{"an order that has changed", func(t *testing.T, store *Store, _ *hands, w *world) {
		w.order = newVersion
		drive(t, store, w, "A")
	}, all(end{"", refund.StatusRejected, refund.CodeOrderVersionChanged})},
	{"the deadline before the first send", func(t *testing.T, store *Store, clock *hands, w *world) {
		clock.pass(refund.DefaultDecide)
		drive(t, store, w, "A")
	}, all(end{"", refund.StatusRejected, refund.CodeApprovalExpired})},
	{"no answer, then an order that has changed", func(t *testing.T, store *Store, clock *hands, w *world) {
		answers(answer(refund.ObservedAmbiguous))(t, store, clock, w)
		w.order = newVersion
		clock.pass(100 * time.Millisecond)
		if w.reached("lookup") == 0 { // where it may be sent again, that is when the change is seen
			drive(t, store, w, "B")
		}
	}, lapsed},
	{"no answer, then the deadline", func(t *testing.T, store *Store, clock *hands, w *world) {
		answers(answer(refund.ObservedAmbiguous))(t, store, clock, w)
		clock.pass(refund.DefaultDecide)
	}, lapsed},
	{"a crash, then the deadline", func(t *testing.T, store *Store, clock *hands, w *world) {
		crash(t, store, clock, w)
		clock.pass(refund.DefaultDecide)
	}, lapsed},
}

func TestWhatFollowsTheFirstAttemptUnderEachProfile(t *testing.T) {
	stories[0].first = func(t *testing.T, store *Store, _ *hands, w *world) { drive(t, store, w, "A") }
	stories[0].want = all(paid)
	for _, s := range stories {
		for _, profile := range networked {
			t.Run(s.name+"/"+string(profile), func(t *testing.T) {
				store, clock := newStore(t)
				run := approved(t, store, refund.Terms{Profile: profile, CommitWithin: refund.DefaultDecide.Milliseconds()})
				id, w, want := run.Lease.OperationID, newWorld(), s.want[profile]
				s.first(t, store, clock, w)
				w.mu.Lock()
				w.calls = nil
				w.mu.Unlock()

				clock.pass(time.Second)
				drive(t, store, w, "B")
				if want.then == "" {
					require.Empty(t, w.calls)
				} else {
					require.NotEmpty(t, w.calls)
					for _, call := range w.calls {
						require.Equal(t, want.then, call)
					}
				}
				view := status(t, store, id)
				require.Equal(t, want.status, view.Status)
				require.Equal(t, want.reason, view.Reason)

				// Nothing changes by waiting: what is unknown is asked again and never sent, what is over is over.
				for range 3 {
					clock.pass(time.Hour)
					drive(t, store, w, "C")
				}
				require.Equal(t, want.status, status(t, store, id).Status)
				if want.then != "submit" {
					require.Zero(t, w.reached("submit"))
				}
				if want == looking {
					require.Greater(t, w.reached("lookup"), 3, "asked again until it is known (I4)")
				}
			})
		}
	}
}

func TestAnUnknownRunIsConfirmedOnceALookUpFindsTheReceipt(t *testing.T) {
	store, clock := newStore(t)
	run := approved(t, store, refund.Terms{Profile: refund.ProfileStale})
	w := newWorld()
	answers(answer(refund.ObservedAmbiguous))(t, store, clock, w)
	for n := range 5 { // pauses of 100, 200, 400 ... ms
		clock.pass(100 * time.Millisecond << n)
		drive(t, store, w, "A")
		require.Equal(t, n+1, w.reached("lookup"))
		drive(t, store, w, "A")
		require.Equal(t, n+1, w.reached("lookup"), "asked again before the pause was over")
	}
	w.lookUp = receiptAnswer
	clock.pass(time.Hour)
	drive(t, store, w, "A")
	require.Equal(t, refund.StatusConfirmed, status(t, store, run.Lease.OperationID).Status)
	require.Equal(t, 1, w.reached("submit"))
}

func TestNothingIsSentAgainOnceTheProviderMayHaveForgotten(t *testing.T) {
	const forgotten = 1000 + 5000 // first sent at 1000
	for at, then := range map[refund.Instant]string{
		forgotten - 800 - 1000 - 1: "submit",
		forgotten - 800 - 1000:     "lookup", // less the call's time-out and a step of the clock that nobody is told
		forgotten + 10_000:         "lookup",
	} {
		store, clock := newStore(t)
		approved(t, store, refund.Terms{Profile: refund.ProfileRetention, Retention: 5000, CallTimeout: 800})
		w := newWorld()
		w.submit = func(context.Context, refund.Intake, provider.Submission) provider.Answer {
			return answer(refund.ObservedAmbiguous)
		}
		drive(t, store, w, "A")
		clock.set(at)
		drive(t, store, w, "A")
		require.Equal(t, []string{"submit", then}, w.calls, "at %d", at)
	}
}

// I1: by the file's time the provider remembers, but no process counted while the host's clock was set back.
func TestNothingIsSentAgainWhereTheHostsClockWasSetBack(t *testing.T) {
	path, clock := journalPath(t), clockAt(1000)
	store := openAt(t, path, Options{Clock: clock.read})
	approved(t, store, refund.Terms{Profile: refund.ProfileRetention, Retention: 5000, CallTimeout: 800})
	w := newWorld()
	w.submit = func(context.Context, refund.Intake, provider.Submission) provider.Answer {
		return answer(refund.ObservedAmbiguous)
	}
	drive(t, store, w, "A")
	clock.pass(200 * time.Millisecond)
	drive(t, store, w, "A")
	require.Equal(t, []string{"submit", "submit"}, w.calls, "the provider remembers")
	clock.pass(time.Second)
	claim(t, store, "gone")

	after := openAt(t, path, Options{Clock: func(seen refund.Instant) (refund.Instant, bool) { return max(seen, clock.now()), true }})
	clock.pass(lease)
	drive(t, after, w, "B")
	require.Equal(t, []string{"submit", "submit", "lookup"}, w.calls)
}

// I1: the check at the claim is not enough. The intent may wait for the file, and the promise of the provider does not wait.
func TestNothingIsSentAgainWhenTheIntentTookTooLong(t *testing.T) {
	store, clock := newStore(t)
	approved(t, store, refund.Terms{Profile: refund.ProfileRetention, Retention: 5000, CallTimeout: 800})
	w := newWorld()
	w.submit = func(context.Context, refund.Intake, provider.Submission) provider.Answer {
		return answer(refund.ObservedAmbiguous)
	}
	drive(t, store, w, "A") // first sent at 1000, so forgotten from 6000 on
	clock.set(6000 - 800 - 1000 - 1)
	run := claim(t, store, "A")
	e, _ := executor(slowIntent{store, func() { clock.pass(2 * time.Second) }}, w, "A")
	e.drive(bounded(t), run)
	require.Equal(t, []string{"submit"}, w.calls)
	clock.pass(time.Minute)
	drive(t, store, w, "A")
	require.Equal(t, []string{"submit", "lookup"}, w.calls)
}

type slowIntent struct {
	Journal
	wait func()
}

func (s slowIntent) RecordIntent(ctx context.Context, lease Lease, action refund.Action) (Run, error) {
	run, err := s.Journal.RecordIntent(ctx, lease, action)
	s.wait()
	return run, err
}

// I1: A stands still between its look at the lease and its call, with the first send in hand. B sends and confirms, the provider
// forgets, and A goes on with a fresh time-out.
func TestAFirstSendIsNotBegunOnceTheProviderMayHaveForgotten(t *testing.T) {
	store, clock := newStore(t)
	run := approved(t, store, refund.Terms{Profile: refund.ProfileRetention, Retention: 5000, CallTimeout: 800})
	held, w := claim(t, store, "A"), newWorld()
	e, _ := executor(stands{store, sync.OnceFunc(func() {
		clock.set(held.Lease.Until)
		drive(t, store, w, "B")
		require.Equal(t, refund.StatusConfirmed, status(t, store, run.Lease.OperationID).Status)
		clock.set(1000 + 5000)
	})}, w, "A")
	e.drive(bounded(t), held)
	require.Equal(t, []string{"submit"}, w.calls)
	require.Equal(t, []refund.Fence{{Term: 3}}, w.fences, "B's")
}

// stands is a journal whose owner stands still right behind its first look at the clock.
type stands struct {
	*Store
	still func()
}

func (s stands) Now() refund.Instant {
	now := s.Store.Now()
	s.still()
	return now
}

// A fence that is not ahead of ours tells of nobody, and a provider that insists on it is not asked at the speed of the network.
func TestAStaleFenceThatIsNotAheadIsFollowedByAPause(t *testing.T) {
	store, clock := newStore(t)
	run := approved(t, store, refund.Terms{})
	w := newWorld()
	w.submit = func(context.Context, refund.Intake, provider.Submission) provider.Answer {
		return provider.Answer{Observation: refund.ObservedStaleFence}
	}
	drive(t, store, w, "A")
	require.Equal(t, 1, w.reached("submit"))
	w.submit = newWorld().submit
	clock.pass(time.Hour)
	drive(t, store, w, "A")
	require.Equal(t, refund.StatusConfirmed, status(t, store, run.Lease.OperationID).Status)
}

func TestAStaleFenceIsFollowedByAClaimAboveIt(t *testing.T) {
	store, clock := newStore(t)
	run := approved(t, store, refund.Terms{})
	w := newWorld()
	answers(provider.Answer{Observation: refund.ObservedStaleFence, Fence: refund.Fence{Term: 7, Seq: 2}})(t, store, clock, w)
	require.Equal(t, []refund.Fence{{Term: 2}, {Term: 8}}, w.fences)
	require.Equal(t, refund.StatusConfirmed, status(t, store, run.Lease.OperationID).Status)
	require.NotContains(t, kinds(t, store, run.Lease.OperationID), "OBSERVATION STALE_FENCE", "it says nothing about the refund")
}

// I1: at the moment of the call the file says already that something may have left.
func TestTheIntentIsDurableBeforeTheCall(t *testing.T) {
	path := journalPath(t)
	store := openAt(t, path, Options{})
	run := approved(t, store, refund.Terms{})
	w := newWorld()
	w.submit = func(_ context.Context, in refund.Intake, s provider.Submission) provider.Answer {
		other := openAt(t, path, Options{})
		facts := status(t, other, in.OperationID).Facts
		require.Equal(t, refund.StateSubmitted, facts.State)
		require.NotZero(t, facts.FirstSentAt)
		list := kinds(t, other, in.OperationID)
		require.Equal(t, "INTENT", list[len(list)-1])
		return receiptAnswer(in)
	}
	drive(t, store, w, "A")
	require.Equal(t, refund.StatusConfirmed, status(t, store, run.Lease.OperationID).Status)
}

func TestNoIntentWithoutAnAcceptedApproval(t *testing.T) {
	store, _ := newStore(t)
	admit(t, store, refund.Terms{})
	_, err := store.RecordIntent(bounded(t), claim(t, store, "A").Lease, refund.ActSend)
	require.ErrorContains(t, err, "an intent needs an accepted approval")
}

// I2, I9: whoever hands the executor a receipt, only one that proves this operation becomes a fact.
func TestAReceiptForSomethingElseIsNeverRecorded(t *testing.T) {
	store, _ := newStore(t)
	approved(t, store, refund.Terms{})
	run := claim(t, store, "A")
	run, err := store.RecordIntent(bounded(t), run.Lease, refund.ActSend)
	require.NoError(t, err)
	foreign := receipt(run.Facts.Intake)
	foreign.Amount.Minor++
	before := dump(t, store)
	_, err = store.RecordOutcome(bounded(t), run.Lease, Outcome{Event: refund.EventReceipt, Receipt: &foreign})
	require.ErrorContains(t, err, "does not prove it")
	require.Equal(t, before, dump(t, store))
}

func TestAnOutcomeIsFinal(t *testing.T) {
	store, _ := newStore(t)
	run := approved(t, store, refund.Terms{})
	drive(t, store, newWorld(), "A")
	for _, change := range []string{
		"UPDATE operations SET state = 'REJECTED', receipt = NULL, rejected = 'CLOSED'",
		"UPDATE operations SET state = 'UNKNOWN', receipt = NULL",
		"UPDATE journal SET code = 'CLOSED' WHERE kind = 'OUTCOME'",
		"DELETE FROM journal",
		"UPDATE runs SET generation = generation - 1",
		"UPDATE runs SET intake = '{}'",
		"UPDATE runs SET proposal = NULL",
		"UPDATE runs SET proposal = '{}'",
		"UPDATE decisions SET verdict = 'EXPIRED'",
		"DELETE FROM decisions",
		"INSERT INTO journal SELECT operation_id, 99, at, kind, party, generation, ref, code, body FROM journal WHERE kind = 'OUTCOME'",
		"INSERT INTO journal SELECT operation_id, 99, at, kind, party, generation, ref, code, body FROM journal WHERE kind = 'PROPOSAL'",
		"INSERT INTO decisions SELECT operation_id, 'other', choice, hash, verdict, at, body FROM decisions",
	} {
		_, err := store.writer.Exec(change)
		require.Error(t, err, change)
	}
	require.Equal(t, refund.StatusConfirmed, status(t, store, run.Lease.OperationID).Status)
}

func TestWhoWasToldWhenToComeBackComesNoEarlier(t *testing.T) {
	for _, profile := range []refund.ProfileName{refund.ProfileFull, refund.ProfileLookup} {
		t.Run(string(profile), func(t *testing.T) {
			store, clock := newStore(t)
			run := approved(t, store, refund.Terms{Profile: profile})
			w := newWorld()
			answers(provider.Answer{Observation: refund.ObservedAmbiguous, RetryAfterMS: 5_000})(t, store, clock, w)
			w.lookUp = receiptAnswer // a second submit is answered well anyway
			clock.pass(4_999 * time.Millisecond)
			drive(t, store, w, "A")
			require.Equal(t, 1, w.reached("submit")+w.reached("lookup"), "the usual pause would have been over")
			clock.pass(time.Millisecond)
			drive(t, store, w, "A")
			require.Equal(t, refund.StatusConfirmed, status(t, store, run.Lease.OperationID).Status)
		})
	}
}
