package scenarios

import (
	"slices"

	"refundlab/faults"
	"refundlab/refund"
)

// workers let workers meet on one operation.
var workers = slices.Concat(races, staleResults, takeovers, clocks)

// races let two workers meet in their calls.
var races = []scenario{
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-5-two-workers-racing",
			Title: "Two workers race",
			About: "A worker is frozen in its call until another has taken over and calls too; both requests stand at the provider's door before either is let in. One ledger entry, one receipt.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			// B's request is held at the door before A is let go on, then A's, then both go in: B's time-out makes it ask again.
			expect := c.ends(confirmed(2, 3+c.zombies()))
			if c.fault {
				expect.Race = []string{"door-1", "door-2"}
			}
			return trial{
				script: approved(
					only(fault, fired("frozen"), start("b"), fired("door-1"), thaw("a"), fired("door-2"), release("door-1"), release("door-2")),
					rest),
				schedule: faults.Schedule{
					rule("frozen", faults.ProviderCall, faults.Before, 1, "a", faults.Freeze),
					rule("door-1", faults.ProviderRecv, faults.Before, 1, "provider", faults.Hold),
					rule("door-2", faults.ProviderRecv, faults.Before, 2, "provider", faults.Hold),
				},
				expect: expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-6-old-worker-late",
			Title: "An old worker arrives late",
			About: "A worker is frozen right before its call, past its lease or attempt. Another takes over and finishes, or finds that nobody may send twice; then the old one is let go and its request reaches the provider.",
		},
		profiles: networked,
		build: func(c cell) trial {
			expect := c.ends(c.afterLateWorker())
			if c.fault {
				expect.Late = &faults.Late{Run: "r1", Rule: "frozen", Other: "b"}
				if c.profile.Fence {
					expect.Witnesses = []faults.Witness{{Why: "the provider must have refused the old worker by its fence", Outcome: "stale-fence", Least: 1}}
				}
			}
			return trial{
				script:   approved(only(fault, fired("frozen"), start("b")), c.lateArrival()),
				schedule: faults.Schedule{rule("frozen", faults.ProviderCall, faults.Before, 1, "a", faults.Freeze)},
				expect:   expect,
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "own-result-late",
			Title: "A worker saves its result too late",
			About: "The only worker is frozen with the receipt in hand until its lease or attempt is over, then let go. Nobody else has taken over, and still its write must be refused: the run is taken up again from what is recorded, and the refund is found.",
		},
		profiles: fullAndLookup,
		build: func(c cell) trial {
			end := confirmed(1, 1)
			if c.profile.Idempotent {
				end = confirmed(2, 2+c.zombies())
			}
			let := []faults.Step{fired("frozen"), pass("ownership", "r1"), thaw("a")}
			schedule := faults.Schedule{rule("frozen", faults.Outcome, faults.Before, 1, "a", faults.Freeze)}
			if c.engine == handrolled {
				// Its own next claim raises the generation, which would refuse the write too: it has to wait, so that the lease alone does.
				schedule = append(schedule, rule("again", faults.Claim, faults.Before, 3, "a", faults.Hold), rule("tried", faults.Outcome, faults.After, 1, "a", faults.Hold))
				let = append(let, fired("again"), fired("tried"), release("tried"), release("again"))
			}
			return trial{script: approved(only(fault, let...), rest), schedule: schedule, expect: c.ends(end)}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "late-after-close",
			Title: "An old worker arrives after the operation was closed",
			About: "A worker is frozen right before its call until the time to commit is over. Another closes the operation, which proves that nothing was committed and that nothing ever will be; the old worker's request is refused.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			expect := c.ends(rejected(refund.CodeClosed, 1, 1))
			if c.fault {
				expect.Late = &faults.Late{Run: "r1", Rule: "frozen", Other: "b"}
			}
			return trial{
				script:   approvedFor(hurried("r1"), only(fault, fired("frozen"), pass("commit", "r1"), start("b"), over("b", "r1"), thaw("a"), arrived(1)), rest),
				schedule: faults.Schedule{rule("frozen", faults.ProviderCall, faults.Before, 1, "a", faults.Freeze)},
				expect:   expect,
			}
		},
	},
}

// arrived waits until the n-th submit of a trial stands at the provider.
func arrived(n int) faults.Step {
	return times(n, await(faults.ProviderRecv, faults.After, "provider", ""))
}

// lateArrival lets the old worker go once the new one has finished, or has found out that it may not send.
func (c cell) lateArrival() []faults.Step {
	switch {
	case c.profile.Idempotent:
		return script(only(fault, over("b", "r1"), thaw("a"), arrived(2)), rest)
	case c.profile.Lookup == refund.LookupLagging:
		return script(only(fault, await(faults.Observed, faults.After, "b", "r1"), thaw("a"), arrived(1), faults.Step{Do: faults.DoCatchUp}), only(fault, over("", "r1")), rest)
	case c.asks():
		return script(only(fault, await(faults.Observed, faults.After, "b", "r1"), thaw("a"), arrived(1), over("", "r1")), rest)
	}
	return script(only(fault, c.parked("b"), thaw("a"), arrived(1), still), only(clean, rest))
}

func (c cell) afterLateWorker() faults.End {
	switch {
	case c.profile.Idempotent:
		return confirmed(2, 2+c.zombies())
	case c.asks():
		return confirmed(1, 1)
	}
	return unknown(1, 1, nobodyToAsk)
}

// zombies is the most attempts that a frozen worker may start beside its own once it is let go. The server of Temporal hands
// further attempts to the polls that the frozen process keeps open: two, as the worker is configured. The journal hands out
// nothing.
func (c cell) zombies() int {
	if c.engine == temporal {
		return 2
	}
	return 0
}
