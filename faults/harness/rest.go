package harness

import (
	"context"
	"fmt"
	"time"

	"refundlab/faults"
)

// awaitRest waits until nothing is held and every run is at rest: it is over; or it has asked the provider, and asked again,
// later than the last submit arrived there, so that nothing on its way can surprise the answer; or, where quiet is not 0,
// nothing has been announced for that long.
func (t *trial) awaitRest(ctx context.Context, quiet time.Duration) error {
	for {
		var changed chan struct{}
		var resting bool
		t.trace.mu.Lock()
		waiting := t.held()
		for _, name := range t.order {
			if waiting == "" && !t.settled(string(t.runs[name].id)) {
				waiting = "run " + name
			}
		}
		if waiting == "" {
			t.rest, resting = t.trace.next(), true
		}
		changed = t.trace.changed
		t.trace.mu.Unlock()
		if resting {
			return nil
		}
		silence := time.NewTimer(max(quiet, time.Millisecond))
		select {
		case <-changed:
			silence.Stop()
		case <-silence.C:
			if quiet > 0 && t.nothingHeld() {
				t.rest = t.trace.mark()
				return nil
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return fmt.Errorf("not at rest in time: %s is not", waiting)
			}
		case <-ctx.Done():
			silence.Stop()
			return fmt.Errorf("not at rest in time: %s is not", waiting)
		}
	}
}

func (t *trial) nothingHeld() bool {
	t.trace.mu.Lock()
	defer t.trace.mu.Unlock()
	return t.held() == ""
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

// settled tells whether a run is over or has asked twice since the last submit arrived. The lock is held.
func (t *trial) settled(operation string) bool {
	over := t.trace.last(faults.Point{Boundary: t.engine.Over, When: faults.After}, operation)
	if over != nil && over.Detail[faults.DetailRefused] == "" {
		return true
	}
	var arrived int64
	if c := t.trace.last(faults.Point{Boundary: faults.ProviderRecv, When: faults.Before}, operation); c != nil {
		arrived = c.Seq
	}
	if arrived == 0 && t.trace.last(faults.Point{Boundary: faults.Intent, When: faults.After}, operation) == nil {
		return false // nothing was ever to be sent
	}
	if closing := t.trace.last(faults.Point{Boundary: faults.CloseCall, When: faults.Before}, operation); closing != nil && closing.Seq > arrived {
		recorded := t.trace.last(faults.Point{Boundary: faults.Observed, When: faults.After}, operation)
		return recorded != nil && recorded.Seq > closing.Seq
	}
	if outcome := t.trace.last(faults.Point{Boundary: faults.Outcome, When: faults.After}, operation); outcome != nil && outcome.Detail[faults.DetailRefused] == "" {
		return false // somebody has still to be told
	}
	// That it asks a second time shows that the first answer decided nothing; after one ask the run may be about to end.
	return t.trace.since(arrived, faults.Point{Boundary: faults.LookupCall, When: faults.Before}, operation) >= 2
}
