package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"refundlab/faults"
)

// crowds are three workers on one operation. The first is frozen in its call until the second has taken over, which is frozen
// in its call until the third has; then the three requests go on, in every order. On Temporal each frozen worker swallows the
// next attempts, which takes half a minute, so that none of them is part of every run.
var crowds = func() []scenario {
	var family []scenario
	for _, order := range [][]string{{"c", "a", "b"}, {"c", "b", "a"}, {"a", "b", "c"}, {"b", "a", "c"}, {"a", "c", "b"}, {"b", "c", "a"}} {
		family = append(family, crowd(order))
	}
	return family
}()

// crowd is one order in which the requests of a, of b, which came after it, and of c, which came last, reach the provider.
func crowd(order []string) scenario {
	ordinals := map[string]string{"a": "first", "b": "second", "c": "third"}
	words := make([]string, 0, len(order))
	for _, worker := range order {
		words = append(words, ordinals[worker])
	}
	said := fmt.Sprintf("the %s, the %s, the %s", words[0], words[1], words[2])
	return scenario{
		ScenarioText: faults.ScenarioText{
			Name:  "three-workers-" + strings.Join(order, ""),
			Title: "Three workers, and their requests arrive: " + said,
			About: "Two workers are frozen in their calls, each beyond its lease or attempt, and a third stands in its call. Their requests go on in this order: " + said + ". One ledger entry, one receipt, and the frozen ones record nothing. What comes after a newer owner's request is refused by its fence; where the provider keeps none, whatever comes second is given the stored receipt.",
		},
		profiles: idempotent,
		build: func(c cell) trial {
			steps := []faults.Step{fired("frozen-a"), start("b"), fired("frozen-b"), start("c"), fired("held-c")}
			overtaken := 0 // requests that come after a newer owner's
			var held []string
			for i, worker := range order {
				held = append(held, map[string]string{"a": "frozen-a", "b": "frozen-b", "c": "held-c"}[worker])
				if worker == "c" {
					steps = append(steps, release("held-c"), over("", "r1"))
				} else {
					steps = append(steps, thaw(worker))
				}
				steps = append(steps, await(faults.ProviderCall, faults.After, worker, "r1"))
				if c.profile.Fence && slices.ContainsFunc(order[:i], func(earlier string) bool { return earlier > worker }) {
					overtaken++
				}
			}
			expect := c.ends(confirmed(3, 3+2*c.zombies()+slack))
			if c.fault {
				expect.InOrder = held
			}
			if c.fault && overtaken > 0 {
				expect.Witnesses = append(expect.Witnesses, faults.Witness{Why: "the provider must have refused each request that a newer owner's had overtaken", Outcome: "stale-fence", Least: overtaken})
			}
			if again := len(order) - 1 - overtaken; c.fault && again > 0 {
				expect.Witnesses = append(expect.Witnesses, faults.Witness{Why: "the provider must have given its stored receipt to each request that came second and was not overtaken", Outcome: "receipt", Least: again})
			}
			if i := slices.Index(order, "c"); c.fault && i < 2 {
				expect.Late = &faults.Late{Run: "r1", Rule: "frozen-" + order[i+1], Other: "c"}
			}
			return trial{
				script: approved(only(fault, steps...), rest),
				schedule: faults.Schedule{
					rule("frozen-a", faults.ProviderCall, faults.Before, 1, "a", faults.Freeze),
					rule("frozen-b", faults.ProviderCall, faults.Before, 1, "b", faults.Freeze),
					rule("held-c", faults.ProviderCall, faults.Before, 1, "c", faults.Hold),
				},
				expect: expect,
			}
		},
	}
}
