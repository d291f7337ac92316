package comparison

import (
	"fmt"
	"slices"
	"strings"

	"refundlab/evidence"
)

// PowerSection is the report's section about a run of "lab power".
func PowerSection(x evidence.Power) string {
	var b strings.Builder
	b.WriteString("## Power loss\n\n")
	fmt.Fprintf(&b, "`%s`%s, %s, seed %d. The stores lie on a file system that loses what was not synced. At each point their power is cut: writes, truncations and names that no fsync covers are gone, every process on that store dies, and the next one starts on what is left. Where synchronous is FULL each trial is played twice, the second time with each unsynced sector surviving by one chance in two.\n\n", x.Command, onMachine(x), milliseconds(int64(x.EndedAt-x.StartedAt)), x.Seed)
	if x.NotRun != "" {
		fmt.Fprintf(&b, "**Not run:** this machine cannot play these %d trials, so they show nothing: %s.\n\n", len(x.Trials), x.NotRun)
		return b.String()
	}
	b.WriteString(powerCounts(x).String())
	b.WriteString("In a control the store was built with NORMAL or OFF in the place of FULL. The check after *caught* is among those that the judge reported (MODEL: the answers and records are no path of the model); *harmless* names why nothing that is lost at this point contradicts anybody, and the judge reported nothing there.\n\n")
	b.WriteString(powerPoints(x).String())
	b.WriteString(powerDrawn(x))
	for _, t := range x.Trials {
		if t.Right() {
			continue
		}
		missed := ""
		switch {
		case t.Control() && t.Breaks != "":
			missed = ", and not found by " + t.Breaks
		case t.Control():
			missed = ", and nothing should be found: " + t.Why
		}
		fmt.Fprintf(&b, "- **%s, synchronous=%s%s: %s%s**\n", t.Name, t.Synchronous, lotText(t), t.Verdict, missed)
		for _, f := range t.Findings {
			fmt.Fprintf(&b, "  - %s: %s\n", f.Check, f.Text)
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n\n"
}

// onMachine says where the result comes from, and of which versions.
func onMachine(x evidence.Power) string {
	if x.Machine == (evidence.Machine{}) {
		return "" // an older result does not say
	}
	text := " on " + machineText(x.Machine)
	for _, v := range x.Versions {
		text += ", " + v.Part + " " + v.Version
	}
	return text
}

// powerDrawn says how much there was to draw from where the power fails inside a transaction.
func powerDrawn(x evidence.Power) string {
	var trials, draws, pending, survived int
	for _, t := range x.Trials {
		if t.Draws > 1 && t.Pending > 0 {
			trials, draws, pending, survived = trials+1, draws+t.Draws, pending+t.Pending, survived+t.Survived
		}
	}
	if trials == 0 {
		return ""
	}
	return fmt.Sprintf("In %d trials by lot the power fails inside a transaction and finds something that is not synced: %d sectors and names, of which %d survived where the trial went on. With further lots, %d images were drawn there and read.\n\n", trials, pending, survived, draws)
}

func lotText(t evidence.PowerTrial) string {
	if t.Lot {
		return ", by lot"
	}
	return ""
}

// powerCounts is how many trials of each store and setting show what they must.
func powerCounts(x evidence.Power) *table {
	counts := &table{head: []string{"store", "synchronous", "trials", "every invariant held", "caught by the named check", "harmless", "not as they must be"}}
	type key struct{ volume, synchronous string }
	var keys []key
	rows := map[key]*[5]int{}
	for _, t := range x.Trials {
		k := key{t.Volume, t.Synchronous}
		if rows[k] == nil {
			rows[k] = &[5]int{}
			keys = append(keys, k)
		}
		n := rows[k]
		n[0]++
		switch {
		case !t.Right():
			n[4]++
		case !t.Control():
			n[1]++
		case t.Breaks != "":
			n[2]++
		default:
			n[3]++
		}
	}
	for _, k := range keys {
		row := []string{k.volume, k.synchronous}
		for _, n := range rows[k] {
			row = append(row, fmt.Sprint(n))
		}
		counts.add(row...)
	}
	return counts
}

// powerPoints is one row for each point, with what each setting showed.
func powerPoints(x evidence.Power) *table {
	points := &table{head: []string{"store", "point", "profile", "when the power fails", "FULL", "FULL, by lot", "NORMAL", "OFF"}}
	var names []string
	for _, t := range x.Trials {
		if !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	for _, name := range names {
		var row []string
		cells := map[string]string{}
		for _, t := range x.Trials {
			if t.Name == name {
				row = []string{t.Volume, "`" + t.Point + "`", t.Profile, t.Moment}
				cells[t.Synchronous+lotText(t)] = powerVerdict(t)
			}
		}
		points.add(append(row, cells["FULL"], cells["FULL, by lot"], cells["NORMAL"], cells["OFF"])...)
	}
	return points
}

func powerVerdict(t evidence.PowerTrial) string {
	switch {
	case !t.Control() || !t.Right():
		return t.Verdict
	case t.Breaks != "":
		return "caught: " + t.Breaks
	}
	return "harmless: " + t.Why
}
