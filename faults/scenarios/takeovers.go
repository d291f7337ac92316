package scenarios

import (
	"slices"

	"refundlab/faults"
	"refundlab/refund"
)

// staleResults hold back what a worker has found out until its lease or attempt is over and the run has been taken up again, by
// the same worker, which is the only one. Then the old result arrives: its owner's name is the new owner's, the new lease or
// attempt is in force, and only the generation, or the task that was handed out, tells that it is not the new owner's.
var staleResults = slices.Concat(further([]scenario{
	stale(faults.Proposal, "stale-proposal", "A proposal arrives after the model was asked again",
		"The worker has the model's answer and its record is held back until the step is taken up again and the model has answered once more. The old answer is refused, the new one is the run's proposal, and both are on the bill."),
	stale(faults.Intent, "stale-intent", "An intent arrives after the run was taken up again",
		"The worker's record that it is about to send is held back until the run is taken up again, by the same worker. The old record is refused and nothing is sent on its strength: one send, under the new one."),
	stale(faults.Observed, "stale-observation", "An answer that decides nothing arrives after the run was taken up again",
		"The answer to the send is lost, and the worker's note of that is held back until the operation was sent again and that answer is lost as well. The old note is refused."),
}), []scenario{
	stale(faults.Outcome, "stale-outcome", "A result arrives after the same worker has claimed the run again",
		"The worker has the receipt, and its record is held back until the same worker has claimed the run again and has found the receipt a second time. The old record is refused although its owner is the one who holds the run: a claim is not known by its owner's name."),
})

// stale builds one of them. The old record is let go while the new one stands at the same point, and is answered before the
// new one goes on.
func stale(boundary faults.Boundary, name, title, about string) scenario {
	return scenario{
		ScenarioText: faults.ScenarioText{Name: name, Title: title, About: about},
		profiles:     onlyFull,
		build: func(c cell) trial {
			schedule := faults.Schedule{
				rule("old", boundary, faults.Before, 1, "a", faults.Hold),
				rule("new", boundary, faults.Before, 2, "a", faults.Hold),
				rule("refused", boundary, faults.After, 1, "a", faults.Hold),
			}
			overtaken := only(fault, fired("old"), fired("new"), release("old"), fired("refused"), release("refused"), release("new"))
			end, steps := confirmed(1, 1), approved(overtaken, rest)
			switch boundary {
			case faults.Proposal:
				end.MostModelCalls = 2
				steps = script(start("a"), request("r1"), overtaken, proposed("r1"), approve("bob", "d1", "r1"), rest)
			case faults.Observed:
				schedule = append(schedule, rule("lost", faults.ProviderCall, faults.After, 1, "a", faults.Lose), rule("lost-again", faults.ProviderCall, faults.After, 2, "a", faults.Lose))
				end = confirmed(3, 3+slack)
			case faults.Outcome:
				end = confirmed(2, 2+slack)
			}
			expect := c.ends(end)
			if c.fault {
				expect.Witnesses = []faults.Witness{refusedAt(boundary, "a")}
			}
			return trial{script: steps, schedule: schedule, expect: expect}
		},
	}
}

// slack is one more send where a busy machine may let the new owner's time run out too while the old one is answered.
const slack = 1

// refusedAt asks that a record of a process was refused.
func refusedAt(boundary faults.Boundary, process string) faults.Witness {
	return faults.Witness{Why: "the old record must have been refused", Point: at(boundary, faults.After).String(), Process: process, Refused: true, Least: 1}
}

// takeovers hand a run on while something of its old owner is on its way.
var takeovers = []scenario{
	{
		ScenarioText: faults.ScenarioText{
			Name:  "sent-while-on-its-way",
			Title: "The new owner sends while the old request is at the door",
			About: "The request stands at the provider's door when its worker dies. Another takes over, sends the same operation and finishes; then the old request is let in. The provider has seen a newer owner and refuses it.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			return c.atTheDoor(confirmed(2, 2), over("b", "r1"), arrived(2), "stale-fence")
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "looked-up-while-on-its-way",
			Title: "The new owner looks up while the old request is at the door",
			About: "The request stands at the provider's door when its worker dies. Another takes over, looks up and hears \"not found\"; then the request is let in and commits. It was never sent again, and the next look-up finds it.",
		},
		profiles: []refund.ProfileName{refund.ProfileLookup},
		build: func(c cell) trial {
			return c.atTheDoor(confirmed(1, 1), await(faults.Observed, faults.After, "b", "r1"), arrived(1), "not-found")
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "renewal-late",
			Title: "A renewal comes too late",
			About: "The worker's renewal is held back until what it would renew is over: on the journal its lease, on Temporal the time in which the attempt had to give a sign of life, so that the next attempt has begun. Nobody can be given back what is over: the renewal is refused, and the call that it was for is given up.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			if c.engine == temporal {
				again := rule("again", faults.ModelCall, faults.Before, 2, "a", faults.Hold)
				return c.heartbeatLate([]faults.Step{fired("again"), release("late"), fired("refused"), release("refused"), release("again")}, again)
			}
			// That it would claim the run again shows that its lease is over, and half a second later the harness knows it too. The
			// claim raises the generation, which would refuse the renewal as well: it has to wait, so that the lease alone does.
			return c.renewalLate([]faults.Step{fired("again"), {Do: faults.DoPass, OffsetMS: 500}, release("late"), fired("refused"), release("refused"), release("door")})
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "renewal-after-takeover",
			Title: "A renewal comes when somebody else has finished",
			About: "The worker's renewal is held back until another has taken over and finished, on Temporal until the next attempt's proposal is recorded. The renewal is refused and changes nothing of what is there by then.",
		},
		further:  true,
		profiles: onlyFull,
		build: func(c cell) trial {
			if c.engine == temporal {
				return c.heartbeatLate([]faults.Step{proposed("r1"), release("late"), fired("refused"), release("refused")})
			}
			return c.renewalLate([]faults.Step{fired("again"), start("b"), over("b", "r1"), release("late"), fired("refused"), release("refused"), release("door")})
		},
	},
}

// furtherTakeovers need more time.
var furtherTakeovers = []scenario{
	{
		ScenarioText: faults.ScenarioText{
			Name:  "stale-outcome-finished",
			Title: "A result arrives after another worker has finished",
			About: "The worker has the receipt, and its record is held back until another has taken over, has found the same receipt and has finished. The old record is refused, and the run stays as it ended.",
		},
		profiles: fullAndLookup,
		build: func(c cell) trial {
			end := confirmed(1, 1)
			if c.profile.Idempotent {
				end = confirmed(2, 2+slack)
			}
			expect := c.ends(end)
			if c.fault {
				expect.Witnesses = []faults.Witness{refusedAt(faults.Outcome, "a")}
			}
			return trial{
				script: approved(only(fault, fired("old"), start("b"), over("", "r1"), release("old"), fired("refused"), release("refused")), rest),
				schedule: faults.Schedule{
					rule("old", faults.Outcome, faults.Before, 1, "a", faults.Hold),
					rule("refused", faults.Outcome, faults.After, 1, "a", faults.Hold),
				},
				expect: expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "closed-while-on-its-way",
			Title: "The new owner closes while the old request is at the door",
			About: "The request stands at the provider's door when its worker dies, and the time to commit ends. Another takes over and closes the operation; then the request is let in and is refused by its fence, behind which the tombstone stands.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			t := c.atTheDoor(rejected(refund.CodeClosed, 1, 1), over("b", "r1"), arrived(1), "stale-fence")
			t.script = approvedFor(hurried("r1"), only(fault, fired("door"), kill("a"), pass("commit", "r1"), start("b"), over("b", "r1"), release("door"), arrived(1)), rest)
			return t
		},
	},
}

// atTheDoor is a trial in which worker a dies while its request stands at the provider's door, and the request is let in once
// worker b has got as far as until.
func (c cell) atTheDoor(end faults.End, until, in faults.Step, seen string) trial {
	expect := c.ends(end)
	if c.fault {
		expect.Witnesses = []faults.Witness{{Why: "the request must have come too late, or the new owner's look too early", Outcome: seen, Least: 1}}
	}
	return trial{
		script:   approved(only(fault, fired("door"), kill("a"), start("b"), until, release("door"), in), rest),
		schedule: faults.Schedule{rule("door", faults.ProviderRecv, faults.Before, 1, "provider", faults.Hold)},
		expect:   expect,
	}
}

// renewalLate holds the worker's request at the provider's door, so that its lease has to be renewed, and the renewal too.
func (c cell) renewalLate(steps []faults.Step) trial {
	expect := c.ends(confirmed(2, 2+slack))
	if c.fault {
		expect.Witnesses = []faults.Witness{refusedAt(faults.Renewal, "a")}
	}
	return trial{
		script: approved(only(fault, append([]faults.Step{fired("door"), fired("late")}, append(steps, release("again"))...)...), rest),
		schedule: faults.Schedule{
			rule("door", faults.ProviderRecv, faults.Before, 1, "provider", faults.Hold),
			rule("late", faults.Renewal, faults.Before, 1, "a", faults.Hold),
			rule("refused", faults.Renewal, faults.After, 1, "a", faults.Hold),
			rule("again", faults.Claim, faults.Before, 3, "a", faults.Hold),
		},
		expect: expect,
	}
}

// heartbeatLate holds the model's answer, so that the attempt has to give a sign of life, and the sign too.
func (c cell) heartbeatLate(steps []faults.Step, further ...faults.Rule) trial {
	end := confirmed(1, 1)
	end.MostModelCalls = 2
	expect := c.ends(end)
	if c.fault {
		expect.Witnesses = []faults.Witness{refusedAt(faults.Renewal, "a")}
	}
	steps = append([]faults.Step{fired("slow"), fired("late")}, append(steps, release("slow"))...)
	return trial{
		script: script(start("a"), request("r1"), only(fault, steps...), proposed("r1"), approve("bob", "d1", "r1"), rest),
		schedule: append(faults.Schedule{
			rule("slow", faults.ModelCall, faults.After, 1, "a", faults.Hold),
			rule("late", faults.Renewal, faults.Before, 1, "a", faults.Hold),
			rule("refused", faults.Renewal, faults.After, 1, "a", faults.Hold),
		}, further...),
		expect: expect,
	}
}
