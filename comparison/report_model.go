package comparison

import (
	"fmt"
	"strconv"
	"strings"

	"refundlab/evidence"
)

// ModelSection is the report's section about a run of "lab model".
func ModelSection(m evidence.Model) string {
	var b strings.Builder
	b.WriteString("## The rules as a model\n\n" + modelText)
	states := 0
	spaces := table{head: []string{"profile", "ownership", "claims", "rounds", "settlements", "resets", "states", "transitions", "longest shortest way", "took", "violated"}}
	for _, s := range m.Spaces {
		states += s.States
		spaces.add(string(s.Profile), s.Ownership, strconv.Itoa(s.Claims), unlessZero(s.Rounds), strconv.Itoa(s.Settlements), unlessZero(s.Resets),
			strconv.Itoa(s.States), strconv.Itoa(s.Transitions), strconv.Itoa(s.Depth), milliseconds(s.ElapsedMS), modelVerdict(s.Violated))
	}
	fmt.Fprintf(&b, "`%s` on %s visited %d states.\n\n", m.Command, machineText(m.Machine), states)
	b.WriteString(spaces.String())
	b.WriteString("Each of these changes of the rules was looked for; steps count the shortest way to what it breaks.\n\n")
	controls := table{head: []string{"control", "what is changed", "profile", "ownership", "breaks", "found after", "steps"}}
	for _, c := range m.Controls {
		found := fmt.Sprintf("%d states", c.States)
		if !c.Found {
			found = "**not found**"
		}
		controls.add("`"+c.Name+"`", c.Title, string(c.Profile), c.Ownership, c.Invariant, found, strconv.Itoa(max(len(c.Story)-1, 0)))
	}
	b.WriteString(controls.String())
	for _, s := range m.Spaces {
		if s.Violated != "" {
			b.WriteString(modelStory(fmt.Sprintf("**%s under %s violates %s**", s.Profile, s.Ownership, s.Violated), s.Story))
		}
	}
	for _, c := range m.Controls {
		if c.Name == "second-send-after-look-up" || c.Name == "first-send-too-late" {
			b.WriteString(modelStory(fmt.Sprintf("The shortest story of %#q under %s (%s):", c.Name, c.Ownership, c.Title), c.Story))
		}
	}
	return b.String()
}

const modelText = "Trials show what happened once. `lab model` asks package `refund` itself, the same code that both engines run, in every state " +
	"that any order of steps leads to: two owners who may stand still anywhere and act later on what they knew, requests that are lost, late or doubled, " +
	"competing and late decisions and such on something else than what was shown, both deadlines, changes of the order, the end of a provider's memory, settlements. Within the bounds of each row the " +
	"space is explored to its end. In every state the invariants hold, and one undisturbed worker would bring the run to an end, or to an UNKNOWN that is " +
	"permitted. *Leases* is the journal's ownership, *rounds* Temporal's, where an operator may reset an activity. That model and code are about the same thing is checked too: every trace of every trial in " +
	"this report is a path of the model (check MODEL of the judge); one that is too large to be followed to its end makes its trial inconclusive, which is no pass. What the model leaves out is in `docs/model.md`.\n\n"

func unlessZero(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func modelVerdict(violated string) string {
	if violated == "" {
		return "nothing"
	}
	return "**" + violated + "**"
}

func modelStory(title string, story []string) string {
	var b strings.Builder
	b.WriteString(title + "\n\n")
	for i, line := range story {
		fmt.Fprintf(&b, "%d. %s\n", i+1, line)
	}
	return b.String() + "\n"
}
