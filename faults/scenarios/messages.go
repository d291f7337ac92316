package scenarios

import (
	"refundlab/faults"
	"refundlab/refund"
)

// readyToSend is where worker a has read the order for the second time and sends next: what is broken now hits the send alone.
// The first reading is the proposal's.
var readyToSend = rule("ready", faults.OrderCall, faults.After, 2, "a", faults.Hold)

// readyToAsk is where it has read the order for the proposal and asks the model next.
var readyToAsk = rule("ready", faults.OrderCall, faults.After, 1, "a", faults.Hold)

// patient is a request whose calls have more time than the others', where a call is kept waiting on purpose, or must not fail.
func patient(request faults.Step, callTimeout string) faults.Step {
	request.Args = []string{"--call-timeout", callTimeout}
	return request
}

func cut(line, process string) faults.Step {
	return faults.Step{Do: faults.DoCut, Kind: line, Process: process}
}

func silence(line, process string) faults.Step {
	return faults.Step{Do: faults.DoSilence, Kind: line, Process: process}
}

func restore(line, process string) faults.Step {
	return faults.Step{Do: faults.DoRestore, Kind: line, Process: process}
}

func restart(name string) faults.Step { return faults.Step{Do: faults.DoRestart, Process: name} }

// ended asks that a call of worker a ended with a status: a number of HTTP, or "error" where nothing came back.
func ended(b faults.Boundary, status, why string) []faults.Witness {
	return []faults.Witness{{Why: why, Point: at(b, faults.After).String(), Process: "a", Status: status, Least: 1}}
}

// afterLostRequest is the end of a run whose first request never arrived, which nobody can tell from one that did.
func (c cell) afterLostRequest() faults.End {
	switch {
	case c.profile.Idempotent:
		return confirmed(1, 1)
	case c.asks():
		return unknown(0, 0, mayStillArrive)
	}
	return unknown(0, 0, nobodyToAsk)
}

// sendDoubled delivers the first send twice. The answer to the second copy is the one that comes back.
var sendDoubled = faults.Schedule{rule("doubled", faults.ProviderCall, faults.Before, 1, "a", faults.Duplicate)}

// afterDoubledRequest is the end of a run whose one send arrived twice. Under a profile that does not recognise the second copy the
// ledger holds two refunds, which is the network's and the provider's doing: the judge calls that not applicable (I1).
func (c cell) afterDoubledRequest() faults.End {
	end := confirmed(2, 2)
	if !c.profile.Idempotent {
		end.Entries = 2
	}
	return end
}

// toProvider breaks messages between a worker and the provider; furtherToProvider does so in ways that resemble others and are
// no part of every run.
var toProvider = []scenario{
	{
		ScenarioText: faults.ScenarioText{
			Name:  "request-lost",
			Title: "The request is lost on its way",
			About: "The request never reaches the provider, and the worker sees a cut connection: the same that it sees when the answer is lost. Where a second send could be a second refund, it is not made.",
		},
		profiles: []refund.ProfileName{refund.ProfileFull, refund.ProfileLookup, refund.ProfileOpaque},
		build: func(c cell) trial {
			return trial{
				script:   approved(only(fault, fired("lost")), c.unsure("a")),
				schedule: faults.Schedule{rule("lost", faults.ProviderCall, faults.Before, 1, "a", faults.Drop)},
				expect:   c.ends(c.afterLostRequest()),
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "request-doubled",
			Title: "The request arrives twice",
			About: "The engine sends once and the network delivers the request twice. Where the provider recognises a repeated operation the second copy is given the stored receipt: one refund. Elsewhere each copy is a refund of its own, and the run is confirmed by the receipt that came back and can know of no other: two entries for one send, which no engine can prevent and nobody promised.",
		},
		profiles: networked,
		build: func(c cell) trial {
			expect := c.ends(c.afterDoubledRequest())
			switch {
			case !c.fault:
			case c.profile.Idempotent:
				expect.Witnesses = []faults.Witness{{Why: "the provider must have recognised the second copy", Outcome: "receipt", Least: 1}}
			default:
				expect.Witnesses = []faults.Witness{{Why: "the provider must have taken each copy for a refund of its own", Outcome: "committed", Least: 2}}
			}
			return trial{script: approved(only(fault, fired("doubled")), rest), schedule: sendDoubled, expect: expect}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "request-doubled-refused",
			Title: "The request arrives twice, and the copy's refusal comes back",
			About: "The order bears the refund once, the provider does not recognise a repeated operation, and the network delivers the one request twice. The first copy moves the money, the second is refused by the balance, and that refusal, the provider's own word on this operation, is the answer that comes back: the run is rejected and the money is gone.",
		},
		further:  true,
		profiles: []refund.ProfileName{refund.ProfileLookup, refund.ProfileStale, refund.ProfileOpaque},
		build: func(c cell) trial {
			large := request("r1")
			large.Amount = 6_000
			end := rejected(refund.CodeInsufficientBalance, 2, 2)
			end.Entries = 1
			expect := c.ends(end)
			if c.fault {
				expect.Witnesses = []faults.Witness{{Why: "the provider must have taken the first copy", Outcome: "committed", Least: 1}}
			}
			return trial{script: approvedFor(large, only(fault, fired("doubled")), rest), schedule: sendDoubled, expect: expect}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "late-after-not-found",
			Title: "The first request lands after a \"not found\"",
			About: "The first request is delayed beyond its time-out. A look-up says \"not found\" about it, and where the provider recognises a repeated operation a second request is sent and commits; then the first one lands. One refund: an absence that was seen is no absence.",
		},
		profiles: fullAndLookup,
		build: func(c cell) trial {
			late := faults.Schedule{rule("late", faults.ProviderCall, faults.Before, 1, "a", faults.Hold)}
			expect, asked := c.ends(confirmed(1, 1)), []faults.Step{fired("late"), await(faults.Observed, faults.After, "a", "r1"), await(faults.LookupCall, faults.After, "a", "r1"), release("late"), arrived(1)}
			witness := faults.Witness{Why: "a look-up must have said \"not found\"", Outcome: "not-found", Least: 1}
			if c.profile.Idempotent {
				expect = c.ends(confirmed(2, 2+slack))
				// The second send is held until a reader has looked and found nothing.
				late = append(late, rule("second", faults.ProviderCall, faults.Before, 2, "a", faults.Hold))
				asked = []faults.Step{fired("late"), fired("second"),
					{Do: faults.DoStatus, Process: "reader", Run: "r1", Args: []string{"--provider", "{provider}"}},
					release("second"), over("a", "r1"), release("late"), arrived(2)}
			}
			if c.fault {
				expect.Witnesses = []faults.Witness{witness}
			}
			return trial{script: approved(only(fault, asked...), rest), schedule: late, expect: expect}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "stored-refusal-replayed",
			Title: "A stored refusal is given again",
			About: "A request is refused by the balance, the refusal is stored, and its answer is lost. Read again, the order no longer bears the refund, which could be our own success; so the provider is asked, and gives the refusal that it stored.",
		},
		further:  true,
		profiles: []refund.ProfileName{refund.ProfileFull, refund.ProfileRetention},
		build: func(c cell) trial {
			t := c.overtaken()
			t.schedule = faults.Schedule{
				rule("first", faults.ProviderCall, faults.Before, 1, "a", faults.Hold),
				rule("lost", faults.ProviderCall, faults.After, 2, "a", faults.Lose), // the other run's is the first
			}
			if c.fault {
				t.expect.Witnesses = []faults.Witness{{Why: "the refusal must have been given twice", Outcome: "refusal", Least: 2}}
			}
			return t
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "still-in-progress",
			Title: "The provider is still at work on the first request",
			About: "The first request is inside the provider's transaction when its time-out ends. It is sent again, twice, and answered 409: still in progress. That is neither a conflict nor a refusal; once the first has committed, its receipt is found.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			expect := c.ends(confirmed(3, 4+slack))
			if c.fault {
				expect.Witnesses = ended(faults.ProviderCall, "409", "the worker must have been told that it is in progress")
			}
			// An engine that takes the 409 for an end comes no third time; the first request is let go all the same.
			third, done := times(3, await(faults.ProviderCall, faults.Before, "a", "r1")), rest
			third.QuietMS, done.QuietMS = 5_000, 5_000
			return trial{
				script: approved(only(fault, fired("inside"), providerAnswers("in-progress", "in-progress"),
					third, release("inside")), done),
				schedule: faults.Schedule{rule("inside", faults.ProviderCommit, faults.Before, 1, "provider", faults.Hold)},
				expect:   expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "too-many-requests",
			Title: "A 429 that says when to come back",
			About: "The provider answers 429 with a Retry-After of two seconds and has done nothing. Nobody comes back earlier, neither to send nor to look up.",
		},
		profiles: fullAndLookup,
		build: func(c cell) trial {
			expect := c.ends(c.afterCrashBeforeCommit())
			if c.fault {
				expect.Witnesses = ended(faults.ProviderCall, "429", "the worker must have seen the 429")
				expect.Patience = []faults.Patience{{Boundary: faults.ProviderCall, Status: "429", LeastMS: 2_000}}
			}
			return trial{
				script: script(only(fault, faults.Step{Do: faults.DoProvider, Answers: []string{"busy"}, RetryAfterMS: 2_000}), approved(rest)),
				expect: expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "connection-cut",
			Title: "The connection is cut after the commit",
			About: "The provider has committed, and before it can answer the worker's connections are reset, and new ones at once, until the line carries again.",
		},
		further:  true,
		profiles: fullAndLookup,
		build: func(c cell) trial {
			expect := c.ends(c.afterLostAnswer())
			if c.fault {
				expect.Witnesses = ended(faults.ProviderCall, "error", "the worker's connection must have been cut")
			}
			return trial{
				script: approved(only(fault, fired("inside"), cut(faults.LineProvider, "a"), await(faults.ProviderCall, faults.After, "a", "r1"),
					release("inside"), restore(faults.LineProvider, "a")), rest),
				schedule: faults.Schedule{rule("inside", faults.ProviderCommit, faults.After, 1, "provider", faults.Hold)},
				expect:   expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "provider-killed-after-commit",
			Title: "The provider is killed after its commit",
			About: "The provider is killed between its commit and its answer, and started again on its files: the refund is there, and nobody was told.",
		},
		profiles: fullAndLookup,
		build:    func(c cell) trial { return c.providerKilled(faults.After, c.afterLostAnswer()) },
	},
}

var furtherToProvider = []scenario{
	{
		ScenarioText: faults.ScenarioText{
			Name:  "requests-swapped",
			Title: "Two requests arrive in the other order",
			About: "Two refunds of one order are approved, and the order bears one of them. The first request is overtaken on its way by the second, which commits; the first is refused by the balance. The order of arrival decides, not that of approval.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			t := c.overtaken()
			t.schedule = faults.Schedule{rule("first", faults.ProviderCall, faults.Before, 1, "a", faults.Hold)}
			return t
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "server-error-before-commit",
			Title: "A 503 and nothing was done",
			About: "The provider answers 503 and has done nothing. A status is not the provider's word about the operation: nobody can tell it from a 503 after a commit.",
		},
		profiles: []refund.ProfileName{refund.ProfileFull, refund.ProfileLookup, refund.ProfileOpaque},
		build: func(c cell) trial {
			expect := c.ends(c.afterCrashBeforeCommit())
			if c.fault {
				expect.Witnesses = ended(faults.ProviderCall, "503", "the worker must have seen the 503")
			}
			return trial{
				script:   approved(only(fault, fired("refused")), c.unsure("a")),
				schedule: faults.Schedule{rule("refused", faults.ProviderRecv, faults.Before, 1, "provider", faults.Refuse)},
				expect:   expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "server-error-after-commit",
			Title: "A 500 after the commit",
			About: "The provider has committed and answers 500. It is no failure: the run must find its receipt.",
		},
		profiles: fullAndLookup,
		build: func(c cell) trial {
			expect := c.ends(c.afterLostAnswer())
			if c.fault {
				expect.Witnesses = ended(faults.ProviderCall, "500", "the worker must have seen the 500")
			}
			return trial{
				script: script(only(fault, providerAnswers("status-500")), approved(rest)),
				expect: expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "provider-silent",
			Title: "The provider accepts the connection and never answers",
			About: "What the worker sends is taken and arrives nowhere, and nobody is told. Its time-out ends the wait; then the line carries again, and what was sent into it is lost.",
		},
		profiles: fullAndLookup,
		build: func(c cell) trial {
			expect := c.ends(c.afterLostRequest())
			if c.fault {
				expect.Witnesses = ended(faults.ProviderCall, "error", "the worker must have waited in vain")
			}
			return trial{
				script: approved(only(fault, fired("ready"), silence(faults.LineProvider, "a"), release("ready"),
					await(faults.ProviderCall, faults.After, "a", "r1"), restore(faults.LineProvider, "a")), rest),
				schedule: faults.Schedule{readyToSend},
				expect:   expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "provider-killed-before-commit",
			Title: "The provider is killed before its commit",
			About: "The provider is killed in the transaction of the refund, and started again on its files: the transaction is rolled back, and nobody was answered.",
		},
		profiles: fullAndLookup,
		build:    func(c cell) trial { return c.providerKilled(faults.Before, c.afterCrashBeforeCommit()) },
	},
}

func (c cell) providerKilled(when faults.When, end faults.End) trial {
	return trial{
		script:   approved(only(fault, fired("crash"), restart(faults.LineProvider)), rest),
		schedule: faults.Schedule{rule("crash", faults.ProviderCommit, when, 1, "provider", faults.Kill)},
		expect:   c.ends(end),
	}
}

// overtaken is a trial with two refunds of more than half an order. Without the fault the first one gets it; with it, the first
// request is held by a rule "first" until the second has got it. Its calls have more time than that takes.
func (c cell) overtaken() trial {
	large := func(run string) faults.Step {
		s := patient(request(run), "15s")
		s.Amount = 6_000
		return s
	}
	first, second := confirmed(1, 1), rejected(refund.CodeInsufficientBalance, 0, 0)
	if c.fault {
		first, second = rejected(refund.CodeInsufficientBalance, 1, 1), confirmed(1, 1)
	}
	return trial{
		script: script(start("a"), large("r1"), large("r2"), proposed("r1"), proposed("r2"), approve("bob", "d1", "r1"),
			only(clean, over("a", "r1")), only(fault, fired("first")), approve("carol", "d2", "r2"), only(fault, over("a", "r2"), release("first")), rest),
		expect: faults.Expectation{
			Runs:     map[string]faults.End{"r1": first, "r2": second},
			Verdicts: map[string]string{"d1": string(refund.VerdictAccepted), "d2": string(refund.VerdictAccepted)},
			Answers:  map[string]string{"request-r1": "", "request-r2": "", "bob": "", "carol": ""},
		},
	}
}

// toModel breaks messages between a worker and the model. A call that may have been billed counts; the budget bounds them (I12).
var toModel = []scenario{
	asksModel("model-answer-lost", "The model's answer is lost",
		"The model has answered and billed, and its answer is lost. It is asked again, inside the budget; both calls are billed.",
		2, rule("lost", faults.ModelCall, faults.After, 1, "a", faults.Lose), faults.Step{}, ""),
	{
		ScenarioText: faults.ScenarioText{
			Name:  "model-request-doubled",
			Title: "The question to the model arrives twice",
			About: "The budget is one question. The engine asks once, and the network delivers the question twice: the model answers and bills both, and the answer that came back is the run's proposal. The copy is the network's; the engine has kept its budget.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			// One call has to do, so it gets more time than a busy machine may take.
			asks := patient(request("r1"), "4s")
			asks.Args = append(asks.Args, "--model-budget", "1")
			asked := 1
			if c.fault {
				asked = 2
			}
			expect := c.ends(confirmed(1, 1))
			end := expect.Runs["r1"]
			end.LeastModelCalls, end.MostModelCalls = asked, asked
			expect.Runs["r1"] = end
			return trial{
				script:   approvedFor(asks, rest),
				schedule: faults.Schedule{rule("doubled", faults.ModelCall, faults.Before, 1, "a", faults.Duplicate)},
				expect:   expect,
			}
		},
	},
	asksModel("model-too-many-requests", "The model answers 429 and says when to come back",
		"The model answers 429 with a Retry-After of two seconds. It is asked again, and no earlier.",
		2, faults.Rule{}, faults.Step{Do: faults.DoModel, Answers: []string{"status-429"}, RetryAfterMS: 2_000}, "429"),
	{
		ScenarioText: faults.ScenarioText{
			Name:  "model-never-answers",
			Title: "The model takes requests and never answers, until the budget is spent",
			About: "Each request to the model is taken, billed and never answered. Its time-out ends the wait; when the budget is spent, the request is rejected and nobody is asked.",
		},
		further:  true,
		profiles: onlyFull,
		build: func(c cell) trial {
			expect := c.ends(rejected(refund.CodeProposalFailed, 0, 0))
			if c.fault {
				delete(expect.Verdicts, "d1")
				delete(expect.Answers, "bob")
				expect.Witnesses = []faults.Witness{{Why: "the whole budget must have been spent", Point: "model-call.after", Status: "error", Least: refund.DefaultModelBudget}}
			}
			never := make([]string, refund.DefaultModelBudget)
			for i := range never {
				never[i] = "never"
			}
			return trial{
				script: script(only(fault, modelAnswers(never...)),
					start("a"), request("r1"), only(clean, proposed("r1"), approve("bob", "d1", "r1")), rest),
				expect: expect,
			}
		},
	},
}

var furtherToModel = []scenario{
	asksModel("model-request-lost", "The request to the model is lost",
		"The request never reaches the model. It is made again, and one call is billed.",
		1, rule("lost", faults.ModelCall, faults.Before, 1, "a", faults.Drop), faults.Step{}, ""),
	asksModel("model-answer-late", "The model's answer comes after the call's time",
		"The model has answered, and its answer takes longer than the call may last. It is asked again; the late answer is nobody's.",
		2, delayed(rule("late", faults.ModelCall, faults.After, 1, "a", faults.Delay), 4_000), faults.Step{}, ""),
	asksModel("model-server-error", "The model answers 500",
		"The model answers 500, and may have billed. It is asked again.",
		2, faults.Rule{}, modelAnswers("status-500"), "500"),
	modelLine("model-connection-cut", "The connection to the model is cut", cut,
		"When the worker asks the model, its connections are reset, and new ones at once, until the line carries again. Nothing arrived: the question is asked again, inside the budget, and one call is billed."),
	modelLine("model-silent", "The model accepts the connection and never answers", silence,
		"What the worker asks is taken and arrives nowhere, and nobody is told. Its time-out ends the wait; then the line carries again, the question is asked again, inside the budget, and one call is billed."),
}

// modelLine is a scenario in which worker a has read the order, and its line to the model is lost until it has asked once in vain.
func modelLine(name, title string, lose func(line, process string) faults.Step, about string) scenario {
	return scenario{
		ScenarioText: faults.ScenarioText{Name: name, Title: title, About: about},
		profiles:     onlyFull,
		build: func(c cell) trial {
			end := confirmed(1, 1)
			end.LeastModelCalls, end.MostModelCalls = 1, 1
			expect := c.ends(end)
			if c.fault {
				expect.Witnesses = append(ended(faults.ModelCall, "error", "the worker must have asked in vain"),
					faults.Witness{Why: "the model must have been asked again", Point: at(faults.ModelCall, faults.Before).String(), Process: "a", Least: 2})
			}
			return trial{
				script: script(start("a"), request("r1"), only(fault, fired("ready"), lose(faults.LineModel, "a"), release("ready"),
					await(faults.ModelCall, faults.After, "a", "r1"), restore(faults.LineModel, "a")), proposed("r1"), approve("bob", "d1", "r1"), rest),
				schedule: faults.Schedule{readyToAsk},
				expect:   expect,
			}
		},
	}
}

// asksModel is a scenario in which the model's first call fails by a rule or by an answer that is set up, and the second does not.
func asksModel(name, title, about string, billed int, broken faults.Rule, setUp faults.Step, status string) scenario {
	return scenario{
		ScenarioText: faults.ScenarioText{Name: name, Title: title, About: about},
		profiles:     onlyFull,
		build: func(c cell) trial {
			expect := c.ends(confirmed(1, 1))
			end := expect.Runs["r1"]
			end.MostModelCalls = 1
			t := trial{script: approved(rest)}
			if broken.Name != "" {
				t.schedule = faults.Schedule{broken}
			} else {
				t.script = script(only(fault, setUp), t.script)
			}
			if c.fault {
				end.MostModelCalls = billed
				expect.Witnesses = []faults.Witness{{Why: "the model must have been asked again", Point: "model-call.before", Process: "a", Least: 2}}
				if status != "" {
					expect.Witnesses = append(expect.Witnesses, ended(faults.ModelCall, status, "the worker must have seen the model's status")...)
				}
				if setUp.RetryAfterMS != 0 {
					expect.Patience = []faults.Patience{{Boundary: faults.ModelCall, Status: status, LeastMS: setUp.RetryAfterMS}}
				}
			}
			expect.Runs["r1"] = end
			t.expect = expect
			return t
		},
	}
}

// delayed gives a rule its time.
func delayed(r faults.Rule, ms int64) faults.Rule {
	r.DelayMS = ms
	return r
}
