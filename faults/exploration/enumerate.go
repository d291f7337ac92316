package exploration

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// Scope is the part of everything that is explored. Empty lists take all.
type Scope struct{ Engines, Profiles, Flows []string }

// Bases are the trials without a fault whose traces everything else comes from.
func (s Scope) Bases() []Trial {
	taken := func(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }
	var bases []Trial
	for _, engine := range []string{Temporal, Handrolled} {
		for _, flow := range flows {
			for _, profile := range flow.profiles(engine) {
				if taken(s.Engines, engine) && taken(s.Profiles, string(profile)) && taken(s.Flows, flow.Name) {
					bases = append(bases, Trial{Flow: flow.Name, Engine: engine, Profile: string(profile)})
				}
			}
		}
	}
	return bases
}

// Results are what is known already, by the key of each trial: one for each of its turns.
type Results map[string][]Result

// Add keeps a result.
func (r Results) Add(x Result) { r[x.Key()] = append(r[x.Key()], x) }

// Turns counts the turns of a trial that have their result.
func (r Results) Turns(t Trial) int { return len(r[t.Key()]) }

// places compares the turns of a trial. One that did not take place as planned tells nothing, and without it there is nothing
// that a further fault could be aimed at.
func (r Results) places(t Trial) (stable, unstable []Place) {
	var traces [][]Place
	for _, turn := range r[t.Key()] {
		if !turn.tookPlace() {
			return nil, nil
		}
		traces = append(traces, turn.Places)
	}
	return Stable(traces)
}

// Singles makes a trial of each action at each stable place of the base flows.
func (r Results) Singles(bases []Trial) []Trial {
	var trials []Trial
	for _, base := range bases {
		stable, _ := r.places(base)
		trials = append(trials, base.Singles(stable, faults.Kill, faults.Freeze)...)
	}
	return trials
}

// Exhaustive tells whether every pair of kills is played for a trial: in every flow, under the profile that promises everything and
// the one that promises nothing.
func Exhaustive(t Trial) bool {
	return t.Profile == string(refund.ProfileFull) || t.Profile == string(refund.ProfileOpaque)
}

// KillPairs makes of each kill a trial for each stable place of its recovery, at which a second kill hits.
func (r Results) KillPairs(singles []Trial) []Trial {
	var trials []Trial
	for _, single := range singles {
		if single.Kind() != string(faults.Kill) || !Exhaustive(single) {
			continue
		}
		stable, _ := r.places(single)
		trials = append(trials, single.Seconds(stable, faults.Kill)...)
	}
	return trials
}

// Unaimed lists by engine and profile the places of recoveries that only some turns of the first fault's trial hold, with the number of
// pairs whose second fault was to hit there. Where a trial was played once alone, each of its places is taken.
func (r Results) Unaimed(singles []Trial) []evidence.UnaimedPairs {
	type key struct{ engine, profile string }
	pairs, at := map[key]*evidence.UnaimedPairs{}, map[key]map[string]int{}
	var keys []key
	for _, single := range singles {
		stable, unstable := r.places(single)
		if len(stable)+len(unstable) == 0 || r.Turns(single) < 2 {
			continue
		}
		k := key{single.Engine, single.Profile}
		if pairs[k] == nil {
			pairs[k], at[k] = &evidence.UnaimedPairs{Engine: k.engine, Profile: k.profile}, map[string]int{}
			keys = append(keys, k)
		}
		pairs[k].Recoveries++
		for _, second := range single.Seconds(unstable, faults.Kill) {
			pairs[k].Pairs++
			at[k][second.Faults[len(second.Faults)-1].Place.String()]++
		}
	}
	list := make([]evidence.UnaimedPairs, 0, len(keys))
	for _, k := range keys {
		for _, place := range slices.Sorted(maps.Keys(at[k])) {
			pairs[k].Places = append(pairs[k].Places, fmt.Sprintf("%s: %d", place, at[k][place]))
		}
		list = append(list, *pairs[k])
	}
	slices.SortFunc(list, func(a, b evidence.UnaimedPairs) int {
		return cmp.Or(strings.Compare(a.Engine, b.Engine), cmp.Compare(profileRank(a.Profile), profileRank(b.Profile)))
	})
	return list
}

// Pairless counts the trials of which no pair can be made, because a turn of theirs did not take place: what would be missing
// from all pairs without a word. Those that have no result at all are the business of whoever did not play them.
func (r Results) Pairless(singles []Trial) int {
	n := 0
	for _, single := range singles {
		if slices.ContainsFunc(r[single.Key()], func(turn Result) bool { return !turn.tookPlace() }) {
			n++
		}
	}
	return n
}

// OtherPairs makes all other pairs: those with a freeze, and those of the other profiles. There are too many to play.
func (r Results) OtherPairs(singles []Trial) []Trial {
	var trials []Trial
	for _, single := range singles {
		stable, _ := r.places(single)
		for _, action := range []faults.Action{faults.Kill, faults.Freeze} {
			if action == faults.Kill && single.Kind() == string(faults.Kill) && Exhaustive(single) {
				continue
			}
			trials = append(trials, single.Seconds(stable, action)...)
		}
	}
	return trials
}

// Draw draws n trials by a seed, or all where there are fewer. The same trials and seed give the same draw in whatever order the
// trials are given.
func Draw(trials []Trial, n int, seed uint64) []Trial {
	drawn := slices.Clone(trials)
	slices.SortFunc(drawn, func(a, b Trial) int { return strings.Compare(a.Key(), b.Key()) })
	lot := rand.New(rand.NewPCG(seed, uint64(len(drawn)))) //nolint:gosec // a draw that can be repeated, and no secret
	lot.Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	return drawn[:min(n, len(drawn))]
}

// OfEngine keeps an engine's trials.
func OfEngine(trials []Trial, engine string) []Trial {
	return slices.DeleteFunc(slices.Clone(trials), func(t Trial) bool { return t.Engine != engine })
}
