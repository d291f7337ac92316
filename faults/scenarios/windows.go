package scenarios

import (
	"refundlab/faults"
	"refundlab/refund"
)

var fullAndLookup = []refund.ProfileName{refund.ProfileFull, refund.ProfileLookup}

// windows are the crash windows around one effect: before it is prepared, after that and before it is executed, after the
// effect and before the answer, after the answer and before it is saved, and after that and before it is told.
var windows = []scenario{
	{
		ScenarioText: faults.ScenarioText{
			Name:  "window-1-before-prepare",
			Title: "Window 1: before the intent is recorded",
			About: "The worker dies before the intent is durable. Nothing can have been sent, so the refund is made as if nothing had happened.",
		},
		profiles: []refund.ProfileName{refund.ProfileFull, refund.ProfileOpaque},
		build: func(c cell) trial {
			return trial{script: approved(takeover, rest), schedule: killedAt(faults.Intent, faults.Before), expect: c.ends(confirmed(1, 1))}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "window-2-before-execute",
			Title: "Window 2: after the intent, before the call",
			About: "The worker dies with its request in hand. Nobody can tell this from a request that was sent: where a second send could be a second refund, the run must stay UNKNOWN.",
		},
		profiles: fullAndLookup,
		build: func(c cell) trial {
			end := confirmed(1, 1)
			if !c.profile.Idempotent {
				end = unknown(0, 0, mayStillArrive)
			}
			return trial{script: approved(takeover, rest), schedule: killedAt(faults.ProviderCall, faults.Before), expect: c.ends(end)}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "window-3-after-effect",
			Title: "Window 3: after the effect, before the answer",
			About: "The worker dies while the provider has committed and not yet answered. Whoever takes over must find the refund that is there.",
		},
		profiles: fullAndLookup,
		build: func(c cell) trial {
			crash := rule("crash", faults.ProviderCommit, faults.After, 1, "provider", faults.Kill)
			crash.Victim = "a"
			return trial{script: approved(takeover, rest), schedule: faults.Schedule{crash}, expect: c.ends(c.afterLostAnswer())}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-3-crash-before-result-saved",
			Title: "Window 4: after the answer, before the local result is saved",
			About: "The worker has the receipt in hand and dies before it is recorded. Whoever takes over must find the refund that is there.",
		},
		profiles: []refund.ProfileName{refund.ProfileFull, refund.ProfileLookup, refund.ProfileOpaque},
		build: func(c cell) trial {
			return trial{script: approved(takeover, c.unsure("b")), schedule: killedAt(faults.Outcome, faults.Before), expect: c.ends(c.afterLostAnswer())}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "window-5-after-result-saved",
			Title: "Window 5: after the result is saved, before it is told",
			About: "The worker dies once the outcome is durable. Nothing is sent again, and the notice is still delivered.",
		},
		profiles: []refund.ProfileName{refund.ProfileFull, refund.ProfileOpaque},
		build: func(c cell) trial {
			return trial{script: approved(takeover, rest), schedule: killedAt(faults.Outcome, faults.After), expect: c.ends(confirmed(1, 1))}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "outcome-and-nothing-else",
			Title: "The outcome is saved, and the worker does nothing else",
			About: "The worker dies at the very next thing that it does after the outcome became durable. That somebody must be told is durable with it, so another worker delivers the notice. Under local the money is durable with it too, and nobody submits again.",
		},
		profiles: []refund.ProfileName{refund.ProfileFull, refund.ProfileLocal},
		build: func(c cell) trial {
			return trial{script: approved(takeover, rest), schedule: c.killedAfterOutcome(), expect: c.ends(c.undisturbed())}
		},
	},
}

// killedAfterOutcome kills worker a at the next thing that it does once the outcome is durable: its next transaction, or its
// next activity.
func (c cell) killedAfterOutcome() faults.Schedule {
	if c.engine == temporal {
		return killedAt(faults.NoticeCall, faults.Before)
	}
	return faults.Schedule{rule("crash", faults.StoreCommit, faults.Before, 2, "a", faults.Kill)}
}

// models break what lies around the model's answer.
var models = []scenario{
	{
		ScenarioText: faults.ScenarioText{
			Name:  "proposal-lost",
			Title: "The model has answered, the proposal is not recorded",
			About: "The worker dies between the model's answer and its record. The answer is lost and the call is billed: a second call is made, inside the budget, and its answer is the one that counts.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			expect := c.ends(confirmed(1, 1))
			end := expect.Runs["r1"]
			end.MostModelCalls = 1
			if c.fault {
				end.MostModelCalls = 2
				expect.Witnesses = []faults.Witness{{Why: "the model must have been asked again", Point: "model-call.after", Process: "b", Least: 1}}
			}
			expect.Runs["r1"] = end
			return trial{
				script:   script(start("a"), request("r1"), takeover, proposed("r1"), approve("bob", "d1", "r1"), rest),
				schedule: killedAt(faults.Proposal, faults.Before),
				expect:   expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "proposal-recorded",
			Title: "The proposal is recorded, then the worker dies",
			About: "The worker dies right after the proposal became durable. It is reused: the model is not asked a second time.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			expect := c.ends(confirmed(1, 1))
			end := expect.Runs["r1"]
			end.MostModelCalls = 1
			expect.Runs["r1"] = end
			return trial{
				script:   asked(request("r1"), takeover, approve("bob", "d1", "r1"), rest),
				schedule: killedAt(faults.Proposal, faults.After),
				expect:   expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "model-unusable",
			Title: "The model answers uselessly until the budget is spent",
			About: "The model's answers are cut off, name a larger amount, or name another order. Each costs one call of the budget and changes nothing; when it is spent, the request is rejected and nobody is asked.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			expect := c.ends(rejected(refund.CodeProposalFailed, 0, 0))
			if c.fault {
				delete(expect.Verdicts, "d1")
				delete(expect.Answers, "bob")
			}
			return trial{
				script: script(only(fault, modelAnswers("cut", "larger-amount", "other-order")),
					start("a"), request("r1"), only(clean, proposed("r1"), approve("bob", "d1", "r1")), rest),
				expect: expect,
			}
		},
	},
}
