package comparison

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// unsoundness lists why a trial is not the trial that the matrix asks for, or why its evidence does not cover it.
type unsoundness struct {
	// incomplete: the trial broke off, or a part of its evidence is not there. What is absent proves nothing then.
	incomplete []string
	// unplanned: it came to its end and left its evidence, and something did not take place as planned.
	unplanned []string
	// missed: a fault did not hit, or the machine was too busy. Nothing in it is the engine's doing, and the trial may be played again.
	missed []string
}

func (u unsoundness) all() []string { return slices.Concat(u.incomplete, u.unplanned, u.missed) }

func unsound(t *trial) unsoundness {
	u := unsoundness{incomplete: completeness(t), missed: slices.Concat(neverFired(t), starved(t))}
	if t.Trial.Broken != "" {
		u.incomplete = append(u.incomplete, "the script did not reach its end: "+t.Trial.Broken)
	}
	if t.Trial.RestSeq == 0 {
		u.incomplete = append(u.incomplete, "the trial never came to rest")
	}
	for _, look := range []func(*trial) []string{faultsHit, racers, latecomer, inOrder, strayEnds, sightings} {
		u.unplanned = append(u.unplanned, look(t)...)
	}
	return u
}

// completeness asks that every part of the evidence says something and that the parts speak of the same trial.
func completeness(t *trial) []string {
	var reasons []string
	if len(t.Trace) == 0 {
		reasons = append(reasons, "the trace is empty")
	}
	if len(t.Provider.Orders) == 0 {
		reasons = append(reasons, "the provider's dump holds no order")
	}
	if t.Provider.Profile != t.Trial.Profile {
		reasons = append(reasons, fmt.Sprintf("the provider ran under profile %q", t.Provider.Profile))
	}
	if len(t.Trial.Processes) == 0 {
		reasons = append(reasons, "no process is recorded")
	}
	for i := 1; i < len(t.Trace); i++ {
		if t.Trace[i].Seq <= t.Trace[i-1].Seq {
			reasons = append(reasons, fmt.Sprintf("the trace is out of order at sequence number %d", t.Trace[i].Seq))
			break
		}
	}
	for _, name := range sortedKeys(t.Exports) {
		if _, expected := t.expect.Runs[name]; !expected {
			reasons = append(reasons, fmt.Sprintf("run %s is in the exports, and the matrix states no end for it", name))
		}
	}
	for _, r := range t.runs {
		if r.absent && !r.end.Absent {
			reasons = append(reasons, fmt.Sprintf("run %s has no export", r.name))
		}
		if !r.absent && r.export.View.Engine != t.Trial.Engine {
			reasons = append(reasons, fmt.Sprintf("the export of run %s comes from engine %q", r.name, r.export.View.Engine))
		}
	}
	return reasons
}

// proofs are what the harness must have seen before an action counts.
var proofs = map[faults.Action]string{
	faults.Kill: "signal 9", faults.Freeze: "state T", faults.Hold: "released", faults.Delay: "delayed",
	faults.Lose: "answered", faults.Duplicate: "answered", faults.Refuse: "answered", faults.Drop: "answered", faults.Abort: "answered",
	faults.PowerCut: "power lost", faults.Inspect: "inspected",
}

// neverFired asks that each rule of the schedule hit before the trial was over, unless it was drawn by lot.
func neverFired(t *trial) []string {
	var reasons []string
	for _, rule := range t.Trial.Schedule {
		fired, hit := t.fired(rule.Name)
		switch {
		case t.expect.ByLot:
		case hit && t.Trial.TooLate(fired):
			reasons = append(reasons, fmt.Sprintf("rule %s fired when everything was at rest already, and the trial was over before its effect", rule.Name))
		case !hit:
			reasons = append(reasons, fmt.Sprintf("rule %s never fired: %s of %s at %s, occurrence %d", rule.Name, rule.Action, orAny(rule.Process), rule.Point, rule.Nth))
		}
	}
	return reasons
}

// faultsHit asks that the schedule of the matrix was played, and that each rule that hit had its effect: a kill counts only if
// the wait status says signal 9.
func faultsHit(t *trial) []string {
	var reasons []string
	if len(t.Trial.Schedule)+len(t.expect.Schedule) > 0 && !reflect.DeepEqual(t.Trial.Schedule, t.expect.Schedule) {
		reasons = append(reasons, "another schedule was played than the matrix has")
	}
	if t.Trial.Arm == evidence.ArmClean && len(t.Trial.Schedule)+len(t.Trial.Fired) > 0 {
		reasons = append(reasons, "the clean arm was played with faults")
	}
	for _, rule := range t.Trial.Schedule {
		fired, hit := t.fired(rule.Name)
		if !hit || t.Trial.TooLate(fired) {
			continue
		}
		switch {
		case fired.Point != rule.Point || fired.Action != rule.Action:
			reasons = append(reasons, fmt.Sprintf("rule %s is recorded as %s at %s, the schedule says %s at %s", rule.Name, fired.Action, fired.Point, rule.Action, rule.Point))
		case fired.DoneSeq == 0:
			reasons = append(reasons, fmt.Sprintf("rule %s fired and its effect was never complete", rule.Name))
		case fired.Proof != proofs[fired.Action]:
			reasons = append(reasons, fmt.Sprintf("rule %s: the proof of %s is %q, not %q", rule.Name, fired.Action, fired.Proof, proofs[fired.Action]))
		case fired.Unsynced && !t.expect.Unsynced:
			reasons = append(reasons, fmt.Sprintf("rule %s: %s told of its commit at %s, and its store had synced nothing", rule.Name, fired.Victim, rule.Point.Boundary))
		}
		if fired.Action == faults.Kill {
			if victim, known := t.process(fired.Victim); !known || victim.WaitStatus != "signal 9" {
				reasons = append(reasons, fmt.Sprintf("rule %s: process %q ended with %q, not by signal 9", rule.Name, fired.Victim, victim.WaitStatus))
			}
		}
	}
	return reasons
}

func orAny(process string) string {
	if process == "" {
		return "any process"
	}
	return process
}

// racers asks that all racers stood at their points before the first of them was let go.
func racers(t *trial) []string {
	var lastHeld, firstGone int64
	var first string
	for _, name := range t.expect.Race {
		fired, hit := t.fired(name)
		if !hit {
			return []string{fmt.Sprintf("no race: rule %s never fired", name)}
		}
		lastHeld = max(lastHeld, fired.Seq)
		if fired.DoneSeq != 0 && (firstGone == 0 || fired.DoneSeq < firstGone) {
			firstGone, first = fired.DoneSeq, name
		}
	}
	if firstGone != 0 && firstGone <= lastHeld {
		return []string{fmt.Sprintf("no race: the one held by rule %s was let go (%d) before the last was held (%d)", first, firstGone, lastHeld)}
	}
	return nil
}

// latecomer asks that the old worker's own request, known by its fence, reached the provider after the other worker's record
// of the end: its receipt or refusal, or UNKNOWN where nobody may send twice.
func latecomer(t *trial) []string {
	late := t.expect.Late
	if late == nil {
		return nil
	}
	r, known := t.runNamed(late.Run)
	fired, hit := t.fired(late.Rule)
	if !known || !hit {
		return []string{fmt.Sprintf("no late worker: run %s or rule %s is not in the evidence", late.Run, late.Rule)}
	}
	held, found := t.crossingAt(fired.Seq)
	if !found || held.Fence == "" {
		return []string{fmt.Sprintf("no late worker: the crossing of rule %s shows no fence", late.Rule)}
	}
	recorded, end := t.endRecorded(r, late.Other, fired.Seq)
	if recorded == 0 {
		return []string{fmt.Sprintf("no late worker: %s never recorded the end of run %s", late.Other, r.name)}
	}
	for _, c := range t.crossings(faults.ProviderRecv, faults.Before, r.id) {
		if c.Fence == held.Fence && c.Seq > recorded {
			return nil
		}
	}
	return []string{fmt.Sprintf("no late worker: no request with fence %s arrived after %s had recorded %s (sequence number %d)", held.Fence, late.Other, end, recorded)}
}

// inOrder asks that the requests which rules had held or frozen, each known by its fence, reached the provider one after the other.
func inOrder(t *trial) []string {
	var last int64
	var former string
	for _, rule := range t.expect.InOrder {
		fired, _ := t.fired(rule)
		held, hit := t.crossingAt(fired.Seq)
		if !hit || held.Fence == "" {
			return []string{fmt.Sprintf("no order: rule %s held no request with a fence", rule)}
		}
		arrivals := t.crossings(faults.ProviderRecv, faults.Before, refund.OperationID(held.Operation))
		i := slices.IndexFunc(arrivals, func(c evidence.Crossing) bool { return c.Fence == held.Fence })
		switch {
		case i < 0:
			return []string{fmt.Sprintf("no order: the request of rule %s, with fence %s, never arrived", rule, held.Fence)}
		case arrivals[i].Seq < last:
			return []string{fmt.Sprintf("another order: the request of rule %s, with fence %s, arrived (%d) before that of rule %s (%d)", rule, held.Fence, arrivals[i].Seq, former, last)}
		}
		last, former = arrivals[i].Seq, rule
	}
	return nil
}

// endRecorded is the sequence number at which a process had recorded the run's end, after an event. Where a second send is not
// allowed, that is the first record by which it left the run UNKNOWN; Temporal makes one with a workflow task where nothing
// can be asked.
func (t *trial) endRecorded(r run, process string, after int64) (int64, faults.Boundary) {
	ends := []faults.Boundary{faults.Outcome}
	if !t.promise.idempotent {
		ends = append(ends, faults.Observed, faults.WorkflowTask)
	}
	for _, c := range t.Trace {
		if c.Seq > after && c.Process == process && c.Operation == string(r.id) && c.Point.When == faults.After && !refused(c) && slices.Contains(ends, c.Point.Boundary) {
			return c.Seq, c.Point.Boundary
		}
	}
	return 0, ""
}

func (t *trial) runNamed(name string) (run, bool) {
	for _, r := range t.runs {
		if r.name == name {
			return r, !r.absent
		}
	}
	return run{}, false
}

// strayEnds asks that no worker and no provider ended by itself: a process that crashed for a reason of its own, or left, is not
// the crash that the scenario is about.
func strayEnds(t *trial) []string {
	var reasons []string
	for _, p := range t.Trial.Processes {
		switch {
		case p.Role == "client", p.WaitStatus == "": // a client ends by itself; "" outlived the trial
		case p.WaitStatus == "exit 0" && t.played(faults.DoStop, p.Name):
		case p.WaitStatus == "signal 9" && (t.played(faults.DoKill, p.Name) || t.killed(p.Name)):
		default:
			reasons = append(reasons, fmt.Sprintf("process %s ended by itself: %s", p.Name, p.WaitStatus))
		}
	}
	return reasons
}

// played tells whether a step did something to a process or a run.
func (t *trial) played(verb faults.Verb, whom string) bool {
	return slices.ContainsFunc(t.Trial.Steps, func(s evidence.Step) bool {
		return s.Text == string(verb)+" "+whom || strings.HasPrefix(s.Text, string(verb)+" "+whom+" ")
	})
}

// killed tells whether a rule ended a process. Who cuts the power ends every process on the volume.
func (t *trial) killed(process string) bool {
	return slices.ContainsFunc(t.Trial.Fired, func(f evidence.Fired) bool {
		return f.Action == faults.Kill && f.Victim == process || f.Action == faults.PowerCut
	})
}

// sightings asks for what a trial must have shown to be about its scenario at all.
func sightings(t *trial) []string {
	var reasons []string
	for _, w := range t.expect.Witnesses {
		var seen int
		if w.Outcome != "" {
			seen = len(filter(t.Provider.Received, func(r evidence.Received) bool { return r.Outcome == w.Outcome }))
		} else {
			seen = len(filter(t.Trace, func(c evidence.Crossing) bool {
				return c.Point.String() == w.Point && (w.Process == "" || c.Process == w.Process) && (!w.Refused || turnedAway(c)) &&
					(w.Status == "" || c.Detail[faults.DetailStatus] == w.Status)
			}))
		}
		if seen < w.Least {
			reasons = append(reasons, fmt.Sprintf("not shown: %s (%s%s seen %d times, at least %d needed)", w.Why, w.Point, w.Outcome, seen, w.Least))
		}
	}
	return reasons
}

// starved asks that no call to the provider ran into its time-out where nothing that the trial did can have held it: a machine
// that was too busy to answer in time is a fault that nobody planned.
func starved(t *trial) []string {
	timeout := refund.Instant(t.Trial.Budget.CallTimeoutMS)
	if timeout == 0 || slices.ContainsFunc(t.Trial.Steps, slows) {
		return nil
	}
	var reasons []string
	for _, boundary := range []faults.Boundary{faults.ProviderCall, faults.LookupCall, faults.CloseCall} {
		for _, call := range t.crossings(boundary, faults.Before, "") {
			answer := slices.IndexFunc(t.Trace, func(c evidence.Crossing) bool {
				return c.Seq > call.Seq && c.Process == call.Process && c.Operation == call.Operation &&
					c.Fence == call.Fence && c.Point.Boundary == boundary && c.Point.When == faults.After
			})
			if answer < 0 || t.Trace[answer].At-call.At < timeout || t.disturbed(call.Seq, t.Trace[answer].Seq) {
				continue
			}
			reasons = append(reasons, fmt.Sprintf("%s of %s ran into its time-out after %d ms, and no fault held it: the machine was too busy",
				call.Point.Boundary, call.Process, t.Trace[answer].At-call.At))
		}
	}
	return reasons
}

// slows tells whether a step makes calls slow without hitting anybody at a point.
func slows(s evidence.Step) bool {
	verb, _, _ := strings.Cut(s.Text, " ")
	return slices.Contains([]faults.Verb{faults.DoCut, faults.DoSilence, faults.DoClock}, faults.Verb(verb))
}

// disturbed tells whether a fault had an effect on anybody between two events. A freeze has one until the thaw.
func (t *trial) disturbed(from, to int64) bool {
	return slices.ContainsFunc(t.Trial.Fired, func(f evidence.Fired) bool {
		until := f.DoneSeq
		if f.Action == faults.Freeze {
			until = 0
			for _, s := range t.Trial.Steps {
				if s.StartSeq > f.Seq && s.Text == string(faults.DoThaw)+" "+f.Victim {
					until = s.EndSeq
					break
				}
			}
		}
		return f.Seq < to && (until == 0 || until > from)
	})
}
