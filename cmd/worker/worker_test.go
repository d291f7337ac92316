package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/binaries"
	"refundlab/handrolled"
	"refundlab/refund"
)

// deadline ends a wait of these tests that should never last.
const deadline = 30 * time.Second

func TestBadInputIsRefusedBeforeAnythingIsOpened(t *testing.T) {
	dir := t.TempDir()
	badOrders := filepath.Join(dir, "orders.json")
	require.NoError(t, os.WriteFile(badOrders, []byte(`[{"tenant":"shop","id":"o1","colour":"red"}]`), 0o600))
	journal := filepath.Join(dir, "journal.db")
	handrolled := func(more ...string) []string {
		return append([]string{"--engine", "handrolled", "--journal", journal, "--name", "A", "--provider", "http://127.0.0.1:1"}, more...)
	}
	temporal := func(more ...string) []string {
		return append([]string{"--engine", "temporal", "--temporal-address", "127.0.0.1:1", "--name", "A", "--provider", "http://127.0.0.1:1"}, more...)
	}
	for _, test := range []struct {
		name string
		args []string
		code refund.Code
		text string
	}{
		{"no name", []string{"--engine", "handrolled", "--journal", journal, "--provider", "http://127.0.0.1:1"}, "INVALID_FLAG", `required flag(s) "name" not set`},
		{"name empty", handrolled("--name", ""), "INVALID_IDENTITY", "worker name is empty"},
		{"name with a control character", handrolled("--name", "A\n"), "INVALID_IDENTITY", "worker name"},
		{"no engine", []string{"--name", "A", "--provider", "http://127.0.0.1:1"}, "INVALID_FLAG", "--engine is missing"},
		{"engine unknown", handrolled("--engine", "cadence"), "INVALID_FLAG", `--engine "cadence" is unknown`},
		{"flag unknown", handrolled("--speed", "9"), "INVALID_FLAG", "unknown flag: --speed"},
		{"argument", handrolled("now"), "INVALID_FLAG", `unknown command "now"`},
		{"provider not a URL", handrolled("--provider", "localhost"), "INVALID_FLAG", `provider URL "localhost" is not usable`},
		{"model not a URL", handrolled("--model", "gpt"), "INVALID_FLAG", `model URL "gpt" is not usable`},
		{"receiver not a URL", handrolled("--notices", "ftp://host"), "INVALID_FLAG", `notice receiver URL "ftp://host" is not usable`},
		{"lease zero", handrolled("--lease", "0s"), "INVALID_FLAG", "--lease is 0s"},
		{"lease of a day", handrolled("--lease", "24h"), "INVALID_FLAG", "--lease is 24h0m0s"},
		{"sticky flags on the journal", handrolled("--sticky-cache", "0"), "INVALID_FLAG", "--sticky-cache means nothing to --engine handrolled"},
		{"lease on Temporal", temporal("--lease", "5s"), "INVALID_FLAG", "--lease means nothing to --engine temporal"},
		{"sticky cache negative", temporal("--sticky-cache", "-1"), "INVALID_FLAG", "--sticky-cache is -1"},
		{"sticky time-out zero", temporal("--sticky-timeout", "0s"), "INVALID_FLAG", "--sticky-timeout is 0s"},
		{"log level unknown", handrolled("--log-level", "loud"), "INVALID_FLAG", `--log-level "loud" is unknown`},
		{"log format unknown", handrolled("--log-format", "xml"), "INVALID_FLAG", `--log-format "xml" is unknown`},
		{"no file of orders", handrolled("--local-orders", filepath.Join(dir, "none")), "INVALID_FLAG", "--local-orders cannot be read"},
		{"orders with an unknown key", handrolled("--local-orders", badOrders), "INVALID_BODY", "order 1"},
		{"health without a URL", []string{"health"}, "INVALID_FLAG", `required flag(s) "url" not set`},
		{"health of no URL", []string{"health", "--url", "9090"}, "INVALID_FLAG", `--url "9090" is not usable`},
		{"health of nobody", []string{"health", "--url", "http://127.0.0.1:1"}, "UNAVAILABLE", "worker does not answer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			requireRefused(t, test.args, test.code, test.text)
			require.NoFileExists(t, journal)
		})
	}
}

func TestWhatCannotBeHadEndsTheWorker(t *testing.T) {
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage.db")
	require.NoError(t, os.WriteFile(garbage, bytes.Repeat([]byte("not a database. "), 512), 0o600))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	on := func(journal string, more ...string) []string {
		return append([]string{"--engine", "handrolled", "--journal", journal, "--name", "A", "--provider", "http://127.0.0.1:1"}, more...)
	}
	requireRefused(t, on(garbage), refund.CodeStoreUnreadable, garbage)
	requireRefused(t, on(filepath.Join(dir, "none", "journal.db")), refund.CodeStoreUnreadable, "none")
	requireRefused(t, on(filepath.Join(dir, "journal.db"), "--health-listen", taken.Addr().String()), refund.CodePortInUse, taken.Addr().String())
	requireRefused(t, on(filepath.Join(dir, "journal.db"), "--health-listen", "nowhere"), refund.CodeInvalidFlag, `--health-listen "nowhere"`)
	requireRefused(t, []string{"--engine", "temporal", "--temporal-address", "127.0.0.1:1", "--name", "A", "--provider", "http://127.0.0.1:1"},
		refund.CodeUnavailable, "127.0.0.1:1")
}

// requireRefused runs a command line twice: for a person and for a program.
func requireRefused(t *testing.T, args []string, code refund.Code, text string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	exit := run(t.Context(), args, nil, &stdout, &stderr)
	require.Equal(t, refund.ExitStatus(code), exit, stderr.String())
	require.Empty(t, stdout.String(), "not ready")
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	require.True(t, strings.HasPrefix(lines[len(lines)-1], string(code)+": "), stderr.String())
	require.Contains(t, stderr.String(), text)

	stdout.Reset()
	require.Equal(t, exit, run(t.Context(), append([]string{"--json"}, args...), nil, &stdout, io.Discard))
	var answer struct{ Error struct{ Code string } }
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &answer), stdout.String())
	require.Equal(t, string(code), answer.Error.Code)
}

// holdingProvider is a provider that keeps its first question, for an order, until it is let go, and then answers that
// there is no such order.
func holdingProvider(t *testing.T) (url string, asked <-chan struct{}, letGo func()) {
	t.Helper()
	arrived, held := make(chan struct{}, 1), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case arrived <- struct{}{}:
		default:
		}
		select {
		case <-held:
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"code":"ORDER_NOT_FOUND","message":"no such order"}`)
	}))
	t.Cleanup(server.Close)
	release := func() { close(held) }
	return server.URL, arrived, release
}

// journalWithRequest is a journal with one run whose calls may take a minute.
func journalWithRequest(t *testing.T) (file string, view func() refund.View) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "journal.db")
	store, err := handrolled.Open(file, handrolled.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	client := &handrolled.Client{Journal: store, Name: "test"}
	stored, _, err := client.Request(t.Context(), refund.Request{
		Tenant: "shop", RequestID: "r-1", Order: "o1", Amount: refund.Money{Minor: 4200, Currency: "EUR"}, Reason: "broken", Requester: "alice",
	}, refund.Terms{CallTimeout: time.Minute.Milliseconds()})
	require.NoError(t, err)
	return file, func() refund.View {
		view, err := client.View(t.Context(), stored.OperationID)
		require.NoError(t, err)
		return view
	}
}

// Asked to stop, a worker finishes the call that is under way and records what it showed; a cut call would be lost knowledge.
func TestAStopFinishesWhatIsInFlight(t *testing.T) {
	provider, asked, letGo := holdingProvider(t)
	journal, view := journalWithRequest(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	exited := make(chan int, 1)
	ready, stdout := io.Pipe()
	go func() {
		exited <- run(ctx, []string{"--engine", "handrolled", "--journal", journal, "--name", "A", "--provider", provider}, nil, stdout, io.Discard)
	}()
	line, err := bufio.NewReader(ready).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready A\n", line)
	await(t, asked)
	stop()
	letGo()
	require.Zero(t, await(t, exited))
	require.Equal(t, refund.CodeOrderNotFound, view().Reason, "the answer that came after the stop is recorded")
}

// A line of the log names the worker once, whether the command wrote it or the engine.
func TestTheLogNamesTheWorkerOnce(t *testing.T) {
	provider, _, letGo := holdingProvider(t)
	letGo() // it has no order and takes no notice, which the engine logs
	journal, _ := journalWithRequest(t)
	ctx, stop := context.WithTimeout(t.Context(), deadline)
	defer stop()
	log, stderr := io.Pipe()
	exited := make(chan int, 1)
	go func() {
		exited <- run(ctx, []string{"--engine", "handrolled", "--journal", journal, "--name", "A", "--provider", provider}, nil, io.Discard, stderr)
		_ = stderr.Close()
	}()
	fromEngine := false
	for lines := bufio.NewScanner(log); lines.Scan(); {
		require.Equal(t, 1, strings.Count(lines.Text(), "worker=A"), lines.Text())
		if strings.Contains(lines.Text(), "operation=") {
			fromEngine = true
			stop()
		}
	}
	require.True(t, fromEngine, "the engine logged nothing")
	require.Zero(t, await(t, exited))
}

// A second signal ends the worker although a call is under way.
func TestASecondSignalEndsTheWorkerAtOnce(t *testing.T) {
	paths, err := binaries.Build(t.Context(), os.Stderr, binaries.Worker)
	require.NoError(t, err)
	provider, asked, _ := holdingProvider(t)
	journal, _ := journalWithRequest(t)
	process := exec.Command(paths[binaries.Worker], "--engine", "handrolled", "--journal", journal, "--name", "A", "--provider", provider, "--log-format", "json")
	log, err := process.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, process.Start())
	defer process.Process.Kill() // it has ended unless the test failed
	stopping := make(chan struct{}, 1)
	go func() {
		for lines := bufio.NewScanner(log); lines.Scan(); {
			var entry struct{ Msg, Worker string }
			if json.Unmarshal(lines.Bytes(), &entry) == nil && strings.HasPrefix(entry.Msg, "worker is stopping") && entry.Worker == "A" {
				stopping <- struct{}{}
				return
			}
		}
	}()
	await(t, asked)
	require.NoError(t, process.Process.Signal(syscall.SIGTERM))
	await(t, stopping)
	require.NoError(t, process.Process.Signal(syscall.SIGTERM))
	exited := make(chan error, 1)
	go func() { exited <- process.Wait() }()
	require.ErrorContains(t, await(t, exited), "signal: terminated")
}

// Health is whether the worker could take work, as a container's health check asks it.
func TestHealthIsAskedFromOutside(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	require.NoError(t, free.Close())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	exited := make(chan int, 1)
	ready, stdout := io.Pipe()
	journal := filepath.Join(t.TempDir(), "journal.db")
	go func() {
		exited <- run(ctx, []string{"--engine", "handrolled", "--journal", journal, "--name", "A", "--provider", "http://127.0.0.1:1", "--health-listen", address}, nil, stdout, io.Discard)
	}()
	_, err = bufio.NewReader(ready).ReadString('\n')
	require.NoError(t, err)
	var stderr bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"health", "--url", "http://" + address}, nil, io.Discard, &stderr), stderr.String())
	stop()
	require.Zero(t, await(t, exited))
	require.Equal(t, refund.ExitUnavailable, run(t.Context(), []string{"health", "--url", "http://" + address}, nil, io.Discard, io.Discard))
}

func await[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case value := <-c:
		return value
	case <-time.After(deadline):
		require.FailNow(t, "nothing came in time")
		panic("unreachable")
	}
}
