package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
	"refundlab/refund"
)

// asCommand makes the test binary be the command, so that the tests drive real processes.
const asCommand = "PROVIDER_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, os.Args[0], args...)
	c.Env = append(os.Environ(), asCommand+"=1")
	return c
}

// finish runs a command to its end.
func finish(t *testing.T, args ...string) (exit int, stdout, stderr string) {
	t.Helper()
	c := command(t, args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	_ = c.Run() // how it ended is what is asked below
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

// start runs a provider until it is ready; stop ends it by SIGTERM and returns its exit status.
func start(t *testing.T, args ...string) (url string, stop func() int) {
	t.Helper()
	c := command(t, append([]string{"serve"}, args...)...)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	var errs bytes.Buffer
	c.Stderr = &errs
	require.NoError(t, c.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, &errs)
	url, found := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	require.True(t, found, line)
	stopped := false
	stop = func() int {
		if !stopped {
			stopped = true
			require.NoError(t, c.Process.Signal(syscall.SIGTERM))
			_ = c.Wait()
		}
		return c.ProcessState.ExitCode()
	}
	t.Cleanup(func() { stop() })
	return url, stop
}

const orders = `[{"tenant":"shop","id":"o1","currency":"EUR","captured_minor":10000,"refunded_minor":0,"version":1}]`

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestAProviderServesUntilItIsTold(t *testing.T) {
	db := filepath.Join(t.TempDir(), "p.db")
	url, stop := start(t, "--db", db, "--orders", file(t, "orders.json", orders), "--profile", "lookup")
	exit, stdout, stderr := finish(t, "health", "--url", url)
	require.Zero(t, exit, stderr)
	require.Empty(t, stdout)

	response, err := http.Post(url+"/v1/refunds", "application/json", strings.NewReader(`{"tenant":"shop","kind":"refund",
		"operation_id":"5f1c6e0b-934a-5d7e-8a52-2bd071e84c39","order":"o1","amount":{"minor":4200,"currency":"EUR"},"reason":"broken",
		"order_version":1,"commit_by":4102444800000,"decision_id":"d1","fence":{"term":1,"seq":0}}`))
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	var receipt refund.Receipt
	require.NoError(t, json.NewDecoder(response.Body).Decode(&receipt))

	dump := func() evidence.Provider {
		exit, stdout, stderr := finish(t, "dump", "--db", db, "--profile", "lookup")
		require.Zero(t, exit, stderr)
		var world evidence.Provider
		require.NoError(t, json.Unmarshal([]byte(stdout), &world))
		return world
	}
	require.Equal(t, receipt.RefundID, dump().Ledger[0].RefundID, "while it serves")
	require.Zero(t, stop(), "SIGTERM is a clean stop")
	require.Len(t, dump().Ledger, 1, "and afterwards")
	exit, _, stderr = finish(t, "health", "--url", url)
	require.Equal(t, refund.ExitUnavailable, exit)
	require.Contains(t, stderr, "UNAVAILABLE: provider does not answer")
}

func TestBadInputIsRefusedAtOnce(t *testing.T) {
	db := filepath.Join(t.TempDir(), "p.db")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	locked := filepath.Join(t.TempDir(), "locked.db")
	holder, err := sql.Open("sqlite", "file:"+locked+"?_txlock=exclusive")
	require.NoError(t, err)
	defer holder.Close()
	tx, err := holder.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer tx.Rollback()
	noise := file(t, "noise.db", strings.Repeat("this is no database. ", 20))

	for _, c := range []struct {
		args []string
		exit int
		text string
	}{
		{[]string{"nothing"}, refund.ExitInvalidInput, `INVALID_FLAG: unknown command "nothing"`},
		{[]string{"serve"}, refund.ExitInvalidInput, `INVALID_FLAG: required flag(s) "db"`},
		{[]string{"serve", "--db", ""}, refund.ExitInvalidInput, "INVALID_FLAG: --db is empty"},
		{[]string{"serve", "--db", db, "extra"}, refund.ExitInvalidInput, "INVALID_FLAG: "},
		{[]string{"serve", "--db", db, "--colour", "red"}, refund.ExitInvalidInput, "INVALID_FLAG: unknown flag: --colour"},
		{[]string{"serve", "--db", db, "--profile", "perfect"}, refund.ExitInvalidInput, `INVALID_PROFILE: profile "perfect" is unknown`},
		{[]string{"serve", "--db", db, "--profile", "local"}, refund.ExitInvalidInput, "INVALID_PROFILE: profile \"local\" is the journal's"},
		{[]string{"serve", "--db", db, "--lag", "soon"}, refund.ExitInvalidInput, `INVALID_FLAG: --lag "soon"`},
		{[]string{"serve", "--db", db, "--lag", "-1s"}, refund.ExitInvalidInput, `INVALID_FLAG: --lag "-1s"`},
		{[]string{"serve", "--db", db, "--retention", "0s"}, refund.ExitInvalidInput, "INVALID_FLAG: --retention is 0s"},
		{[]string{"serve", "--db", db, "--retention", "long"}, refund.ExitInvalidInput, "INVALID_FLAG: invalid argument \"long\""},
		{[]string{"serve", "--db", db, "--listen", "nowhere"}, refund.ExitInvalidInput, `INVALID_FLAG: --listen "nowhere"`},
		{[]string{"serve", "--db", db, "--listen", taken.Addr().String()}, refund.ExitUnavailable, "PORT_IN_USE: --listen"},
		{[]string{"serve", "--db", db, "--record", db + ".record"}, refund.ExitInvalidInput, "INVALID_FLAG: --record without --control"},
		{[]string{"serve", "--db", locked}, refund.ExitUnavailable, "STORE_LOCKED: database"},
		{[]string{"serve", "--db", noise}, refund.ExitUnavailable, "STORE_UNREADABLE: database"},
		{[]string{"serve", "--db", t.TempDir()}, refund.ExitUnavailable, "STORE_UNREADABLE: database"},
		{[]string{"serve", "--db", db, "--orders", "absent.json"}, refund.ExitInvalidInput, "INVALID_FLAG: --orders cannot be read"},
		{[]string{"serve", "--db", db, "--orders", file(t, "o.json", "{}")}, refund.ExitInvalidInput, "INVALID_BODY: --orders"},
		{[]string{"serve", "--db", db, "--orders", file(t, "o.json", `[{"id":1}]`)}, refund.ExitInvalidInput, "order 1"},
		{[]string{"serve", "--db", db, "--orders", file(t, "o.json", strings.Replace(orders, "10000", "0", 1))}, refund.ExitInvalidInput, "INVALID_AMOUNT: "},
		{[]string{"dump", "--db", filepath.Join(t.TempDir(), "absent.db")}, refund.ExitUnavailable, "STORE_UNREADABLE: database"},
		{[]string{"dump", "--db", noise}, refund.ExitUnavailable, "STORE_UNREADABLE: database"},
		{[]string{"dump", "--db", db, "--profile", "perfect"}, refund.ExitInvalidInput, "INVALID_PROFILE: "},
		{[]string{"health", "--url", "here"}, refund.ExitInvalidInput, `INVALID_FLAG: --url "here"`},
	} {
		exit, stdout, stderr := finish(t, c.args...)
		require.Equal(t, c.exit, exit, "%v: %s", c.args, stderr)
		require.Contains(t, stderr, c.text, "%v", c.args)
		require.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %s", stderr)
		require.Empty(t, stdout, "%v: never ready", c.args)
	}
	exit, stdout, stderr := finish(t, "serve", "--json", "--db", locked)
	require.Equal(t, refund.ExitUnavailable, exit)
	require.Empty(t, stderr)
	require.Contains(t, stdout, `{"error":{"code":"STORE_LOCKED"`)
}

func TestHelpHasExamples(t *testing.T) {
	for _, args := range [][]string{{"serve", "--help"}, {"dump", "--help"}, {"health", "--help"}} {
		exit, stdout, _ := finish(t, args...)
		require.Zero(t, exit)
		require.Contains(t, stdout, "Examples:\n  provider "+args[0])
	}
}

// post sends one body that must be taken.
func post(t *testing.T, url, body string) {
	t.Helper()
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer response.Body.Close()
	require.Less(t, response.StatusCode, http.StatusInternalServerError)
}

func TestAKilledProviderGoesOnWhereItWas(t *testing.T) {
	dir := t.TempDir()
	args := []string{"serve", "--db", filepath.Join(dir, "p.db"), "--orders", file(t, "orders.json", orders), "--control", "--record", filepath.Join(dir, "p.record")}
	submission := func(id string) string {
		return `{"tenant":"shop","kind":"refund","operation_id":"` + id + `","order":"o1","amount":{"minor":100,"currency":"EUR"},"reason":"broken",
			"order_version":1,"commit_by":4102444800000,"decision_id":"d1","fence":{"term":1,"seq":0}}`
	}
	const first, second = "5f1c6e0b-934a-5d7e-8a52-2bd071e84c39", "0d4b8b1c-7c1f-5a44-9f6e-1f2d5b7a9c11"
	run := func() (*exec.Cmd, string) {
		c := command(t, args...)
		out, err := c.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, c.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		return c, strings.TrimPrefix(strings.TrimSpace(line), "ready ")
	}
	c, url := run()
	post(t, url+"/v1/refunds", submission(first))
	post(t, url+"/control/model", `{"answers":[{"kind":"cut"}]}`)
	require.NoError(t, c.Process.Kill())
	_ = c.Wait()
	require.Equal(t, "signal: killed", c.ProcessState.String())

	c, url = run()
	post(t, url+"/v1/refunds", submission(second))
	response, err := http.Get(url + "/control/evidence")
	require.NoError(t, err)
	defer response.Body.Close()
	var world evidence.Provider
	require.NoError(t, json.NewDecoder(response.Body).Decode(&world))
	require.Len(t, world.Ledger, 2)
	require.Len(t, world.Received, 2, "the killed process's arrivals are still there")
	require.Equal(t, []string{"committed", "committed"}, []string{world.Received[0].Outcome, world.Received[1].Outcome})
	require.Equal(t, first, string(world.Received[0].OperationID))
	require.NoError(t, c.Process.Kill())
	_ = c.Wait()
}
