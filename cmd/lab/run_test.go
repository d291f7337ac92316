package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

// lab runs the command in this process and returns its exit status and what it printed.
func lab(t *testing.T, args ...string) (status int, out, log string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	status = run(ctx, args, nil, &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

func TestRunRefusesWhatWouldSelectNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		code refund.Code
		text string
	}{
		{"a scenario that is not there", []string{"--scenario", "l07"}, refund.CodeInvalidFlag, `--scenario "l07" begins no scenario's name: they are l06-1-`},
		{"an unknown engine", []string{"--engine", "cadence"}, refund.CodeInvalidFlag, `--engine "cadence" is unknown: it is temporal or handrolled`},
		{"an unknown profile", []string{"--profile", "best"}, refund.CodeInvalidProfile, `profile "best" is unknown`},
		{"a profile that the scenario does not have", []string{"--scenario", "stale-not-found", "--profile", "opaque"}, refund.CodeInvalidFlag, "no scenario has a cell"},
		{"an empty scenario", []string{"--scenario", ""}, refund.CodeInvalidFlag, "--scenario is empty"},
		{"an empty engine", []string{"--engine", ""}, refund.CodeInvalidFlag, "--engine is empty"},
		{"an empty profile", []string{"--profile", ""}, refund.CodeInvalidFlag, "--profile is empty"},
		{"nothing that applies", []string{"--scenario", "l06-1", "--engine", "temporal", "--profile", "local"}, refund.CodeInvalidFlag, "there is nothing to play: the server's history"},
		{"an address that is none", []string{"--temporal-address", "nope"}, refund.CodeInvalidFlag, `Temporal's address "nope" is not HOST:PORT`},
		{"no jobs", []string{"--jobs", "0"}, refund.CodeInvalidFlag, "--jobs is 0: it must be from 1 to 64"},
		{"two servers", []string{"--temporal-address", "a:1", "--temporal-cli", "b"}, refund.CodeInvalidFlag, "temporal-address temporal-cli"},
		{"a schedule for everything", []string{"--schedule", "testdata/refund-card.json"}, refund.CodeInvalidFlag, "--schedule is for one scenario"},
		{"a schedule that is none", []string{"--schedule", "testdata/refund-card.json", "--scenario", "l06-2", "--engine", "handrolled", "--profile", "full"}, refund.CodeInvalidBody, "--schedule testdata/refund-card.json"},
		{"a schedule that is null", []string{"--schedule", "testdata/null.json", "--scenario", "l06-2", "--engine", "handrolled", "--profile", "full"}, refund.CodeInvalidBody, "holds no schedule"},
		{"a schedule that is not there", []string{"--schedule", "nothing", "--scenario", "l06-2", "--engine", "handrolled", "--profile", "full"}, refund.CodeInvalidFlag, "--schedule cannot be read"},
		{"an argument", []string{"everything"}, refund.CodeInvalidFlag, "everything"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out, log := lab(t, append([]string{"run", "--out", t.TempDir()}, c.args...)...)
			require.Equal(t, refund.ExitInvalidInput, status)
			require.Empty(t, out)
			require.Contains(t, log, string(c.code)+": ")
			require.Contains(t, log, c.text)
		})
	}
}

func TestRunPlaysNothingAgainstAServerThatIsNotThere(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	status, out, log := lab(t, "run", "--out", t.TempDir(), "--temporal-address", closed.Addr().String())
	require.Equal(t, refund.ExitUnavailable, status)
	require.Empty(t, out)
	require.Contains(t, log, "UNAVAILABLE: no Temporal server answers at "+closed.Addr().String())
}

func TestFilteredRunReportsIntoItsOwnDirectory(t *testing.T) {
	dir := t.TempDir()
	status, out, log := lab(t, "run", "--out", dir, "--scenario", "l06-2", "--engine", "handrolled", "--profile", "full")
	require.Equal(t, 0, status, log)
	require.Contains(t, log, "2/2 pass")
	require.Contains(t, out, "l06-2-answer-lost-after-commit  handrolled  2 ")
	require.Contains(t, out, "2 cells in ")
	require.NoFileExists(t, reportFile, "only the whole suite writes the committed report")
	reports, err := filepath.Glob(filepath.Join(dir, "*", reportFile))
	require.NoError(t, err)
	require.Len(t, reports, 1)
	report, err := os.ReadFile(reports[0])
	require.NoError(t, err)

	status, again, log := lab(t, "report", filepath.Join(filepath.Dir(reports[0]), "evidence"))
	require.Equal(t, 0, status)
	require.Equal(t, string(report), again, "the same evidence gives the same report byte for byte")
	require.Contains(t, log, "evidence SHA-256 ")

	// The schedule that was saved is played again.
	trials, err := filepath.Glob(filepath.Join(filepath.Dir(reports[0]), "evidence", "*", "*", "*", "fault", "trial.json"))
	require.NoError(t, err)
	require.Len(t, trials, 1)
	status, out, _ = lab(t, "run", "--out", t.TempDir(), "--scenario", "l06-2", "--engine", "handrolled", "--profile", "full", "--schedule", trials[0])
	require.Equal(t, 0, status, out)
	other := filepath.Join(t.TempDir(), "schedule.json")
	require.NoError(t, os.WriteFile(other, []byte(`[{"name":"lost","point":"provider-call.after","nth":1,"action":"duplicate"}]`), 0o600))
	status, out, _ = lab(t, "run", "--out", t.TempDir(), "--scenario", "l06-2", "--engine", "handrolled", "--profile", "full", "--schedule", other)
	require.Equal(t, refund.ExitInternal, status)
	require.Contains(t, out, "another schedule was played than the matrix has")

	// The evidence of one trial is touched: it is worth nothing any more.
	traces, err := filepath.Glob(filepath.Join(filepath.Dir(reports[0]), "evidence", "*", "*", "*", "fault", "trace.jsonl"))
	require.NoError(t, err)
	require.Len(t, traces, 1)
	require.NoError(t, os.Truncate(traces[0], 100))
	status, again, _ = lab(t, "report", filepath.Join(filepath.Dir(reports[0]), "evidence"))
	require.Equal(t, refund.ExitInternal, status)
	require.Contains(t, again, "invalid")
}

func TestReportRefusesWhatIsNoEvidence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pack.tar.gz")
	require.NoError(t, os.WriteFile(file, []byte("no pack"), 0o600))
	for _, path := range []string{t.TempDir(), file, filepath.Join(t.TempDir(), "nothing")} {
		status, out, log := lab(t, "report", path)
		require.Equal(t, refund.ExitInvalidInput, status)
		require.Empty(t, out)
		require.Contains(t, log, "INVALID_FLAG: ")
	}
}

func TestMemoryOfThisProcessIsSeen(t *testing.T) {
	const page = 4096
	require.Greater(t, residentMemory(os.Getpid()), int64(page))
	require.Zero(t, residentMemory(-1))
}
