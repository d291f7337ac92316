package exploration

import (
	"slices"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// Reasons for which a run may be UNKNOWN at rest.
const (
	mayStillArrive = "a request may still arrive, and this provider would take a second one for another refund"
	nobodyToAsk    = "this provider can neither be asked nor told twice: a person must settle"
	notCaughtUp    = "the replica that is asked has not seen the commit, and its \"not found\" proves nothing"
	cannotClose    = "a request may still arrive, nobody may send again without authority, and this provider has no close"
)

// perFault is the most submits that one fault may add: the next worker's, and on Temporal the two attempts that a frozen
// worker's polls have swallowed. A call that runs into its time-out on a busy machine adds one more.
const perFault = 4

// Expect states how the trial may end, from its profile, its flow and the stage at which each fault hits. It is as sharp as the
// profile allows; what it leaves open is the business of the invariants.
func (t Trial) Expect(budget evidence.Budget) (faults.Expectation, error) {
	plan, err := t.Plan(budget)
	if err != nil {
		return faults.Expectation{}, err
	}
	_, c, err := t.course()
	if err != nil {
		return faults.Expectation{}, err
	}
	ends := t.ends(c)
	end := ends[0]
	if len(ends) > 1 {
		end.Or = ends[1:]
	}
	e := faults.Expectation{
		Scenario: t.Name(), Engine: t.Engine, Profile: t.Profile, Arm: string(evidence.ArmFault), Schedule: plan.Schedule,
		Runs: map[string]faults.End{run: end}, Verdicts: map[string]string{}, Answers: map[string]string{},
	}
	if t.Flow != Expired && !t.spendsBudget() {
		e.Verdicts[decided] = string(refund.VerdictAccepted)
	}
	for _, step := range plan.Steps() {
		if KindOf(step.Process) == Client && (step.Do == faults.DoRequest || step.Do == faults.DoApprove || step.Do == faults.DoReject) {
			if (step.Do == faults.DoRequest || !t.spendsBudget()) && !t.locksFile() {
				e.Answers[step.Process] = "" // however often it was asked before: everyone is told the one answer
			}
		}
	}
	for _, f := range t.Faults {
		if KindOf(f.Victim) == Client && f.Action == faults.Kill {
			e.Answers[f.Victim] = faults.Killed
		}
	}
	return e, nil
}

// locksFile tells whether a worker is frozen inside the journal's transaction: a command may then be told that it cannot be
// answered now.
func (t Trial) locksFile() bool {
	return slices.ContainsFunc(t.Faults, func(f Fault) bool { return f.Action == faults.Freeze && f.Point.Boundary == faults.StoreCommit })
}

// spendsBudget tells whether the model's budget may be spent although nobody asked the model that often: each attempt that a
// frozen worker of Temporal swallows counts, because nobody can know that it asked nothing.
func (t Trial) spendsBudget() bool {
	for _, f := range t.Faults {
		if t.Engine == Temporal && f.Action == faults.Freeze && KindOf(f.Victim) == Worker && f.Stage == Unproposed {
			return true
		}
	}
	return false
}

// ends are the permitted ends, the most usual first.
func (t Trial) ends(c course) []faults.End {
	if t.spendsBudget() {
		return append(t.decidedEnds(c), rejected(refund.CodeProposalFailed))
	}
	return t.decidedEnds(c)
}

// decidedEnds are those of a run that a person could decide.
func (t Trial) decidedEnds(c course) []faults.End {
	switch t.Flow {
	case Rejected:
		return []faults.End{rejected(refund.CodeApprovalRejected)}
	case Expired:
		return []faults.End{{Status: string(refund.StatusExpired)}}
	case Lapsed: // the one send was refused on its way, and whoever reads the order sends no other
		if c.profile.Close {
			return []faults.End{rejected(refund.CodeClosed)}
		}
		return []faults.End{unknown(0, 0, 0, cannotClose)}
	}
	if c.profile.Idempotent {
		return []faults.End{t.confirmedAgain(c)}
	}
	if t.Flow == Lost { // its loss is behind every fault: the provider has committed, and the worker was told nothing
		return afterCommit(c)
	}
	confirmed, absent, unsent := []faults.End{confirmedOnce}, unknown(0, 0, 1, mayStillArrive), unknown(0, 0, 0, mayStillArrive)
	open := append(append(afterCommit(c), absent), confirmed...)
	frozen := false
	for _, f := range t.Faults {
		frozen = frozen || f.Action == faults.Freeze && KindOf(f.Victim) != Client
	}
	for i, f := range t.Faults {
		if KindOf(f.Victim) == Client {
			continue
		}
		decisive := f.Stage == Sent || f.Stage == Committed
		switch {
		case frozen && len(t.Faults) > 1, f.Stage == Unsure:
			return open
		case frozen && c.engine == Temporal && (f.Stage == Unsent || f.Stage == Unproposed):
			// The submit may be handed to the frozen worker's polls, which swallow it: nobody can know that it was never sent. Let go,
			// the worker begins that attempt, which the server does not wait for any more, and must not send.
			return append(confirmed, unsent)
		case !decisive:
		case frozen && f.Point.Boundary == faults.StoreCommit:
			return confirmed // it holds the journal's file, so nobody has taken over, and its commit goes through
		case f.Point == arrival && KindOf(f.Victim) == Worker && slices.ContainsFunc(t.Faults[i+1:], stopsProvider):
			return append(afterCommit(c), absent) // the request outlived its sender, and perhaps not its receiver
		case f.Stage == Committed, f.Point == arrival && KindOf(f.Victim) == Worker:
			return afterCommit(c)
		case frozen:
			return t.thawed(c, f)
		case c.engine == Temporal && f.Point.Boundary == faults.Intent:
			return open // the server may have handed the submit to a worker already
		default:
			return []faults.End{absent}
		}
	}
	return confirmed
}

// thawed are the ends of a run whose worker, or provider, was let go late with a request that was not committed.
func (t Trial) thawed(c course, f Fault) []faults.End {
	late := afterCommit(c)
	switch f.Point.Boundary {
	case faults.OrderCall: // the time of the whole step is over, and what it was allowed to send is not sent
		return []faults.End{unknown(0, 0, 0, mayStillArrive)}
	case faults.Intent:
		if c.engine == Handrolled { // its lease is over
			return []faults.End{unknown(0, 0, 0, mayStillArrive)}
		}
	case faults.ProviderCall:
		return late // its request leaves as if it had been frozen in the socket write
	}
	return append(late, unknown(0, 0, 1, mayStillArrive))
}

// arrival is where a request has reached the provider, which goes on with it whatever becomes of its sender.
var arrival = faults.Point{Boundary: faults.ProviderRecv, When: faults.Before}

func stopsProvider(f Fault) bool { return KindOf(f.Victim) == Provider }

// confirmedAgain is the end wherever the provider recognises a repeated operation: any number of sends is one refund.
func (t Trial) confirmedAgain(c course) faults.End {
	end := confirmedOnce
	end.MostSubmits = 2 + perFault*len(t.Faults)
	if t.Flow == Lost || t.Flow == Slow {
		end.MostSubmits++
	}
	if c.profile.Shared { // nothing crosses a network
		end.LeastSubmits, end.MostSubmits = 0, 0
	}
	return end
}

// afterCommit is the end of a run whose refund is in the ledger and whose worker could not save that.
func afterCommit(c course) []faults.End {
	switch c.profile.Lookup {
	case refund.LookupStrong:
		return []faults.End{confirmedOnce}
	case refund.LookupLagging:
		return []faults.End{unknown(1, 1, 1, notCaughtUp)}
	}
	return []faults.End{unknown(1, 1, 1, nobodyToAsk)}
}

// confirmedOnce is the end of a refund that was sent once. No profile that is not idempotent lets anybody send twice.
var confirmedOnce = faults.End{Status: string(refund.StatusConfirmed), Entries: 1, LeastSubmits: 1, MostSubmits: 1}

func rejected(reason refund.Code) faults.End {
	return faults.End{Status: string(refund.StatusRejected), Reason: string(reason)}
}

func unknown(entries, least, most int, because string) faults.End {
	return faults.End{Status: string(refund.StatusUnknown), Entries: entries, LeastSubmits: least, MostSubmits: most, UnknownBecause: because}
}
