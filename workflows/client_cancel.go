package workflows

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"

	"refundlab/refund"
)

// Cancel asks the run to end, and shows it as it is then. What becomes of it the run decides: before an approval it ends
// REJECTED with CANCELLED, afterwards nothing happens, because the refund may be on its way. A run that is over stays as it is.
//
// Errors: NOT_FOUND, UNAVAILABLE.
func (c *Client) Cancel(ctx context.Context, id refund.OperationID) (refund.View, error) {
	err := c.temporal.CancelWorkflow(ctx, WorkflowID(id), "")
	var missing *serviceerror.NotFound
	if err != nil && !errors.As(err, &missing) { // of a run that is over, and of one that was never there, the view tells
		return refund.View{}, unavailable(err, "whether the cancellation is stored is not known: ask again")
	}
	return c.View(ctx, id)
}
