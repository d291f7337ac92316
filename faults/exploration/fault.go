package exploration

import (
	"fmt"
	"strings"

	"refundlab/faults"
)

// Fault is one fault of a trial: what happens to whom, and where. It is what a result keeps, and enough to play it again.
type Fault struct {
	Place
	Action faults.Action `json:"action"` // Kill or Freeze
	Victim string        `json:"victim"` // the process at the place, or the worker whose request is held there
}

// Name is the fault in the name of a trial, without a character that a file name could not hold.
func (f Fault) Name() string {
	at := f.Victim
	if f.Victim != f.Process {
		at += "-at"
	}
	return fmt.Sprintf("%s-%s-%s-%s-%d", f.Action, at, f.Point.Boundary, f.Point.When, f.Nth)
}

// String says the fault as a person reads it.
func (f Fault) String() string {
	text := fmt.Sprintf("%s %s at %s #%d", f.Action, f.Victim, f.Point, f.Nth)
	if f.Victim != f.Process {
		text += " of " + f.Process
	}
	return text
}

// Trial is one trial of the exploration: a flow, on an engine, under a profile, with its faults in the order in which they hit.
type Trial struct {
	Flow    string  `json:"flow"`
	Engine  string  `json:"engine"`
	Profile string  `json:"profile"`
	Faults  []Fault `json:"faults"`
}

// Name is the trial's own among those of its engine and profile.
func (t Trial) Name() string {
	parts := []string{t.Flow}
	for _, f := range t.Faults {
		parts = append(parts, f.Name())
	}
	return strings.Join(parts, "~")
}

// Key names the trial among all.
func (t Trial) Key() string { return strings.Join([]string{t.Engine, t.Profile, t.Name()}, "/") }

// Kind is how results are counted: "trace" without a fault, the action of a single one, or the actions of a pair.
func (t Trial) Kind() string {
	switch len(t.Faults) {
	case 0:
		return "trace"
	case 1:
		return string(t.Faults[0].Action)
	}
	return string(t.Faults[0].Action) + " x " + string(t.Faults[1].Action)
}

// At lists the faults that can hit at a place with an action. At the provider the worker whose request is held can be hit, and
// the provider itself; the provider alone is hit once it can be started again.
func At(p Place, action faults.Action) []Fault {
	if KindOf(p.Process) != Provider {
		return []Fault{{p, action, p.Process}}
	}
	list := []Fault{{p, action, p.Process}}
	if p.Caller != "" {
		list = append(list, Fault{p, action, p.Caller})
	}
	return list
}

// Singles makes one trial for each place and each of the actions.
func (t Trial) Singles(places []Place, actions ...faults.Action) []Trial {
	var trials []Trial
	for _, action := range actions {
		for _, p := range places {
			for _, f := range At(p, action) {
				trials = append(trials, t.with(f))
			}
		}
	}
	return trials
}

// Seconds makes one trial for each place at which a second fault can hit during the recovery from those of t. A process that
// an earlier kill ended stands nowhere any more, so its places come from processes that live; one that was frozen stands somewhere
// again once it was let go. Three workers must do.
func (t Trial) Seconds(places []Place, action faults.Action) []Trial {
	var trials []Trial
	for _, p := range places {
		for _, f := range At(p, action) {
			if t.spent(f) {
				continue
			}
			trials = append(trials, t.with(f))
		}
	}
	return trials
}

// spent tells whether an earlier fault keeps this one from its victim: it has killed that for good, would freeze it twice, or has frozen
// it at the provider, where its request goes on without it: whoever stands frozen is not killed.
func (t Trial) spent(second Fault) bool {
	for _, f := range t.Faults {
		switch {
		case f.Victim != second.Victim:
		case f.Action == faults.Kill && KindOf(f.Victim) != Provider: // which comes back under its name
			return true
		case f.Action == faults.Freeze && second.Action == faults.Freeze: // the harness lets a process go by its name
			return true
		case f.Action == faults.Freeze && f.Victim == f.Caller && second.Caller == f.Caller && second.Call <= f.Call:
			return true
		}
	}
	return false
}

func (t Trial) with(f Fault) Trial {
	t.Faults = append(append([]Fault{}, t.Faults...), f)
	return t
}
