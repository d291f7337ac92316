package harness

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// trace is the one record of a trial. Everything that happens gets its number here, so that the parts of the evidence have
// one order; everything that waits, waits for a change of it.
type trace struct {
	mu        sync.Mutex
	seq       int64
	crossings []*evidence.Crossing
	fired     []*firing
	counts    map[count]int
	about     map[about][]*evidence.Crossing
	changed   chan struct{} // closed and replaced at every change
}

// count is what occurrences are counted by: per process and point, and per point over all processes ("").
type count struct {
	process string
	point   faults.Point
}

// about is what waiting looks for: the crossings of a point about an operation, and about any (""). A trial with many runs has
// thousands of crossings and looks at each change.
type about struct {
	point     faults.Point
	operation string
}

// firing is a rule that hit, and the answer that the process at the point waits for.
type firing struct {
	evidence.Fired
	rule     faults.Rule
	crossing *evidence.Crossing
	answer   chan faults.Reply // nil once given or when there will be none
}

func newTrace() *trace {
	return &trace{counts: map[count]int{}, about: map[about][]*evidence.Crossing{}, changed: make(chan struct{})}
}

func now() refund.Instant { return refund.At(time.Now()) }

// next gives the next number. The lock is held.
func (t *trace) next() int64 {
	t.seq++
	return t.seq
}

// signal wakes everything that waits. The lock is held.
func (t *trace) signal() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// mark gives a number to something that is no crossing: a process's start or end, a step.
func (t *trace) mark() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.next()
	t.signal()
	return n
}

// cross records an announcement and finds the rule that hits it, if any.
func (t *trace) cross(a faults.Announcement, schedule faults.Schedule) (*evidence.Crossing, *firing) {
	t.mu.Lock()
	defer t.mu.Unlock()
	own, all := count{a.Process, a.Point}, count{"", a.Point}
	t.counts[own]++
	t.counts[all]++
	crossing := &evidence.Crossing{Seq: t.next(), At: now(), Nth: t.counts[own], Announcement: a}
	t.crossings = append(t.crossings, crossing)
	t.about[about{a.Point, ""}] = append(t.about[about{a.Point, ""}], crossing)
	if a.Operation != "" {
		t.about[about{a.Point, a.Operation}] = append(t.about[about{a.Point, a.Operation}], crossing)
	}
	defer t.signal()
	for _, rule := range schedule {
		key := all
		if rule.Process != "" {
			key = own
		}
		if rule.Point != a.Point || rule.Process != "" && rule.Process != a.Process || t.counts[key] != rule.Nth {
			continue
		}
		victim := rule.Victim
		if victim == "" {
			victim = a.Process
		}
		hit := &firing{
			Fired:    evidence.Fired{Rule: rule.Name, Point: rule.Point, Action: rule.Action, Victim: victim, Seq: crossing.Seq, At: crossing.At},
			rule:     rule,
			crossing: crossing,
			answer:   make(chan faults.Reply, 1),
		}
		t.fired = append(t.fired, hit)
		return crossing, hit
	}
	return crossing, nil
}

// answered records the harness's answer to a crossing. Its number is only worth noting when something else came between.
func (t *trace) answered(c *evidence.Crossing, action faults.Action) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.Reply = action
	if t.seq != c.Seq {
		c.DoneSeq = t.next()
	}
	t.signal()
}

// done records that a rule's effect is complete, with what proves it.
func (t *trace) done(f *firing, proof string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f.DoneSeq, f.Proof = t.next(), proof
	t.signal()
}

// await blocks until the condition holds, which is looked at under the lock after each change, or until ctx ends.
func (t *trace) await(ctx context.Context, what string, holds func() bool) error {
	for {
		t.mu.Lock()
		met, changed := holds(), t.changed
		t.mu.Unlock()
		if met {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%s: not seen in time", what)
		}
	}
}

// find returns the firing of a rule, or nil. The lock is held.
func (t *trace) find(rule string) *firing {
	for _, f := range t.fired {
		if f.Rule == rule {
			return f
		}
	}
	return nil
}

// crossed counts the crossings of a point by a process ("" for any) about an operation ("" for any). What the far side refused
// has not happened. The lock is held.
func (t *trace) crossed(process string, p faults.Point, operation string) (n int) {
	for _, c := range t.about[about{p, operation}] {
		if (process == "" || c.Process == process) && c.Detail[faults.DetailRefused] == "" {
			n++
		}
	}
	return n
}

// by counts all crossings of a process. The lock is held.
func (t *trace) by(process string) (n int) {
	for _, c := range t.crossings {
		if c.Process == process {
			n++
		}
	}
	return n
}

// last returns the last crossing of a point about an operation, or nil. The lock is held.
func (t *trace) last(p faults.Point, operation string) *evidence.Crossing {
	if list := t.about[about{p, operation}]; len(list) > 0 {
		return list[len(list)-1]
	}
	return nil
}

// since counts the crossings of a point for an operation after a sequence number. The lock is held.
func (t *trace) since(seq int64, p faults.Point, operation string) int {
	crossings := 0
	for _, c := range t.about[about{p, operation}] {
		if c.Seq > seq {
			crossings++
		}
	}
	return crossings
}

// asksAgain tells whether a process began a call after a sequence number, was answered, and began another: the answer decided
// nothing. An error, a status that tells of one, and what a rule has lost on its way is no answer; one that the process went to record as the outcome decided it, though
// the record may have been lost; and what another process does tells nothing about an answer whose reader may have died with it. The
// lock is held.
func (t *trace) asksAgain(seq int64, b faults.Boundary, operation string) bool {
	asks := t.about[about{faults.Point{Boundary: b, When: faults.Before}, operation}]
	answers := t.about[about{faults.Point{Boundary: b, When: faults.After}, operation}]
	for i, ask := range asks {
		if ask.Seq <= seq {
			continue
		}
		first := slices.IndexFunc(answers, func(c *evidence.Crossing) bool { return c.Seq > ask.Seq && c.Process == ask.Process })
		if first < 0 || !answered(answers[first]) {
			continue
		}
		after := answers[first].Seq
		next := slices.IndexFunc(asks[i:], func(c *evidence.Crossing) bool { return c.Seq > after && c.Process == ask.Process })
		if next < 0 {
			continue
		}
		decided := slices.ContainsFunc(t.about[about{faults.Point{Boundary: faults.Outcome, When: faults.Before}, operation}], func(c *evidence.Crossing) bool {
			return c.Seq > after && c.Seq < asks[i+next].Seq && c.Process == ask.Process
		})
		if !decided {
			return true
		}
	}
	return false
}

// record copies what the evidence keeps.
func (t *trace) record() (crossings []evidence.Crossing, fired []evidence.Fired) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.crossings {
		crossings = append(crossings, *c)
	}
	for _, f := range t.fired {
		fired = append(fired, f.Fired)
	}
	return crossings, fired
}
