package workflows

import (
	"context"
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"

	"refundlab/refund"
)

// read folds the history as it is now.
//
// Errors: NOT_FOUND, UNAVAILABLE.
func (c *Client) read(ctx context.Context, id refund.OperationID) (*fold, error) {
	f, _, err := c.events(ctx, id, false, func(*fold) bool { return false })
	if err != nil && ctx.Err() != nil {
		return nil, unavailable(err, "the run's history could not be read in time")
	}
	return f, err
}

// follow folds the history and waits for more of it, until see, which is called after each event from the one that recorded
// fact number known on, says stop, or the run is closed. A reset ends a run as a termination does, and another run goes on:
// then that one is followed.
//
// Errors: NOT_FOUND, UNAVAILABLE; the context's own error when that ended first, with what was folded so far.
func (c *Client) follow(ctx context.Context, id refund.OperationID, known int, see func(*fold) (stop bool)) (*fold, error) {
	for {
		stopped := false
		f, _, err := c.events(ctx, id, true, func(f *fold) bool {
			stopped = len(f.facts) >= known && see(f)
			return stopped
		})
		if err != nil || stopped || f.stopped == "" {
			return f, err
		}
		current, err := c.read(ctx, id)
		switch {
		case ctx.Err() != nil:
			return f, ctx.Err()
		case err != nil:
			return f, err
		case current.stopped != "":
			return current, nil
		}
		known = len(current.facts)
	}
}

func (c *Client) events(ctx context.Context, id refund.OperationID, wait bool, see func(*fold) bool) (*fold, []*historypb.HistoryEvent, error) {
	f := newFold(c.options.DataConverter)
	var events []*historypb.HistoryEvent
	pages := c.temporal.GetWorkflowHistory(ctx, WorkflowID(id), "", wait, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for pages.HasNext() {
		event, err := pages.Next()
		if err != nil {
			awaitSameDeadline(ctx, err)
			if ctx.Err() != nil {
				return f, events, ctx.Err()
			}
			return f, events, historyError(err, id)
		}
		if err := f.apply(event); err != nil {
			return f, events, err
		}
		events = append(events, event)
		if see(f) {
			break
		}
	}
	if f.account == nil {
		return f, events, refund.Errorf(refund.CodeNotFound, "operation %q is not known to this Temporal server", id)
	}
	return f, events, nil
}

// awaitSameDeadline waits for the end of ctx when the server, which was told the same deadline, says first that it is over. Without
// it a caller whose time is over would be told that the server is gone.
func awaitSameDeadline(ctx context.Context, err error) {
	var over *serviceerror.DeadlineExceeded
	deadline, set := ctx.Deadline()
	if set && errors.As(err, &over) && time.Until(deadline) < time.Second {
		<-ctx.Done()
	}
}

func historyError(err error, id refund.OperationID) error {
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return refund.Errorf(refund.CodeNotFound, "operation %q is not known to this Temporal server: check the id, the namespace and the address", id)
	}
	return unavailable(err, "the run's history could not be read")
}

// unavailable says that the server did not answer, or not as it should, so nothing is known.
func unavailable(err error, text string) error {
	return refund.Wrap(refund.CodeUnavailable, err, "%s; is the Temporal server running, and is it the one you mean?", text)
}
