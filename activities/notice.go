package activities

import (
	"context"
	"time"

	"refundlab/refund"
)

// NotifyRequest is the notice to deliver.
type NotifyRequest struct {
	Notice  refund.Notice `json:"notice"`
	Timeout int64         `json:"timeout_ms"` // of the call, in milliseconds
}

// NotifyResult says nothing beyond "the receiver has acknowledged".
type NotifyResult struct{}

// Notify delivers a notice at least once: a worker that dies after the receiver's answer delivers it again, and the receiver
// removes the duplicate.
func (a *Activities) Notify(ctx context.Context, request NotifyRequest) (NotifyResult, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(request.Timeout)*time.Millisecond)
	defer cancel()
	if err := a.Notices.Send(ctx, request.Notice); err != nil {
		return NotifyResult{}, failure(err, 0)
	}
	return NotifyResult{}, nil
}
