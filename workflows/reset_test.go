package workflows_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"refundlab/activities"
	"refundlab/provider"
	"refundlab/refund"
	"refundlab/workflows"
)

// reset does what an operator's "workflow reset" does: a new run replays the old one up to its n-th completed workflow task,
// that one left out, and gets the signals that came later once more.
func (l *lab) reset(id refund.OperationID, n int) {
	l.t.Helper()
	connection := l.dial()
	defer connection.Close()
	events := connection.GetWorkflowHistory(l.ctx(), workflows.WorkflowID(id), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	var task int64
	for n > 0 {
		require.True(l.t, events.HasNext(), "the run has fewer workflow tasks")
		event, err := events.Next()
		require.NoError(l.t, err)
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			task = event.GetEventId()
			n--
		}
	}
	_, err := connection.WorkflowService().ResetWorkflowExecution(l.ctx(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflows.WorkflowID(id)}, Reason: "test",
		WorkflowTaskFinishEventId: task, RequestId: uuid.NewString(),
	})
	require.NoError(l.t, err)
}

// resetActivity makes the server count the attempts of an activity from one again.
func (l *lab) resetActivity(id refund.OperationID, name string) {
	l.t.Helper()
	connection := l.dial()
	defer connection.Close()
	_, err := connection.WorkflowService().ResetActivity(l.ctx(), &workflowservice.ResetActivityRequest{
		Namespace: "default", Execution: &commonpb.WorkflowExecution{WorkflowId: workflows.WorkflowID(id)},
		Activity: &workflowservice.ResetActivityRequest_Type{Type: name},
	})
	require.NoError(l.t, err)
}

// closed waits until the run has closed.
func (l *lab) closed(id refund.OperationID) {
	l.t.Helper()
	l.untilEvent(id, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, 1)
}

// afterProposal is the workflow task that shows the proposal: a reset to it keeps the proposal and carries the approval over.
const afterProposal = 3

func TestRunThatWasResetAfterItsApprovalAssumesThatItSent(t *testing.T) {
	for name, c := range map[string]struct {
		profile  refund.ProfileName
		captured int64
		late     bool // the reset comes when the time to commit is over
	}{
		"full: the first send used up the order": {refund.ProfileFull, 4200, false},
		"full: too late to send again":           {refund.ProfileFull, 10000, true},
		"lenient":                                {refund.ProfileLenient, 4200, false},
		"retention":                              {refund.ProfileRetention, 10000, false},
		"lookup":                                 {refund.ProfileLookup, 10000, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, c.profile)
			l.world.order.Captured = c.captured
			l.worker()
			terms := refund.Terms{DecideWithin: time.Hour.Milliseconds()}
			if c.late {
				terms.CommitWithin = 3000
			}
			view := l.until(l.request(terms).OperationID, refund.StatusApprovalRequired)
			require.Equal(t, refund.VerdictAccepted, l.decide(decisionOn(view, "d-1", refund.ChoiceApprove)))
			l.closed(view.OperationID)
			require.Equal(t, refund.StatusConfirmed, l.view(view.OperationID).Status)
			if c.late {
				<-time.After(time.Until(view.May.CommitBy.Time()))
			}
			l.reset(view.OperationID, afterProposal)
			l.closed(view.OperationID)
			again := l.view(view.OperationID)
			require.Equal(t, refund.StatusConfirmed, again.Status, "I3: the ledger has an entry")
			require.Equal(t, "r-1", again.Facts.Receipt.RefundID)
			require.Equal(t, view.Facts.Intake.At, again.Facts.FirstSentAt, "the provider's memory is counted from the earliest send that was possible")
			require.Len(t, l.world.entries, 1)
			export, err := l.client.Export(l.ctx(), view.OperationID)
			require.NoError(t, err)
			require.NoError(t, replayed(export))
		})
	}
}

func TestRunThatWasResetIsUnknownWhereNobodyCanBeAsked(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileOpaque)
	id := l.approved()
	l.closed(id)
	l.reset(id, afterProposal)
	view := l.until(id, refund.StatusUnknown)
	byReceipt := settlementOn(view, "s-1", refund.SettleReceipt)
	byReceipt.Receipt = receiptFor(view.Facts.Intake)
	view, err := l.client.Settle(l.ctx(), byReceipt)
	require.NoError(t, err)
	require.Equal(t, refund.StatusConfirmed, view.Status)
	require.Len(t, l.world.submits, 1)
}

// I4: the reset hands the approval and the close over in one task, before the new run has looked whether it was reset. The provider is
// down before and just up behind it: what a person has closed is never sent again.
func TestCloseThatAResetCarriesOverIsNotRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileFull)
	var up atomic.Bool
	down := func(int) *provider.Answer {
		if up.Load() {
			return nil
		}
		return ambiguous()
	}
	l.world.submitting, l.world.closingFault = down, down
	id := l.approved()
	view := l.until(id, refund.StatusRetryable)
	l.untilEvent(id, enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, 3)
	connection := l.dial()
	defer connection.Close()
	require.NoError(t, connection.SignalWorkflow(l.ctx(), workflows.WorkflowID(id), "", workflows.SettlementSignal, settlementOn(view, "s-1", refund.SettleClose)))
	l.until(id, refund.StatusUnknown)
	submits := len(l.world.submits)
	l.reset(id, afterProposal)
	up.Store(true)
	l.closed(id)
	view = l.view(id)
	require.Equal(t, refund.StatusRejected, view.Status)
	require.Equal(t, refund.CodeClosed, view.Reason)
	require.Len(t, l.world.submits, submits)
	require.Empty(t, l.world.entries)
}

// An attempt whose worker was frozen is begun when its run is long over: the server lists it as under way all the same.
func TestServerDoesNotWaitForAttemptsOfRunsThatAreOver(t *testing.T) {
	for name, c := range map[string]struct {
		leave func(l *lab, id refund.OperationID, connection client.Client)
		waits bool
	}{
		"running": {func(*lab, refund.OperationID, client.Client) {}, true},
		"terminated": {func(l *lab, id refund.OperationID, c client.Client) {
			require.NoError(l.t, c.TerminateWorkflow(l.ctx(), workflows.WorkflowID(id), "", "test"))
		}, false},
		"reset": {func(l *lab, id refund.OperationID, _ client.Client) { l.reset(id, afterProposal) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, refund.ProfileOpaque)
			connection := l.dial()
			defer connection.Close()
			begun, left, answered := make(chan struct{}), make(chan struct{}), make(chan bool, 1)
			l.world.awaited = func(ctx context.Context) (bool, error) {
				if activity.GetInfo(ctx).ActivityType.Name != activities.Submit || len(answered) > 0 {
					return true, nil
				}
				close(begun)
				<-left
				waits, err := activities.AskServer(connection)(context.WithoutCancel(ctx))
				answered <- waits
				return waits, err
			}
			id := l.approved()
			<-begun
			c.leave(l, id, connection)
			close(left)
			require.Equal(t, c.waits, <-answered)
		})
	}
}

// The reset keeps the round that is open, and the server hands it to the new run as a first attempt.
func TestRoundThatAResetHandsOnIsNotSentAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileOpaque)
	sending, hold := make(chan struct{}, 10), make(chan struct{})
	l.world.submitting = func(int) *provider.Answer {
		sending <- struct{}{}
		<-hold
		return nil
	}
	id := l.approved()
	<-sending
	view := l.view(id)
	require.Equal(t, refund.VerdictAlreadyDecided, l.decide(decisionOn(view, "d-2", refund.ChoiceReject)))
	l.reset(id, 5) // the task that answered the second decision; the one before it began the round
	require.Equal(t, refund.StatusUnknown, l.until(id, refund.StatusUnknown).Status)
	close(hold)
	require.Len(t, l.world.submits, 1)
}

// The second attempt counts as the first, and its check fails because the first one has used up the order.
func TestActivityResetDoesNotTurnASuccessIntoARefusal(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileFull)
	l.world.order.Captured = 4200
	lost := make(chan struct{})
	l.world.answering = func(n int) *provider.Answer {
		if n == 1 {
			defer close(lost)
			return ambiguous()
		}
		return nil
	}
	l.worker()
	view := l.until(l.request(refund.Terms{Backoff: 20_000}).OperationID, refund.StatusApprovalRequired)
	require.Equal(t, refund.VerdictAccepted, l.decide(decisionOn(view, "d-1", refund.ChoiceApprove)))
	<-lost
	connection := l.dial()
	defer connection.Close()
	require.Eventually(t, func() bool { // until the server knows that the attempt has ended
		run, err := connection.DescribeWorkflow(l.ctx(), workflows.WorkflowID(view.OperationID), "")
		if err != nil {
			return false
		}
		pending := run.RawResponse.GetPendingActivities()
		return len(pending) == 1 && pending[0].GetAttempt() == 2
	}, 10*time.Second, 20*time.Millisecond)
	l.resetActivity(view.OperationID, "Submit")
	l.closed(view.OperationID)
	require.Equal(t, refund.StatusConfirmed, l.view(view.OperationID).Status, "I3: the ledger has an entry")
	require.Len(t, l.world.submits, 1)
}

func TestClientGoesOnWithTheRunThatAResetMade(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileFull)
	stop := l.worker()
	view := l.until(l.request(refund.Terms{}).OperationID, refund.StatusApprovalRequired)
	l.untilEvent(view.OperationID, enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, afterProposal)
	stop()
	type reply struct {
		verdict refund.RecordedVerdict
		err     error
	}
	decided, watched := make(chan reply, 1), make(chan error, 1)
	var seen []refund.RunStatus
	ctx := l.ctx()
	go func() {
		watched <- l.client.Watch(ctx, view.OperationID, func(view refund.View) bool {
			seen = append(seen, view.Status)
			return view.Status == refund.StatusConfirmed
		})
	}()
	go func() {
		verdict, err := l.client.Decide(ctx, decisionOn(view, "d-1", refund.ChoiceApprove))
		decided <- reply{verdict, err}
	}()
	l.untilEvent(view.OperationID, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, 1)
	l.reset(view.OperationID, afterProposal)
	l.worker()
	got := <-decided
	require.NoError(t, got.err)
	require.NoError(t, <-watched)
	require.Equal(t, refund.StatusConfirmed, seen[len(seen)-1])
	require.NotContains(t, seen, refund.StatusPending, "what was known before the reset is not shown as news")
	require.Equal(t, []refund.RecordedVerdict{got.verdict}, l.view(view.OperationID).Facts.Verdicts, "I10: the reply equals the record")
}

// By the history of the new run nobody can tell this approval from one that was too late (I3).
func TestApprovalThatAResetCarriesOverLateMayHaveBeenSentBy(t *testing.T) {
	for profile, want := range map[refund.ProfileName]refund.RunStatus{
		refund.ProfileFull: refund.StatusConfirmed, refund.ProfileLenient: refund.StatusConfirmed, refund.ProfileLookup: refund.StatusConfirmed,
		refund.ProfileOpaque: refund.StatusUnknown,
	} {
		t.Run(string(profile), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, profile)
			l.worker()
			view := l.until(l.request(refund.Terms{DecideWithin: 5000, CommitWithin: 600_000}).OperationID, refund.StatusApprovalRequired)
			require.Equal(t, refund.VerdictAccepted, l.decide(decisionOn(view, "d-1", refund.ChoiceApprove)))
			l.closed(view.OperationID)
			<-time.After(time.Until(view.Facts.Intake.DecideBy().Time()))
			l.reset(view.OperationID, afterProposal)
			again := l.until(view.OperationID, want)
			require.Equal(t, refund.VerdictExpired, again.Facts.Verdicts[0].Code)
			require.Equal(t, refund.CodeApprovalExpired, again.Facts.Lapsed)
			require.Len(t, l.world.submits, 1, "I5: nothing is sent by it again")
			export, err := l.client.Export(l.ctx(), view.OperationID)
			require.NoError(t, err)
			require.NoError(t, replayed(export))
		})
	}
}

// The decision was too late, and the reset puts it in front of the timer that said so. Whether it had been in time is not known there:
// the operation is closed.
func TestLateDecisionStaysLateWhenAResetCarriesItOver(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileFull)
	hold := make(chan struct{})
	l.world.delivering = func(int) error { <-hold; return nil }
	l.worker()
	view := l.until(l.request(refund.Terms{DecideWithin: 2000, CommitWithin: 600_000, CallTimeout: 60_000}).OperationID, refund.StatusApprovalRequired)
	l.until(view.OperationID, refund.StatusExpired)
	require.Equal(t, refund.VerdictExpired, l.decide(decisionOn(view, "d-1", refund.ChoiceApprove)))
	close(hold)
	l.closed(view.OperationID)
	l.reset(view.OperationID, afterProposal)
	l.closed(view.OperationID)
	again := l.view(view.OperationID)
	require.Equal(t, refund.StatusRejected, again.Status)
	require.Equal(t, refund.CodeClosed, again.Facts.Rejected)
	require.Len(t, again.Facts.Verdicts, 1)
	require.Equal(t, refund.VerdictExpired, again.Facts.Verdicts[0].Code)
	require.Empty(t, l.world.submits)
}
