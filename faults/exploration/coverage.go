package exploration

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// Groups counts results by engine, profile, flow and kind.
func (r Results) Groups() []evidence.ExploredGroup {
	type key struct{ engine, profile, flow, kind string }
	groups := map[key]*evidence.ExploredGroup{}
	for _, turns := range r {
		for _, x := range turns {
			k := key{x.Engine, x.Profile, x.Flow, x.Kind()}
			if groups[k] == nil {
				groups[k] = &evidence.ExploredGroup{Engine: k.engine, Profile: k.profile, Flow: k.flow, Kind: k.kind, Ends: map[string]int{}}
			}
			g := groups[k]
			g.Add(x.tally())
			g.TookMS += x.TookMS
			g.Ends[x.end()]++
		}
	}
	list := make([]evidence.ExploredGroup, 0, len(groups))
	for _, g := range groups {
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b evidence.ExploredGroup) int {
		return cmp.Or(strings.Compare(a.Engine, b.Engine), cmp.Compare(profileRank(a.Profile), profileRank(b.Profile)),
			cmp.Compare(flowRank(a.Flow), flowRank(b.Flow)), strings.Compare(a.Kind, b.Kind))
	})
	return list
}

// end says how a run ended, for counting.
func (r Result) end() string {
	if r.Status == "" {
		return "none"
	}
	return fmt.Sprintf("%s, %d in the ledger", r.Status, r.Entries)
}

func profileRank(name string) int {
	return slices.IndexFunc(refund.Profiles(), func(p refund.Profile) bool { return string(p.Name) == name })
}

func flowRank(name string) int {
	return slices.IndexFunc(flows, func(f Flow) bool { return f.Name == name })
}

// Coverage has a line for each point of the closed list, on each engine and under each profile of the scope: what is known
// there, what hit there, and why nothing is known where nothing is.
func (r Results) Coverage(bases []Trial) []evidence.ExploredPoint {
	var lines []evidence.ExploredPoint
	type key struct{ engine, profile, point string }
	at := map[key]int{}
	for _, base := range bases {
		for _, point := range Points() {
			k := key{base.Engine, base.Profile, point.String()}
			if _, known := at[k]; !known {
				at[k] = len(lines)
				lines = append(lines, evidence.ExploredPoint{Engine: k.engine, Profile: k.profile, Point: k.point})
			}
		}
	}
	for _, base := range bases {
		stable, unstable := r.places(base)
		for _, p := range stable {
			lines[at[key{base.Engine, base.Profile, p.Point.String()}]].Known++
		}
		for _, p := range unstable {
			line := &lines[at[key{base.Engine, base.Profile, p.Point.String()}]]
			line.Unstable = append(line.Unstable, fmt.Sprintf("%s #%d of %s, flow %s", p.Process, p.Nth, p.Point, base.Flow))
		}
	}
	for _, turns := range r {
		for _, x := range turns {
			if len(x.Faults) == 0 {
				continue
			}
			i, known := at[key{x.Engine, x.Profile, x.Faults[len(x.Faults)-1].Point.String()}]
			switch {
			case !known:
			case len(x.Faults) == 1:
				lines[i].Single.Add(x.tally())
			default:
				lines[i].Second.Add(x.tally())
			}
		}
	}
	partial := len(bases) < len(Scope{Engines: enginesOf(bases)}.Bases())
	for i, line := range lines {
		if line.Known == 0 {
			if lines[i].Why = why(line); lines[i].Why == "" && partial {
				lines[i].Why = "not every flow and profile was asked for"
			}
		}
	}
	slices.SortStableFunc(lines, func(a, b evidence.ExploredPoint) int {
		return cmp.Or(strings.Compare(a.Engine, b.Engine), cmp.Compare(profileRank(a.Profile), profileRank(b.Profile)))
	})
	return lines
}

func enginesOf(trials []Trial) (engines []string) {
	for _, t := range trials {
		if !slices.Contains(engines, t.Engine) {
			engines = append(engines, t.Engine)
		}
	}
	return engines
}

// Points is the closed list of points in the order of the flow.
func Points() []faults.Point {
	var points []faults.Point
	for _, meaning := range faults.Boundaries() {
		for _, when := range []faults.When{faults.Before, faults.After} {
			points = append(points, faults.Point{Boundary: meaning.Boundary, When: when})
		}
	}
	return points
}

// crossesNetwork are the boundaries of calls to a provider in a process of its own.
var crossesNetwork = []faults.Boundary{faults.OrderCall, faults.ProviderCall, faults.ProviderRecv, faults.LookupCall, faults.CloseCall}

// why says why no place is known at a point, "" where nothing explains it.
func why(line evidence.ExploredPoint) string {
	var point faults.Point
	if point.UnmarshalText([]byte(line.Point)) != nil {
		return ""
	}
	profile, err := refund.ProfileNamed(refund.ProfileName(line.Profile))
	if err != nil {
		return ""
	}
	for _, meaning := range faults.Boundaries() {
		if meaning.Boundary == point.Boundary && (line.Engine == Temporal && meaning.Temporal == "" || line.Engine == Handrolled && meaning.Handrolled == "") {
			return "this engine has no such boundary"
		}
	}
	switch {
	case point == faults.Point{Boundary: faults.StoreCommit, When: faults.After}:
		return "a commit is announced before it alone: what is durable behind it is behind its step, too"
	case profile.Shared && slices.Contains(crossesNetwork, point.Boundary):
		return "under local there is no provider to call: order, operation and ledger are in the journal's file"
	case profile.Shared && point.Boundary == faults.Intent:
		return "under local intent, money and outcome are one transaction: provider-commit around it, store-commit inside"
	case profile.Shared && point.Boundary == faults.Observed:
		return "under local the ledger answers inside the transaction; what else is observed is a model that fails, which no flow has"
	case point.Boundary == faults.CloseCall && !profile.Close:
		return "the profile has no close"
	case point.Boundary == faults.LookupCall && profile.Lookup == refund.LookupNone:
		return "the profile has no look-up"
	case point.Boundary == faults.LookupCall && profile.Close:
		return "no worker looks up where it can send again or close"
	case len(line.Unstable) > 0:
		return "only some of the traces hold it"
	}
	return ""
}

// Open lists the results that did not pass. replay names the file of a plan.
func (r Results) Open(replay func(Result) string) []evidence.ExploredTrial {
	var open []evidence.ExploredTrial
	for _, turns := range r {
		for _, x := range turns {
			if x.Verdict != Pass {
				open = append(open, evidence.ExploredTrial{
					Engine: x.Engine, Profile: x.Profile, Name: x.Cell().Scenario, Verdict: x.Verdict, Findings: x.Findings, Replay: replay(x),
				})
			}
		}
	}
	slices.SortFunc(open, func(a, b evidence.ExploredTrial) int {
		return cmp.Or(strings.Compare(a.Verdict, b.Verdict), strings.Compare(a.Engine, b.Engine), strings.Compare(a.Profile, b.Profile), strings.Compare(a.Name, b.Name))
	})
	return open
}

// Repeated lists the results that took more than one play, and why.
func (r Results) Repeated() []evidence.RepeatedTrial {
	var repeated []evidence.RepeatedTrial
	for _, turns := range r {
		for _, x := range turns {
			if x.Repeats > 0 {
				repeated = append(repeated, evidence.RepeatedTrial{Engine: x.Engine, Profile: x.Profile, Name: x.Cell().Scenario, Verdict: x.Verdict, Earlier: x.Earlier})
			}
		}
	}
	slices.SortFunc(repeated, func(a, b evidence.RepeatedTrial) int {
		return cmp.Or(strings.Compare(a.Engine, b.Engine), strings.Compare(a.Profile, b.Profile), strings.Compare(a.Name, b.Name))
	})
	return repeated
}
