package scenarios

import (
	"refundlab/faults"
	"refundlab/refund"
)

var idempotent = []refund.ProfileName{refund.ProfileFull, refund.ProfileRetention, refund.ProfileLenient}

// keys name two different things, or one thing twice.
var keys = []scenario{
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-7a-key-reused-at-intake",
			Title: "The same request id with another amount",
			About: "A request id is used again, once with the same content and once with another amount, with no worker alive. The same content finds the run, the other is a conflict and changes nothing.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			again, other := request("r1"), request("r1")
			again.Process, other.Process, other.Amount = "again", "other-amount", amount+100
			expect := c.ends(confirmed(1, 1))
			expect.Answers["again"], expect.Answers["other-amount"] = "", string(refund.CodeKeyConflict)
			return trial{
				script: asked(request("r1"), only(fault, fired("crash")),
					again, other, approve("bob", "d1", "r1"), only(fault, start("b")), rest),
				schedule: killedAt(faults.Proposal, faults.After),
				expect:   expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "caller-dies-before-reply",
			Title: "The caller dies before it hears the answer",
			About: "The command that asks for the refund is killed once the request is stored and before it is told, and so is the one that approves. Each is run again under the same id: it finds what is there, and there is one run, one decision and one refund.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			again, approval := request("r1"), approve("bob", "d1", "r1")
			again.Process = "request-again"
			second := approval
			second.Process = "bob-again"
			expect := c.ends(confirmed(1, 1))
			if c.fault {
				expect.Answers = map[string]string{"request-r1": faults.Killed, "request-again": "", "bob": faults.Killed, "bob-again": ""}
			}
			return trial{
				script: script(start("a"), request("r1"), only(fault, fired("deaf-request"), again), proposed("r1"),
					approval, only(fault, fired("deaf-approval"), second, join("bob-again")), rest),
				schedule: faults.Schedule{
					rule("deaf-request", faults.CallerReply, faults.Before, 1, "request-r1", faults.Kill),
					rule("deaf-approval", faults.CallerReply, faults.Before, 1, "bob", faults.Kill),
				},
				expect: expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-7b-key-reused-at-provider",
			Title: "The operation id is taken at the provider",
			About: "Another caller has used the operation id for something else, which the provider refused. That answer must never be taken for this refund's own: the run is UNKNOWN with the conflict named, and is never sent again.",
		},
		profiles: idempotent,
		build: func(c cell) trial {
			taken := faults.Step{Do: faults.DoForeign, Run: "r1", Order: order, Amount: 1_000_000, Decision: "d0"}
			return trial{
				script: asked(request("r1"), only(fault, taken), approve("bob", "d1", "r1"),
					only(fault, await(faults.Observed, faults.After, "a", "r1"), still), only(clean, rest)),
				expect: c.ends(unknown(0, 2, "the operation id is bound to something else at the provider: a person can only annotate it")),
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "equal-requests",
			Title: "Two equal requests are two refunds",
			About: "Two requests with equal content and their own ids, the answer to the first lost. Equal parameters are never taken for a duplicate: two entries, one each.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			expect := c.ends(confirmed(2, 2))
			expect.Runs["r2"] = confirmed(1, 1)
			expect.Verdicts["d2"] = string(refund.VerdictAccepted)
			return trial{
				world: faults.World{Orders: []faults.Order{{ID: order, Currency: "EUR", Captured: 3 * amount, Version: 1}}},
				script: script(start("a"), request("r1"), request("r2"), proposed("r1"), proposed("r2"),
					approve("bob", "d1", "r1"), only(fault, fired("lost")), only(clean, join("bob")), approve("carol", "d2", "r2"), rest),
				schedule: faults.Schedule{rule("lost", faults.ProviderCall, faults.After, 1, "a", faults.Lose)},
				expect:   expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "beyond-capture",
			Title: "Two refunds together exceed what was captured",
			About: "Two refunds of which the order can bear one are both approved; in the fault arm both have passed the engine's check and stand before the provider. The first is made, the second refused.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			first, second := request("r1"), request("r2")
			first.Amount, second.Amount = 6_000, 6_000
			expect := c.ends(confirmed(1, 2))
			expect.Runs["r2"] = rejected(refund.CodeInsufficientBalance, 0, 0)
			if c.fault {
				expect.Runs["r2"] = rejected(refund.CodeInsufficientBalance, 1, 2)
				expect.Race = []string{"held-1", "held-2"}
			}
			expect.Verdicts["d2"] = string(refund.VerdictAccepted)
			return trial{
				script: script(start("a"), first, second, proposed("r1"), proposed("r2"), approve("bob", "d1", "r1"),
					only(clean, over("a", "r1")), only(fault, fired("held-1")), approve("carol", "d2", "r2"),
					only(fault, fired("held-2"), release("held-1"), over("a", "r1"), release("held-2")), rest),
				schedule: faults.Schedule{
					rule("held-1", faults.ProviderCall, faults.Before, 1, "a", faults.Hold),
					rule("held-2", faults.ProviderCall, faults.Before, 2, "a", faults.Hold),
				},
				expect: expect,
			}
		},
	},
}
