package comparison

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// AddRound adds what a judged round of a soak showed to the sum of its engine. plan is the round's file.
func AddRound(sum *evidence.SoakEngine, record evidence.Record, judged Judged, plan string) {
	t := newTrial(record, faults.Expectation{})
	sum.Rounds++
	sum.Verdicts.Add(string(judged.Verdict), 1)
	sum.Profiles.Add(string(record.Trial.Profile), 1)
	sum.Refunds += len(record.Exports)
	for _, r := range t.present() {
		sum.Ends.Add(statusText(r), 1)
	}
	for _, a := range record.Answers {
		sum.Commands.Add(a.Verb, 1)
		if code := codeOf(a); code == faults.Killed || a.Exit == refund.ExitUnavailable || code == string(refund.CodeVerdictPending) {
			sum.Silent++
		}
	}
	sum.Drawn += len(record.Trial.Schedule)
	for _, f := range record.Trial.Fired {
		sum.Hit.Add(string(f.Action), 1)
		switch f.Action {
		case faults.Kill:
			victim, _ := t.process(f.Victim)
			sum.Kills.Add(victim.Role, 1)
		case faults.Freeze:
			sum.Freezes++
		}
	}
	for _, step := range record.Trial.Steps {
		if verb, whom, _ := strings.Cut(step.Text, " "); verb == string(faults.DoKill) {
			sum.Kills.Add(whom, 1)
		}
	}
	for _, r := range record.Provider.Received {
		sum.Received.Add(r.Verb, 1)
	}
	sum.Bill += len(record.Provider.Bill)
	sum.Crossings += len(record.Trace)
	for _, removal := range judged.Measures.Removed {
		addRemoval(sum, removal)
	}
	if judged.Verdict != Pass && judged.Verdict != NotApplicable {
		open := evidence.SoakOpen{Round: record.Trial.Scenario, Profile: string(record.Trial.Profile), Verdict: string(judged.Verdict), Plan: plan}
		for _, f := range judged.Findings {
			open.Findings = append(open.Findings, f.Check+": "+f.Text)
		}
		sum.Open = append(sum.Open, open)
	}
}

func addRemoval(sum *evidence.SoakEngine, r Removal) {
	added := evidence.SoakRemoval{By: string(r.By), Party: r.Party, Check: r.Check, Count: r.Count}
	i := slices.IndexFunc(sum.Removed, func(x evidence.SoakRemoval) bool {
		return x.By == added.By && x.Party == added.Party && x.Check == added.Check
	})
	if i >= 0 {
		sum.Removed[i].Count += r.Count
		return
	}
	sum.Removed = append(sum.Removed, added)
	slices.SortFunc(sum.Removed, func(a, b evidence.SoakRemoval) int {
		return cmp.Or(cmp.Compare(a.By, b.By), cmp.Compare(a.Party, b.Party), cmp.Compare(a.Check, b.Check))
	})
}

// SoakSection is the report's section about a run of "lab soak".
func SoakSection(x evidence.Soak) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Soak: refunds, people, clients and faults drawn by lot\n\n")
	refunds := 0
	for _, e := range x.Engines {
		refunds += e.Refunds
	}
	fmt.Fprintf(&b, "Made by `%s`, seed %d, at %s on %s/%s with %d CPUs: %d refunds in all, in rounds that follow each other, %d at a time on\n", x.Command, x.Seed, x.StartedAt, x.Machine.OS, x.Machine.Arch, x.Machine.CPUs, refunds, x.Jobs)
	fmt.Fprintf(&b, "each engine. Each round is a trial of its own: %d refunds over two to four orders of its own that do not bear all of them, three workers,\n", x.Refunds)
	fmt.Fprintf(&b, "%d faults by lot, people who compete, and clients who say everything again. Every invariant is judged\n", x.Faults)
	b.WriteString("afterwards, and the calls of all clients to each operation are checked against a sequential specification (HISTORY). A rule that was\ndrawn and did not hit is no fault.\n\n")
	figures := table{head: []string{"figure"}}
	for _, e := range x.Engines {
		figures.head = append(figures.head, e.Engine)
	}
	row := func(name string, value func(evidence.SoakEngine) string) {
		cells := []string{name}
		for _, e := range x.Engines {
			cells = append(cells, value(e))
		}
		figures.add(cells...)
	}
	row("time", func(e evidence.SoakEngine) string { return fmt.Sprintf("%.1f min", float64(e.ElapsedMS)/60_000) })
	row("rounds", func(e evidence.SoakEngine) string { return fmt.Sprint(e.Rounds) })
	row("their verdicts", func(e evidence.SoakEngine) string { return e.Verdicts.String() })
	row("rounds by profile", func(e evidence.SoakEngine) string { return e.Profiles.String() })
	row("refunds", func(e evidence.SoakEngine) string { return fmt.Sprint(e.Refunds) })
	row("how they ended", func(e evidence.SoakEngine) string { return e.Ends.String() })
	row("client commands", func(e evidence.SoakEngine) string {
		return fmt.Sprintf("%d: %s", e.Commands.Total(), e.Commands.String())
	})
	row("of them without an answer", func(e evidence.SoakEngine) string { return fmt.Sprint(e.Silent) })
	row("faults that hit", func(e evidence.SoakEngine) string {
		return fmt.Sprintf("%d of %d drawn: %s", e.Hit.Total(), e.Drawn, e.Hit.String())
	})
	row("processes killed", func(e evidence.SoakEngine) string { return fmt.Sprintf("%d: %s", e.Kills.Total(), e.Kills.String()) })
	row("processes frozen", func(e evidence.SoakEngine) string { return fmt.Sprint(e.Freezes) })
	row("requests received by the provider", func(e evidence.SoakEngine) string {
		return fmt.Sprintf("%d: %s", e.Received.Total(), e.Received.String())
	})
	row("requests received by the model", func(e evidence.SoakEngine) string { return fmt.Sprint(e.Bill) })
	row("boundaries crossed", func(e evidence.SoakEngine) string { return fmt.Sprint(e.Crossings) })
	b.WriteString(figures.String())

	b.WriteString("Duplicates, late messages and misuse that were removed, and by whom:\n\n")
	b.WriteString(soakRemovals(x).String())
	for _, e := range x.Engines {
		for _, open := range e.Open {
			fmt.Fprintf(&b, "- **%s** %s on %s under %s: %s; plan `%s`", open.Verdict, open.Round, e.Engine, open.Profile, strings.Join(open.Findings, "; "), open.Plan)
			if open.Minimal != "" {
				fmt.Fprintf(&b, ", shrunk to `%s`", open.Minimal)
			}
			b.WriteString("\n")
		}
		if len(e.Open) > 0 {
			b.WriteString("\n")
		}
	}
	return b.String()
}

func soakRemovals(x evidence.Soak) *table {
	t := &table{head: []string{"given by", "party", "check"}}
	places := map[string]int{}
	for i, e := range x.Engines {
		t.head = append(t.head, e.Engine)
		for _, r := range e.Removed {
			key := r.By + "\x00" + r.Party + "\x00" + r.Check
			place, known := places[key]
			if !known {
				place = len(t.rows)
				places[key] = place
				t.add(append([]string{r.By, r.Party, r.Check}, make([]string, len(x.Engines))...)...)
			}
			t.rows[place][3+i] = fmt.Sprint(r.Count)
		}
	}
	return t
}
