package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"refundlab/activities"
	"refundlab/refund"
	"refundlab/workflows"
)

func TestApprovedRefundIsSentOnceConfirmedAndAnnounced(t *testing.T) {
	f := newFlow(t, refund.ProfileFull)
	f.approve(time.Minute)
	require.Equal(t, workflows.Result{Status: refund.StatusConfirmed, RefundID: "r-1"}, f.run())
	require.Len(t, f.world.submits, 1)
	sent := f.world.submits[0]
	require.Equal(t, refund.Fence{Term: 1, Seq: 1}, sent.Fence)
	require.Equal(t, "d-1", sent.DecisionID)
	require.Equal(t, int64(7), sent.OrderVersion)
	require.Equal(t, refund.At(start.Add(time.Hour)), sent.CommitBy, "deadlines count from the start of the workflow")
	require.Len(t, f.world.notices, 1)
	require.Equal(t, refund.StatusConfirmed, f.world.notices[0].Status)
	require.Equal(t, "r-1", f.world.notices[0].RefundID)
	require.Equal(t, 1, f.world.proposals)
	require.Empty(t, f.endings, "the outcome is the provider's, not the run's")
}

func TestRunEndsBeforeAnythingIsSent(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(f *flow)
		want    workflows.Result
		calls   int // of the model
	}{
		"rejected by a person": {
			func(f *flow) { f.decide(time.Minute, f.decision("d-1", rejecting)) },
			workflows.Result{Status: refund.StatusRejected, Reason: refund.CodeApprovalRejected}, 1,
		},
		"nobody decides": {
			func(*flow) {}, workflows.Result{Status: refund.StatusExpired}, 1,
		},
		"order is not there": {
			func(f *flow) {
				f.world.reading = func(int) error { return refund.Errorf(refund.CodeOrderNotFound, "no order o1") }
			},
			workflows.Result{Status: refund.StatusRejected, Reason: refund.CodeOrderNotFound}, 0,
		},
		"more than is left of the order": {
			func(f *flow) { f.world.order.Refunded = 9000 },
			workflows.Result{Status: refund.StatusRejected, Reason: refund.CodeInsufficientBalance}, 0,
		},
		"model never answers usably": {
			func(f *flow) {
				f.world.proposing = func(int) error { return refund.Errorf(refund.CodeInvalidBody, "cut off") }
			},
			workflows.Result{Status: refund.StatusRejected, Reason: refund.CodeProposalFailed}, 3,
		},
		"order changed between approval and send": {
			func(f *flow) {
				f.approve(time.Minute)
				f.after(59*time.Second, func() { f.world.order.Version = 8 })
			},
			workflows.Result{Status: refund.StatusRejected, Reason: refund.CodeOrderVersionChanged}, 1,
		},
		"time to commit over before the first send": {
			func(f *flow) { f.intake.Terms.CommitWithin = 1000; f.approve(time.Minute) },
			workflows.Result{Status: refund.StatusRejected, Reason: refund.CodeApprovalExpired}, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFlow(t, refund.ProfileFull)
			c.prepare(f)
			require.Equal(t, c.want, f.run())
			require.Equal(t, c.calls, f.world.proposals)
			require.Empty(t, f.world.submits)
			require.Empty(t, f.world.entries)
			require.Len(t, f.endings, 1, "the run records its own end")
			require.Len(t, f.world.notices, 1)
			require.Equal(t, c.want.Status, f.world.notices[0].Status)
			require.Equal(t, c.want.Reason, f.world.notices[0].Reason)
		})
	}
}

func TestDeadlineEndsARunWhoseProposalIsStillOut(t *testing.T) {
	f := newFlow(t, refund.ProfileFull, func(terms *refund.Terms) { terms.ModelBudget, terms.Backoff = 10, refund.MaxPause.Milliseconds() })
	f.world.proposing = func(int) error { return refund.Errorf(refund.CodeTimeout, "no answer") }
	f.decide(30*time.Minute, f.decision("d-1"))
	require.Equal(t, refund.StatusExpired, f.run().Status)
	require.Equal(t, []refund.VerdictCode{refund.VerdictNotReady}, f.codes())
}

// As server 1.29 ends an attempt that runs into the deadline: the cause says that the time is over, the retry state does not.
func TestAttemptThatRunsIntoTheDeadlineEndsTheRunExpired(t *testing.T) {
	for name, nothing := range map[string]any{activities.CheckOrder: activities.CheckOrderResult{}, activities.Propose: activities.ProposeResult{}} {
		t.Run(name, func(t *testing.T) {
			f := newFlow(t, refund.ProfileFull)
			f.OnActivity(name, mock.Anything, mock.Anything).Return(nothing, temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, nil))
			require.Equal(t, workflows.Result{Status: refund.StatusExpired}, f.run())
			require.Equal(t, []ending{{Expired: true}}, f.endings)
		})
	}
}

func TestModelIsAskedWithGrowingPausesAndNeverBeyondTheBudget(t *testing.T) {
	f := newFlow(t, refund.ProfileFull, func(terms *refund.Terms) { terms.ModelBudget = 4 })
	var at []time.Duration
	f.world.proposing = func(int) error {
		at = append(at, f.Now().Sub(start))
		return refund.Errorf(refund.CodeTimeout, "no answer")
	}
	require.Equal(t, refund.CodeProposalFailed, f.run().Reason)
	require.Equal(t, []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}, at)
}

func TestUnreadableOrderCostsNoModelCall(t *testing.T) {
	f := newFlow(t, refund.ProfileFull, func(terms *refund.Terms) { terms.ModelBudget = 1 })
	f.world.reading = func(n int) error {
		if n <= 5 {
			return refund.Errorf(refund.CodeUnavailable, "no answer")
		}
		return nil
	}
	f.approve(30 * time.Minute)
	require.Equal(t, refund.StatusConfirmed, f.run().Status)
	require.Equal(t, 1, f.world.proposals)
}

func TestNoticeIsDeliveredAtLeastOnceHoweverLongItTakes(t *testing.T) {
	f := newFlow(t, refund.ProfileFull)
	f.approve(time.Minute)
	f.world.delivering = func(n int) error {
		if n <= 60 { // more attempts than one activity has here
			return refund.Errorf(refund.CodeUnavailable, "receiver is down")
		}
		return nil
	}
	require.Equal(t, refund.StatusConfirmed, f.run().Status)
	require.Equal(t, 61, f.world.deliveries)
	require.Less(t, f.world.notices[0].At, refund.At(start.Add(2*time.Minute)), "it tells when the run ended, not when it was told")
}

func TestCancellationWithdrawsWhatWasNotApproved(t *testing.T) {
	f := newFlow(t, refund.ProfileFull)
	f.after(time.Minute, f.CancelWorkflow)
	f.approve(2 * time.Minute)
	f.ExecuteWorkflow(workflows.WorkflowName, f.intake)
	var cancelled *temporal.CanceledError
	require.ErrorAs(t, f.GetWorkflowError(), &cancelled)
	require.Equal(t, []ending{{Rejected: refund.CodeCancelled}}, f.endings)
	require.Empty(t, f.world.submits)
	require.Len(t, f.world.notices, 1, "what was begun is brought to its end")
}

func TestCancellationAfterTheApprovalHasNoEffect(t *testing.T) {
	f := newFlow(t, refund.ProfileFull)
	f.approve(time.Minute)
	f.world.submitting = func(n int) *refundAnswer {
		if n == 1 {
			f.CancelWorkflow()
			f.CancelWorkflow()
			return ambiguous()
		}
		return nil
	}
	require.Equal(t, refund.StatusConfirmed, f.run().Status)
	require.Len(t, f.world.entries, 1)
}

func TestWorkflowNeedsItsDoor(t *testing.T) {
	f := newFlow(t, refund.ProfileFull)
	f.SetWorkerOptions(workerWithoutDoor)
	f.ExecuteWorkflow(workflows.WorkflowName, f.intake)
	require.ErrorContains(t, f.GetWorkflowError(), "workflows.Door")
}

// Whoever reaches the server can start a workflow; the checks of the client do not bind them.
func TestIntakeThatTheClientWouldNotWriteIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*refund.Intake)
		want   refund.Code
	}{
		"requester in another spelling":    {func(in *refund.Intake) { in.Request.Requester = "User-2" }, refund.CodeInvalidBody},
		"no requester":                     {func(in *refund.Intake) { in.Request.Requester = "" }, refund.CodeInvalidIdentity},
		"amount that the digest lacks":     {func(in *refund.Intake) { in.Request.Amount.Minor++ }, refund.CodeInvalidBody},
		"no limit of model calls":          {func(in *refund.Intake) { in.Terms.ModelBudget = 0 }, refund.CodeInvalidBody},
		"too many model calls":             {func(in *refund.Intake) { in.Terms.ModelBudget = 1000 }, refund.CodeInvalidFlag},
		"unknown profile":                  {func(in *refund.Intake) { in.Terms.Profile = "other" }, refund.CodeInvalidProfile},
		"profile of the other engine":      {func(in *refund.Intake) { in.Terms.Profile = refund.ProfileLocal }, refund.CodeInvalidProfile},
		"operation id of another request":  {func(in *refund.Intake) { in.OperationID = refund.NewOperationID("shop", refund.Kind, "req-2") }, refund.CodeInvalidBody},
		"workflow id of another operation": {func(in *refund.Intake) { *in = refund.NewIntake(request("req-2"), in.Terms, 0) }, refund.CodeInvalidIdentity},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFlow(t, refund.ProfileFull)
			c.change(&f.intake)
			f.ExecuteWorkflow(workflows.WorkflowName, f.intake)
			var failure *temporal.ApplicationError
			require.ErrorAs(t, f.GetWorkflowError(), &failure)
			require.Equal(t, string(c.want), failure.Type())
			require.True(t, failure.NonRetryable())
			require.Zero(t, f.world.reads)
		})
	}
}
