package evidence

import "refundlab/refund"

// Model is what one run of "lab model" showed: the spaces that were explored to their end, and the changes of the rules that
// had to be found.
type Model struct {
	Command   string         `json:"command"` // as the user typed it
	Machine   Machine        `json:"machine"`
	StartedAt refund.Instant `json:"started_at"`
	EndedAt   refund.Instant `json:"ended_at"`
	Spaces    []ModelSpace   `json:"spaces"`
	Controls  []ModelControl `json:"controls"`
}

// ModelSpace is one exploration: a profile, a kind of ownership, bounds.
type ModelSpace struct {
	Profile     refund.ProfileName `json:"profile"`
	Ownership   string             `json:"ownership"` // "leases" or "rounds"
	Claims      int                `json:"claims"`    // bounds: claims by owners, or attempts
	Rounds      int                `json:"rounds,omitempty"`
	Settlements int                `json:"settlements"`
	Resets      int                `json:"resets,omitempty"` // of an activity, by an operator
	States      int                `json:"states"`
	Transitions int                `json:"transitions"`
	Depth       int                `json:"depth"`
	ElapsedMS   int64              `json:"elapsed_ms"`
	// Violated is the invariant that does not hold, with the shortest way to it; empty in a run that passed.
	Violated string   `json:"violated,omitempty"`
	Story    []string `json:"story,omitempty"`
}

// ModelControl is one change of the rules, and the shortest way to the violation that it must cause.
type ModelControl struct {
	Name      string             `json:"name"`
	Title     string             `json:"title"`
	Profile   refund.ProfileName `json:"profile"`
	Ownership string             `json:"ownership"`
	Invariant string             `json:"invariant"`
	Found     bool               `json:"found"`
	States    int                `json:"states"` // until it was found
	Story     []string           `json:"story,omitempty"`
}

// Passed tells whether every space was explored without a violation and every control was found.
func (m Model) Passed() bool {
	for _, space := range m.Spaces {
		if space.Violated != "" {
			return false
		}
	}
	for _, control := range m.Controls {
		if !control.Found {
			return false
		}
	}
	return len(m.Spaces)+len(m.Controls) > 0
}
