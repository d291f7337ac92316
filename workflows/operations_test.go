package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	activitypb "go.temporal.io/api/activity/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"refundlab/activities"
	"refundlab/provider"
	"refundlab/refund"
	"refundlab/workflows"
)

func execution(id refund.OperationID) *commonpb.WorkflowExecution {
	return &commonpb.WorkflowExecution{WorkflowId: workflows.WorkflowID(id)}
}

// pause does what an operator's "activity pause" does.
func (l *lab) pause(id refund.OperationID, name string) {
	l.t.Helper()
	connection := l.dial()
	defer connection.Close()
	_, err := connection.WorkflowService().PauseActivity(l.ctx(), &workflowservice.PauseActivityRequest{
		Namespace: "default", Execution: execution(id), Activity: &workflowservice.PauseActivityRequest_Type{Type: name},
	})
	require.NoError(l.t, err)
}

// unpause waits until a paused activity has no attempt running, and lets it go on.
func (l *lab) unpause(id refund.OperationID, name string) {
	l.t.Helper()
	connection := l.dial()
	defer connection.Close()
	require.Eventually(l.t, func() bool {
		run, err := connection.DescribeWorkflow(l.ctx(), workflows.WorkflowID(id), "")
		if err != nil {
			return false
		}
		pending := run.RawResponse.GetPendingActivities()
		return len(pending) == 1 && pending[0].GetState() == enumspb.PENDING_ACTIVITY_STATE_PAUSED
	}, 10*time.Second, 20*time.Millisecond)
	_, err := connection.WorkflowService().UnpauseActivity(l.ctx(), &workflowservice.UnpauseActivityRequest{
		Namespace: "default", Execution: execution(id), Activity: &workflowservice.UnpauseActivityRequest_Type{Type: name},
	})
	require.NoError(l.t, err)
}

// allow does what an operator's "activity update-options --retry-maximum-attempts" does.
func (l *lab) allow(id refund.OperationID, name string, attempts int32) {
	l.t.Helper()
	connection := l.dial()
	defer connection.Close()
	request := &workflowservice.UpdateActivityOptionsRequest{
		Namespace: "default", Execution: execution(id), Activity: &workflowservice.UpdateActivityOptionsRequest_Type{Type: name},
		ActivityOptions: &activitypb.ActivityOptions{RetryPolicy: &commonpb.RetryPolicy{MaximumAttempts: attempts}},
	}
	filled(&request.UpdateMask).Paths = []string{"retry_policy.maximum_attempts"}
	_, err := connection.WorkflowService().UpdateActivityOptions(l.ctx(), request)
	require.NoError(l.t, err)
}

func filled[T any](p **T) *T {
	*p = new(T)
	return *p
}

// more are the ways to a further attempt of an activity whose limit is reached, taken while its last attempt runs, and what has to follow
// once that one has failed.
var more = map[string]struct {
	during, after func(l *lab, id refund.OperationID, name string)
}{
	"paused meanwhile":    {(*lab).pause, (*lab).unpause},
	"given another limit": {func(l *lab, id refund.OperationID, name string) { l.allow(id, name, 3) }, func(*lab, refund.OperationID, string) {}},
}

// The server begins a second attempt although the activity may have one only, and the provider would take it for a second refund (I1).
func TestNoFurtherAttemptSendsWhereThatCouldBeASecondRefund(t *testing.T) {
	for way, operator := range more {
		for profile, want := range map[refund.ProfileName]refund.RunStatus{
			refund.ProfileLookup: refund.StatusConfirmed, refund.ProfileStale: refund.StatusConfirmed, refund.ProfileOpaque: refund.StatusUnknown,
		} {
			t.Run(string(profile)+", "+way, func(t *testing.T) {
				t.Parallel()
				l := newLab(t, profile)
				l.worker()
				view := l.until(l.request(refund.Terms{}).OperationID, refund.StatusApprovalRequired)
				l.world.answering = func(n int) *provider.Answer {
					if n == 1 {
						operator.during(l, view.OperationID, activities.Submit)
						panic("the attempt fails after the commit")
					}
					return nil
				}
				require.Equal(t, refund.VerdictAccepted, l.decide(decisionOn(view, "d-1", refund.ChoiceApprove)))
				operator.after(l, view.OperationID, activities.Submit)
				l.untilEvent(view.OperationID, enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, 3) // the order, the proposal, the round
				l.until(view.OperationID, want)
				require.Len(t, l.world.entries, 1)
				require.Len(t, l.world.submits, 1)
			})
		}
	}
}

// The server begins an attempt although the budget is spent (I12).
func TestNoFurtherAttemptAsksTheModelBeyondTheBudget(t *testing.T) {
	for way, operator := range more {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, refund.ProfileFull)
			id := l.request(refund.Terms{ModelBudget: 1}).OperationID
			l.world.proposing = func(n int) error {
				if n == 1 {
					operator.during(l, id, activities.Propose)
				}
				return refund.Errorf(refund.CodeTimeout, "no answer")
			}
			l.worker()
			operator.after(l, id, activities.Propose)
			view := l.until(id, refund.StatusRejected)
			require.Equal(t, refund.CodeProposalFailed, view.Reason)
			require.Equal(t, 1, l.world.proposals)
			require.Equal(t, 1, view.Facts.ModelCalls)
		})
	}
}
