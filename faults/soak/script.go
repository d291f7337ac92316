package soak

import (
	"fmt"

	"refundlab/faults"
	"refundlab/refund"
)

// wave is how many refunds are asked for before the first of them is decided.
const wave = 8

// waiting is how long a person's command waits for its verdict: longer than any recovery.
const waiting = "40s"

// people who may decide, and who settle. The requester is alice.
var (
	people   = []string{"bob", "carol", "dave", "erin"}
	settlers = []string{"dora", "ed"}
)

// script plays the refunds in waves: all are asked for, some of them impatiently, then decided, and while they are sent the next
// wave is asked for. In between the world is disturbed.
func (d *draw) script() {
	for _, name := range []string{"a", "b", "c"} {
		d.workers = append(d.workers, &worker{name: name, initial: true})
		d.say(faults.Step{Do: faults.DoStart, Process: name})
	}
	for begin := 0; begin < len(d.runs); begin += wave {
		runs := d.runs[begin:min(begin+wave, len(d.runs))]
		d.disturb()
		d.ask(runs, true)
		d.asked = d.runs[:begin+len(runs)]
		for _, r := range runs {
			d.decide(r)
			if d.chance(15) {
				d.merchant()
			}
			if d.chance(30) {
				d.read(pick(d, d.asked))
			}
			if d.chance(15) {
				d.settle(pick(d, d.asked))
			}
			if d.Engine == temporal && d.chance(6) { // the journal has no cancellation
				d.cancel(pick(d, d.asked))
			}
		}
		d.mend()
	}
	d.ask(d.runs, false) // somebody patient asks again about everything, and sees how it ended
	var last []string
	for _, r := range d.runs {
		if !r.undecided {
			d.say(proposed(r.name))
			last = append(last, d.background(r.lastDecision()))
			r.decided = append(r.decided, "d-last")
		}
		if d.chance(40) {
			d.read(r)
		}
	}
	// Who was told that a frozen worker holds the store says it once more; to everybody else it says the same as before.
	for _, name := range last {
		d.say(faults.Step{Do: faults.DoJoin, Process: name})
	}
	some := 20
	if !d.promises.Idempotent {
		some = 60 // by now some are UNKNOWN for good, and the books hold what has become of others
	}
	for _, r := range d.runs {
		if d.chance(some) {
			d.settle(r)
		}
	}
	for _, r := range d.runs {
		if !r.undecided {
			d.background(r.lastDecision())
		}
	}
	if d.Profile == refund.ProfileStale {
		d.say(faults.Step{Do: faults.DoCatchUp})
	}
	rest := faults.Step{Do: faults.DoRest, QuietMS: quiet, StuckMS: stuck}
	if d.promises.Idempotent {
		rest.QuietMS = stuck // what may be sent again is not left to a person, however long its pause has grown while a line was cut
	}
	d.say(rest)
}

func (d *draw) say(s faults.Step) { d.plan.Script = append(d.plan.Script, s) }

// background says a client's command under a name of its own and returns that name.
func (d *draw) background(s faults.Step) string {
	d.clients++
	s.Process, s.Background = fmt.Sprintf("%s-%s-%d", s.Do, s.Run, d.clients), true
	d.say(s)
	return s.Process
}

// proposed waits until a person has something to decide on, or nothing comes any more.
func proposed(run string) faults.Step {
	return faults.Step{Do: faults.DoAwait, Point: faults.Point{Boundary: faults.Proposal, When: faults.After}, Run: run, QuietMS: quiet}
}

// lastDecision is the approval of somebody who sees to it that every run is decided.
func (r *run) lastDecision() faults.Step {
	return faults.Step{Do: faults.DoApprove, Run: r.name, By: "zoe", Decision: "d-last", Args: []string{"--wait", waiting}}
}

// ask says requests, the impatient ones several times and disturbed by faults. Each is also said by a client whom no fault hits.
func (d *draw) ask(runs []*run, impatient bool) {
	var names []string
	for _, r := range runs {
		for n := d.IntN(2); impatient && n >= 0; n-- {
			names = append(names, d.background(r.request))
			d.mayFail(names[len(names)-1], faults.Intake)
		}
		if impatient && d.chance(12) { // the same key for something else (I9); whoever is first has it
			other := r.request
			other.Amount += 100
			names = append(names, d.background(other))
		}
		names = append(names, d.background(r.request))
	}
	for _, name := range names {
		d.say(faults.Step{Do: faults.DoJoin, Process: name})
	}
}

// decide says what people do about one run: nothing, one decision, or several that compete; some are said twice, some under the
// id of another, some before there is anything to decide on.
func (d *draw) decide(r *run) {
	if r.undecided {
		if d.chance(50) {
			d.decision(r, faults.DoApprove, "alice") // the requester may not
		}
		return
	}
	if d.chance(85) {
		d.say(proposed(r.name))
	}
	if d.chance(15) {
		d.decision(r, faults.DoApprove, "alice")
	}
	for range 1 + d.IntN(3) {
		verb := faults.DoApprove
		if d.chance(20) {
			verb, r.rejects = faults.DoReject, true
		}
		d.decision(r, verb, pick(d, people))
	}
}

func (d *draw) decision(r *run, verb faults.Verb, person string) {
	id := fmt.Sprintf("d%d", len(r.decided)+1)
	if len(r.decided) > 0 && d.chance(15) {
		id = pick(d, r.decided) // known already: the same content is a repetition, other content a conflict
	} else {
		r.decided = append(r.decided, id)
	}
	step := faults.Step{Do: verb, Run: r.name, By: person, Decision: id, Args: []string{"--wait", waiting}}
	d.mayFail(d.background(step), faults.Decision)
	if d.chance(35) {
		d.background(step) // the impatient say it again
	}
}

func (d *draw) read(r *run) { d.background(faults.Step{Do: faults.DoStatus, Run: r.name}) }

// settle lets a person settle a run, whatever has become of it: most times there is nothing to settle, and that is said. The person
// does what the profile offers, or what it does not, or brings a receipt: the run's own, or by mistake another's. Some say it twice,
// and some are heard with something else under the same id.
func (d *draw) settle(r *run) {
	kinds := []refund.SettlementKind{refund.SettlePresumedAbsent, refund.SettleClose}
	if d.promises.Close {
		kinds[0], kinds[1] = kinds[1], kinds[0]
	}
	step := faults.Step{Do: faults.DoSettle, Run: r.name, By: pick(d, settlers), Kind: string(kinds[0]), Decision: fmt.Sprintf("s%d", 1+d.IntN(2))}
	switch lot := d.IntN(100); {
	case lot < 35:
		step.Kind, step.IfAny = string(refund.SettleReceipt), true
		if d.chance(30) {
			step.Receipt = pick(d, d.asked).name
		}
	case lot < 45:
		step.Kind = string(kinds[1])
	}
	name := d.background(step)
	if d.chance(12) {
		d.rule(faults.Rule{Point: faults.Point{Boundary: faults.CallerReply, When: d.either()}, Nth: 1, Process: name, Action: faults.Kill})
	}
	if d.chance(30) {
		d.background(step)
	}
	if d.chance(25) {
		switch d.IntN(3) {
		case 0:
			step.By = settlers[0] + settlers[1] // neither of them
		case 1:
			step.Args = []string{"--reason", "settled by somebody who knows better"}
		default:
			step.Kind, step.IfAny, step.Receipt = string(pick(d, kinds)), false, ""
		}
		d.background(step)
	}
}

// cancel asks the engine to cancel a run, whatever has become of it.
func (d *draw) cancel(r *run) {
	r.cancelled = true
	d.background(faults.Step{Do: faults.DoCancel, Run: r.name})
}

// merchant changes an order, or what stands between it and the world.
func (d *draw) merchant() {
	switch {
	case d.chance(35) && !d.promises.Shared:
		d.say(faults.Step{Do: faults.DoOrderVersion, Order: pick(d, d.orders).ID})
	case d.chance(40):
		d.say(faults.Step{Do: faults.DoModel, Answers: []string{pick(d, []string{"cut", "prose", "larger-amount", "other-order", "status-500", "status-429", "slow"})}})
	case d.Profile == refund.ProfileStale && d.chance(60):
		d.say(faults.Step{Do: faults.DoCatchUp})
	case !d.promises.Shared:
		d.say(faults.Step{Do: faults.DoProvider, Answers: []string{pick(d, []string{"malformed-receipt", "status-500", "status-429", "status-409", "status-503"})}})
	}
}

// disturb breaks something for the length of a wave. mend ends it.
func (d *draw) disturb() {
	line := faults.LineProvider
	if d.promises.Shared {
		line = faults.LineModel
	}
	if d.Engine == temporal && d.chance(40) {
		line = faults.LineServer
	}
	if d.chance(12) {
		cut := faults.Step{Do: pick(d, []faults.Verb{faults.DoCut, faults.DoSilence}), Kind: line, Process: pick(d, []string{"a", "b", "c"})}
		d.say(cut)
		cut.Do = faults.DoRestore
		d.broken = append(d.broken, cut)
	}
	// Under retention a status is read by the reader's clock, and says RETRYABLE as long as that has not seen the memory end.
	if d.chance(8) && d.Profile != refund.ProfileRetention {
		d.say(d.clock())
	}
}

// clock steps the host's wall clock, which stays so until it is stepped again, or lets one worker alone read ten minutes ahead.
func (d *draw) clock() faults.Step {
	step := faults.Step{Do: faults.DoClock, Kind: faults.ClockHost, OffsetMS: pick(d, []int64{-3_600_000, 600_000})}
	if d.chance(33) {
		step.Kind, step.Process, step.OffsetMS = faults.ClockProcess, pick(d, []string{"a", "b", "c"}), 600_000
	}
	return step
}

func (d *draw) mend() {
	for _, s := range d.broken {
		d.say(s)
	}
	d.broken = nil
}
