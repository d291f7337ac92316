package comparison

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"refundlab/evidence"
)

// ExplorationSection is the report's section about a run of "lab explore".
func ExplorationSection(x evidence.Exploration) string {
	return "## Every place, one by one and in pairs\n\n" + explorationText + explorationOrigin(x) + explorationKinds(x) +
		explorationEnds(x) + explorationCoverage(x) + explorationUnstable(x) + explorationUnaimed(x) + explorationRepeated(x) + explorationOpen(x)
}

const explorationText = "Each base flow is traced without a fault of its own; a place is one process at one point for the n-th time, and it counts where " +
	"every trace of the flow holds it. At each place there is one trial with a kill, and one with a freeze that is let go once the others have come to rest " +
	"without the frozen process, so that it acts late. What is done about each fault is the same everywhere: another worker for a dead or frozen one, the same " +
	"command again for a client, the provider started again on its files. In a pair, the second fault hits at a place of the recovery from the first. " +
	"A trial whose fault did not hit, or in which the machine was too busy for a call to end in time, is played again up to two times; why each was is listed. " +
	"Where the fault hit in no play, and nothing else was amiss in any, the trial is not reached; where anything else was amiss, it is invalid. Neither is ever counted as passed.\n\n"

func explorationOrigin(x evidence.Exploration) string {
	facts := table{head: []string{"what", "value"}}
	var total evidence.Tally
	for _, g := range x.Groups {
		total.Add(g.Tally)
	}
	facts.add("command", "`"+x.Command+"`")
	facts.add("started", x.StartedAt.String())
	facts.add("machine", machineText(x.Machine))
	facts.add("trials", fmt.Sprintf("%d, %d at a time", total.Trials, x.Jobs))
	facts.add("took", milliseconds(x.ElapsedMS))
	if x.ElapsedMS > 0 {
		facts.add("trials a minute", fmt.Sprintf("%.0f", float64(total.Trials)*60_000/float64(x.ElapsedMS)))
	}
	facts.add("asked for", explorationAsked(x.Asked))
	for _, s := range x.Samples {
		facts.add("sample, "+s.Engine, fmt.Sprintf("%d drawn from %d pairs, seed %d", s.Drawn, s.Population, s.Seed))
	}
	if x.Unplayed > 0 {
		facts.add("**not played**", fmt.Sprintf("at least %d trials, which the budget of time cut off: later parts are made from the traces of these", x.Unplayed))
	}
	if x.Pairless > 0 {
		facts.add("**without pairs**", fmt.Sprintf("%d single faults: a play of theirs did not take place, so nobody knows what their recovery comes past, and no second fault was aimed at it", x.Pairless))
	}
	return facts.String()
}

func explorationAsked(a evidence.ExplorationAsked) string {
	var parts []string
	for _, part := range []struct {
		name string
		list []string
	}{{"engines", a.Engines}, {"profiles", a.Profiles}, {"flows", a.Flows}} {
		if len(part.list) > 0 {
			parts = append(parts, part.name+" "+strings.Join(part.list, ", "))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "every engine, profile and flow")
	}
	pairs := map[string]string{
		"none": "single faults only", "kill": "every pair of kills under full and opaque",
		"sample": "a sample of the other pairs",
		"all":    "every pair of kills under full and opaque, and a sample of all other pairs",
	}[a.Pairs]
	if a.Slice > 0 {
		pairs = fmt.Sprintf("a slice of %d trials, seed %d", a.Slice, a.Seed)
	}
	return strings.Join(append(parts, pairs), "; ")
}

// explorationKinds has a line for each engine and kind of trial.
func explorationKinds(x evidence.Exploration) string {
	type key struct{ engine, kind string }
	sums, took := map[key]*evidence.Tally{}, map[key]int64{}
	var keys []key
	for _, g := range x.Groups {
		k := key{g.Engine, g.Kind}
		if sums[k] == nil {
			sums[k] = &evidence.Tally{}
			keys = append(keys, k)
		}
		sums[k].Add(g.Tally)
		took[k] += g.TookMS
	}
	order := []string{"trace", "kill", "freeze", "kill x kill", "kill x freeze", "freeze x kill", "freeze x freeze"}
	slices.SortStableFunc(keys, func(a, b key) int {
		return cmp.Or(strings.Compare(a.engine, b.engine), cmp.Compare(slices.Index(order, a.kind), slices.Index(order, b.kind)))
	})
	t := table{head: []string{"engine", "faults", "trials", "passed", "failed", "invalid", "inconclusive", "not reached", "plays repeated", "mean time of a trial"}}
	for _, k := range keys {
		s := sums[k]
		t.add(k.engine, k.kind, fmt.Sprint(s.Trials), fmt.Sprint(s.Passed), nonzero(s.Failed), nonzero(s.Invalid), nonzero(s.Inconclusive), nonzero(s.NotReached),
			nonzero(s.Repeats), milliseconds(took[k]/int64(max(s.Trials, 1))))
	}
	return "### Trials and verdicts\n\n" + t.String()
}

// nonzero leaves zeros out, so that the others are seen.
func nonzero(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// explorationEnds has a line for each flow and profile: what the runs had come to.
func explorationEnds(x evidence.Exploration) string {
	type key struct{ engine, flow, profile string }
	ends := map[key]map[string]int{}
	var keys []key
	for _, g := range x.Groups {
		k := key{g.Engine, g.Flow, g.Profile}
		if ends[k] == nil {
			ends[k] = map[string]int{}
			keys = append(keys, k)
		}
		for end, n := range g.Ends {
			ends[k][end] += n
		}
	}
	t := table{head: []string{"engine", "flow", "profile", "ends of the runs"}}
	for _, k := range keys {
		var list []string
		for _, end := range sortedKeys(ends[k]) {
			list = append(list, fmt.Sprintf("%s: %d", end, ends[k][end]))
		}
		t.add(k.engine, k.flow, k.profile, strings.Join(list, "; "))
	}
	return "### What the runs came to\n\nAll trials of a flow together, those without a fault among them. Which end each may have is stated for each trial, from the profile and the place.\n\n" + t.String()
}

// explorationCoverage has a table for each engine: a line for each point, a column for each profile.
func explorationCoverage(x evidence.Exploration) string {
	var b strings.Builder
	b.WriteString("### Coverage\n\nIn each cell the places that are known, then the trials with one fault there, then those with their second fault there. " +
		"A letter says why a point has no place.\n\n")
	var reasons []string
	letter := func(why string) string {
		i := slices.Index(reasons, why)
		if i < 0 {
			i = len(reasons)
			reasons = append(reasons, why)
		}
		return "(" + string(rune('a'+i)) + ")"
	}
	engines, cells := []string{}, map[string]map[string]map[string]evidence.ExploredPoint{}
	profiles, points := map[string][]string{}, []string{}
	for _, p := range x.Points {
		if cells[p.Engine] == nil {
			engines, cells[p.Engine] = append(engines, p.Engine), map[string]map[string]evidence.ExploredPoint{}
		}
		if cells[p.Engine][p.Point] == nil {
			cells[p.Engine][p.Point] = map[string]evidence.ExploredPoint{}
		}
		cells[p.Engine][p.Point][p.Profile] = p
		if !slices.Contains(profiles[p.Engine], p.Profile) {
			profiles[p.Engine] = append(profiles[p.Engine], p.Profile)
		}
		if !slices.Contains(points, p.Point) {
			points = append(points, p.Point)
		}
	}
	holes := 0
	for _, engine := range engines {
		t := table{head: append([]string{engine}, profiles[engine]...)}
		for _, point := range points {
			row := []string{point}
			for _, profile := range profiles[engine] {
				p := cells[engine][point][profile]
				switch {
				case p.Known > 0:
					row = append(row, coverageCell(p))
				case p.Why != "":
					row = append(row, letter(p.Why))
				default:
					holes++
					row = append(row, "**hole**")
				}
			}
			t.add(row...)
		}
		b.WriteString(t.String())
	}
	for i, why := range reasons {
		fmt.Fprintf(&b, "- (%c) %s\n", 'a'+i, why)
	}
	if holes > 0 {
		fmt.Fprintf(&b, "\n**%d cells are holes: no place is known, and nothing explains it.**\n", holes)
	}
	return b.String() + "\n"
}

func coverageCell(p evidence.ExploredPoint) string {
	text := fmt.Sprintf("%d · %d", p.Known, p.Single.Trials)
	if p.Second.Trials > 0 {
		text += fmt.Sprintf(" + %d", p.Second.Trials)
	}
	sum := p.Single
	sum.Add(p.Second)
	for _, mark := range []struct {
		n    int
		what string
	}{{sum.Failed, "failed"}, {sum.Invalid, "invalid"}, {sum.Inconclusive, "inconclusive"}, {sum.NotReached, "not reached"}} {
		if mark.n > 0 {
			text += fmt.Sprintf(", **%d %s**", mark.n, mark.what)
		}
	}
	return text
}

// explorationUnstable lists the places that only some traces hold.
func explorationUnstable(x evidence.Exploration) string {
	t := table{head: []string{"engine", "place", "profiles"}}
	for _, p := range x.Points {
		for _, place := range p.Unstable {
			t.add(p.Engine, place, p.Profile)
		}
	}
	if len(t.rows) == 0 {
		return ""
	}
	t.merge(2)
	return "### Places that only some traces hold\n\nHow often a worker looks for work, and how much one workflow task takes in, depends on who was faster. No fault is aimed at these; " +
		"they are hit where they come before or after another place.\n\n" + t.String()
}

// explorationUnaimed counts the pairs at whose second place nothing was aimed, and lists these places.
func explorationUnaimed(x evidence.Exploration) string {
	if len(x.Unaimed) == 0 {
		return ""
	}
	t := table{head: []string{"engine", "profile", "recoveries compared", "pairs not aimed at", "second place: pairs"}}
	for _, u := range x.Unaimed {
		t.add(u.Engine, u.Profile, fmt.Sprint(u.Recoveries), fmt.Sprint(u.Pairs), strings.Join(u.Places, "; "))
	}
	return "### Places that only some recoveries hold\n\nEach kill whose recovery is killed at every place was played twice. A place that only one of the two holds is listed here, " +
		"with the number of pairs of kills that are missing for it; as many that freeze there are missing from what a sample is drawn from.\n\n" + t.String()
}

// explorationRepeated lists the trials that took more than one play, and why.
func explorationRepeated(x evidence.Exploration) string {
	var total evidence.Tally
	for _, g := range x.Groups {
		total.Add(g.Tally)
	}
	if total.Repeats == 0 {
		return ""
	}
	const head = "### Plays that were repeated\n\n"
	if len(x.Repeated) == 0 {
		return head + "This run did not keep why.\n\n"
	}
	t := table{head: []string{"engine", "profile", "trial", "verdict in the end", "why it was played again"}}
	for _, r := range x.Repeated {
		t.add(r.Engine, r.Profile, "`"+r.Name+"`", r.Verdict, strings.Join(r.Earlier, "; "))
	}
	return head + t.String()
}

// explorationOpen lists the trials that did not pass.
func explorationOpen(x evidence.Exploration) string {
	if len(x.Open) == 0 {
		return "Every trial passed.\n\n"
	}
	t := table{head: []string{"verdict", "engine", "profile", "trial", "why"}}
	for _, o := range x.Open {
		t.add(o.Verdict, o.Engine, o.Profile, "`"+o.Name+"`", strings.Join(o.Findings, "; "))
	}
	return "### Trials that did not pass\n\n" + t.String()
}
