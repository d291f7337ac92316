package comparison

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/model"
	"refundlab/refund"
)

// pathOfModel asks that what was recorded of each run is a path of the model: the rules in package refund, played by owners
// whose messages and knowledge may be late, allow every step that was observed, in an order that the record allows.
func pathOfModel(t *trial) []string {
	var violations []string
	for _, r := range t.present() {
		if len(r.export.Facts) == 0 {
			continue // inconclusive already
		}
		if walk := t.walk(r); walk.Against != "" {
			violations = append(violations, fmt.Sprintf("run %s: %s", r.name, walk.Against))
		}
	}
	return violations
}

// notFollowed says of which runs it stays open whether they are paths.
func notFollowed(t *trial) []string {
	var texts []string
	for _, r := range t.present() {
		if walk := t.walk(r); walk.NotFollowed != "" {
			texts = append(texts, fmt.Sprintf("run %s was not followed through the model to its end: %s", r.name, walk.NotFollowed))
		}
	}
	return texts
}

// walk is what became of a run's trace. It is walked once, for those who ask whether it is a path and whether it was followed.
func (t *trial) walk(r run) model.Walk {
	walk, known := t.walks[r.name]
	if !known {
		var err error
		if walk, err = model.Check(t.path(r)); err != nil {
			walk.Against = err.Error()
		}
		t.walks[r.name] = walk
	}
	return walk
}

// path is what the evidence holds of one run, in the model's words.
func (t *trial) path(r run) model.Trace {
	p := &path{trial: t, run: r, rounds: t.Trial.Engine == "temporal"}
	for _, c := range t.Trace {
		if c.Operation == string(r.id) {
			p.crossings = append(p.crossings, c)
		}
	}
	p.orderClaims()
	trace := model.Trace{
		Profile: t.Trial.Profile, Rounds: p.rounds, Facts: r.facts,
		Doubled: slices.ContainsFunc(t.Trial.Fired, func(f evidence.Fired) bool { return f.Action == faults.Duplicate }),
	}
	trace.ClockMoved = slices.ContainsFunc(t.Trial.Steps, func(s evidence.Step) bool {
		return strings.HasPrefix(s.Text, string(faults.DoClock)+" ")
	})
	trace.Records = p.records()
	looked := p.looked(trace.Records)
	for _, c := range p.crossings {
		event := p.event(c)
		event.Looked = looked[c.Seq]
		trace.Events = append(trace.Events, event)
	}
	trace.Arrivals = p.arrivals()
	return trace
}

// orderClaims puts a claim that was announced late, because its process was frozen behind its commit, in front of the next owner's. A
// claim lies anywhere between its two sides, and the generations tell which of two came first.
func (p *path) orderClaims() {
	claimed := func(c evidence.Crossing) (held refund.Fence, owned bool) {
		if c.Point != (faults.Point{Boundary: faults.Claim, When: faults.After}) { // first: to read a fence costs more than all the rest
			return held, false
		}
		return parseFence(c.Fence)
	}
	for i := range p.crossings {
		late := p.crossings[i]
		held, owned := claimed(late)
		if !owned {
			continue
		}
		next := slices.IndexFunc(p.crossings[:i], func(c evidence.Crossing) bool {
			fence, owned := claimed(c)
			return owned && held.Less(fence)
		})
		if next < 0 {
			continue
		}
		begun := int64(-1) // a claim begins without an operation
		for _, c := range p.Trace {
			if c.Seq < late.Seq && c.Process == late.Process && c.Point == (faults.Point{Boundary: faults.Claim, When: faults.Before}) {
				begun = c.Seq
			}
		}
		if begun < 0 || begun > p.crossings[next].Seq {
			continue
		}
		late.At = p.crossings[next].At
		p.crossings = slices.Insert(slices.Delete(p.crossings, i, i+1), next, late)
	}
}

// path connects one run's crossings with its durable facts and its requests at the provider.
type path struct {
	*trial
	run       run
	rounds    bool
	crossings []evidence.Crossing
	taken     map[int]bool // crossings that a fact was matched with
}

var calls = map[faults.Boundary]model.What{
	faults.ProviderCall: model.Submits, faults.LookupCall: model.LooksUp, faults.CloseCall: model.Closes,
}

func (p *path) event(c evidence.Crossing) model.Event {
	fence, owned := parseFence(c.Fence)
	event := model.Event{Name: fmt.Sprintf("%d (%s %s %s)", c.Seq, c.Process, c.Point, c.Fence), Fence: fence, At: c.At}
	before := c.Point.When == faults.Before
	switch {
	case !owned:
	case before && calls[c.Point.Boundary] != 0 && !wentNowhere(c):
		event.What = calls[c.Point.Boundary]
	case p.rounds:
	case c.Point.Boundary == faults.Claim && !before:
		event.What = model.Claimed
	case slices.Contains(ownerWrites, c.Point.Boundary) && c.Point.Boundary != faults.Renewal && p.mine(c):
		if before {
			event.What = model.Wrote
		} else if lostLease(c) {
			event.What = model.Dropped
		}
	}
	return event
}

// mine tells whether a crossing is an engine's own and not the provider's.
func (p *path) mine(c evidence.Crossing) bool {
	return c.Point.Boundary != faults.ProviderCommit || p.promise.shared
}

// lostLease tells whether the journal refused an owner for good. Another error may hide a commit.
func lostLease(c evidence.Crossing) bool {
	return strings.HasPrefix(c.Detail[faults.DetailRefused], string(refund.CodeLeaseLost))
}

// boundaries of the facts that an owner of the journal writes; under rounds, of those that an attempt's completion is.
var boundaries = map[refund.FactKind][]faults.Boundary{
	refund.FactModelCall:   {faults.ModelBudget},
	refund.FactProposal:    {faults.Proposal},
	refund.FactIntent:      {faults.Intent, faults.ProviderCommit},
	refund.FactObservation: {faults.Observed},
	refund.FactOutcome:     {faults.Outcome, faults.ProviderCommit},
	refund.FactExpiry:      {faults.Outcome},
}

func (p *path) records() []model.Record {
	p.taken = map[int]bool{}
	var records []model.Record
	begun := -1
	for _, fact := range p.run.export.Facts {
		record := model.Record{Fact: fact, Begun: -1, Done: -1}
		if !p.rounds && (fact.Kind == refund.FactVerdict || fact.Kind == refund.FactNotice || fact.Kind == refund.FactIntake) {
			record.Fence = refund.Fence{} // its writer holds nothing
		}
		if match := p.matching(record); match != nil {
			record.Begun, record.Done = p.window(match, fact, begun)
		}
		begun = max(begun, record.Begun)
		records = append(records, record)
	}
	return records
}

// matching tells which crossings can have announced a fact, nil where none has to.
func (p *path) matching(r model.Record) func(evidence.Crossing) bool {
	fence := fenceText(r.Fence)
	at := boundaries[r.Kind]
	switch {
	case r.Kind == refund.FactVerdict && !p.rounds:
		return func(c evidence.Crossing) bool {
			return c.Point.Boundary == faults.Decision && c.Detail["decision"] == r.Ref
		}
	case r.Kind == refund.FactIntent && p.rounds:
		activity := activities[refund.Action(r.Ref)]
		return func(c evidence.Crossing) bool {
			return slices.Contains(strings.Fields(c.Detail["commands"]), activity)
		}
	case at == nil || r.Fence == (refund.Fence{}):
		return nil
	case p.rounds:
		attempt, activity := strconv.FormatInt(r.Fence.Seq, 10), p.roundOf(r.Fence)
		return func(c evidence.Crossing) bool {
			return slices.Contains(at, c.Point.Boundary) && c.Detail[faults.DetailAttempt] == attempt && c.Detail["activity"] == activity
		}
	}
	return func(c evidence.Crossing) bool {
		return slices.Contains(at, c.Point.Boundary) && c.Fence == fence && p.mine(c)
	}
}

// activities are the names that the Temporal application gives to what a round does.
var activities = map[refund.Action]string{refund.ActSend: "Submit", refund.ActLookUp: "LookUp", refund.ActClose: "Close"}

// roundOf names the activity of the round that a fence belongs to.
func (p *path) roundOf(fence refund.Fence) string {
	for _, fact := range p.run.factsOf(refund.FactIntent) {
		if fact.Fence.Term == fence.Term {
			return activities[refund.Action(fact.Ref)]
		}
	}
	return ""
}

// window finds between which crossings a fact became durable: the announcement of its write, and that it was done.
func (p *path) window(match func(evidence.Crossing) bool, fact refund.Fact, from int) (begun, done int) {
	begun, done = -1, -1
	for i, c := range p.crossings {
		// Under rounds several messages look alike, and no write begins before the one that the record has before it. Clients of the
		// journal overtake each other.
		if p.rounds && i < from || p.taken[i] || c.Point.When != faults.Before || !match(c) {
			continue
		}
		after := p.after(i)
		if after >= 0 && refused(p.crossings[after]) {
			if p.rounds || lostLease(p.crossings[after]) {
				continue
			}
			after = -1 // an error that may hide a commit
		}
		// The workflow's tasks carry no number: of one that was never heard of again nobody knows whether it went through.
		if after < 0 && p.rounds && p.laterDone(match, i) {
			continue
		}
		// Nor is it the write of what was on record when it was announced, such as the end of an attempt that the server gave up.
		if after < 0 && p.rounds && c.At > fact.At {
			continue
		}
		if fact.Kind != refund.FactIntent || !p.promise.shared { // there one transaction holds two facts
			p.taken[i] = true
		}
		return i, after
	}
	return begun, done
}

// after is where the other side of a crossing stands, -1 when it was never announced. Counting both sides does not pair them
// where a process is about several runs at a time, so the next one about this run is it.
func (p *path) after(i int) int {
	before := p.crossings[i]
	if wentNowhere(before) {
		return -1 // what comes behind is another try
	}
	point := faults.Point{Boundary: before.Point.Boundary, When: faults.After}
	for j := i + 1; j < len(p.crossings); j++ {
		// Attempts that one worker completes side by side bear no fence and are told apart by their number.
		c := p.crossings[j]
		if c.Point == point && c.Process == before.Process && c.Fence == before.Fence && c.Detail["activity"] == before.Detail["activity"] &&
			c.Detail[faults.DetailAttempt] == before.Detail[faults.DetailAttempt] {
			return j
		}
	}
	return -1
}

// laterDone tells whether another crossing that matches, and that was not taken, went through.
func (p *path) laterDone(match func(evidence.Crossing) bool, from int) bool {
	for i := from + 1; i < len(p.crossings); i++ {
		c := p.crossings[i]
		if c.Point.When == faults.Before && !p.taken[i] && match(c) {
			if after := p.after(i); after >= 0 && !refused(p.crossings[after]) {
				return true
			}
		}
	}
	return false
}

var verbs = map[string]refund.Action{"submit": refund.ActSend, "lookup": refund.ActLookUp, "close": refund.ActClose}

// arrivals are the requests of owners; a reader's look-up raises nothing and is none.
func (p *path) arrivals() []model.Arrival {
	var arrivals []model.Arrival
	seen := map[string]int{}
	own := digestOf(p.run)
	for _, r := range p.Provider.Received {
		if r.OperationID != p.run.id {
			continue
		}
		a := model.Arrival{
			Name: fmt.Sprintf("request %d (%s)", r.N, r.Verb), Act: verbs[r.Verb],
			Outcome: r.Outcome, Foreign: r.Digest != "" && r.Digest != own, At: r.At, Begun: -1, Done: -1,
		}
		if a.Foreign {
			arrivals = append(arrivals, a)
			continue
		}
		if r.Fence == nil {
			continue
		}
		a.Fence = *r.Fence
		boundary := map[string]faults.Boundary{"submit": faults.ProviderRecv, "lookup": faults.LookupCall, "close": faults.CloseCall}[r.Verb]
		a.Begun, a.Done = p.door(boundary, fenceText(*r.Fence), seen[r.Verb+fenceText(*r.Fence)])
		seen[r.Verb+fenceText(*r.Fence)]++
		arrivals = append(arrivals, a)
	}
	return arrivals
}

// door finds between which crossings the n-th request under a fence was decided on.
func (p *path) door(boundary faults.Boundary, fence string, n int) (begun, done int) {
	begun = -1
	for i, c := range p.crossings {
		if c.Point.Boundary != boundary || c.Fence != fence || c.Point.When != faults.Before {
			continue
		}
		begun, done = i, -1
		if after := p.after(i); after >= 0 && (boundary == faults.ProviderRecv || p.crossings[after].Detail[faults.DetailStatus] != "error") {
			done = after
		}
		if n == 0 {
			return begun, done
		}
		n--
	}
	return begun, -1 // a copy that the provider made of it
}
