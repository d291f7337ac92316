package harness

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
	"refundlab/faults"
)

func restart(name string) faults.Step { return faults.Step{Do: faults.DoRestart, Process: name} }

func TestAProviderThatARuleKilledIsStartedAgain(t *testing.T) {
	crash := rule("crash", "provider-call.before", "a", faults.Kill)
	crash.Victim = faults.LineProvider
	r := play(t, faults.Schedule{crash},
		worker("a", "provider-call.before", "provider-call.after"), fired("crash"), restart(faults.LineProvider), crossed("provider-call.after", "a"))
	require.Empty(t, r.Trial.Broken)
	require.Equal(t, "signal 9", r.Trial.Fired[0].Proof)
	require.Equal(t, []string{"signal 9", ""}, waits(r, faults.LineProvider))
	require.Equal(t, "continue held=false", crossing(t, r, "a", "provider-call.after").Detail["was"], "whoever called goes on and finds out by itself")
	require.NotEmpty(t, r.Provider.Orders, "the evidence comes from the one that runs")
}

func TestATrialsOwnServerIsKilledAndStartedAgain(t *testing.T) {
	lab := newLab(t)
	engine := lab.Engines["fake"]
	engine.Address = "127.0.0.1:1"
	engine.Server = []string{os.Args[0], "fake", "provider"}
	lab.Engines["fake"] = engine
	plan := faults.Plan{World: faults.World{OwnServer: true}, Script: []faults.Step{
		worker("a"), {Do: faults.DoKill, Process: faults.LineServer}, restart(faults.LineServer),
	}}
	r := lab.Play(t.Context(), cell, plan)
	require.Empty(t, r.Trial.Broken)
	require.Equal(t, []string{"signal 9", ""}, waits(r, faults.LineServer))

	engine.Server = nil
	lab.Engines["fake"] = engine
	require.Contains(t, lab.Play(t.Context(), cell, plan).Trial.Broken, "engine fake was given no command line for one")
}

func TestOnlyWhatHasEndedIsStartedAgain(t *testing.T) {
	require.Contains(t, play(t, nil, restart(faults.LineProvider)).Trial.Broken, "provider still runs")
	require.Contains(t, play(t, nil, restart("a")).Trial.Broken, "a is no server that can be started again")
	require.Contains(t, play(t, nil, restart(faults.LineServer)).Trial.Broken, "given no command line")
}

// waits are the ends of all processes of a name, in the order of their start.
func waits(r evidence.Record, name string) (list []string) {
	for _, p := range r.Trial.Processes {
		if p.Name == name {
			list = append(list, p.WaitStatus)
		}
	}
	return list
}
