package soak

import (
	"maps"
	"slices"
	"time"

	"refundlab/faults"
)

// Shrinker makes a trial that fails smaller: first its faults, then its refunds, then what is done about those that are left, then
// its workers.
type Shrinker struct {
	// Fails plays a candidate and tells whether it fails as the first trial did.
	Fails func(faults.Saved) bool
	// More tells whether there is budget for another candidate.
	More func() bool
	// Smaller is told each time that a smaller trial was found.
	Smaller func(faults.Saved)
	// Ending tells that the trial fails by how a run ends, or that it does not. Without a worker or a decision no run ends as it should,
	// with the fault or without, so those are then not left out.
	Ending bool
}

// Shrink returns the smallest trial that it found; the given one where nothing smaller fails.
func (s Shrinker) Shrink(trial faults.Saved) faults.Saved {
	for {
		before := size(trial.Plan)
		trial = s.earlier(s.reduce(trial, faultUnits(trial.Plan)))
		trial = s.reduce(trial, runUnits(trial.Plan))
		for _, units := range []func(faults.Plan) []*unit{stepUnits, workerUnits} {
			trial = s.reduce(trial, s.dispensable(trial.Plan, units(trial.Plan)))
		}
		if size(trial.Plan) == before || !s.More() { // what a step needed that is gone now may be gone too
			return trial
		}
	}
}

// earlier lets rules hit at an earlier occurrence: a rule that hits the ninth time needs everything that comes before.
func (s Shrinker) earlier(trial faults.Saved) faults.Saved {
	for i := range trial.Plan.Schedule {
		for _, nth := range []int{1, 2, trial.Plan.Schedule[i].Nth / 2} {
			if nth < 1 || nth >= trial.Plan.Schedule[i].Nth || !s.More() {
				continue
			}
			candidate := trial
			candidate.Plan.Schedule = slices.Clone(trial.Plan.Schedule)
			candidate.Plan.Schedule[i].Nth = nth
			if s.Fails(candidate) {
				trial = candidate
				s.Smaller(trial)
				break
			}
		}
	}
	return trial
}

// Silence is the longest that a step of a plan lets a run be silent before it takes it to be at rest. A trial with a run that never ends
// takes at least that long.
func Silence(p faults.Plan) time.Duration {
	var longest int64
	for _, s := range p.Steps() {
		longest = max(longest, s.QuietMS, s.StuckMS)
	}
	return time.Duration(longest) * time.Millisecond
}

func size(p faults.Plan) int { return len(p.Schedule) + len(p.Steps()) }

func (s Shrinker) reduce(trial faults.Saved, units []*unit) faults.Saved {
	best := trial
	minimal(units, func(kept []*unit) bool {
		gone := slices.DeleteFunc(slices.Clone(units), func(u *unit) bool { return slices.Contains(kept, u) })
		candidate := without(trial, gone)
		if !s.Fails(candidate) {
			return false
		}
		best = candidate
		s.Smaller(best)
		return true
	}, s.More)
	return best
}

// unit is a part of a plan that is left out as a whole: a rule with its reaction, or steps of the script.
type unit struct {
	rule  string
	steps []int
}

// faultUnits are the rules, and what the script itself breaks and mends.
func faultUnits(p faults.Plan) []*unit {
	var units []*unit
	for _, rule := range p.Schedule {
		units = append(units, &unit{rule: rule.Name})
	}
	return append(units, stepsBy(p, func(s faults.Step) string {
		switch s.Do {
		case faults.DoCut, faults.DoSilence, faults.DoRestore:
			return "line " + s.Kind + " of " + s.Process
		case faults.DoKill, faults.DoRestart:
			return "restart of " + s.Process
		case faults.DoOrderVersion, faults.DoModel, faults.DoProvider, faults.DoClock, faults.DoForeign:
			return string(s.Do) + " " + s.Order
		}
		return ""
	})...)
}

func runUnits(p faults.Plan) []*unit {
	clients := map[string]string{} // the run that a client speaks about
	for _, s := range p.Script {
		if s.Run != "" && s.Process != "" {
			clients[s.Process] = s.Run
		}
	}
	return stepsBy(p, func(s faults.Step) string {
		if s.Do == faults.DoJoin {
			return clients[s.Process]
		}
		return s.Run
	})
}

// stepUnits are the commands of clients, each with its join, and what is waited for.
func stepUnits(p faults.Plan) []*unit {
	var units []*unit
	for i, s := range p.Script {
		switch s.Do {
		case faults.DoStart, faults.DoJoin, faults.DoRest:
		default:
			units = append(units, &unit{steps: []int{i}})
		}
	}
	return units
}

func workerUnits(p faults.Plan) []*unit {
	return stepsBy(p, func(s faults.Step) string {
		if s.Do == faults.DoStart {
			return s.Process
		}
		return ""
	})
}

// dispensable are the units that may be left out while the runs stay.
func (s Shrinker) dispensable(p faults.Plan, units []*unit) []*unit {
	if !s.Ending {
		return units
	}
	needed := toEnd(p)
	return slices.DeleteFunc(units, func(u *unit) bool {
		return slices.ContainsFunc(u.steps, func(i int) bool { return needed[i] })
	})
}

// toEnd are the steps of a script without which no run ends: the last start of a worker, whom no later one replaces, and of each run
// its last decision with the request and the wait for the proposal that come before it: a decision on nothing is refused.
func toEnd(p faults.Plan) map[int]bool {
	needed, met := map[int]bool{}, map[string]bool{}
	for i, s := range slices.Backward(p.Script) {
		what, decided := "", "decision of "+s.Run
		switch {
		case s.Do == faults.DoStart:
			what = "worker"
		case s.Do == faults.DoApprove, s.Do == faults.DoReject:
			what = decided
		case met[decided] && (s.Do == faults.DoRequest || s.Do == faults.DoAwait && s.Point.Boundary == faults.Proposal):
			what = string(s.Do) + " of " + s.Run
		}
		if what != "" && !met[what] {
			needed[i], met[what] = true, true
		}
	}
	return needed
}

// stepsBy makes a unit of all steps of the script with the same name, in the order of their first steps.
func stepsBy(p faults.Plan, name func(faults.Step) string) []*unit {
	byName := map[string]*unit{}
	var units []*unit
	for i, s := range p.Script {
		n := name(s)
		if n == "" {
			continue
		}
		if byName[n] == nil {
			byName[n] = &unit{}
			units = append(units, byName[n])
		}
		byName[n].steps = append(byName[n].steps, i)
	}
	return units
}

// without is the trial without some of its units, and without what then speaks of nothing: joins of clients that are not there,
// receipts of runs that nobody asks for, rules that could hit only such clients, ends of such runs.
func without(trial faults.Saved, gone []*unit) faults.Saved {
	rules, steps := map[string]bool{}, map[int]bool{}
	for _, u := range gone {
		rules[u.rule] = true
		for _, i := range u.steps {
			steps[i] = true
		}
	}
	p := trial.Plan
	absent, asked := map[string]bool{}, map[string]bool{}
	for i, s := range p.Script {
		if s.Run == "" || s.Process == "" || s.Do == faults.DoAwait {
			continue
		}
		absent[s.Process] = steps[i]
		asked[s.Run] = asked[s.Run] || s.Do == faults.DoRequest && !steps[i]
	}
	p.Script = nil
	for i, s := range trial.Plan.Script {
		joinsNobody, bringsNothing := s.Do == faults.DoJoin && absent[s.Process], s.Receipt != "" && !asked[s.Receipt]
		if !steps[i] && !joinsNobody && !bringsNothing {
			p.Script = append(p.Script, s)
		}
	}
	p.Schedule, p.Reactions = faults.Schedule{}, maps.Clone(trial.Plan.Reactions)
	for _, rule := range trial.Plan.Schedule {
		if rules[rule.Name] || absent[rule.Process] {
			delete(p.Reactions, rule.Name)
			continue
		}
		p.Schedule = append(p.Schedule, rule)
	}
	if len(p.Reactions) == 0 {
		p.Reactions = nil
	}
	smaller := trial
	smaller.Plan = p
	smaller.Expect.Runs = maps.Clone(trial.Expect.Runs)
	maps.DeleteFunc(smaller.Expect.Runs, func(name string, _ faults.End) bool { return !asked[name] })
	smaller.Expect.Answers = maps.Clone(trial.Expect.Answers)
	maps.DeleteFunc(smaller.Expect.Answers, func(client string, _ string) bool { return absent[client] })
	return smaller
}
