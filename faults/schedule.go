package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Action is what happens to a process, or to a message, that is held at a point.
type Action string

// The actions. Kill and Freeze are signals that the harness sends to the held process; the others are answers to it.
const (
	Continue  Action = "continue"  // nothing
	Kill      Action = "kill"      // SIGKILL while held; counts only if the wait status says signal 9
	Freeze    Action = "freeze"    // SIGSTOP while held, until a step says thaw
	Hold      Action = "hold"      // held until a step says release; a message that is let go goes out with its context detached
	Delay     Action = "delay"     // held for the rule's time, then let go as after Hold
	Lose      Action = "lose"      // the answer is lost: the effect stands, the caller sees a cut connection
	Duplicate Action = "duplicate" // the message is sent twice
	Refuse    Action = "refuse"    // the message is answered with a 503 and goes nowhere
	Drop      Action = "drop"      // the message is lost on its way: nothing arrives, the caller sees a cut connection
	Abort     Action = "abort"     // at the provider's commit: roll back and answer nobody
	// PowerCut takes the power from a lossy volume and from every process that uses it: what was not synced is gone, the
	// processes die by SIGKILL, and whoever starts next finds what is on the disk.
	PowerCut Action = "power-cut"
	// Inspect looks at what is on the disk of a lossy volume, as a power failure at this point would leave it, and changes nothing.
	Inspect Action = "inspect"
)

// Rule says what happens at the n-th time that a process stands at a point.
type Rule struct {
	Name    string `json:"name"`              // steps refer to it
	Point   Point  `json:"point"`             // for instance "provider-commit.before"
	Nth     int    `json:"nth"`               // counted from 1, per process and point
	Process string `json:"process,omitempty"` // the process's name; empty means any, counted over all
	Action  Action `json:"action"`
	// Victim is the process that Kill and Freeze hit when it is not the one that is held: a worker while its request is held
	// at the provider's commit.
	Victim string `json:"victim,omitempty"`
	// DelayMS is how long Delay holds, in milliseconds.
	DelayMS int64 `json:"delay_ms,omitempty"`
	// Volume is the one that PowerCut and Inspect are about: "journal", "ledger" or "history".
	Volume string `json:"volume,omitempty"`
	// Sync moves PowerCut from the point into the transaction behind it: before or after the fsync of the volume's log by which the
	// process makes that transaction durable. A store that does not sync loses its power where the process comes to the far side.
	Sync When `json:"sync,omitempty"`
}

// Schedule is the faults of one trial. A run saves the schedule that it played, and playing it again is the same trial.
type Schedule []Rule

// ParseSchedule reads a schedule and refuses what could never fire, a misspelt key among it.
func ParseSchedule(text []byte) (Schedule, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var schedule Schedule
	if err := decoder.Decode(&schedule); err != nil {
		return nil, fmt.Errorf("schedule is not a JSON list of rules: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("schedule is not a JSON list of rules: there is something behind the list")
	}
	if err := schedule.Validate(); err != nil {
		return nil, err
	}
	return schedule, nil
}

// Validate refuses rules without a name, with a name that stands twice, an occurrence below 1 or an unknown action.
func (s Schedule) Validate() error {
	names := map[string]bool{}
	for i, rule := range s {
		if rule.Name == "" || names[rule.Name] {
			return fmt.Errorf("rule %d: name %q is empty or stands twice", i+1, rule.Name)
		}
		names[rule.Name] = true
		if rule.Nth < 1 {
			return fmt.Errorf("rule %q: occurrence %d is below 1", rule.Name, rule.Nth)
		}
		if !rule.Point.known() {
			return fmt.Errorf("rule %q: point %q is unknown", rule.Name, rule.Point)
		}
		switch rule.Action {
		case Kill, Freeze, Hold, Delay, Lose, Duplicate, Refuse, Drop, Abort, PowerCut, Inspect:
		default:
			return fmt.Errorf("rule %q: action %q is unknown", rule.Name, rule.Action)
		}
		if aboutVolume := rule.Action == PowerCut || rule.Action == Inspect; aboutVolume != (rule.Volume != "") {
			return fmt.Errorf("rule %q: %s with volume %q: %s and %s need one, and nothing else has one", rule.Name, rule.Action, rule.Volume, PowerCut, Inspect)
		}
		if inside := rule.Sync == Before || rule.Sync == After; rule.Sync != "" && (!inside || rule.Action != PowerCut || rule.Point.When != Before) {
			return fmt.Errorf("rule %q: %s at %s, sync %q: only %s ahead of a boundary has one, which is %s or %s", rule.Name, rule.Action, rule.Point, rule.Sync, PowerCut, Before, After)
		}
		if rule.Action == Drop && rule.Point.When != Before {
			return fmt.Errorf("rule %q: a message is lost before a boundary, behind it its answer is: write %s", rule.Name, Lose)
		}
		if (rule.Action == Delay) != (rule.DelayMS > 0) || rule.DelayMS < 0 {
			return fmt.Errorf("rule %q: %s with a delay of %d ms: delay needs more than zero, and nothing else has one", rule.Name, rule.Action, rule.DelayMS)
		}
	}
	return nil
}
