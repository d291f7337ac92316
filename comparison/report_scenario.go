package comparison

import (
	"fmt"
	"strings"

	"refundlab/evidence"
	"refundlab/faults"
)

func scenarios(r Result) string {
	var b strings.Builder
	b.WriteString("## Scenarios\n\n")
	b.WriteString(`Of each scenario the arm with the fault, beside the clean arm where it says so. *Last durable fact*: the engine's last record before
the fault hit. *First after*: what a worker did first, the victim left out. *Ran again*: the steps that the arm with the fault entered more
often than the clean arm, later attempts of activities, and how often the workflow function ran from its first line again. *Reused*:
recorded results that were not made a second time. Times count from the hit, to the first step and to the run's durable end.

`)
	for _, text := range r.Scenarios {
		fmt.Fprintf(&b, "### %s\n\n**%s** %s\n\n", text.Name, text.Title, text.About)
		recovery := table{head: []string{"engine", "profile", "last durable fact", "first after", "ran again", "reused"}}
		times := table{head: []string{"engine", "profile", "to first step", "to the end", "time-outs that explain it (ms)"}}
		ends := table{head: []string{"engine", "profile", "ledger entries", "status", "submits that left, clean / fault", "model calls billed", "verdict"}}
		kept := table{head: []string{"engine", "profile", "removed by the business layer", "who gave the guarantee"}}
		var hits []string
		for _, g := range r.groups() {
			if g.scenario != text.Name {
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
					recovery.add(g.engine, profile, durableText(m.LastDurable, g.engine), m.FirstAction, ranAgain(m, clean.Measures, hasClean), strings.Join(m.Reused, ", "))
					times.add(g.engine, profile, milliseconds(m.Recovery.ToFirst), milliseconds(m.Recovery.ToEnd), m.Recovery.Explain)
				}
				submits := fmt.Sprintf("- / %d", m.Steps[faults.ProviderCall])
				if hasClean {
					submits = fmt.Sprintf("%d / %d", clean.Measures.Steps[faults.ProviderCall], m.Steps[faults.ProviderCall])
				}
				ends.add(g.engine, profile, fmt.Sprint(m.Entries), strings.Join(m.Statuses, ", "), submits, fmt.Sprint(m.Model), string(trial.Verdict))
				kept.add(g.engine, profile, removalText(m.Removed), strings.Join(guarantors(m), "; "))
			}
		}
		if hits = unique(hits); len(hits) > 0 {
			b.WriteString("Hit: " + strings.Join(hits, "; ") + ".\n\n")
		}
		for _, t := range []*table{&recovery, &ends, &kept} {
			t.merge(1)
		}
		b.WriteString(recovery.String() + times.String() + ends.String() + kept.String())
	}
	return b.String()
}

// durableText names a boundary together with the record behind it.
func durableText(boundary, engine string) string {
	if boundary == "" {
		return "nothing yet"
	}
	record, _, _ := strings.Cut(durable(faults.Boundary(boundary), engine), ";")
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

func removalText(removals []Removal) string {
	var parts []string
	for _, removal := range removals {
		parts = append(parts, removal.String())
	}
	return strings.Join(parts, "; ")
}
