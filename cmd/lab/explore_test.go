package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
	"refundlab/faults/exploration"
	"refundlab/refund"
)

func TestExploreRefusesWhatItCannotPlay(t *testing.T) {
	taken := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(taken, askedFile), []byte("{}\n"), 0o600))
	for _, c := range []struct {
		name string
		args []string
		code refund.Code
		text string
	}{
		{"an unknown engine", []string{"--engine", "cadence"}, refund.CodeInvalidFlag, `--engine "cadence" is unknown: it is temporal or handrolled`},
		{"an unknown profile", []string{"--profile", "best"}, refund.CodeInvalidProfile, `profile "best" is unknown`},
		{"an unknown flow", []string{"--flow", "sideways"}, refund.CodeInvalidFlag, `--flow "sideways" is unknown: the flows are approved, lost`},
		{"pairs of another kind", []string{"--pairs", "triples"}, refund.CodeInvalidFlag, `--pairs "triples" is unknown: it is none, kill, sample or all`},
		{"no jobs", []string{"--jobs", "0"}, refund.CodeInvalidFlag, "--jobs is 0: it must be from 1 to 128"},
		{"a slice below zero", []string{"--slice", "-1"}, refund.CodeInvalidFlag, "cannot be below zero"},
		{"nothing to explore", []string{"--engine", "temporal", "--profile", "local"}, refund.CodeInvalidFlag, "no base flow has a part"},
		{"a directory that is taken", []string{"--out", taken}, refund.CodeInvalidFlag, "holds a run already: go on with it by --resume"},
		{"a run that is none", []string{"--resume", t.TempDir()}, refund.CodeInvalidFlag, "is no run of lab explore"},
		{"a new and an old directory", []string{"--out", "x", "--resume", taken}, refund.CodeInvalidFlag, "out resume"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out, log := lab(t, append([]string{"explore"}, c.args...)...)
			require.Equal(t, refund.ExitInvalidInput, status)
			require.Empty(t, out)
			require.Contains(t, log, string(c.code)+": ")
			require.Contains(t, log, c.text)
		})
	}
}

// slice explores a few places of the journal's shortest flow.
func slice(t *testing.T, args ...string) (evidence.Exploration, string) {
	t.Helper()
	status, out, log := lab(t, append([]string{"explore", "--json", "--jobs", "4"}, args...)...)
	require.Equal(t, 0, status, log)
	var result evidence.Exploration
	require.NoError(t, json.Unmarshal([]byte(out), &result))
	return result, log
}

func TestExploreHitsPlacesAndGoesOnWhereItEnded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	first, log := slice(t, "--engine", "handrolled", "--profile", "full", "--flow", "rejected", "--slice", "4", "--out", dir)
	require.Contains(t, log, "single faults 2/2")
	require.Contains(t, log, "pairs 2/2")
	require.Empty(t, first.Open)
	require.NoFileExists(t, "report/explore.json", "only a whole run is published")
	kinds := map[string]int{}
	for _, g := range first.Groups {
		kinds[g.Kind] += g.Passed
		require.Equal(t, map[string]int{"REJECTED(APPROVAL_REJECTED), 0 in the ledger": g.Trials}, g.Ends)
	}
	require.Equal(t, sliceTurns, kinds["trace"])
	hit, known := 0, 0
	for _, p := range first.Points {
		hit += p.Single.Trials + p.Second.Trials
		known += p.Known
	}
	require.Equal(t, 4, hit)
	require.GreaterOrEqual(t, known, 8, "decision, answer, notice and its record, each on both sides")

	// A line that was cut off, and one that is gone, are played again; nothing else is.
	path := filepath.Join(dir, resultsFile)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := bytes.SplitAfter(text, []byte("\n"))
	require.NoError(t, os.WriteFile(path, append(bytes.Join(lines[:5], nil), `{"flow":"reje`...), 0o600))
	second, log := slice(t, "--resume", dir)
	require.Equal(t, 1, strings.Count(log, " pass "), log)
	require.Equal(t, first.Asked, second.Asked)
	require.Len(t, second.Groups, len(first.Groups))
}

func TestExploreKeepsWhatCanPlayAFailedTrialAgain(t *testing.T) {
	e := &explorer{dir: t.TempDir(), log: &bytes.Buffer{}, results: exploration.Results{}}
	require.NoError(t, e.load())
	defer e.close()
	var point exploration.Place
	require.NoError(t, json.Unmarshal([]byte(`{"process":"a","point":"outcome.before","nth":1,"stage":"committed"}`), &point))
	trial := exploration.Trial{Flow: "approved", Engine: "handrolled", Profile: "full", Faults: exploration.At(point, "kill")}
	r := exploration.Result{Trial: trial, Turn: 1, Verdict: exploration.Fail, Findings: []string{"I1: two entries"}}
	plan, err := trial.Plan(budget)
	require.NoError(t, err)
	expectation, err := trial.Expect(budget)
	require.NoError(t, err)
	require.NoError(t, e.saveFailed(r, plan, expectation))
	require.NoError(t, e.keepResult(r))
	require.Contains(t, e.log.(*bytes.Buffer).String(), "lab replay "+filepath.Join(e.dir, e.replayFile(r)))
	saved, err := readSaved(filepath.Join(e.dir, e.replayFile(r)), nil)
	require.NoError(t, err)
	require.NoError(t, playable(saved))
	require.Equal(t, expectation, saved.Expectation())
	require.Equal(t, "Flow approved: kill a at outcome.before #1.", saved.About)
}
