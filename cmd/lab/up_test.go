package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/cmd/internal/cmdline"
	"refundlab/refund"
)

// asLab holds the arguments with which this test binary is to be the command lab.
const asLab = "REFUNDLAB_TEST_AS_LAB"

func TestAsLab(*testing.T) {
	if args := os.Getenv(asLab); args != "" {
		ctx, _ := cmdline.UntilSignal(context.Background())
		os.Exit(run(ctx, strings.Split(args, "\n"), os.Stdin, os.Stdout, os.Stderr))
	}
}

// upWithin bounds a start with warm caches and an end of everything, on a busy machine.
const upWithin = 90 * time.Second

// labUp starts "lab up" as a process and returns once it says that everything serves.
func labUp(t *testing.T, dir string) (lab *exec.Cmd, exited <-chan error, log *bytes.Buffer) {
	t.Helper()
	lab = exec.Command(os.Args[0], "-test.run=^TestAsLab$")
	lab.Env = append(os.Environ(), asLab+"="+strings.Join([]string{"up", "--dir", dir}, "\n"))
	log = &bytes.Buffer{}
	lab.Stderr = log
	stdout, err := lab.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, lab.Start())
	t.Cleanup(func() { _ = lab.Process.Kill() }) // has ended, unless the test failed
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if lines.Text() == "ready "+dir {
				close(ready)
			}
		}
		ended <- lab.Wait()
	}()
	select {
	case <-ready:
	case err := <-ended:
		require.FailNow(t, "lab up ended", "%v: %s", err, log)
	case <-time.After(upWithin):
		require.FailNow(t, "lab up is not ready")
	}
	return lab, ended, log
}

func ending(t *testing.T, exited <-chan error) error {
	t.Helper()
	select {
	case err := <-exited:
		return err
	case <-time.After(upWithin):
		require.FailNow(t, "lab up does not end")
		return nil
	}
}

// processesOf lists the processes whose command line names the directory.
func processesOf(t *testing.T, dir string) map[int]string {
	t.Helper()
	found := map[int]string{}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, path := range lines {
		text, err := os.ReadFile(path)
		if err == nil && bytes.Contains(text, []byte(dir+"/")) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			found[pid] = strings.ReplaceAll(string(text), "\x00", " ")
		}
	}
	return found
}

// One command gives both engines to play with; Ctrl-C ends all of it, and a kill too; started again on its directory it goes on;
// and if one part dies, everything ends and says why.
func TestUpIsAPlaygroundThatEndsAsAWhole(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	lab, exited, _ := labUp(t, dir)
	starter := func(script string, verb ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), upWithin)
		defer cancel()
		args := slices.Concat(verb, []string{"--tenant", "shop", "--request-id", script})
		out, err := exec.CommandContext(ctx, filepath.Join(dir, script), args...).CombinedOutput()
		require.NoError(t, err, "%s %v: %s", script, verb, out)
		return string(out)
	}
	for _, script := range []string{onTemporal, onJournal} {
		starter(script, "request", "--order", "o1", "--amount", "42.00", "--currency", "EUR", "--reason", "broken on arrival", "--requester", "alice")
		starter(script, "watch", "--until", "APPROVAL_REQUIRED")
		starter(script, "approve", "--as", "bob")
		starter(script, "watch", "--until", "CONFIRMED")
		require.Regexp(t, `(?m)^world +refunded 42\.00 EUR`, starter(script, "status"))
	}
	require.NotEmpty(t, processesOf(t, dir))
	require.NoError(t, lab.Process.Signal(syscall.SIGINT))
	require.NoError(t, ending(t, exited))
	require.Empty(t, processesOf(t, dir), "everything is gone")
	for _, worker := range []string{"temporal-1", "journal-1"} {
		said, err := os.ReadFile(filepath.Join(dir, worker+".log"))
		require.NoError(t, err)
		require.Contains(t, string(said), "worker is stopping", "it was asked to end and not killed")
	}

	lab, exited, _ = labUp(t, dir)
	require.NoError(t, lab.Process.Kill())
	require.ErrorContains(t, ending(t, exited), "killed")
	require.Eventually(t, func() bool { return len(processesOf(t, dir)) == 0 }, upWithin, 10*time.Millisecond, "no child outlives its parent")

	_, exited, log := labUp(t, dir)
	for _, script := range []string{onTemporal, onJournal} {
		require.Regexp(t, `(?m)^status +CONFIRMED`, starter(script, "status"))
	}
	for pid, line := range processesOf(t, dir) {
		if strings.Contains(line, "provider.db") {
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		}
	}
	var status *exec.ExitError
	require.ErrorAs(t, ending(t, exited), &status)
	require.Equal(t, refund.ExitUnavailable, status.ExitCode())
	require.Contains(t, log.String(), "UNAVAILABLE: provider ended (signal: killed)")
	require.Empty(t, processesOf(t, dir))
}

func TestUpRefusesWhatItCannotStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, test := range []struct {
		args []string
		code refund.Code
		text string
	}{
		{[]string{"--profile", "perfect"}, refund.CodeInvalidProfile, `profile "perfect" is unknown`},
		{[]string{"--profile", "local"}, refund.CodeInvalidProfile, "no provider of its own"},
		{[]string{"--temporal-address", "localhost"}, refund.CodeInvalidFlag, `Temporal address "localhost" is not HOST:PORT`},
		{[]string{"--temporal-address", ""}, refund.CodeInvalidFlag, `Temporal address "" is not HOST:PORT`},
		{[]string{"--temporal-address", "localhost:7233", "--temporal-cli", "temporal"}, refund.CodeInvalidFlag, "temporal-address temporal-cli"},
		{[]string{"now"}, refund.CodeInvalidFlag, `unknown command "now"`},
		{[]string{"--speed", "9"}, refund.CodeInvalidFlag, "unknown flag: --speed"},
		{[]string{"--dir", filepath.Join(file, "below")}, refund.CodeStoreUnreadable, "no directory for the data"},
	} {
		var stderr bytes.Buffer
		exit := run(t.Context(), append([]string{"up"}, test.args...), nil, io.Discard, &stderr)
		require.Equal(t, refund.ExitStatus(test.code), exit, "%v: %s", test.args, &stderr)
		require.Contains(t, stderr.String(), string(test.code)+": ")
		require.Contains(t, stderr.String(), test.text)
	}
}
