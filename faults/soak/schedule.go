package soak

import (
	"fmt"
	"slices"

	"refundlab/faults"
	"refundlab/refund"
)

// place is a boundary at which faults are drawn, with what its two sides can suffer beside kills and freezes.
type place struct {
	boundary      faults.Boundary
	weight        int
	engine        string // alone, where it is not empty
	most          int    // occurrence, from 1
	before, after []faults.Action
	holdsStore    bool // whoever stands there keeps the others out: it is killed, and never kept
	onlyBefore    bool
}

// messages to far sides over HTTP, completions to Temporal's server, and transactions of the journal. A message that is held goes
// out when others have overtaken it.
var (
	message     = []faults.Action{faults.Delay, faults.Refuse, faults.Drop, faults.Hold}
	completion  = []faults.Action{faults.Delay, faults.Refuse, faults.Drop, faults.Duplicate}
	transaction = []faults.Action{faults.Delay, faults.Refuse}
	lost        = []faults.Action{faults.Lose}
	lostOrLate  = []faults.Action{faults.Lose, faults.Delay}
)

const handrolled = "handrolled"

// places of workers. Both engines cross those without an engine.
var places = []place{
	{boundary: faults.ModelCall, weight: 2, most: 12, before: message, after: lostOrLate},
	{boundary: faults.OrderCall, weight: 2, most: 20, before: message, after: lostOrLate},
	{boundary: faults.ProviderCall, weight: 8, most: 10, before: message, after: lostOrLate},
	{boundary: faults.LookupCall, weight: 3, most: 6, before: message, after: lostOrLate},
	{boundary: faults.CloseCall, weight: 3, most: 3, before: message, after: lostOrLate},
	{boundary: faults.NoticeCall, weight: 2, most: 10, before: append(slices.Clone(message), faults.Duplicate), after: lostOrLate},
	{boundary: faults.Proposal, weight: 3, engine: temporal, most: 12, before: completion, after: lost},
	{boundary: faults.Intent, weight: 4, engine: temporal, most: 10, before: completion, after: lost},
	{boundary: faults.Observed, weight: 3, engine: temporal, most: 4, before: completion, after: lost},
	{boundary: faults.Outcome, weight: 6, engine: temporal, most: 10, before: completion, after: lost},
	{boundary: faults.Notified, weight: 2, engine: temporal, most: 10, before: completion, after: lost},
	{boundary: faults.Finish, weight: 2, engine: temporal, most: 10, before: completion, after: lost},
	{boundary: faults.WorkflowTask, weight: 3, engine: temporal, most: 20, before: completion, after: lost},
	{boundary: faults.Proposal, weight: 3, engine: handrolled, most: 12, before: transaction, after: lost},
	{boundary: faults.Intent, weight: 4, engine: handrolled, most: 10, before: transaction, after: lost},
	{boundary: faults.Observed, weight: 3, engine: handrolled, most: 4, before: transaction, after: lost},
	{boundary: faults.Outcome, weight: 6, engine: handrolled, most: 10, before: transaction, after: lost},
	{boundary: faults.Notified, weight: 2, engine: handrolled, most: 10, before: transaction, after: lost},
	{boundary: faults.ModelBudget, weight: 2, engine: handrolled, most: 12, before: transaction, after: lost},
	{boundary: faults.Claim, weight: 3, engine: handrolled, most: 25},
	{boundary: faults.Renewal, weight: 2, engine: handrolled, most: 3, before: transaction, after: lost},
	{boundary: faults.StoreCommit, weight: 2, engine: handrolled, most: 25, holdsStore: true, onlyBefore: true},
}

// atProvider are the places of the provider's process.
var atProvider = []place{
	{boundary: faults.ProviderRecv, weight: 1, most: 25, before: message, after: lost},
	{boundary: faults.ProviderCommit, weight: 1, most: 20, before: []faults.Action{faults.Abort}, after: lostOrLate},
}

// schedule draws the rules, each with what is done about it once it has hit.
func (d *draw) schedule() {
	d.plan.Reactions = map[string][]faults.Step{}
	if d.plan.World.OwnServer {
		d.killServer()
	}
	for range d.Faults {
		switch lot := d.IntN(100); {
		case lot < 30:
			d.kill()
		case lot < 42:
			d.freeze()
		case lot < 62 && !d.promises.Shared:
			d.atProvider()
		default:
			d.disturbMessage()
		}
	}
	if len(d.plan.Reactions) == 0 {
		d.plan.Reactions = nil
	}
}

// nextRule is the name of the next rule.
func (d *draw) nextRule() string { return fmt.Sprintf("f%02d", len(d.plan.Schedule)+1) }

func (d *draw) rule(r faults.Rule, reaction ...faults.Step) {
	r.Name = d.nextRule()
	d.plan.Schedule = append(d.plan.Schedule, r)
	if len(reaction) > 0 {
		d.plan.Reactions[r.Name] = reaction
	}
}

// place draws one of the places that this engine crosses under this profile.
func (d *draw) place() place {
	var list []place
	for _, p := range places {
		if p.engine != "" && p.engine != d.Engine || !d.crosses(p.boundary) {
			continue
		}
		for range p.weight {
			list = append(list, p)
		}
	}
	return pick(d, list)
}

func (d *draw) crosses(b faults.Boundary) bool {
	switch b {
	case faults.CloseCall:
		return d.promises.Close && !d.promises.Shared
	case faults.LookupCall:
		return d.promises.Lookup != refund.LookupNone && !d.promises.Shared
	case faults.ProviderCall:
		return !d.promises.Shared
	}
	return true
}

func (d *draw) side(p place) faults.When {
	if p.onlyBefore {
		return faults.Before
	}
	return d.either()
}

func (d *draw) either() faults.When { return pick(d, []faults.When{faults.Before, faults.After}) }

// unfated is a worker that no signal is meant for yet, or nil. In a round whose server is killed there is none.
func (d *draw) unfated(initial bool) *worker {
	if d.plan.World.OwnServer {
		return nil
	}
	var list []*worker
	for _, w := range d.workers {
		if !w.fated && (w.initial || !initial) {
			list = append(list, w)
		}
	}
	if len(list) == 0 {
		return nil
	}
	w := pick(d, list)
	w.fated = true
	return w
}

// replacement is a worker that starts when another was hit.
func (d *draw) replacement() faults.Step {
	name := fmt.Sprintf("w%d", len(d.workers)+1)
	d.workers = append(d.workers, &worker{name: name})
	return faults.Step{Do: faults.DoStart, Process: name}
}

// killServer kills the trial's own server while any worker stands somewhere, and starts it again on its file, at once or when everybody
// has noticed. Once: a server that is down cannot be killed.
func (d *draw) killServer() {
	p := d.place()
	back := []faults.Step{{Do: faults.DoRestart, Process: faults.LineServer}}
	if d.chance(50) {
		back = append([]faults.Step{{Do: faults.DoPass, OffsetMS: pick(d, []int64{500, 2_000, 5_000})}}, back...)
	}
	d.rule(faults.Rule{Point: faults.Point{Boundary: p.boundary, When: d.side(p)}, Nth: 1 + d.IntN(p.most), Action: faults.Kill, Victim: faults.LineServer}, back...)
}

func (d *draw) kill() {
	w := d.unfated(false)
	if w == nil {
		return
	}
	p := d.place()
	d.rule(faults.Rule{Point: faults.Point{Boundary: p.boundary, When: d.side(p)}, Nth: 1 + d.IntN(p.most), Process: w.name, Action: faults.Kill}, d.replacement())
}

// freeze stops a worker past its lease or attempt. It is let go when another has done some of the work, or when all is done.
func (d *draw) freeze() {
	w := d.unfated(false)
	if w == nil {
		return
	}
	p := d.place()
	for p.holdsStore {
		p = d.place()
	}
	d.rule(faults.Rule{Point: faults.Point{Boundary: p.boundary, When: d.side(p)}, Nth: 1 + d.IntN(p.most), Process: w.name, Action: faults.Freeze}, d.thawed(w)...)
}

func (d *draw) thawed(w *worker) []faults.Step {
	start := d.replacement()
	until := faults.Step{Do: faults.DoPass, Kind: "ownership"}
	// On the journal another step of the frozen process may hold the write lock. Then nobody gets anything done, and what waits
	// for that would wait for ever.
	if d.Engine == temporal && d.chance(70) {
		until = faults.Step{Do: faults.DoLull, QuietMS: quiet}
		if d.chance(60) {
			until = faults.Step{Do: faults.DoAwait, Process: start.Process, Point: faults.Point{Boundary: faults.Outcome, When: faults.After}, Nth: 1 + d.IntN(4), QuietMS: quiet}
		}
	}
	steps := []faults.Step{start, until}
	if until.Do == faults.DoPass && d.chance(30) {
		steps = append(steps, until)
	}
	return append(steps, faults.Step{Do: faults.DoThaw, Process: w.name}, faults.Step{Do: faults.DoLand, Process: w.name, QuietMS: landed})
}

// apart is by how many occurrences two kills of the provider differ at least. Two requests that it holds at one time would both be
// hit, and it has one end.
const apart = 10

// atProvider hits at the provider's door or in its transaction: the message, a worker whose call may be inside, or the provider.
func (d *draw) atProvider() {
	p := pick(d, atProvider)
	r := faults.Rule{Point: faults.Point{Boundary: p.boundary, When: d.side(p)}, Nth: 1 + d.IntN(p.most), Process: "provider"}
	switch lot := d.IntN(100); {
	case lot < 25:
		if !slices.ContainsFunc(d.ended, func(nth int) bool { return max(nth-r.Nth, r.Nth-nth) < apart }) {
			d.ended = append(d.ended, r.Nth)
			r.Action = faults.Kill
			d.rule(r, faults.Step{Do: faults.DoRestart, Process: "provider"})
		}
	case lot < 50:
		if w := d.unfated(true); w != nil {
			r.Action, r.Victim = faults.Kill, w.name
			d.rule(r, d.replacement())
		}
	case lot < 60:
		if w := d.unfated(true); w != nil {
			r.Action, r.Victim = faults.Freeze, w.name
			d.rule(r, d.thawed(w)...)
		}
	default:
		actions := p.before
		if r.Point.When == faults.After {
			actions = p.after
		}
		if d.doubles(faults.ProviderRecv) && p.boundary == faults.ProviderRecv && r.Point.When == faults.Before {
			actions = append([]faults.Action{faults.Duplicate}, actions...)
		}
		d.message(r, actions)
	}
}

// disturbMessage hits a message of any worker, or of the one that is named.
func (d *draw) disturbMessage() {
	p := d.place()
	r := faults.Rule{Point: faults.Point{Boundary: p.boundary, When: d.side(p)}, Nth: 1 + d.IntN(2*p.most)}
	if d.chance(50) {
		r.Process, r.Nth = pick(d, d.workers).name, 1+d.IntN(p.most)
	}
	actions := p.before
	if r.Point.When == faults.After {
		actions = p.after
	}
	if d.doubles(faults.ProviderCall) && p.boundary == faults.ProviderCall && r.Point.When == faults.Before {
		actions = append([]faults.Action{faults.Duplicate}, actions...)
	}
	d.message(r, actions)
}

// doubles tells whether the network may deliver a send twice at a boundary: toward a provider that knows none again, nobody promised
// anything. In one round it is always the same boundary, because the model of the rules (MODEL) knows one copy of a message.
func (d *draw) doubles(at faults.Boundary) bool {
	return d.promises.Idempotent && at == []faults.Boundary{faults.ProviderCall, faults.ProviderRecv}[d.Number%2]
}

func (d *draw) message(r faults.Rule, actions []faults.Action) {
	if len(actions) == 0 {
		return
	}
	switch r.Action = pick(d, actions); r.Action {
	case faults.Delay:
		r.DelayMS = pick(d, []int64{200, 1_000, 2_000, 3_000, 5_000})
	case faults.Hold:
		d.rule(r, d.overtaken(r)...)
		return
	}
	d.rule(r)
}

// overtaken lets a message that is held go on when one or two that came later have been answered, of the same sender where the rule names
// one, or when none comes any more. As many stood there before as the rule counts, and the held one is not answered.
func (d *draw) overtaken(r faults.Rule) []faults.Step {
	answered := faults.Point{Boundary: r.Point.Boundary, When: faults.After}
	return []faults.Step{
		{Do: faults.DoAwait, Process: r.Process, Point: answered, Nth: r.Nth + d.IntN(2), QuietMS: quiet},
		{Do: faults.DoRelease, Rule: d.nextRule()},
	}
}

// mayFail lets some clients be killed, or cut off from what they asked for.
func (d *draw) mayFail(client string, b faults.Boundary) {
	if !d.chance(12) {
		return
	}
	at := pick(d, []faults.Boundary{b, b, faults.CallerReply})
	r := faults.Rule{Point: faults.Point{Boundary: at, When: pick(d, []faults.When{faults.Before, faults.After})}, Nth: 1, Process: client, Action: faults.Kill}
	if at == b && d.chance(50) {
		if r.Point.When == faults.After {
			d.message(r, lost)
		} else {
			d.message(r, completion)
		}
		return
	}
	d.rule(r)
}
