package scenarios

import (
	"refundlab/faults"
	"refundlab/refund"
)

// noWriteLock is why Temporal has no trial of the journal's write lock.
var noWriteLock = map[string]string{temporal: "the server serialises what its clients write: no process holds a lock that another one waits for"}

// contended put two things against one protection that nothing else in the catalogue needs: transactions on one file, requests
// inside one provider, two owners of one lease, a decision and the end of its run.
var contended = []scenario{
	{
		ScenarioText: faults.ScenarioText{
			Name:  "store-contended",
			Title: "A decision while another process holds the write lock",
			About: "One run's outcome stands before its commit, with the journal's write lock in hand, while a person approves another run. That transaction waits for the lock and then stands on what is there: the person gets an answer, and no error of a store.",
		},
		further:  true,
		profiles: onlyFull,
		unlike:   noWriteLock,
		build: func(c cell) trial {
			again := decide(faults.DoApprove, "carol-again", "carol", "d2", "r2")
			look := faults.Step{Do: faults.DoStatus, Run: "r1"} // two commands long, so that the transaction under test has begun
			expect := c.ends(confirmed(1, 1))
			expect.Runs["r2"] = confirmed(1, 1)
			expect.Verdicts["d2"] = string(refund.VerdictAccepted)
			expect.Answers["carol"] = ""
			return trial{
				script: asked(request("r1"), request("r2"), proposed("r2"), approve("bob", "d1", "r1"),
					only(fault, fired("held")), approve("carol", "d2", "r2"),
					only(fault, await(faults.Decision, faults.Before, "carol", "r2"), look, look, release("held"), join("carol"), again, join("carol-again")), rest),
				schedule: faults.Schedule{rule("held", faults.StoreCommit, faults.Before, 1, "a", faults.Hold)},
				expect:   expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "frozen-in-its-commit",
			Title: "A worker is frozen inside the transaction that saves its outcome",
			About: "The worker is frozen right before its COMMIT, with the journal's write lock in hand, until its lease is over. Another one can start and cannot take over. Let go, the transaction stands as a whole: the outcome and its notice, and under local the intent and the money too.",
		},
		further:  true,
		profiles: []refund.ProfileName{refund.ProfileFull, refund.ProfileLocal},
		unlike:   noWriteLock,
		build: func(c cell) trial {
			return trial{
				script:   approved(only(fault, fired("frozen"), start("b"), pass("ownership", "r1"), thaw("a")), rest),
				schedule: faults.Schedule{rule("frozen", faults.StoreCommit, faults.Before, 1, "a", faults.Freeze)},
				expect:   c.ends(c.undisturbed()),
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "outcome-contended",
			Title: "A receipt in hand while another worker holds the write lock",
			About: "One run's outcome stands before its commit, with the journal's write lock in hand, when another worker has the receipt of a second run and records it. That transaction waits for the lock. A receipt whose record fails instead is gone, and under opaque nobody may ask for another.",
		},
		further:  true,
		profiles: []refund.ProfileName{refund.ProfileOpaque},
		unlike:   noWriteLock,
		build: func(c cell) trial {
			look := faults.Step{Do: faults.DoStatus, Run: "r1"} // one command long, so that the transaction under test has begun
			expect := c.ends(confirmed(1, 1))
			expect.Runs["r1"], expect.Runs["r2"] = confirmed(1, 1), confirmed(1, 1)
			expect.Verdicts["d2"] = string(refund.VerdictAccepted)
			expect.Answers["carol"] = ""
			return trial{
				script: asked(patient(request("r1"), "15s"), patient(request("r2"), "15s"), proposed("r2"), approve("bob", "d1", "r1"),
					only(clean, await(faults.Notified, faults.After, "a", "r1")), only(fault, fired("answer")), approve("carol", "d2", "r2"),
					only(fault, fired("busy"), start("b"), fired("second"), release("answer"), fired("held"), release("second"), look, release("held"), release("busy")), rest),
				schedule: faults.Schedule{
					rule("answer", faults.ProviderCall, faults.After, 1, "a", faults.Hold),
					rule("busy", faults.Claim, faults.Before, 4, "a", faults.Hold), // so that b takes the second run
					rule("second", faults.Outcome, faults.Before, 1, "b", faults.Hold),
					rule("held", faults.StoreCommit, faults.Before, 1, "a", faults.Hold),
				},
				expect: expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "balance-contended",
			Title: "Two refunds inside the provider at once",
			About: "Two refunds of which the order can bear one: the first stands before its commit inside the provider's transaction when the second arrives there. What the second is checked against must be what it commits on: it is refused.",
		},
		further:  true,
		profiles: onlyFull,
		build: func(c cell) trial {
			first, second := request("r1"), request("r2")
			first.Amount, second.Amount = 6_000, 6_000
			expect := c.ends(confirmed(1, 3))
			expect.Runs["r2"] = rejected(refund.CodeInsufficientBalance, 0, 0)
			if c.fault {
				expect.Runs["r2"] = rejected(refund.CodeInsufficientBalance, 1, 3)
			}
			expect.Verdicts["d2"] = string(refund.VerdictAccepted)
			return trial{
				script: asked(first, second, proposed("r2"), approve("bob", "d1", "r1"),
					only(clean, over("a", "r1")), only(fault, fired("held")), approve("carol", "d2", "r2"),
					only(fault, await(faults.ProviderRecv, faults.Before, "provider", "r2"), release("held")), rest),
				schedule: faults.Schedule{rule("held", faults.ProviderCommit, faults.Before, 1, "provider", faults.Hold)},
				expect:   expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "renewal-against-holder",
			Title: "A renewal comes when another worker holds the run",
			About: "A worker is frozen in its renewal until its lease is over and another has claimed the run; then it is let go while the other holds the lease. The renewal must not prolong what is not its own.",
		},
		further:  true,
		profiles: onlyFull,
		unlike:   map[string]string{temporal: "an attempt is not renewed: its time-out ends it, and a heartbeat of an attempt that is over is refused by the server"},
		build: func(c cell) trial {
			slow := rule("slow", faults.Intent, faults.After, 1, "a", faults.Delay)
			slow.DelayMS = 700 // so much later than its lease does a's call begin
			return trial{
				script: approved(
					// b stands ready before a's lease is over, and a's call has time left when b holds the run.
					only(fault, await(faults.Intent, faults.Before, "a", "r1"), start("b"), fired("frozen"), fired("door-2"), thaw("a"),
						fired("answered"), release("answered"), release("door-2"), release("door-1")), rest),
				schedule: faults.Schedule{
					slow,
					rule("door-1", faults.ProviderRecv, faults.Before, 1, "provider", faults.Hold), // a's call has to last as long as a renewal
					rule("frozen", faults.Renewal, faults.Before, 1, "a", faults.Freeze),
					rule("answered", faults.Renewal, faults.After, 1, "a", faults.Hold),
					rule("door-2", faults.ProviderCall, faults.Before, 1, "b", faults.Hold),
				},
				expect: c.ends(confirmed(2, 3)),
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "decision-while-closing",
			Title: "A decision arrives while the run closes",
			About: "The refund is done and the last thing that the worker records about it is on its way when another person approves. That decision was taken in, so it gets its one verdict: it was not needed.",
		},
		further:  true,
		profiles: onlyFull,
		build: func(c cell) trial {
			closing := rule("closing", faults.Notified, faults.Before, 1, "a", faults.Hold)
			if c.engine == temporal {
				closing.Point.Boundary = faults.Finish
			}
			expect := c.ends(confirmed(1, 1))
			if c.fault {
				expect.Verdicts["d2"] = string(refund.VerdictAlreadyDecided)
				expect.Answers["carol"] = string(refund.VerdictAlreadyDecided)
			}
			return trial{
				script:   approved(only(fault, fired("closing"), approve("carol", "d2", "r1"), await(faults.Decision, faults.After, "carol", "r1"), release("closing")), rest),
				schedule: faults.Schedule{closing},
				expect:   expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "repeated-after-the-end",
			Title: "The request and an approval are repeated when the run is over",
			About: "The refund is done and its run closed. Then the caller repeats the request, and another person approves. The answer is final for its request id: the repetition finds the run that was, and the approval was not needed.",
		},
		further:  true,
		profiles: onlyFull,
		build: func(c cell) trial {
			again := request("r1")
			again.Process = "again"
			expect := c.ends(confirmed(1, 1))
			if c.fault {
				expect.Answers["again"], expect.Answers["carol"] = "", string(refund.VerdictAlreadyDecided)
			}
			// The time that passes is for a second run that must not be there: to get its proposal, and to send.
			var wait []faults.Step
			if c.engine == temporal {
				wait = []faults.Step{pass("ownership", "r1")}
			}
			return trial{
				script: approved(rest,
					only(fault, faults.Step{Do: faults.DoStatus, Process: "seen", Run: "r1"}, again), only(fault, wait...),
					only(fault, approve("carol", "d2", "r1"), join("carol")), only(fault, wait...), rest),
				expect: expect,
			}
		},
	},
}
