package temporalserver_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"refundlab/binaries"
	"refundlab/refund"
	"refundlab/temporalserver"
)

// callerOf makes the test binary a process that starts the server of this path, tells its pid and waits.
const callerOf = "TEMPORALSERVER_TEST_CALLER_OF"

func TestMain(m *testing.M) {
	if binary := os.Getenv(callerOf); binary != "" {
		s, err := temporalserver.Start(context.Background(), temporalserver.Options{Binary: binary, LogFile: os.DevNull})
		if err != nil {
			panic(err)
		}
		os.Stdout.WriteString(strconv.Itoa(s.Pid()) + "\n")
		select {}
	}
	os.Exit(m.Run())
}

func devserver(t *testing.T) string {
	t.Helper()
	paths, err := binaries.Build(t.Context(), os.Stderr, binaries.DevServer)
	require.NoError(t, err)
	return paths[binaries.DevServer]
}

func start(t *testing.T, o temporalserver.Options) *temporalserver.Server {
	t.Helper()
	o.Binary = devserver(t)
	if o.LogFile == "" {
		o.LogFile = filepath.Join(t.TempDir(), "server.log")
	}
	s, err := temporalserver.Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	return s
}

func dial(t *testing.T, s *temporalserver.Server) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{HostPort: s.Address()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestServerIsReadyForWorkflowsAndKeepsThemThroughAKill(t *testing.T) {
	s := start(t, temporalserver.Options{
		DBFile: filepath.Join(t.TempDir(), "temporal.db"), SearchAttributes: map[string]string{"RefundStatus": "Keyword"},
	})
	address, pid := s.Address(), s.Pid()
	run, err := dial(t, s).ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "parked", TaskQueue: "nobody"}, "Parked")
	require.NoError(t, err)

	status, err := s.Kill()
	require.NoError(t, err)
	require.Equal(t, syscall.SIGKILL, status.Signal())
	<-s.Exited()
	require.NoError(t, s.Stop(), "there is nothing left to stop")

	require.NoError(t, s.Restart(t.Context()))
	require.Equal(t, address, s.Address())
	require.NotEqual(t, pid, s.Pid())
	described, err := dial(t, s).DescribeWorkflow(t.Context(), "parked", run.GetRunID())
	require.NoError(t, err)
	require.Equal(t, run.GetRunID(), described.WorkflowExecution.RunID)

	require.NoError(t, s.Restart(t.Context()), "a running server is stopped first")
	require.Equal(t, address, s.Address())
	_, err = dial(t, s).DescribeWorkflow(t.Context(), "parked", run.GetRunID())
	require.NoError(t, err)
}

func TestServerServesTheUIWhenAskedTo(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())

	s := start(t, temporalserver.Options{UIPort: port})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.UIAddress(), nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
}

func TestStartSaysWhyAServerCannotStart(t *testing.T) {
	dir := t.TempDir()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	garbage := filepath.Join(dir, "garbage.db")
	require.NoError(t, os.WriteFile(garbage, []byte(strings.Repeat("not a database ", 100)), 0o600))
	dies := script(t, "dies", "echo it is too hot >&2; exit 3")
	log := filepath.Join(dir, "server.log")

	for name, c := range map[string]struct {
		options temporalserver.Options
		code    refund.Code
		says    string
	}{
		"port in use":     {temporalserver.Options{Binary: devserver(t), Port: port, LogFile: log}, refund.CodePortInUse, strconv.Itoa(port)},
		"not a database":  {temporalserver.Options{Binary: devserver(t), DBFile: garbage, LogFile: log}, refund.CodeStoreUnreadable, garbage},
		"bad attribute":   {temporalserver.Options{Binary: devserver(t), SearchAttributes: map[string]string{"A": "Money"}, LogFile: log}, refund.CodeInvalidFlag, "Money"},
		"no such binary":  {temporalserver.Options{Binary: filepath.Join(dir, "none"), LogFile: log}, refund.CodeUnavailable, "no such file"},
		"another program": {temporalserver.Options{Binary: dies, LogFile: log}, refund.CodeUnavailable, "(exit status 3): it is too hot"},
		"no log file":     {temporalserver.Options{Binary: dies}, refund.CodeInvalidFlag, "log file"},
		"no such folder":  {temporalserver.Options{Binary: dies, LogFile: filepath.Join(dir, "none", "log")}, refund.CodeUnavailable, "no such file"},
		"no server":       {temporalserver.Options{LogFile: log}, refund.CodeInvalidFlag, "either a binary"},
		"two servers":     {temporalserver.Options{Binary: dies, CLI: dies, LogFile: log}, refund.CodeInvalidFlag, "either a binary"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := temporalserver.Start(t.Context(), c.options)
			require.Equal(t, c.code, refund.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestStartEndsAServerThatIsNeverReady(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	hangs := script(t, "hangs", "echo $$ > "+pidFile+"; echo still thinking >&2; exec sleep 600")
	_, err := temporalserver.Start(t.Context(), temporalserver.Options{
		Binary: hangs, LogFile: filepath.Join(t.TempDir(), "log"), StartTimeout: time.Second,
	})
	require.Equal(t, refund.CodeTimeout, refund.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "still thinking")
	pid, err := os.ReadFile(pidFile)
	require.NoError(t, err)
	number, err := strconv.Atoi(strings.TrimSpace(string(pid)))
	require.NoError(t, err)
	require.ErrorIs(t, syscall.Kill(number, 0), syscall.ESRCH)
}

func TestAnEndThatNobodyAskedForIsAnError(t *testing.T) {
	s, err := temporalserver.Start(t.Context(), temporalserver.Options{Binary: devserver(t), LogFile: filepath.Join(t.TempDir(), "log")})
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(s.Pid(), syscall.SIGINT))
	<-s.Exited()
	_, err = s.Kill()
	require.ErrorContains(t, err, "ended before the kill (exit status 0)")

	s, err = temporalserver.Start(t.Context(), temporalserver.Options{Binary: devserver(t), LogFile: filepath.Join(t.TempDir(), "log")})
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(s.Pid(), syscall.SIGKILL))
	<-s.Exited()
	require.ErrorContains(t, s.Stop(), "ended by itself (signal: killed)")
}

// cli is a stand-in for an installed Temporal CLI: it announces nothing, answers at the second question only, and
// writes the questions down.
func cli(t *testing.T) (path, calls string) {
	t.Helper()
	calls = filepath.Join(t.TempDir(), "calls")
	return script(t, "temporal", `
		case "$1 $2" in
		"server start-dev") exec "`+devserver(t)+`" "$@" >/dev/null ;;
		esac
		echo "$@" >> "`+calls+`"
		test $(wc -l < "`+calls+`") -gt 1`), calls
}

func TestServerOfAnInstalledCLIIsAskedUntilItIsReady(t *testing.T) {
	path, calls := cli(t)
	s, err := temporalserver.Start(t.Context(), temporalserver.Options{
		CLI: path, LogFile: filepath.Join(t.TempDir(), "log"),
		SearchAttributes: map[string]string{"RefundStatus": "Keyword", "RefundOrder": "Keyword"},
	})
	require.NoError(t, err)
	said, err := os.ReadFile(calls)
	require.NoError(t, err)
	at := " --address " + s.Address() + "\n"
	require.Equal(t, "operator cluster health"+at+ // refused
		"operator cluster health"+at+
		"operator namespace update --namespace default --retention 87600h"+at+
		"workflow count --namespace default --query RefundOrder IS NULL AND RefundStatus IS NULL"+at, string(said))
	require.NoError(t, s.Stop())
}

func script(t *testing.T, name, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755))
	return path
}
