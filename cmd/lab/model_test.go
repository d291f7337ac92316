package main

import (
	"bytes"
	"encoding/json"
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
