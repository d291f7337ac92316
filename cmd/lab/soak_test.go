package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/comparison"
	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/faults/soak"
	"refundlab/refund"
)

func TestSoakAndReplayRefuseWhatTheyCannotPlay(t *testing.T) {
	file := func(edit func(string) string) string {
		text, err := os.ReadFile("../../schedules/worker-starts-beside-one-frozen-in-a-transaction.json")
		require.NoError(t, err)
		name := filepath.Join(t.TempDir(), "plan.json")
		require.NoError(t, os.WriteFile(name, []byte(edit(string(text))), 0o600))
		return name
	}
	replacing := func(old, with string) string {
		return file(func(text string) string { return strings.Replace(text, old, with, 1) })
	}
	for _, c := range []struct {
		name string
		args []string
		code refund.Code
		text string
	}{
		{"an unknown engine", []string{"soak", "--engine", "cadence"}, refund.CodeInvalidFlag, `--engine "cadence" is unknown`},
		{"an unknown profile", []string{"soak", "--profile", "best"}, refund.CodeInvalidProfile, `profile "best" is unknown`},
		{"a profile that Temporal does not have", []string{"soak", "--profile", "local"}, refund.CodeInvalidProfile, "give --engine handrolled"},
		{"no time", []string{"soak", "--minutes", "0"}, refund.CodeInvalidFlag, "--minutes is 0"},
		{"a time that is none", []string{"soak", "--minutes", "NaN"}, refund.CodeInvalidFlag, "--minutes is NaN"},
		{"no refunds", []string{"soak", "--refunds", "0"}, refund.CodeInvalidFlag, "--refunds is 0"},
		{"no jobs", []string{"soak", "--jobs", "0"}, refund.CodeInvalidFlag, "--jobs is 0"},
		{"an argument", []string{"soak", "now"}, refund.CodeInvalidFlag, "now"},
		{"no file", []string{"replay"}, refund.CodeInvalidFlag, "accepts 1 arg"},
		{"a file that is not there", []string{"replay", "nothing.json"}, refund.CodeInvalidFlag, "nothing.json"},
		{"a misspelt key", []string{"replay", replacing(`"process": "b"`, `"proc3ss": "b"`)}, refund.CodeInvalidBody, `unknown field "proc3ss"`},
		{"an unknown engine in the file", []string{"replay", replacing(`"handrolled"`, `"cadence"`)}, refund.CodeInvalidBody, `engine "cadence" is unknown`},
		{"an unknown profile in the file", []string{"replay", replacing(`"profile": "full"`, `"profile": "best"`)}, refund.CodeInvalidProfile, `profile "best" is unknown`},
		{"an engine without the profile", []string{"replay", replacing(`"profile": "full"`, `"profile": "local"`), "--engine", "temporal"}, refund.CodeInvalidProfile, "Temporal has none"},
		{"never", []string{"replay", replacing("", ""), "--times", "0"}, refund.CodeInvalidFlag, "--times is 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out, log := lab(t, c.args...)
			require.Equal(t, refund.ExitInvalidInput, status, log)
			require.Empty(t, out)
			require.Contains(t, log, string(c.code)+": ")
			require.Contains(t, log, c.text)
		})
	}
}

func TestASoakSavesWhatItPlaysAndReplayPlaysItFromAPipe(t *testing.T) {
	dir := t.TempDir()
	status, out, log := lab(t, "soak", "--engine", "handrolled", "--seed", "5", "--rounds", "2", "--refunds", "5", "--faults", "4", "--jobs", "2", "--out", dir)
	require.Equal(t, 0, status, log)
	require.Contains(t, log, "handrolled round 1 under ")
	require.Contains(t, log, "; 5 refunds, ")
	require.Contains(t, out, "| rounds | 2 |")
	require.NoFileExists(t, "report/soak.json", "a part of the soak is no result of the instrument")

	var result evidence.Soak
	text, err := os.ReadFile(filepath.Join(dir, "soak.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &result))
	require.Len(t, result.Engines, 1)
	require.Equal(t, 10, result.Engines[0].Refunds)
	require.Empty(t, result.Engines[0].Open)
	require.FileExists(t, filepath.Join(dir, "plans", "handrolled", "soak-5-2.verdict.json"))

	plan, err := os.ReadFile(filepath.Join(dir, "plans", "handrolled", "soak-5-1.json"))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	status = run(ctx, []string{"replay", "-", "--json", "--out", filepath.Join(dir, "again")}, bytes.NewReader(plan), &stdout, &stderr)
	require.Equal(t, 0, status, stderr.String())
	var plays struct{ Plays []replayed }
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &plays), "nothing but JSON: %s", stdout.String())
	require.Len(t, plays.Plays, 1)
	require.FileExists(t, filepath.Join(dir, "again", "play-1", "soak-5-1", "handrolled", string(profileOf(t, plan)), "fault", "trial.json"))
}

func profileOf(t *testing.T, plan []byte) refund.ProfileName {
	t.Helper()
	trial, err := faults.ParseSaved(plan)
	require.NoError(t, err)
	return refund.ProfileName(trial.Plan.Profile)
}

// A search of the history that ran out of time, and an export without facts, violate nothing: what is shrunk must go on failing.
func TestATrialThatDecidesNothingViolatesNothing(t *testing.T) {
	judged := func(verdict comparison.Verdict, checks ...string) comparison.Judged {
		j := comparison.Judged{Verdict: verdict}
		for _, check := range checks {
			j.Findings = append(j.Findings, comparison.Finding{Check: check})
		}
		return j
	}
	require.True(t, violates(judged(comparison.Fail, "END", "HISTORY"), "HISTORY"))
	require.False(t, violates(judged(comparison.Fail, "END"), "HISTORY"))
	require.False(t, violates(judged(comparison.Inconclusive, "HISTORY"), "HISTORY"))
	require.False(t, violates(judged(comparison.Inconclusive, "I10"), "I10"))
}

// An expectation that nothing can meet stands for a broken engine: what fails is r2, whatever else is played.
func TestATrialThatFailsIsShrunkToWhatFails(t *testing.T) {
	trial := faults.Saved{Format: faults.SavedFormat, Engine: "handrolled", Name: "wrong", Plan: faults.Plan{
		Profile:  "full",
		World:    faults.World{Orders: []faults.Order{{ID: "o-1", Currency: "EUR", Captured: 90_000, Version: 1}}},
		Script:   []faults.Step{{Do: faults.DoStart, Process: "a"}},
		Schedule: faults.Schedule{},
	}}
	trial.Expect.Runs = map[string]faults.End{}
	for _, run := range []string{"r1", "r2", "r3"} {
		trial.Plan.Script = append(trial.Plan.Script,
			faults.Step{Do: faults.DoRequest, Process: "ask-" + run, Run: run, Order: "o-1", Amount: 700},
			faults.Step{Do: faults.DoAwait, Run: run, Point: faults.Point{Boundary: faults.Proposal, When: faults.After}},
			faults.Step{Do: faults.DoApprove, Process: "bob-" + run, Run: run, By: "bob", Decision: "d1", Background: true})
		trial.Plan.Schedule = append(trial.Plan.Schedule, faults.Rule{
			Name: "lost-" + run, Point: faults.Point{Boundary: faults.NoticeCall, When: faults.After}, Nth: len(trial.Plan.Schedule) + 1, Action: faults.Lose,
		})
		trial.Expect.Runs[run] = faults.End{Status: "CONFIRMED", Entries: 1, MostSubmits: 9}
	}
	trial.Expect.Runs["r2"] = faults.End{Status: "CONFIRMED", Entries: 2, MostSubmits: 9}
	trial.Expect.ByLot = true
	trial.Plan.Script = append(trial.Plan.Script, faults.Step{Do: faults.DoRest})
	dir := t.TempDir()
	file := filepath.Join(dir, "plan.json")
	require.NoError(t, writeSaved(file, trial))

	status, out, log := lab(t, "replay", file, "--shrink", "90s", "--out", dir)
	require.Equal(t, refund.ExitInternal, status, log)
	require.Contains(t, out, "play 1: fail")
	require.Contains(t, out, "END is violated by")
	text, err := os.ReadFile(filepath.Join(dir, "minimal.json"))
	require.NoError(t, err)
	smallest, err := faults.ParseSaved(text)
	require.NoError(t, err)
	require.Empty(t, smallest.Plan.Schedule)
	require.Len(t, smallest.Expect.Runs, 1)
	require.Contains(t, smallest.Expect.Runs, "r2")
}

// A run that nobody works on is found out by silence alone, in each smaller trial again. Where nobody ever worked, or nobody decided, it is
// as silent, and shows nothing.
func TestATrialWithARunThatNeverEndsIsShrunk(t *testing.T) {
	trial := faults.Saved{Format: faults.SavedFormat, Engine: "handrolled", Name: "stuck", Plan: faults.Plan{
		Profile:  "full",
		World:    faults.World{Orders: []faults.Order{{ID: "o-1", Currency: "EUR", Captured: 90_000, Version: 1}}},
		Script:   []faults.Step{{Do: faults.DoStart, Process: "a"}, {Do: faults.DoKill, Process: "a"}},
		Schedule: faults.Schedule{},
	}}
	trial.Expect.ByLot, trial.Expect.Runs = true, map[string]faults.End{}
	for _, run := range []string{"r1", "r2"} {
		trial.Plan.Script = append(trial.Plan.Script,
			faults.Step{Do: faults.DoRequest, Process: "ask-" + run, Run: run, Order: "o-1", Amount: 700},
			faults.Step{Do: faults.DoAwait, Run: run, Point: faults.Point{Boundary: faults.Proposal, When: faults.After}, QuietMS: 3_000},
			faults.Step{Do: faults.DoApprove, Process: "bob-" + run, Run: run, By: "bob", Decision: "d1", Background: true})
		trial.Expect.Runs[run] = faults.End{Status: "PENDING"}
	}
	trial.Expect.Runs["r2"] = faults.End{Status: "CONFIRMED", Entries: 1, MostSubmits: 9}
	trial.Plan.Script = append(trial.Plan.Script, faults.Step{Do: faults.DoRest, StuckMS: 3_000})
	dir := t.TempDir()
	file := filepath.Join(dir, "plan.json")
	require.NoError(t, writeSaved(file, trial))

	status, out, log := lab(t, "replay", file, "--shrink", "2m", "--out", dir)
	require.Equal(t, refund.ExitInternal, status, log)
	require.Contains(t, out, "I11 is violated by")
	text, err := os.ReadFile(filepath.Join(dir, "minimal.json"))
	require.NoError(t, err)
	smallest, err := faults.ParseSaved(text)
	require.NoError(t, err)
	require.Equal(t, slices.Concat(trial.Plan.Script[:2], trial.Plan.Script[5:]), smallest.Plan.Script, "the end of the only worker is what fails")
}

// What a soak draws and what may be made smaller of it are two packages' business: the one waits as long as the other is silent.
func TestASmallerTrialHasTheTimeOfARunThatNeverEnds(t *testing.T) {
	for _, engine := range engineNames {
		trial, err := soak.Round{Engine: engine, Profile: refund.ProfileFull, Seed: 1, Number: 1, Refunds: soakRefunds, Faults: soakFaults}.Draw()
		require.NoError(t, err)
		silence := soak.Silence(trial.Plan)
		require.Greater(t, silence, time.Minute-1)
		require.Greater(t, candidateDeadline(20*time.Second, trial), 20*time.Second+silence)
		require.Equal(t, roundDeadline, candidateDeadline(roundDeadline, trial), "no play goes on for longer")
	}
}

func TestASoakOfFullSizeIsPublishedWhateverItFound(t *testing.T) {
	full := soakFlags{minutes: 30, refunds: soakRefunds, faults: soakFaults, json: true}
	failed := evidence.Soak{Seed: 9, Engines: []evidence.SoakEngine{{Engine: "temporal", Open: []evidence.SoakOpen{{Round: "soak-9-1"}}}}}
	for name, c := range map[string]struct {
		edit      func(*soakFlags)
		published bool
	}{
		"full size":        {func(*soakFlags) {}, true},
		"five minutes":     {func(f *soakFlags) { f.minutes = 5 }, true},
		"less":             {func(f *soakFlags) { f.minutes = 4.9 }, false},
		"one engine":       {func(f *soakFlags) { f.engine = "temporal" }, false},
		"one profile":      {func(f *soakFlags) { f.profile = "full" }, false},
		"rounds":           {func(f *soakFlags) { f.rounds = 1000 }, false},
		"fewer refunds":    {func(f *soakFlags) { f.refunds-- }, false},
		"no faults at all": {func(f *soakFlags) { f.faults = 0 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			require.NoError(t, os.Mkdir("report", 0o755))
			require.NoError(t, os.WriteFile("report/soak.json", []byte(`{"seed":1}`), 0o600))
			f := full
			c.edit(&f)
			require.ErrorContains(t, f.publish(failed, t.TempDir(), nil, io.Discard), "NOT_PASSED")
			var kept evidence.Soak
			text, err := os.ReadFile("report/soak.json")
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, &kept))
			require.Equal(t, c.published, kept.Seed == failed.Seed)
		})
	}
}

// What was found on the way stays found.
func TestEverySavedScheduleOfTheTrackRecordPasses(t *testing.T) {
	files, err := filepath.Glob("../../schedules/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			trial, err := faults.ParseSaved(text)
			require.NoError(t, err)
			if trial.Engine == temporalEngine && testing.Short() {
				t.Skip("it needs a Temporal server")
			}
			status, out, log := lab(t, "replay", file, "--out", t.TempDir())
			require.Equal(t, 0, status, "%s\n%s", out, log)
		})
	}
}
