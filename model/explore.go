package model

import (
	"fmt"
	"hash/maphash"
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

// Ownership names how the run is owned: "leases" as in the journal, or "rounds" as on Temporal.
func (s Space) Ownership() string {
	if s.Rounds {
		return "rounds"
	}
	return "leases"
}

// Spaces are all profiles under both kinds of ownership, the real rules and bounds that take a minute: the profile local has
// no rounds, because only the journal shares a transaction with a ledger. Where operators may reset the activity of a round there is
// a space with that.
func Spaces() []Space {
	var spaces []Space
	for _, profile := range refund.Profiles() {
		add := func(rounds bool, bounds Bounds) {
			spaces = append(spaces, Space{Profile: profile.Name, Rounds: rounds, Bounds: bounds, Rules: RealRules()})
		}
		add(false, UsualBounds(false))
		if !profile.Shared {
			add(true, UsualBounds(true))
		}
		if !profile.Shared && profile.Idempotent {
			add(true, ResetBounds())
		}
	}
	return spaces
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
	x.Profile, x.Bounds, x.Ownership = space.Profile, space.Bounds, space.Ownership()
	return x, nil
}

// newExplorer lays out time. A decision is in time in phase 0. A profile that forgets has its time to commit later, so that a
// run can be authorised and no longer remembered.
func newExplorer(profile refund.Profile, space Space) *explorer {
	commit, last := int64(2), uint16(2)
	if profile.Expires {
		commit, last = 3, 4
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
	return &explorer{machine: m, bounds: space.Bounds, last: last, want: space.Want}
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

// visits is the explored part of a space: states in the order in which they were found, and a hash table of their places.
type visits struct {
	seed  maphash.Seed
	table []int32 // place plus one, 0 where empty; its length is a power of two
	keys  []key
	from  []int32 // -1 for a root
	by    []step
}

func newVisits() *visits {
	return &visits{seed: maphash.MakeSeed(), table: make([]int32, 1<<12)}
}

// add notes a state unless it is known.
func (v *visits) add(s *state, from int32, by step) {
	k := s.key()
	at := v.find(&k)
	if v.table[at] != 0 {
		return
	}
	v.keys, v.from, v.by = append(v.keys, k), append(v.from, from), append(v.by, by)
	v.table[at] = int32(len(v.keys))
	if 4*len(v.keys) > 3*len(v.table) {
		v.table = make([]int32, 2*len(v.table))
		for i := range v.keys {
			v.table[v.find(&v.keys[i])] = int32(i) + 1
		}
	}
}

// find is where a key stands in the table, or where it would.
func (v *visits) find(k *key) uint64 {
	mask := uint64(len(v.table) - 1)
	for at := maphash.Comparable(v.seed, *k) & mask; ; at = (at + 1) & mask {
		if place := v.table[at]; place == 0 || v.keys[place-1] == *k {
			return at
		}
	}
}

func (e *explorer) explore() Exploration {
	var x Exploration
	v := newVisits()
	for _, root := range e.roots() {
		v.add(&root, -1, step{})
	}
	for at, layer := 0, len(v.keys); at < len(v.keys); at++ {
		if at == layer {
			x.Depth, layer = x.Depth+1, len(v.keys)
		}
		s := v.keys[at].state()
		x.States = at + 1
		violation := e.violated(&s)
		if violation == unbroken && !e.progresses(s) {
			violation = brokenProgress
		}
		if e.want != "" && violations[violation].id != e.want { // look further, and play on
			s.Broken = unbroken
			violation = e.violated(&s)
		}
		if id := violations[violation].id; violation != unbroken && (e.want == "" || id == e.want) {
			x.Found = &Found{Invariant: id, Story: e.story(v, int32(at), violation)}
			return x
		}
		e.steps(&s, func(by step, next *state) {
			x.Transitions++
			v.add(next, int32(at), by)
		})
	}
	return x
}

// String says in one line what an exploration saw.
func (x Exploration) String() string {
	text := fmt.Sprintf("%s under %s", x.Profile, x.Ownership)
	if x.Bounds.Resets > 0 {
		text += " with a reset"
	}
	return fmt.Sprintf("%s: %d states, %d transitions, depth %d, %s", text, x.States, x.Transitions, x.Depth, x.Took.Round(time.Millisecond))
}
