package faults_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/faults"
)

func saved() faults.Saved {
	lose := faults.Schedule{{Name: "lost", Point: faults.Point{Boundary: faults.ProviderCall, When: faults.After}, Nth: 1, Action: faults.Lose}}
	return faults.Save(faults.Expectation{
		Scenario: "one", Engine: "handrolled", Profile: "full", Arm: "fault", Schedule: lose, ByLot: true,
		Runs:    map[string]faults.End{"r1": {Status: "CONFIRMED", Entries: 1, MostSubmits: 2, Or: []faults.End{{Status: "UNKNOWN", UnknownBecause: "nobody knows"}}}},
		Answers: map[string]string{"bob": ""},
	}, faults.Plan{
		Profile: "full", Script: []faults.Step{{Do: faults.DoStart, Process: "a"}, {Do: faults.DoRest}}, Schedule: lose,
		Reactions: map[string][]faults.Step{"lost": {{Do: faults.DoStart, Process: "b"}}},
	}, "an answer is lost")
}

func TestASavedTrialIsReadAsItWasWritten(t *testing.T) {
	text, err := json.MarshalIndent(saved(), "", " ")
	require.NoError(t, err)
	got, err := faults.ParseSaved(text)
	require.NoError(t, err)
	require.Equal(t, saved(), got)
	expectation := got.Expectation()
	require.Equal(t, saved().Plan.Schedule, expectation.Schedule)
	require.Equal(t, "full", expectation.Profile)
	require.Equal(t, "fault", expectation.Arm)
	require.True(t, expectation.ByLot)
}

func TestASavedTrialThatWouldBePlayedInPartIsRefused(t *testing.T) {
	text, err := json.Marshal(saved())
	require.NoError(t, err)
	whole := string(text)
	for _, c := range []struct{ name, text, words string }{
		{"a misspelt key", strings.Replace(whole, `"by_lot"`, `"bylot"`, 1), `"bylot"`},
		{"a misspelt key of a step", strings.Replace(whole, `"process":"a"`, `"proc3ss":"a"`, 1), `"proc3ss"`},
		{"a misspelt key of an end", strings.Replace(whole, `"entries"`, `"entrys"`, 1), `"entrys"`},
		{"another format", strings.Replace(whole, `"format":1`, `"format":2`, 1), "format 2"},
		{"a name that leaves its directory", strings.Replace(whole, `"name":"one"`, `"name":"../one"`, 1), `"../one"`},
		{"no engine", strings.Replace(whole, `"engine":"handrolled"`, `"engine":""`, 1), "no engine"},
		{"an unknown point", strings.Replace(whole, "provider-call.after", "payout.after", 1), `"payout.after"`},
		{"a rule that could never fire", strings.Replace(whole, `"nth":1`, `"nth":0`, 1), "occurrence 0"},
		{"a reaction to nothing", strings.Replace(whole, `"reactions":{"lost"`, `"reactions":{"last"`, 1), `"last"`},
		{"something behind it", whole + "{}", "behind it"},
		{"a list", "[]", "not a saved trial"},
		{"nothing", "", "not a saved trial"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := faults.ParseSaved([]byte(c.text))
			require.ErrorContains(t, err, c.words)
		})
	}
}
