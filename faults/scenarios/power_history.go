package scenarios

import (
	"refundlab/faults"
	"refundlab/refund"
)

// reconnected ends a script whose server was gone: whoever lost what the run rested on is waited for beyond the time-outs of
// tasks and the pauses before a new connection.
var reconnected = faults.Step{Do: faults.DoRest, QuietMS: 12_000}

// theHistory cuts the power of the Temporal server's own machine. Workers and clients live on and meet the server that comes
// back. The server's empty database, with its namespace, is on the disk in each trial.
func theHistory() []PowerTrial {
	history := faults.VolumeHistory
	restart := faults.Step{Do: faults.DoRestart, Process: faults.LineServer}
	begin := script(start("a"), flushed(history), request("r1"), proposed("r1"), flushed(history))
	patient := approve("bob", "d1", "r1")
	patient.Args = []string{"--wait", "15s"}
	once := confirmed(1, 2) // the server may take the worker's attempt for lost, and give another
	full := accepted(once)
	full.Answers = map[string]string{"request-r1": "", "bob": ""}
	opaque := accepted(confirmed(1, 1))
	end := opaque.Runs["r1"]
	end.Or = []faults.End{unknown(1, 1, nobodyToAsk)}
	opaque.Runs["r1"] = end
	opaque.Answers = map[string]string{"request-r1": ""}

	asked := faults.Expectation{Runs: full.Runs, Verdicts: full.Verdicts, Answers: map[string]string{"request-r1-again": "", "bob": ""}}
	trials := []PowerTrial{
		harmless(nothingTold, inHistory(powerTrial(refund.ProfileFull, "the request is stored, and its client not answered yet", "",
			faults.Schedule{cutAt(history, faults.Intake, faults.After, 1, "request-r1")}, asked,
			start("a"), flushed(history), inBackground(request("r1")), fired("cut"), restart, again(request("r1")), proposed("r1"), patient, reconnected))),
	}
	for _, c := range []struct {
		b       faults.Boundary
		w       faults.When
		process string
		moment  string
	}{
		{faults.Decision, faults.After, "bob", "the decision is stored"},
		{faults.CallerReply, faults.After, "bob", "the person has been told ACCEPTED"},
	} {
		trials = append(trials, inHistory(powerTrial(refund.ProfileFull, c.moment, "I10",
			faults.Schedule{cutAt(history, c.b, c.w, 1, c.process)}, full, begin, patient, fired("cut"), restart, reconnected)))
	}
	for _, c := range []struct {
		b       faults.Boundary
		w       faults.When
		process string
		breaks  string
		moment  string
	}{
		{faults.ProviderRecv, faults.Before, "provider", "I1", "the submit stands at the provider's door"},
		{faults.ProviderCommit, faults.After, "provider", "I1", "the provider has committed"},
		{faults.Outcome, faults.After, "a", "I1", "the outcome is recorded"},
		{faults.Finish, faults.After, "a", "I10", "the run is closed"}, // and stays so: nobody asks a worker about it any more
	} {
		// The signal is on the disk, what the worker made of it is not: it is held ahead of the first.
		trials = append(trials, inHistory(powerTrial(refund.ProfileOpaque, c.moment, c.breaks,
			faults.Schedule{rule("gate", faults.Intent, faults.Before, 1, "a", faults.Hold), cutAt(history, c.b, c.w, 1, c.process)}, opaque,
			begin, patient, fired("gate"), flushed(history), release("gate"), fired("cut"), restart, reconnected)))
	}
	return trials
}

// inHistory makes it a trial of the Temporal engine, on a server of its own.
func inHistory(t PowerTrial) PowerTrial {
	t.Plan.World.OwnServer = true
	t.Expect.Engine = temporal
	return t
}

func inBackground(s faults.Step) faults.Step {
	s.Background = true
	return s
}
