package comparison

import (
	"fmt"
	"slices"
	"strings"

	"refundlab/evidence"
	"refundlab/faults"
)

func eachScenario(r Result) string {
	var b strings.Builder
	b.WriteString("## Scenarios\n\n")
	b.WriteString(`Of each scenario the arm with the fault, beside the clean arm where it says so. *Last durable fact*: the engine's last record before
the fault hit. *First after*: what a worker did first, the victim left out. *Ran again*: the steps that the arm with the fault entered more
often than the clean arm, later attempts of activities, and how often the workflow function ran from its first line again. *Reused*:
recorded results that were not made a second time. Times count from the hit (of what was held, from its release) to the first step and
to the run's durable end; *for the script*: until the script had started a worker, passed a deadline or sent the decision that this step
needed. A column of clean / fault compares the two arms.

`)
	for _, text := range r.Scenarios {
		fmt.Fprintf(&b, "### %s\n\n**%s.** %s\n\n", text.Name, strings.TrimRight(text.Title, "."), text.About)
		b.WriteString(r.scenario(text.Name))
	}
	return b.String()
}

// scenario writes the tables of one scenario.
func (r Result) scenario(name string) string {
	recovery := table{head: []string{"engine", "profile", "last durable fact", "first after", "ran again", "reused"}}
	ends := table{head: []string{"engine", "profile", "ledger entries", "status", "submits that left, clean / fault", "model calls billed", "verdict"}}
	kept := table{head: []string{"engine", "profile", "duplicates and misuse removed, at which party", "who gave the guarantee"}}
	var hits []string
	var times waits
	for _, g := range r.groups() {
		if g.scenario != name {
			continue
		}
		for _, trial := range g.trials {
			if trial.Arm != evidence.ArmFault || trial.Measures.Steps == nil {
				continue
			}
			m, profile := trial.Measures, string(trial.Profile)
			clean, hasClean := r.cleanOf(trial)
			if m.Fault != "" {
				hits = append(hits, m.Fault)
				recovery.add(g.engine, profile, durableText(m.LastDurable, g.engine), m.FirstAction, ranAgain(m, clean.Measures, hasClean), joined(m.Reused))
				times.add(g.engine, profile, m.Recovery)
			}
			submits := fmt.Sprintf("- / %d", m.Steps[faults.ProviderCall])
			if hasClean {
				submits = fmt.Sprintf("%d / %d", clean.Measures.Steps[faults.ProviderCall], m.Steps[faults.ProviderCall])
			}
			ends.add(g.engine, profile, fmt.Sprint(m.Entries), strings.Join(m.Statuses, ", "), submits, fmt.Sprint(m.Model), string(trial.Verdict))
			kept.add(g.engine, profile, joined(m.Removed), strings.Join(guarantors(m), "; "))
		}
	}
	var b strings.Builder
	if hits = unique(hits); len(hits) > 0 {
		b.WriteString("Hit: " + strings.Join(hits, "; ") + ".\n\n")
	}
	for _, t := range []*table{&recovery, &ends, &kept} {
		t.merge(1)
	}
	b.WriteString(recovery.String() + times.table() + ends.String() + kept.String())
	return b.String()
}

// waits are the times to recovery of one scenario, over the profiles that wait for the same time-outs.
type waits struct {
	rows []waitRow
}

type waitRow struct {
	engine, explain    string
	profiles           []string
	first, script, end []int64
}

func (w *waits) add(engine, profile string, r Recovery) {
	i := slices.IndexFunc(w.rows, func(row waitRow) bool {
		return row.engine == engine && row.explain == r.Explain && (row.end[0] < 0) == (r.ToEnd < 0) && (row.first[0] < 0) == (r.ToFirst < 0)
	})
	if i < 0 {
		w.rows, i = append(w.rows, waitRow{engine: engine, explain: r.Explain}), len(w.rows)
	}
	row := &w.rows[i]
	row.profiles = append(row.profiles, profile)
	row.first, row.script, row.end = append(row.first, r.ToFirst), append(row.script, r.Script), append(row.end, r.ToEnd)
}

func (w *waits) table() string {
	list := table{head: []string{"engine", "profile", "to first step", "of it for the script", "to the end", "time-outs that explain it (ms)"}}
	for _, row := range w.rows {
		list.add(row.engine, strings.Join(row.profiles, ", "), between(row.first), between(row.script), between(row.end), row.explain)
	}
	return list.String()
}

// between prints the least and the most of some durations.
func between(ms []int64) string {
	least, most := milliseconds(slices.Min(ms)), milliseconds(slices.Max(ms))
	switch {
	case most == "":
		return ""
	case least == "": // under one of the profiles there was none
		least = "none"
	}
	if least == most {
		return least
	}
	return least + " to " + most
}

// durableText names a boundary together with the record behind it.
func durableText(boundary, engine string) string {
	if boundary == "" {
		return "nothing yet"
	}
	record := durable(faults.Boundary(boundary), engine)
	if i := strings.IndexAny(record, ",;"); i >= 0 {
		record = record[:i]
	}
	return boundary + ": " + record
}

// ranAgain compares the steps of the two arms in the order of the flow.
func ranAgain(fault, clean Measures, hasClean bool) string {
	var parts []string
	if again := fault.FromTop - clean.FromTop; again > 0 {
		parts = append(parts, fmt.Sprintf("workflow function from the top +%d", again))
	}
	parts = append(parts, fault.Attempts...)
	if hasClean {
		for _, meaning := range faults.Boundaries() {
			boundary := meaning.Boundary
			if boundary == faults.Renewal {
				continue
			}
			if again := fault.Steps[boundary] - clean.Steps[boundary]; again > 0 {
				parts = append(parts, fmt.Sprintf("%s +%d", boundary, again))
			}
		}
	}
	return strings.Join(parts, ", ")
}

func joined[T fmt.Stringer](list []T) string {
	var parts []string
	for _, item := range list {
		parts = append(parts, item.String())
	}
	return strings.Join(parts, "; ")
}
