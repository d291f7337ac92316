package main

import (
	"context"

	"refundlab/refund"
)

// client is what the starter asks of an engine. It works with or without a worker alive.
type client interface {
	// Request stores an intake, or finds the one that is there. Errors: KEY_CONFLICT when the digests differ (I9).
	Request(context.Context, refund.Request, refund.Terms) (view refund.View, existing bool, err error)
	// Decide waits for the verdict until ctx ends; a verdict other than ACCEPTED is not an error here.
	// Errors: NOT_FOUND, DECISION_CONFLICT, VERDICT_PENDING.
	Decide(context.Context, refund.Decision) (refund.RecordedVerdict, error)
	View(context.Context, refund.OperationID) (refund.View, error)
	List(context.Context) ([]refund.Listed, error)
	// Watch calls the function with the view of now and at every change, until it says stop.
	Watch(context.Context, refund.OperationID, func(refund.View) (stop bool)) error
	Settle(context.Context, refund.Settlement) (refund.View, error)
	Export(context.Context, refund.OperationID) (refund.Export, error)
	Close() error
}
