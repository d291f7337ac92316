package workflows_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"refundlab/refund"
	"refundlab/workflows"
)

func kinds(export refund.Export) (kinds []refund.FactKind) {
	for _, fact := range export.Facts {
		kinds = append(kinds, fact.Kind)
	}
	return kinds
}

func settlementOn(view refund.View, id string, kind refund.SettlementKind) refund.Settlement {
	return refund.Settlement{SettlementID: id, OperationID: view.OperationID, Kind: kind, By: "user-3", Reason: "asked the bank"}
}

// listOf waits until the visibility store has caught up with the runs that the test started.
func (l *lab) listOf(count int) (listed []refund.Listed) {
	l.t.Helper()
	require.Eventually(l.t, func() bool {
		var err error
		listed, err = l.client.List(l.ctx())
		return err == nil && len(listed) == count
	}, 10*time.Second, 50*time.Millisecond)
	return listed
}

func TestRefundIsRequestedApprovedAndConfirmed(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileFull)
	l.worker()
	view := l.until(l.request(refund.Terms{}).OperationID, refund.StatusApprovalRequired)
	require.Equal(t, "answer-1", view.Facts.Proposal.AnswerID)
	require.Equal(t, 1, view.Facts.ModelCalls)

	verdict, err := l.client.Decide(l.ctx(), decisionOn(view, "d-1", refund.ChoiceApprove))
	require.NoError(t, err)
	require.Equal(t, refund.VerdictAccepted, verdict.Code)

	var seen []refund.RunStatus
	require.NoError(t, l.client.Watch(l.ctx(), view.OperationID, func(view refund.View) bool {
		seen = append(seen, view.Status)
		return false
	}), "a watch ends with the run")
	require.Equal(t, refund.StatusConfirmed, seen[len(seen)-1])

	view = l.view(view.OperationID)
	require.Equal(t, "r-1", view.Facts.Receipt.RefundID)
	require.Equal(t, refund.Fence{Term: 1, Seq: 1}, view.May.Fence)
	require.Equal(t, []refund.RecordedVerdict{verdict}, view.Facts.Verdicts, "the reply equals the record")
	require.Len(t, l.world.entries, 1)

	export, err := l.client.Export(l.ctx(), view.OperationID)
	require.NoError(t, err)
	require.Equal(t, []refund.FactKind{
		refund.FactIntake, refund.FactModelCall, refund.FactProposal, refund.FactDecision, refund.FactVerdict, refund.FactIntent,
		refund.FactOutcome, refund.FactNotice, refund.FactClosed,
	}, kinds(export))
	require.Equal(t, "r-1", export.Facts[6].Ref)
	require.Equal(t, string(refund.StateConfirmed), export.Facts[6].Code)
}

func TestRepeatedRequestFindsItsRunOpenAndClosed(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileFull)
	view := l.request(refund.Terms{})
	again := func(change func(*refund.Request)) (refund.View, bool, error) {
		r := view.Facts.Intake.Request
		change(&r)
		return l.client.Request(l.ctx(), r, refund.Terms{Profile: refund.ProfileLookup, CallTimeout: 5})
	}
	for _, state := range []string{"open", "closed"} {
		t.Run(state, func(t *testing.T) {
			if state == "closed" {
				l.worker()
				view = l.until(view.OperationID, refund.StatusApprovalRequired)
				require.Equal(t, refund.VerdictAccepted, l.decide(decisionOn(view, "d-1", refund.ChoiceApprove)))
				require.NoError(t, l.client.Watch(l.ctx(), view.OperationID, func(refund.View) bool { return false }))
				view = l.view(view.OperationID)
			}
			found, existing, err := again(func(*refund.Request) {})
			require.NoError(t, err)
			require.True(t, existing)
			require.Equal(t, view.Facts, found.Facts, "the recorded terms stay")

			for name, change := range map[string]func(*refund.Request){
				"amount": func(r *refund.Request) { r.Amount.Minor++ },
				"order":  func(r *refund.Request) { r.Order = "o2" },
				"reason": func(r *refund.Request) { r.Reason = "another" },
			} {
				_, _, err := again(change)
				require.Equal(t, refund.CodeKeyConflict, refund.CodeOf(err), "%s: %v", name, err)
			}
		})
	}
	require.Len(t, l.world.entries, 1)
}

func TestEqualRequestsUnderTwoKeysAreTwoRefunds(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileFull)
	one, two := l.request(refund.Terms{}), l.request(refund.Terms{})
	require.NotEqual(t, one.OperationID, two.OperationID)
	require.Len(t, l.listOf(2), 2)
}

func TestVerdictIsPendingUntilAWorkerRunsAndThenFinal(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileFull)
	stop := l.worker()
	view := l.until(l.request(refund.Terms{}).OperationID, refund.StatusApprovalRequired)
	stop()
	approval := decisionOn(view, "d-1", refund.ChoiceApprove)
	waiting, cancel := context.WithTimeout(l.ctx(), time.Second)
	defer cancel()
	_, err := l.client.Decide(waiting, approval)
	require.Equal(t, refund.CodeVerdictPending, refund.CodeOf(err), "%v", err)
	l.leave(approval) // two signals by now
	require.Empty(t, l.view(view.OperationID).Facts.Verdicts, "stored is no verdict")
	l.worker()

	verdict, err := l.client.Decide(l.ctx(), approval)
	require.NoError(t, err)
	require.Equal(t, refund.VerdictAccepted, verdict.Code)
	require.Equal(t, refund.VerdictAlreadyDecided, l.decide(decisionOn(view, "d-2", refund.ChoiceReject)))
	l.until(view.OperationID, refund.StatusConfirmed)
	require.NoError(t, l.client.Watch(l.ctx(), view.OperationID, func(refund.View) bool { return false }))

	again, err := l.client.Decide(l.ctx(), approval)
	require.NoError(t, err)
	require.Equal(t, verdict, again, "the closed run answers a repeated decision from its record")
	_, err = l.client.Decide(l.ctx(), decisionOn(view, "d-1", refund.ChoiceReject))
	require.Equal(t, refund.CodeDecisionConflict, refund.CodeOf(err))
	late, err := l.client.Decide(l.ctx(), decisionOn(view, "d-3", refund.ChoiceReject))
	require.NoError(t, err)
	require.Equal(t, refund.VerdictAlreadyDecided, late.Code)
	require.Zero(t, late.At, "a closed run records nothing")
	require.Len(t, l.view(view.OperationID).Facts.Verdicts, 2)
}

func TestSameDecisionIDWithOtherContentIsAConflictForItsSender(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileFull)
	stop := l.worker()
	view := l.until(l.request(refund.Terms{}).OperationID, refund.StatusApprovalRequired)
	stop()
	l.leave(decisionOn(view, "d-1", refund.ChoiceReject))
	sent := make(chan error)
	go func() {
		_, err := l.client.Decide(l.ctx(), decisionOn(view, "d-1", refund.ChoiceApprove))
		sent <- err
	}()
	l.worker()
	require.Equal(t, refund.CodeDecisionConflict, refund.CodeOf(<-sent))
	require.Equal(t, refund.CodeApprovalRejected, l.until(view.OperationID, refund.StatusRejected).Reason)
	require.Empty(t, l.world.submits)
}

func TestDecisionOnAClosedRunIsAnsweredFromItsRecord(t *testing.T) {
	for name, c := range map[string]struct {
		terms refund.Terms
		world func(*world)
		end   refund.RunStatus
		want  refund.VerdictCode
	}{
		"expired":  {refund.Terms{DecideWithin: 700}, func(*world) {}, refund.StatusExpired, refund.VerdictExpired},
		"rejected": {refund.Terms{}, func(w *world) { w.order.Refunded = 9000 }, refund.StatusRejected, refund.VerdictRunClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, refund.ProfileFull)
			c.world(l.world)
			l.worker()
			view := l.until(l.request(c.terms).OperationID, c.end)
			require.NoError(t, l.client.Watch(l.ctx(), view.OperationID, func(refund.View) bool { return false }))
			require.Equal(t, c.want, l.decide(decisionOn(view, "d-1", refund.ChoiceApprove)))
			require.Empty(t, l.view(view.OperationID).Facts.Verdicts)
		})
	}
}

func TestTerminatedRunIsListedWithWhatItHadRecorded(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileFull)
	view := l.request(refund.Terms{})
	connection := l.dial()
	defer connection.Close()
	require.NoError(t, connection.TerminateWorkflow(l.ctx(), workflows.WorkflowID(view.OperationID), "", "by hand"))
	listed := l.listOf(1)
	require.Equal(t, refund.StatusPending, listed[0].View.Status)
	require.Contains(t, listed[0].View.May.Next, "terminated")
	require.Equal(t, refund.VerdictRunClosed, l.decide(decisionOn(view, "d-1", refund.ChoiceApprove)))
}

func TestTerminatedRunWithAnOutcomeKeepsItsAnswer(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileFull)
	l.world.delivering = func(int) error { return refund.Errorf(refund.CodeUnavailable, "receiver is down") }
	view := l.until(l.approved(), refund.StatusConfirmed)
	connection := l.dial()
	defer connection.Close()
	require.NoError(t, connection.TerminateWorkflow(l.ctx(), workflows.WorkflowID(view.OperationID), "", "by hand"))
	view = l.view(view.OperationID)
	require.Equal(t, refund.StatusConfirmed, view.Status)
	require.Contains(t, view.May.Next, "final")
	require.Contains(t, view.May.Next, "terminated")
}

func TestSettlementOfATerminatedRunIsToldWhy(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileOpaque)
	l.world.submitting = func(int) *refundAnswer { return ambiguous() }
	view := l.until(l.approved(), refund.StatusUnknown)
	connection := l.dial()
	defer connection.Close()
	require.NoError(t, connection.TerminateWorkflow(l.ctx(), workflows.WorkflowID(view.OperationID), "", "by hand"))
	_, err := l.client.Settle(l.ctx(), settlementOn(view, "s-1", refund.SettlePresumedAbsent))
	require.Equal(t, refund.CodeSettlementRefused, refund.CodeOf(err))
	require.ErrorContains(t, err, "was terminated by an operator while it was UNKNOWN")
}

func TestSettlementIDThatStandsForAnotherSettlementIsToldAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileOpaque)
	l.world.submitting = func(int) *refundAnswer { return ambiguous() }
	view := l.until(l.approved(), refund.StatusUnknown)
	_, err := l.client.Settle(l.ctx(), settlementOn(view, "s-1", refund.SettlePresumedAbsent))
	require.NoError(t, err)
	ctx := l.ctx()
	_, err = l.client.Settle(ctx, settlementOn(view, "s-1", refund.SettleClose))
	require.NoError(t, ctx.Err(), "the run stays open: waiting for its end would be waiting for nothing")
	require.Equal(t, refund.CodeDecisionConflict, refund.CodeOf(err))
	require.ErrorContains(t, err, "another settlement")
}

// closing is a connection whose run closes between a read and a signal.
type closing struct{ client.Client }

func (c closing) SignalWorkflow(ctx context.Context, id, run, _ string, _ any) error {
	if err := c.TerminateWorkflow(ctx, id, run, "by hand"); err != nil {
		return err
	}
	return serviceerror.NewNotFound("workflow execution already completed")
}

func TestSettlementOfARunThatClosesInTheMeantimeIsAnsweredFromItsRecord(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileOpaque)
	l.world.submitting = func(int) *refundAnswer { return ambiguous() }
	view := l.until(l.approved(), refund.StatusUnknown)
	late := workflows.NewClient(closing{l.dial()}, workflows.ClientOptions{TaskQueue: l.queue})
	defer late.Close()
	_, err := late.Settle(l.ctx(), settlementOn(view, "s-1", refund.SettlePresumedAbsent))
	require.Equal(t, refund.CodeSettlementRefused, refund.CodeOf(err), "%v", err)
}

func TestARunStartedByHandDoesNotHideTheOthers(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileFull)
	connection := l.dial()
	defer connection.Close()
	foreign := client.StartWorkflowOptions{ID: "refund/by-hand-" + l.queue, TaskQueue: l.queue}
	_, err := connection.ExecuteWorkflow(l.ctx(), foreign, workflows.WorkflowName, "refund everything")
	require.NoError(t, err)
	view := l.request(refund.Terms{})
	require.Equal(t, view.OperationID, l.listOf(1)[0].View.OperationID)
}

func TestWatchSeesWhatTimeAloneChanges(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileFull)
	stop := l.worker(abandons)
	view := l.until(l.request(refund.Terms{DecideWithin: 1500, CallTimeout: 5000}).OperationID, refund.StatusApprovalRequired)
	hold := make(chan struct{})
	sending := make(chan struct{}, 10)
	l.world.submitting = func(int) *refundAnswer {
		sending <- struct{}{}
		<-hold
		return nil
	}
	defer close(hold)
	require.Equal(t, refund.VerdictAccepted, l.decide(decisionOn(view, "d-1", refund.ChoiceApprove)))
	<-sending
	stop()
	require.Equal(t, refund.StatusUnknown, l.until(view.OperationID, refund.StatusUnknown).Status)
}

func TestClientSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	l := newLab(t, refund.ProfileFull)
	unknown := refund.NewOperationID("shop", refund.Kind, "never-asked")
	_, err := l.client.View(l.ctx(), unknown)
	require.Equal(t, refund.CodeNotFound, refund.CodeOf(err))
	_, err = l.client.Export(l.ctx(), unknown)
	require.Equal(t, refund.CodeNotFound, refund.CodeOf(err))
	_, err = l.client.Cancel(l.ctx(), unknown)
	require.Equal(t, refund.CodeNotFound, refund.CodeOf(err))
	require.Equal(t, refund.CodeNotFound, refund.CodeOf(l.client.Watch(l.ctx(), unknown, func(refund.View) bool { return true })))
	_, err = l.client.Decide(l.ctx(), refund.Decision{
		DecisionID: "d-1", OperationID: unknown, Choice: refund.ChoiceApprove, Approver: "user-2", Digest: request("x").Digest(), OrderVersion: 1,
	})
	require.Equal(t, refund.CodeNotFound, refund.CodeOf(err))
	_, err = l.client.Decide(l.ctx(), refund.Decision{OperationID: unknown})
	require.Equal(t, refund.CodeInvalidIdentity, refund.CodeOf(err))
	_, _, err = l.client.Request(l.ctx(), request("x"), refund.Terms{Profile: refund.ProfileLocal})
	require.Equal(t, refund.CodeInvalidProfile, refund.CodeOf(err))
	_, _, err = l.client.Request(l.ctx(), refund.Request{}, refund.Terms{})
	require.Equal(t, refund.CodeInvalidIdentity, refund.CodeOf(err))
}

func TestDialSaysThatNoServerAnswers(t *testing.T) {
	_, err := workflows.Dial(context.Background(), client.Options{HostPort: "127.0.0.1:1"})
	require.Equal(t, refund.CodeUnavailable, refund.CodeOf(err))
	require.ErrorContains(t, err, "127.0.0.1:1")
}

func TestDialTellsARefusedCredentialFromADeadServer(t *testing.T) {
	for _, code := range []codes.Code{codes.Unauthenticated, codes.PermissionDenied} {
		t.Run(code.String(), func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			refusing := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
				return status.Error(code, "no such key")
			}))
			go func() { _ = refusing.Serve(listener) }() // until Stop
			defer refusing.Stop()
			_, err = workflows.Dial(t.Context(), client.Options{HostPort: listener.Addr().String()})
			require.Equal(t, refund.CodeUnavailable, refund.CodeOf(err))
			require.ErrorContains(t, err, "refuses these credentials")
		})
	}
}
