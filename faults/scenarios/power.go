package scenarios

import (
	"fmt"
	"strings"

	"refundlab/faults"
	"refundlab/refund"
)

// PowerTrial is one trial in which the power fails at a point, or in which what would be left is looked at.
type PowerTrial struct {
	Name    string // of the trial, for instance "journal-intent.after"
	Volume  string // that loses its power
	Point   faults.Point
	Profile string
	Moment  string // the point in words
	// Breaks is the check that must be among those reported where the store's commits are not synced; empty where what is lost
	// contradicts nothing that anybody was told, which Why then says: there the judge must report nothing.
	Breaks string
	Why    string
	Plan   faults.Plan
	Expect faults.Expectation
}

// Power is every trial with a power failure: at each boundary of the journal, before and after; around the provider's commit, for
// the journal and for the ledger; the look at the provider's door; and at boundaries of the Temporal server's history.
func Power() []PowerTrial {
	var trials []PowerTrial
	for _, list := range [][]PowerTrial{beforeTheProposal(), theDecision(), afterTheDecision(), unrepeatable(), oneTransaction(), theLedger(), {theDoor(doorRuns)}, theHistory()} {
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
	if last.Nth > 1 {
		name += fmt.Sprintf("-%d", last.Nth)
	}
	if profile != refund.ProfileFull {
		name += "-" + string(profile)
	}
	t := PowerTrial{
		Name: name, Volume: last.Volume, Point: last.Point, Profile: string(profile), Moment: moment, Breaks: breaks,
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
		{faults.ProviderCommit, faults.Before, "I6", "refund and outcome are about to commit together"},
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
			t.Why = "nobody had the receipt yet: the refund is made again"
		}
		trials = append(trials, t)
	}
	refused := accepted(rejected(refund.CodeOrderVersionChanged, 1, 1))
	refused.Answers = map[string]string{"request-r1": "", "bob": ""}
	t := powerTrial(refund.ProfileFull, "the worker has recorded the provider's refusal", "I3",
		faults.Schedule{rule("held", faults.ProviderCall, faults.Before, 1, "a", faults.Hold), cutAt(ledger, faults.Outcome, faults.After, 1, "a")}, refused,
		begin, fired("held"), faults.Step{Do: faults.DoOrderVersion, Order: order}, flushed(ledger), release("held"), fired("cut"), restart, settledOrStill)
	t.Name += "-refused"
	t.Expect.Scenario = t.Name
	return append(trials, t)
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
