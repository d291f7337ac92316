package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"refundlab/faults"
	"refundlab/refund"
)

// PowerTrial is one trial in which the power fails at a point, or in which what would be left is looked at.
type PowerTrial struct {
	Name    string // of the trial, for instance "journal-intent.after"
	Volume  string // that loses its power
	Point   faults.Point
	Sync    faults.When // of a cut inside the transaction behind the point: before or after its fsync
	Profile string
	Moment  string // the point in words
	// Breaks is the check that must be among those reported where the store's commits are not synced; empty where what is lost
	// contradicts nothing that anybody was told, which Why then says: there the judge must report nothing.
	Breaks string
	Why    string
	Plan   faults.Plan
	Expect faults.Expectation
}

// Power is every trial with a power failure: at each boundary of the journal, before, after, and inside, around the fsync of its
// transaction; around the provider's commit, for the journal and for the ledger; the look at the provider's door; and at boundaries
// of the Temporal server's history.
func Power() []PowerTrial {
	var trials []PowerTrial
	for _, list := range [][]PowerTrial{
		beforeTheProposal(), theDecision(), afterTheDecision(), unrepeatable(), oneTransaction(), insideTransactions(),
		theLedger(), {theTombstone()}, {theDoor(doorRuns)}, theHistory(),
	} {
		trials = append(trials, list...)
	}
	return trials
}

// doorRuns is the number of refunds that the door looks at.
const doorRuns = 20

const nothingTold = "nothing that is lost had been told to anybody"

func cutAt(volume string, b faults.Boundary, w faults.When, nth int, process string) faults.Rule {
	r := rule("cut", b, w, nth, process, faults.PowerCut)
	r.Volume = volume
	return r
}

// powerTrial completes a trial whose last rule is the one about the volume.
func powerTrial(profile refund.ProfileName, moment, breaks string, schedule faults.Schedule, expect faults.Expectation, steps ...any) PowerTrial {
	last := schedule[len(schedule)-1]
	name := fmt.Sprintf("%s-%s", last.Volume, last.Point)
	switch last.Sync {
	case faults.Before:
		name = fmt.Sprintf("%s-%s-written", last.Volume, last.Point.Boundary)
	case faults.After:
		name = fmt.Sprintf("%s-%s-synced", last.Volume, last.Point.Boundary)
	}
	if last.Nth > 1 {
		name += fmt.Sprintf("-%d", last.Nth)
	}
	if profile != refund.ProfileFull {
		name += "-" + string(profile)
	}
	t := PowerTrial{
		Name: name, Volume: last.Volume, Point: last.Point, Sync: last.Sync, Profile: string(profile), Moment: moment, Breaks: breaks,
		Plan: faults.Plan{
			Profile: string(profile), Script: script(steps...), Schedule: schedule,
			World: faults.World{Orders: []faults.Order{{ID: order, Currency: "EUR", Captured: 10_000, Version: 1}}, Volumes: []string{last.Volume}},
		},
		Expect: expect,
	}
	t.Expect.Scenario, t.Expect.Engine, t.Expect.Profile, t.Expect.Arm, t.Expect.Schedule = name, handrolled, string(profile), fault, schedule
	return t
}

// harmless says why a trial breaks nothing without syncs.
func harmless(why string, t PowerTrial) PowerTrial {
	t.Why = why
	return t
}

// waited is a command that the script waits for; it may be killed on the way.
func waited(s faults.Step) faults.Step {
	s.Background = false
	return s
}

// again is a client that asks once more after the power failure, because it does not know.
func again(s faults.Step) faults.Step {
	s.Process += "-again"
	return s
}

func stop(worker string) faults.Step { return faults.Step{Do: faults.DoStop, Process: worker} }

// flushed is what the system does by itself within half a minute: everything that was written so far reaches the disk.
func flushed(volume string) faults.Step { return faults.Step{Do: faults.DoSync, Kind: volume} }

// settledOrStill ends a script: a run that is never over, because it lost what it rested on, is waited for beyond a lease and a
// pause.
var settledOrStill = faults.Step{Do: faults.DoRest, QuietMS: 4_000}

func accepted(end faults.End) faults.Expectation {
	return faults.Expectation{Runs: map[string]faults.End{"r1": end}, Verdicts: map[string]string{"d1": string(refund.VerdictAccepted)}}
}

// gate holds worker a where it is about to claim its n-th time, until a client has its answer.
func gate(nth int) faults.Rule {
	return rule("gate", faults.Claim, faults.Before, nth, "a", faults.Hold)
}

// beforeTheProposal cuts the power between intake and proposal.
func beforeTheProposal() []PowerTrial {
	journal := faults.VolumeJournal
	rest := script(fired("cut"), start("b"), again(request("r1")), proposed("r1"), waited(approve("bob", "d1", "r1")), settledOrStill)
	expect := accepted(confirmed(1, 1))
	expect.Answers = map[string]string{"request-r1-again": "", "bob": ""}
	var trials []PowerTrial
	for _, c := range []struct {
		b      faults.Boundary
		w      faults.When
		moment string
	}{
		{faults.Intake, faults.Before, "the request is about to be stored"},
		{faults.Intake, faults.After, "the request is stored, and its client not answered yet"},
	} {
		trials = append(trials, harmless(nothingTold, powerTrial(refund.ProfileFull, c.moment, "",
			faults.Schedule{cutAt(journal, c.b, c.w, 1, "request-r1")}, expect, start("a"), request("r1"), rest)))
	}
	trials = append(trials, harmless("all that was told had been written back", powerTrial(refund.ProfileFull, "the run is about to be claimed for the first time", "",
		faults.Schedule{cutAt(journal, faults.Claim, faults.Before, 1, "a")}, expect, request("r1"), flushed(journal), start("a"), rest)))
	for _, c := range []struct {
		b      faults.Boundary
		w      faults.When
		moment string
	}{
		{faults.Claim, faults.After, "the run is claimed for the first time"},
		{faults.ModelBudget, faults.Before, "a model call is about to be taken from the budget"},
		{faults.ModelBudget, faults.After, "a model call is taken from the budget"},
		{faults.Proposal, faults.Before, "the model has answered"},
		{faults.Proposal, faults.After, "the proposal is recorded"},
	} {
		trials = append(trials, powerTrial(refund.ProfileFull, c.moment, "I11",
			faults.Schedule{gate(1), cutAt(journal, c.b, c.w, 1, "a")}, expect, start("a"), request("r1"), fired("gate"), release("gate"), rest))
	}
	// One call is all that this run may make. Who forgets that it was made makes another.
	frugal := request("r1")
	frugal.Args = []string{"--model-budget", "1"}
	spent := faults.Expectation{Runs: map[string]faults.End{"r1": rejected(refund.CodeProposalFailed, 0, 0)}, Answers: map[string]string{"request-r1": ""}}
	return append(trials, powerTrial(refund.ProfileFull, "the model has answered the only call that the budget allows", "I12",
		faults.Schedule{cutAt(journal, faults.ModelCall, faults.After, 1, "a")}, spent,
		frugal, flushed(journal), start("a"), fired("cut"), start("b"), settledOrStill))
}

// theDecision cuts the power while a person decides. The worker has stopped, so nothing else moves.
func theDecision() []PowerTrial {
	journal := faults.VolumeJournal
	begin := script(start("a"), request("r1"), proposed("r1"), stop("a"), flushed(journal), waited(approve("bob", "d1", "r1")), fired("cut"), start("b"))
	repeated := accepted(confirmed(1, 1))
	repeated.Answers = map[string]string{"request-r1": "", "bob": faults.Killed, "bob-again": ""}
	once := accepted(confirmed(1, 1))
	once.Answers = map[string]string{"request-r1": "", "bob": faults.Killed}
	asked := again(waited(approve("bob", "d1", "r1")))
	return []PowerTrial{
		harmless(nothingTold, powerTrial(refund.ProfileFull, "the decision is about to be stored", "",
			faults.Schedule{cutAt(journal, faults.Decision, faults.Before, 1, "bob")}, repeated, begin, asked, settledOrStill)),
		harmless(nothingTold, powerTrial(refund.ProfileFull, "the decision is stored, and its person not answered yet", "",
			faults.Schedule{cutAt(journal, faults.Decision, faults.After, 1, "bob")}, repeated, begin, asked, settledOrStill)),
		powerTrial(refund.ProfileFull, "the person has been told ACCEPTED", "I10",
			faults.Schedule{cutAt(journal, faults.CallerReply, faults.After, 1, "bob")}, once, begin, settledOrStill),
	}
}

// decided is the beginning of trials whose decision has long been on the disk.
func decided(volume string) []faults.Step {
	return script(start("a"), request("r1"), proposed("r1"), waited(approve("bob", "d1", "r1")), fired("gate"), flushed(volume), release("gate"))
}

// afterTheDecision cuts the power at every later boundary, under a provider that recognises a repeated operation.
func afterTheDecision() []PowerTrial {
	slow := rule("slow", faults.ProviderRecv, faults.Before, 1, "provider", faults.Delay)
	slow.DelayMS = 1_000 // two thirds of a lease: a renewal comes at one third
	lost := rule("lost", faults.ProviderCall, faults.After, 1, "a", faults.Lose)
	var trials []PowerTrial
	for _, c := range []struct {
		b       faults.Boundary
		w       faults.When
		nth     int
		process string
		submits int
		breaks  string
		moment  string
		also    []faults.Rule
	}{
		{faults.Claim, faults.After, 2, "a", 1, "I6", "the run is claimed to be sent", nil},
		{faults.Intent, faults.Before, 1, "a", 1, "I6", "the intent is about to be recorded", nil},
		{faults.Intent, faults.After, 1, "a", 1, "I6", "the intent is recorded", nil},
		{faults.ProviderRecv, faults.Before, 1, "provider", 2, "I4", "the submit stands at the provider's door", nil},
		{faults.ProviderCommit, faults.After, 1, "provider", 2, "I4", "the provider has committed", nil},
		{faults.ProviderCall, faults.After, 1, "a", 2, "I4", "the receipt has arrived", nil},
		{faults.Renewal, faults.Before, 1, "a", 2, "I4", "the lease is about to be prolonged while the submit is on its way", []faults.Rule{slow}},
		{faults.Renewal, faults.After, 1, "a", 2, "I4", "the lease is prolonged while the submit is on its way", []faults.Rule{slow}},
		{faults.Observed, faults.Before, 1, "a", 2, "I4", "an answer that decides nothing is about to be recorded", []faults.Rule{lost}},
		{faults.Observed, faults.After, 1, "a", 2, "I4", "an answer that decides nothing is recorded", []faults.Rule{lost}},
		{faults.Outcome, faults.Before, 1, "a", 2, "I4", "the outcome is about to be recorded", nil},
		{faults.Outcome, faults.After, 1, "a", 1, "I4", "the outcome is recorded", nil},
		{faults.StoreCommit, faults.Before, 1, "a", 2, "I4", "the transaction with the outcome is about to commit", nil},
		{faults.StoreCommit, faults.Before, 2, "a", 1, "I4", "the next transaction is about to commit", nil},
		{faults.Notified, faults.Before, 1, "a", 1, "I4", "the notice is delivered", nil},
		{faults.Notified, faults.After, 1, "a", 1, "I4", "the delivery is recorded", nil},
	} {
		expect := accepted(confirmed(c.submits, c.submits))
		expect.Answers = map[string]string{"request-r1": "", "bob": ""}
		schedule := append(append(faults.Schedule{gate(2)}, c.also...), cutAt(faults.VolumeJournal, c.b, c.w, c.nth, c.process))
		trials = append(trials, powerTrial(refund.ProfileFull, c.moment, c.breaks, schedule, expect, decided(faults.VolumeJournal), fired("cut"), start("b"), settledOrStill))
	}
	return trials
}

// unrepeatable cuts the power under a provider that takes a repeated operation for another refund: who forgets its intent pays
// twice.
func unrepeatable() []PowerTrial {
	var trials []PowerTrial
	for _, c := range []struct {
		b       faults.Boundary
		w       faults.When
		process string
		end     faults.End
		moment  string
	}{
		{faults.ProviderRecv, faults.Before, "provider", unknown(1, 1, nobodyToAsk), "the submit stands at the provider's door"},
		{faults.ProviderCommit, faults.After, "provider", unknown(1, 1, nobodyToAsk), "the provider has committed"},
		{faults.Outcome, faults.Before, "a", unknown(1, 1, nobodyToAsk), "the outcome is about to be recorded"},
		{faults.Outcome, faults.After, "a", confirmed(1, 1), "the outcome is recorded"},
	} {
		expect := accepted(c.end)
		expect.Answers = map[string]string{"request-r1": "", "bob": ""}
		trials = append(trials, powerTrial(refund.ProfileOpaque, c.moment, "I1",
			faults.Schedule{gate(2), cutAt(faults.VolumeJournal, c.b, c.w, 1, c.process)}, expect, decided(faults.VolumeJournal), fired("cut"), start("b"), settledOrStill))
	}
	return trials
}

// oneTransaction cuts the power where the ledger lives in the journal's file.
func oneTransaction() []PowerTrial {
	var trials []PowerTrial
	for _, c := range []struct {
		b      faults.Boundary
		w      faults.When
		breaks string
		moment string
	}{
		{faults.ProviderCommit, faults.Before, "I6", "the one transaction of refund and outcome is about to begin"},
		{faults.StoreCommit, faults.Before, "I6", "refund and outcome are about to commit together"},
		{faults.ProviderCommit, faults.After, "I6", "refund and outcome have committed together"},
		{faults.Notified, faults.Before, "I4", "the notice of both is delivered"},
	} {
		expect := accepted(confirmed(0, 0))
		expect.Answers = map[string]string{"request-r1": "", "bob": ""}
		trials = append(trials, powerTrial(refund.ProfileLocal, c.moment, c.breaks,
			faults.Schedule{gate(2), cutAt(faults.VolumeJournal, c.b, c.w, 1, "a")}, expect, decided(faults.VolumeJournal), fired("cut"), start("b"), settledOrStill))
	}
	return trials
}

// insideTransactions cuts the power inside each transaction of the journal: when all of it is written to the log and not synced,
// and when it is synced and its process does not know.
func insideTransactions() []PowerTrial {
	journal := faults.VolumeJournal
	taken := accepted(confirmed(1, 1))
	taken.Answers = map[string]string{"request-r1-again": "", "bob": ""}
	sent := func(least, most int) faults.Expectation {
		expect := accepted(confirmed(least, most))
		expect.Answers = map[string]string{"request-r1": "", "bob": ""}
		return expect
	}
	repeated := accepted(confirmed(1, 1))
	repeated.Answers = map[string]string{"request-r1": "", "bob": faults.Killed, "bob-again": ""}

	recovered := script(fired("cut"), start("b"), again(request("r1")), proposed("r1"), waited(approve("bob", "d1", "r1")), settledOrStill)
	toldFirst := script(start("a"), request("r1"), fired("gate"), release("gate"), recovered)
	late := script(decided(journal), fired("cut"), start("b"), settledOrStill)
	slow := rule("slow", faults.ProviderRecv, faults.Before, 1, "provider", faults.Delay)
	slow.DelayMS = 1_000 // as above
	lost := rule("lost", faults.ProviderCall, faults.After, 1, "a", faults.Lose)

	var trials []PowerTrial
	for _, c := range []struct {
		b       faults.Boundary
		process string
		profile refund.ProfileName
		moment  string
		breaks  string // where the transaction is told and nothing of it is synced
		ahead   []faults.Rule
		expect  faults.Expectation
		steps   []faults.Step
	}{
		{faults.Intake, "request-r1", refund.ProfileFull, "the request", "", nil, taken, script(start("a"), request("r1"), recovered)},
		{faults.Claim, "a", refund.ProfileFull, "the first claim", "I6", nil, taken, script(request("r1"), flushed(journal), start("a"), recovered)},
		{faults.ModelBudget, "a", refund.ProfileFull, "the model call's reservation", "I11", []faults.Rule{gate(1)}, taken, toldFirst},
		{faults.Proposal, "a", refund.ProfileFull, "the proposal", "I11", []faults.Rule{gate(1)}, taken, toldFirst},
		{faults.Decision, "bob", refund.ProfileFull, "the decision", "", nil, repeated,
			script(start("a"), request("r1"), proposed("r1"), stop("a"), flushed(journal), waited(approve("bob", "d1", "r1")), fired("cut"), start("b"),
				again(waited(approve("bob", "d1", "r1"))), settledOrStill)},
		{faults.Claim, "c", refund.ProfileFull, "the claim to send", "I6", nil, sent(1, 1),
			script(start("a"), request("r1"), proposed("r1"), stop("a"), waited(approve("bob", "d1", "r1")), flushed(journal), start("c"), fired("cut"), start("b"), settledOrStill)},
		{faults.Intent, "a", refund.ProfileFull, "the intent", "I6", []faults.Rule{gate(2)}, sent(1, 1), late},
		{faults.Renewal, "a", refund.ProfileFull, "the lease's prolongation while the submit is on its way", "I4", []faults.Rule{gate(2), slow}, sent(2, 2), late},
		{faults.Observed, "a", refund.ProfileFull, "an answer that decides nothing", "I4", []faults.Rule{gate(2), lost}, sent(2, 2), late},
		{faults.Outcome, "a", refund.ProfileFull, "the outcome", "I4", []faults.Rule{gate(2)}, sent(1, 2), late}, // 1 where it is on the disk
		{faults.Notified, "a", refund.ProfileFull, "the delivery of the notice", "I4", []faults.Rule{gate(2)}, sent(1, 1), late},
		{faults.ProviderCommit, "a", refund.ProfileLocal, "the one transaction of refund and outcome", "I6", []faults.Rule{gate(2)}, sent(0, 0), late},
	} {
		written := cutAt(journal, c.b, faults.Before, 1, c.process)
		written.Sync = faults.Before
		t := powerTrial(c.profile, c.moment+" is written to the log and not synced", c.breaks, append(slices.Clone(c.ahead), written), c.expect, c.steps)
		if c.breaks == "" {
			t.Why = nothingTold
		}
		behind := synced(t, c.moment+" is synced, and its process does not know")
		if c.b == faults.Proposal { // it is there, and nobody announces it any more
			behind.Plan.Script = slices.DeleteFunc(slices.Clone(behind.Plan.Script), func(s faults.Step) bool { return s.Do == faults.DoAwait })
		}
		if c.process == "c" {
			t.rename("-to-send")
			behind.rename("-to-send")
		}
		trials = append(trials, t, behind)
	}
	return trials
}

// synced is the same trial with the cut behind the fsync.
func synced(t PowerTrial, moment string) PowerTrial {
	schedule := slices.Clone(t.Plan.Schedule)
	schedule[len(schedule)-1].Sync = faults.After
	after := powerTrial(refund.ProfileName(t.Profile), moment, "", schedule, t.Expect, t.Plan.Script)
	after.Why = "a store that does not sync never stands there"
	return after
}

func (t *PowerTrial) rename(suffix string) {
	t.Name += suffix
	t.Expect.Scenario = t.Name
}

// theLedger cuts the provider's power around its commit. The worker lives on and meets the provider that comes back.
func theLedger() []PowerTrial {
	ledger := faults.VolumeLedger
	restart := faults.Step{Do: faults.DoRestart, Process: faults.LineProvider}
	begin := script(start("a"), request("r1"), proposed("r1"), flushed(ledger), waited(approve("bob", "d1", "r1")))
	var trials []PowerTrial
	for _, c := range []struct {
		b       faults.Boundary
		w       faults.When
		process string
		submits int
		breaks  string
		moment  string
	}{
		{faults.ProviderCommit, faults.Before, "provider", 2, "", "the provider is about to commit"},
		{faults.ProviderCommit, faults.After, "provider", 2, "", "the provider has committed"},
		// The worker was told nothing, but the provider has noted its answer, and that note outlives the ledger. It then answers
		// "committed" to one operation twice, where the second answer must be what it stored for the first. No invariant speaks of
		// this: they count what the ledger holds, which is the second entry alone. MODEL holds the answers against the promise.
		{faults.ProviderRecv, faults.After, "provider", 2, "MODEL", "the provider is about to answer"},
		{faults.ProviderCall, faults.After, "a", 1, "I2", "the receipt has arrived at the worker"},
		{faults.Outcome, faults.After, "a", 1, "I2", "the worker has recorded the receipt"},
	} {
		expect := accepted(confirmed(c.submits, c.submits))
		expect.Answers = map[string]string{"request-r1": "", "bob": ""}
		t := powerTrial(refund.ProfileFull, c.moment, c.breaks, faults.Schedule{cutAt(ledger, c.b, c.w, 1, c.process)}, expect, begin, fired("cut"), restart, settledOrStill)
		if c.breaks == "" {
			t.Why = unheard
		}
		trials = append(trials, t)
	}
	expect := accepted(confirmed(2, 2))
	expect.Answers = map[string]string{"request-r1": "", "bob": ""}
	written := cutAt(ledger, faults.ProviderCommit, faults.Before, 1, "provider")
	written.Sync = faults.Before
	inside := harmless(unheard, powerTrial(refund.ProfileFull, "the refund is written to the log and not synced", "", faults.Schedule{written}, expect, begin, fired("cut"), restart, settledOrStill))
	trials = append(trials, inside, synced(inside, "the refund is synced, and the provider does not know"))
	refused := accepted(rejected(refund.CodeOrderVersionChanged, 1, 1))
	refused.Answers = map[string]string{"request-r1": "", "bob": ""}
	t := powerTrial(refund.ProfileFull, "the worker has recorded the provider's refusal", "I3",
		faults.Schedule{rule("held", faults.ProviderCall, faults.Before, 1, "a", faults.Hold), cutAt(ledger, faults.Outcome, faults.After, 1, "a")}, refused,
		begin, fired("held"), faults.Step{Do: faults.DoOrderVersion, Order: order}, flushed(ledger), release("held"), fired("cut"), restart, settledOrStill)
	t.rename("-refused")
	return append(trials, t)
}

const unheard = "nobody had the receipt yet: the refund is made again"

// theTombstone cuts the provider's power when a person has been told that the operation is closed, while a submit of a frozen
// worker is still on its way. The tombstone is all that refuses it.
func theTombstone() PowerTrial {
	ledger := faults.VolumeLedger
	expect := accepted(rejected(refund.CodeClosed, 1, 1))
	expect.Answers = map[string]string{"request-r1": "", "bob": "", "dora": ""}
	expect.Witnesses = []faults.Witness{{Why: "the late submit must have been let in", Point: "provider-received.after", Process: "provider", Least: 1}}
	schedule := faults.Schedule{readyToSend, rule("frozen", faults.ProviderCall, faults.Before, 1, "a", faults.Freeze), cutAt(ledger, faults.CallerReply, faults.After, 1, "dora")}
	t := powerTrial(refund.ProfileFull, "a person has been told CLOSED, and a submit is still on its way", "I3", schedule, expect,
		start("a"), request("r1"), proposed("r1"), waited(approve("bob", "d1", "r1")), fired("ready"),
		// The provider's end resets the worker's connection, which it must not find only when it sends: it makes a new one.
		cut(faults.LineProvider, "a"), restore(faults.LineProvider, "a"), release("ready"),
		fired("frozen"), flushed(ledger), pass("ownership", "r1"),
		faults.Step{Do: faults.DoSettle, Process: "dora", By: "dora", Run: "r1", Kind: string(refund.SettleClose), Decision: "s1"},
		fired("cut"), restart(faults.LineProvider), start("b"), thaw("a"), arrived(1), settledOrStill)
	t.rename("-closed")
	return t
}

// theDoor cuts nothing. Whenever a submit stands at the provider's door, the journal's disk is looked at: the intent to send it
// must be there.
func theDoor(runs int) PowerTrial {
	var schedule faults.Schedule
	steps := script(start("a"))
	expect := faults.Expectation{Runs: map[string]faults.End{}, Verdicts: map[string]string{}, Answers: map[string]string{}}
	for n := 1; n <= runs; n++ {
		name := func(kind string) string { return fmt.Sprintf("%s%d", kind, n) }
		look := rule(name("look-"), faults.ProviderRecv, faults.Before, n, "provider", faults.Inspect)
		look.Volume = faults.VolumeJournal
		schedule = append(schedule, look)
		asked := request(name("r"))
		asked.Amount = 100
		person := name("bob-")
		decide := waited(approve("bob", name("d"), name("r")))
		decide.Process = person
		steps = append(steps, asked, proposed(name("r")), decide, over("a", name("r")))
		expect.Runs[name("r")] = confirmed(1, 1)
		expect.Verdicts[name("d")] = string(refund.VerdictAccepted)
		expect.Answers[person] = ""
	}
	t := powerTrial(refund.ProfileFull, fmt.Sprintf("each of %d submits stands at the provider's door, and nothing is cut", runs), "I4", schedule, expect, steps, rest)
	t.Name = strings.Join([]string{faults.VolumeJournal, "door"}, "-")
	t.Expect.Scenario = t.Name
	return t
}
