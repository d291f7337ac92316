package inject

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"refundlab/faults"
)

var testNames = Names{
	WorkflowPrefix: "refund/", DecisionSignal: "decision",
	Propose: "Propose", Submit: "Submit", LookUp: "LookUp", Close: "Close", Notify: "Notify",
	Decides: func(result []byte) bool { return string(result) == "receipt" },
}

func schedule(activity string) *commandpb.Command {
	return &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
		Attributes: &commandpb.Command_ScheduleActivityTaskCommandAttributes{ScheduleActivityTaskCommandAttributes: &commandpb.ScheduleActivityTaskCommandAttributes{
			ActivityType: &commonpb.ActivityType{Name: activity},
		}},
	}
}

func payloads(text string) *commonpb.Payloads {
	return &commonpb.Payloads{Payloads: []*commonpb.Payload{{Data: []byte(text)}}}
}

func activityTask(token, name string, attempt int32) *workflowservice.PollActivityTaskQueueResponse {
	return &workflowservice.PollActivityTaskQueueResponse{
		TaskToken: []byte(token), ActivityType: &commonpb.ActivityType{Name: name}, Attempt: attempt,
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: "refund/op-1"},
	}
}

func workflowTask(token string, previous, firstEvent int64) *workflowservice.PollWorkflowTaskQueueResponse {
	return &workflowservice.PollWorkflowTaskQueueResponse{
		TaskToken: []byte(token), PreviousStartedEventId: previous,
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: "refund/op-1"},
		History:           &historypb.History{Events: []*historypb.HistoryEvent{{EventId: firstEvent}}},
	}
}

func answered(err error) grpc.UnaryInvoker {
	return func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return err }
}

func TestInterceptorTellsTheBoundariesApart(t *testing.T) {
	learned := []any{
		workflowTask("first", 0, 1), workflowTask("again", 3, 1), workflowTask("sticky", 3, 9),
		activityTask("propose", "Propose", 1), activityTask("submit", "Submit", 2), activityTask("close", "Close", 1), activityTask("notify", "Notify", 1), activityTask("other", "CheckOrder", 1),
		&workflowservice.RespondWorkflowTaskCompletedResponse{ActivityTasks: []*workflowservice.PollActivityTaskQueueResponse{activityTask("eager", "LookUp", 1)}, WorkflowTask: workflowTask("handed", 0, 1)},
	}
	completed := func(token string, commands ...*commandpb.Command) any {
		return &workflowservice.RespondWorkflowTaskCompletedRequest{TaskToken: []byte(token), Commands: commands}
	}
	did := func(token, result string) any {
		return &workflowservice.RespondActivityTaskCompletedRequest{TaskToken: []byte(token), Result: payloads(result)}
	}
	failed := func(token string) any {
		return &workflowservice.RespondActivityTaskFailedRequest{TaskToken: []byte(token)}
	}
	for _, c := range []struct {
		name, rpc string
		request   any
		boundary  string
		detail    map[string]string
	}{
		{"start", "StartWorkflowExecution", &workflowservice.StartWorkflowExecutionRequest{WorkflowId: "refund/op-1"}, "intake", nil},
		{"decision", "SignalWorkflowExecution", &workflowservice.SignalWorkflowExecutionRequest{SignalName: "decision", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: "refund/op-1"}}, "decision", nil},
		{"task that schedules the submit", "RespondWorkflowTaskCompleted", completed("first", schedule("Submit")), "intent", map[string]string{faults.DetailReplay: ""}},
		{"task that closes the run", "RespondWorkflowTaskCompleted", completed("again", &commandpb.Command{CommandType: enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION}), "finish", map[string]string{faults.DetailReplay: faults.ReplayTop}},
		{"task that closes a cancelled run", "RespondWorkflowTaskCompleted", completed("again", &commandpb.Command{CommandType: enumspb.COMMAND_TYPE_CANCEL_WORKFLOW_EXECUTION}), "finish", nil},
		{"any other task", "RespondWorkflowTaskCompleted", completed("sticky", schedule("Propose")), "workflow-task", map[string]string{faults.DetailReplay: "", "commands": "Propose"}},
		{"task handed over with a completion", "RespondWorkflowTaskCompleted", completed("handed"), "workflow-task", nil},
		{"proposal", "RespondActivityTaskCompleted", did("propose", "{}"), "proposal", map[string]string{faults.DetailAttempt: "1"}},
		{"proposal that failed", "RespondActivityTaskFailed", failed("propose"), "activity-task", nil},
		{"submit that decides", "RespondActivityTaskCompleted", did("submit", "receipt"), "outcome", map[string]string{faults.DetailAttempt: "2", "activity": "Submit"}},
		{"submit that decides nothing", "RespondActivityTaskCompleted", did("submit", "ambiguous"), "observation", nil},
		{"submit to be tried again", "RespondActivityTaskFailed", failed("submit"), "observation", nil},
		{"close that decides", "RespondActivityTaskCompleted", did("close", "receipt"), "outcome", nil},
		{"eager look-up", "RespondActivityTaskCompleted", did("eager", "nothing"), "observation", nil},
		{"notice without a result", "RespondActivityTaskCompleted", &workflowservice.RespondActivityTaskCompletedRequest{TaskToken: []byte("notify")}, "notified", nil},
		{"notice that failed", "RespondActivityTaskFailed", failed("notify"), "activity-task", nil},
		{"sign of life", "RecordActivityTaskHeartbeat", &workflowservice.RecordActivityTaskHeartbeatRequest{TaskToken: []byte("propose")}, "renewal", map[string]string{faults.DetailAttempt: "1", "activity": "Propose"}},
		{"another activity", "RespondActivityTaskCompleted", did("other", "{}"), "activity-task", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			stage, announcer := newStage(t)
			intercept := Interceptor(testNames, announcer)
			for _, reply := range learned {
				require.NoError(t, intercept(t.Context(), "/service/Poll", nil, reply, nil, answered(nil)))
			}
			done := make(chan error, 1)
			go func() {
				done <- intercept(t.Context(), "/service/"+c.rpc, c.request, nil, nil, answered(status.Error(codes.NotFound, "task not found")))
			}()
			before := stage.answer(c.boundary+".before", faults.Continue)
			require.Equal(t, "op-1", before.Operation)
			for key, value := range c.detail {
				require.Equal(t, value, before.Detail[key], key)
			}
			after := stage.answer(c.boundary+".after", faults.Continue)
			require.Equal(t, "NotFound", after.Detail[faults.DetailStatus])
			require.Equal(t, "task not found", after.Detail[faults.DetailRefused])
			require.Equal(t, codes.NotFound, status.Code(receive(t, done)))
		})
	}
}

func TestInterceptorLeavesOtherCallsAlone(t *testing.T) {
	stage, announcer := newStage(t)
	intercept := Interceptor(testNames, announcer)
	settlement := &workflowservice.SignalWorkflowExecutionRequest{SignalName: "settlement"}
	require.NoError(t, intercept(t.Context(), "/service/SignalWorkflowExecution", settlement, nil, nil, answered(nil)))
	stage.empty()
	require.NoError(t, Interceptor(testNames, nil)(t.Context(), "/service/StartWorkflowExecution", &workflowservice.StartWorkflowExecutionRequest{}, nil, nil, answered(nil)))
}

func TestHeldCompletionLeavesAfterItsTimeIsOver(t *testing.T) {
	stage, announcer := newStage(t)
	intercept := Interceptor(testNames, announcer)
	ctx, cancel := context.WithCancel(t.Context())
	done, sent := make(chan error, 1), make(chan error, 1)
	go func() {
		done <- intercept(ctx, "/service/StartWorkflowExecution", &workflowservice.StartWorkflowExecutionRequest{WorkflowId: "refund/op-1"}, nil, nil,
			func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
				sent <- ctx.Err()
				return nil
			})
	}()
	held := stage.next("intake.before")
	cancel()
	held.answer <- faults.Reply{Action: faults.Continue, Held: true}
	require.NoError(t, receive(t, sent), "the message has a context of its own")
	stage.answer("intake.after", faults.Continue)
	require.NoError(t, receive(t, done))
}

func TestDoubledMessageIsAnsweredByItsFirstCopy(t *testing.T) {
	stage, announcer := newStage(t)
	reply, copies := &workflowservice.StartWorkflowExecutionResponse{}, 0
	done := make(chan error, 1)
	go func() {
		done <- Interceptor(testNames, announcer)(t.Context(), "/service/StartWorkflowExecution", &workflowservice.StartWorkflowExecutionRequest{WorkflowId: "refund/op-1"}, reply, nil,
			func(_ context.Context, _ string, _, reply any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
				copies++
				reply.(*workflowservice.StartWorkflowExecutionResponse).RunId = strconv.Itoa(copies)
				if copies == 2 {
					return status.Error(codes.NotFound, "there is one already")
				}
				return nil
			})
	}()
	stage.answer("intake.before", faults.Duplicate)
	require.Empty(t, stage.answer("intake.after", faults.Continue).Detail[faults.DetailRefused])
	require.NoError(t, receive(t, done))
	require.Equal(t, 2, copies)
	require.Equal(t, "1", reply.GetRunId())
}

func TestLostReplyOfTheServerIsRetriedByTheSDK(t *testing.T) {
	stage, announcer := newStage(t)
	done := make(chan error, 1)
	go func() {
		done <- Interceptor(testNames, announcer)(t.Context(), "/service/StartWorkflowExecution", &workflowservice.StartWorkflowExecutionRequest{WorkflowId: "refund/op-1"}, nil, nil, answered(nil))
	}()
	stage.answer("intake.before", faults.Continue)
	stage.answer("intake.after", faults.Lose)
	require.Equal(t, codes.Unavailable, status.Code(receive(t, done)))
}
