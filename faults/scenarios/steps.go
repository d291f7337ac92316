package scenarios

import (
	"refundlab/faults"
)

// Names that the scripts share.
const (
	order  = "o-1"
	amount = 4_200 // minor units of EUR; two of them fit into the order's 10 000
)

// at is a point.
func at(b faults.Boundary, w faults.When) faults.Point { return faults.Point{Boundary: b, When: w} }

func start(worker string) faults.Step { return faults.Step{Do: faults.DoStart, Process: worker} }

func request(run string) faults.Step {
	return faults.Step{Do: faults.DoRequest, Process: "request-" + run, Run: run, Order: order, Amount: amount}
}

// within is a request that must be decided and committed within a time, in milliseconds.
func within(run string, decide, commit int64) faults.Step {
	s := request(run)
	s.DecideMS, s.CommitMS = decide, commit
	return s
}

// modelAnswers and providerAnswers say what is answered next, whatever is asked.
func modelAnswers(kinds ...string) faults.Step {
	return faults.Step{Do: faults.DoModel, Answers: kinds}
}

func providerAnswers(kinds ...string) faults.Step {
	return faults.Step{Do: faults.DoProvider, Answers: kinds}
}

// proposed waits until a run's proposal is recorded, from when on a person can decide.
func proposed(run string) faults.Step { return await(faults.Proposal, faults.After, "", run) }

// decide lets a person decide in the background: the verdict comes when a worker makes it, and the script must not wait for
// that while it breaks the worker. waitForVerdict is longer than any recovery.
func decide(verb faults.Verb, client, person, decision, run string) faults.Step {
	return faults.Step{Do: verb, Process: client, By: person, Decision: decision, Run: run, Background: true, Args: []string{"--wait", waitForVerdict}}
}

const waitForVerdict = "50s"

func approve(person, decision, run string) faults.Step {
	return decide(faults.DoApprove, person, person, decision, run)
}

func reject(person, decision, run string) faults.Step {
	return decide(faults.DoReject, person, person, decision, run)
}

func join(client string) faults.Step { return faults.Step{Do: faults.DoJoin, Process: client} }

func await(b faults.Boundary, w faults.When, process, run string) faults.Step {
	return faults.Step{Do: faults.DoAwait, Point: at(b, w), Process: process, Run: run}
}

func times(n int, s faults.Step) faults.Step {
	s.Nth = n
	return s
}

func fired(rule string) faults.Step   { return faults.Step{Do: faults.DoFired, Rule: rule} }
func release(rule string) faults.Step { return faults.Step{Do: faults.DoRelease, Rule: rule} }
func thaw(worker string) faults.Step  { return faults.Step{Do: faults.DoThaw, Process: worker} }
func kill(worker string) faults.Step  { return faults.Step{Do: faults.DoKill, Process: worker} }
func pass(deadline, run string) faults.Step {
	return faults.Step{Do: faults.DoPass, Kind: deadline, Run: run}
}

// rest ends a script once every run is over, or has asked the provider since the last submit arrived.
var rest = faults.Step{Do: faults.DoRest}

// still ends a script whose run may not ask any more.
var still = faults.Step{Do: faults.DoRest, QuietMS: 700}

// only keeps steps for one arm.
func only(arm string, steps ...faults.Step) []faults.Step {
	kept := make([]faults.Step, 0, len(steps))
	for _, s := range steps {
		s.Only = arm
		kept = append(kept, s)
	}
	return kept
}

// script joins steps and groups of steps.
func script(parts ...any) []faults.Step {
	var steps []faults.Step
	for _, part := range parts {
		switch p := part.(type) {
		case faults.Step:
			steps = append(steps, p)
		case []faults.Step:
			steps = append(steps, p...)
		}
	}
	return steps
}

// asked begins a script with a worker and a request whose proposal is recorded.
func asked(request faults.Step, parts ...any) []faults.Step {
	return script(append([]any{start("a"), request, proposed(request.Run)}, parts...)...)
}

// approvedFor begins a script with a worker, a request with its proposal, and an approval on its way.
func approvedFor(request faults.Step, parts ...any) []faults.Step {
	return asked(request, append([]any{approve("bob", "d1", request.Run)}, parts...)...)
}

// approved is the beginning of most scripts.
func approved(parts ...any) []faults.Step { return approvedFor(request("r1"), parts...) }

// parked waits until a process has found out that a run may neither be sent nor asked about, and has left it to a person.
func (c cell) parked(process string) faults.Step {
	if c.engine == temporal {
		return await(faults.WorkflowTask, faults.After, process, "r1")
	}
	return await(faults.Observed, faults.After, process, "r1")
}

// over waits until a process has recorded the end of a run.
func over(process, run string) faults.Step { return await(faults.Outcome, faults.After, process, run) }

// asks tells whether the profile lets an engine ask about an operation that may have been sent.
func (c cell) asks() bool { return c.profile.Idempotent || c.profile.Lookup != "none" }

func rule(name string, b faults.Boundary, w faults.When, nth int, process string, action faults.Action) faults.Rule {
	return faults.Rule{Name: name, Point: at(b, w), Nth: nth, Process: process, Action: action}
}

// killedAt kills worker a when it stands at a point for the first time.
func killedAt(b faults.Boundary, w faults.When) faults.Schedule {
	return faults.Schedule{rule("crash", b, w, 1, "a", faults.Kill)}
}

// takeover is what follows a crash of worker a: another worker starts once it is dead.
var takeover = only(fault, fired("crash"), start("b"))
