package harness

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/faults"
	"refundlab/refund"
)

const id = "op-1"

// history is a trial of one run in which the given points were crossed.
func history(points ...string) *trial {
	t := &trial{trace: newTrace(), engine: Engine{Over: faults.Finish}, order: []string{"r1"}, runs: map[string]run{"r1": {id: refund.OperationID(id)}}}
	for _, text := range points {
		t.trace.cross(faults.Announcement{Process: "a", Point: point(text), Operation: id}, nil)
	}
	return t
}

// rests tells whether the trial is at rest now.
func (t *trial) rests() bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return t.awaitRest(ctx, silence{}) == nil
}

func TestTrialIsAtRest(t *testing.T) {
	for _, c := range []struct {
		name   string
		points []string
		rests  bool
	}{
		{"never before anything was recorded", nil, false},
		{"not while a person is waited for", []string{"proposal.after"}, false},
		{"when the run is over", []string{"outcome.after", "finish.after"}, true},
		{"not when only its outcome is recorded", []string{"outcome.after"}, false},
		{"not while a submit was not asked about", []string{"intent.after", "provider-received.before"}, false},
		{"when it asks a second time later than the last submit arrived",
			[]string{"intent.after", "provider-received.before", "provider-received.after", "lookup-call.before", "lookup-call.after", "observation.after", "lookup-call.before"}, true},
		{"not when it asks again while the submit waits inside the provider",
			[]string{"intent.after", "provider-received.before", "lookup-call.before", "lookup-call.after", "observation.after", "lookup-call.before"}, false},
		{"not when it has asked once, whose answer may be its end",
			[]string{"intent.after", "provider-received.before", "lookup-call.before", "lookup-call.after", "observation.after"}, false},
		{"not when the first ask was sent before a late submit arrived",
			[]string{"intent.after", "provider-received.before", "lookup-call.before", "provider-received.before", "observation.after", "lookup-call.before"}, false},
		{"not when its first ask is not answered",
			[]string{"intent.after", "provider-received.before", "lookup-call.before", "lookup-call.before"}, false},
		{"not when it asked while a submit stood at the provider's door",
			[]string{"intent.after", "provider-received.before", "lookup-call.before", "lookup-call.before", "provider-received.after"}, false},
		{"when it asks a second time after an intent of which nothing ever arrived",
			[]string{"intent.after", "lookup-call.before", "lookup-call.after", "lookup-call.before"}, true},
		{"not when it asks again because the record of its outcome was lost",
			[]string{"intent.after", "provider-received.before", "provider-received.after", "lookup-call.before", "lookup-call.after", "outcome.before", "lookup-call.before"}, false},
		{"not when the second answer was its outcome, of which nobody is told yet",
			[]string{"intent.after", "provider-received.before", "lookup-call.before", "lookup-call.after", "lookup-call.before", "lookup-call.after", "outcome.after"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			trial := history(c.points...)
			require.Equal(t, c.rests, trial.rests())
			require.Equal(t, c.rests, trial.rest != 0)
		})
	}
}

func TestAskThatNobodyAnsweredShowsNoRest(t *testing.T) {
	for status, rests := range map[string]bool{"error": false, "503": false, "200": true, "404": true} {
		trial := history("intent.after", "provider-received.before", "provider-received.after", "lookup-call.before")
		trial.trace.cross(faults.Announcement{Process: "a", Point: point("lookup-call.after"), Operation: id, Detail: map[string]string{faults.DetailStatus: status}}, nil)
		trial.trace.cross(faults.Announcement{Process: "a", Point: point("lookup-call.before"), Operation: id}, nil)
		require.Equal(t, rests, trial.rests(), status)
	}
}

func TestAskWhoseAnswerWasLostShowsNoRest(t *testing.T) {
	trial := history("intent.after", "lookup-call.before", "lookup-call.after", "lookup-call.before")
	trial.trace.last(point("lookup-call.after"), id).Reply = faults.Lose
	require.False(t, trial.rests())
}

func TestAskOfAnotherProcessShowsNoRest(t *testing.T) {
	trial := history("intent.after", "provider-received.before", "provider-received.after", "lookup-call.before", "lookup-call.after") // and a dies with the answer
	ask := func(p string) {
		trial.trace.cross(faults.Announcement{Process: "b", Point: point(p), Operation: id}, nil)
	}
	ask("lookup-call.before")
	require.False(t, trial.rests())
	ask("lookup-call.after")
	require.False(t, trial.rests())
	ask("lookup-call.before")
	require.True(t, trial.rests())
}

func TestTrialIsNotAtRestWhileAMessageIsHeld(t *testing.T) {
	trial := history()
	hold := faults.Schedule{{Name: "held", Point: point("provider-call.before"), Nth: 1, Action: faults.Hold}}
	trial.trace.cross(faults.Announcement{Process: "a", Point: point("provider-call.before"), Operation: id}, hold)
	trial.trace.cross(faults.Announcement{Process: "b", Point: point("finish.after"), Operation: id}, nil)
	require.False(t, trial.rests())
	trial.trace.done(trial.trace.find("held"), "released")
	require.True(t, trial.rests())
}

func TestRunThatTheServerRefusedToCloseIsNotOver(t *testing.T) {
	trial := history()
	trial.trace.cross(faults.Announcement{Process: "a", Point: point("finish.after"), Operation: id, Detail: map[string]string{faults.DetailRefused: "task not found"}}, nil)
	require.False(t, trial.rests())
}

func TestRunIsOverThoughALateWorkerIsRefusedToCloseItAgain(t *testing.T) {
	trial := history("finish.after")
	trial.trace.cross(faults.Announcement{Process: "b", Point: point("finish.after"), Operation: id, Detail: map[string]string{faults.DetailRefused: "task not found"}}, nil)
	require.True(t, trial.rests())
}

func TestRunThatMayNotAskRestsOnceItIsQuiet(t *testing.T) {
	trial := history("intent.after", "provider-received.before", "observation.after")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.NoError(t, trial.awaitRest(ctx, silence{parked: 50 * time.Millisecond}))
	require.NotZero(t, trial.rest)
	trial.rest = 0
	require.Error(t, trial.awaitRest(ctx, silence{}))
}

// A run that should go on is silent for long on a busy machine; only one that is left to a person rests after a short silence.
func TestOnlyARunThatIsLeftToAPersonRestsSoon(t *testing.T) {
	for name, c := range map[string]struct {
		points []string
		soon   bool
	}{
		"nothing was recorded since the intent": {[]string{"workflow-task.after", "intent.after", "provider-received.before"}, false},
		"the outcome is not told":               {[]string{"intent.after", "observation.after", "outcome.after"}, false},
		"nothing is intended":                   {[]string{"proposal.after", "workflow-task.after"}, false},
		"an observation decided nothing":        {[]string{"intent.after", "observation.after"}, true},
		"a workflow task followed":              {[]string{"intent.after", "workflow-task.after"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			trial := history(c.points...)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			err := trial.awaitRest(ctx, silence{parked: 20 * time.Millisecond, stuck: time.Minute})
			require.Equal(t, c.soon, err == nil, "%v", err)
		})
	}
}

func TestRunThatClosesRestsOnceTheCloseWasAnsweredAndDecidedNothing(t *testing.T) {
	closing := func(t *trial, status string, reply faults.Action) {
		t.trace.cross(faults.Announcement{Process: "a", Point: point("close-call.before"), Operation: id}, nil)
		if status != "" {
			c, _ := t.trace.cross(faults.Announcement{Process: "a", Point: point("close-call.after"), Operation: id, Detail: map[string]string{faults.DetailStatus: status}}, nil)
			t.trace.answered(c, reply)
		}
		t.trace.cross(faults.Announcement{Process: "a", Point: point("observation.after"), Operation: id}, nil)
	}
	for _, c := range []struct {
		name, status string
		reply        faults.Action
		rests        bool
	}{
		{"a conflict", "200", faults.Continue, true},
		{"refused on its way", "", "", false},
		{"its answer lost", "200", faults.Lose, false},
		{"no connection", "error", faults.Continue, false},
		{"the provider failed", "500", faults.Continue, false},
	} {
		trial := history("intent.after")
		closing(trial, c.status, c.reply)
		require.Equal(t, c.rests, trial.rests(), c.name)
	}
}
