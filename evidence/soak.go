package evidence

import (
	"fmt"
	"slices"
	"strings"

	"refundlab/refund"
)

// Soak is what one run of "lab soak" showed.
type Soak struct {
	Command   string         `json:"command"` // as the user typed it
	Machine   Machine        `json:"machine"`
	Versions  []Version      `json:"versions"`
	Budget    Budget         `json:"budget"`
	StartedAt refund.Instant `json:"started_at"`
	EndedAt   refund.Instant `json:"ended_at"`
	Seed      uint64         `json:"seed"`
	Minutes   float64        `json:"minutes"` // of each engine
	Refunds   int            `json:"refunds"` // in each round
	Faults    int            `json:"faults"`  // drawn for each round
	Jobs      int            `json:"jobs"`    // rounds at a time
	Engines   []SoakEngine   `json:"engines"`
}

// SoakEngine is the sum over the rounds of one engine.
type SoakEngine struct {
	Engine    string        `json:"engine"`
	ElapsedMS int64         `json:"elapsed_ms"` // of its rounds, without the build
	Rounds    int           `json:"rounds"`
	Verdicts  Counts        `json:"verdicts"`
	Profiles  Counts        `json:"profiles"` // rounds
	Refunds   int           `json:"refunds"`
	Ends      Counts        `json:"ends"`     // of refunds, by status and reason
	Commands  Counts        `json:"commands"` // of clients, by verb
	Silent    int           `json:"silent"`   // of them, those that got no answer of the engine
	Drawn     int           `json:"drawn"`    // rules
	Hit       Counts        `json:"hit"`      // rules that hit, by action
	Kills     Counts        `json:"kills"`    // by role of the process
	Freezes   int           `json:"freezes"`
	Received  Counts        `json:"received"` // requests that reached the provider, by verb
	Bill      int           `json:"bill"`     // requests that reached the model
	Crossings int           `json:"crossings"`
	Removed   []SoakRemoval `json:"removed"`
	Open      []SoakOpen    `json:"open,omitempty"` // rounds that did not pass
}

// Counts says how often each of several things was seen, in the order of their names.
type Counts []Count

// Count is one of them.
type Count struct {
	What string `json:"what"`
	N    int    `json:"n"`
}

// Add counts n more of a thing.
func (c *Counts) Add(what string, n int) {
	i, known := slices.BinarySearchFunc(*c, what, func(x Count, name string) int { return strings.Compare(x.What, name) })
	if !known {
		*c = slices.Insert(*c, i, Count{What: what})
	}
	(*c)[i].N += n
}

// Total is the sum over all of them.
func (c Counts) Total() (n int) {
	for _, x := range c {
		n += x.N
	}
	return n
}

// String lists them, the most frequent first.
func (c Counts) String() string {
	sorted := slices.Clone(c)
	slices.SortStableFunc(sorted, func(a, b Count) int { return b.N - a.N })
	var parts []string
	for _, x := range sorted {
		parts = append(parts, fmt.Sprintf("%d %s", x.N, x.What))
	}
	return strings.Join(parts, ", ")
}

// SoakRemoval counts how often one check removed a duplicate or a misuse.
type SoakRemoval struct {
	By    string `json:"by"` // engine, application or provider
	Party string `json:"party"`
	Check string `json:"check"`
	Count int    `json:"count"`
}

// SoakOpen is a round that did not pass.
type SoakOpen struct {
	Round    string   `json:"round"`
	Profile  string   `json:"profile"`
	Verdict  string   `json:"verdict"`
	Findings []string `json:"findings"`
	Plan     string   `json:"plan"`              // its file, below the run's directory
	Minimal  string   `json:"minimal,omitempty"` // what it was shrunk to
}
