package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Plan is one trial as data: the world it starts in, the steps that are played one after the other, the faults that hit
// meanwhile, and what is done about each once it has hit. It knows no engine; the harness turns it into processes.
type Plan struct {
	Profile  string   `json:"profile"`
	World    World    `json:"world"`
	Script   []Step   `json:"script"`
	Schedule Schedule `json:"schedule"`
	// Reactions are played beside the script, each from the moment at which the rule of that name has hit: a crash needs
	// another worker wherever in the script it comes. The trial rests only once those that began are done.
	Reactions map[string][]Step `json:"reactions,omitempty"`
}

// World is what a trial starts with.
type World struct {
	Orders      []Order `json:"orders"`
	RetentionMS int64   `json:"retention_ms,omitempty"` // of the profile "retention"; 0 is the provider's default
	// OwnServer gives the trial a server of its own in the place of the one that the engine's trials share, so that it can be
	// killed. An engine without a server has none to give.
	OwnServer bool `json:"own_server,omitempty"`
	// Volumes are the stores that lie on lossy volumes, and Survival says what else is on their disks after a power cut.
	Volumes  []string `json:"volumes,omitempty"`
	Survival Survival `json:"survival,omitzero"`
}

// Names of the processes that a trial starts beside its workers and clients; LineModel and the other two are also the lines
// between processes and far sides that a step can cut.
const (
	LineProvider = "provider" // refund service and receiver of notices
	LineModel    = "model"    // served by the provider's process, reached by a line of its own
	LineServer   = "server"   // the engine's
)

// Kinds of DoClock beside the provider's own: the wall clock of the host, which all processes of the trial share, or that of one
// Process alone, on top of the host's. A shared server of the engine, and its timers, keep the real clock.
const (
	ClockHost    = "host"
	ClockProcess = "process"
)

// Steps are all steps of a plan, those of the script first.
func (p Plan) Steps() []Step {
	steps := slices.Clone(p.Script)
	for _, rule := range slices.Sorted(maps.Keys(p.Reactions)) {
		steps = append(steps, p.Reactions[rule]...)
	}
	return steps
}

// Order is one order that exists before the first step.
type Order struct {
	Tenant   string `json:"tenant"`
	ID       string `json:"id"`
	Currency string `json:"currency"`
	Captured int64  `json:"captured_minor"`
	Refunded int64  `json:"refunded_minor"`
	Version  int64  `json:"version"`
}

// Verb is what a step does.
type Verb string

// The verbs. Every one that waits does so for an event and under the trial's deadline.
const (
	DoStart        Verb = "start"         // a worker, and wait until it is ready
	DoStop         Verb = "stop"          // a worker by SIGTERM, and wait for its clean end
	DoKill         Verb = "kill"          // a worker, the provider or the trial's own server by SIGKILL, wherever it is
	DoRestart      Verb = "restart"       // the provider or the trial's own server after its end, on its files and reached as before; wait until it is ready
	DoCut          Verb = "cut"           // a line (Kind) of a process, or of all: its connections are reset, and new ones at once
	DoSilence      Verb = "silence"       // a line accepts and takes everything, and nothing arrives or answers
	DoRestore      Verb = "restore"       // a line carries again; what was sent into silence is lost
	DoThaw         Verb = "thaw"          // let a frozen process go on
	DoRequest      Verb = "request"       // a client asks for a refund
	DoApprove      Verb = "approve"       // a client decides
	DoReject       Verb = "reject"        //
	DoJoin         Verb = "join"          // wait for a client that was started in the background
	DoStatus       Verb = "status"        // a client reads the status, with or without a worker alive
	DoSettle       Verb = "settle"        // a person settles what is UNKNOWN
	DoCancel       Verb = "cancel"        // a client asks the engine to cancel a run
	DoAwait        Verb = "await"         // wait until a point was crossed
	DoFired        Verb = "fired"         // wait until a rule of the schedule has hit, and its effect is complete if it is a signal
	DoRelease      Verb = "release"       // let what a rule holds go on
	DoPass         Verb = "pass"          // wait until a deadline of a run has passed, or, without a Kind, for OffsetMS: longer than somebody's patience, whose end nobody announces
	DoRest         Verb = "rest"          // wait until nothing moves any more
	DoLull         Verb = "lull"          // in a reaction: wait until the script waits for rest and every run is at rest
	DoLand         Verb = "land"          // wait until a process that was let go has announced nothing for a while, or has ended
	DoOrderVersion Verb = "order-version" // the merchant changes the order
	DoClock        Verb = "clock"         // the provider's clock goes forward; with Kind ClockHost or ClockProcess that wall clock reads OffsetMS beside the real one, until the next step
	DoCatchUp      Verb = "catch-up"      // the provider's replica sees everything
	DoModel        Verb = "model"         // the next answers of the model
	DoProvider     Verb = "provider"      // the next answers of the provider
	DoSync         Verb = "sync"          // all that was written to a volume reaches the disk, as the system does by itself in the end
	DoForeign      Verb = "foreign"       // another caller uses a run's operation id for something else
)

// Step is one step of a script. Which fields count depends on the verb.
type Step struct {
	Do Verb `json:"do"`
	// Only names the one arm, "clean" or "fault", that plays the step; empty means both.
	Only       string   `json:"only,omitempty"`
	Process    string   `json:"process,omitempty"` // a worker's or client's name
	Background bool     `json:"background,omitempty"`
	Run        string   `json:"run,omitempty"`  // name of the request that it is about
	Args       []string `json:"args,omitempty"` // further flags of the command
	Order      string   `json:"order,omitempty"`
	Amount     int64    `json:"amount_minor,omitempty"`
	Currency   string   `json:"currency,omitempty"`         // of the amount; empty is EUR
	DecideMS   int64    `json:"decide_within_ms,omitempty"` // of a request; 0 is the client's default
	CommitMS   int64    `json:"commit_within_ms,omitempty"`
	By         string   `json:"by,omitempty"`
	Decision   string   `json:"decision,omitempty"` // decision id
	Point      Point    `json:"point,omitzero"`
	Nth        int      `json:"nth,omitempty"`
	// Receipt names, of a settlement by receipt, the run whose entry in the provider's books is brought; empty is its own. IfAny
	// leaves the settlement out where the books hold no such entry yet: a person brings what the provider issued, or nothing.
	Receipt string   `json:"receipt,omitempty"`
	IfAny   bool     `json:"if_any,omitempty"`
	Rule    string   `json:"rule,omitempty"`
	Kind    string   `json:"kind,omitempty"`    // of a settlement; which deadline: "decide", "commit", "retention" or "ownership"; which line or clock
	Answers []string `json:"answers,omitempty"` // of model or provider
	// RetryAfterMS is what an answer "busy" of the provider, or "status-429" of the model, asks for.
	RetryAfterMS int64 `json:"retry_after_ms,omitempty"`
	OffsetMS     int64 `json:"offset_ms,omitempty"`
	// QuietMS lets a run that is not over be at rest once nothing was announced for that long; it stands where the run may not
	// ask any more, so that no ask can show its rest. 0 lets it not. An await ends after such a silence as well, or when
	// its run is over, and a land after that of its process.
	QuietMS int64 `json:"quiet_ms,omitempty"`
	// StuckMS is the same for a run that should still go on: nobody has found out that it may neither be sent nor asked about, or
	// its outcome is recorded and not told. On a busy machine it is silent for long before it does. 0 is QuietMS.
	StuckMS int64 `json:"stuck_ms,omitempty"`
}

// Waits tells whether a step does nothing but wait for what the processes do; a deadline that has to pass is the script's own.
func (s Step) Waits() bool {
	return s.Do == DoAwait || s.Do == DoFired || s.Do == DoJoin || s.Do == DoRest || s.Do == DoLull || s.Do == DoLand
}

// String says the step as the report and the progress display do.
func (s Step) String() string {
	words := []string{string(s.Do)}
	for _, word := range []string{s.Process, s.Run, s.Decision, s.Rule, s.Kind, s.Order} {
		if word != "" {
			words = append(words, word)
		}
	}
	if s.Point != (Point{}) {
		words = append(words, fmt.Sprintf("%s #%d", s.Point, max(s.Nth, 1)))
	}
	if s.Amount != 0 {
		words = append(words, fmt.Sprintf("%d minor units", s.Amount))
	}
	if s.Currency != "" {
		words = append(words, "of "+s.Currency)
	}
	if s.DecideMS != 0 {
		words = append(words, fmt.Sprintf("to be decided within %d ms", s.DecideMS))
	}
	if s.CommitMS != 0 {
		words = append(words, fmt.Sprintf("to be committed within %d ms", s.CommitMS))
	}
	if s.By != "" {
		words = append(words, "by "+s.By)
	}
	if s.Receipt != "" {
		words = append(words, "receipt="+s.Receipt)
	}
	if s.OffsetMS != 0 {
		words = append(words, fmt.Sprintf("%d ms", s.OffsetMS))
	}
	words = append(words, s.Args...)
	words = append(words, s.Answers...)
	if s.Background {
		words = append(words, "(in the background)")
	}
	return strings.Join(words, " ")
}
