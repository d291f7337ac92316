package comparison

import (
	"fmt"
	"slices"
	"strings"

	"refundlab/evidence"
	"refundlab/faults"
)

// Report is the whole report in Markdown; the sections of Instruments come last. The same evidence, matrix and judge give the
// same bytes.
func (r Result) Report(instruments string) string {
	var b strings.Builder
	b.WriteString("# One refund through two durable executors: what the evidence shows\n\n")
	b.WriteString("Generated from evidence by `lab run` and `lab report`; no line below is written by hand except the explanations between the tables.\n\n")
	for _, section := range []func(Result) string{
		origin, limits, summary, unpassed, eachScenario, duplicates, leftToUser, costs, code,
	} {
		b.WriteString(section(r))
	}
	b.WriteString(instruments)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func origin(r Result) string {
	s, b := r.Suite, r.Suite.Budget
	facts := table{head: []string{"what", "value"}}
	facts.add("command", "`"+s.Command+"`")
	facts.add("evidence", "SHA-256 "+r.Hash)
	facts.add("evidence format", fmt.Sprint(s.Format))
	facts.add("asked for", filterText(s.Filter))
	facts.add("started", s.StartedAt.String())
	facts.add("took", milliseconds(int64(s.EndedAt-s.StartedAt)))
	facts.add("machine", machineText(s.Machine))
	if s.PeakMemoryMB > 0 {
		facts.add("memory, all processes together", fmt.Sprintf("at most %d MB", s.PeakMemoryMB))
	}
	for _, v := range s.Versions {
		facts.add(v.Part, v.Version)
	}
	budget := table{head: []string{"time-out", "ms", "who waits for it"}}
	for _, row := range []struct {
		name  string
		ms    int64
		whose string
	}{
		{"call to provider or model", b.CallTimeoutMS, "both"},
		{"first pause between asks", b.BackoffMS, "both"},
		{"lease", b.LeaseMS, "handrolled: nobody else claims the run before"},
		{"start-to-close of the submit", b.StartToCloseMS, "temporal: no further attempt before"},
		{"workflow task", b.WorkflowTaskTimeoutMS, "temporal: no other worker gets the task before"},
		{"sticky queue", b.StickyTimeoutMS, "temporal: a dead worker's own queue; 0 means that there is none"},
		{"bound of I11", b.BoundMS, "both: every run must have ended by then"},
	} {
		budget.add(row.name, fmt.Sprint(row.ms), row.whose)
	}
	return "## How it was made\n\n" + facts.String() +
		"One set of time-outs, short on purpose; those that decide recovery differ by engine. A time to recovery below is a property of these numbers first:\n\n" + budget.String()
}

func filterText(f evidence.Filter) string {
	var parts []string
	for _, part := range []struct {
		name string
		list []string
	}{{"scenarios", f.Scenarios}, {"engines", f.Engines}, {"profiles", f.Profiles}} {
		if len(part.list) > 0 {
			parts = append(parts, part.name+" "+strings.Join(part.list, ", "))
		}
	}
	switch {
	case len(parts) == 0 && f.Extended:
		return "the whole extended matrix"
	case len(parts) == 0:
		return "the whole matrix"
	case f.Extended:
		parts[0] = "the extended matrix, " + parts[0]
	}
	return "only " + strings.Join(parts, "; ")
}

func machineText(m evidence.Machine) string {
	text := fmt.Sprintf("%s/%s, %d CPUs", m.OS, m.Arch, m.CPUs)
	if m.MemoryMB > 0 {
		text += fmt.Sprintf(", %d MB", m.MemoryMB)
	}
	if m.Kernel != "" {
		text += ", kernel " + m.Kernel
	}
	return text + ", " + m.Go
}

func limits(Result) string {
	return `## Assumptions and limits

- SIGKILL ends a process and nothing else. What the operating system had taken over was kept, so no scenario tests ` + "`fsync`" + `; power
  failures have an instrument of their own. A disk that lies, and two machines that lose power at once, are not tested.
- One host. The scenarios ` + "`clock-*`" + ` step the wall clock that our processes read, or that of one; the host's own and the Temporal
  server's are never set.
- The provider keeps the promises of its profile, and breaks none that it never made. It is a simulator with a real file and a
  real ledger, not a bank.
- The model is a simulator whose answers differ at each call. What a real model says does not matter to any check here.
- Faults hit at the announced points, one schedule a trial, and each trial was played once in this run: this is no statement about
  probabilities, and the times are single samples.
- The schedules are those of the catalogue. The other places are the exploration's business; one that has no point was not tried.
- Time-outs are far shorter than anyone would run with. They make waiting short and change no order of events.
- A violation is found only where a check looks. The checks are in ` + "`comparison/`" + `, one function for each invariant.

`
}

// summary is the matrix: a row for each scenario and engine, a column for each profile.
func summary(r Result) string {
	counts := map[Verdict]int{}
	var profiles []string
	for _, trial := range r.Trials {
		counts[trial.Verdict]++
		if !slices.Contains(profiles, string(trial.Profile)) {
			profiles = append(profiles, string(trial.Profile))
		}
	}
	totals := table{head: []string{"verdict", "cells"}}
	for _, v := range []Verdict{Pass, NotApplicable, Fail, Invalid, Inconclusive} {
		totals.add(string(v), fmt.Sprint(counts[v]))
	}
	order := profileOrder()
	slices.SortFunc(profiles, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	matrix := table{head: append([]string{"scenario", "engine"}, profiles...)}
	for _, group := range r.groups() {
		row := []string{"[" + group.scenario + "](#" + group.scenario + ")", group.engine}
		for _, profile := range profiles {
			row = append(row, group.verdicts(profile))
		}
		matrix.add(row...)
	}
	return "## Verdicts\n\n" + totals.String() +
		"Clean arm / arm with the fault; one word where both agree, empty where the matrix has no cell.\n\n" + matrix.String()
}

func profileOrder() []string {
	return []string{"full", "retention", "lenient", "lookup", "stale", "opaque", "local"}
}

// group is all trials of one scenario and engine.
type group struct {
	scenario, engine string
	trials           []Judged
}

// groups are in the order of the matrix.
func (r Result) groups() []group {
	var groups []group
	for _, trial := range r.Trials {
		i := slices.IndexFunc(groups, func(g group) bool { return g.scenario == trial.Scenario && g.engine == trial.Engine })
		if i < 0 {
			groups, i = append(groups, group{scenario: trial.Scenario, engine: trial.Engine}), len(groups)
		}
		groups[i].trials = append(groups[i].trials, trial)
	}
	slices.SortStableFunc(groups, func(a, b group) int { return r.place(a.scenario) - r.place(b.scenario) })
	return groups
}

func (r Result) place(scenario string) int {
	if i := slices.IndexFunc(r.Scenarios, func(s faults.ScenarioText) bool { return s.Name == scenario }); i >= 0 {
		return i
	}
	return len(r.Scenarios)
}

func (g group) find(profile string, arm evidence.Arm) (Judged, bool) {
	i := slices.IndexFunc(g.trials, func(j Judged) bool { return string(j.Profile) == profile && j.Arm == arm })
	if i < 0 {
		return Judged{}, false
	}
	return g.trials[i], true
}

func (g group) verdicts(profile string) string {
	clean, hasClean := g.find(profile, evidence.ArmClean)
	fault, hasFault := g.find(profile, evidence.ArmFault)
	switch {
	case !hasClean && !hasFault:
		return " "
	case !hasClean:
		return string(fault.Verdict)
	case !hasFault:
		return string(clean.Verdict)
	case clean.Verdict == fault.Verdict:
		return string(fault.Verdict)
	}
	return string(clean.Verdict) + " / " + string(fault.Verdict)
}

// unpassed gives the reasons for every verdict that is not pass.
func unpassed(r Result) string {
	var violations, scopes strings.Builder
	reasons := table{head: []string{"scenario", "engine", "profile and arm", "reason"}}
	for _, trial := range r.Trials {
		for _, finding := range trial.Findings {
			if trial.Verdict == NotApplicable {
				reasons.add(trial.Scenario, trial.Engine, string(trial.Profile)+" "+string(trial.Arm), finding.Text)
				continue
			}
			fmt.Fprintf(&violations, "- **%s** %s: %s: %s\n", trial.Verdict, trial.Cell.Dir(), finding.Check, finding.Text)
		}
	}
	reasons.merge(2)
	if len(reasons.rows) > 0 {
		scopes.WriteString("### Not applicable, and why\n\n" + reasons.String())
	}
	if violations.Len() == 0 {
		return scopes.String()
	}
	return "### What did not pass, and why\n\n" + violations.String() + "\n" + scopes.String()
}
