package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"refundlab/activities"
	"refundlab/refund"
)

const (
	// reportSlack is what an attempt gets beyond its calls' own time-outs, to report what they showed.
	reportSlack = time.Second
	// askWindow bounds one activity that asks again and again; the next round continues. Retries within it cost no history, so a
	// run that stays UNKNOWN for years stays far below the 51,200 events that a history may have.
	askWindow = 24 * time.Hour
)

// callTimeout bounds one call to the provider or the model, by the terms that the run was taken in under.
func (r *run) callTimeout() time.Duration {
	return time.Duration(r.Intake.Terms.CallTimeout) * time.Millisecond
}

// retries is the policy that pauses as refund.Terms.Pause says, from pause number n on. limit 0 means: until
// ScheduleToClose.
func (r *run) retries(n int, limit int32) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval:        r.Intake.Terms.Pause(n),
		BackoffCoefficient:     2,
		MaximumInterval:        refund.MaxPause,
		MaximumAttempts:        limit,
		NonRetryableErrorTypes: activities.Permanent,
	}
}

func (r *run) checkOrderOptions(ctx workflow.Context) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    r.callTimeout() + reportSlack,
		ScheduleToCloseTimeout: r.until(ctx, r.Intake.DecideBy()),
		RetryPolicy:            r.retries(1, 0),
		Summary:                "read order " + r.Intake.Request.Order,
	}
}

// heartbeatTimeout makes the death of a worker known before the time of a slow model is over. It is never below two seconds: a
// beat that a busy machine misses is a model call for nothing.
func (r *run) heartbeatTimeout() time.Duration {
	return max(2*time.Second, min(r.callTimeout()/2, 10*time.Second))
}

func (r *run) proposeOptions(ctx workflow.Context) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    r.callTimeout() + reportSlack,
		ScheduleToCloseTimeout: r.until(ctx, r.Intake.DecideBy()),
		HeartbeatTimeout:       r.heartbeatTimeout(),
		RetryPolicy:            r.retries(1, int32(r.Intake.Terms.ModelBudget)), // I12
		Summary:                "ask the model",
	}
}

// submitOptions: an attempt reads the order, and then sends or looks up. Its question whether the server still waits for it is no call
// to the provider and comes out of the slack. Of what may leave, and how late, the attempt itself takes care (activities.Submit).
func (r *run) submitOptions(ctx workflow.Context) workflow.ActivityOptions {
	attempt := 2*r.callTimeout() + reportSlack
	end := r.Intake.CommitBy()
	if r.profile.Expires {
		end = min(end, r.FirstSentAt+refund.Instant(r.Intake.Terms.Retention))
	}
	limit := int32(0)
	if !r.profile.Idempotent {
		limit = 1 // the provider would take a second send for a second refund (I1)
	}
	return workflow.ActivityOptions{
		StartToCloseTimeout: attempt,
		// An attempt that starts just before the end gets its time.
		ScheduleToCloseTimeout: r.until(ctx, end) + attempt,
		RetryPolicy:            r.retries(r.asks, limit),
		// A round is over only when its attempt is: an effect that lands after the run went on is what this prevents.
		WaitForCancellation: true,
		Summary:             "send the refund, round " + refund.Decimal(r.round),
	}
}

func (r *run) askOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    r.callTimeout() + reportSlack,
		ScheduleToCloseTimeout: askWindow,
		RetryPolicy:            r.retries(r.asks, 0),
		WaitForCancellation:    true,
		Summary:                summary + ", round " + refund.Decimal(r.round),
	}
}

func (r *run) notifyOptions() workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    r.callTimeout() + reportSlack,
		ScheduleToCloseTimeout: askWindow,
		RetryPolicy:            r.retries(1, 0),
		Summary:                "tell that the refund is finished",
	}
}

// until is the time from now to an instant, and never less than a millisecond: zero would mean "no limit".
func (r *run) until(ctx workflow.Context, end refund.Instant) time.Duration {
	return max(end.Sub(now(ctx)), time.Millisecond)
}
