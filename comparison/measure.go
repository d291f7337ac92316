package comparison

import (
	"fmt"
	"slices"
	"strings"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// Measures are the columns of the report for one trial, each computed from its evidence.
type Measures struct {
	Fault       string // what hit, where; "" in the clean arm and where the script alone is the fault
	LastDurable string // the last fact that was durable in the engine when the fault hit
	FirstAction string // what a worker did first after it
	// Steps counts how often each boundary of a worker was entered, so that two arms can be compared.
	Steps map[faults.Boundary]int
	// FromTop counts the workflow tasks for which the workflow function ran again from its first line.
	FromTop  int
	Attempts []string // activities that completed in a later attempt than the first
	Reused   []Reused // recorded results that were used after the fault instead of being made again
	Removed  []Removal
	Entries  int
	Statuses []string // of the runs, sorted by name
	Model    int      // requests billed
	Tokens   int64
	Recovery Recovery
	Elapsed  int64 // of the whole trial, in milliseconds
	Facts    int   // durable facts of all runs
	Raw      int   // bytes of their raw histories or journals
	CPU      int64 // of the workers, in milliseconds
	RSS      int64 // the largest of a worker, in kB
}

// Reused is one result that was not made a second time.
type Reused struct {
	name  string
	means string // the record or promise that made it possible
	by    Guarantor
}

func (r Reused) String() string { return r.name }

// Recovery is the time that the fault cost, in milliseconds; -1 where there is none to measure.
type Recovery struct {
	ToFirst int64 // from the hit to the first step of a worker on the same operation
	Script  int64 // the part of it until the script had done everything that this step needed, such as starting a worker
	ToEnd   int64 // from the hit to the run's durable end
	Explain string
}

func measure(t *trial) Measures {
	m := Measures{
		Steps: map[faults.Boundary]int{}, Entries: len(t.Provider.Ledger), Model: len(t.Provider.Bill),
		Elapsed: int64(t.Trial.EndedAt - t.Trial.StartedAt), Recovery: Recovery{ToFirst: -1, Script: -1, ToEnd: -1},
		Removed: removals(t),
	}
	for _, request := range t.Provider.Bill {
		m.Tokens += request.Tokens
	}
	for _, r := range t.runs {
		if r.absent {
			m.Statuses = append(m.Statuses, "nothing stored")
			continue
		}
		m.Statuses = append(m.Statuses, statusText(r))
		m.Facts += len(r.export.Facts)
		m.Raw += len(r.export.Raw)
	}
	for _, p := range t.Trial.Processes {
		if p.Role == "worker" {
			m.CPU += p.CPUMS
			m.RSS = max(m.RSS, p.MaxRSSKB)
		}
	}
	attempts := map[string]int{}
	for _, c := range t.Trace {
		if !t.isWorker(c.Process) {
			continue
		}
		if entered(c) {
			m.Steps[c.Point.Boundary]++
		}
		if c.Point.When == faults.Before && c.Detail[faults.DetailReplay] == faults.ReplayTop {
			m.FromTop++
		}
		var attempt int
		if _, err := fmt.Sscan(c.Detail[faults.DetailAttempt], &attempt); err == nil {
			attempts[c.Detail["activity"]] = max(attempts[c.Detail["activity"]], attempt)
		}
	}
	for _, activity := range sortedKeys(attempts) {
		if attempts[activity] > 1 {
			m.Attempts = append(m.Attempts, fmt.Sprintf("%s attempt %d", activity, attempts[activity]))
		}
	}
	if hit, ok := t.mainFault(); ok {
		measureFault(t, hit, &m)
	}
	return m
}

// entered tells whether a crossing begins a step. A claim is known only by its success: looking for work finds none most times.
func entered(c evidence.Crossing) bool {
	if c.Point.Boundary == faults.Claim {
		return c.Point.When == faults.After
	}
	return c.Point.When == faults.Before
}

func (t *trial) isWorker(process string) bool {
	p, known := t.process(process)
	return known && p.Role == "worker"
}

// mainFault is the one that recovery is measured from: the last kill or freeze, or else the first rule that hit.
func (t *trial) mainFault() (evidence.Fired, bool) {
	for i := len(t.Trial.Fired) - 1; i >= 0; i-- {
		if action := t.Trial.Fired[i].Action; action == faults.Kill || action == faults.Freeze {
			return t.Trial.Fired[i], true
		}
	}
	if len(t.Trial.Fired) == 0 {
		return evidence.Fired{}, false
	}
	return t.Trial.Fired[0], true
}

func measureFault(t *trial, hit evidence.Fired, m *Measures) {
	var faultsHit []string
	for _, rule := range t.Trial.Schedule { // not in the order in which racers came to stand
		if fired, ok := t.fired(rule.Name); ok {
			faultsHit = append(faultsHit, fmt.Sprintf("%s %s at %s", fired.Action, fired.Victim, fired.Point))
		}
	}
	m.Fault = strings.Join(faultsHit, ", ")
	operation := t.operationAt(hit.Seq)
	if hit.Action == faults.Hold { // what was held cannot recover before it is let go
		hit.Seq, hit.At = hit.DoneSeq, t.timeOf(hit.DoneSeq)
	}
	stopped := hit.Action == faults.Kill || hit.Action == faults.Freeze
	var steps []evidence.Crossing
	for _, c := range t.Trace {
		if operation != "" && c.Operation != "" && c.Operation != operation {
			continue
		}
		if c.Seq <= hit.Seq && c.Point.When == faults.After && !refused(c) && durable(c.Point.Boundary, t.Trial.Engine) != "" {
			m.LastDurable = string(c.Point.Boundary)
		}
		if c.Seq > hit.Seq && entered(c) && t.isWorker(c.Process) && !(stopped && c.Process == hit.Victim) &&
			(c.Operation != "" || c.Point.Boundary == faults.ModelCall || c.Point.Boundary == faults.OrderCall) {
			steps = append(steps, c)
		}
	}
	if len(steps) > 0 {
		m.Recovery.ToFirst = int64(steps[0].At - hit.At)
		m.Recovery.Script = t.scriptBetween(hit, steps[0])
		m.FirstAction = firstActions(steps)
	}
	for _, r := range t.present() {
		if ended, ok := t.endedAt(r); ok && (operation == "" || string(r.id) == operation) && ended >= hit.At {
			m.Recovery.ToEnd = max(m.Recovery.ToEnd, int64(ended-hit.At))
		}
	}
	m.Recovery.Explain = explain(t.Trial, hit)
	m.Reused = reused(t, hit)
}

// scriptBetween is the time from the hit to the last thing before a crossing that script or client did, -1 where there was none.
func (t *trial) scriptBetween(hit evidence.Fired, first evidence.Crossing) int64 {
	last := hit.At - 1
	consider := func(seq int64, at refund.Instant) {
		if seq > hit.Seq && seq < first.Seq && at > last && at <= first.At {
			last = at
		}
	}
	for _, step := range t.Trial.Steps {
		if !step.Waits {
			consider(step.EndSeq, step.EndedAt)
		}
	}
	for _, c := range t.Trace {
		if p, known := t.process(c.Process); known && p.Role == "client" && c.Point.When == faults.After {
			consider(c.Seq, c.At)
		}
	}
	return int64(last - hit.At)
}

func (t *trial) operationAt(seq int64) string {
	c, _ := t.crossingAt(seq)
	return c.Operation
}

// durable says what lies behind a boundary on an engine, "" where nothing of the engine's does.
func durable(boundary faults.Boundary, engine string) string {
	for _, meaning := range faults.Boundaries() {
		if meaning.Boundary != boundary || boundary == faults.ProviderCommit {
			continue
		}
		text := meaning.Handrolled
		if engine == "temporal" {
			text = meaning.Temporal
		}
		if strings.HasPrefix(text, "nothing") {
			return ""
		}
		return text
	}
	return ""
}

// firstActions names the first step after the fault and, where that only takes the run up, the first one that goes on with it.
func firstActions(steps []evidence.Crossing) string {
	first := steps[0]
	text := fmt.Sprintf("%s: %s", first.Process, first.Point.Boundary)
	takesUp := func(b faults.Boundary) bool {
		return b == faults.Claim || b == faults.Renewal || b == faults.WorkflowTask || b == faults.ActivityTask
	}
	if !takesUp(first.Point.Boundary) {
		return text
	}
	for _, c := range steps[1:] {
		if !takesUp(c.Point.Boundary) {
			return text + ", " + string(c.Point.Boundary)
		}
	}
	return text
}

// explain names the time-outs of the budget that had to pass before the engine could notice what happened.
func explain(trial evidence.Trial, hit evidence.Fired) string {
	b := trial.Budget
	temporal := trial.Engine == "temporal"
	backoff := fmt.Sprintf("backoff %d", b.BackoffMS)
	if temporal {
		backoff += ", timer up to 1000 late"
	}
	switch hit.Action {
	case faults.Hold:
		return "none: counted from the release"
	case faults.Duplicate:
		return "none"
	case faults.Lose, faults.Refuse, faults.Drop: // the caller sees it at once
		return backoff
	case faults.Kill, faults.Freeze:
	default:
		return fmt.Sprintf("call time-out %d, %s", b.CallTimeoutMS, backoff)
	}
	if !temporal {
		return fmt.Sprintf("lease %d", b.LeaseMS)
	}
	var text string
	switch hit.Point.Boundary {
	case faults.Intake, faults.Decision, faults.CallerReply:
		text = fmt.Sprintf("workflow task %d", b.WorkflowTaskTimeoutMS)
	case faults.Intent, faults.WorkflowTask, faults.Finish:
		text = fmt.Sprintf("workflow task %d", b.WorkflowTaskTimeoutMS)
		if hit.Point.When == faults.After { // the server has handed the scheduled activity to a worker already
			text = fmt.Sprintf("start-to-close %d, %s", b.StartToCloseMS, backoff)
		}
	default:
		text = fmt.Sprintf("start-to-close %d, %s", b.StartToCloseMS, backoff)
	}
	if b.StickyTimeoutMS > 0 {
		text += fmt.Sprintf(", sticky queue %d", b.StickyTimeoutMS)
	}
	if hit.Action == faults.Freeze {
		text += ", again for each task that the frozen worker's open polls took"
	}
	return text
}

// reused lists the recorded results that were there when the fault hit and were not made again, and the receipts that the
// provider gave a second time.
func reused(t *trial, hit evidence.Fired) []Reused {
	var results []Reused
	for _, result := range []struct {
		name   string
		record faults.Boundary
		makers []faults.Boundary
	}{
		{"proposal", faults.Proposal, []faults.Boundary{faults.ModelCall, faults.Proposal}},
		{"decision", faults.Decision, []faults.Boundary{faults.Decision}},
		{"receipt or refusal", faults.Outcome, []faults.Boundary{faults.ProviderCall, faults.LookupCall, faults.CloseCall, faults.Outcome}},
	} {
		recorded := filter(t.crossings(result.record, faults.After, ""), func(c evidence.Crossing) bool { return c.Seq <= hit.Seq && !refused(c) })
		again := 0
		for _, maker := range result.makers {
			again += len(filter(t.crossings(maker, faults.Before, ""), func(c evidence.Crossing) bool { return c.Seq > hit.Seq }))
		}
		if len(recorded) > 0 && again == 0 {
			results = append(results, Reused{result.name, "recorded " + result.name, ByEngine})
		}
	}
	for _, call := range []struct{ verb, means string }{{"submit", "operation id"}, {"lookup", "look-up"}, {"close", "close"}} {
		given := slices.ContainsFunc(t.present(), func(r run) bool {
			return r.export.View.Status == refund.StatusConfirmed &&
				slices.ContainsFunc(t.received(call.verb, r.id), func(x evidence.Received) bool { return x.Outcome == "receipt" })
		})
		if given {
			results = append(results, Reused{"the provider's receipt by " + call.verb, call.means, ByProvider})
		}
	}
	return results
}
