package activities

import (
	"context"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"refundlab/refund"
)

// AskServer returns a look at the server that tells whether the attempt at hand is still the one that the server waits for.
//
// A worker that was frozen begins, once it is let go, the attempts that its polls had been handed meanwhile. Their contexts do
// not know how late it is: the SDK counts an attempt's time from when it is begun, not from the server's stamp. The server knows.
//
// Errors: what the client says where the server gave no answer.
func AskServer(connection client.Client) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		info := activity.GetInfo(ctx)
		run, err := connection.DescribeWorkflow(ctx, info.WorkflowExecution.ID, info.WorkflowExecution.RunID)
		if err != nil {
			return false, err
		}
		// Of a run that has closed, or that a reset has left, the server goes on listing the attempts that were under way.
		if run.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			return false, nil
		}
		for _, pending := range run.RawResponse.GetPendingActivities() {
			if pending.GetActivityId() == info.ActivityID && pending.GetAttempt() == info.Attempt {
				return true, nil
			}
		}
		return false, nil
	}
}

// lookWithin is how long the server may take to say whether it waits for an attempt. It is half of the slack that an attempt has beside
// its calls to the provider.
const lookWithin = 500 * time.Millisecond

// awaited refuses an attempt that is over, right before it would cost money or move it: a second bill for a proposal that is
// recorded (I12), a refund that goes out when its run is UNKNOWN or closed. Between this look and the call only a fence helps (I6).
//
// The look has its own bound: on a server that hangs it would use up the attempt, and where the provider is told nothing twice that
// leaves an UNKNOWN to a person although nothing was sent (I4). Where the server says nothing, the host's clock decides: it may read
// anything, but a worker that was thawed after its attempt is late by most clocks, and one whose attempt has just begun by few.
//
// Errors: LEASE_LOST.
func (a *Activities) awaited(ctx context.Context) error {
	if a.Awaited == nil {
		return nil
	}
	info := activity.GetInfo(ctx)
	look, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	waits, err := a.Awaited(look)
	if err != nil {
		within := info.StartToCloseTimeout
		if info.HeartbeatTimeout > 0 { // no sign of life was given before this
			within = min(within, info.HeartbeatTimeout)
		}
		waits = a.Now() < refund.At(info.StartedTime.Add(within))
	}
	if !waits {
		return failure(refund.Errorf(refund.CodeLeaseLost, "attempt %d is over: nothing was begun", info.Attempt), 0)
	}
	return nil
}
