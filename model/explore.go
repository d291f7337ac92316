package model

import (
	"fmt"
	"time"

	"refundlab/refund"
)

// Found is a violation with the shortest way to it.
type Found struct {
	Invariant string   `json:"invariant"`
	Story     []string `json:"story"` // one sentence a step, the violation last
}

// Exploration is what one exploration saw.
type Exploration struct {
	Profile     refund.ProfileName
	Ownership   string // "leases" or "rounds"
	Bounds      Bounds
	States      int
	Transitions int
	Depth       int // steps on the longest of the shortest ways
	Took        time.Duration
	Found       *Found
}

// Space is what is explored: a profile, a kind of ownership and bounds, under rules.
type Space struct {
	Profile refund.ProfileName
	Rounds  bool
	Bounds  Bounds
	Rules   Rules
	// Want goes on until this invariant is violated, whatever else is; empty stops at the first.
	Want string
}

// second is one phase's length in the explorer's time, in milliseconds; nothing depends on it.
const second = 1000

// Explore visits every state of a space, breadth first, until none is new or one violates an invariant. Because it goes
// breadth first, the way to that one is a shortest.
//
// Errors: INVALID_PROFILE.
func Explore(space Space) (Exploration, error) {
	profile, err := refund.ProfileNamed(space.Profile)
	if err != nil {
		return Exploration{}, err
	}
	e := newExplorer(profile, space)
	began := time.Now()
	x := e.explore()
	x.Took = time.Since(began)
	x.Profile, x.Bounds, x.Ownership = space.Profile, space.Bounds, "leases"
	if space.Rounds {
		x.Ownership = "rounds"
	}
	return x, nil
}

// newExplorer lays out time. A decision is in time in phase 0. A profile that forgets has its time to commit later, so that a
// run can be authorised and no longer remembered.
func newExplorer(profile refund.Profile, space Space) *explorer {
	commit, last := int64(2), uint16(2)
	if profile.Expires {
		commit, last = 4, 5
	}
	terms := refund.Terms{
		Profile: profile.Name, DecideWithin: second, CommitWithin: commit * second, Retention: 2 * second, ModelBudget: 1,
		CallTimeout: second / 2, Backoff: 1,
	}
	request := refund.Request{
		Tenant: "acme", RequestID: "r-1", Order: "o-1", Amount: refund.Money{Minor: 4200, Currency: "EUR"}, Reason: "broken", Requester: "alice",
	}
	at := refund.Instant(1_750_000_000_000)
	var instants []refund.Instant
	for phase := range last + 1 {
		instants = append(instants, at+refund.Instant(phase)*second)
	}
	m := newMachine(profile, space.Rounds, space.Rules, refund.NewIntake(request, terms, at), instants)
	return &explorer{Machine: m, bounds: space.Bounds, last: last, want: space.Want}
}

// roots are the worlds in which a run may begin.
func (e *explorer) roots() []state {
	kinds := []trouble{orderChanges, balanceMoves, tightBalance}
	if e.profile.Idempotent {
		kinds = append(kinds, foreignKey)
	}
	if !e.rules.ByKeyAlone {
		kinds = append(kinds, equalTwin) // nobody who looks at the key alone sees it
	}
	roots := make([]state, len(kinds))
	for i, kind := range kinds {
		roots[i].core = core{Version: 1, Trouble: kind}
		if kind == foreignKey {
			roots[i].Stored = storedForeign
		}
	}
	return roots
}

// visits is the explored part of a space.
type visits struct {
	index map[key]int32
	keys  []key
	from  []int32 // -1 for a root
	by    []step
	depth []int32
}

func (v *visits) add(s *state, from int32, by step) bool {
	k := s.key()
	if _, known := v.index[k]; known {
		return false
	}
	v.index[k] = int32(len(v.keys))
	v.keys, v.from, v.by = append(v.keys, k), append(v.from, from), append(v.by, by)
	depth := int32(0)
	if from >= 0 {
		depth = v.depth[from] + 1
	}
	v.depth = append(v.depth, depth)
	return true
}

func (e *explorer) explore() Exploration {
	var x Exploration
	v := &visits{index: map[key]int32{}}
	for _, root := range e.roots() {
		v.add(&root, -1, step{})
	}
	for at := int32(0); int(at) < len(v.keys); at++ {
		s := v.keys[at].state()
		x.States, x.Depth = int(at)+1, int(v.depth[at])
		violation := e.violated(&s)
		if violation == unbroken && !e.progresses(s) {
			violation = brokenProgress
		}
		id := violations[violation].id
		if violation != unbroken && e.want != "" && id != e.want {
			s.Broken = unbroken // play on
		} else if violation != unbroken {
			x.Found = &Found{Invariant: id, Story: e.story(v, at, violation)}
			return x
		}
		e.steps(&s, func(by step, next *state) {
			x.Transitions++
			v.add(next, at, by)
		})
	}
	return x
}

// String says in one line what an exploration saw.
func (x Exploration) String() string {
	return fmt.Sprintf("%s under %s: %d states, %d transitions, depth %d, %s", x.Profile, x.Ownership, x.States, x.Transitions, x.Depth, x.Took.Round(time.Millisecond))
}
