package handrolled

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"refundlab/provider"
	"refundlab/refund"
)

// Executor is one worker: it moves every run that is due, a few at a time. It has no state of its own. Any number of them,
// in any number of processes, can work on one journal.
type Executor struct {
	Journal Journal
	Refunds provider.Refunds
	Model   provider.Model
	Notices provider.Notices
	Name    string        // of this worker in leases and facts
	Lease   time.Duration // how long a claim lasts without renewal; a dead worker's runs wait this long
	Width   int           // runs that it moves at once; 8 when zero
	Log     *slog.Logger  // slog.Default() when nil
}

const defaultWidth = 8

// Run works until ctx is over, then finishes the steps that are under way and gives their runs back. It never cuts a call
// short to stop sooner: under a provider that can neither repeat nor look up, a cut call is a person's work.
func (e *Executor) Run(ctx context.Context) error {
	changes, err := e.Journal.Changes(ctx)
	if err != nil {
		return err
	}
	width := e.Width
	if width == 0 {
		width = defaultWidth
	}
	var steps sync.WaitGroup
	slots := make(chan struct{}, width)
	runs, notices := make(chan struct{}, 1), make(chan struct{}, 1)
	claim := func(ctx context.Context) (bool, error) {
		select {
		case <-ctx.Done():
			return false, nil
		case slots <- struct{}{}:
		}
		run, found, err := e.Journal.Claim(ctx, e.Name, e.Lease)
		if !found {
			<-slots
			return false, err
		}
		steps.Go(func() {
			defer func() { <-slots }()
			e.drive(ctx, run)
			nudge(notices) // its own outcome it need not find out by looking at the file
		})
		return true, nil
	}
	steps.Go(func() { e.each(ctx, runs, e.Journal.NextWake, claim) })
	steps.Go(func() { e.each(ctx, notices, e.Journal.NextNotice, e.relay) })
	for {
		select {
		case <-ctx.Done():
			steps.Wait()
			return nil
		case <-changes:
			nudge(runs)
			nudge(notices)
		}
	}
}

func nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// shortest is the least time between two looks at what is due, so that what is due within the millisecond is not looked at over
// and over.
const shortest = 10 * time.Millisecond

// retry is the pause after the journal itself failed, for instance because another process holds its lock.
const retry = 250 * time.Millisecond

// each does what is due, one thing after the other, and then waits for the file to change or for the next due instant: one
// timer for all that wait, whether ten or ten thousand.
func (e *Executor) each(ctx context.Context, changed <-chan struct{}, next func(context.Context) (time.Duration, bool, error), do func(context.Context) (bool, error)) {
	for ctx.Err() == nil {
		wait, due, err := next(ctx)
		if err == nil && due && wait <= 0 {
			var did bool
			if did, err = do(ctx); did {
				continue
			}
			// Another worker was faster. Its commit is a change, so there is nothing to hurry for.
			wait = retry
		}
		if err != nil && ctx.Err() == nil {
			e.log().Error("the journal cannot be used, trying again", "worker", e.Name, "pause", retry, "error", err)
			wait, due = retry, true
		}
		await(ctx, changed, max(wait, shortest), due)
	}
}

func await(ctx context.Context, changed <-chan struct{}, wait time.Duration, due bool) {
	var timer <-chan time.Time
	if due {
		t := time.NewTimer(wait)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-ctx.Done():
	case <-changed:
	case <-timer:
	}
}

// drive moves one claimed run step by step until a step ends its lease. Each step begins from what is recorded.
//
// After an error of the journal nobody knows whether the last fact is there. The run is dropped with all that is in memory;
// when its lease is over, whoever claims it reads the file.
func (e *Executor) drive(ctx context.Context, run Run) {
	lease := run.Lease
	log := e.log().With("worker", e.Name, "operation", lease.OperationID, "generation", lease.Generation)
	for run.Held() {
		if ctx.Err() != nil {
			// A clean stop: the run is free at once.
			if err := e.Journal.EndLease(context.WithoutCancel(ctx), lease, refund.Fence{}); err != nil {
				log.Warn("stopped without giving the run back", "error", err)
			}
			return
		}
		var err error
		// A step that has begun is not cancelled by a stop; its calls have time-outs of their own.
		run, err = e.step(context.WithoutCancel(ctx), run)
		switch refund.CodeOf(err) {
		case "":
		case refund.CodeLeaseLost:
			log.Warn("lease lost: this worker drops the run", "error", err)
			return
		default:
			log.Error("step failed: this worker drops the run until its lease is over", "error", err)
			return
		}
	}
}

// step takes the one step that the recorded facts ask for.
func (e *Executor) step(ctx context.Context, run Run) (Run, error) {
	f := run.Facts
	switch {
	case f.Decision == nil && !run.At.Before(f.Intake.DecideBy()):
		return e.Journal.Expire(ctx, run.Lease)
	case f.Proposal == nil:
		return e.propose(ctx, run)
	}
	// Proposed and neither undecided nor rejected, or the run would not be due.
	return e.ask(ctx, run)
}

// release ends the lease and returns the run as no longer held.
func (e *Executor) release(ctx context.Context, run Run, seen refund.Fence) (Run, error) {
	err := e.Journal.EndLease(ctx, run.Lease, seen)
	run.Lease.Until = run.At
	return run, err
}

// kept writes down what a call brought, and tries again where another process stands in a transaction for longer than the file waits.
// Nothing was written then, and an answer that is dropped may be an UNKNOWN for a person (I4) or a second bill (I12). It ends when
// every lease that ran at its beginning is over; until then the generation decides. A commit that was not acknowledged is not
// repeated: it may be there.
func (e *Executor) kept(write func() (Run, error)) (Run, error) {
	for over := e.Journal.Now().Add(e.Lease); ; {
		run, err := write()
		if refund.CodeOf(err) != refund.CodeStoreLocked || !e.Journal.Now().Before(over) {
			return run, err
		}
	}
}

// late traces a result that came after the lease was over. It is worth a line, because somebody else has to find it out
// again; it is not written, because the run is no longer this worker's (I6).
func (e *Executor) late(err error, run Run, result ...any) {
	if refund.CodeOf(err) == refund.CodeLeaseLost {
		e.log().With("worker", e.Name, "operation", run.Lease.OperationID, "generation", run.Lease.Generation).Warn("a late result is not recorded", result...)
	}
}

func (e *Executor) log() *slog.Logger {
	if e.Log == nil {
		return slog.Default()
	}
	return e.Log
}

// call makes one call under the run's own time-out and keeps the lease while it runs, by renewing at a third of it. When the
// lease is lost or over the call is cancelled: what it would bring could not be written. A renewal that fails while it still
// runs, because another process stands in a transaction, cancels nothing: a call that is cut may be an UNKNOWN for a person
// (I4). Past the time-out nothing is renewed, so a call that hangs, or a worker that is frozen in it, cannot keep the run (I11).
//
// It is not begun under a lease that is over. A worker that was frozen between its last record and here would ask a model that
// has been asked, or send where the next owner has found that nobody may. Between this look and the call only a fence helps.
//
// Errors: LEASE_LOST.
func (e *Executor) call(ctx context.Context, run Run, perform func(context.Context)) error {
	if now := e.Journal.Now(); !now.Before(run.Lease.Until) {
		return refund.Errorf(refund.CodeLeaseLost, "the lease of generation %d was over at %s, before the call", run.Lease.Generation, now)
	}
	timeout := time.Duration(run.Facts.Intake.Terms.CallTimeout) * time.Millisecond
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, stop := context.WithTimeout(ctx, timeout)
	var renewals sync.WaitGroup
	renewals.Go(func() {
		held := run.Lease
		ticker := time.NewTicker(max(e.Lease/3, time.Millisecond))
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			renewed, err := e.Journal.Renew(ctx, held, e.Lease)
			switch {
			case err == nil:
				held = renewed
			case refund.CodeOf(err) == refund.CodeLeaseLost || !e.Journal.Now().Before(held.Until):
				cancel(err)
				return
			}
		}
	})
	perform(ctx)
	stop()
	renewals.Wait()
	return nil
}
