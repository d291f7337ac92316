package exploration

import (
	"fmt"
	"slices"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// Names that the scripts share. The one refund fits into its order twice.
const (
	run     = "r1"
	order   = "o-1"
	amount  = 4_200
	capture = 10_000
	person  = "bob"
	asker   = "request-r1"
	decided = "d1"
)

// Spans of time in milliseconds.
const (
	// hurry is long enough for request and proposal on a busy machine, and short enough to be waited for.
	hurry = 8_000
	// slow keeps an answer back for longer than a third of the lease, so that the lease is renewed meanwhile, and for less than a
	// call may take.
	slow = 900
	// stuck is how long nothing may be announced before a run that should go on is taken to be stuck. It is above every silence
	// that an engine's time-outs explain.
	stuck = 25_000
)

// Flow is one undisturbed course of a refund, whose places are hit one by one.
type Flow struct {
	Name  string
	About string
	// profiles under which the flow takes a course of its own, by engine.
	profiles func(engine string) []refund.ProfileName
	script   func(c course) []faults.Step
	schedule func(c course) faults.Schedule
	// from is the first point whose places belong to this flow and to no other; the zero value takes all, or all after the
	// schedule's own rules have hit. till is the last one behind that, after which it goes on like the first flow; where the zero
	// value or no such place stands, it goes to the end.
	from, till faults.Point
}

// course is what a flow is played on.
type course struct {
	engine  string
	profile refund.Profile
}

var networked = []refund.ProfileName{
	refund.ProfileFull, refund.ProfileRetention, refund.ProfileLenient, refund.ProfileLookup, refund.ProfileStale, refund.ProfileOpaque,
}

func everyProfile(engine string) []refund.ProfileName {
	if engine == Handrolled {
		return append(slices.Clone(networked), refund.ProfileLocal)
	}
	return networked
}

// fullAndShared are for what asks no profile, and crosses under the shared transaction a point that nothing else crosses there.
func fullAndShared(engine string) []refund.ProfileName {
	if engine == Handrolled {
		return []refund.ProfileName{refund.ProfileFull, refund.ProfileLocal}
	}
	return []refund.ProfileName{refund.ProfileFull}
}

func under(profiles ...refund.ProfileName) func(string) []refund.ProfileName {
	return func(string) []refund.ProfileName { return profiles }
}

// Names of the flows.
const (
	Approved = "approved"
	Lost     = "lost"
	Slow     = "slow"
	Lapsed   = "lapsed"
	Rejected = "rejected"
	Expired  = "expired"
)

var flows = []Flow{
	{
		Name:     Approved,
		About:    "A worker, a request, an approval: the whole way to the notice.",
		profiles: everyProfile,
		script:   func(course) []faults.Step { return []faults.Step{start, asked(0), proposed, decide(faults.DoApprove)} },
	},
	{
		Name:     Lost,
		About:    "The first answer to the submit is lost after the commit: the second send, the look-up, or the run that is left to a person.",
		profiles: everyProfile,
		script:   func(course) []faults.Step { return []faults.Step{start, asked(0), proposed, decide(faults.DoApprove)} },
		schedule: func(c course) faults.Schedule {
			boundary := faults.ProviderCall
			if c.profile.Shared {
				boundary = faults.ProviderCommit // the answer to the journal's own COMMIT
			}
			return faults.Schedule{{Name: "lost", Point: faults.Point{Boundary: boundary, When: faults.After}, Nth: 1, Process: "a", Action: faults.Lose}}
		},
	},
	{
		Name:     Slow,
		About:    "The provider, or on Temporal and under local the model, has answered and the answer takes its time: the lease is renewed, the attempt gives a sign of life.",
		profiles: everyProfile,
		script:   func(course) []faults.Step { return []faults.Step{start, asked(0), proposed, decide(faults.DoApprove)} },
		schedule: func(c course) faults.Schedule {
			rule := faults.Rule{Name: "slow", Point: faults.Point{Boundary: faults.ProviderCall, When: faults.After}, Nth: 1, Process: "a", Action: faults.Delay, DelayMS: slow}
			if c.engine == Temporal || c.profile.Shared { // a submit gives no sign of life: it lasts no longer than its calls, or makes none
				rule.Point.Boundary = faults.ModelCall
			}
			return faults.Schedule{rule}
		},
		till: faults.Point{Boundary: faults.Proposal, When: faults.After},
	},
	{
		Name:     Lapsed,
		About:    "The first send goes nowhere, and the order changes before the second: what may have been sent is closed, or looked up for good.",
		profiles: under(refund.ProfileFull, refund.ProfileRetention, refund.ProfileLenient), // the others send once
		script: func(course) []faults.Step {
			return []faults.Step{
				start, asked(0), proposed, decide(faults.DoApprove),
				{Do: faults.DoFired, Rule: "held"}, {Do: faults.DoOrderVersion, Order: order}, {Do: faults.DoRelease, Rule: "held"},
			}
		},
		schedule: func(course) faults.Schedule {
			return faults.Schedule{
				{Name: "refused", Point: faults.Point{Boundary: faults.ProviderCall, When: faults.Before}, Nth: 1, Process: "a", Action: faults.Refuse},
				// The order is read before the proposal, before the first send, and before the second.
				{Name: "held", Point: faults.Point{Boundary: faults.OrderCall, When: faults.Before}, Nth: 3, Process: "a", Action: faults.Hold},
			}
		},
	},
	{
		Name:     Rejected,
		About:    "A person rejects.",
		profiles: under(refund.ProfileFull),
		script:   func(course) []faults.Step { return []faults.Step{start, asked(0), proposed, decide(faults.DoReject)} },
		from:     faults.Point{Boundary: faults.Decision, When: faults.Before},
	},
	{
		Name:     Expired,
		About:    "Nobody decides before the deadline.",
		profiles: fullAndShared,
		script:   func(course) []faults.Step { return []faults.Step{start, asked(hurry), proposed} },
		from:     faults.Point{Boundary: faults.Proposal, When: faults.After},
	},
}

var (
	start    = faults.Step{Do: faults.DoStart, Process: workers[0]}
	proposed = faults.Step{Do: faults.DoAwait, Point: faults.Point{Boundary: faults.Proposal, When: faults.After}, Run: run, QuietMS: stuck}
)

// asked is the request, in the background because its client may be frozen.
func asked(decideMS int64) faults.Step {
	return faults.Step{Do: faults.DoRequest, Process: asker, Background: true, Run: run, Order: order, Amount: amount, DecideMS: decideMS}
}

// decide waits longer for its verdict than any recovery takes.
func decide(verb faults.Verb) faults.Step {
	return faults.Step{Do: verb, Process: person, Background: true, By: person, Decision: decided, Run: run, Args: []string{"--wait", "80s"}}
}

// Flows are the base flows in the order of the report.
func Flows() []Flow { return slices.Clone(flows) }

// FlowNamed finds a flow.
func FlowNamed(name string) (Flow, error) {
	for _, f := range flows {
		if f.Name == name {
			return f, nil
		}
	}
	return Flow{}, fmt.Errorf("there is no flow %q", name)
}

// Profiles are those under which a flow is explored on an engine.
func (f Flow) Profiles(engine string) []refund.ProfileName { return f.profiles(engine) }

// rules are the flow's own faults.
func (f Flow) rules(c course) faults.Schedule {
	if f.schedule == nil {
		return nil
	}
	return f.schedule(c)
}

// Places lists the places of a flow's own part in a trial of it: behind its own faults and its first point. complete is false
// where the trial never came there.
func (f Flow) Places(record evidence.Record) (places []Place, complete bool) {
	var after int64
	for _, rule := range record.Trial.Schedule {
		i := slices.IndexFunc(record.Trial.Fired, func(x evidence.Fired) bool { return x.Rule == rule.Name })
		if i < 0 {
			return nil, false
		}
		fired := record.Trial.Fired[i]
		after = max(after, fired.Seq)
		if rule.Action == faults.Hold {
			after = max(after, fired.DoneSeq)
		}
	}
	if f.from != (faults.Point{}) {
		i := slices.IndexFunc(record.Trace, func(c evidence.Crossing) bool { return c.Point == f.from })
		if i < 0 {
			return nil, false
		}
		after = max(after, record.Trace[i].Seq-1)
	}
	trace := record.Trace
	if i := slices.IndexFunc(trace, func(c evidence.Crossing) bool { return c.Point == f.till && c.Seq > after }); i >= 0 {
		trace = trace[:i+1]
	}
	return Places(trace, after), true
}
