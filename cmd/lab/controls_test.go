package main

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/controls"
	"refundlab/evidence"
	"refundlab/refund"
)

func TestControlsRefusesWhatWouldSelectNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		text string
	}{
		{"a control that is not there", []string{"--control", "no-fences"}, `--control "no-fences" begins no control's name: they are done-before-effect`},
		{"an empty control", []string{"--control", ""}, "--control is empty"},
		{"an unknown engine", []string{"--engine", "cadence"}, `--engine "cadence" is unknown`},
		{"a control of the other engine", []string{"--control", "signals-not-drained", "--engine", "handrolled"}, "no control that is asked for exists on this engine"},
		{"no jobs", []string{"--jobs", "0"}, "--jobs is 0"},
		{"an argument", []string{"everything"}, "everything"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out, log := lab(t, append([]string{"controls"}, c.args...)...)
			require.Equal(t, refund.ExitInvalidInput, status)
			require.Empty(t, out)
			require.Contains(t, log, c.text)
		})
	}
}

func TestAControlIsBuiltPlayedAndCaught(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "runs", "kept.jsonl")
	args := []string{"controls", "--control", "refusal-not-stored", "--engine", "handrolled", "--json", "--resume", kept}
	status, out, log := lab(t, args...)
	require.Equal(t, 0, status, log)
	var result evidence.Controls
	require.NoError(t, json.Unmarshal([]byte(out), &result))
	require.True(t, result.Passed())
	require.Len(t, result.Controls, 1)
	require.Equal(t, []string{"provider/ledger/accept.go"}, result.Controls[0].Files)
	require.Contains(t, result.Controls[0].Trials[0].Reported, "I3")
	require.True(t, result.Controls[0].Trials[0].Killed(), "the same build passes without the fault")
	require.Equal(t, evidence.ArmClean, result.Controls[0].Trials[0].Clean.Arm)
	require.Len(t, result.Baseline, 1)
	require.Contains(t, log, "caught     refusal-not-stored")
	require.Regexp(t, "/3 pass +refusal-not-stored refusal-lost/handrolled/full/clean", log)
	require.NoDirExists(t, "report", "only a whole run with its matrix writes the committed result")

	// What was done is not played again, and nothing else is taken for it.
	status, again, log := lab(t, args...)
	require.Equal(t, 0, status, log)
	require.NotContains(t, log, "caught")
	var resumed evidence.Controls
	require.NoError(t, json.Unmarshal([]byte(again), &resumed))
	require.Equal(t, result.Controls, resumed.Controls)
	require.Equal(t, result.Baseline, resumed.Baseline)
	status, _, log = lab(t, "controls", "--control", "refusal-not", "--engine", "handrolled", "--resume", kept)
	require.Equal(t, refund.ExitInvalidInput, status)
	require.Contains(t, log, "was written for other flags")
}

// A suite that is blind, and one that is not built at all, must not pass.
func TestAControlThatChangesNothingOrDoesNotBuildFailsTheRun(t *testing.T) {
	cell := []controls.Cell{{Scenario: "refusal-lost", Engine: handrolledEngine, Profile: "full", Checks: []string{"I3"}}}
	replaced := func(text string) []controls.Replacement {
		return []controls.Replacement{{File: "provider/ledger/accept.go", Old: "// check is the provider's own reading", New: text}}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	flags := controlsFlags{jobs: 2}
	var out, log bytes.Buffer
	err := flags.run(ctx, []controls.Control{
		{Name: "nothing-broken", Executables: []string{"provider"}, Replacements: replaced("// check is what the provider reads"), Finds: cell},
		{Name: "no-program", Executables: []string{"provider"}, Replacements: replaced("var _ = noSuchThing\n\n// check is what it reads"), Finds: cell},
		{Name: "out-of-date", Executables: []string{"provider"}, Replacements: []controls.Replacement{{File: "provider/ledger/accept.go", Old: "no such text", New: "x"}}, Finds: cell},
	}, &out, &log)
	require.Equal(t, refund.CodeNotPassed, refund.CodeOf(err), log.String())
	require.Contains(t, out.String(), "NOT CAUGHT: pass")
	require.Contains(t, out.String(), "DID NOT BUILD")
	require.Contains(t, log.String(), "undefined: noSuchThing")
	require.Contains(t, log.String(), "holds 0 times what is to be replaced")
	require.Contains(t, out.String(), "0 of 3 controls caught; the unbroken system passes 1 of the 1 cells")
}
