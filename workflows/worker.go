package workflows

import (
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"refundlab/activities"
	"refundlab/refund"
)

// WorkerOptions say where a worker works and how it behaves.
type WorkerOptions struct {
	TaskQueue string
	Identity  string // in histories; empty is the connection's
	// StickyTimeout is how long a task waits for the worker that has its run in memory, before any other may take it: the delay
	// after that worker's death. Zero is Temporal's default of five seconds.
	StickyTimeout time.Duration
	// StickyCache is how many runs this process keeps in memory; zero keeps none, so that every task replays its run from the top
	// and waits for nobody. Temporal holds one such cache per process: the last worker's number counts.
	StickyCache int
	// StopTimeout is how long Stop waits for attempts that are running; zero is DefaultStopTimeout. One that is cut off costs its
	// start-to-close time-out.
	StopTimeout time.Duration
	// DisableEagerActivities keeps activities from being handed to the worker that scheduled them; the fault suite needs each of
	// them to go over the server.
	DisableEagerActivities bool
	// OnFatalError is called when the worker cannot go on; the process should end then.
	OnFatalError func(error)
}

const (
	// DefaultStopTimeout covers the longest attempt under the default terms: a submit, with its two calls.
	DefaultStopTimeout = 2*refund.DefaultCallTimeout + 2*reportSlack
	// heartbeatInterval caps how far apart the SDK sends heartbeats. Its own 80 % of the time-out leaves a busy machine too little.
	heartbeatInterval = 500 * time.Millisecond
)

// NewWorker returns a worker that runs the workflow and, through the ports of a, its activities.
func NewWorker(connection client.Client, a *activities.Activities, o WorkerOptions) worker.Worker {
	if o.StopTimeout == 0 {
		o.StopTimeout = DefaultStopTimeout
	}
	worker.SetStickyWorkflowCacheSize(o.StickyCache)
	w := worker.New(connection, o.TaskQueue, worker.Options{
		Identity:                     o.Identity,
		StickyScheduleToStartTimeout: o.StickyTimeout,
		WorkerStopTimeout:            o.StopTimeout,
		DisableEagerActivities:       o.DisableEagerActivities,
		OnFatalError:                 o.OnFatalError,
		MaxHeartbeatThrottleInterval: heartbeatInterval,
		DisableRegistrationAliasing:  true,
		Interceptors:                 []interceptor.WorkerInterceptor{Door()},
		// The default policy stays: code that does not fit a history blocks its run until the right code is there. Failing the run
		// instead would end every open refund at once.
		WorkflowPanicPolicy: worker.BlockWorkflow,
	})
	Register(w)
	a.Register(w)
	return w
}

// Register registers the workflow under its name.
func Register(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(Refund, workflow.RegisterOptions{Name: WorkflowName})
}
