package harness

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// landWithin bounds how long a process that was let go may go on announcing: it may have become the owner again, whose asks
// never end.
const landWithin = 10 * time.Second

// react plays the plan's reactions, each once its rule has hit. The function that it returns ends those that wait for a rule
// that never hit, and waits for those that began. A reaction that cannot be played stops the trial by fail.
func (t *trial) react(ctx context.Context, fail context.CancelCauseFunc) (finish func()) {
	waiting, stop := context.WithCancel(ctx)
	var playing sync.WaitGroup
	for _, rule := range t.post.schedule {
		steps, reacts := t.plan.Reactions[rule.Name]
		if !reacts {
			continue
		}
		playing.Go(func() {
			if t.awaitFired(waiting, rule.Name) != nil {
				return // it never hit, which is the judge's business
			}
			if err := t.playAll(ctx, steps); err != nil {
				fail(fmt.Errorf("reaction to rule %s: %w", rule.Name, err))
				return
			}
			t.trace.mu.Lock()
			t.reacted[rule.Name] = true
			t.trace.signal()
			t.trace.mu.Unlock()
		})
	}
	return func() {
		stop()
		playing.Wait()
	}
}

// awaitLull waits until the script waits for rest and every run is at rest, before a reaction goes on to what comes last, such
// as letting a frozen process go.
func (t *trial) awaitLull(ctx context.Context, quiet silence) error {
	return t.awaitQuiet(ctx, quiet, func() string {
		if !t.resting {
			return "the script"
		}
		return t.moving()
	}, func() {})
}

// awaitLanded waits until a process that was let go has announced nothing for a while, or has ended: what it was frozen in is
// done or refused by then. No single event shows that, because what it does next depends on where it stood.
func (t *trial) awaitLanded(ctx context.Context, process string, quiet time.Duration) error {
	child, err := t.processes.alive(process)
	if err != nil {
		return nil // it has ended, and does nothing any more
	}
	bound := time.NewTimer(landWithin)
	defer bound.Stop()
	for announced := -1; ; {
		t.trace.mu.Lock()
		now := t.trace.by(process)
		t.trace.mu.Unlock()
		if now == announced {
			return nil
		}
		announced = now
		silence := time.NewTimer(quiet)
		select {
		case <-silence.C:
		case <-child.ended:
			return nil
		case <-bound.C:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%s has not landed in time", process)
		}
	}
}

// unreacted names a rule that has hit and whose reaction is not done. The lock is held.
func (t *trial) unreacted() string {
	for _, f := range t.trace.fired {
		if _, reacts := t.plan.Reactions[f.Rule]; reacts && !t.reacted[f.Rule] {
			return "the reaction to rule " + f.Rule
		}
	}
	return ""
}
