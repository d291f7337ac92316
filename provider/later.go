package provider

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"refundlab/refund"
)

// later is the cause of an error whose far side said when to come back.
type later struct{ after time.Duration }

func (l later) Error() string { return "the far side asks to be left alone for " + l.after.String() }

// RetryAfter is how long the far side of an error asked to be left alone; 0 when it did not.
func RetryAfter(err error) time.Duration {
	var l later
	if errors.As(err, &l) {
		return l.after
	}
	return 0
}

// retryAfter reads the header of that name where the status gives it a meaning: seconds alone, because a date would be by
// another clock. What would outlast refund.MaxPause is cut to it, so that no wrong header can stop a run (I11).
func retryAfter(status int, header http.Header) time.Duration {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return 0
	}
	seconds, err := strconv.ParseUint(header.Get("Retry-After"), 10, 31)
	if err != nil {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, refund.MaxPause)
}

// laterBecause puts the wish into an error's chain, or returns nil where there is none.
func laterBecause(after time.Duration) error {
	if after == 0 {
		return nil
	}
	return later{after}
}
