package scenarios

import (
	"fmt"

	"refundlab/faults"
	"refundlab/refund"
)

// noServer is why the journal has no such trial.
var noServer = map[string]string{handrolled: "the journal is a file in the worker's own process: no message goes to a server"}

// completion is one kind of message to the engine's server, and the process that sends it. Behind all but a sign of life something is
// durable.
type completion struct {
	boundary faults.Boundary
	process  string
	what     string
	profiles []refund.ProfileName
}

// completions are those of a run, in its order. An undisturbed one has no sign of life and no send that decided nothing: wayTo leads there.
var completions = []completion{
	{faults.Intake, "request-r1", "the start of the run", onlyFull},
	{faults.WorkflowTask, "a", "the completion of a workflow task", onlyFull},
	{faults.ActivityTask, "a", "the completion of the activity that reads the order", onlyFull},
	{faults.Renewal, "a", "the sign of life of a slow attempt", onlyFull},
	{faults.Proposal, "a", "the completion that carries the proposal", onlyFull},
	{faults.Decision, "bob", "the person's decision", onlyFull},
	{faults.Intent, "a", "the completion that schedules the send", onlyFull},
	{faults.Observed, "a", "the report of a send that decided nothing", []refund.ProfileName{refund.ProfileFull, refund.ProfileLookup, refund.ProfileOpaque}},
	{faults.Outcome, "a", "the completion that carries the receipt", onlyFull},
	{faults.Notified, "a", "the completion of the notice", onlyFull},
	{faults.Finish, "a", "the completion that closes the run", onlyFull},
}

// wayTo are the rules by which a run comes past a boundary that an undisturbed one never sees.
func wayTo(b faults.Boundary) faults.Schedule {
	switch b {
	case faults.Renewal: // the model's answer takes its time
		return faults.Schedule{rule("slow", faults.ModelCall, faults.After, 1, "a", faults.Hold)}
	case faults.Observed, faults.LookupCall: // the provider's answer is lost after the commit
		return faults.Schedule{rule("unheard", faults.ProviderCall, faults.After, 1, "a", faults.Lose)}
	case faults.CloseCall: // the first send goes nowhere, and the order changes before it is read for the second
		return faults.Schedule{
			rule("nowhere", faults.ProviderCall, faults.Before, 1, "a", faults.Drop),
			rule("reading", faults.OrderCall, faults.Before, 3, "a", faults.Hold),
		}
	}
	return nil
}

// along is the script of a run that comes past a boundary, with what the arm with the fault does once a rule has hit there.
func (c cell) along(b faults.Boundary, after ...faults.Step) []faults.Step {
	early := func(asks faults.Step, steps ...faults.Step) []faults.Step {
		return script(start("a"), asks, only(fault, steps...), proposed("r1"), approve("bob", "d1", "r1"), rest)
	}
	switch b {
	case faults.WorkflowTask, faults.ActivityTask, faults.OrderCall, faults.ModelCall, faults.Proposal:
		return early(request("r1"), after...)
	case faults.Renewal:
		return early(patient(request("r1"), "4s"), script(after, release("slow"))...)
	case faults.Observed, faults.LookupCall:
		return approved(only(fault, after...), c.undecided())
	case faults.CloseCall:
		return approved(only(fault, fired("reading"), faults.Step{Do: faults.DoOrderVersion, Order: order}, release("reading")), only(fault, after...), rest)
	}
	return approved(only(fault, after...), rest)
}

// disturbance is one thing that a network does to a message to the server.
type disturbance struct {
	name, title, about string
	when               faults.When
	action             faults.Action
	delayMS            int64
}

// late is longer than a workflow task and the attempt of a proposal or a notice may take, and shorter than the SDK's budget of
// ten seconds for one call.
const late = 3_000

var (
	requestsLost = disturbance{"lost", "is lost on its way", "It never reaches the server; the SDK sends it again.", faults.Before, faults.Drop, 0}
	answersLost  = disturbance{"answer-lost", "arrives and its answer is lost", "The server has recorded it and the answer is lost; what the SDK sends again is refused or recognised, and nothing is done twice.", faults.After, faults.Lose, 0}
	doubled      = disturbance{"doubled", "arrives twice", "The network delivers it twice; the second is refused or recognised.", faults.Before, faults.Duplicate, 0}
	arrivingLate = disturbance{"late", "arrives late", "It is on its way for three seconds, longer than a workflow task may take: where its time is over by then, it is refused and the work is done again.", faults.Before, faults.Delay, late}
)

// rule is what a disturbance does to the first message of a kind.
func (d disturbance) rule(name string, k completion) faults.Rule {
	return delayed(rule(name, k.boundary, d.when, 1, k.process, d.action), d.delayMS)
}

// toServer disturbs the first message of every kind in one run, in which the model is slow and the provider's answer is lost.
var toServer = []scenario{
	everyCompletion("server-messages-lost", "Every kind of message to the server is lost once", requestsLost),
	everyCompletion("server-answers-lost", "The server's answer to every kind of message is lost once", answersLost),
}

var furtherToServer = []scenario{
	everyCompletion("server-messages-doubled", "Every kind of message to the server arrives twice", doubled),
}

func everyCompletion(name, title string, d disturbance) scenario {
	return scenario{
		ScenarioText: faults.ScenarioText{Name: name, Title: title, About: "Start, decision, a sign of life, and the first completion of each kind, in a run whose model is slow and whose provider's first answer is lost. " + d.about},
		profiles:     onlyFull,
		unlike:       noServer,
		build: func(c cell) trial {
			t := trial{script: c.along(faults.Renewal, fired(string(faults.Renewal))), expect: c.ends(c.disturbedEnd(d, completions...))}
			for _, k := range completions {
				t.schedule = append(t.schedule, d.rule(string(k.boundary), k))
				t.schedule = append(t.schedule, wayTo(k.boundary)...)
			}
			return t
		},
	}
}

// disturbedEnd is the end of a run with these messages disturbed. Only what comes late can make an attempt run again.
func (c cell) disturbedEnd(d disturbance, kinds ...completion) faults.End {
	end, calls, isLate := confirmed(1, 1), 1, d.action == faults.Delay
	for _, k := range kinds {
		switch k.boundary {
		case faults.Observed:
			end = c.afterLostAnswer()
			if isLate && c.profile.Idempotent {
				end.MostSubmits += slack
			}
		case faults.Proposal, faults.Renewal:
			if isLate {
				calls = 2
			}
		}
	}
	end.MostModelCalls = calls
	return end
}

// eachCompletion disturbs one message of one run, for every kind and every disturbance.
var eachCompletion = func() []scenario {
	var family []scenario
	for _, d := range []disturbance{requestsLost, answersLost, doubled, arrivingLate} {
		for _, k := range completions {
			family = append(family, scenario{
				ScenarioText: faults.ScenarioText{
					Name:  fmt.Sprintf("server-%s-%s", k.boundary, d.name),
					Title: fmt.Sprintf("To the server: %s %s", k.what, d.title),
					About: d.about,
				},
				profiles: k.profiles,
				unlike:   noServer,
				build: func(c cell) trial {
					return trial{
						script:   c.along(k.boundary, fired("disturbed")),
						schedule: append(faults.Schedule{d.rule("disturbed", k)}, wayTo(k.boundary)...),
						expect:   c.ends(c.disturbedEnd(d, k)),
					}
				},
			})
		}
	}
	return family
}()

// serverKilled kills the trial's own server with SIGKILL at each point of a run, while the process that stands there waits, and starts
// it again on its file.
var serverKilled = func() []scenario {
	points := append([]completion{}, completions...)
	for _, boundary := range []faults.Boundary{faults.OrderCall, faults.ModelCall, faults.ProviderCall, faults.NoticeCall} {
		points = append(points, completion{boundary, "a", "a call of the worker", onlyFull})
	}
	points = append(points,
		completion{faults.LookupCall, "a", "a look-up", []refund.ProfileName{refund.ProfileLookup}},
		completion{faults.CloseCall, "a", "a close", onlyFull},
		completion{faults.ProviderCommit, "provider", "the provider's commit", onlyFull})
	var family []scenario
	for _, k := range points {
		for _, when := range []faults.When{faults.Before, faults.After} {
			point := at(k.boundary, when)
			family = append(family, scenario{
				ScenarioText: faults.ScenarioText{
					Name:  fmt.Sprintf("server-killed-%s-%s", when, k.boundary),
					Title: fmt.Sprintf("The server is killed %s %s", when, k.what),
					About: fmt.Sprintf("The server is killed with SIGKILL while a process stands at %s, and started again on its file. What it had acknowledged is there, what it had not is sent again, and nothing is done twice.", point),
				},
				profiles: k.profiles,
				unlike:   noServer,
				build: func(c cell) trial {
					crash := rule("crash", k.boundary, when, 1, k.process, faults.Kill)
					crash.Victim = faults.LineServer
					// Who asked for something while the server was down longer than the SDK tries is told so, and asks again under the
					// same id; whether the first time was heard is not for the caller to know.
					expect := c.ends(c.afterServerKilled(point))
					delete(expect.Answers, "bob")
					switch k.boundary {
					case faults.Intake:
						delete(expect.Answers, "request-r1")
						expect.Answers["request-r1-again"] = ""
					case faults.Decision:
						expect.Answers["bob-again"] = ""
					}
					return trial{
						world: faults.World{OwnServer: true}, script: c.serverBack(k.boundary),
						schedule: append(faults.Schedule{crash}, wayTo(k.boundary)...), expect: expect,
					}
				},
			})
		}
	}
	return family
}()

// afterServerKilled is the end of a run whose server was killed at a point. While it is down the time of an attempt may end, which is then
// made again where that is no second refund.
func (c cell) afterServerKilled(point faults.Point) faults.End {
	end := confirmed(1, 1+slack)
	switch point.Boundary {
	case faults.Observed, faults.LookupCall:
		end = c.afterLostAnswer()
		if c.profile.Idempotent {
			end.MostSubmits += slack
		}
	case faults.CloseCall:
		end = rejected(refund.CodeClosed, 0, 0)
	}
	end.MostModelCalls = 1
	if point.Boundary == faults.ModelCall || point.Boundary == faults.Renewal || point.Boundary == faults.Proposal && point.When == faults.Before {
		end.MostModelCalls = 2
	}
	return end
}

// serverBack is a script that starts the killed server again before it does anything for which it needs it.
func (c cell) serverBack(killedAt faults.Boundary) []faults.Step {
	back := []faults.Step{fired("crash"), restart(faults.LineServer)}
	switch killedAt {
	case faults.Intake:
		asks, again := request("r1"), request("r1")
		asks.Background, again.Process = true, "request-r1-again"
		return script(start("a"), asks, only(fault, back...), join("request-r1"), again, proposed("r1"), approve("bob", "d1", "r1"), rest)
	case faults.Decision:
		again := approve("bob", "d1", "r1")
		again.Process = "bob-again"
		return approved(only(fault, back...), again, rest)
	}
	return c.along(killedAt, back...)
}

// outage is longer than the ten seconds for which the SDK tries to report a result, and so long that the attempt is over.
const outage = 13_000

// serverGone cuts a worker off from its server for longer than that.
var serverGone = []scenario{
	gone("server-cut-off", "The worker is cut off from its server", cut, "Unavailable",
		"Its connections are reset, and new ones at once."),
	gone("server-silent", "The server takes everything and answers nothing", silence, "DeadlineExceeded",
		"What it sends is taken and arrives nowhere, and nobody is told."),
}

func gone(name, title string, lose func(line, process string) faults.Step, status, about string) scenario {
	return scenario{
		ScenarioText: faults.ScenarioText{Name: name, Title: title,
			About: "The provider has committed when the worker loses its server, for longer than the SDK tries to report a result. " + about + " The result is dropped; once the line carries again, the next attempt must find the refund that is there."},
		profiles: []refund.ProfileName{refund.ProfileFull, refund.ProfileLookup, refund.ProfileOpaque},
		unlike:   noServer,
		build: func(c cell) trial {
			expect := c.ends(c.afterLostAnswer())
			if c.fault {
				expect.Witnesses = ended(faults.Outcome, status, "the worker must have tried to report the receipt")
			}
			return trial{
				script: approved(only(fault, fired("inside"), lose(faults.LineServer, "a"), release("inside"),
					await(faults.Outcome, faults.Before, "a", "r1"), faults.Step{Do: faults.DoPass, OffsetMS: outage}, restore(faults.LineServer, "a")), c.undecided()),
				schedule: faults.Schedule{rule("inside", faults.ProviderCommit, faults.After, 1, "provider", faults.Hold)},
				expect:   expect,
			}
		},
	}
}

// undecided is the rest of a run whose send shows nothing: where nothing may be asked, it is parked by the workflow task after that. It
// is the fourth that schedules no send: before it the order was to be read, the model to be asked, and a person to decide.
func (c cell) undecided() []faults.Step {
	if c.asks() {
		return script(rest)
	}
	return script(only(fault, times(4, await(faults.WorkflowTask, faults.After, "a", "r1")), still), only(clean, rest))
}
