package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"refundlab/refund"
)

// AskServer returns a look at the server that tells whether the attempt at hand is still the one that the server waits for.
//
// A worker that was frozen begins, once it is let go, the attempts that its polls had been handed meanwhile. Their contexts do
// not know how late it is: the SDK counts an attempt's time from when it is begun, not from the server's stamp, and the host's
// clock may read anything. The server knows. Who cannot be asked says nothing, and the attempt goes on.
func AskServer(connection client.Client) func(context.Context) bool {
	return func(ctx context.Context) bool {
		info := activity.GetInfo(ctx)
		run, err := connection.DescribeWorkflow(ctx, info.WorkflowExecution.ID, info.WorkflowExecution.RunID)
		if err != nil {
			return true
		}
		for _, pending := range run.RawResponse.GetPendingActivities() {
			if pending.GetActivityId() == info.ActivityID && pending.GetAttempt() == info.Attempt {
				return true
			}
		}
		return false
	}
}

// lookWithin is how long the server may take to say whether it waits for an attempt. It is half of the slack that an attempt has beside
// its calls to the provider.
const lookWithin = 500 * time.Millisecond

// awaited refuses an attempt that is over, right before it would cost money or move it: a second bill for a proposal that is
// recorded (I12), a refund that goes out when its run is UNKNOWN or closed. Between this look and the call only a fence helps (I6).
//
// The look has its own bound: on a server that hangs it would use up the attempt, and where the provider is told nothing twice that
// leaves an UNKNOWN to a person although nothing was sent (I4).
//
// Errors: LEASE_LOST.
func (a *Activities) awaited(ctx context.Context) error {
	look, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	if a.Awaited != nil && !a.Awaited(look) {
		return failure(refund.Errorf(refund.CodeLeaseLost, "attempt %d is over: nothing was begun", activity.GetInfo(ctx).Attempt), 0)
	}
	return nil
}
