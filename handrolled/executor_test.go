package handrolled

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/provider"
	"refundlab/refund"
)

// quick is an executor with a short lease, for tests in which real time passes.
func quick(store Journal, w *world, name string, length time.Duration) (*Executor, *logs) {
	e, said := executor(store, w, name)
	e.Lease = length
	return e, said
}

// run runs an executor until the test ends.
func run(t *testing.T, e *Executor) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-done)
	})
	t.Cleanup(stop)
	return stop
}

// B41a: a call longer than the lease is one attempt, because the lease is renewed while it runs.
func TestALeaseIsRenewedWhileACallRuns(t *testing.T) {
	path := journalPath(t)
	stores := []*Store{openAt(t, path, Options{}), openAt(t, path, Options{})}
	w := newWorld()
	const length = 400 * time.Millisecond
	w.submit = func(ctx context.Context, in refund.Intake, _ provider.Submission) provider.Answer {
		select {
		case <-ctx.Done():
			return answer(refund.ObservedAmbiguous)
		case <-time.After(3 * length):
			return receiptAnswer(in)
		}
	}
	id := approved(t, stores[0], refund.Terms{CallTimeout: patience.Milliseconds()}).Lease.OperationID
	for i, name := range []string{"A", "B"} {
		e, _ := quick(stores[i], w, name, length)
		run(t, e)
	}
	view := until(t, stores[0], id, refund.StatusConfirmed)
	require.Equal(t, 1, w.reached("submit"))
	require.Equal(t, int64(2), view.May.Fence.Term, "nobody else has claimed it")
}

// B41d, B40: a call that never ends is renewed no longer than its time-out. Another worker takes the run, and what the first
// one brings in the end is traced and not recorded.
func TestACallThatHangsLosesTheRunAndItsLateResult(t *testing.T) {
	path := journalPath(t)
	stores := []*Store{openAt(t, path, Options{}), openAt(t, path, Options{})}
	release, hung := make(chan struct{}), make(chan struct{}, 1)
	letGo := sync.OnceFunc(func() { close(release) })
	defer letGo()
	slow, fast := newWorld(), newWorld()
	slow.submit = func(_ context.Context, in refund.Intake, _ provider.Submission) provider.Answer {
		hung <- struct{}{}
		<-release // deaf to its context, as a frozen process is
		late := receiptAnswer(in)
		late.Receipt.RefundID = "re-late"
		return late
	}
	id := approved(t, stores[0], refund.Terms{CallTimeout: 200}).Lease.OperationID
	a, said := quick(stores[0], slow, "A", 300*time.Millisecond)
	a.Width = 1 // or A takes its own run back, which it may
	stop := run(t, a)
	happens(t, hung)
	b, _ := quick(stores[1], fast, "B", 300*time.Millisecond)
	run(t, b)
	until(t, stores[1], id, refund.StatusConfirmed)
	before := kinds(t, stores[1], id)
	letGo()
	stop()
	require.Contains(t, said.String(), "a late result is not recorded")
	require.Contains(t, said.String(), "LEASE_LOST")
	require.Equal(t, "re-1", status(t, stores[1], id).Facts.Receipt.RefundID)
	require.Equal(t, before[:7], kinds(t, stores[1], id)[:7])
	require.Equal(t, []refund.Fence{{Term: 2}}, slow.fences)
	require.Equal(t, []refund.Fence{{Term: 3}}, fast.fences)
}

// lost is a journal whose renewals find the lease over.
type lost struct{ *Store }

func (l lost) Renew(ctx context.Context, lease Lease, _ time.Duration) (Lease, error) {
	lease.Generation--
	return l.Store.Renew(ctx, lease, time.Second)
}

// locked is a journal whose renewals find another process in a transaction.
type locked struct {
	*Store
	tried chan struct{}
}

func (l locked) Renew(_ context.Context, lease Lease, _ time.Duration) (Lease, error) {
	select {
	case l.tried <- struct{}{}:
	default:
	}
	return lease, refund.Errorf(refund.CodeStoreLocked, "another process has held the write lock")
}

func TestACallIsCancelledOnceItsLeaseIsLostOrOver(t *testing.T) {
	for code, failing := range map[refund.Code]func(*Store) Journal{
		refund.CodeLeaseLost:   func(s *Store) Journal { return lost{s} },
		refund.CodeStoreLocked: func(s *Store) Journal { return locked{Store: s} },
	} {
		t.Run(string(code), func(t *testing.T) {
			store := openAt(t, journalPath(t), Options{})
			approved(t, store, refund.Terms{CallTimeout: patience.Milliseconds()})
			w := newWorld()
			var cause error
			w.submit = func(ctx context.Context, _ refund.Intake, _ provider.Submission) provider.Answer {
				<-ctx.Done()
				cause = context.Cause(ctx)
				return answer(refund.ObservedAmbiguous)
			}
			e, _ := quick(failing(store), w, "A", 300*time.Millisecond)
			e.drive(bounded(t), claim(t, store, "A"))
			requireCode(t, cause, code)
		})
	}
}

// I4: under a provider that can neither repeat nor look up, a call that is cut is a person's work. The lease's clock stands still.
func TestARenewalThatFailsWhileTheLeaseRunsCancelsNothing(t *testing.T) {
	store, _ := newStore(t)
	run := approved(t, store, refund.Terms{Profile: refund.ProfileOpaque, CallTimeout: patience.Milliseconds()})
	journal, w := locked{store, make(chan struct{})}, newWorld()
	w.submit = func(ctx context.Context, in refund.Intake, _ provider.Submission) provider.Answer {
		for range 3 {
			select {
			case <-journal.tried:
			case <-ctx.Done():
				return answer(refund.ObservedAmbiguous)
			}
		}
		return receiptAnswer(in)
	}
	e, _ := quick(journal, w, "A", 300*time.Millisecond)
	e.drive(bounded(t), claim(t, store, "A"))
	require.Equal(t, refund.StatusConfirmed, status(t, store, run.Lease.OperationID).Status)
}

// occupied is a journal in which another process stands in a transaction when the answer of a call is to be written, for longer than a
// write waits: until two tries have failed.
type occupied struct {
	*Store
	tries map[string]int
}

func (o occupied) busy(record string) error {
	if o.tries[record]++; o.tries[record] <= 2 {
		return refund.Errorf(refund.CodeStoreLocked, "another process has held the write lock")
	}
	return nil
}

func (o occupied) RecordProposal(ctx context.Context, lease Lease, proposal refund.Proposal) (Run, error) {
	if err := o.busy("proposal"); err != nil {
		return Run{}, err
	}
	return o.Store.RecordProposal(ctx, lease, proposal)
}

func (o occupied) RecordOutcome(ctx context.Context, lease Lease, outcome Outcome) (Run, error) {
	if err := o.busy("outcome"); err != nil {
		return Run{}, err
	}
	return o.Store.RecordOutcome(ctx, lease, outcome)
}

// I4, I12: the answer is there, its lease runs, and only the file is not to be had at the moment.
func TestAnAnswerIsKeptWhileAnotherProcessStandsInATransaction(t *testing.T) {
	store, _ := newStore(t)
	journal, w := occupied{store, map[string]int{}}, newWorld()
	e, _ := executor(journal, w, "A")
	run := admit(t, store, refund.Terms{Profile: refund.ProfileOpaque})
	e.drive(bounded(t), claim(t, store, "A"))
	verdict, err := store.Decide(bounded(t), decision(run, "1", refund.ChoiceApprove), "client")
	require.NoError(t, err)
	require.Equal(t, refund.VerdictAccepted, verdict.Code)
	e.drive(bounded(t), claim(t, store, "A"))
	require.Equal(t, refund.StatusConfirmed, status(t, store, run.Lease.OperationID).Status)
	require.Equal(t, map[string]int{"proposal": 3, "outcome": 3}, journal.tries)
	require.Equal(t, []string{"propose", "submit"}, w.calls, "each once")
}

// frozen is a journal whose owner stands still, for longer than its lease, right behind the record of what it is about to call.
type frozen struct {
	*Store
	clock *hands
}

func (f frozen) ReserveModelCall(ctx context.Context, lease Lease) (Run, error) {
	run, err := f.Store.ReserveModelCall(ctx, lease)
	f.clock.set(run.Lease.Until)
	return run, err
}

func (f frozen) RecordIntent(ctx context.Context, lease Lease, action refund.Action) (Run, error) {
	run, err := f.Store.RecordIntent(ctx, lease, action)
	f.clock.set(run.Lease.Until)
	return run, err
}

// I6, I12: what is not its own any more, a worker neither pays for nor sends.
func TestACallIsNotBegunUnderALeaseThatIsOver(t *testing.T) {
	for call, prepare := range map[string]func(testing.TB, Journal, refund.Terms) Run{"propose": admit, "submit": approved} {
		t.Run(call, func(t *testing.T) {
			store, clock := newStore(t)
			prepare(t, store, refund.Terms{Profile: refund.ProfileOpaque})
			w := newWorld()
			e, said := executor(frozen{store, clock}, w, "A")
			e.drive(bounded(t), claim(t, store, "A"))
			require.Zero(t, w.reached(call))
			require.Contains(t, said.String(), "LEASE_LOST")
		})
	}
}

func TestEightWorkersMoveEachRunOnce(t *testing.T) {
	path := journalPath(t)
	first := openAt(t, path, Options{})
	w := newWorld()
	const runs = 24
	var ids []refund.OperationID
	for n := range runs {
		admitted, _, err := first.Admit(bounded(t), request(n), terms(t, refund.Terms{CallTimeout: patience.Milliseconds()}), "client")
		require.NoError(t, err)
		ids = append(ids, admitted.Lease.OperationID)
	}
	for _, name := range []string{"A", "B", "C", "D", "E", "F", "G", "H"} {
		e, _ := quick(openAt(t, path, Options{}), w, name, patience)
		run(t, e)
	}
	for _, id := range ids {
		until(t, first, id, refund.StatusApprovalRequired)
		stored, err := first.Load(bounded(t), id)
		require.NoError(t, err)
		_, err = first.Decide(bounded(t), decision(stored, "1", refund.ChoiceApprove), "client")
		require.NoError(t, err)
	}
	for _, id := range ids {
		until(t, first, id, refund.StatusConfirmed)
	}
	require.Equal(t, runs, w.reached("propose"))
	require.Equal(t, runs, w.reached("submit"))
}

// A stop finishes the call that is under way, records it, and leaves no lease behind.
func TestAStopCutsNoCallAndLeavesNoLease(t *testing.T) {
	path := journalPath(t)
	store := openAt(t, path, Options{})
	id := approved(t, store, refund.Terms{Profile: refund.ProfileOpaque, CallTimeout: patience.Milliseconds()}).Lease.OperationID
	w := newWorld()
	called, finish := make(chan struct{}), make(chan struct{})
	w.submit = func(ctx context.Context, in refund.Intake, _ provider.Submission) provider.Answer {
		close(called)
		select {
		case <-finish:
			return receiptAnswer(in)
		case <-ctx.Done():
			return answer(refund.ObservedAmbiguous)
		}
	}
	e, _ := quick(store, w, "A", patience)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	happens(t, called)
	cancel()
	close(finish)
	require.NoError(t, <-done)
	require.Equal(t, refund.StatusConfirmed, status(t, store, id).Status)

	// Between two steps the run is given back instead.
	admitted, _, err := store.Admit(bounded(t), request(2), terms(t, refund.Terms{}), "client")
	require.NoError(t, err)
	held, found, err := store.Claim(bounded(t), "A", time.Hour)
	require.NoError(t, err)
	require.True(t, found)
	e.drive(ctx, held)
	require.Equal(t, admitted.Lease.OperationID, claim(t, store, "B").Lease.OperationID)
	require.Zero(t, w.reached("propose"))
}

// A thousand people may think about it: rows in a file, no goroutines, no timers, and nothing to claim.
func TestWaitingForAPersonCostsARowAndNothingElse(t *testing.T) {
	store, clock := newStore(t)
	w := newWorld()
	e, _ := executor(store, w, "A")
	run(t, e)
	first := admit(t, store, refund.Terms{})
	until(t, store, first.Lease.OperationID, refund.StatusApprovalRequired)
	one := runtime.NumGoroutine()
	for n := range 200 {
		_, _, err := store.Admit(bounded(t), request(n+2), terms(t, refund.Terms{}), "client")
		require.NoError(t, err)
	}
	until(t, store, refund.NewOperationID("acme", refund.Kind, "req-201"), refund.StatusApprovalRequired)
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= one+2 }, patience, tick)
	_, found, err := store.Claim(bounded(t), "B", lease)
	require.NoError(t, err)
	require.False(t, found)
	wait, due, err := store.NextWake(bounded(t))
	require.NoError(t, err)
	require.True(t, due)
	require.Equal(t, first.Facts.Intake.DecideBy().Sub(clock.now()), wait, "one timer, for the first deadline")
}
