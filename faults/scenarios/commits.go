package scenarios

import (
	"refundlab/faults"
	"refundlab/refund"
)

// commits break what lies around the provider's commit, under every profile.
var commits = []scenario{
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-1-crash-before-commit",
			Title: "Crash before the commit",
			About: "The worker is killed while its request is held inside the provider's transaction, which is then rolled back; under local it is killed inside the one transaction of intent, money and outcome. Whoever takes over cannot see that: the refund must be made exactly once where the provider recognises a repeated operation, and must stay UNKNOWN where it does not.",
		},
		profiles: withLocal,
		build: func(c cell) trial {
			crash := rule("crash", faults.ProviderCommit, faults.Before, 1, "provider", faults.Kill)
			crash.Victim = "a"
			if c.profile.Shared {
				crash = rule("crash", faults.StoreCommit, faults.Before, 1, "a", faults.Kill)
			}
			return trial{
				script:   approved(takeover, c.unsure("b")),
				schedule: faults.Schedule{crash},
				expect:   c.ends(c.afterCrashBeforeCommit()),
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-2-answer-lost-after-commit",
			Title: "Answer lost after the commit",
			About: "The provider has committed and its answer is lost; the worker sees a cut connection. A time-out is an observation, never a verdict: the run must find the receipt, or say UNKNOWN.",
		},
		profiles: withLocal,
		build: func(c cell) trial {
			lost := rule("lost", faults.ProviderCall, faults.After, 1, "a", faults.Lose)
			if c.profile.Shared {
				lost.Point.Boundary = faults.ProviderCommit // the answer to the journal's own COMMIT
			}
			return trial{
				script:   approved(only(fault, fired("lost")), c.unsure("a")),
				schedule: faults.Schedule{lost},
				expect:   c.ends(c.afterLostAnswer()),
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "answer-later-than-the-call",
			Title: "The answer comes after the call's time is over",
			About: "The provider has committed, and its answer takes longer than the call may last. The worker has given up by then, and nobody was told of a failure: a time-out is an observation.",
		},
		profiles: []refund.ProfileName{refund.ProfileFull, refund.ProfileLookup, refund.ProfileOpaque},
		build: func(c cell) trial {
			slow := rule("slow", faults.ProviderCommit, faults.After, 1, "provider", faults.Delay)
			slow.DelayMS = 4_000 // well beyond the call's time-out
			return trial{
				script:   approved(only(fault, fired("slow")), c.unsure("a")),
				schedule: faults.Schedule{slow},
				expect:   c.ends(c.afterLostAnswer()),
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "retention-over",
			Title: "The provider's memory ends before anybody can ask again",
			About: "The worker is killed before the commit, and the next one starts when the provider's retention is over. A second send could now be a second refund, so it is not made: the run asks, hears \"not found\", and stays UNKNOWN.",
		},
		profiles: []refund.ProfileName{refund.ProfileRetention},
		build: func(c cell) trial {
			crash := rule("crash", faults.ProviderCommit, faults.Before, 1, "provider", faults.Kill)
			crash.Victim = "a"
			return trial{
				world:    faults.World{RetentionMS: 5_000},
				script:   approved(only(fault, fired("crash"), pass("retention", "r1"), start("b")), rest),
				schedule: faults.Schedule{crash},
				expect:   c.ends(unknown(0, 1, "the first request may still arrive, and the provider would no longer know a second one as its copy")),
			}
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "own-success-uses-balance",
			Title: "Our own refund has used up the balance",
			About: "The provider has committed a refund of more than half of the order, and its answer is lost. Read again, the order no longer bears the refund: that is authority lapsed, never a refusal, because it may be our own success. The run must find its receipt.",
		},
		profiles: []refund.ProfileName{refund.ProfileFull, refund.ProfileRetention},
		build: func(c cell) trial {
			large := request("r1")
			large.Amount = 6_000
			return trial{
				script:   approvedFor(large, only(fault, fired("lost")), rest),
				schedule: faults.Schedule{rule("lost", faults.ProviderCall, faults.After, 1, "a", faults.Lose)},
				expect:   c.ends(confirmed(1, 1)),
			}
		},
	},
}

// unsure is the rest of a run whose effect a process cannot know at first: where nothing may be asked, it is parked.
func (c cell) unsure(process string) []faults.Step {
	if c.asks() {
		return script(rest)
	}
	return script(only(fault, c.parked(process), still), only(clean, rest))
}

const (
	mayStillArrive = "the first request may still arrive, and this provider would take a second one for another refund"
	notCaughtUp    = "the replica has not seen the commit, and its \"not found\" proves nothing"
	nobodyToAsk    = "this provider can neither be asked nor told twice: a person must settle"
)

func (c cell) afterCrashBeforeCommit() faults.End {
	switch {
	case c.profile.Idempotent:
		return confirmed(c.sent(2), c.sent(2))
	case c.asks():
		return unknown(0, 1, mayStillArrive)
	}
	return unknown(0, 1, nobodyToAsk)
}

func (c cell) afterLostAnswer() faults.End {
	switch {
	case c.profile.Idempotent:
		return confirmed(c.sent(2), c.sent(2))
	case c.profile.Lookup == refund.LookupStrong:
		return confirmed(1, 1)
	case c.profile.Lookup == refund.LookupLagging:
		return unknown(1, 1, notCaughtUp)
	}
	return unknown(1, 1, nobodyToAsk)
}
