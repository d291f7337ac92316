package evidence

import (
	"slices"

	"refundlab/refund"
)

// Controls is what one run of "lab controls" showed: each control is a build that lacks a protection, and the suite must find it.
type Controls struct {
	Command   string         `json:"command"` // as the user typed it
	Machine   Machine        `json:"machine"`
	Versions  []Version      `json:"versions"`
	Budget    Budget         `json:"budget"`
	StartedAt refund.Instant `json:"started_at"`
	EndedAt   refund.Instant `json:"ended_at"`
	Jobs      int            `json:"jobs"` // trials at a time
	Asked     ControlsAsked  `json:"asked"`
	// Baseline are the same cells with nothing taken away, built and played in the same way: they must pass.
	Baseline []ControlTrial `json:"baseline"`
	Controls []Control      `json:"controls"`
}

// ControlsAsked says which part was asked for. Empty lists ask for everything.
type ControlsAsked struct {
	Controls []string `json:"controls,omitempty"`
	Engines  []string `json:"engines,omitempty"`
	// Matrix: each control was played in every scenario of its engines, under one profile of each: the first in the order of the
	// scenario that is "full", else the scenario's first.
	Matrix bool `json:"matrix,omitempty"`
}

// Control is one broken protection and what was found of it.
type Control struct {
	Name        string   `json:"name"`
	Breaks      string   `json:"breaks"` // what was taken away
	Design      string   `json:"design"` // the design that it stands for
	Layers      string   `json:"layers,omitempty"`
	Harmless    string   `json:"harmless,omitempty"` // why no invariant is violated without it
	Files       []string `json:"files"`              // that were replaced, and the executables built with them
	Executables []string `json:"executables"`
	BuildMS     int64    `json:"build_ms"`
	// BuildError is what the compiler said of a control that did not build: its own verdict, and no find.
	BuildError string         `json:"build_error,omitempty"`
	Trials     []ControlTrial `json:"trials"`           // that must show it
	Others     []ControlTrial `json:"others,omitempty"` // of the kill matrix
}

// ControlTrial is one trial of a build and what the judge reported of it.
type ControlTrial struct {
	Cell
	Expected []string `json:"expected,omitempty"` // checks of which one must be among those reported; empty where nothing is expected
	Verdict  string   `json:"verdict"`
	Reported []string `json:"reported,omitempty"` // checks, each once, in the judge's order
	Text     string   `json:"text,omitempty"`     // the first finding of an expected check, else the first of all
	// Unsound is what the judge found under EVIDENCE: in what the trial was not as planned. It reports then only what holds all the same.
	Unsound []string `json:"unsound,omitempty"`
	// Stray: a worker or a provider ended by itself, and I11 counts for nothing. Whatever stops a process stops its runs.
	Stray  bool  `json:"stray,omitempty"`
	Plays  int   `json:"plays"`   // until it took place and showed what it must, 1 when the first did
	TookMS int64 `json:"took_ms"` // of the last play
	// Clean is the same build in the same cell without the fault, played where the trial with it failed: what is broken without any
	// fault says nothing about the scenario.
	Clean *ControlTrial `json:"clean,omitempty"`
}

// Caught tells whether the trial shows what it must: it failed, and an expected check is among those reported that count.
func (t ControlTrial) Caught() bool {
	return t.Verdict == "fail" && slices.ContainsFunc(t.Reported, func(check string) bool { return slices.Contains(t.Expected, check) && t.counts(check) })
}

// Failed tells whether the judge reported anything that counts against the build.
func (t ControlTrial) Failed() bool {
	return t.Verdict == "fail" && slices.ContainsFunc(t.Reported, t.counts)
}

// Killed tells whether the scenario's fault shows that the protection is gone: the trial failed, and passes without the fault.
func (t ControlTrial) Killed() bool {
	return t.Failed() && t.Clean != nil && t.Clean.Verdict == "pass"
}

// counts tells whether a reported check speaks against the protection that is gone. That nothing goes on where a process is dead
// does not: a build that panics on its first task would be caught by it, whatever was taken away.
func (t ControlTrial) counts(check string) bool {
	return check != "EVIDENCE" && !(t.Stray && check == "I11")
}

// Caught tells whether every trial that must show the control does.
func (c Control) Caught() bool {
	for _, trial := range c.Trials {
		if !trial.Caught() {
			return false
		}
	}
	return c.BuildError == "" && len(c.Trials) > 0
}

// Passed tells whether every control is caught and the unbroken build passes the same cells.
func (c Controls) Passed() bool {
	for _, trial := range c.Baseline {
		if trial.Verdict != "pass" {
			return false
		}
	}
	for _, control := range c.Controls {
		if !control.Caught() {
			return false
		}
	}
	return len(c.Baseline) > 0 && len(c.Controls) > 0
}
