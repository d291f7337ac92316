package comparison

import (
	"fmt"
	"slices"
	"strings"

	"refundlab/evidence"
	"refundlab/faults"
)

// duplicates lists which check at which party removed how much, over all trials.
func duplicates(r Result) string {
	type key struct {
		by           Guarantor
		party, check string
	}
	count, order := map[key]map[string]int{}, []key{}
	for _, trial := range r.Trials {
		for _, removal := range trial.Measures.Removed {
			k := key{removal.By, removal.Party, removal.Check}
			if count[k] == nil {
				count[k], order = map[string]int{}, append(order, k)
			}
			count[k][trial.Engine] += removal.Count
		}
	}
	slices.SortFunc(order, func(a, b key) int {
		return strings.Compare(string(a.by)+a.party+a.check, string(b.by)+b.party+b.check)
	})
	engines := r.engines()
	list := table{head: append([]string{"given by", "party", "check"}, engines...)}
	for _, k := range order {
		row := []string{string(k.by), k.party, k.check}
		for _, engine := range engines {
			row = append(row, fmt.Sprint(count[k][engine]))
		}
		list.add(row...)
	}
	return "## Who removed duplicates and misuse\n\nHow often each check was seen to act, over all trials of this run, by the engine under which the flow ran.\n\n" + list.String()
}

func (r Result) engines() []string {
	var engines []string
	for _, trial := range r.Trials {
		if !slices.Contains(engines, trial.Engine) {
			engines = append(engines, trial.Engine)
		}
	}
	return engines
}

// comparable are the trials of one engine and arm whose cell was measured on every engine: a median over others would compare
// different scripts.
func (r Result) comparable(engine string, arm evidence.Arm) []Judged {
	return filter(r.Trials, func(j Judged) bool {
		if j.Engine != engine || j.Arm != arm {
			return false
		}
		for _, other := range r.engines() {
			measured := slices.ContainsFunc(r.Trials, func(o Judged) bool {
				return o.Engine == other && o.Arm == j.Arm && o.Scenario == j.Scenario && o.Profile == j.Profile && o.Measures.Steps != nil
			})
			if !measured {
				return false
			}
		}
		return true
	})
}

// leftToUser counts what an engine did not keep from its user: work that it did again, and copies that others had to remove.
func leftToUser(r Result) string {
	engines := r.engines()
	rows := []struct {
		name  string
		holds func(fault, clean Measures) bool
	}{
		{"trials with a fault that hit", func(f, _ Measures) bool { return f.Fault != "" }},
		{"the refund was sent again", more(faults.ProviderCall)},
		{"the model was called again, a second bill", func(f, c Measures) bool { return f.Model > c.Model }},
		{"the notice was sent again", more(faults.NoticeCall)},
		{"the order was read again", more(faults.OrderCall)},
		{"the outcome had to be looked up", more(faults.LookupCall)},
		{"the operation had to be closed", more(faults.CloseCall)},
		{"a provider's check removed a copy or a late message", removedBy(ByProvider)},
		{"the application's own check did", removedBy(ByApplication)},
		{"the engine's own record did", removedBy(ByEngine)},
		{"a run stayed UNKNOWN for a person", func(f, _ Measures) bool { return slices.Contains(f.Statuses, "UNKNOWN") }},
	}
	list := table{head: append([]string{"in how many trials of the arm with the fault"}, engines...)}
	for _, row := range rows {
		cells := []string{row.name}
		for _, engine := range engines {
			n := 0
			for _, trial := range r.comparable(engine, evidence.ArmFault) {
				if clean, ok := r.cleanOf(trial); ok && row.holds(trial.Measures, clean.Measures) {
					n++
				}
			}
			cells = append(cells, fmt.Sprint(n))
		}
		list.add(cells...)
	}
	return "## What each engine leaves to its user\n\nBoth engines run a step again when they cannot know whether it took effect. What that asks of the user, measured against the clean arm, over the cells that both have:\n\n" + list.String()
}

// cleanOf is the clean arm of a trial with the fault.
func (r Result) cleanOf(trial Judged) (Judged, bool) {
	cell := trial.Cell
	cell.Arm = evidence.ArmClean
	i := slices.IndexFunc(r.Trials, func(j Judged) bool { return j.Cell == cell && j.Measures.Steps != nil })
	if i < 0 {
		return Judged{}, false
	}
	return r.Trials[i], true
}

func more(boundary faults.Boundary) func(fault, clean Measures) bool {
	return func(f, c Measures) bool { return f.Steps[boundary] > c.Steps[boundary] }
}

func removedBy(who Guarantor) func(fault, clean Measures) bool {
	return func(f, _ Measures) bool {
		return slices.ContainsFunc(f.Removed, func(r Removal) bool { return r.By == who })
	}
}

// costs are medians over trials, so that one slow moment of the machine does not stand for an engine.
func costs(r Result) string {
	engines := r.engines()
	list := table{head: append([]string{"median over the trials", "arm"}, engines...)}
	for _, row := range []struct {
		name string
		arm  evidence.Arm
		of   func(Measures) int64
		unit func(int64) string
	}{
		{"whole trial", evidence.ArmClean, func(m Measures) int64 { return m.Elapsed }, milliseconds},
		{"whole trial", evidence.ArmFault, func(m Measures) int64 { return m.Elapsed }, milliseconds},
		{"from the hit to the next step", evidence.ArmFault, func(m Measures) int64 { return m.Recovery.ToFirst }, milliseconds},
		{"from the hit to the end of the run", evidence.ArmFault, func(m Measures) int64 { return m.Recovery.ToEnd }, milliseconds},
		{"durable facts of all runs of a trial", evidence.ArmClean, func(m Measures) int64 { return int64(m.Facts) }, plain},
		{"their raw history or journal as JSON, bytes", evidence.ArmClean, func(m Measures) int64 { return int64(m.Raw) }, plain},
		{"workflow tasks that ran the function from its first line again", evidence.ArmClean, func(m Measures) int64 { return int64(m.FromTop) }, plain},
		{"CPU time of the workers", evidence.ArmClean, func(m Measures) int64 { return positive(m.CPU) }, milliseconds},
		{"largest resident set of a worker, MB", evidence.ArmClean, func(m Measures) int64 { return positive(m.RSS / 1024) }, plain},
		{"model requests billed", evidence.ArmFault, func(m Measures) int64 { return int64(m.Model) }, plain},
	} {
		cells := []string{row.name, string(row.arm)}
		for _, engine := range engines {
			var values []int64
			for _, trial := range r.comparable(engine, row.arm) {
				if v := row.of(trial.Measures); v >= 0 {
					values = append(values, v)
				}
			}
			if len(values) == 0 {
				cells = append(cells, "")
				continue
			}
			slices.Sort(values)
			cells = append(cells, row.unit(values[len(values)/2]))
		}
		list.add(cells...)
	}
	return "## Cost beside benefit\n\nOver the cells that both engines have, under the same scripts. No number here ranks the two. Temporal's own server is not in the workers' numbers. Its workers ran without their cache of runs (`--sticky-cache 0`; our worker's default is 1000), so that a dead worker is waited for by the time-outs above and nothing else; with the cache a worker that stays alive does not run the function again for each task, and its times and CPU are lower.\n\n" + list.String()
}

func plain(n int64) string { return fmt.Sprint(n) }

func positive(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}

// code is the census of the source that was built, by duty.
func code(r Result) string {
	owners := []string{"temporal", "handrolled", "shared", "apparatus"}
	count := map[string]map[string]int{}
	var duties []string
	tests := map[string]int{}
	for _, lines := range r.Suite.Census {
		if count[lines.Duty] == nil {
			count[lines.Duty], duties = map[string]int{}, append(duties, lines.Duty)
		}
		count[lines.Duty][lines.Owner] += lines.Code
		tests[lines.Owner] += lines.Test
	}
	list := table{head: append([]string{"duty"}, owners...)}
	row := func(name string, of map[string]int) {
		cells := []string{name}
		for _, owner := range owners {
			if of[owner] == 0 {
				cells = append(cells, " ")
				continue
			}
			cells = append(cells, fmt.Sprint(of[owner]))
		}
		list.add(cells...)
	}
	for _, duty := range duties {
		row(duty, count[duty])
	}
	if len(duties) > 0 {
		row("tests of these", tests)
	}
	return "## Lines of code by duty\n\nLines with code, without blank lines, comments and tests, counted in the source that was built. Shared code serves both engines and is in its own column. Temporal's column holds what its user writes; the server and the SDK are not counted, and neither is SQLite.\n\n" + list.String()
}
