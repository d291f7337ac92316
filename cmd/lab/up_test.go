package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
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

// playing is "lab up" as a process.
type playing struct {
	*exec.Cmd
	dir      string
	out, log transcript
	exited   chan error
}

// transcript is what a process wrote, readable while it writes.
type transcript struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (t *transcript) Write(p []byte) (int, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.text.Write(p)
}

func (t *transcript) String() string {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.text.String()
}

// labUp starts "lab up" and returns once it says that everything serves.
func labUp(t *testing.T, dir string) *playing {
	t.Helper()
	lab := &playing{Cmd: exec.Command(os.Args[0], "-test.run=^TestAsLab$"), dir: dir, exited: make(chan error, 1)}
	lab.Env = append(os.Environ(), asLab+"="+strings.Join([]string{"up", "--dir", dir}, "\n"))
	lab.Stdout, lab.Stderr = &lab.out, &lab.log
	require.NoError(t, lab.Start())
	t.Cleanup(func() { _ = lab.Process.Kill() }) // has ended, unless the test failed
	go func() { lab.exited <- lab.Wait() }()
	require.Eventually(t, func() bool {
		return strings.Contains(lab.out.String(), "Ctrl-C") || len(lab.exited) > 0
	}, upWithin, 10*time.Millisecond, "lab up is not ready")
	require.Contains(t, lab.out.String(), "ready "+dir+"\n", lab.log.String())
	return lab
}

// pid is the process id that the tour prints beside a name.
func (p *playing) pid(t *testing.T, name string) int {
	t.Helper()
	found := regexp.MustCompile(name + `[^(\n]*\(pid (\d+)\)`).FindStringSubmatch(p.out.String())
	require.NotNil(t, found, "%s in %s", name, &p.out)
	pid, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	return pid
}

// script runs one of the scripts in the directory and wants the exit status.
func (p *playing) script(t *testing.T, exit int, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), upWithin)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(p.dir, name), args...)
	out, err := command.CombinedOutput()
	require.NotNil(t, command.ProcessState, "%v", err)
	require.Equal(t, exit, command.ProcessState.ExitCode(), "%s %v: %s", name, args, out)
	return string(out)
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
// and if what the workers work with dies, everything ends and says why.
func TestUpIsAPlaygroundThatEndsAsAWhole(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	lab := labUp(t, dir)
	starter := func(script string, verb ...string) string {
		return lab.script(t, refund.ExitOK, script, append(verb, "--tenant", "shop", "--request-id", script)...)
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
	require.NoError(t, ending(t, lab.exited))
	require.Empty(t, processesOf(t, dir), "everything is gone")
	for _, worker := range []string{"temporal-1", "journal-1"} {
		said, err := os.ReadFile(filepath.Join(dir, worker+".log"))
		require.NoError(t, err)
		require.Contains(t, string(said), "worker is stopping", "it was asked to end and not killed")
	}

	lab = labUp(t, dir)
	require.NoError(t, lab.Process.Kill())
	require.ErrorContains(t, ending(t, lab.exited), "killed")
	require.Eventually(t, func() bool { return len(processesOf(t, dir)) == 0 }, upWithin, 10*time.Millisecond, "no child outlives its parent")

	lab = labUp(t, dir)
	for _, script := range []string{onTemporal, onJournal} {
		require.Regexp(t, `(?m)^status +CONFIRMED`, starter(script, "status"))
	}
	require.NoError(t, syscall.Kill(lab.pid(t, "provider"), syscall.SIGKILL))
	var status *exec.ExitError
	require.ErrorAs(t, ending(t, lab.exited), &status)
	require.Equal(t, refund.ExitUnavailable, status.ExitCode())
	require.Regexp(t, `\nUNAVAILABLE: provider \(pid \d+\) ended \(signal: killed\): see its log \S+/provider\.log\n$`, lab.log.String())
	require.Empty(t, processesOf(t, dir))
}

// A worker may be killed while a person decides: both engines go on with the next one. Meanwhile nobody else may run on the
// directory, and what the user has changed there stays.
func TestUpGoesOnWithoutAWorker(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	own := strings.Replace(seedOrders, "10000", "7000", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "orders.json"), []byte(own), 0o600))
	lab := labUp(t, dir)
	kept, err := os.ReadFile(filepath.Join(dir, "orders.json"))
	require.NoError(t, err)
	require.Equal(t, own, string(kept))

	var stderr bytes.Buffer
	second := run(t.Context(), []string{"up", "--dir", dir, "--temporal-address", "127.0.0.1:1"}, nil, io.Discard, &stderr)
	require.Equal(t, refund.ExitUnavailable, second)
	require.Regexp(t, "^STORE_LOCKED: another lab up runs on directory "+dir+".*\n$", stderr.String())

	on := func(exit int, script string, verb ...string) string {
		return lab.script(t, exit, script, append(verb, "--tenant", "shop", "--request-id", script)...)
	}
	for _, script := range []string{onTemporal, onJournal} {
		on(refund.ExitOK, script, "request", "--order", "o1", "--amount", "35.00", "--currency", "EUR", "--reason", "broken on arrival", "--requester", "alice")
		on(refund.ExitOK, script, "watch", "--until", "APPROVAL_REQUIRED")
	}
	for worker, replacement := range map[string]string{temporalName: temporalWorker, journalName: journalWorker} {
		pid := lab.pid(t, worker)
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		require.NoError(t, err)
		require.Contains(t, string(line), "\x00"+worker+"\x00")
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		told := fmt.Sprintf("%[1]s (pid %[2]d) ended (signal: killed): its log is %[3]s/%[1]s.log, and '%[3]s/%[4]s' starts another one\n", worker, pid, dir, replacement)
		require.Eventually(t, func() bool { return strings.Contains(lab.log.String(), told) }, upWithin, 10*time.Millisecond, "%s", told)
	}
	approve := []string{"approve", "--as", "bob", "--decision-id", "d-1"}
	require.Contains(t, on(refund.ExitVerdictPending, onTemporal, append(approve, "--wait", "2s")...), "VERDICT_PENDING: ")
	require.Contains(t, on(refund.ExitOK, onJournal, append(approve, "--wait", "2s")...), "ACCEPTED")

	var endWorkers []func()
	for script, replacement := range map[string]string{onTemporal: temporalWorker, onJournal: journalWorker} {
		worker := exec.Command(filepath.Join(dir, replacement), "--log-level", "error")
		// A shell in which Temporal's settings point somewhere else.
		worker.Env = append(os.Environ(), "TEMPORAL_NAMESPACE=elsewhere", "TEMPORAL_TLS=true")
		var said transcript
		worker.Stdout, worker.Stderr = &said, &said
		require.NoError(t, worker.Start())
		t.Cleanup(func() { _ = worker.Process.Kill() }) // has ended, unless the test failed
		endWorkers = append(endWorkers, func() {
			require.NoError(t, worker.Process.Signal(syscall.SIGINT))
			require.NoError(t, worker.Wait(), said.String())
			require.Regexp(t, "^ready (temporal|journal)-"+strconv.Itoa(worker.Process.Pid)+"\n", said.String())
		})
		require.Contains(t, on(refund.ExitOK, script, approve...), "ACCEPTED")
	}
	ends := on(refund.ExitOK, onTemporal, "watch") + on(refund.ExitOK, onJournal, "watch")
	require.Contains(t, ends, "CONFIRMED")
	require.Empty(t, lab.exited, "it went on all the time")
	for _, end := range endWorkers {
		end()
	}
	require.NoError(t, lab.Process.Signal(syscall.SIGINT))
	require.NoError(t, ending(t, lab.exited), "a worker that was told as dead is no failure of the end")
}

func TestUpOverwritesOnlyItsOwnScripts(t *testing.T) {
	dir := t.TempDir()
	foreign := filepath.Join(dir, onTemporal)
	require.NoError(t, os.WriteFile(foreign, []byte("#!/bin/sh\nexec mine\n"), 0o600))
	var stderr bytes.Buffer
	exit := run(t.Context(), []string{"up", "--dir", dir, "--temporal-address", "127.0.0.1:1"}, nil, io.Discard, &stderr)
	require.Equal(t, refund.ExitConflict, exit)
	require.Equal(t, "ALREADY_EXISTS: "+foreign+" is there and was not written by lab up: move it away, or give another --dir\n", stderr.String())
	kept, err := os.ReadFile(foreign)
	require.NoError(t, err)
	require.Equal(t, "#!/bin/sh\nexec mine\n", string(kept))
}

func TestUpNamesTheLogOfWhatCannotStart(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "orders.json"), []byte("o1, o2"), 0o600))
	var stderr bytes.Buffer
	exit := run(t.Context(), []string{"up", "--dir", dir, "--temporal-address", "127.0.0.1:1"}, nil, io.Discard, &stderr)
	require.Equal(t, refund.ExitInvalidInput, exit)
	require.Regexp(t, `(?m)^INVALID_BODY: provider \(pid \d+\) ended \(exit status 2\): .*orders\.json.* \(log .*/provider\.log\)\n\z`, stderr.String())
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
