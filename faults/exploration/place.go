// Package exploration enumerates faults: from the traces of undisturbed runs it takes every place where a process can be hit,
// makes of each a plan that any harness can play, and says how such a trial may end. It is data and rules alone; it plays
// nothing and judges nothing.
package exploration

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"refundlab/evidence"
	"refundlab/faults"
)

// The engines, as cells name them.
const (
	Temporal   = "temporal"
	Handrolled = "handrolled"
)

// Place is one place where a fault can hit: the n-th time that a process stands at a point.
type Place struct {
	Process string       `json:"process"`
	Point   faults.Point `json:"point"`
	Nth     int          `json:"nth"` // per process and point, from 1
	// Caller is the worker whose request is held there, where the process is the provider, and Call which of its calls it is.
	Caller string `json:"caller,omitempty"`
	Call   int    `json:"call,omitempty"`
	Stage  Stage  `json:"stage"`
}

// Stage is what a dead worker may have left in the world at a place; it decides what the next one can know.
type Stage string

// The stages. A run goes through them once, whoever works on it.
const (
	Unproposed Stage = "unproposed" // no proposal is durable
	Unsent     Stage = "unsent"     // no intent to send is durable
	Sent       Stage = "sent"       // a request may be on its way, and the provider has not committed it
	Committed  Stage = "committed"  // the provider has committed, and no outcome is durable
	Known      Stage = "known"      // the outcome is durable
	Unsure     Stage = "unsure"     // the traces do not agree
)

// String writes a place as coverage tables and names of trials do.
func (p Place) String() string { return fmt.Sprintf("%s at %s #%d", p.Process, p.Point, p.Nth) }

// identity tells places of two traces apart; what else is known of them may differ.
type identity struct {
	process string
	point   faults.Point
	nth     int
}

func (p Place) identity() identity { return identity{p.Process, p.Point, p.Nth} }

// Places lists where the processes stood in a trace after a sequence number, in that order.
func Places(trace []evidence.Crossing, after int64) []Place {
	var places []Place
	stage, storing, committing := Unproposed, false, false
	for i, c := range trace {
		refused := c.Detail[faults.DetailRefused] != ""
		// Whoever is not let go dies at the point, and what it was about to do never happens; at the provider's commit that goes for
		// the request, whose transaction is rolled back.
		died := c.Reply == "" || c.Reply == faults.Abort
		// Only the side of a record that its process has crossed tells what others may find. Between the two sides either may be so,
		// for whoever stands elsewhere meanwhile.
		at := stage
		point := c.Point
		if point.Boundary == faults.ProviderCommit && c.Process != faults.LineProvider {
			point.Boundary = faults.Outcome // one transaction is both
		}
		switch point {
		case faults.Point{Boundary: faults.Proposal, When: faults.After}:
			if !refused && stage == Unproposed {
				at, stage = Unsent, Unsent
			}
		case faults.Point{Boundary: faults.Intent, When: faults.Before}:
			if stage == Unsent && !died {
				stage = Sent
			}
		case faults.Point{Boundary: faults.ProviderCommit, When: faults.Before}:
			committing = !died
		case faults.Point{Boundary: faults.ProviderCommit, When: faults.After}:
			if !refused && stage != Known {
				at, stage = Committed, Committed
			}
			committing = false
		case faults.Point{Boundary: faults.Outcome, When: faults.Before}:
			storing = !died
		case faults.Point{Boundary: faults.Outcome, When: faults.After}:
			if !refused {
				at, stage = Known, Known
			}
			storing = false
		default:
			// The owner's commits are its own outcome, which is not durable before them.
			if (committing || storing && c.Point.Boundary != faults.StoreCommit) && stage != Known {
				at = Unsure
			}
		}
		if c.Seq <= after {
			continue
		}
		place := Place{Process: c.Process, Point: c.Point, Nth: c.Nth, Stage: at}
		if c.Process == faults.LineProvider {
			place.Caller, place.Call = callerOf(trace[:i], c)
		}
		places = append(places, place)
	}
	return places
}

// callerOf finds the worker whose submit stands at the provider: the last that announced it under the same fence.
func callerOf(before []evidence.Crossing, held evidence.Crossing) (process string, nth int) {
	for _, c := range slices.Backward(before) {
		if c.Point == (faults.Point{Boundary: faults.ProviderCall, When: faults.Before}) && c.Operation == held.Operation && c.Fence == held.Fence {
			return c.Process, c.Nth
		}
	}
	return "", 0
}

// Stable returns the places that every one of several traces of the same script holds, in the order of the first, and those
// that only some hold. A fault at one of these might not hit.
func Stable(traces [][]Place) (stable, unstable []Place) {
	counts, seen := map[identity]int{}, map[identity]Place{}
	for _, trace := range traces {
		for _, p := range trace {
			counts[p.identity()]++
			if first, known := seen[p.identity()]; known && (first.Stage != p.Stage || first.Caller != p.Caller) {
				p.Stage = Unsure
			}
			seen[p.identity()] = p
		}
	}
	if len(traces) > 0 {
		for _, p := range traces[0] {
			if counts[p.identity()] == len(traces) {
				stable = append(stable, seen[p.identity()])
			}
		}
	}
	for id, p := range seen {
		if counts[id] < len(traces) {
			unstable = append(unstable, p)
		}
	}
	slices.SortFunc(unstable, func(a, b Place) int {
		return cmp.Or(strings.Compare(a.Point.String(), b.Point.String()), strings.Compare(a.Process, b.Process), cmp.Compare(a.Nth, b.Nth))
	})
	return stable, unstable
}

// Kind is what a process is to a trial.
type Kind string

// The kinds of processes.
const (
	Worker   Kind = "worker"
	Client   Kind = "client"
	Provider Kind = "provider"
)

// workers are the names of the workers in the order in which they are started.
var workers = []string{"a", "b", "c"}

// KindOf tells what the process of a name is in the scripts of this package.
func KindOf(process string) Kind {
	switch {
	case process == faults.LineProvider:
		return Provider
	case slices.Contains(workers, process):
		return Worker
	}
	return Client
}
