package workflows

import (
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
)

// Signals. A decision is a refund.Decision as JSON, a settlement a refund.Settlement.
const (
	DecisionSignal   = "decision"
	SettlementSignal = "reconcile"
)

// door knows of every signal how things stood when it arrived. Workflow code cannot see that by itself: after an outage one
// workflow task brings several events, all of them are applied before any code runs, and workflow.Now is the task's time. So
// neither a selector nor a look at the clock can tell a decision that came in time, while no worker was alive, from one that
// came too late. The order of the history can, and HandleSignal is called in it: once for each signal event, when every event
// before it has been applied to its future and none after it.
type door struct {
	caller   workflow.Context // cancelled with the run; nil until the run begins
	deadline workflow.Future  // ready once the time to decide is over
	proposal workflow.Future  // ready once the model's activity has ended

	arrivals    []arrival // one for each decision that was not answered yet
	settlements int       // how many were not answered yet
}

// arrival is how things stood when a decision arrived.
type arrival struct {
	overdue   bool // the deadline's timer had fired
	withdrawn bool // the run had been cancelled
	proposed  bool // the proposal's activity had ended
}

// idle tells whether every signal was answered. Channels cannot tell: a signal that a coroutine was handed and has not looked
// at yet is in none.
func (d *door) idle() bool { return len(d.arrivals) == 0 && d.settlements == 0 }

func ready(f workflow.Future) bool { return f != nil && f.IsReady() }

type doorKey struct{}

// Door is the worker interceptor that the refund workflow needs: without it a run fails its first task and waits for a worker
// that has it. NewWorker installs it; tests and replayers have to.
func Door() interceptor.WorkerInterceptor { return &doors{} }

type doors struct {
	interceptor.WorkerInterceptorBase
}

func (*doors) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &doorkeeper{WorkflowInboundInterceptorBase: interceptor.WorkflowInboundInterceptorBase{Next: next}, door: &door{}}
}

type doorkeeper struct {
	interceptor.WorkflowInboundInterceptorBase
	door *door
}

func (k *doorkeeper) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	k.door.caller = ctx
	return k.Next.ExecuteWorkflow(workflow.WithValue(ctx, doorKey{}, k.door), in)
}

func (k *doorkeeper) HandleSignal(ctx workflow.Context, in *interceptor.HandleSignalInput) error {
	switch in.SignalName {
	case DecisionSignal:
		k.door.arrivals = append(k.door.arrivals, arrival{
			overdue:   ready(k.door.deadline),
			withdrawn: k.door.caller != nil && k.door.caller.Err() != nil,
			proposed:  ready(k.door.proposal),
		})
	case SettlementSignal:
		k.door.settlements++
	}
	return k.Next.HandleSignal(ctx, in)
}
