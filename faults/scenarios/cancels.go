package scenarios

import (
	"refundlab/faults"
	"refundlab/refund"
)

// cancelled is why the journal has no trial of a cancellation.
var cancelled = map[string]string{handrolled: "the journal has no cancellation: a run ends by a decision or by its deadline"}

// cancel asks the engine to cancel a run.
func cancel(run string) faults.Step {
	return faults.Step{Do: faults.DoCancel, Process: "cancel-" + run, Run: run}
}

// cancels ask the engine to end a run that a person has not, or has already, decided on.
var cancels = []scenario{
	{
		ScenarioText: faults.ScenarioText{
			Name:  "cancel-before-approval",
			Title: "Cancelled before anybody decided",
			About: "The run is cancelled while it waits for a person, and the approval comes afterwards. The run ends without a refund, and the approval is told that it is over.",
		},
		profiles: onlyFull,
		unlike:   cancelled,
		build: func(c cell) trial {
			expect := c.ends(rejected(refund.CodeCancelled, 0, 0))
			if c.fault {
				expect.Answers["bob"], expect.Answers["cancel-r1"] = string(refund.VerdictRunClosed), ""
				delete(expect.Verdicts, "d1") // a run that is over may record it or not: the answer says the same
			}
			return trial{
				script: asked(request("r1"), only(fault, cancel("r1"), rest), approve("bob", "d1", "r1"), join("bob"), rest),
				expect: expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "cancel-on-its-way",
			Title: "Cancelled while the refund is on its way",
			About: "The run is cancelled while its request stands at the provider's door. Nobody can call that request back, so the cancellation has no effect: the refund is made, once, and recorded.",
		},
		profiles: fullAndLookup,
		unlike:   cancelled,
		build: func(c cell) trial {
			end := confirmed(1, 1)
			if c.profile.Idempotent {
				end = confirmed(1, 1+2*slack)
			}
			expect := c.ends(end)
			if c.fault {
				expect.Answers["cancel-r1"] = ""
			}
			return trial{
				script:   approved(only(fault, fired("door"), cancel("r1"), release("door")), rest),
				schedule: faults.Schedule{rule("door", faults.ProviderRecv, faults.Before, 1, "provider", faults.Hold)},
				expect:   expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "cancel-before-deadline-worker-dead",
			Title: "Cancelled, approved and overdue while no worker is alive",
			About: "The worker dies, the run is cancelled, the approval arrives, the deadline passes, and only then another worker starts, which sees all three together. The cancellation came first: the approval is told that the run is over, and the run ends cancelled and not expired.",
		},
		profiles: onlyFull,
		unlike:   cancelled,
		build: func(c cell) trial {
			expect := c.ends(rejected(refund.CodeCancelled, 0, 0))
			if c.fault {
				expect.Answers["bob"], expect.Answers["cancel-r1"] = string(refund.VerdictRunClosed), ""
				expect.Verdicts["d1"] = string(refund.VerdictRunClosed)
			}
			return trial{
				script: asked(decidedSoon("r1"), only(fault, fired("crash"), cancel("r1")),
					approve("bob", "d1", "r1"), await(faults.Decision, faults.After, "bob", "r1"), only(fault, pass("decide", "r1"), start("b")), join("bob"), rest),
				schedule: killedAt(faults.Proposal, faults.After),
				expect:   expect,
			}
		},
	},
}
