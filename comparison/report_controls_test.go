package comparison

import (
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
	"refundlab/refund"
)

func controlTrial(scenario, engine, verdict string, expected []string, reported ...string) evidence.ControlTrial {
	return evidence.ControlTrial{
		Cell:     evidence.Cell{Scenario: scenario, Engine: engine, Profile: "full", Arm: evidence.ArmFault},
		Expected: expected, Verdict: verdict, Reported: reported,
	}
}

// without gives a trial the clean arm of the same build.
func without(t evidence.ControlTrial, verdict string, reported ...string) evidence.ControlTrial {
	clean := controlTrial(t.Scenario, t.Engine, verdict, nil, reported...)
	clean.Arm = evidence.ArmClean
	t.Clean = &clean
	return t
}

// crashed is a trial in which a worker ended by itself.
func crashed(t evidence.ControlTrial) evidence.ControlTrial {
	t.Stray, t.Unsound = true, []string{"process a ended by itself: exit 2"}
	return t
}

func TestAControlIsCaughtOnlyByAnInvariantThatItNames(t *testing.T) {
	i1 := []string{"I1"}
	for _, c := range []struct {
		name   string
		trial  evidence.ControlTrial
		caught bool
	}{
		{"named", controlTrial("s", "temporal", "fail", i1, "I1"), true},
		{"named among others", controlTrial("s", "temporal", "fail", i1, "I2", "I1", "END"), true},
		{"one of several", controlTrial("s", "temporal", "fail", []string{"I4", "I1"}, "I1"), true},
		{"another one", controlTrial("s", "temporal", "fail", i1, "I2", "END"), false},
		{"nothing", controlTrial("s", "temporal", "pass", i1), false},
		{"a trial that did not take place", controlTrial("s", "temporal", "invalid", i1, "EVIDENCE"), false},
		{"a trial whose verdict is not a failure", controlTrial("s", "temporal", "not applicable", i1, "I1"), false},
		{"a trial that decides nothing", controlTrial("s", "temporal", "inconclusive", []string{"I10"}, "I10"), false},
		{"a fault that did not hit, and a violation all the same", controlTrial("s", "temporal", "fail", i1, "I1", "EVIDENCE"), true},
		{"a worker that crashed", crashed(controlTrial("s", "temporal", "fail", []string{"I11"}, "I11", "EVIDENCE")), false},
		{"a worker that crashed after a second entry", crashed(controlTrial("s", "temporal", "fail", []string{"I1", "I11"}, "I1", "I11", "EVIDENCE")), true},
		{"a run that never ends with every process alive", controlTrial("s", "temporal", "fail", []string{"I11"}, "I11"), true},
		{"nothing was expected", controlTrial("s", "temporal", "fail", nil, "I1"), false},
	} {
		require.Equal(t, c.caught, c.trial.Caught(), c.name)
	}
}

// What fails without the fault as well is no proof that the scenario's fault shows anything.
func TestAScenarioKillsOnlyWhatPassesWithoutItsFault(t *testing.T) {
	failed := controlTrial("s", "temporal", "fail", nil, "I1")
	for _, c := range []struct {
		name   string
		trial  evidence.ControlTrial
		killed bool
	}{
		{"passes without", without(failed, "pass"), true},
		{"fails without, too", without(failed, "fail", "I1"), false},
		{"fails without by something else", without(failed, "fail", "END"), false},
		{"could not be played without", without(failed, "invalid", "EVIDENCE"), false},
		{"decides nothing without", without(failed, "inconclusive", "I10"), false},
		{"was not played without", failed, false},
		{"did not fail", without(controlTrial("s", "temporal", "pass", nil), "pass"), false},
		{"ended by itself", without(crashed(controlTrial("s", "temporal", "fail", nil, "I11", "EVIDENCE")), "pass"), false},
	} {
		require.Equal(t, c.killed, c.trial.Killed(), c.name)
	}
}

func TestAWorkerThatEndsByItselfIsToldFromOneThatIsKilled(t *testing.T) {
	s := newScene("handrolled", refund.ProfileFull)
	require.False(t, EndedByItself(s.Record), "A was killed by a rule")
	s.Trial.Processes[2].WaitStatus = "exit 2"
	require.True(t, EndedByItself(s.Record))
}

// A crash is told where it is, and stops a run whatever was taken away: it catches nothing and kills nothing.
func TestTheSectionShowsWhatWasNotAsPlanned(t *testing.T) {
	late := controlTrial("late", "temporal", "fail", []string{"I6"}, "I6", "EVIDENCE")
	late.Unsound = []string{"rule late never fired"}
	text := ControlsSection(evidence.Controls{Asked: evidence.ControlsAsked{Matrix: true}, Controls: []evidence.Control{
		{Name: "fence", Breaks: "A fence.", Design: "trust", Trials: []evidence.ControlTrial{without(late, "pass")}},
		{Name: "panics", Breaks: "A look.", Design: "hope", Trials: []evidence.ControlTrial{crashed(controlTrial("lost", "temporal", "fail", []string{"I11"}, "I11", "EVIDENCE"))}},
	}})
	for _, line := range []string{
		"**1 of 2 controls are caught.**",
		"| `late` temporal, full | **I6** EVIDENCE | passes | yes |",
		"| `lost` temporal, full | **I11** EVIDENCE | - | **no: fail** |",
		"| fence | `late` temporal, full | rule late never fired |",
		"| panics | `lost` temporal, full | process a ended by itself: exit 2 |",
		"- **panics is not caught by lost/temporal/full/fault: fail, and a worker or a provider ended by itself**",
		"| `late` | 1 | not played |",
		"| `lost` **kills nothing** | none | not played |",
	} {
		require.Contains(t, text, line)
	}
}

func TestARunPassesOnlyIfEveryControlIsCaughtAndTheUnbrokenSystemPasses(t *testing.T) {
	sound := func() evidence.Controls {
		return evidence.Controls{
			Baseline: []evidence.ControlTrial{controlTrial("s", "temporal", "pass", nil)},
			Controls: []evidence.Control{{Name: "a", Trials: []evidence.ControlTrial{controlTrial("s", "temporal", "fail", []string{"I1"}, "I1")}}},
		}
	}
	require.True(t, sound().Passed())
	for name, change := range map[string]func(*evidence.Controls){
		"no baseline":            func(x *evidence.Controls) { x.Baseline = nil },
		"no controls":            func(x *evidence.Controls) { x.Controls = nil },
		"the baseline fails":     func(x *evidence.Controls) { x.Baseline[0].Verdict = "fail" },
		"the baseline is broken": func(x *evidence.Controls) { x.Baseline[0].Verdict = "invalid" },
		"it did not build":       func(x *evidence.Controls) { x.Controls[0].BuildError = "syntax error" },
		"it was not played":      func(x *evidence.Controls) { x.Controls[0].Trials = nil },
		"one cell shows nothing": func(x *evidence.Controls) {
			x.Controls[0].Trials = append(x.Controls[0].Trials, controlTrial("t", "temporal", "pass", []string{"I1"}))
		},
	} {
		x := sound()
		change(&x)
		require.False(t, x.Passed(), name)
	}
}

func TestTheSectionNamesWhatIsCaughtWhatIsNotAndWhatKillsNothing(t *testing.T) {
	x := evidence.Controls{
		Command: "lab controls --matrix", Asked: evidence.ControlsAsked{Matrix: true},
		Baseline: []evidence.ControlTrial{controlTrial("lost", "temporal", "pass", nil), controlTrial("late", "temporal", "fail", nil, "I6")},
		Controls: []evidence.Control{
			{
				Name: "first", Breaks: "A look.", Design: "blind", Layers: "Another look.",
				Trials: []evidence.ControlTrial{
					without(controlTrial("lost", "temporal", "fail", []string{"I1"}, "I1", "END"), "pass"),
					without(controlTrial("lost", "handrolled", "fail", []string{"I1"}, "I1", "END"), "pass"),
				},
				Others: []evidence.ControlTrial{controlTrial("late", "temporal", "pass", nil), without(controlTrial("quiet", "temporal", "fail", nil, "I1"), "fail", "I1")},
			},
			{
				Name: "second", Breaks: "A fence.", Design: "trust",
				Trials: []evidence.ControlTrial{without(controlTrial("late", "temporal", "fail", []string{"I6"}, "I4"), "pass")},
				Others: []evidence.ControlTrial{controlTrial("lost", "temporal", "invalid", nil, "EVIDENCE"), controlTrial("quiet", "temporal", "pass", nil)},
			},
			{Name: "third", Breaks: "A line.", Design: "none", BuildError: "undefined: x"},
			{
				Name: "fourth", Breaks: "A name.", Design: "loud", Harmless: "Nobody comes.",
				Trials: []evidence.ControlTrial{without(controlTrial("lost", "handrolled", "fail", []string{"I2"}, "I2"), "fail", "I2", "END")},
			},
		},
	}
	text := ControlsSection(x)
	for _, line := range []string{
		"**2 of 4 controls are caught.** The unbroken system, built and played in the same way, passes 1 of the 2 cells",
		"| 1 | first | A look. | blind | `lost` temporal, handrolled, full | **I1** END | passes | yes |",
		"| 2 | second | A fence. | trust | `late` temporal, full | (I6 expected) I4 | passes | **no: fail** |",
		"| 3 | third | A line. | none | - | - | - | **did not build** |",
		"| 4 | fourth | A name. | loud | `lost` handrolled, full | **I2** | fail: I2 END | yes |",
		"| fourth | Nobody comes. |",
		"| first | Another look. |",
		"- **third did not build:** undefined: x",
		"- **second is not caught by late/temporal/full/fault: fail**",
		"- **The unbroken system does not pass late/temporal/full/fault: fail**",
		"| `lost` | 1 | 1 |",
		"| `late` | 2 | not played |",
		"| `quiet` **kills nothing** | none | not played |",
		"**Scenarios that kill nothing:** `quiet`.",
		"count for no scenario: first (1 of 4), fourth (1 of 1).",
	} {
		require.Contains(t, text, line)
	}
	x.Asked.Matrix = false
	require.NotContains(t, ControlsSection(x), "Kill matrix")
}
