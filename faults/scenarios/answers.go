package scenarios

import (
	"refundlab/faults"
	"refundlab/refund"
)

// people settle what no engine may know.
var people = []scenario{
	{
		ScenarioText: faults.ScenarioText{
			Name:  "settled-with-receipt",
			Title: "A person settles with a receipt",
			About: "The answer is lost and the provider can be asked nothing. A person finds the refund in the provider's books and settles the run with its receipt.",
		},
		profiles: []refund.ProfileName{refund.ProfileOpaque},
		build: func(c cell) trial {
			expect := c.ends(confirmed(1, 1))
			if c.fault {
				expect.Answers["dora"] = ""
			}
			return trial{
				script: approved(only(fault, fired("lost"), c.parked("a"), still,
					faults.Step{Do: faults.DoSettle, Process: "dora", By: "dora", Run: "r1", Kind: string(refund.SettleReceipt), Decision: "s1"}), rest),
				schedule: faults.Schedule{rule("lost", faults.ProviderCall, faults.After, 1, "a", faults.Lose)},
				expect:   expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "presumed-absent",
			Title: "A person presumes that nothing happened",
			About: "The worker dies before the commit and the provider can be asked nothing. A person may only note the presumption: the run stays UNKNOWN, leaves the open list, and is never sent again.",
		},
		profiles: []refund.ProfileName{refund.ProfileOpaque},
		build: func(c cell) trial {
			crash := rule("crash", faults.ProviderCommit, faults.Before, 1, "provider", faults.Kill)
			crash.Victim = "a"
			expect := c.ends(unknown(0, 1, "a person presumes that nothing happened, which proves nothing"))
			if c.fault {
				expect.Answers["dora"] = ""
			}
			return trial{
				script: approved(takeover, only(fault, c.parked("b"), still,
					faults.Step{Do: faults.DoSettle, Process: "dora", By: "dora", Run: "r1", Kind: string(refund.SettlePresumedAbsent), Decision: "s1"}, still), only(clean, rest)),
				schedule: faults.Schedule{crash},
				expect:   expect,
			}
		},
	},
}

// answers of the provider that say less, or something else, than what happened.
var answers = []scenario{
	{
		ScenarioText: faults.ScenarioText{
			Name:  "stale-not-found",
			Title: "\"Not found\" after a commit",
			About: "The answer is lost, and a replica that lags behind says \"not found\" about a refund that is there. It must not be sent again; once the replica has caught up, the receipt is found.",
		},
		profiles: []refund.ProfileName{refund.ProfileStale},
		build: func(c cell) trial {
			expect := c.ends(confirmed(1, 1))
			if c.fault {
				expect.Witnesses = []faults.Witness{{Why: "the replica must have said \"not found\" first", Outcome: "not-found", Least: 1}}
			}
			return trial{
				script: approved(only(fault, fired("lost"), await(faults.LookupCall, faults.After, "a", "r1"), faults.Step{Do: faults.DoCatchUp}, over("a", "r1")), rest),
				schedule: faults.Schedule{
					rule("lost", faults.ProviderCall, faults.After, 1, "a", faults.Lose),
				},
				expect: expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "malformed-receipt",
			Title: "A 200 with half a receipt",
			About: "The provider has committed and its receipt arrives cut off. The effect may be there and its proof is not, so the run asks again.",
		},
		profiles: fullAndLookup,
		build: func(c cell) trial {
			return trial{
				script: script(only(fault, providerAnswers("malformed-receipt")), approved(rest)),
				expect: c.ends(c.afterLostAnswer()),
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "foreign-receipt",
			Title: "A 200 with the receipt of something else",
			About: "The provider has committed and answers with a receipt for another operation. It is never recorded as this one's: the run is UNKNOWN with the conflict named, and a person can only annotate it.",
		},
		profiles: fullAndLookup,
		build: func(c cell) trial {
			return trial{
				script: script(only(fault, providerAnswers("foreign-receipt")), approved(
					only(fault, await(faults.Observed, faults.After, "a", "r1"), still), only(clean, rest))),
				expect: c.ends(unknown(1, 1, "the receipt that came belongs to something else: a person can only annotate it")),
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "other-digest-receipt",
			Title: "A 200 with a receipt for other parameters",
			About: "The provider has committed and answers with a receipt that names this operation, its order and its amount, but the digest of other parameters. Only the digest tells, and it is compared before anything is recorded: the run is UNKNOWN with the conflict named.",
		},
		profiles: fullAndLookup,
		build: func(c cell) trial {
			return trial{
				script: script(only(fault, providerAnswers("other-digest-receipt")), approved(
					only(fault, await(faults.Observed, faults.After, "a", "r1"), still), only(clean, rest))),
				expect: c.ends(unknown(1, 1, "the receipt that came is for other parameters: a person can only annotate it")),
			}
		},
	},
}

// notices are delivered at least once.
var notices = []scenario{
	{
		ScenarioText: faults.ScenarioText{
			Name:  "notice-doubled",
			Title: "The notice is delivered twice",
			About: "The network delivers the notice twice. The receiver removes the second by operation id and revision.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			return trial{
				script:   approved(only(fault, fired("doubled")), rest),
				schedule: faults.Schedule{rule("doubled", faults.NoticeCall, faults.Before, 1, "a", faults.Duplicate)},
				expect:   c.ends(confirmed(1, 1)),
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "notice-out-of-order",
			Title: "An old copy of the notice arrives last",
			About: "The first copy of the notice is held in the network until it has been sent again and delivered; then it arrives too. The receiver keeps what it has.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			return trial{
				script: approved(
					only(fault, fired("held"), times(2, await(faults.NoticeCall, faults.Before, "a", "r1")), await(faults.Notified, faults.After, "a", "r1"), release("held"),
						times(2, await(faults.NoticeCall, faults.After, "a", "r1"))), rest),
				schedule: faults.Schedule{rule("held", faults.NoticeCall, faults.Before, 1, "a", faults.Hold)},
				expect:   c.ends(confirmed(1, 1)),
			}
		},
	},
}
