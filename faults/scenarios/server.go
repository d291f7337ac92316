package scenarios

import (
	"fmt"

	"refundlab/faults"
	"refundlab/refund"
)

// noServer is why the journal has no such trial.
var noServer = map[string]string{handrolled: "the journal is a file in the worker's own process: no message goes to a server"}

// completion is one kind of message to the engine's server behind which something is durable, and the process that sends it.
type completion struct {
	boundary faults.Boundary
	process  string
	what     string
}

// completions are those of an undisturbed run, in its order.
var completions = []completion{
	{faults.Intake, "request-r1", "the start of the run"},
	{faults.WorkflowTask, "a", "the completion of a workflow task"},
	{faults.ActivityTask, "a", "the completion of the activity that reads the order"},
	{faults.Proposal, "a", "the completion that carries the proposal"},
	{faults.Decision, "bob", "the person's decision"},
	{faults.Intent, "a", "the completion that schedules the send"},
	{faults.Outcome, "a", "the completion that carries the receipt"},
	{faults.Notified, "a", "the completion of the notice"},
	{faults.Finish, "a", "the completion that closes the run"},
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

// toServer disturbs the first message of every kind in one run.
var toServer = []scenario{
	everyCompletion("server-messages-lost", "Every kind of message to the server is lost once", requestsLost),
	everyCompletion("server-answers-lost", "The server's answer to every kind of message is lost once", answersLost),
}

var furtherToServer = []scenario{
	everyCompletion("server-messages-doubled", "Every kind of message to the server arrives twice", doubled),
}

func everyCompletion(name, title string, d disturbance) scenario {
	return scenario{
		ScenarioText: faults.ScenarioText{Name: name, Title: title, About: "Start, decision, and the first completion of each kind. " + d.about},
		profiles:     onlyFull,
		unlike:       noServer,
		build: func(c cell) trial {
			t := trial{script: approved(rest), expect: c.ends(d.end(completions))}
			for _, k := range completions {
				t.schedule = append(t.schedule, d.rule(string(k.boundary), k))
			}
			return t
		},
	}
}

// end is that of a run with these messages disturbed. Only what comes late can make an attempt run again.
func (d disturbance) end(kinds []completion) faults.End {
	end := confirmed(1, 1)
	end.MostModelCalls = 1
	for _, k := range kinds {
		if d.action == faults.Delay && k.boundary == faults.Proposal {
			end.MostModelCalls = 2
		}
	}
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
				profiles: onlyFull,
				unlike:   noServer,
				build: func(c cell) trial {
					return trial{
						script: approved(rest), schedule: faults.Schedule{d.rule("disturbed", k)},
						expect: c.ends(d.end([]completion{k})),
					}
				},
			})
		}
	}
	return family
}()

// serverKilled kills the trial's own server with SIGKILL at each point of an undisturbed run, while the process that stands there
// waits, and starts it again on its file.
var serverKilled = func() []scenario {
	points := append([]completion{}, completions...)
	for _, boundary := range []faults.Boundary{faults.OrderCall, faults.ModelCall, faults.ProviderCall, faults.NoticeCall} {
		points = append(points, completion{boundary, "a", "a call of the worker"})
	}
	points = append(points, completion{faults.ProviderCommit, "provider", "the provider's commit"})
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
				profiles: onlyFull,
				unlike:   noServer,
				build: func(c cell) trial {
					crash := rule("crash", k.boundary, when, 1, k.process, faults.Kill)
					crash.Victim = faults.LineServer
					// While the server is down the time of an attempt may end, which is then made again.
					end := confirmed(1, 1+slack)
					end.MostModelCalls = 1
					if k.boundary == faults.ModelCall || k.boundary == faults.Proposal && when == faults.Before {
						end.MostModelCalls = 2
					}
					// Who asked for something while the server was down longer than the SDK tries is told so, and asks again under the
					// same id; whether the first time was heard is not for the caller to know.
					expect := c.ends(end)
					delete(expect.Answers, "bob")
					switch k.boundary {
					case faults.Intake:
						delete(expect.Answers, "request-r1")
						expect.Answers["request-r1-again"] = ""
					case faults.Decision:
						expect.Answers["bob-again"] = ""
					}
					return trial{world: faults.World{OwnServer: true}, script: serverBack(k.boundary), schedule: faults.Schedule{crash}, expect: expect}
				},
			})
		}
	}
	return family
}()

// serverBack is a script that starts the killed server again before it does anything for which it needs it.
func serverBack(killedAt faults.Boundary) []faults.Step {
	back := only(fault, fired("crash"), restart(faults.LineServer))
	asks := request("r1")
	switch killedAt {
	case faults.Intake:
		again := asks
		asks.Background, again.Process = true, "request-r1-again"
		return script(start("a"), asks, back, join("request-r1"), again, proposed("r1"), approve("bob", "d1", "r1"), rest)
	case faults.WorkflowTask, faults.ActivityTask, faults.OrderCall, faults.ModelCall, faults.Proposal:
		return script(start("a"), asks, back, proposed("r1"), approve("bob", "d1", "r1"), rest)
	}
	if killedAt == faults.Decision {
		again := approve("bob", "d1", "r1")
		again.Process = "bob-again"
		return approved(back, again, rest)
	}
	return approved(back, rest)
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
					await(faults.Outcome, faults.Before, "a", "r1"), faults.Step{Do: faults.DoPass, OffsetMS: outage}, restore(faults.LineServer, "a")), c.unsureAfter()),
				schedule: faults.Schedule{rule("inside", faults.ProviderCommit, faults.After, 1, "provider", faults.Hold)},
				expect:   expect,
			}
		},
	}
}

// unsureAfter is unsure for a run whose worker crossed every point before: where nothing may be asked, it is parked by the
// workflow task that comes after the outage.
func (c cell) unsureAfter() []faults.Step {
	if c.asks() {
		return script(rest)
	}
	return script(only(fault, still), only(clean, rest))
}
