package scenarios

import (
	"refundlab/faults"
	"refundlab/refund"
)

// What clocks are wrong by, and a deadline that lies between now and the larger of the two, in milliseconds.
const (
	anHour     = 3_600_000
	tenMinutes = 600_000
	soon       = 300_000
)

// hostClock sets the one wall clock of all processes of the trial, beside the real one. A server of Temporal's keeps its own.
func hostClock(offset int64) faults.Step {
	return faults.Step{Do: faults.DoClock, Kind: faults.ClockHost, OffsetMS: offset}
}

// clockOf sets the wall clock of one process, which need not have started yet.
func clockOf(process string, offset int64) faults.Step {
	return faults.Step{Do: faults.DoClock, Kind: faults.ClockProcess, Process: process, OffsetMS: offset}
}

// providerClock sets the provider's clock beside its host's.
func providerClock(offset int64) faults.Step {
	return faults.Step{Do: faults.DoClock, OffsetMS: offset}
}

// clocks are set while a lease, an attempt or a deadline runs. What may differ is when a time is over; what may not is the ledger.
var clocks = []scenario{
	{
		ScenarioText: faults.ScenarioText{
			Name:  "clock-back-lease",
			Title: "The host's clock is set back an hour during a dead worker's lease",
			About: "A worker dies in its call and the host's clock is set back an hour. The next one cannot see on the wall when the lease is over; it takes the run over after it has looked at it for as long as a lease lasts, and not in an hour.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			return trial{
				script:   approved(only(fault, fired("crash"), hostClock(-anHour), start("b")), rest),
				schedule: killedAt(faults.ProviderCall, faults.Before),
				expect:   c.ends(confirmed(1, 1)),
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "clock-forward-lease",
			Title: "The host's clock goes forward ten minutes during a lease",
			About: "A worker's request stands at the provider's door when the host's clock goes forward ten minutes. On the journal every lease is over at once, also this one, whose owner is well and renews it: the renewal is refused, another takes the run over and sends the same operation, and the old request is refused by its fence. On Temporal the server alone counts an attempt's time, and no clock of ours moves it: the next attempt comes when it would have come anyway.",
		},
		further:  true,
		profiles: onlyFull,
		build: func(c cell) trial {
			steps := []faults.Step{hostClock(tenMinutes), start("b"), over("", "r1")}
			if c.engine == handrolled {
				// Its own next claim raises the generation, which would refuse the renewal too: it has to wait, so that the clock alone does.
				steps = []faults.Step{hostClock(tenMinutes), fired("again"), gaveUp, start("b"), over("b", "r1"), release("again")}
			}
			t := c.robbed(confirmed(2, 3), steps...)
			if c.engine == handrolled {
				t.schedule = append(t.schedule, rule("again", faults.Claim, faults.Before, 3, "a", faults.Hold))
			}
			if c.fault {
				t.expect.Witnesses = append(t.expect.Witnesses, faults.Witness{Why: "the provider must have refused the old request by its fence", Outcome: "stale-fence", Least: 1})
			}
			return t
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "clock-forward-decide",
			Title: "The host's clock goes forward ten minutes during the time to decide",
			About: "The time to decide has minutes left when the host's clock goes forward ten. The journal goes by that clock: the approval that follows is too late, and nothing is sent. Temporal's server, which has a clock of its own, counts its minutes to their end: the approval is in time.",
		},
		further:  true,
		profiles: onlyFull,
		build: func(c cell) trial {
			return c.early(only(fault, hostClock(tenMinutes)), within("r1", soon, anHour))
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "clock-forward-commit",
			Title: "The host's clock goes forward ten minutes during the time to commit",
			About: "Approved in time, the worker dies before it sends anything, and the host's clock goes forward ten minutes, past the time to commit. The check right before the send goes by that clock: nothing is sent. On Temporal the attempt reads that it begins long after its intent, as one does after a reset of its activity; it cannot know that it is the first, and the operation is closed.",
		},
		further:  true,
		profiles: onlyFull,
		build: func(c cell) trial {
			return trial{
				script:   approvedFor(within("r1", soon, soon), only(fault, fired("crash"), hostClock(tenMinutes), start("b")), rest),
				schedule: killedAt(faults.Intent, faults.Before),
				expect:   c.ends(c.unsentTooLate()),
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "clock-ahead-lease",
			Title: "One process alone reads ten minutes ahead, during another's lease",
			About: "The assumption of one clock is broken: a second worker whose clock is ten minutes ahead starts while the first one's request stands at the provider's door. On the journal it takes the first one's lease for over although that is being renewed; two workers believe in the run, the next renewal of the robbed one is refused, and the ledger holds one entry. On Temporal the server alone counts an attempt's time, and a worker's clock takes nothing from another: the next attempt comes when it would have come anyway.",
		},
		further:  true,
		profiles: fullAndLookup,
		build: func(c cell) trial {
			end, until := confirmed(2, 3), over("", "r1")
			if !c.profile.Idempotent {
				end, until = confirmed(1, 1), await(faults.LookupCall, faults.After, "", "r1")
			}
			steps := []faults.Step{clockOf("b", tenMinutes), start("b"), until}
			if c.engine == handrolled {
				steps = append(steps, gaveUp)
			}
			return c.robbed(end, steps...)
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "clock-ahead-decide",
			Title: "The command that approves reads ten minutes ahead",
			About: "A person has minutes left to decide, and the clock of the command that approves is ten minutes ahead. The journal takes the highest time that anybody reads: the approval is told that it is too late, earlier than it should be. Temporal takes no time from a client.",
		},
		further:  true,
		profiles: onlyFull,
		build: func(c cell) trial {
			return c.early(only(fault, clockOf("bob", tenMinutes)), within("r1", soon, anHour))
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "clock-back-retention",
			Title: "The host's clock is set back an hour, and the provider's memory ends",
			About: "The provider has committed when the worker dies. The engine's host sets its clock back an hour while no worker runs, and by the provider's own clock its memory ends. The next worker cannot count on that memory by the wall: it must look, and must not send.",
		},
		profiles: []refund.ProfileName{refund.ProfileRetention},
		build: func(c cell) trial {
			crash := rule("crash", faults.ProviderCommit, faults.After, 1, "provider", faults.Kill)
			crash.Victim = "a"
			return trial{
				world:    faults.World{RetentionMS: 5_000},
				script:   approved(only(fault, fired("crash"), hostClock(-anHour), providerClock(anHour), pass("retention", "r1"), start("b")), rest),
				schedule: faults.Schedule{crash},
				expect:   c.ends(confirmed(1, 1)),
			}
		},
	},
}

// furtherClocks need more time, or differ from others by little.
var furtherClocks = []scenario{
	{
		ScenarioText: faults.ScenarioText{
			Name:  "clock-back-old-worker",
			Title: "The host's clock is set back an hour while a worker is frozen",
			About: "A worker is frozen with the receipt in hand and the host's clock is set back an hour. Another takes over and finishes; the old one is let go, and by the wall its lease has an hour left. Its record is refused.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			expect := c.ends(confirmed(2, 2+c.zombies()))
			if c.fault {
				expect.Witnesses = []faults.Witness{refusedAt(faults.Outcome, "a")}
			}
			return trial{
				script:   approved(only(fault, fired("frozen"), hostClock(-anHour), start("b"), over("b", "r1"), thaw("a"), fired("refused"), release("refused")), rest),
				schedule: faults.Schedule{rule("frozen", faults.Outcome, faults.Before, 1, "a", faults.Freeze), rule("refused", faults.Outcome, faults.After, 1, "a", faults.Hold)},
				expect:   expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "clock-back-decide",
			Title: "The host's clock is set back an hour during the time to decide",
			About: "A worker runs and the host's clock is set back an hour while a person has a few seconds to decide. The deadline comes when it would have come, and an approval after it is told that it is too late.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			expect := c.ends(expired)
			if c.fault {
				expect.Answers["bob"] = string(refund.VerdictExpired)
				delete(expect.Verdicts, "d1")
			}
			return trial{
				script: asked(decidedSoon("r1"), only(fault, hostClock(-anHour), pass("decide", "r1"), rest), approve("bob", "d1", "r1"), join("bob"), rest),
				expect: expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "clock-back-commit",
			Title: "The host's clock is set back an hour during the time to commit",
			About: "Approved in time, the worker dies before it sends anything, and the host's clock is set back an hour. Another sends at once: what was approved is still wanted, by any clock.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			return trial{
				script:   approvedFor(within("r1", soon, soon), only(fault, fired("crash"), hostClock(-anHour), start("b")), rest),
				schedule: killedAt(faults.Intent, faults.Before),
				expect:   c.ends(confirmed(1, 1)),
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "clock-ahead-commit",
			Title: "The worker that sends reads ten minutes ahead",
			About: "Approved in time, the worker dies before it sends anything, and the next one's clock is ten minutes ahead, past the time to commit. It refuses to send what it might still have sent: too early, and never too late. On Temporal it takes itself for an attempt that comes late, cannot know that it is the first, and the operation is closed.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			return trial{
				script:   approvedFor(within("r1", soon, soon), only(fault, fired("crash"), clockOf("b", tenMinutes), start("b")), rest),
				schedule: killedAt(faults.Intent, faults.Before),
				expect:   c.ends(c.unsentTooLate()),
			}
		},
	},
}

// robbed is a trial in which a clock is set, and what follows from that comes, while a request stands at the provider's door. On
// the journal the call has more time than all that takes, and its owner renews the lease meanwhile: nobody can take the run over,
// and no renewal is refused, unless the clock ends the lease.
func (c cell) robbed(end faults.End, steps ...faults.Step) trial {
	asks, expect := request("r1"), c.ends(end)
	if c.engine == handrolled {
		asks = patient(asks, "15s")
		if c.fault {
			expect.Witnesses = []faults.Witness{refusedAt(faults.Renewal, "a")}
		}
	}
	return trial{
		script:   approvedFor(asks, only(fault, script(fired("door"), steps, release("door"))...), rest),
		schedule: faults.Schedule{rule("door", faults.ProviderRecv, faults.Before, 1, "provider", faults.Hold)},
		expect:   expect,
	}
}

// gaveUp waits until the robbed worker has left its call, which it does when a renewal is refused, or else when its time is over.
var gaveUp = await(faults.ProviderCall, faults.After, "a", "r1")

// early is a trial in which the time to decide is over too early, for the journal, and an approval comes then.
func (c cell) early(set []faults.Step, request faults.Step) trial {
	expect := c.ends(confirmed(1, 1))
	if c.fault && c.engine == handrolled {
		expect = c.ends(expired)
		expect.Answers["bob"] = string(refund.VerdictExpired)
		expect.Verdicts["d1"] = string(refund.VerdictExpired)
	}
	return trial{script: asked(request, set, approve("bob", "d1", "r1"), rest), expect: expect}
}

// unsentTooLate is the end of an operation whose time to commit is over by the clock of whoever would send it. On Temporal an attempt
// that reads minutes since its intent does not take itself for the first one.
func (c cell) unsentTooLate() faults.End {
	if c.fault && c.engine == temporal {
		return rejected(refund.CodeClosed, 0, 0)
	}
	return rejected(refund.CodeApprovalExpired, 0, 0)
}
