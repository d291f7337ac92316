package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
	"refundlab/refund"
)

func TestModelTellsTheStoryOfAControl(t *testing.T) {
	status, out, problems := labOnce(t, "model", "--control", "second-send-after-look-up")
	require.Equal(t, refund.ExitOK, status, problems)
	require.Contains(t, out, "1. worker A claims the run under generation 1")
	require.Contains(t, out, "the ledger holds two entries for one operation: I1")
	require.Contains(t, out, "the workflow opens round 2 to SEND", "under Temporal's ownership too")
}

func TestModelExploresOneProfile(t *testing.T) {
	status, out, problems := labOnce(t, "model", "--profile", "opaque", "--claims", "2", "--json")
	require.Equal(t, refund.ExitOK, status, problems)
	var result evidence.Model
	require.NoError(t, json.Unmarshal([]byte(out), &result))
	require.Len(t, result.Spaces, 2)
	require.Empty(t, result.Controls)
	for _, space := range result.Spaces {
		require.Greater(t, space.States, 1000)
		require.Positive(t, space.Depth)
	}
}

// An older result must not stand for the rules of today when those fail.
func TestAFailureOfTheModelTakesThePlaceOfAnOlderPass(t *testing.T) {
	t.Chdir(t.TempDir())
	older := evidence.Model{Command: "older", Spaces: []evidence.ModelSpace{{Profile: "full"}}}
	require.NoError(t, publishInstrument("model", older))
	failed := evidence.Model{Command: "today", Spaces: []evidence.ModelSpace{{Profile: "full", Violated: "I1", Story: []string{"two entries: I1"}}}}
	for _, whole := range []bool{false, true} {
		err := (&modelFlags{}).conclude(io.Discard, failed, whole)
		require.Equal(t, refund.CodeNotPassed, refund.CodeOf(err))
		text, err := os.ReadFile("report/model.json")
		require.NoError(t, err)
		var published evidence.Model
		require.NoError(t, json.Unmarshal(text, &published))
		require.Equal(t, map[bool]string{false: "older", true: "today"}[whole], published.Command, "a part of a run publishes nothing")
	}
}

func TestModelRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, args := range [][]string{{"--control", "no-such"}, {"--profile", "no-such"}, {"--claims", "60"}} {
		status, _, problems := labOnce(t, append([]string{"model"}, args...)...)
		require.Equal(t, refund.ExitInvalidInput, status, problems)
	}
}

func labOnce(t *testing.T, args ...string) (status int, out, problems string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = run(t.Context(), args, bytes.NewReader(nil), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}
