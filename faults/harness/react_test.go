package harness

import (
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
	"refundlab/faults"
)

// reacting plays a script whose worker a is killed when it stands at claim.before for the n-th time, and what is done then.
func reacting(t *testing.T, nth int, reaction ...faults.Step) evidence.Record {
	t.Helper()
	crash := rule("crash", "claim.before", "a", faults.Kill)
	crash.Nth = nth
	return newLab(t).Play(t.Context(), cell, faults.Plan{
		Profile:   "full",
		Script:    []faults.Step{worker("a", "claim.before"), crossed("claim.before", "a"), {Do: faults.DoRest}},
		Schedule:  faults.Schedule{crash},
		Reactions: map[string][]faults.Step{"crash": reaction},
	})
}

func TestTrialRestsOnlyOnceItsReactionsAreDone(t *testing.T) {
	record := reacting(t, 1, worker("b", "finish.after"), crossed("finish.after", "b"))
	require.Empty(t, record.Trial.Broken)
	require.Greater(t, record.Trial.RestSeq, crossing(t, record, "b", "finish.after").Seq)
	require.Len(t, record.Trial.Steps, 5, "the steps of a reaction stand beside those of the script")
}

func TestReactionWaitsForTheRestOfTheOthersBeforeItGoesOn(t *testing.T) {
	record := reacting(t, 1, faults.Step{Do: faults.DoLull}, worker("b", "finish.after"), crossed("finish.after", "b"))
	require.Empty(t, record.Trial.Broken)
	require.Greater(t, record.Trial.RestSeq, crossing(t, record, "b", "finish.after").Seq)
}

func TestReactionThatCannotBePlayedBreaksTheTrial(t *testing.T) {
	record := reacting(t, 1, faults.Step{Do: faults.DoThaw, Process: "a"})
	require.Contains(t, record.Trial.Broken, "reaction to rule crash")
	require.Contains(t, record.Trial.Broken, "not frozen")
}

func TestReactionToARuleThatNeverHitsIsNotPlayed(t *testing.T) {
	record := reacting(t, 2, worker("b", "finish.after"))
	require.Empty(t, record.Trial.Broken)
	require.Empty(t, record.Trial.Fired)
	require.Len(t, record.Trial.Steps, 3)
}

// Every run may be at rest while a client that was told nothing is killed, asks again, and is killed again.
func TestReactionToWhatHitsTheLastClientIsPlayedAndItsAnswerKept(t *testing.T) {
	ask := func(client string) faults.Step {
		return faults.Step{Do: faults.DoRequest, Process: client, Run: "r1", Order: "o-1", Amount: 4200, Background: true}
	}
	record := newLab(t).Play(t.Context(), cell, faults.Plan{
		Profile:   "full",
		Script:    []faults.Step{{Do: faults.DoRest}, ask("alice")},
		Schedule:  faults.Schedule{rule("first", "reply.before", "alice", faults.Kill), rule("second", "reply.before", "alice-2", faults.Kill)},
		Reactions: map[string][]faults.Step{"first": {ask("alice-2")}, "second": {ask("alice-3")}},
	})
	require.Empty(t, record.Trial.Broken)
	var answered []string
	for _, a := range record.Answers {
		answered = append(answered, a.Process)
	}
	require.Equal(t, []string{"alice", "alice-2", "alice-3"}, answered)
}
