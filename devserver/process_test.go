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
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	schema "go.temporal.io/server/schema/sqlite"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// asServer makes the test binary behave as the command, so that the tests drive a real process.
const asServer = "DEVSERVER_TEST_RUN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

type process struct {
	cmd     *exec.Cmd
	stderr  bytes.Buffer
	lines   chan string // of standard output; closed at its end
	address string
	ui      string
}

func launch(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], args...), lines: make(chan string, 16)}
	p.cmd.Env = append(os.Environ(), asServer+"=1")
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			p.end(t, syscall.SIGKILL)
		}
	})
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	return p
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := launch(t, args...)
	deadline := time.After(startTimeout)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				_ = p.cmd.Wait()
				require.FailNow(t, "no ready line", p.stderr.String())
			}
			if url, ui := strings.CutPrefix(line, "ui "); ui {
				p.ui = url
			}
			if address, ready := strings.CutPrefix(line, "ready "); ready {
				p.address = address
				return p
			}
		case <-deadline:
			require.FailNow(t, "no ready line in time")
		}
	}
}

// end sends the signal and waits for the process, at most half a minute.
func (p *process) end(t *testing.T, signal syscall.Signal) *os.ProcessState {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(signal))
	kill := time.AfterFunc(30*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	for range p.lines {
	}
	_ = p.cmd.Wait()
	return p.cmd.ProcessState
}

// fails runs the command to its end and returns the one line of its error.
func fails(t *testing.T, args ...string) string {
	t.Helper()
	p := launch(t, args...)
	kill := time.AfterFunc(30*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	for range p.lines {
	}
	_ = p.cmd.Wait()
	require.Equal(t, 1, p.cmd.ProcessState.ExitCode(), p.stderr.String())
	require.Equal(t, 1, strings.Count(p.stderr.String(), "\n"), "one line, no trace: %s", p.stderr.String())
	return p.stderr.String()
}

func client(t *testing.T, address string) workflowservice.WorkflowServiceClient {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return workflowservice.NewWorkflowServiceClient(conn)
}

func startWorkflow(t *testing.T, c workflowservice.WorkflowServiceClient, namespace, id string) {
	t.Helper()
	encoded, err := json.Marshal("waiting")
	require.NoError(t, err)
	_, err = c.StartWorkflowExecution(t.Context(), &workflowservice.StartWorkflowExecutionRequest{
		Namespace: namespace, WorkflowId: id, RequestId: id,
		WorkflowType: &commonpb.WorkflowType{Name: "Parked"},
		TaskQueue:    &taskqueuepb.TaskQueue{Name: "nobody"},
		SearchAttributes: &commonpb.SearchAttributes{IndexedFields: map[string]*commonpb.Payload{
			"RefundStatus": {Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: encoded},
		}},
	})
	require.NoError(t, err)
}

func retentionOf(t *testing.T, c workflowservice.WorkflowServiceClient, namespace string) time.Duration {
	t.Helper()
	d, err := c.DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	require.NoError(t, err)
	return d.Config.WorkflowExecutionRetentionTtl.AsDuration()
}

func TestReadyServerStartsAWorkflowAndKeepsItThroughSIGKILL(t *testing.T) {
	file := filepath.Join(t.TempDir(), "odd name?#%.db")
	args := []string{"server", "start-dev", "--headless", "--db-filename", file,
		"--namespace", "second", "--search-attribute", "RefundStatus=Keyword"}
	first := start(t, append(args, "--port", "0")...)
	_, port, err := net.SplitHostPort(first.address)
	require.NoError(t, err)

	// No retry: ready means that the first start is accepted, in every namespace.
	startWorkflow(t, client(t, first.address), "default", "one")
	startWorkflow(t, client(t, first.address), "second", "two")
	header, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, []byte{2, 2}, header[18:20], "the file is in WAL mode")

	state := first.end(t, syscall.SIGKILL)
	require.Equal(t, syscall.SIGKILL, state.Sys().(syscall.WaitStatus).Signal())

	second := start(t, append(args, "--port", port)...)
	require.Equal(t, first.address, second.address)
	c := client(t, second.address)
	for namespace, id := range map[string]string{"default": "one", "second": "two"} {
		_, err := c.DescribeWorkflowExecution(t.Context(), &workflowservice.DescribeWorkflowExecutionRequest{
			Namespace: namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: id},
		})
		require.NoError(t, err)
		require.Equal(t, 3650*24*time.Hour, retentionOf(t, c, namespace))
		require.Eventually(t, func() bool { // visibility is written after the start, by a task
			found, err := c.ListWorkflowExecutions(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
				Namespace: namespace, Query: `RefundStatus = "waiting"`,
			})
			return err == nil && len(found.Executions) == 1 && found.Executions[0].Execution.WorkflowId == id
		}, 10*time.Second, 50*time.Millisecond)
	}
	require.Zero(t, second.end(t, syscall.SIGTERM).ExitCode())
}

func TestNamespaceOfAnotherServerGetsTheLongRetention(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.db")
	store, err := sqlConfig(options{dbFilename: file})
	require.NoError(t, err)
	require.NoError(t, prepareSchema(t.Context(), store))
	namespace, err := schema.NewNamespaceConfig(clusterName, "default", false, attributes{"Other": keyword})
	require.NoError(t, err)
	require.Equal(t, 24*time.Hour, namespace.Detail.Config.Retention.AsDuration())
	require.NoError(t, schema.CreateNamespaces(store, namespace))

	p := start(t, "--headless", "--port", "0", "--db-filename", file, "--search-attribute", "RefundStatus=Keyword")
	c := client(t, p.address)
	require.Equal(t, 3650*24*time.Hour, retentionOf(t, c, "default"))
	_, err = c.CountWorkflowExecutions(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: "default", Query: "Other IS NULL AND RefundStatus IS NULL",
	})
	require.NoError(t, err)
}

func TestServerInMemoryServesTheUIAndStopsOnRequest(t *testing.T) {
	ports := portFinder{}
	port, err := ports.free(loopback)
	require.NoError(t, err)
	p := start(t, "--port", "0", "--ui-port", strconv.Itoa(port))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.ui, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Zero(t, p.end(t, syscall.SIGINT).ExitCode())
}

func TestServerSaysWhyItCannotStart(t *testing.T) {
	dir := t.TempDir()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	require.NoError(t, err)

	garbage := filepath.Join(dir, "garbage.db")
	require.NoError(t, os.WriteFile(garbage, []byte(strings.Repeat("not a database ", 100)), 0o600))
	foreign := filepath.Join(dir, "foreign.db")
	db, err := sql.Open("sqlite", foreign)
	require.NoError(t, err)
	_, err = db.Exec(`CREATE TABLE orders (id TEXT PRIMARY KEY)`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	inUse := filepath.Join(dir, "used.db")
	start(t, "--headless", "--port", "0", "--db-filename", inUse)

	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"port in use":      {[]string{"--headless", "--port", port}, "PORT_IN_USE: cannot listen on 127.0.0.1 port " + port},
		"UI port in use":   {[]string{"--port", "0", "--ui-port", port}, "give another --ui-port"},
		"HTTP port in use": {[]string{"--port", "0", "--http-port", port}, "give another --http-port"},
		"no such folder":   {[]string{"--port", "0", "--db-filename", filepath.Join(dir, "none", "t.db")}, "STORE_UNREADABLE: "},
		"a folder":         {[]string{"--port", "0", "--db-filename", dir}, "STORE_UNREADABLE: cannot use database " + dir},
		"not a database":   {[]string{"--port", "0", "--db-filename", garbage}, "file is not a database"},
		"another database": {[]string{"--port", "0", "--db-filename", foreign}, "holds no Temporal database of this server's version"},
		"database in use":  {[]string{"--port", "0", "--db-filename", inUse}, "STORE_LOCKED: database " + inUse + " is in use by another server"},
		"bad flag":         {[]string{"--port", "x"}, "INVALID_FLAG: "},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, fails(t, c.args...), c.says)
		})
	}
}
