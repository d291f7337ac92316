package harness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/faults"
)

func TestHeldMessageGoesOnWhenTheScriptSaysSo(t *testing.T) {
	r := play(t, faults.Schedule{rule("held", "intent.before", "a", faults.Hold)},
		worker("a", "intent.before", "intent.after"), fired("held"), worker("b", "claim.before"), crossed("claim.before", "b"),
		faults.Step{Do: faults.DoRelease, Rule: "held"}, crossed("intent.after", "a"))
	require.Empty(t, r.Trial.Broken)
	held, after := crossing(t, r, "a", "intent.before"), crossing(t, r, "a", "intent.after")
	require.Equal(t, "continue held=true", after.Detail["was"])
	require.Greater(t, held.DoneSeq, crossing(t, r, "b", "claim.before").Seq, "another process goes on meanwhile")
	require.Equal(t, "released", r.Trial.Fired[0].Proof)
	require.NotZero(t, r.Trial.Fired[0].DoneSeq)
}

func TestDelayedMessageGoesOnByItself(t *testing.T) {
	late := rule("late", "intent.before", "a", faults.Delay)
	late.DelayMS = 300
	began := time.Now()
	r := play(t, faults.Schedule{late}, worker("a", "intent.before", "intent.after"), fired("late"), crossed("intent.after", "a"))
	require.Empty(t, r.Trial.Broken)
	require.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)
	require.Equal(t, "continue held=true", crossing(t, r, "a", "intent.after").Detail["was"])
	require.Equal(t, "delayed", r.Trial.Fired[0].Proof)
}

func TestMessageIsTreatedAsTheRuleSays(t *testing.T) {
	for _, action := range []faults.Action{faults.Lose, faults.Duplicate, faults.Refuse, faults.Abort} {
		t.Run(string(action), func(t *testing.T) {
			r := play(t, faults.Schedule{rule("hit", "provider-call.after", "a", action)},
				worker("a", "provider-call.after", "observation.before"), fired("hit"), crossed("observation.before", "a"))
			require.Empty(t, r.Trial.Broken)
			require.Equal(t, string(action)+" held=false", crossing(t, r, "a", "observation.before").Detail["was"])
			require.Equal(t, action, crossing(t, r, "a", "provider-call.after").Reply)
			require.Equal(t, "answered", r.Trial.Fired[0].Proof)
		})
	}
}

func TestOccurrencesAreCountedPerProcessAndOverAll(t *testing.T) {
	for name, c := range map[string]struct {
		rule    faults.Rule
		process string
		nth     int
	}{
		"the second of one process": {faults.Rule{Name: "hit", Point: point("claim.before"), Nth: 2, Process: "b", Action: faults.Lose}, "b", 2},
		"the third of any":          {faults.Rule{Name: "hit", Point: point("claim.before"), Nth: 3, Action: faults.Lose}, "b", 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := play(t, faults.Schedule{c.rule},
				worker("a", "claim.before", "claim.before", "claim.after"), crossed("claim.after", "a"), worker("b", "claim.before", "claim.before", "claim.after"), crossed("claim.after", "b"))
			require.Empty(t, r.Trial.Broken)
			for _, cr := range r.Trace {
				hit := cr.Process == c.process && cr.Point == point("claim.before") && cr.Nth == c.nth
				require.Equal(t, hit, cr.Reply == faults.Lose, "%s #%d", cr.Process, cr.Nth)
			}
		})
	}
}

func TestReleaseOfWhatIsNotHeldBreaksTheTrial(t *testing.T) {
	r := play(t, faults.Schedule{rule("held", "intent.before", "a", faults.Hold)}, worker("a"), faults.Step{Do: faults.DoRelease, Rule: "held"})
	require.Contains(t, r.Trial.Broken, "nothing to release")
	r = play(t, faults.Schedule{rule("lost", "intent.before", "a", faults.Lose)}, worker("a", "intent.before"), fired("lost"), faults.Step{Do: faults.DoRelease, Rule: "lost"})
	require.Contains(t, r.Trial.Broken, "does not hold")
}
