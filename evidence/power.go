package evidence

import (
	"slices"

	"refundlab/refund"
)

// Power is what one run of "lab power" showed.
type Power struct {
	Command   string         `json:"command"` // as the user typed it
	Machine   Machine        `json:"machine"`
	Versions  []Version      `json:"versions"`
	StartedAt refund.Instant `json:"started_at"`
	EndedAt   refund.Instant `json:"ended_at"`
	Engines   []string       `json:"engines"`
	Seed      uint64         `json:"seed"` // of what survives by lot
	// NotRun says why this machine can play none of the trials, which then are all listed as NotRun.
	NotRun string       `json:"not_run,omitempty"`
	Trials []PowerTrial `json:"trials"`
}

// PowerTrial is one trial with a power failure, or one in which what would be left was looked at.
type PowerTrial struct {
	Name        string `json:"name"`
	Engine      string `json:"engine"`
	Profile     string `json:"profile"`
	Volume      string `json:"volume"`      // the store that lost its power
	Synchronous string `json:"synchronous"` // of that store: FULL as the product has it, or NORMAL or OFF in a control
	Point       string `json:"point"`
	Moment      string `json:"moment"` // the point in words
	// Lot: of what was not synced, each sector survived with one chance in two; else nothing did.
	Lot bool `json:"lot,omitempty"`
	// Pending is what had not been synced when the power failed, in sectors and names, and Survived what was left of it. Draws is how
	// many images were drawn by lot and read.
	Pending  int `json:"pending,omitempty"`
	Survived int `json:"survived,omitempty"`
	Draws    int `json:"draws,omitempty"`
	// Breaks is the check that a control must be found by; "" where what is lost contradicts nobody, for the reason in Why: there a
	// control passes like the product.
	Breaks   string         `json:"breaks,omitempty"`
	Why      string         `json:"why,omitempty"`
	Verdict  string         `json:"verdict"` // the judge's, or NotRun
	Findings []PowerFinding `json:"findings,omitempty"`
	TookMS   int64          `json:"took_ms"`
}

// PowerFinding is one of the judge's reasons.
type PowerFinding struct {
	Check string `json:"check"`
	Text  string `json:"text"`
}

// SynchronousFull is the setting of every store of the product.
const SynchronousFull = "FULL"

// NotRun is the verdict on a trial that the machine could not play. It is no pass.
const NotRun = "not run"

// Control tells whether the trial was played with a store that does not sync its commits.
func (t PowerTrial) Control() bool { return t.Synchronous != SynchronousFull }

// Caught tells whether a control was found by the check that it must break, in a trial that took place. Only a failure finds: an
// inconclusive verdict names checks too, those that its evidence does not decide.
func (t PowerTrial) Caught() bool {
	return t.Breaks != "" && t.Verdict == "fail" && t.found(t.Breaks) && !t.found("EVIDENCE")
}

func (t PowerTrial) found(check string) bool {
	return slices.ContainsFunc(t.Findings, func(f PowerFinding) bool { return f.Check == check })
}

// Right tells whether the trial took place and shows what it must: without syncs a violation of the named check, where one is
// named, and else none. A loss is harmless only if the judge says so.
func (t PowerTrial) Right() bool {
	if t.Control() && t.Breaks != "" {
		return t.Caught()
	}
	return t.Verdict == "pass"
}

// Passed tells whether every trial was played and is right.
func (p Power) Passed() bool {
	return len(p.Trials) > 0 && !slices.ContainsFunc(p.Trials, func(t PowerTrial) bool { return !t.Right() })
}
