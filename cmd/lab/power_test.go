package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/comparison"
	"refundlab/evidence"
	"refundlab/faults/lossfs"
	"refundlab/refund"
)

// withoutFUSE is lab power on a machine that has no FUSE.
func withoutFUSE() powerFlags {
	return powerFlags{jobs: 1, json: true, possible: func(io.Writer) error { return errors.New("this machine has no FUSE") }}
}

// Where nothing can be cut no trial passes: each is listed as not run, with the reason, and the exit status says so.
func TestWithoutFUSEEachTrialIsNotRunAndNonePasses(t *testing.T) {
	t.Chdir(t.TempDir()) // a complete run writes its result
	f := withoutFUSE()
	var out, log bytes.Buffer
	err := f.run(t.Context(), &out, &log)
	require.Equal(t, refund.CodeNotPassed, refund.CodeOf(err))
	require.ErrorContains(t, err, "this machine has no FUSE")
	var result evidence.Power
	require.NoError(t, json.Unmarshal(out.Bytes(), &result))
	require.Equal(t, "this machine has no FUSE", result.NotRun)
	require.Greater(t, len(result.Trials), 100)
	for _, trial := range result.Trials {
		require.Equal(t, evidence.NotRun, trial.Verdict, trial.Name)
		require.False(t, trial.Right(), trial.Name)
	}
	require.False(t, result.Passed())
}

// Where an earlier result lies, of this machine or of another, it is no result of this run.
func TestWhatWasNotRunReplacesAnEarlierResultInTheReport(t *testing.T) {
	t.Chdir(t.TempDir())
	earlier := evidence.Power{Command: "lab power", Trials: []evidence.PowerTrial{{Name: "journal-intent.after", Volume: "journal", Synchronous: "FULL", Verdict: "pass"}}}
	require.NoError(t, publishInstrument("power", earlier))
	f := withoutFUSE()
	require.Error(t, f.run(t.Context(), io.Discard, io.Discard))
	sections, err := comparison.Instruments(reportDir)
	require.NoError(t, err)
	require.Contains(t, sections, "**Not run:**")
	require.Contains(t, sections, "this machine has no FUSE")
	require.Contains(t, sections, runtime.Version(), "it says on which machine")
	require.NotContains(t, sections, "pass")

	require.NoError(t, publishInstrument("power", earlier))
	f.names = []string{"journal-intent"}
	require.Error(t, f.run(t.Context(), io.Discard, io.Discard))
	sections, err = comparison.Instruments(reportDir)
	require.NoError(t, err)
	require.NotContains(t, sections, "Not run:", "a part of the trials replaces nothing")
}

func TestAllowMissingIsLoud(t *testing.T) {
	t.Chdir(t.TempDir())
	f := withoutFUSE()
	f.allowMissing = true
	var log bytes.Buffer
	require.NoError(t, f.run(t.Context(), io.Discard, &log))
	require.Contains(t, log.String(), "NOT RUN:")
	require.Contains(t, log.String(), "this machine has no FUSE")
}

func TestPowerRefusesWhatItCannotPlay(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*powerFlags)
		words  string
	}{
		{"an engine that is none", func(f *powerFlags) { f.engines = []string{"cron"} }, `"cron"`},
		{"a trial that is none", func(f *powerFlags) { f.names = []string{"floppy"} }, `"floppy"`},
		{"an empty name", func(f *powerFlags) { f.names = []string{""} }, `""`},
		{"no jobs", func(f *powerFlags) { f.jobs = 0 }, "--jobs is 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := withoutFUSE()
			c.change(&f)
			err := f.run(t.Context(), io.Discard, io.Discard)
			require.Equal(t, refund.CodeInvalidFlag, refund.CodeOf(err))
			require.ErrorContains(t, err, c.words)
		})
	}
}

func TestALineAboutATrialCallsOnlyAPassHarmless(t *testing.T) {
	line := func(breaks, verdict string, checks ...string) string {
		trial := evidence.PowerTrial{Synchronous: "OFF", Breaks: breaks, Verdict: verdict}
		for _, check := range checks {
			trial.Findings = append(trial.Findings, evidence.PowerFinding{Check: check})
		}
		var log bytes.Buffer
		reportPower(&log, "1/1", evidence.Cell{}, trial)
		return log.String()
	}
	require.Contains(t, line("", "pass"), " harmless ")
	require.Contains(t, line("", "fail", "I1"), "NOT HARMLESS (fail)")
	require.Contains(t, line("I4", "fail", "I4"), "caught by I4")
	require.Contains(t, line("I4", "fail", "I4", "EVIDENCE"), "NOT CAUGHT by I4")
	require.Contains(t, line("I10", "inconclusive", "I10"), "NOT CAUGHT by I10")
}

// Three trials with real processes, each under the product's setting and under two broken ones: the receipt that a worker holds,
// the decision that a person was told, and the outcome when it is written and not synced.
func TestPowerLossIsSurvivedWithFullAndFoundWithoutIt(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the system twice more")
	}
	if err := lossfs.Probe(); err != nil {
		t.Skipf("NOT RUN: power loss cannot be tested on this machine: %v", err)
	}
	f := powerFlags{names: []string{"ledger-provider-call", "journal-reply", "journal-outcome-written"}, seed: 1, jobs: 4, json: true, possible: powerPossible}
	var out, log bytes.Buffer
	require.NoError(t, f.run(t.Context(), &out, &log), "%s", &log)
	var result evidence.Power
	require.NoError(t, json.Unmarshal(out.Bytes(), &result))
	require.Len(t, result.Trials, 12)
	caught := map[string]int{}
	for _, trial := range result.Trials {
		if trial.Control() {
			require.True(t, trial.Caught(), trial.Name)
			caught[trial.Breaks]++
		} else {
			require.Equal(t, string(comparison.Pass), trial.Verdict, trial.Name)
		}
		if trial.Name == "journal-outcome-written" && trial.Lot {
			require.Greater(t, trial.Pending, 8, "at least a page is written and not synced")
			require.Greater(t, trial.Draws, 1)
		}
	}
	require.Equal(t, map[string]int{"I2": 2, "I4": 2, "I10": 2}, caught)
}
