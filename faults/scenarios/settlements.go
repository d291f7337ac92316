package scenarios

import (
	"refundlab/faults"
	"refundlab/refund"
)

// closings are settled by a person who has the operation closed at the provider, the only witness of absence.
var closings = []scenario{
	{
		ScenarioText: faults.ScenarioText{
			Name:  "settled-by-close",
			Title: "A person closes what never happened",
			About: "The worker dies before the provider commits, and a person settles by close. The tombstone proves that nothing happened and that nothing ever will: the refund is rejected.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			return c.closedAfterCrash(faults.Before, rejected(refund.CodeClosed, 1, 1))
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "settled-by-close-finds-receipt",
			Title: "A person closes what has happened",
			About: "The worker dies after the provider has committed and before it is told, and a person settles by close. The close returns the receipt that is there: the refund is confirmed.",
		},
		further:  true,
		profiles: onlyFull,
		build: func(c cell) trial {
			return c.closedAfterCrash(faults.After, confirmed(1, 1))
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "closed-while-late",
			Title: "A person closes while a request is on its way",
			About: "A worker is frozen right before its call, past its lease or attempt, and a person settles by close: rejected. Then the worker is let go and its request reaches the provider while the approval is still valid. It is refused.",
		},
		further:  true,
		profiles: onlyFull,
		build: func(c cell) trial {
			expect := c.ends(rejected(refund.CodeClosed, 1, 1+c.zombies()))
			if c.fault {
				expect.Answers["dora"] = ""
			}
			return trial{
				script:   approved(only(fault, fired("frozen")), only(fault, c.personCloses()...), only(fault, thaw("a"), arrived(1)), rest),
				schedule: faults.Schedule{rule("frozen", faults.ProviderCall, faults.Before, 1, "a", faults.Freeze)},
				expect:   expect,
			}
		},
	},
}

func (c cell) closedAfterCrash(when faults.When, end faults.End) trial {
	crash := rule("crash", faults.ProviderCommit, when, 1, "provider", faults.Kill)
	crash.Victim = "a"
	expect := c.ends(end)
	if c.fault {
		expect.Answers["dora"] = ""
	}
	return trial{
		script:   approved(only(fault, fired("crash")), only(fault, c.personCloses()...), rest),
		schedule: faults.Schedule{crash},
		expect:   expect,
	}
}

// personCloses settles by close when worker a no longer moves, and starts worker b. The journal's client makes the close
// itself, once a's lease is over and before anybody else claims the run. On Temporal a worker makes it, once a's attempt is
// over, and the settlement is there when that worker starts.
func (c cell) personCloses() []faults.Step {
	settle := faults.Step{Do: faults.DoSettle, Process: "dora", By: "dora", Run: "r1", Kind: string(refund.SettleClose), Decision: "s1"}
	if c.engine == temporal {
		settle.Background = true
		return []faults.Step{settle, start("b"), join("dora")}
	}
	return []faults.Step{pass("ownership", "r1"), settle, start("b")}
}
