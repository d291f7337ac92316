package harness

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
	"refundlab/faults"
)

func TestKillHitsTheProcessWhileItIsHeld(t *testing.T) {
	r := play(t, faults.Schedule{rule("crash", "outcome.before", "a", faults.Kill)},
		worker("a", "intent.before", "outcome.before", "outcome.after"), fired("crash"))
	require.Empty(t, r.Trial.Broken)
	require.Equal(t, "signal 9", processOf(t, r, "a").WaitStatus)
	require.Equal(t, "signal 9", r.Trial.Fired[0].Proof)
	require.Greater(t, r.Trial.Fired[0].DoneSeq, processOf(t, r, "a").EndSeq, "the proof comes after the end")
	require.Empty(t, crossing(t, r, "a", "outcome.before").Reply, "who dies at a point is never answered")
	require.Len(t, r.Trace, 2, "nothing is announced after the death")
}

func TestFaultThatDoesNotFireBreaksTheTrial(t *testing.T) {
	for name, schedule := range map[string]faults.Schedule{
		"a point that nobody reaches":    {rule("crash", "outcome.before", "a", faults.Kill)},
		"an occurrence that never comes": {{Name: "crash", Point: point("intent.before"), Nth: 2, Process: "a", Action: faults.Kill}},
		"another process's point":        {rule("crash", "intent.before", "b", faults.Kill)},
		"a victim that was never there":  {{Name: "crash", Point: point("intent.before"), Nth: 1, Action: faults.Kill, Victim: "nobody"}},
		"nobody to be frozen":            {{Name: "crash", Point: point("intent.before"), Nth: 1, Action: faults.Freeze, Victim: "nobody"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for its whole time
			lab := newLab(t)
			lab.Deadline = 5 * time.Second
			r := lab.Play(t.Context(), cell, faults.Plan{Schedule: schedule, Script: []faults.Step{worker("a", "intent.before"), fired("crash")}})
			require.Contains(t, r.Trial.Broken, "rule crash: not seen in time")
			for _, f := range r.Trial.Fired {
				require.Zero(t, f.DoneSeq)
				require.Empty(t, f.Proof)
			}
		})
	}
}

func TestKillOfAProcessThatLeftByItselfDoesNotCount(t *testing.T) {
	p := &processes{trace: newTrace(), dir: t.TempDir()}
	child, err := p.start("a", "worker", []string{os.Args[0], "fake", "worker", crash}, true)
	require.NoError(t, err)
	require.NoError(t, child.awaitEnd(signalWithin))
	proof, err := p.kill("a")
	require.Error(t, err)
	require.Empty(t, proof)
	require.Equal(t, "exit 3", p.records()[0].WaitStatus)
}

func TestFrozenProcessStandsStillUntilItIsThawed(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	lab.Deadline = 5 * time.Second
	schedule := faults.Schedule{rule("ice", "intent.before", "a", faults.Freeze)}
	still := lab.Play(t.Context(), cell, faults.Plan{Schedule: schedule, Script: []faults.Step{
		worker("a", "intent.before", "intent.after"), fired("ice"), crossed("intent.after", "a"),
	}})
	require.Contains(t, still.Trial.Broken, "crossing of intent.after: not seen in time")
	require.Equal(t, "state T", still.Trial.Fired[0].Proof)

	r := play(t, schedule, worker("a", "intent.before", "intent.after"), fired("ice"),
		faults.Step{Do: faults.DoThaw, Process: "a"}, crossed("intent.after", "a"))
	require.Empty(t, r.Trial.Broken)
	require.Equal(t, "continue held=true", crossing(t, r, "a", "intent.after").Detail["was"], "its message goes out detached")
}

func TestThawOfAProcessThatIsNotFrozenBreaksTheTrial(t *testing.T) {
	r := play(t, nil, worker("a"), faults.Step{Do: faults.DoThaw, Process: "a"})
	require.Contains(t, r.Trial.Broken, "not frozen")
}

func TestVictimOfAnotherProcessLeavesItsMessageBehind(t *testing.T) {
	for at, action := range map[string]string{"provider-commit.before": "abort", "provider-commit.after": "continue"} {
		t.Run(at, func(t *testing.T) {
			crash := rule("crash", at, "p", faults.Kill)
			crash.Victim = "a"
			r := play(t, faults.Schedule{crash}, worker("a"), worker("p", at, "provider-received.after"), fired("crash"), crossed("provider-received.after", "p"))
			require.Empty(t, r.Trial.Broken)
			require.Equal(t, "signal 9", processOf(t, r, "a").WaitStatus)
			require.Equal(t, action+" held=true", crossing(t, r, "p", "provider-received.after").Detail["was"])
			require.Less(t, r.Trial.Fired[0].DoneSeq, crossing(t, r, "p", at).DoneSeq, "the worker is dead before its message goes on")
		})
	}
}

func TestNoProcessOutlivesItsTrial(t *testing.T) {
	schedule := faults.Schedule{rule("held", "intent.before", "a", faults.Hold), rule("ice", "outcome.before", "b", faults.Freeze)}
	r := play(t, schedule, worker("a", "intent.before"), fired("held"), worker("b", "outcome.before"), fired("ice"))
	require.Len(t, r.Trial.Processes, 3)
	for _, p := range r.Trial.Processes {
		_, err := os.Stat("/proc/" + strconv.Itoa(p.PID))
		require.ErrorIs(t, err, os.ErrNotExist, p.Name)
		require.Empty(t, p.WaitStatus, "%s was ended by the harness, not by the trial", p.Name)
		require.NotZero(t, p.EndSeq, p.Name)
	}
}

func TestStopMustBeClean(t *testing.T) {
	require.Empty(t, play(t, nil, worker("a"), faults.Step{Do: faults.DoStop, Process: "a"}).Trial.Broken)
	r := play(t, nil, worker("a", crash), faults.Step{Do: faults.DoStop, Process: "a"})
	require.NotEmpty(t, r.Trial.Broken)
}

func TestProcessThatIsNeverReadySaysWhy(t *testing.T) {
	lab := newLab(t)
	lab.Provider = []string{"/bin/sh", "-c", "echo no such profile >&2; exit 2"}
	r := lab.Play(t.Context(), cell, faults.Plan{})
	require.Contains(t, r.Trial.Broken, "ended before it was ready: exit 2: no such profile")
}

func TestProcessesInheritNothingThatCouldChangeATrial(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "secret")
	t.Setenv("TEMPORAL_ADDRESS", "elsewhere:7233")
	t.Setenv("HTTP_PROXY", "http://elsewhere")
	r := play(t, nil, faults.Step{Do: faults.DoRequest, Process: "client", Run: "r1", Order: "o-1", Amount: 4200})
	require.Len(t, r.Answers, 1)
	text := string(r.Answers[0].Output)
	require.Contains(t, text, "REFUNDLAB_PROCESS=client")
	for _, word := range []string{"OPENAI", "TEMPORAL", "PROXY"} {
		require.NotContains(t, text, word)
	}
}

func TestCleanArmPlaysNeitherScheduleNorStepsOfTheFault(t *testing.T) {
	quiet := cell
	quiet.Arm = evidence.ArmClean
	gone := fired("crash")
	gone.Only = "fault"
	r := newLab(t).Play(t.Context(), quiet, faults.Plan{
		Schedule: faults.Schedule{rule("crash", "intent.before", "a", faults.Kill)},
		Script:   []faults.Step{worker("a", "intent.before", "intent.after"), gone, crossed("intent.after", "a"), {Do: faults.DoRest}},
	})
	require.Empty(t, r.Trial.Broken)
	require.Empty(t, r.Trial.Schedule)
	require.Empty(t, r.Trial.Fired)
	require.NotZero(t, r.Trial.RestSeq)
}
