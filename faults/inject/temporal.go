package inject

import (
	"context"
	"path"
	"reflect"
	"strconv"
	"strings"
	"sync"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"refundlab/faults"
)

// Names are what the interceptor must know of an application to tell its boundaries apart.
type Names struct {
	WorkflowPrefix string // of a workflow id; the rest is the operation id
	DecisionSignal string
	Propose        string // activity types
	Submit         string
	LookUp         string
	Close          string
	Notify         string
	// Decides tells whether an activity's result, the JSON of its payload, carries a receipt or a refusal.
	Decides func(result []byte) bool
}

// Interceptor announces the engine's points on Temporal: starting and signalling by a client, the completion of workflow
// tasks and activity tasks by a worker. It goes innermost, below the SDK's retries, so that an answer lost here is retried
// as it would be on a real network.
func Interceptor(names Names, announcer *faults.Announcer) grpc.UnaryClientInterceptor {
	if announcer == nil {
		return func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
			return invoke(ctx, method, request, reply, conn, options...)
		}
	}
	i := &interceptor{names: names, gate: gate{announcer}, tasks: map[string]task{}}
	return i.intercept
}

type interceptor struct {
	names Names
	gate  gate
	mu    sync.Mutex
	tasks map[string]task // by task token; a completion carries nothing else
}

// task is what a poll told about a task that a completion will be sent for.
type task struct {
	operation string
	activity  string // type; empty for a workflow task
	attempt   int32
	fromTop   bool // the worker was given the whole history although earlier tasks had completed
}

func (i *interceptor) intercept(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	boundary, announcement, known := i.classify(path.Base(method), request)
	if !known {
		err := invoke(ctx, method, request, reply, conn, options...)
		i.learn(reply)
		return err
	}
	answer := i.gate.before(ctx, boundary, announcement)
	if answer.Action == faults.Refuse {
		return status.Error(codes.Unavailable, "refused on the way to the server")
	}
	if answer.Action == faults.Drop {
		return status.Error(codes.Unavailable, errCut.Error())
	}
	// The SDK bounds a call to ten seconds, the time at the point included. Held longer, the message would never leave.
	sending, cancel := sendContext(ctx, answer)
	defer cancel()
	err := invoke(sending, method, request, reply, conn, options...)
	if answer.Action == faults.Duplicate {
		// The network delivered the message twice, and the answer to the first copy is the one that arrives: that to the second,
		// which the server refuses or recognises, is nobody's.
		_ = invoke(sending, method, request, another(reply), conn, options...)
	}
	i.learn(reply)
	announcement = with(announcement, faults.DetailStatus, status.Code(err).String())
	if err != nil {
		announcement = with(announcement, faults.DetailRefused, status.Convert(err).Message())
	}
	if i.gate.after(ctx, boundary, announcement).Action == faults.Lose {
		return status.Error(codes.Unavailable, errCut.Error())
	}
	return err
}

// another is an empty reply of the same type.
func another(reply any) any {
	if reply == nil {
		return nil
	}
	return reflect.New(reflect.TypeOf(reply).Elem()).Interface()
}

func (i *interceptor) classify(rpc string, request any) (faults.Boundary, faults.Announcement, bool) {
	none := faults.Announcement{}
	switch r := request.(type) {
	case *workflowservice.StartWorkflowExecutionRequest:
		return faults.Intake, i.about(r.GetWorkflowId(), rpc), true
	case *workflowservice.SignalWorkflowExecutionRequest:
		if r.GetSignalName() != i.names.DecisionSignal {
			return "", none, false
		}
		return faults.Decision, i.about(r.GetWorkflowExecution().GetWorkflowId(), rpc), true
	case *workflowservice.RespondWorkflowTaskCompletedRequest:
		t := i.taken(r.GetTaskToken())
		announcement := faults.Announcement{Operation: t.operation, Detail: map[string]string{"rpc": rpc}}
		if t.fromTop {
			announcement.Detail[faults.DetailReplay] = faults.ReplayTop
		}
		boundary, commands := i.commands(r)
		announcement.Detail["commands"] = commands
		return boundary, announcement, true
	case *workflowservice.RespondActivityTaskCompletedRequest:
		return i.activity(rpc, r.GetTaskToken(), r.GetResult())
	case *workflowservice.RespondActivityTaskFailedRequest:
		return i.activity(rpc, r.GetTaskToken(), nil)
	case *workflowservice.RecordActivityTaskHeartbeatRequest:
		return faults.Renewal, i.attempt(rpc, i.taken(r.GetTaskToken())), true
	}
	return "", none, false
}

func (i *interceptor) about(workflowID, rpc string) faults.Announcement {
	return faults.Announcement{Operation: strings.TrimPrefix(workflowID, i.names.WorkflowPrefix), Detail: map[string]string{"rpc": rpc}}
}

// commands tells what a workflow task does: the one that schedules the submit records the intent, the one that closes the
// run finishes it.
func (i *interceptor) commands(r *workflowservice.RespondWorkflowTaskCompletedRequest) (faults.Boundary, string) {
	boundary := faults.WorkflowTask
	var list []string
	for _, command := range r.GetCommands() {
		list = append(list, strings.TrimPrefix(command.GetCommandType().String(), "COMMAND_TYPE_"))
		switch command.GetCommandType() {
		case enumspb.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK:
			name := command.GetScheduleActivityTaskCommandAttributes().GetActivityType().GetName()
			list[len(list)-1] = name
			if name == i.names.Submit {
				boundary = faults.Intent
			}
		case enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION, enumspb.COMMAND_TYPE_CANCEL_WORKFLOW_EXECUTION:
			boundary = faults.Finish
		}
	}
	return boundary, strings.Join(list, " ")
}

// attempt is the announcement of a message about one attempt of an activity.
func (i *interceptor) attempt(rpc string, t task) faults.Announcement {
	return faults.Announcement{Operation: t.operation, Detail: map[string]string{
		"rpc": rpc, "activity": t.activity, faults.DetailAttempt: strconv.Itoa(int(t.attempt)),
	}}
}

func (i *interceptor) activity(rpc string, token []byte, result *commonpb.Payloads) (faults.Boundary, faults.Announcement, bool) {
	t := i.taken(token)
	announcement := i.attempt(rpc, t)
	completed := result != nil
	switch t.activity {
	case i.names.Propose:
		if completed {
			return faults.Proposal, announcement, true
		}
	case i.names.Submit, i.names.LookUp, i.names.Close:
		for _, payload := range result.GetPayloads() {
			if i.names.Decides(payload.GetData()) {
				return faults.Outcome, announcement, true
			}
		}
		return faults.Observed, announcement, true
	case i.names.Notify:
		if rpc == "RespondActivityTaskCompleted" {
			return faults.Notified, announcement, true
		}
	}
	return faults.ActivityTask, announcement, true
}

// taken looks a task up. It stays in the table, because the SDK may send its completion again.
func (i *interceptor) taken(token []byte) task {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.tasks[string(token)]
}

// learn reads from a reply the tasks that it brings: of a poll, and of a completion that hands over the next task at once.
func (i *interceptor) learn(reply any) {
	switch r := reply.(type) {
	case *workflowservice.PollWorkflowTaskQueueResponse:
		i.learnWorkflowTask(r)
	case *workflowservice.PollActivityTaskQueueResponse:
		i.learnActivityTask(r)
	case *workflowservice.RespondWorkflowTaskCompletedResponse:
		i.learnWorkflowTask(r.GetWorkflowTask())
		for _, activity := range r.GetActivityTasks() {
			i.learnActivityTask(activity)
		}
	}
}

func (i *interceptor) learnWorkflowTask(r *workflowservice.PollWorkflowTaskQueueResponse) {
	if len(r.GetTaskToken()) == 0 {
		return
	}
	events := r.GetHistory().GetEvents()
	t := task{
		operation: strings.TrimPrefix(r.GetWorkflowExecution().GetWorkflowId(), i.names.WorkflowPrefix),
		attempt:   r.GetAttempt(),
		fromTop:   r.GetPreviousStartedEventId() > 0 && len(events) > 0 && events[0].GetEventId() == 1,
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.tasks[string(r.GetTaskToken())] = t
}

func (i *interceptor) learnActivityTask(r *workflowservice.PollActivityTaskQueueResponse) {
	if len(r.GetTaskToken()) == 0 {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.tasks[string(r.GetTaskToken())] = task{
		operation: strings.TrimPrefix(r.GetWorkflowExecution().GetWorkflowId(), i.names.WorkflowPrefix),
		activity:  r.GetActivityType().GetName(),
		attempt:   r.GetAttempt(),
	}
}
