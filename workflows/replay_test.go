package workflows_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"refundlab/refund"
	"refundlab/workflows"
)

// go test ./workflows -run TestStoredHistories -update
var update = flag.Bool("update", false, "record the histories that testdata lacks, on a real server")

// story is a run on a real server whose history is kept in testdata. A change of the workflow that cannot replay it would
// block every open refund; then the change needs workflow.GetVersion, and the history stays.
type story struct {
	profile refund.ProfileName
	play    func(l *lab) refund.OperationID
	// statuses are what a reader sees one after the other as the history grows.
	statuses []refund.RunStatus
}

var stories = map[string]story{
	"confirmed": {refund.ProfileFull, func(l *lab) refund.OperationID {
		return l.approved()
	}, []refund.RunStatus{refund.StatusPending, refund.StatusApprovalRequired, refund.StatusRetryable, refund.StatusConfirmed}},

	"rejected": {refund.ProfileFull, func(l *lab) refund.OperationID {
		l.worker()
		view := l.until(l.request(refund.Terms{}).OperationID, refund.StatusApprovalRequired)
		l.decide(decisionOn(view, "d-1", refund.ChoiceReject))
		return view.OperationID
	}, []refund.RunStatus{refund.StatusPending, refund.StatusApprovalRequired, refund.StatusRejected}},

	"budget-spent": {refund.ProfileFull, func(l *lab) refund.OperationID {
		l.world.proposing = func(int) error { return refund.Errorf(refund.CodeInvalidBody, "cut off") }
		l.worker()
		return l.request(refund.Terms{}).OperationID
	}, []refund.RunStatus{refund.StatusPending, refund.StatusRejected}},

	"late-decision-without-a-worker": {refund.ProfileFull, func(l *lab) refund.OperationID {
		stop := l.worker()
		view := l.until(l.request(refund.Terms{DecideWithin: 1500}).OperationID, refund.StatusApprovalRequired)
		stop()
		l.untilEvent(view.OperationID, enumspb.EVENT_TYPE_TIMER_FIRED, 1)
		l.leave(decisionOn(view, "d-1", refund.ChoiceApprove))
		l.worker()
		return view.OperationID
	}, []refund.RunStatus{refund.StatusPending, refund.StatusApprovalRequired, refund.StatusExpired}},

	"answer-lost-full": {refund.ProfileFull, func(l *lab) refund.OperationID {
		l.world.answering = firstLost
		return l.approved()
	}, []refund.RunStatus{refund.StatusPending, refund.StatusApprovalRequired, refund.StatusRetryable, refund.StatusConfirmed}},

	"answer-lost-lookup": {refund.ProfileLookup, func(l *lab) refund.OperationID {
		l.world.answering = firstLost
		return l.approved()
	}, []refund.RunStatus{refund.StatusPending, refund.StatusApprovalRequired, refund.StatusRetryable, refund.StatusUnknown, refund.StatusConfirmed}},

	"settled-by-close": {refund.ProfileFull, func(l *lab) refund.OperationID {
		l.world.submitting = func(int) *refundAnswer { return ambiguous() }
		id := l.approved()
		_, err := l.client.Settle(l.ctx(), settlementOn(l.until(id, refund.StatusRetryable), "s-1", refund.SettleClose))
		require.NoError(l.t, err)
		return id
	}, []refund.RunStatus{refund.StatusPending, refund.StatusApprovalRequired, refund.StatusRetryable, refund.StatusUnknown, refund.StatusRejected}},

	"presumed-absent-then-receipt": {refund.ProfileOpaque, func(l *lab) refund.OperationID {
		l.world.submitting = firstLost
		id := l.approved()
		view := l.until(id, refund.StatusUnknown)
		_, err := l.client.Settle(l.ctx(), settlementOn(view, "s-1", refund.SettlePresumedAbsent))
		require.NoError(l.t, err)
		byReceipt := settlementOn(view, "s-2", refund.SettleReceipt)
		byReceipt.Receipt = receiptFor(view.Facts.Intake)
		_, err = l.client.Settle(l.ctx(), byReceipt)
		require.NoError(l.t, err)
		return id
	}, []refund.RunStatus{refund.StatusPending, refund.StatusApprovalRequired, refund.StatusRetryable, refund.StatusUnknown, refund.StatusConfirmed}},

	"reset-after-approval": {refund.ProfileLookup, func(l *lab) refund.OperationID {
		id := l.approved()
		l.closed(id)
		l.reset(id, afterProposal)
		return id
	}, []refund.RunStatus{refund.StatusPending, refund.StatusApprovalRequired, refund.StatusRetryable, refund.StatusUnknown, refund.StatusConfirmed}},

	"cancelled": {refund.ProfileFull, func(l *lab) refund.OperationID {
		l.worker()
		view := l.until(l.request(refund.Terms{}).OperationID, refund.StatusApprovalRequired)
		connection := l.dial()
		defer connection.Close()
		require.NoError(l.t, connection.CancelWorkflow(l.ctx(), workflows.WorkflowID(view.OperationID), ""))
		return view.OperationID
	}, []refund.RunStatus{refund.StatusPending, refund.StatusApprovalRequired, refund.StatusRejected}},

	// As a version without changeUndecided played it: now such a run ends cancelled.
	"expired-over-a-cancellation": {refund.ProfileFull, func(l *lab) refund.OperationID {
		stop := l.worker()
		view := l.until(l.request(refund.Terms{DecideWithin: 2500}).OperationID, refund.StatusApprovalRequired)
		stop()
		_, err := l.client.Cancel(l.ctx(), view.OperationID)
		require.NoError(l.t, err)
		l.leave(decisionOn(view, "d-1", refund.ChoiceApprove))
		l.untilEvent(view.OperationID, enumspb.EVENT_TYPE_TIMER_FIRED, 1)
		l.worker()
		return view.OperationID
	}, []refund.RunStatus{refund.StatusPending, refund.StatusApprovalRequired, refund.StatusExpired}},
}

func firstLost(n int) *refundAnswer {
	if n == 1 {
		return ambiguous()
	}
	return nil
}

// approved starts a worker and takes a run to its approval.
func (l *lab) approved() refund.OperationID {
	l.t.Helper()
	l.worker()
	view := l.until(l.request(refund.Terms{}).OperationID, refund.StatusApprovalRequired)
	require.Equal(l.t, refund.VerdictAccepted, l.decide(decisionOn(view, "d-1", refund.ChoiceApprove)))
	return view.OperationID
}

func TestStoredHistoriesReplayAndFold(t *testing.T) {
	if *update {
		for name, s := range stories {
			if _, err := os.Stat(filepath.Join("testdata", name+".json")); os.IsNotExist(err) {
				record(t, name, s)
			}
		}
	}
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.Len(t, files, len(stories))
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			history, err := client.HistoryFromJSON(bytes.NewReader(text), client.HistoryJSONOptions{})
			require.NoError(t, err)
			require.NoError(t, replay(history))
			require.Contains(t, stories, name)
			require.Equal(t, stories[name].statuses, statusesOf(t, history))
		})
	}
}

// The model answers when the run has ended: the run takes no notice, and no reader is shown a proposal.
func TestProposalAfterTheEndIsNotShown(t *testing.T) {
	text, err := os.ReadFile("testdata/late-decision-without-a-worker.json")
	require.NoError(t, err)
	history, err := client.HistoryFromJSON(bytes.NewReader(text), client.HistoryJSONOptions{})
	require.NoError(t, err)
	events := history.GetEvents()
	answer := slices.IndexFunc(events, func(e *historypb.HistoryEvent) bool {
		result := e.GetActivityTaskCompletedEventAttributes().GetResult().GetPayloads()
		return len(result) > 0 && bytes.Contains(result[0].GetData(), []byte("answer_id"))
	})
	require.Positive(t, answer)
	late := slices.Concat(events[:answer], events[answer+1:], events[answer:answer+1])
	view, facts, err := workflows.Fold(late, 0)
	require.NoError(t, err)
	require.Equal(t, refund.StatusExpired, view.Status)
	require.Nil(t, view.Facts.Proposal)
	for _, fact := range facts {
		require.NotEqual(t, refund.FactProposal, fact.Kind)
	}
}

func replayed(export refund.Export) error {
	history, err := client.HistoryFromJSON(bytes.NewReader(export.Raw), client.HistoryJSONOptions{})
	if err != nil {
		return err
	}
	return replay(history)
}

func replay(history *historypb.History) error {
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		Interceptors: []interceptor.WorkerInterceptor{workflows.Door()}, DisableRegistrationAliasing: true,
	})
	if err != nil {
		return err
	}
	workflows.Register(replayer)
	// The run checks its workflow id, which a replayer invents unless it is told.
	started := history.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
	return replayer.ReplayWorkflowHistoryWithOptions(nil, history, worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: workflow.Execution{ID: started.GetWorkflowId()},
	})
}

// statusesOf folds every beginning of a history, as a reader would who came at that moment.
func statusesOf(t *testing.T, history *historypb.History) (statuses []refund.RunStatus) {
	for i, event := range history.GetEvents() {
		view, facts, err := workflows.Fold(history.GetEvents()[:i+1], refund.At(event.GetEventTime().AsTime()))
		require.NoError(t, err)
		require.NotEmpty(t, facts)
		if len(statuses) == 0 || statuses[len(statuses)-1] != view.Status {
			statuses = append(statuses, view.Status)
		}
	}
	return statuses
}

func record(t *testing.T, name string, s story) {
	l := newLab(t, s.profile)
	id := s.play(l)
	ended := func() bool {
		export, err := l.client.Export(l.ctx(), id)
		require.NoError(t, err)
		if last := export.Facts[len(export.Facts)-1]; last.Kind != refund.FactClosed {
			return false
		}
		var text bytes.Buffer
		require.NoError(t, json.Indent(&text, export.Raw, "", " "))
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(filepath.Join("testdata", name+".json"), text.Bytes(), 0o644))
		return true
	}
	require.Eventually(t, ended, 20*time.Second, 50*time.Millisecond)
}
