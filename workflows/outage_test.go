package workflows_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"refundlab/binaries"
	"refundlab/provider"
	"refundlab/refund"
	"refundlab/temporalserver"
	"refundlab/workflows"
)

// Decision and deadline meet while no worker is alive, so that one workflow task brings both. The order of the history decides,
// in every case: not the order in which code looks, and not the clock of the task.
func TestDecisionAgainstDeadlineWhileNoWorkerRuns(t *testing.T) {
	terms := refund.Terms{DecideWithin: 4000, CommitWithin: 60_000}
	late := func(l *lab, id refund.OperationID) { l.untilEvent(id, enumspb.EVENT_TYPE_TIMER_FIRED, 1) }

	t.Run("in time, worker late: approved", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, refund.ProfileFull)
		stop := l.worker()
		view := l.until(l.request(terms).OperationID, refund.StatusApprovalRequired)
		stop()
		l.leave(decisionOn(view, "d-1", refund.ChoiceApprove))
		late(l, view.OperationID)
		l.worker()
		require.Equal(t, refund.VerdictAccepted, l.decide(decisionOn(view, "d-1", refund.ChoiceApprove)))
		l.until(view.OperationID, refund.StatusConfirmed)
	})

	t.Run("after the deadline, worker late: expired", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, refund.ProfileFull)
		stop := l.worker()
		view := l.until(l.request(terms).OperationID, refund.StatusApprovalRequired)
		stop()
		late(l, view.OperationID)
		l.leave(decisionOn(view, "d-1", refund.ChoiceApprove))
		require.Equal(t, refund.StatusApprovalRequired, l.view(view.OperationID).Status, "expiry is what the run recorded, not what a clock says")
		l.worker()
		require.Equal(t, refund.VerdictExpired, l.decide(decisionOn(view, "d-1", refund.ChoiceApprove)))
		l.until(view.OperationID, refund.StatusExpired)
		require.Empty(t, l.world.submits)
	})

	// The worker is gone before it can look at the proposal: proposal, decision and deadline come in one task.
	for name, c := range map[string]struct {
		inTime bool
		want   refund.VerdictCode
		end    refund.RunStatus
	}{
		"in time, while the run was busy: approved":           {true, refund.VerdictAccepted, refund.StatusConfirmed},
		"after the deadline, while the run was busy: expired": {false, refund.VerdictExpired, refund.StatusExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, refund.ProfileFull)
			asked, answer := make(chan struct{}), make(chan struct{})
			l.world.proposing = func(int) error {
				close(asked)
				<-answer
				return nil
			}
			stopWorkflows, stopActivities := l.halves()
			defer stopActivities()
			view := l.request(terms)
			<-asked
			stopWorkflows()
			close(answer)
			view = l.until(view.OperationID, refund.StatusApprovalRequired)
			if c.inTime {
				l.leave(decisionOn(view, "d-1", refund.ChoiceApprove))
			}
			late(l, view.OperationID)
			if !c.inTime {
				l.leave(decisionOn(view, "d-1", refund.ChoiceApprove))
			}
			l.leave(decisionOn(view, "d-2", refund.ChoiceReject))
			l.worker()
			require.Equal(t, c.want, l.decide(decisionOn(view, "d-1", refund.ChoiceApprove)))
			l.until(view.OperationID, c.end)
		})
	}

	t.Run("before the proposal, worker late: not ready", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, refund.ProfileFull)
		view := l.request(terms)
		l.leave(decisionOn(view, "d-1", refund.ChoiceApprove))
		l.worker()
		require.Equal(t, refund.VerdictNotReady, l.decide(decisionOn(view, "d-1", refund.ChoiceApprove)))
		l.until(view.OperationID, refund.StatusExpired)
	})
}

// The history has the cancellation before the approval, and one workflow task brings both.
func TestApprovalAfterACancellationIsRefusedAlsoWhileNoWorkerRuns(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileFull)
	stop := l.worker()
	view := l.until(l.request(refund.Terms{}).OperationID, refund.StatusApprovalRequired)
	stop()
	shown, err := l.client.Cancel(l.ctx(), view.OperationID)
	require.NoError(t, err)
	require.Equal(t, refund.StatusApprovalRequired, shown.Status, "what becomes of it a worker decides")
	l.leave(decisionOn(view, "d-1", refund.ChoiceApprove))
	l.worker()
	require.Equal(t, refund.VerdictRunClosed, l.decide(decisionOn(view, "d-1", refund.ChoiceApprove)))
	l.untilEvent(view.OperationID, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED, 1)
	require.Equal(t, refund.CodeCancelled, l.view(view.OperationID).Reason)
	require.Empty(t, l.world.submits)
	again, err := l.client.Cancel(l.ctx(), view.OperationID)
	require.NoError(t, err)
	require.Equal(t, refund.StatusRejected, again.Status, "a run that is over stays as it is")
}

// Cancellation, approval and deadline come in one task. Whatever their order, an approval that is told RUN_CLOSED is told of the end that
// the run comes to, and a cancellation that came before EXPIRED was recorded counts.
func TestCancelledRunEndsCancelledThoughItsDeadlineCameWhileNoWorkerRan(t *testing.T) {
	type step func(l *lab, view refund.View)
	cancel := func(l *lab, view refund.View) {
		_, err := l.client.Cancel(l.ctx(), view.OperationID)
		require.NoError(l.t, err)
	}
	approve := func(l *lab, view refund.View) { l.leave(decisionOn(view, "d-1", refund.ChoiceApprove)) }
	deadline := func(l *lab, view refund.View) { l.untilEvent(view.OperationID, enumspb.EVENT_TYPE_TIMER_FIRED, 1) }
	for name, steps := range map[string][]step{
		"cancelled, approved, over": {cancel, approve, deadline},
		"cancelled, over, approved": {cancel, deadline, approve},
		"over, cancelled, approved": {deadline, cancel, approve},
		"over, approved, cancelled": {deadline, approve, cancel},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, refund.ProfileFull)
			stop := l.worker()
			view := l.until(l.request(refund.Terms{DecideWithin: 4000, CommitWithin: 60_000}).OperationID, refund.StatusApprovalRequired)
			stop()
			for _, do := range steps {
				do(l, view)
			}
			l.worker()
			l.untilEvent(view.OperationID, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED, 1)
			view = l.view(view.OperationID)
			require.Equal(t, refund.StatusRejected, view.Status)
			require.Equal(t, refund.CodeCancelled, view.Reason)
			require.Len(t, view.Facts.Verdicts, 1)
			require.Equal(t, refund.VerdictRunClosed, view.Facts.Verdicts[0].Code)
			require.Empty(t, l.world.submits)
			export, err := l.client.Export(l.ctx(), view.OperationID)
			require.NoError(t, err)
			require.NoError(t, replayed(export))
		})
	}
}

func TestOrderThatCanNeverBeReadEndsWithTheDeadline(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileFull)
	l.world.reading = func(int) error { return refund.Errorf(refund.CodeUnavailable, "no answer") }
	l.worker()
	view := l.until(l.request(refund.Terms{DecideWithin: 1500}).OperationID, refund.StatusExpired)
	require.Empty(t, view.Reason)
	require.Zero(t, l.world.proposals)
}

// What the run knows of a send is what a reader is shown: the check that failed, and the answer that decided nothing.
func TestReaderIsShownThatTheAuthorityToSendHasLapsed(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileLenient)
	l.world.submitting = func(int) *provider.Answer {
		l.world.mu.Lock()
		defer l.world.mu.Unlock()
		l.world.order.Version = 8 // somebody changes the order after the first send
		return ambiguous()
	}
	view := l.until(l.approved(), refund.StatusUnknown)
	require.Equal(t, refund.CodeOrderVersionChanged, view.Facts.Lapsed)
	require.Contains(t, view.May.Next, "look the operation up")
	require.Contains(t, view.Facts.Last, "UNSENT: ")
	require.Len(t, l.world.submits, 1)
}

func TestRunWhoseOrderCannotBeReadHasSentNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileOpaque)
	l.world.reading = func(n int) error {
		if n > 1 { // the first is for the proposal
			return refund.Errorf(refund.CodeUnavailable, "no answer")
		}
		return nil
	}
	id := l.approved()
	l.untilEvent(id, enumspb.EVENT_TYPE_TIMER_STARTED, 3) // of the deadline and of two pauses
	view := l.view(id)
	require.Equal(t, refund.StatusRetryable, view.Status)
	require.Contains(t, view.Facts.Last, "no answer")
	require.Empty(t, l.world.submits)
}

func TestStatusListAndExportNeedNoWorker(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileFull)
	view := l.request(refund.Terms{CallTimeout: 1000})
	require.Equal(t, refund.StatusPending, view.Status)

	stop := l.worker(abandons)
	view = l.until(view.OperationID, refund.StatusApprovalRequired)
	stop()
	require.Equal(t, view.Facts, l.view(view.OperationID).Facts)

	// The worker dies while its request is at the provider, before and after the commit.
	sending, hold := make(chan struct{}, 10), make(chan struct{})
	l.world.submitting = func(int) *provider.Answer {
		sending <- struct{}{}
		<-hold
		return nil
	}
	t.Cleanup(func() { close(hold) })
	stop = l.worker(abandons)
	require.Equal(t, refund.VerdictAccepted, l.decide(decisionOn(view, "d-1", refund.ChoiceApprove)))
	<-sending
	stop()
	view = l.view(view.OperationID)
	require.Equal(t, refund.StatusRetryable, view.Status)
	require.Equal(t, refund.StateSubmitted, view.Facts.State)
	require.Positive(t, view.Facts.FirstSentAt)
	require.Equal(t, "d-1", view.Facts.Decision.DecisionID)
	require.Equal(t, refund.Fence{Term: 1}, view.May.Fence, "Temporal records an attempt when it is over")

	listed := l.listOf(1)
	require.Equal(t, view.Facts, listed[0].View.Facts)
	require.Greater(t, listed[0].Since, view.Facts.Intake.At)
	require.LessOrEqual(t, listed[0].Since, view.Facts.FirstSentAt.Add(time.Second))

	export, err := l.client.Export(l.ctx(), view.OperationID)
	require.NoError(t, err)
	require.Equal(t, []refund.FactKind{
		refund.FactIntake, refund.FactModelCall, refund.FactProposal, refund.FactDecision, refund.FactVerdict, refund.FactIntent,
	}, kinds(export))
}

func TestSettlementWaitsForTheOpenAttempt(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileFull)
	l.worker()
	view := l.until(l.request(refund.Terms{}).OperationID, refund.StatusApprovalRequired)
	sending, answer := make(chan struct{}), make(chan struct{})
	l.world.submitting = func(n int) *provider.Answer {
		if n == 1 {
			return ambiguous()
		}
		close(sending)
		<-answer
		return nil
	}
	require.Equal(t, refund.VerdictAccepted, l.decide(decisionOn(view, "d-1", refund.ChoiceApprove)))
	<-sending
	settled := make(chan error)
	go func() {
		_, err := l.client.Settle(l.ctx(), settlementOn(view, "s-1", refund.SettleClose))
		settled <- err
	}()
	l.untilEvent(view.OperationID, enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED, 1)
	select {
	case err := <-settled:
		t.Fatalf("settled while an attempt was open: %v", err)
	default:
	}
	close(answer)
	require.Equal(t, refund.CodeSettlementRefused, refund.CodeOf(<-settled), "what the attempt learnt came first")
	l.until(view.OperationID, refund.StatusConfirmed)
	require.Empty(t, l.world.closes)
}

func TestSettlementByCloseEndsTheSending(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileFull)
	l.world.submitting = func(int) *provider.Answer { return ambiguous() }
	l.worker()
	view := l.until(l.request(refund.Terms{Backoff: 10_000}).OperationID, refund.StatusApprovalRequired)
	require.Equal(t, refund.VerdictAccepted, l.decide(decisionOn(view, "d-1", refund.ChoiceApprove)))
	l.untilEvent(view.OperationID, enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, 3) // the order, the proposal, the first round
	began := time.Now()
	view, err := l.client.Settle(l.ctx(), settlementOn(view, "s-1", refund.SettleClose))
	require.NoError(t, err)
	require.Equal(t, refund.StatusRejected, view.Status)
	require.Equal(t, refund.CodeClosed, view.Reason)
	require.Less(t, time.Since(began), 8*time.Second, "the pause before the next send is not waited for")
	require.Equal(t, refund.Fence{Term: 2, Seq: 1}, l.world.closes[0])

	again, err := l.client.Settle(l.ctx(), settlementOn(view, "s-1", refund.SettleClose))
	require.NoError(t, err)
	require.Equal(t, refund.StatusRejected, again.Status)
	_, err = l.client.Settle(l.ctx(), settlementOn(view, "s-1", refund.SettlePresumedAbsent))
	require.Equal(t, refund.CodeDecisionConflict, refund.CodeOf(err))
	_, err = l.client.Settle(l.ctx(), settlementOn(view, "s-2", refund.SettleClose))
	require.Equal(t, refund.CodeSettlementRefused, refund.CodeOf(err))
}

// I12: a call to the model gives signs of life, and the server gives an attempt without them up long before its whole time is over. A
// worker that was frozen in between meets a server that is too busy to say so.
func TestModelIsNotAskedByAnAttemptThatGaveNoSignOfLifeInItsTime(t *testing.T) {
	for late, asked := range map[time.Duration]int{2 * time.Second: 1, 8 * time.Second: 0} { // of 5 s for a sign and 11 s in all
		t.Run(late.String(), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, refund.ProfileFull)
			l.world.awaited = func(context.Context) (bool, error) { return false, errors.New("no answer") }
			l.world.now = func() refund.Instant { return refund.At(time.Now().Add(late)) }
			l.worker()
			status := refund.StatusApprovalRequired
			if asked == 0 {
				status = refund.StatusRejected
			}
			l.until(l.request(refund.Terms{CallTimeout: 10_000, Backoff: 100}).OperationID, status)
			require.Equal(t, asked, l.world.proposals)
		})
	}
}

// I11: a run that cannot set what it shows would stand still, so a namespace that lacks it takes none.
func TestRequestIsRefusedWhereASearchAttributeIsMissing(t *testing.T) {
	paths, err := binaries.Build(t.Context(), os.Stderr, binaries.DevServer)
	require.NoError(t, err)
	for name, kind := range workflows.SearchAttributes() {
		t.Run("only "+name, func(t *testing.T) {
			server, err := temporalserver.Start(t.Context(), temporalserver.Options{
				Binary: paths[binaries.DevServer], LogFile: filepath.Join(t.TempDir(), "server.log"), SearchAttributes: map[string]string{name: kind},
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, server.Stop()) })
			l := &lab{t: t, queue: "q", address: server.Address()}
			l.client = workflows.NewClient(l.dial(), workflows.ClientOptions{TaskQueue: l.queue})
			t.Cleanup(func() { require.NoError(t, l.client.Close()) })
			_, _, err = l.client.Request(l.ctx(), request("r-1"), refund.Terms{Profile: refund.ProfileFull})
			require.Equal(t, refund.CodeUnavailable, refund.CodeOf(err), "%v", err)
		})
	}
}

// What was known once is kept when the worker dies: no second model call, no second send.
func TestRecordedResultsOutliveTheWorker(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileOpaque)
	stop := l.worker()
	view := l.until(l.request(refund.Terms{}).OperationID, refund.StatusApprovalRequired)
	stop()
	l.worker(func(o *workflows.WorkerOptions) { o.StickyCache = 0 })
	require.Equal(t, refund.VerdictAccepted, l.decide(decisionOn(view, "d-1", refund.ChoiceApprove)))
	view = l.until(view.OperationID, refund.StatusConfirmed)
	require.Equal(t, 1, l.world.proposals)
	require.Equal(t, "answer-1", view.Facts.Proposal.AnswerID)
	require.Len(t, l.world.submits, 1)
}

func TestDeathOfAWorkerIsKnownByItsHeartbeatsDuringASlowModelCall(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileFull)
	asked, hold := make(chan struct{}, 2), make(chan struct{})
	l.world.proposing = func(int) error {
		asked <- struct{}{}
		<-hold
		return nil
	}
	stop := l.worker(abandons)
	view := l.request(refund.Terms{CallTimeout: 20_000}) // heartbeats within ten seconds, an attempt within 21
	<-asked
	stop()
	gone := time.Now()
	l.worker()
	<-asked
	require.Less(t, time.Since(gone), 15*time.Second)
	close(hold)
	view = l.until(view.OperationID, refund.StatusApprovalRequired)
	require.Equal(t, 2, view.Facts.ModelCalls, "each attempt counts against the budget")
}

func TestSlowModelCallKeepsItsAttemptByHeartbeats(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileFull)
	l.world.proposing = func(int) error {
		<-time.After(3 * time.Second) // beyond the time-out of heartbeats
		return nil
	}
	l.worker()
	view := l.until(l.request(refund.Terms{CallTimeout: 4_000}).OperationID, refund.StatusApprovalRequired)
	require.Equal(t, 1, view.Facts.ModelCalls)
}
