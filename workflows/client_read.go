package workflows

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"refundlab/refund"
)

// readers bounds how many histories a listing reads at a time.
const readers = 8

// List reads every run of this client's task queue. Which runs there are comes from Temporal's visibility store, which may be
// some moments behind; what each of them is comes from its history.
//
// Errors: UNAVAILABLE.
func (c *Client) List(ctx context.Context) ([]refund.Listed, error) {
	var ids []refund.OperationID
	query := "WorkflowType = '" + WorkflowName + "' AND TaskQueue = '" + strings.ReplaceAll(c.options.TaskQueue, "'", "''") + "'"
	seen := map[refund.OperationID]bool{} // a run that was reset is there more than once
	for page := []byte(nil); ; {
		reply, err := c.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query, NextPageToken: page})
		if err != nil {
			return nil, unavailable(err, "the runs could not be listed")
		}
		for _, execution := range reply.GetExecutions() {
			id := refund.OperationID(strings.TrimPrefix(execution.GetExecution().GetWorkflowId(), WorkflowPrefix))
			if !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
		if page = reply.GetNextPageToken(); len(page) == 0 {
			break
		}
	}
	runs := make([]*refund.Listed, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for i, id := range ids {
		group.Go(func() (err error) {
			runs[i], err = c.listed(ctx, id)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var listed []refund.Listed
	for _, run := range runs {
		if run != nil {
			listed = append(listed, *run)
		}
	}
	return listed, nil
}

// listed reads one run for the list. A run whose history says nothing of a refund, because somebody started it by hand with
// another input, must not hide the others: it is told in the log and left out.
func (c *Client) listed(ctx context.Context, id refund.OperationID) (*refund.Listed, error) {
	f, err := c.read(ctx, id)
	if refund.CodeOf(err) == refund.CodeUnavailable {
		return nil, err
	}
	var view refund.View
	now := c.clock()
	if err == nil {
		view, err = f.view(now)
	}
	if err != nil {
		slog.WarnContext(ctx, "run is left out of the list", "workflow", WorkflowID(id), "error", err)
		return nil, nil //nolint:nilnil // left out
	}
	return &refund.Listed{View: view, Since: f.since, At: now}, nil
}

// Watch calls show with the run's view now and after every change, until show says stop, the run is closed, or ctx ends.
//
// Errors: NOT_FOUND, UNAVAILABLE, TIMEOUT when ctx ended first.
func (c *Client) Watch(ctx context.Context, id refund.OperationID, show func(refund.View) (stop bool)) error {
	begin, err := c.read(ctx, id)
	if err != nil {
		return err
	}
	var shown refund.View
	stopped := false
	see := func(f *fold) bool {
		view, err := f.view(c.clock())
		if err != nil || reflect.DeepEqual(view, shown) {
			return false
		}
		shown = view
		stopped = show(view)
		return stopped
	}
	for {
		// Time alone moves a view from RETRYABLE to UNKNOWN: at that instant the history is read again.
		now := c.clock()
		turn, cancel := context.WithTimeout(ctx, begin.turns(now).Sub(now))
		f, err := c.follow(turn, id, len(begin.facts), see) // what was there already is shown once, as it is now
		cancel()
		switch {
		case stopped || err == nil:
			return nil
		case ctx.Err() != nil:
			return refund.Wrap(refund.CodeTimeout, ctx.Err(), "operation %q is %s: the time to watch is over", id, shown.Status)
		case !errors.Is(err, context.DeadlineExceeded):
			return err
		}
		if f.account != nil { // it is nil when the turn was over before the first page came
			begin = f
		}
	}
}

// turns is the next instant at which the view may change without an event. A day from now is as good as never.
func (f *fold) turns(now refund.Instant) refund.Instant {
	next := now.Add(askWindow)
	for _, at := range []refund.Instant{f.Intake.CommitBy(), f.FirstSentAt + refund.Instant(f.Intake.Terms.Retention-f.Intake.Terms.CallTimeout)} {
		if now.Before(at) {
			next = min(next, at)
		}
	}
	return next
}

// Export returns the run's facts in the neutral form, with the history as Temporal writes it, which a replayer reads.
//
// Errors: NOT_FOUND, UNAVAILABLE.
func (c *Client) Export(ctx context.Context, id refund.OperationID) (refund.Export, error) {
	f, events, err := c.events(ctx, id, false, func(*fold) bool { return false })
	if err != nil {
		return refund.Export{}, err
	}
	raw, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(&historypb.History{Events: events})
	if err != nil {
		return refund.Export{}, refund.Wrap(refund.CodeInternal, err, "the history cannot be written as JSON")
	}
	view, err := f.view(c.clock())
	return refund.Export{View: view, Facts: f.facts, Raw: raw}, err
}
