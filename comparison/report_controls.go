package comparison

import (
	"fmt"
	"slices"
	"strings"

	"refundlab/evidence"
)

// ControlsSection is the report's section about a run of "lab controls".
func ControlsSection(x evidence.Controls) string {
	var b strings.Builder
	caught := len(filter(x.Controls, evidence.Control.Caught))
	passed := len(filter(x.Baseline, func(t evidence.ControlTrial) bool { return t.Verdict == string(Pass) }))
	b.WriteString("## Controls: can the suite see?\n\n")
	fmt.Fprintf(&b, "`%s`, %s. Each control is the system without one protection, built from replaced sources and played in the scenarios that must show it. It is caught when an invariant that it names is among what the judge reports; a build error or silence would fail the run. Where something in a trial was not as planned, EVIDENCE stands beside, and the judge reports only what is a violation all the same. I11 does not count where a worker or a provider ended by itself: then its runs stand still whatever was taken away. A trial that did not take place, or did not show its control, was played up to three times. Where a control failed it was played without the fault as well: what fails there too is seen in any run, and says nothing about the scenario.\n\n",
		x.Command, milliseconds(int64(x.EndedAt-x.StartedAt)))
	fmt.Fprintf(&b, "**%d of %d controls are caught.** The unbroken system, built and played in the same way, passes %d of the %d cells that show them.\n\n", caught, len(x.Controls), passed, len(x.Baseline))
	b.WriteString(controlTable(x).String())
	b.WriteString("`END` is the permitted end of a cell; it stands where a protection keeps no invariant but the service: a run that ends as its people decided, an answer that a person gets, a notice that is taken once.\n\n")
	if layers := controlLayers(x); len(layers.rows) > 0 {
		b.WriteString("These protections have another behind them, so one alone cannot be seen to go; the control takes both away:\n\n" + layers.String())
	}
	if unsound := controlsUnsound(x); len(unsound.rows) > 0 {
		b.WriteString("In these trials something was not as planned:\n\n" + unsound.String())
	}
	misses := Uncaught(x)
	for _, miss := range misses {
		fmt.Fprintf(&b, "- **%s** %s\n", miss.What, miss.Text)
	}
	if len(misses) > 0 {
		b.WriteString("\n")
	}
	if harmless := controlsHarmless(x); len(harmless.rows) > 0 {
		b.WriteString("Without these no invariant is violated. `MODEL` finds them, which is no harm: what was recorded is no path of the rules.\n\n" + harmless.String())
	}
	if x.Asked.Matrix {
		b.WriteString(killMatrix(x))
	} else {
		b.WriteString("The controls were not played in the scenarios that do not name them: `lab controls --matrix` does that.\n\n")
	}
	return b.String()
}

func controlTable(x evidence.Controls) *table {
	rows := &table{head: []string{"", "control", "what is taken away", "the design that it stands for", "shown by", "invariant reported", "without the fault", "caught"}}
	for i, control := range x.Controls {
		if control.BuildError != "" {
			rows.add(fmt.Sprint(i+1), control.Name, control.Breaks, control.Design, "", "", "", "**did not build**")
			continue
		}
		for _, group := range groupTrials(control.Trials) {
			rows.add(append([]string{fmt.Sprint(i + 1), control.Name, control.Breaks, control.Design}, group...)...)
		}
	}
	return rows
}

// groupTrials has one row for the trials of a control that show the same: where, what, and whether it is caught.
func groupTrials(trials []evidence.ControlTrial) [][]string {
	rows := &table{}
	for _, t := range trials {
		verdict := "yes"
		if t.Plays > 1 {
			verdict = fmt.Sprintf("yes, in play %d", t.Plays)
		}
		if !t.Caught() {
			verdict = "**no: " + t.Verdict + "**"
		}
		named := filter(t.Reported, func(check string) bool { return slices.Contains(t.Expected, check) })
		others := filter(t.Reported, func(check string) bool { return !slices.Contains(t.Expected, check) })
		reported := "**" + strings.Join(named, " ") + "**"
		if len(named) == 0 {
			reported = "(" + strings.Join(t.Expected, " or ") + " expected)"
		}
		rows.add("`"+t.Scenario+"`", string(t.Profile), t.Engine, strings.TrimSpace(reported+" "+strings.Join(others, " ")), withoutFault(t), verdict)
	}
	rows.merge(2) // engines
	rows.merge(1) // profiles
	var groups [][]string
	for _, row := range rows.rows {
		groups = append(groups, []string{row[0] + " " + row[2] + ", " + row[1], row[3], row[4], row[5]})
	}
	return groups
}

// withoutFault is what the same build came to in the clean arm, "" where that was not played.
func withoutFault(t evidence.ControlTrial) string {
	switch {
	case t.Clean == nil:
		return ""
	case t.Clean.Verdict == string(Pass):
		return "passes"
	}
	return strings.TrimSpace(t.Clean.Verdict + ": " + strings.Join(t.Clean.Reported, " "))
}

func controlsHarmless(x evidence.Controls) *table {
	rows := &table{head: []string{"control", "why nothing is harmed"}}
	for _, control := range x.Controls {
		if control.Harmless != "" {
			rows.add(control.Name, control.Harmless)
		}
	}
	return rows
}

func controlLayers(x evidence.Controls) *table {
	rows := &table{head: []string{"control", "what hides it"}}
	for _, control := range x.Controls {
		if control.Layers != "" {
			rows.add(control.Name, control.Layers)
		}
	}
	return rows
}

// controlsUnsound says of each trial that must show a control in what it was not as planned.
func controlsUnsound(x evidence.Controls) *table {
	rows := &table{head: []string{"control", "trial", "EVIDENCE"}}
	for _, control := range x.Controls {
		for _, t := range control.Trials {
			if len(t.Unsound) > 0 {
				rows.add(control.Name, "`"+t.Scenario+"` "+t.Engine+", "+string(t.Profile), strings.Join(t.Unsound, "; "))
			}
		}
	}
	return rows
}

// EndedByItself tells whether a worker or a provider of a trial did, which the judge also says under EVIDENCE.
func EndedByItself(record evidence.Record) bool {
	return len(strayEnds(&trial{Record: record})) > 0
}

// Miss is a control that is not seen, or a cell that the unbroken system does not pass.
type Miss struct {
	What string
	Text string // what the build or the judge said
}

// Uncaught lists what keeps a run of the controls from passing.
func Uncaught(x evidence.Controls) []Miss {
	var misses []Miss
	for _, control := range x.Controls {
		if control.BuildError != "" {
			misses = append(misses, Miss{control.Name + " did not build:", strings.ReplaceAll(control.BuildError, "\n", " ")})
		}
		for _, t := range control.Trials {
			if !t.Caught() {
				verdict := t.Verdict
				if t.Stray {
					verdict += ", and a worker or a provider ended by itself"
				}
				misses = append(misses, Miss{fmt.Sprintf("%s is not caught by %s: %s", control.Name, t.Dir(), verdict), t.Text})
			}
		}
	}
	for _, t := range x.Baseline {
		if t.Verdict != string(Pass) {
			misses = append(misses, Miss{fmt.Sprintf("The unbroken system does not pass %s: %s", t.Dir(), t.Verdict), t.Text})
		}
	}
	return misses
}

// killMatrix shows for each scenario which controls its fault shows. Numbers are those of the table of controls.
func killMatrix(x evidence.Controls) string {
	kills := map[string]map[string][]int{} // scenario, engine
	played := map[string]map[string]int{}
	var order []string
	killers, anyway, trials := make([]int, len(x.Controls)), make([]int, len(x.Controls)), make([]int, len(x.Controls))
	for i, control := range x.Controls {
		for _, t := range slices.Concat(control.Trials, control.Others) {
			if kills[t.Scenario] == nil {
				kills[t.Scenario], played[t.Scenario] = map[string][]int{}, map[string]int{}
				order = append(order, t.Scenario)
			}
			played[t.Scenario][t.Engine]++
			trials[i]++
			switch {
			case t.Killed():
				killers[i]++
				if !slices.Contains(kills[t.Scenario][t.Engine], i+1) {
					kills[t.Scenario][t.Engine] = append(kills[t.Scenario][t.Engine], i+1)
				}
			case t.Failed():
				anyway[i]++
			}
		}
	}
	slices.Sort(order)
	rows := &table{head: []string{"scenario", "temporal", "handrolled"}}
	var idle []string
	for _, scenario := range order {
		row := []string{"`" + scenario + "`"}
		if len(kills[scenario]) == 0 {
			row[0] += " **kills nothing**"
			idle = append(idle, "`"+scenario+"`")
		}
		for _, engine := range []string{"temporal", "handrolled"} {
			text := "none"
			if played[scenario][engine] == 0 {
				text = "not played"
			} else if numbers := kills[scenario][engine]; len(numbers) > 0 {
				text = strings.Trim(fmt.Sprint(numbers), "[]")
			}
			row = append(row, text)
		}
		rows.add(row...)
	}
	var once, blunt []string
	for i, n := range killers {
		if n == 1 {
			once = append(once, x.Controls[i].Name)
		}
		if anyway[i] > 0 {
			blunt = append(blunt, fmt.Sprintf("%s (%d of %d)", x.Controls[i].Name, anyway[i], trials[i]))
		}
	}
	var b strings.Builder
	b.WriteString("### Kill matrix\n\nEach control in every scenario of its engines, with the fault, under `full` or, where a scenario has no such cell, under its first profile; the cells that a control names are in it too. Numbers are those of the table above: the judge reported something against that build with the fault, and passes it without.\n\n")
	b.WriteString(rows.String())
	if len(idle) > 0 {
		fmt.Fprintf(&b, "**Scenarios that kill nothing:** %s. They may guard against what no control stands for, or show how the system behaves; as evidence that a protection is there they count for nothing.\n\n", strings.Join(idle, ", "))
	} else {
		b.WriteString("Every scenario kills at least one control.\n\n")
	}
	if len(blunt) > 0 {
		fmt.Fprintf(&b, "Trials that fail, and do not pass without the fault either, count for no scenario: %s.\n\n", strings.Join(blunt, ", "))
	}
	if len(once) > 0 {
		fmt.Fprintf(&b, "Controls that a single trial of the matrix finds: %s.\n\n", strings.Join(once, ", "))
	}
	return b.String()
}
