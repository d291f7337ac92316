package scenarios

import (
	"refundlab/faults"
	"refundlab/refund"
)

// Deadlines in milliseconds. hurry is long enough for request, proposal and decision on a busy machine; later leaves a second
// deadline out of the way.
const (
	hurry = 8_000
	later = 3_600_000
)

// hurried is a request whose two deadlines are close.
func hurried(run string) faults.Step { return within(run, hurry, hurry) }

// decidedSoon is a request that must be decided soon and may be committed much later.
func decidedSoon(run string) faults.Step { return within(run, hurry, later) }

// expiries put decision, deadline and the worker's death in every order.
var expiries = []scenario{
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-8a-decision-after-deadline",
			Title: "The decision comes after the deadline",
			About: "The deadline passes while a worker runs; the approval comes later and is told that it is too late. Nothing is ever sent.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			expect := c.ends(expired)
			if c.fault {
				expect.Answers["bob"] = string(refund.VerdictExpired)
				delete(expect.Verdicts, "d1") // a run that is over may record it or not: the answer says the same
			}
			return trial{
				script: asked(decidedSoon("r1"), only(fault, pass("decide", "r1"), rest), approve("bob", "d1", "r1"), join("bob"), rest),
				expect: expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-8b-in-time-worker-dead",
			Title: "In time, but no worker until after the deadline",
			About: "The worker dies, the approval arrives in time, the deadline passes, and only then another worker starts. The approval was in time and counts.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			stored := await(faults.Decision, faults.After, "bob", "r1")
			return trial{
				script: asked(decidedSoon("r1"), only(fault, fired("crash")),
					approve("bob", "d1", "r1"), stored, only(fault, pass("decide", "r1"), start("b")), rest),
				schedule: killedAt(faults.Proposal, faults.After),
				expect:   c.ends(confirmed(1, 1)),
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-8c-late-worker-dead",
			Title: "Too late, while no worker is alive",
			About: "The worker dies, the deadline passes, the approval arrives, and only then another worker starts, which sees deadline and approval together. The approval was late and does not count.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			expect := c.ends(expired)
			if c.fault {
				expect.Verdicts["d1"] = string(refund.VerdictExpired)
				expect.Answers["bob"] = string(refund.VerdictExpired)
			}
			return trial{
				script: asked(decidedSoon("r1"), only(fault, fired("crash"), pass("decide", "r1")),
					approve("bob", "d1", "r1"), await(faults.Decision, faults.After, "bob", "r1"), only(fault, start("b")), rest),
				schedule: killedAt(faults.Proposal, faults.After),
				expect:   expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-8d-submission-after-deadline",
			Title: "Approved in time, the worker dead until the time to commit is over",
			About: "The approval is in time and the worker dies before anything is sent. When another starts, the time to commit is over: the check before the call refuses, and nothing is sent.",
		},
		profiles: []refund.ProfileName{refund.ProfileFull, refund.ProfileOpaque},
		build: func(c cell) trial {
			return trial{
				script:   approvedFor(hurried("r1"), only(fault, fired("crash"), pass("commit", "r1"), start("b")), rest),
				schedule: killedAt(faults.Intent, faults.Before),
				expect:   c.ends(rejected(refund.CodeApprovalExpired, 0, 0)),
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "second-send-too-late",
			Title: "The worker dies right before its request leaves, and then the time to commit ends",
			About: "Nobody can know that the request never left. When another worker starts, the time to commit is over, so the operation is not sent again: where the provider can close, it is closed; elsewhere it is looked up and stays UNKNOWN, because the first request might still arrive.",
		},
		profiles: []refund.ProfileName{refund.ProfileFull, refund.ProfileLenient},
		build: func(c cell) trial {
			end := rejected(refund.CodeClosed, 0, 0)
			if !c.profile.Close {
				end = unknown(0, 0, "the first request may still arrive, and nothing that may be asked would call it back")
			}
			return trial{
				script:   approvedFor(hurried("r1"), only(fault, fired("crash"), pass("commit", "r1"), start("b")), rest),
				schedule: killedAt(faults.ProviderCall, faults.Before),
				expect:   c.ends(end),
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-8e-deadline-at-commit",
			Title: "The deadline passes on the way to the provider",
			About: "The request has passed the engine's check and is on its way when the time to commit ends. The provider's clock decides at its commit, and its refusal is stored.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			return trial{
				script: approved(only(fault, fired("held"), faults.Step{Do: faults.DoClock, OffsetMS: 48 * later}, release("held")), rest),
				schedule: faults.Schedule{
					rule("held", faults.ProviderCall, faults.Before, 1, "a", faults.Hold),
				},
				expect: c.ends(rejected(refund.CodeApprovalExpired, 1, 2)),
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-8f-decided-then-worker-dead",
			Title: "Decided in time, and the worker dies until after the deadline",
			About: "The approval arrives in time and the worker dies before it has done anything with it. When another starts, the time to decide is over. It was over after the decision, so the approval counts.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			return trial{
				script:   approvedFor(decidedSoon("r1"), only(fault, fired("crash"), pass("decide", "r1"), start("b")), rest),
				schedule: killedAt(faults.Intent, faults.Before),
				expect:   c.ends(confirmed(1, 1)),
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-8g-expired-then-worker-dead",
			Title: "Expired, and the worker dies before anybody is told",
			About: "The deadline passes, the worker records it and dies before its notice is out. The approval arrives while no worker is alive; it is told that it is too late, and the notice is still delivered.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			expect := c.ends(expired)
			if c.fault {
				expect.Verdicts["d1"] = string(refund.VerdictExpired)
				expect.Answers["bob"] = string(refund.VerdictExpired)
			}
			return trial{
				script: asked(decidedSoon("r1"), only(fault, pass("decide", "r1"), fired("crash")),
					approve("bob", "d1", "r1"), await(faults.Decision, faults.After, "bob", "r1"), only(fault, start("b")), rest),
				schedule: killedAt(faults.NoticeCall, faults.Before),
				expect:   expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-8h-nobody-decides",
			Title: "Nobody decides, and no worker is alive at the deadline",
			About: "The worker dies, nobody decides, and the deadline passes. The next worker finds the run overdue and ends it: nothing stays open for want of an event.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			expect := c.ends(expired)
			if c.fault {
				delete(expect.Verdicts, "d1")
				delete(expect.Answers, "bob")
			}
			return trial{
				script: asked(decidedSoon("r1"), only(clean, approve("bob", "d1", "r1")),
					only(fault, fired("crash"), pass("decide", "r1"), start("b")), rest),
				schedule: killedAt(faults.Proposal, faults.After),
				expect:   expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-8i-deadline-before-send",
			Title: "The time to commit ends between the intent and the send",
			About: "The intent to send is recorded in time, and the worker gets to its call only when the time to commit is over: the journal's worker is held there, Temporal's dies and another attempt makes the call. This provider does not look at the deadline, so the check right before the call must: nothing is sent.",
		},
		profiles: []refund.ProfileName{refund.ProfileLenient},
		build: func(c cell) trial {
			late := only(fault, fired("held"), fired("again"), pass("commit", "r1"), release("held"), release("again"))
			schedule := faults.Schedule{
				rule("held", faults.Intent, faults.After, 1, "a", faults.Hold),
				rule("again", faults.Claim, faults.Before, 3, "a", faults.Hold), // its lease is over before the deadline is
			}
			if c.engine == temporal {
				late = only(fault, fired("crash"), pass("commit", "r1"), start("b"))
				schedule = faults.Schedule{rule("crash", faults.OrderCall, faults.Before, 2, "a", faults.Kill)}
			}
			return trial{
				script:   approvedFor(hurried("r1"), late, rest),
				schedule: schedule,
				expect:   c.ends(unknown(0, 0, "an attempt may have sent something before the time to commit was over, and this provider has no close")),
			}
		},
	},
}

// orderChanges change the order after the approval.
var orderChanges = []scenario{
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-9a-order-changed-before-submit",
			Title: "The order changes between approval and submission",
			About: "The worker dies after the approval and the order changes meanwhile. The check before the call refuses: what was approved is not what would be refunded.",
		},
		profiles: []refund.ProfileName{refund.ProfileFull, refund.ProfileLookup},
		build: func(c cell) trial {
			return trial{
				script:   approved(only(fault, fired("crash"), faults.Step{Do: faults.DoOrderVersion, Order: order}, start("b")), rest),
				schedule: killedAt(faults.Intent, faults.Before),
				expect:   c.ends(rejected(refund.CodeOrderVersionChanged, 0, 0)),
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-9b-order-changed-on-the-way",
			Title: "The order changes while the request is on its way",
			About: "The request has passed the engine's check when the order changes. The provider compares the version at its commit and refuses.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			return trial{
				script: approved(only(fault, fired("held"), faults.Step{Do: faults.DoOrderVersion, Order: order}, release("held")), rest),
				schedule: faults.Schedule{
					rule("held", faults.ProviderCall, faults.Before, 1, "a", faults.Hold),
				},
				expect: c.ends(rejected(refund.CodeOrderVersionChanged, 1, 2)),
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "refusal-lost",
			Title: "The answer with a refusal is lost",
			About: "The order changes while the request is on its way, the provider refuses, and its answer is lost. The refusal is stored as the operation's result, so asking again finds that refusal and nothing else.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			return trial{
				script: approved(only(fault, fired("held"), faults.Step{Do: faults.DoOrderVersion, Order: order}, release("held"), fired("lost")), rest),
				schedule: faults.Schedule{
					rule("held", faults.ProviderCall, faults.Before, 1, "a", faults.Hold),
					rule("lost", faults.ProviderCall, faults.After, 1, "a", faults.Lose),
				},
				expect: c.ends(rejected(refund.CodeOrderVersionChanged, 1, 2)),
			}
		},
	},
}
