package harness

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"refundlab/evidence"
	"refundlab/faults"
)

// awaitRest waits until nothing is held, every reaction is done, and every run is at rest: it is over; or it has asked the
// provider, and asked again, later than the last submit arrived there, so that nothing on its way can surprise the answer; or,
// where quiet says so, nothing has been announced for that long.
func (t *trial) awaitRest(ctx context.Context, quiet silence) error {
	t.trace.mu.Lock()
	t.resting = true
	t.trace.signal()
	t.trace.mu.Unlock()
	return t.awaitQuiet(ctx, quiet, func() string {
		if pending := t.unreacted(); pending != "" {
			return pending
		}
		return t.moving()
	}, func() { t.rest = t.trace.next() })
}

// silence is how long nothing may be announced before a run that is not over is at rest all the same; 0 lets it not.
type silence struct{ parked, stuck time.Duration }

func silenceOf(s faults.Step) silence {
	return silence{time.Duration(s.QuietMS) * time.Millisecond, time.Duration(cmp.Or(s.StuckMS, s.QuietMS)) * time.Millisecond}
}

// after is how long what moves may be silent; 0 for what is no run.
func (q silence) after(what string) time.Duration {
	switch {
	case strings.HasPrefix(what, aRun):
		return q.parked
	case strings.HasPrefix(what, anOpenRun):
		return q.stuck
	}
	return 0
}

// awaitQuiet waits until nothing moves any more, or nothing but runs and these without an announcement for as long as quiet
// says. moving and rested are called under the lock.
func (t *trial) awaitQuiet(ctx context.Context, quiet silence, moving func() string, rested func()) error {
	for {
		t.trace.mu.Lock()
		what, changed := moving(), t.trace.changed
		if what == "" {
			rested()
		}
		t.trace.mu.Unlock()
		if what == "" {
			return nil
		}
		var silent <-chan time.Time
		if enough := quiet.after(what); enough > 0 {
			silent = time.After(enough)
		}
		select {
		case <-changed:
		case <-silent:
			t.trace.mu.Lock()
			still := t.trace.changed == changed
			if still {
				rested()
			}
			t.trace.mu.Unlock()
			if still {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("not at rest in time: %s is not", what)
		}
	}
}

// What moving says of a run begins with one of these: it may be left to a person, or it should still go on.
const (
	aRun      = "run "
	anOpenRun = "open run "
)

// moving names a message that is held or a run that is not at rest, the message first. The lock is held.
func (t *trial) moving() string {
	if held := t.held(); held != "" {
		return held
	}
	for _, name := range t.order {
		switch id := string(t.runs[name].id); {
		case t.settled(id):
		case t.parked(id):
			return aRun + name
		default:
			return anOpenRun + name
		}
	}
	return ""
}

// parked tells whether a run may have been left to a person: since its last intent somebody has recorded what decided nothing.
// The lock is held.
func (t *trial) parked(operation string) bool {
	var intended int64 // by whom it was not refused, as it is to a worker that comes too late
	for _, c := range t.trace.about[about{faults.Point{Boundary: faults.Intent, When: faults.After}, operation}] {
		if c.Detail[faults.DetailRefused] == "" {
			intended = c.Seq
		}
	}
	if intended == 0 || t.trace.crossed("", faults.Point{Boundary: faults.Outcome, When: faults.After}, operation) > 0 {
		return false
	}
	return t.trace.since(intended, faults.Point{Boundary: faults.Observed, When: faults.After}, operation)+
		t.trace.since(intended, faults.Point{Boundary: faults.WorkflowTask, When: faults.After}, operation) > 0
}

// held names a message that a rule still holds. The lock is held.
func (t *trial) held() string {
	for _, f := range t.trace.fired {
		if (f.Action == faults.Hold || f.Action == faults.Delay) && f.DoneSeq == 0 {
			return "the message held by rule " + f.Rule
		}
	}
	return ""
}

// over tells whether a run has crossed its last boundary. What was refused there, perhaps of a worker that came too late, has not
// happened. The lock is held.
func (t *trial) over(operation string) bool {
	return t.trace.crossed("", faults.Point{Boundary: t.engine.Over, When: faults.After}, operation) > 0
}

// settled tells whether a run is over or has asked twice since the last submit arrived. The lock is held.
func (t *trial) settled(operation string) bool {
	if t.over(operation) {
		return true
	}
	var arrived int64 // of the last submit; one that was held at the provider's door counts from when it was dealt with
	for _, when := range []faults.When{faults.Before, faults.After} {
		if c := t.trace.last(faults.Point{Boundary: faults.ProviderRecv, When: when}, operation); c != nil {
			arrived = max(arrived, c.Seq)
		}
	}
	if t.inside(operation) {
		return false
	}
	if arrived == 0 && t.trace.last(faults.Point{Boundary: faults.Intent, When: faults.After}, operation) == nil {
		return false // nothing was ever to be sent
	}
	if t.trace.crossed("", faults.Point{Boundary: faults.Outcome, When: faults.After}, operation) > 0 {
		return false // somebody has still to be told, whatever a worker that was frozen still asks
	}
	if closing := t.trace.last(faults.Point{Boundary: faults.CloseCall, When: faults.Before}, operation); closing != nil && closing.Seq > arrived {
		// A close tells, if its answer comes. One that was answered and still decided nothing is a conflict, which nobody asks about.
		answer := t.trace.last(faults.Point{Boundary: faults.CloseCall, When: faults.After}, operation)
		recorded := t.trace.last(faults.Point{Boundary: faults.Observed, When: faults.After}, operation)
		return answer != nil && answer.Seq > closing.Seq && answered(answer) && recorded != nil && recorded.Seq > answer.Seq
	}
	// That somebody asks again shows that the answer decided nothing; after one ask the run may be about to end.
	return t.trace.asksAgain(arrived, faults.LookupCall, operation)
}

// inside tells whether a submit has arrived at the provider and has not been dealt with, because it waits for the ledger behind one
// that is held: whoever asks meanwhile sees nothing of it. The lock is held.
func (t *trial) inside(operation string) bool {
	at := func(b faults.Boundary, w faults.When) []*evidence.Crossing {
		return t.trace.about[about{faults.Point{Boundary: b, When: w}, operation}]
	}
	for _, c := range at(faults.ProviderRecv, faults.Before) {
		of := func(o *evidence.Crossing) bool { return o.Seq > c.Seq && o.Fence == c.Fence }
		switch {
		case c.Reply == faults.Refuse, c.Reply == faults.Drop:
		case slices.ContainsFunc(at(faults.ProviderRecv, faults.After), of):
		case slices.ContainsFunc(at(faults.ProviderCommit, faults.Before), func(o *evidence.Crossing) bool { return of(o) && o.Reply == faults.Abort }):
		case slices.ContainsFunc(at(faults.ProviderCall, faults.After), func(o *evidence.Crossing) bool { return of(o) && o.Detail[faults.DetailStatus] != "error" }):
		case t.providerBegan > c.Seq: // another process: what the one before held was rolled back
		default:
			return true
		}
	}
	return false
}

// answered tells whether the caller got the far side's own word at the after side of its call.
func answered(c *evidence.Crossing) bool {
	status := c.Detail[faults.DetailStatus]
	return c.Reply != faults.Lose && status != "error" && status < "500"
}
