package evidence

import "refundlab/refund"

// Exploration is what one run of "lab explore" showed: which places are known, which were hit, and what came of it.
type Exploration struct {
	Command   string         `json:"command"` // as the user typed it
	Machine   Machine        `json:"machine"`
	Versions  []Version      `json:"versions"`
	Budget    Budget         `json:"budget"`
	StartedAt refund.Instant `json:"started_at"`
	EndedAt   refund.Instant `json:"ended_at"`
	// ElapsedMS is how long trials were played: of a run that was resumed the parts together, and without the build.
	ElapsedMS int64            `json:"elapsed_ms"`
	Jobs      int              `json:"jobs"` // trials at a time
	Asked     ExplorationAsked `json:"asked"`
	// Unplayed counts trials that were due when the budget of time ended, and not those that would have been made from their
	// traces; 0 in a complete run.
	Unplayed int `json:"unplayed"`
	// Pairless counts single faults whose pairs were asked for and could not be made, because a play of theirs did not take place.
	Pairless int `json:"pairless,omitempty"`
	// Unaimed are pairs of kills that were not played because their second place is not in every play of the first fault.
	Unaimed  []UnaimedPairs  `json:"unaimed,omitempty"`
	Groups   []ExploredGroup `json:"groups"`
	Points   []ExploredPoint `json:"points"`
	Samples  []PairSample    `json:"samples,omitempty"`
	Open     []ExploredTrial `json:"open,omitempty"` // every trial that did not pass
	Repeated []RepeatedTrial `json:"repeated,omitempty"`
}

// ExplorationAsked says which part was asked for. Empty lists and zeros ask for everything.
type ExplorationAsked struct {
	Engines  []string `json:"engines,omitempty"`
	Profiles []string `json:"profiles,omitempty"`
	Flows    []string `json:"flows,omitempty"`
	Pairs    string   `json:"pairs"` // none, kill, sample or all
	Sample   int      `json:"sample,omitempty"`
	Seed     uint64   `json:"seed"`
	Slice    int      `json:"slice,omitempty"`
}

// Tally counts trials by their verdicts, and the plays that had to be repeated before one hit.
type Tally struct {
	Trials       int `json:"trials"`
	Passed       int `json:"passed"`
	Failed       int `json:"failed,omitempty"`
	Invalid      int `json:"invalid,omitempty"`
	Inconclusive int `json:"inconclusive,omitempty"`
	NotReached   int `json:"not_reached,omitempty"` // in none of their plays did all faults hit, and nothing else was amiss in any
	Repeats      int `json:"repeats,omitempty"`
}

// Add counts another tally in.
func (t *Tally) Add(o Tally) {
	t.Trials += o.Trials
	t.Passed += o.Passed
	t.Failed += o.Failed
	t.Invalid += o.Invalid
	t.Inconclusive += o.Inconclusive
	t.NotReached += o.NotReached
	t.Repeats += o.Repeats
}

// ExploredGroup is what came of the trials of one kind.
type ExploredGroup struct {
	Engine  string `json:"engine"`
	Profile string `json:"profile"`
	Flow    string `json:"flow"`
	Kind    string `json:"kind"` // "trace", "kill", "freeze", "kill x kill" ...
	Tally
	// Ends counts the trials by how the run ended: its status, the ledger's entries and the submits received.
	Ends map[string]int `json:"ends"`
	// TookMS is the time of all these trials together.
	TookMS int64 `json:"took_ms"`
}

// ExploredPoint is one line of the coverage table: a point on an engine under a profile.
type ExploredPoint struct {
	Engine  string `json:"engine"`
	Profile string `json:"profile"`
	Point   string `json:"point"`
	// Known counts the places (process, point and occurrence, by flow) that every trace holds; Unstable lists those that only some
	// hold, which are not hit on purpose.
	Known    int      `json:"known"`
	Unstable []string `json:"unstable,omitempty"`
	Single   Tally    `json:"single"` // trials whose only fault is to hit here
	Second   Tally    `json:"second"` // trials whose second fault is to hit here
	// Why says why the point has no place; empty where it has some, and where nobody knows.
	Why string `json:"why,omitempty"`
}

// PairSample says how a sample of pairs was drawn.
type PairSample struct {
	Engine     string `json:"engine"`
	Population int    `json:"population"` // pairs that are known and not played exhaustively
	Drawn      int    `json:"drawn"`
	Seed       uint64 `json:"seed"`
}

// UnaimedPairs are the pairs of kills of an engine and profile at whose second place nothing was aimed: only some plays of the first
// fault hold it.
type UnaimedPairs struct {
	Engine     string   `json:"engine"`
	Profile    string   `json:"profile"`
	Recoveries int      `json:"recoveries"` // that were played more than once and compared
	Pairs      int      `json:"pairs"`
	Places     []string `json:"places,omitempty"` // each with the number of its pairs
}

// ExploredTrial is one trial that did not pass.
type ExploredTrial struct {
	Engine   string   `json:"engine"`
	Profile  string   `json:"profile"`
	Name     string   `json:"name"`
	Verdict  string   `json:"verdict"` // of the judge, or "not reached"
	Findings []string `json:"findings,omitempty"`
	Replay   string   `json:"replay,omitempty"` // the plan's file below the run's directory
}

// RepeatedTrial is one trial that took more than one play.
type RepeatedTrial struct {
	Engine  string   `json:"engine"`
	Profile string   `json:"profile"`
	Name    string   `json:"name"`
	Verdict string   `json:"verdict"` // of the last play
	Earlier []string `json:"earlier"` // findings of the plays before
}
