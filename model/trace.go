package model

import (
	"fmt"
	"math/bits"

	"refundlab/refund"
)

// What an observed event says.
type What uint8

// The kinds of observed events. An event of another kind only bounds when facts and arrivals can have taken place.
const (
	Other     What = iota
	Claimed        // an owner holds the run under the event's fence (leases)
	Wrote          // an owner begins a write under its fence (leases)
	Dropped        // an owner's write was refused: its fence is not valid any more (leases)
	Submits        // a submit leaves; Looked says whether its sender had read the order
	LooksUp        // an owner's look-up leaves
	Closes         // a close leaves
	Delivered      // a submit is at the provider's door
)

// Event is one crossing of one operation, in the order in which it was observed.
type Event struct {
	Name   string // as a person finds it in the trace
	What   What
	Fence  refund.Fence
	At     refund.Instant
	Looked bool
}

// Record is one durable fact of the operation, in the order of the record. It became durable after event Begun was announced
// and before event Done was, where those are known; -1 where not.
type Record struct {
	refund.Fact
	Begun, Done int
}

// Arrival is one request that the provider decided on. Begun and Done are as in Record.
type Arrival struct {
	Name        string
	Act         refund.Action // ActSend, ActLookUp or ActClose
	Fence       refund.Fence
	Outcome     string // committed, receipt, refusal, tombstone, conflict, stale-fence, not-found; anything else left no trace
	Foreign     bool   // it carried another digest
	At          refund.Instant
	Begun, Done int
}

// Trace is everything that was observed of one operation.
type Trace struct {
	Profile  refund.ProfileName
	Rounds   bool
	Facts    refund.Facts // as the run ended; its decision says what was accepted
	Events   []Event
	Records  []Record
	Arrivals []Arrival // at most maxArrivals
	// Doubled: the network delivered some message twice.
	Doubled bool
	// ClockMoved: some clock was set. Times say nothing then about what was over when.
	ClockMoved bool
}

// Slack is how far the time at which something was announced may lie from the time by which it was decided, in milliseconds:
// a workflow task decides by the time at which it began, and may complete until its time-out of two seconds, of which the server
// takes notice a second later.
const Slack = 3500

// maxArrivals is what the bits of node.decided can tell apart.
const maxArrivals = 64

// node is one state in which the run can be: a state of the model, how much of the record is written, and which requests the
// provider has decided on.
type node struct {
	state
	written int
	decided uint64
}

// walker follows a trace through the model with the set of all states that it allows.
type walker struct {
	*machine
	trace Trace
	nodes map[node]struct{}
	at    int // the event that is looked at
	acts  map[uint16]action
	place map[refund.Instant]uint16 // of an instant in instants
	last  map[fence]int             // the last event, record or arrival of an owner, by event
	why   string                    // the last reason against a step
	lost  bool                      // a state was dropped because more owners or messages are about than it can hold
}

// Walk is what became of a trace: a path where both are empty.
type Walk struct {
	Against     string // what is no legal step, and what would have been one
	NotFollowed string // why neither a path nor a break was found
}

// Check walks a trace through the model. Between two observed events any number of unobserved steps may lie, as far as record and
// arrivals allow them.
//
// A trace with more than 64 requests at the provider is not followed, nor one of which every path that was left needs more than
// eight owners or messages about at one time.
//
// Errors: INVALID_PROFILE.
func Check(t Trace) (Walk, error) {
	profile, err := refund.ProfileNamed(t.Profile)
	if err != nil {
		return Walk{}, err
	}
	if len(t.Arrivals) > maxArrivals {
		return Walk{NotFollowed: fmt.Sprintf("%d requests arrived at the provider, and a walk can hold %d", len(t.Arrivals), maxArrivals)}, nil
	}
	rules := RealRules()
	m := newMachine(profile, t.Rounds, rules, t.Facts.Intake, []refund.Instant{t.Facts.Intake.At})
	m.owners, m.wire = maxOwners, maxWire
	w := &walker{machine: m, trace: t, nodes: map[node]struct{}{}, acts: map[uint16]action{}, place: map[refund.Instant]uint16{}, last: map[fence]int{}}
	w.prepare()
	start := node{state: state{core: core{Version: 1}}}
	w.nodes[start] = struct{}{}
	return w.walk(), nil
}

// prepare notes what each round is for and when each fence is seen last.
func (w *walker) prepare() {
	for _, r := range w.trace.Records {
		if r.Kind == refund.FactIntent && w.rounds {
			w.acts[uint16(r.Fence.Term)] = actions[refund.Action(r.Ref)]
		}
		w.see(r.Fence, max(r.Begun, r.Done, 0))
		if r.Done < 0 && r.Fence != (refund.Fence{}) {
			w.see(r.Fence, len(w.trace.Events))
		}
	}
	for _, a := range w.trace.Arrivals {
		if a.Done < 0 {
			w.see(a.Fence, len(w.trace.Events))
		}
	}
	for i, e := range w.trace.Events {
		w.see(e.Fence, i)
	}
}

func (w *walker) see(f refund.Fence, at int) {
	w.last[small(f)] = max(w.last[small(f)], at)
}

func small(f refund.Fence) fence { return fence{uint16(f.Term), uint16(f.Seq)} }

func (w *walker) walk() Walk {
	for i, event := range w.trace.Events {
		w.at = i
		w.why = ""
		w.settleDown()
		next := map[node]struct{}{}
		for n := range w.nodes {
			for _, after := range w.cross(n, event) {
				w.tidy(&after, i)
				next[after] = struct{}{}
			}
		}
		if len(next) == 0 {
			return w.blame(fmt.Sprintf("crossing %s", event.Name))
		}
		w.nodes = next
	}
	w.at = len(w.trace.Events)
	w.why = ""
	w.settleDown()
	for n := range w.nodes {
		if n.written == len(w.trace.Records) && bits.OnesCount64(n.decided) == len(w.trace.Arrivals) {
			return Walk{}
		}
	}
	return w.blame("the end of the trace")
}

// settleDown adds every state that unobserved steps lead to: the record's next facts and the provider's decisions.
func (w *walker) settleDown() {
	open := make([]node, 0, len(w.nodes))
	for n := range w.nodes {
		open = append(open, n)
	}
	add := func(n node) {
		n.Now = 0
		if _, known := w.nodes[n]; !known {
			w.nodes[n] = struct{}{}
			open = append(open, n)
		}
	}
	for len(open) > 0 {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		if n.written < len(w.trace.Records) && w.trace.Records[n.written].Begun < w.at {
			for _, after := range w.write(n, w.trace.Records[n.written]) {
				after.written++
				add(after)
			}
		}
		for k, arrival := range w.trace.Arrivals {
			if n.decided&(1<<k) == 0 && arrival.Begun < w.at {
				for _, after := range w.arrived(n, arrival) {
					after.decided |= 1 << k
					add(after)
				}
			}
		}
	}
}

// tidy forgets owners and messages of which nothing more is seen, so that a state holds those that matter.
func (w *walker) tidy(n *node, at int) {
	for i := range n.owners {
		if n.owners[i].at != free && w.last[n.owners[i].fence] < at {
			n.drop(i)
		}
	}
	n.Now = 0
	n.StoredBy = fence{}
	n.Sends = min(n.Sends, 1)
}

// written is how many facts of the record were written by an event: the record has an order, so one that is known to be written
// means that all before it are.
func (w *walker) written(at int) int {
	for i := len(w.trace.Records) - 1; i >= 0; i-- {
		if done := w.trace.Records[i].Done; done >= 0 && done <= at {
			return i + 1
		}
	}
	return 0
}

// ripe tells whether a node has everything that must have happened before the event that is looked at.
func (w *walker) ripe(n node) bool {
	if n.written < w.written(w.at) {
		return false
	}
	for k, arrival := range w.trace.Arrivals {
		if n.decided&(1<<k) == 0 && arrival.Done >= 0 && arrival.Done <= w.at {
			return false
		}
	}
	return true
}

// moments are the times by which something announced at one time may have been decided.
func (w *walker) moments(at refund.Instant) []uint16 {
	in := w.intake
	times := []refund.Instant{at}
	for _, limit := range []refund.Instant{in.DecideBy(), in.CommitBy()} {
		if w.trace.ClockMoved || at-limit < Slack && limit-at < Slack {
			times = append(times, limit-1, limit)
		}
	}
	if w.profile.Expires {
		times = append(times, at-Slack, at+Slack)
		if w.trace.ClockMoved {
			times = append(times, in.At, at+refund.Instant(in.Terms.Retention))
		}
	}
	indexes := make([]uint16, len(times))
	for i, t := range times {
		indexes[i] = w.moment(t)
	}
	return indexes
}

// moment is the index of an instant.
func (w *walker) moment(at refund.Instant) uint16 {
	index, known := w.place[at]
	if !known {
		index = uint16(len(w.instants))
		w.instants = append(w.instants, at)
		w.place[at] = index
	}
	return index
}

func (w *walker) no(format string, args ...any) []node {
	w.why = fmt.Sprintf(format, args...)
	return nil
}

// blame says what is no legal step, and what hinders the furthest state that the trace allows up to there.
func (w *walker) blame(what string) Walk {
	if w.lost { // one of the states that were dropped might have gone on
		return Walk{NotFollowed: fmt.Sprintf("before %s more than %d owners or %d messages may have been about at one time", what, maxOwners, maxWire)}
	}
	furthest, found := node{}, false
	for n := range w.nodes {
		if !found || n.written > furthest.written || n.written == furthest.written && bits.OnesCount64(n.decided) > bits.OnesCount64(furthest.decided) {
			furthest, found = n, true
		}
	}
	text := what + " is no step of the model"
	if w.at < len(w.trace.Events) {
		if w.why = ""; furthest.written >= w.written(w.at) {
			w.cross(furthest, w.trace.Events[w.at])
		}
		text += because(w.why)
	}
	for k, arrival := range w.trace.Arrivals {
		if furthest.decided&(1<<k) == 0 && arrival.Begun < w.at {
			w.why = ""
			w.arrived(furthest, arrival)
			text += because(w.why)
		}
	}
	if furthest.written < len(w.trace.Records) {
		r := w.trace.Records[furthest.written]
		text += fmt.Sprintf("; the next fact on record is %d (%s %s %s under %d.%d)", r.Seq, r.Kind, r.Ref, r.Code, r.Fence.Term, r.Fence.Seq)
		w.why = ""
		w.write(furthest, r)
		text += because(w.why)
	}
	furthest.Now = w.moment(w.nowAt())
	return Walk{Against: fmt.Sprintf("%s; the operation is %s, and the rule allows %s", text, furthest.Op.state(), w.legal(&furthest.state))}
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

func (w *walker) nowAt() refund.Instant {
	if len(w.trace.Events) == 0 {
		return w.trace.Facts.Intake.At
	}
	return w.trace.Events[min(w.at, len(w.trace.Events)-1)].At
}

// legal names the step that the rules allow about a run.
func (w *walker) legal(s *state) string {
	switch {
	case w.over(s):
		return "nothing more: the run is over"
	case s.Open != noAction:
		return s.Open.String() + " in attempts of round " + fmt.Sprint(s.Fence.term)
	case s.Shown == 0:
		return "a proposal"
	case s.Choice == 0:
		return "a decision, or the end of the time for it"
	}
	return w.allowed(s).String()
}
