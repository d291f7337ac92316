package exploration

import (
	"fmt"
	"slices"
	"strings"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// Spans of time in milliseconds by which reactions reckon. A machine that is busy needs some of its own beside each time-out.
const (
	margin = 1_500
	// timerShift is how late the server of Temporal may fire a timer.
	timerShift = 1_000
	// landing is how long a process that was let go must be silent before it has done what it was frozen in.
	landing = 1_200
)

// Plan is the trial as data for the harness. The one script of the flow stands whatever hits; what is done about each fault is
// a reaction: another worker for a dead or frozen one, the same command again for a client, the provider started again. What
// is frozen is let go once the others have come to rest without it, so that it acts late.
func (t Trial) Plan(budget evidence.Budget) (faults.Plan, error) {
	flow, c, err := t.course()
	if err != nil {
		return faults.Plan{}, err
	}
	plan := faults.Plan{
		Profile:   t.Profile,
		World:     faults.World{Orders: []faults.Order{{ID: order, Currency: "EUR", Captured: capture, Version: 1}}},
		Script:    append(flow.script(c), faults.Step{Do: faults.DoRest, QuietMS: t.quiet(c, budget), StuckMS: max(t.quiet(c, budget), stuck)}),
		Schedule:  append(faults.Schedule{}, flow.rules(c)...),
		Reactions: map[string][]faults.Step{},
	}
	used := map[string]int{workers[0]: 1}
	for i, f := range t.Faults {
		name := ruleName(i)
		rule := faults.Rule{Name: name, Point: f.Point, Nth: f.Nth, Process: f.Process, Action: f.Action}
		if f.Victim != f.Process {
			rule.Victim = f.Victim
		}
		plan.Schedule = append(plan.Schedule, rule)
		steps, err := t.reaction(i, plan.Script, used, t.lull(c, budget))
		if err != nil {
			return faults.Plan{}, err
		}
		plan.Reactions[name] = steps
	}
	return plan, plan.Schedule.Validate()
}

// ruleName is the name of the rule of fault number i, from 0.
func ruleName(i int) string { return fmt.Sprintf("fault-%d", i+1) }

func (t Trial) course() (Flow, course, error) {
	flow, err := FlowNamed(t.Flow)
	if err != nil {
		return flow, course{}, err
	}
	profile, err := refund.ProfileNamed(refund.ProfileName(t.Profile))
	return flow, course{engine: t.Engine, profile: profile}, err
}

// reaction is what is done about fault number i, from 0. used counts the workers, and the runs of each client command.
func (t Trial) reaction(i int, script []faults.Step, used map[string]int, lull int64) ([]faults.Step, error) {
	f := t.Faults[i]
	var instead []faults.Step
	switch KindOf(f.Victim) {
	case Worker:
		if used[workers[0]] == len(workers) {
			return nil, fmt.Errorf("%s: there are only %d workers", f, len(workers))
		}
		instead = []faults.Step{{Do: faults.DoStart, Process: workers[used[workers[0]]]}}
		used[workers[0]]++
	case Client:
		again, err := repeated(f.Victim, script, used)
		if err != nil {
			return nil, err
		}
		instead = []faults.Step{again}
	case Provider:
		if f.Action == faults.Kill {
			return []faults.Step{{Do: faults.DoRestart, Process: f.Victim}}, nil
		}
		// Its caller has given up by then, so the request lands late.
		return []faults.Step{
			{Do: faults.DoAwait, Point: faults.Point{Boundary: faults.ProviderCall, When: faults.After}, Process: f.Caller, Nth: f.Call, QuietMS: stuck / 4},
			{Do: faults.DoThaw, Process: f.Victim},
		}, nil
	}
	if f.Action == faults.Kill {
		return instead, nil
	}
	wait := faults.Step{Do: faults.DoLull, QuietMS: lull, StuckMS: max(lull, stuck)}
	late := []faults.Step{{Do: faults.DoThaw, Process: f.Victim}, {Do: faults.DoLand, Process: f.Victim, QuietMS: landing}}
	if t.mayHoldTheFile(i) {
		// Nobody can do anything before it is let go. Its lease is over by then.
		return append([]faults.Step{{Do: faults.DoPass, Kind: "ownership", Run: run}}, append(late, instead...)...), nil
	}
	return append(append(instead, wait), late...), nil
}

// mayHoldTheFile tells whether the process that fault number i freezes may stand inside the journal's transaction: because the
// point lies in it, or because the point is one of the provider's, which an earlier fault has frozen, so that the worker may
// have given its request up and go on while that is still to be read.
func (t Trial) mayHoldTheFile(i int) bool {
	f := t.Faults[i]
	if f.Point.Boundary == faults.StoreCommit {
		return true
	}
	late := slices.ContainsFunc(t.Faults[:i], func(earlier Fault) bool {
		return earlier.Action == faults.Freeze && KindOf(earlier.Victim) == Provider
	})
	return late && t.Engine == Handrolled && f.Victim != f.Process
}

// repeated is the command of a client once more, as of a caller who got no answer: the same request id or decision id under
// a new process name.
func repeated(client string, script []faults.Step, used map[string]int) (faults.Step, error) {
	base, _, _ := strings.Cut(client, againMark)
	for _, step := range script {
		if step.Process == base && KindOf(base) == Client {
			used[base]++
			step.Process = fmt.Sprintf("%s%s%d", base, againMark, used[base]+1)
			step.Background = true
			return step, nil
		}
	}
	return faults.Step{}, fmt.Errorf("the script has no command of client %q", client)
}

// againMark stands between a client's name and the number of its try.
const againMark = ".try-"

// parks tells whether a run may be left to a person, so that no ask can show its rest.
func (c course) parks() bool { return !c.profile.Idempotent && c.profile.Lookup == refund.LookupNone }

// quiet is how long nothing may be announced before a run that is not over is at rest. Where it may still ask, its asks show
// that, and silence means that it is stuck; a parked run says nothing, and no recovery may be due any more.
func (t Trial) quiet(c course, b evidence.Budget) int64 {
	switch {
	case t.Flow == Expired:
		return stuck + hurry
	case !c.parks():
		return stuck
	case c.engine == Temporal:
		return max(b.StartToCloseMS, b.WorkflowTaskTimeoutMS) + timerShift + margin
	}
	return b.LeaseMS + b.CallTimeoutMS/2 + margin
}

// lull is the same while a process is frozen. One of Temporal's keeps its polls open, and the server hands it tasks that it
// swallows: each costs its own time-out, one after the other.
func (t Trial) lull(c course, b evidence.Budget) int64 {
	quiet := t.quiet(c, b)
	if c.parks() && c.engine == Temporal {
		quiet += b.StartToCloseMS + b.WorkflowTaskTimeoutMS
	}
	return quiet
}
