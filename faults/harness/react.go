package harness

import (
	"context"
	"fmt"
	"sync"
	"time"
)

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
func (t *trial) awaitLull(ctx context.Context, quiet time.Duration) error {
	return t.awaitQuiet(ctx, quiet, func() string {
		if !t.resting {
			return "the script"
		}
		return t.moving()
	}, func() {})
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
