// Package provider is the outside world as the engines see it: the contract of the refund service and its client, the
// client of the model, and the sender of notices. What a provider promises is its profile (refund.Profile); this package
// never guesses beyond an answer: whatever is not the provider's own word about this very operation is ambiguous.
package provider

import (
	"context"
	"time"

	"refundlab/refund"
)

// Ref names one operation at the provider.
type Ref struct {
	Tenant      string             `json:"tenant"`
	Kind        string             `json:"kind"`
	OperationID refund.OperationID `json:"operation_id"`
}

// Submission is the body of a refund request. The operation id travels here and not in a header, because Go's HTTP
// transport silently resends requests that bear an Idempotency-Key header. The digest is not in it: the provider computes
// its own from the body.
type Submission struct {
	Ref
	Order        string         `json:"order"`
	Amount       refund.Money   `json:"amount"`
	Reason       string         `json:"reason"`
	OrderVersion int64          `json:"order_version"` // that the approval was given for
	CommitBy     refund.Instant `json:"commit_by"`
	DecisionID   string         `json:"decision_id"`
	Fence        refund.Fence   `json:"fence"`
}

// NewSubmission is the body for an approved intake under a fence.
func NewSubmission(in refund.Intake, decision refund.Decision, fence refund.Fence) Submission {
	return Submission{
		Ref:   RefOf(in),
		Order: in.Request.Order, Amount: in.Request.Amount, Reason: in.Request.Reason,
		OrderVersion: decision.OrderVersion, CommitBy: in.CommitBy(), DecisionID: decision.DecisionID, Fence: fence,
	}
}

// RefOf names an intake's operation.
func RefOf(in refund.Intake) Ref {
	return Ref{Tenant: in.Request.Tenant, Kind: refund.Kind, OperationID: in.OperationID}
}

// Answer is what one call showed. Exactly the fields that its Observation names are set.
type Answer struct {
	Observation refund.Observation `json:"observation"`
	Receipt     *refund.Receipt    `json:"receipt,omitempty"` // with RECEIPT
	Refusal     refund.Code        `json:"refusal,omitempty"` // with REFUSAL and UNSENT
	Fence       refund.Fence       `json:"fence"`             // with STALE_FENCE: the provider's current pair
	Detail      string             `json:"detail,omitempty"`  // for a person: status, conflict, cause
	// RetryAfterMS is how long the far side asked to be left alone, in milliseconds, with AMBIGUOUS and UNSENT; 0 when it did not.
	RetryAfterMS int64 `json:"retry_after_ms,omitempty"`
}

// Later is RetryAfterMS as a time.
func (a Answer) Later() time.Duration { return time.Duration(a.RetryAfterMS) * time.Millisecond }

// Refunds is the refund service. The intake is passed so that a receipt is checked before the caller sees it
// (refund.CheckReceipt): an Answer with RECEIPT carries one that is right. Calls end with an Answer, also when nothing came
// back: then it is AMBIGUOUS.
type Refunds interface {
	// Order reads an order, strongly, under every profile.
	// Errors: ORDER_NOT_FOUND, and UNAVAILABLE for anything that was not the provider's word.
	Order(ctx context.Context, tenant, order string) (refund.Order, error)
	Submit(ctx context.Context, in refund.Intake, s Submission) Answer
	// LookUp asks for the result. An owner gives its fence, which the provider raises; a reader gives nil.
	LookUp(ctx context.Context, in refund.Intake, fence *refund.Fence) Answer
	// Close is get-or-tombstone in one transaction of the provider's.
	Close(ctx context.Context, in refund.Intake, fence refund.Fence) Answer
}

// Model recommends on a request. Each call that returns may have been billed.
type Model interface {
	// Propose makes exactly one request to the model and reads its answer by refund.DecodeProposal.
	// Errors: INVALID_BODY (answered, unusable), UNAVAILABLE or TIMEOUT (perhaps billed).
	Propose(ctx context.Context, in refund.Intake, order refund.Order) (refund.Proposal, error)
}

// Notices delivers notices.
type Notices interface {
	// Send returns nil once the receiver has acknowledged. Errors: UNAVAILABLE, TIMEOUT.
	Send(ctx context.Context, n refund.Notice) error
}

// CheckAndSubmit is the submit step of both engines: read the order, check rules and authority, and only then send. now is the
// engine's clock. What the caller reckoned with, the provider's memory or a lease, is ctx's deadline: nothing is sent after it.
//
// A failed check answers UNSENT with its code; refund.Next decides whether that means REJECTED (nothing was ever sent) or
// authority lapsed (I5: our own success may have used up the balance). An order that cannot be read answers UNSENT without
// a code: nothing was learnt, and nothing was sent in this attempt.
func CheckAndSubmit(ctx context.Context, refunds Refunds, in refund.Intake, decision refund.Decision, fence refund.Fence, now func() refund.Instant) Answer {
	order, err := refunds.Order(ctx, in.Request.Tenant, in.Request.Order)
	if err != nil && refund.CodeOf(err) != refund.CodeOrderNotFound {
		return Answer{Observation: refund.ObservedUnsent, Detail: err.Error(), RetryAfterMS: RetryAfter(err).Milliseconds()}
	}
	if code := refund.CheckOrder(in.Request, order, decision.OrderVersion); code != "" {
		return Answer{Observation: refund.ObservedUnsent, Refusal: code, Detail: "the order no longer allows it"}
	}
	// Last, because reading the order takes time: the deadline holds at the send (I5).
	if !now().Before(in.CommitBy()) {
		return Answer{Observation: refund.ObservedUnsent, Refusal: refund.CodeApprovalExpired, Detail: "the time to commit is over"}
	}
	// A worker that was frozen up to here has lost its time: nothing leaves under a context that is over (I1, I6).
	if err := Over(ctx); err != nil {
		return Answer{Observation: refund.ObservedUnsent, Detail: err.Error()}
	}
	return refunds.Submit(ctx, in, NewSubmission(in, decision, fence))
}

// Over is why a context has ended, or nil. Its error alone is no clock: a timer sets it, and in a process that was just let go the
// order's answer may be read before that timer has run. The deadline is compared by both clocks of the host: the monotonic one, which
// nobody sets, and the wall, which has gone on where the host itself slept and the other stood still.
func Over(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	deadline, bounded := ctx.Deadline()
	if now := time.Now(); bounded && (!now.Before(deadline) || !now.Round(0).Before(deadline.Round(0))) {
		return context.DeadlineExceeded
	}
	return nil
}
