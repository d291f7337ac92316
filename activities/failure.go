package activities

import (
	"context"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"refundlab/provider"
	"refundlab/refund"
)

// Permanent lists the error types that no retry can cure: the input itself is wrong. Retry policies name them too, so that
// such an error stops the retries even where somebody wraps it and its own mark is lost.
var Permanent = []string{
	string(refund.CodeInvalidProfile), string(refund.CodeInvalidIdentity), string(refund.CodeInvalidAmount),
	string(refund.CodeInvalidCurrency), string(refund.CodeInvalidReason),
}

// failure turns an error of a port into one that crosses Temporal with its code as type. It must stay the outermost error:
// Temporal looks at no other. pause is that before the next attempt, 0 the retry policy's.
func failure(err error, pause time.Duration) error {
	code := string(refund.CodeOf(err))
	return temporal.NewApplicationErrorWithOptions(err.Error(), code, temporal.ApplicationErrorOptions{
		NonRetryable: slices.Contains(Permanent, code), NextRetryDelay: pause,
	})
}

// asked is the pause before the next attempt where the far side asked for one, and never shorter than our own; 0 leaves it
// to the retry policy.
func asked(ctx context.Context, terms refund.Terms, later time.Duration) time.Duration {
	if later == 0 {
		return 0
	}
	return max(later, terms.Pause(int(activity.GetInfo(ctx).Attempt)))
}

// unanswered asks Temporal to try again after an answer that decides nothing. It is part of the plan, so it is benign: a log
// line, no alarm.
func unanswered(answer provider.Answer, pause time.Duration) error {
	return temporal.NewApplicationErrorWithOptions(string(answer.Observation)+": "+answer.Detail, string(answer.Observation), temporal.ApplicationErrorOptions{
		Details:  []any{answer},
		Category: temporal.ApplicationErrorCategoryBenign, NextRetryDelay: pause,
	})
}
