package handrolled

import (
	"context"
	"encoding/json"
	"time"

	"refundlab/provider"
	"refundlab/refund"
)

// Client asks, decides and looks. It works on the file itself, so no worker has to be alive; what it records, a worker in
// another process notices.
type Client struct {
	Journal Journal
	// Refunds is needed by a settlement by close alone, which calls the provider from here; nil otherwise.
	Refunds provider.Refunds
	Name    string // of this client in facts
}

// Request stores a request, or finds the run that it made before. Errors: INVALID_*, KEY_CONFLICT.
func (c *Client) Request(ctx context.Context, request refund.Request, terms refund.Terms) (refund.View, bool, error) {
	request, err := refund.NewRequest(request)
	if err != nil {
		return refund.View{}, false, err
	}
	if terms, err = refund.NewTerms(terms); err != nil {
		return refund.View{}, false, err
	}
	run, existing, err := c.Journal.Admit(ctx, request, terms, c.Name)
	if err != nil {
		return refund.View{}, false, err
	}
	view, err := viewOf(run)
	return view, existing, err
}

// Decide records a decision and returns its verdict, which is made at once. A verdict other than ACCEPTED is no error.
// Errors: INVALID_*, NOT_FOUND, DECISION_CONFLICT.
func (c *Client) Decide(ctx context.Context, decision refund.Decision) (refund.RecordedVerdict, error) {
	decision, err := refund.NewDecision(decision)
	if err != nil {
		return refund.RecordedVerdict{}, err
	}
	return c.Journal.Decide(ctx, decision, c.Name)
}

// View reads one run. Errors: NOT_FOUND.
func (c *Client) View(ctx context.Context, id refund.OperationID) (refund.View, error) {
	run, err := c.Journal.Load(ctx, id)
	if err != nil {
		return refund.View{}, err
	}
	return viewOf(run)
}

// List reads all runs in the order of their intake, without those that cannot be read.
func (c *Client) List(ctx context.Context) ([]refund.Listed, error) {
	runs, err := c.Journal.Runs(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]refund.Listed, 0, len(runs))
	for _, run := range runs {
		view, err := viewOf(run)
		if err != nil {
			leftOut(ctx, run.Lease.OperationID, err)
			continue
		}
		list = append(list, refund.Listed{View: view, Since: run.Since, At: run.At})
	}
	return list, nil
}

// Watch calls show with the run as it is and then at every change, until show says stop or ctx is over, whose error it
// returns. A change that time alone makes is seen within a second.
func (c *Client) Watch(ctx context.Context, id refund.OperationID, show func(refund.View) (stop bool)) error {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, err := c.Journal.Changes(watching)
	if err != nil {
		return err
	}
	clock := time.NewTicker(time.Second) // RETRYABLE becomes UNKNOWN by time, which changes nothing in the file
	defer clock.Stop()
	var last string
	for {
		view, err := c.View(ctx, id)
		if err != nil {
			return err
		}
		text, err := json.Marshal(view)
		if err != nil {
			return err
		}
		if string(text) != last && show(view) {
			return nil
		}
		last = string(text)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changes:
		case <-clock.C:
		}
	}
}

// Settle records what a person knows about a run whose outcome is unknown and which nobody holds. Settling by close asks the
// provider from here, under a generation of its own, and returns the run as the answer left it: CONFIRMED, REJECTED, or
// still unknown when the answer was lost, and then it may be settled again under the same id. VERDICT_PENDING: it is recorded,
// and a close of it is under way.
// Errors: INVALID_*, NOT_FOUND, DECISION_CONFLICT, SETTLEMENT_REFUSED, VERDICT_PENDING, UNAVAILABLE.
func (c *Client) Settle(ctx context.Context, settlement refund.Settlement) (refund.View, error) {
	settlement, err := refund.NewSettlement(settlement)
	if err != nil {
		return refund.View{}, err
	}
	var run Run
	if settlement.Kind == refund.SettleClose {
		run, err = c.settleByClose(ctx, settlement)
	} else {
		run, err = c.Journal.Settle(ctx, settlement, c.Name)
	}
	if err != nil {
		return refund.View{}, err
	}
	return viewOf(run)
}

func (c *Client) settleByClose(ctx context.Context, settlement refund.Settlement) (Run, error) {
	if c.Refunds == nil {
		return Run{}, refund.Errorf(refund.CodeInvalidFlag, "settling by close asks the provider: give its address")
	}
	before, err := c.Journal.Load(ctx, settlement.OperationID)
	if err != nil {
		return Run{}, err
	}
	// Twice the call's time-out: time for the call and for the two writes around it, so that nothing has to be renewed.
	length := 2 * time.Duration(before.Facts.Intake.Terms.CallTimeout) * time.Millisecond
	run, err := c.Journal.ClaimToClose(ctx, settlement, c.Name, length)
	if err != nil || !run.Held() || !run.askable() {
		return run, err
	}
	worker := &Executor{Journal: c.Journal, Refunds: c.Refunds, Name: c.Name, Lease: length}
	return worker.close(ctx, run)
}

// Export returns a run's durable facts in the neutral form, with the journal's rows attached. Errors: NOT_FOUND.
func (c *Client) Export(ctx context.Context, id refund.OperationID) (refund.Export, error) {
	run, rows, err := c.Journal.Rows(ctx, id)
	if err != nil {
		return refund.Export{}, err
	}
	view, err := viewOf(run)
	if err != nil {
		return refund.Export{}, err
	}
	raw, err := json.Marshal(rows)
	if err != nil {
		return refund.Export{}, err
	}
	export := refund.Export{View: view, Facts: make([]refund.Fact, 0, len(rows)), Raw: raw}
	for _, row := range rows {
		export.Facts = append(export.Facts, refund.Fact{
			Seq: row.Seq, At: row.At, Kind: row.Kind, Hash: refund.ContentHash(string(row.Kind), row.Body),
			Party: row.Party, Ref: row.Ref, Code: row.Code, Fence: refund.Fence{Term: row.Generation},
		})
	}
	return export, nil
}

// Close closes the journal.
func (c *Client) Close() error { return c.Journal.Close() }

func viewOf(run Run) (refund.View, error) {
	view, err := refund.NewView(Engine, run.Facts, run.Lease.Fence(), run.At)
	view.May.Owner, view.May.Until = run.Lease.Owner, run.Lease.Until
	return view, err
}
