package activities

import (
	"slices"

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
// Temporal looks at no other.
func failure(err error) error {
	code := string(refund.CodeOf(err))
	return temporal.NewApplicationErrorWithOptions(err.Error(), code, temporal.ApplicationErrorOptions{
		NonRetryable: slices.Contains(Permanent, code),
	})
}

// unanswered asks Temporal to try again after an answer that decides nothing. It is part of the plan, so it is benign: a log
// line, no alarm.
func unanswered(answer provider.Answer) error {
	return temporal.NewApplicationErrorWithOptions(string(answer.Observation)+": "+answer.Detail, string(answer.Observation), temporal.ApplicationErrorOptions{
		Details:  []any{answer},
		Category: temporal.ApplicationErrorCategoryBenign,
	})
}
