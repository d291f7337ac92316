package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// SavedFormat is the version of the format of Saved. A reader refuses any other.
const SavedFormat = 1

// Saved is one trial as a file: what is played, on which engine, and what it may show. It is what a soak and an exploration
// leave of a trial, what `lab replay` plays, and what a failing trial is shrunk to.
type Saved struct {
	Format int    `json:"format"`
	About  string `json:"about,omitempty"` // for a person: what it shows, and where it comes from
	Engine string `json:"engine"`
	// Profile is the plan's own. Name stands for the scenario in the evidence, in letters, digits, "-" and ".".
	Name   string           `json:"name"`
	Plan   Plan             `json:"plan"`
	Expect SavedExpectation `json:"expect"`
}

// SavedExpectation is what the trial may show: an Expectation without what the plan says already.
type SavedExpectation struct {
	ByLot     bool              `json:"by_lot,omitempty"`
	Runs      map[string]End    `json:"runs"`
	Verdicts  map[string]string `json:"verdicts,omitempty"`
	Answers   map[string]string `json:"answers,omitempty"`
	Race      []string          `json:"race,omitempty"`
	Late      *Late             `json:"late,omitempty"`
	InOrder   []string          `json:"in_order,omitempty"`
	Witnesses []Witness         `json:"witnesses,omitempty"`
}

// Save makes a file of a plan and what its trial may show.
func Save(e Expectation, p Plan, about string) Saved {
	return Saved{Format: SavedFormat, About: about, Engine: e.Engine, Name: e.Scenario, Plan: p, Expect: SavedExpectation{
		ByLot: e.ByLot, Runs: e.Runs, Verdicts: e.Verdicts, Answers: e.Answers, Race: e.Race, Late: e.Late, InOrder: e.InOrder, Witnesses: e.Witnesses,
	}}
}

// Expectation is what the trial may show, in the arm with the fault.
func (s Saved) Expectation() Expectation {
	x := s.Expect
	return Expectation{
		Scenario: s.Name, Engine: s.Engine, Profile: s.Plan.Profile, Arm: "fault", Schedule: s.Plan.Schedule,
		ByLot: x.ByLot, Runs: x.Runs, Verdicts: x.Verdicts, Answers: x.Answers, Race: x.Race, Late: x.Late, InOrder: x.InOrder, Witnesses: x.Witnesses,
	}
}

// ParseSaved reads a saved trial. A key that is unknown, a name that could be no directory, a schedule that could never fire and a
// trial without steps or runs are errors: a plan that is played in part shows something else than its file says.
func ParseSaved(text []byte) (Saved, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var s Saved
	if err := decoder.Decode(&s); err != nil {
		return Saved{}, fmt.Errorf("it is not a saved trial: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Saved{}, errors.New("it is not a saved trial: there is something behind it")
	}
	switch {
	case s.Format != SavedFormat:
		return Saved{}, fmt.Errorf("it has format %d: this program reads format %d", s.Format, SavedFormat)
	case !isName(s.Name):
		return Saved{}, fmt.Errorf("its name %q is not of letters, digits, dots and hyphens", s.Name)
	case s.Engine == "":
		return Saved{}, errors.New("it names no engine")
	case s.Plan.Profile == "":
		return Saved{}, errors.New("its plan names no profile")
	case len(s.Plan.Script) == 0:
		return Saved{}, errors.New("its plan has no steps")
	case len(s.Expect.Runs) == 0:
		return Saved{}, errors.New("it expects no run, so that nothing could be judged")
	}
	if err := s.Plan.Schedule.Validate(); err != nil {
		return Saved{}, err
	}
	rules := map[string]bool{}
	for _, rule := range s.Plan.Schedule {
		rules[rule.Name] = true
	}
	for name := range s.Plan.Reactions {
		if !rules[name] {
			return Saved{}, fmt.Errorf("there is a reaction to rule %q, and no such rule", name)
		}
	}
	return s, nil
}

func isName(name string) bool {
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '~' {
			return false
		}
	}
	return name != "" && name[0] != '.'
}
