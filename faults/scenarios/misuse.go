package scenarios

import (
	"refundlab/faults"
	"refundlab/refund"
)

// misuses ask for what the rules forbid, or meet an outside that behaves worse than it should.
var misuses = []scenario{
	{
		ScenarioText: faults.ScenarioText{
			Name:  "key-reused-with-currency",
			Title: "The same request id in another currency",
			About: "A request id is used again with everything equal but the currency. That is another refund: a conflict.",
		},
		further:  true,
		profiles: onlyFull,
		build: func(c cell) trial {
			other := request("r1")
			other.Process, other.Currency = "other-currency", "USD"
			expect := c.ends(confirmed(1, 1))
			if c.fault {
				expect.Answers["other-currency"] = string(refund.CodeKeyConflict)
			}
			return trial{script: asked(request("r1"), only(fault, other), approve("bob", "d1", "r1"), rest), expect: expect}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "requester-approves",
			Title: "The requester approves",
			About: "Who asked for the refund approves it, and is told that another person must. Another person does.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			expect := c.ends(confirmed(1, 1))
			if c.fault {
				expect.Answers["alice"], expect.Verdicts["d0"] = string(refund.VerdictSelfApproval), string(refund.VerdictSelfApproval)
			}
			return trial{
				script: asked(request("r1"), only(fault, approve("alice", "d0", "r1"), join("alice")), approve("bob", "d1", "r1"), rest),
				expect: expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "model-names-larger-amount",
			Title: "The model names a larger amount",
			About: "The model's first answer names more than was asked for. It costs one call of the budget and changes nothing: the second answer is the one that counts, and what was asked for is refunded.",
		},
		further:  true,
		profiles: onlyFull,
		build: func(c cell) trial {
			expect := c.ends(confirmed(1, 1))
			end := expect.Runs["r1"]
			end.MostModelCalls = 1
			if c.fault {
				end.MostModelCalls = 2
			}
			expect.Runs["r1"] = end
			return trial{
				script: script(only(fault, modelAnswers("larger-amount")), approved(rest)),
				expect: expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "model-down",
			Title: "The model answers nothing but errors",
			About: "Every call ends with status 500. Each is one of the budget, and nobody tries again behind the budget's back: when it is spent, the request is rejected.",
		},
		further:  true,
		profiles: onlyFull,
		build: func(c cell) trial {
			expect := c.ends(rejected(refund.CodeProposalFailed, 0, 0))
			if c.fault {
				delete(expect.Verdicts, "d1")
				delete(expect.Answers, "bob")
			}
			down := make([]string, 4*refund.DefaultModelBudget)
			for i := range down {
				down[i] = "status-500"
			}
			return trial{
				script: script(only(fault, modelAnswers(down...)),
					start("a"), request("r1"), only(clean, proposed("r1"), approve("bob", "d1", "r1")), rest),
				expect: expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "cut-after-commit",
			Title: "The provider cuts the connection after its commit",
			About: "The provider has committed and ends the connection without an answer. Nobody below the engine may send the request again: what happens next is the engine's decision.",
		},
		further:  true,
		profiles: []refund.ProfileName{refund.ProfileFull, refund.ProfileLookup, refund.ProfileOpaque},
		build: func(c cell) trial {
			return trial{
				script:   approved(only(fault, fired("cut")), c.unsure("a")),
				schedule: faults.Schedule{rule("cut", faults.ProviderCommit, faults.After, 1, "provider", faults.Lose)},
				expect:   c.ends(c.afterLostAnswer()),
			}
		},
	},
}
