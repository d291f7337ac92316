package workflows_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"refundlab/binaries"
	"refundlab/refund"
	"refundlab/temporalserver"
	"refundlab/workflows"
)

// server is one Temporal server for all tests of the package that need a real one.
var server struct {
	once sync.Once
	*temporalserver.Server
	dir string
	err error
}

func TestMain(m *testing.M) {
	slog.SetLogLoggerLevel(slog.LevelWarn)
	code := m.Run()
	if server.Server != nil {
		if err := server.Stop(); err != nil {
			slog.Error("the server did not stop cleanly", "error", err)
			code = max(code, 1)
		}
		if err := os.RemoveAll(server.dir); err != nil {
			slog.Error("the server's directory stays", "error", err)
		}
	}
	os.Exit(code)
}

// lab is a real server with a task queue of its own, a world, and a client.
type lab struct {
	t       *testing.T
	world   *world
	queue   string
	client  *workflows.Client
	address string
}

func newLab(t *testing.T, profile refund.ProfileName) *lab {
	t.Helper()
	server.once.Do(func() {
		var paths binaries.Paths
		if paths, server.err = binaries.Build(context.Background(), os.Stderr, binaries.DevServer); server.err != nil {
			return
		}
		if server.dir, server.err = os.MkdirTemp("", "workflows-test-"); server.err != nil {
			return
		}
		server.Server, server.err = temporalserver.Start(context.Background(), temporalserver.Options{
			Binary: paths[binaries.DevServer], LogFile: filepath.Join(server.dir, "server.log"),
			SearchAttributes: workflows.SearchAttributes(),
		})
	})
	require.NoError(t, server.err)
	l := &lab{t: t, world: newWorld(profile), queue: "q-" + uuid.NewString(), address: server.Address()}
	l.client = workflows.NewClient(l.dial(), workflows.ClientOptions{TaskQueue: l.queue, WorkflowTaskTimeout: 2 * time.Second})
	t.Cleanup(func() { require.NoError(t, l.client.Close()) })
	return l
}

func (l *lab) dial() client.Client {
	connection, err := workflows.Dial(l.t.Context(), client.Options{HostPort: l.address, Identity: "test"})
	require.NoError(l.t, err)
	return connection
}

// worker starts a worker and returns what stops it cleanly.
func (l *lab) worker(change ...func(*workflows.WorkerOptions)) (stop func()) {
	l.t.Helper()
	connection := l.dial()
	options := workflows.WorkerOptions{TaskQueue: l.queue, StickyTimeout: time.Second, DisableEagerActivities: true}
	for _, c := range change {
		c(&options)
	}
	w := workflows.NewWorker(connection, l.world.activities(), options)
	require.NoError(l.t, w.Start())
	var once sync.Once
	stop = func() {
		once.Do(func() {
			w.Stop()
			connection.Close()
		})
	}
	l.t.Cleanup(stop)
	return stop
}

// abandons makes a worker that leaves running attempts behind when it stops, as a killed one would.
func abandons(o *workflows.WorkerOptions) { o.StopTimeout = time.Nanosecond }

func (l *lab) request(terms refund.Terms) refund.View {
	l.t.Helper()
	terms.Profile = l.world.profile.Name
	if terms.Backoff == 0 {
		terms.Backoff = 50
	}
	view, existing, err := l.client.Request(l.ctx(), request("req-"+uuid.NewString()), terms)
	require.NoError(l.t, err)
	require.False(l.t, existing)
	return view
}

// ctx bounds one wait; nothing here should take that long.
func (l *lab) ctx() context.Context {
	ctx, cancel := context.WithTimeout(l.t.Context(), 30*time.Second)
	l.t.Cleanup(cancel)
	return ctx
}

// until watches the run up to a status.
func (l *lab) until(id refund.OperationID, want refund.RunStatus) refund.View {
	l.t.Helper()
	var last refund.View
	err := l.client.Watch(l.ctx(), id, func(view refund.View) bool {
		last = view
		return view.Status == want
	})
	require.NoError(l.t, err)
	require.Equal(l.t, want, last.Status)
	return last
}

// untilEvent waits until the run's history holds so many events of a kind.
func (l *lab) untilEvent(id refund.OperationID, kind enumspb.EventType, count int) {
	l.t.Helper()
	connection := l.dial()
	defer connection.Close()
	events := connection.GetWorkflowHistory(l.ctx(), workflows.WorkflowID(id), "", true, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for count > 0 {
		require.True(l.t, events.HasNext(), "the run closed before")
		event, err := events.Next()
		require.NoError(l.t, err)
		if event.GetEventType() == kind {
			count--
		}
	}
}

func (l *lab) decide(d refund.Decision) refund.VerdictCode {
	l.t.Helper()
	verdict, err := l.client.Decide(l.ctx(), d)
	require.NoError(l.t, err)
	return verdict.Code
}

// leave sends a decision that nobody waits for, because no worker can answer it. It returns when the server has stored it.
func (l *lab) leave(d refund.Decision) {
	l.t.Helper()
	decision, err := refund.NewDecision(d)
	require.NoError(l.t, err)
	connection := l.dial()
	defer connection.Close()
	require.NoError(l.t, connection.SignalWorkflow(l.ctx(), workflows.WorkflowID(d.OperationID), "", workflows.DecisionSignal, decision))
}

func (l *lab) view(id refund.OperationID) refund.View {
	l.t.Helper()
	view, err := l.client.View(l.ctx(), id)
	require.NoError(l.t, err)
	return view
}

func decisionOn(view refund.View, id string, choice refund.Choice) refund.Decision {
	version := int64(7)
	if view.Facts.Proposal != nil {
		version = view.Facts.Proposal.OrderVersion
	}
	return refund.Decision{
		DecisionID: id, OperationID: view.OperationID, Choice: choice, Approver: "user-2",
		Digest: view.Facts.Intake.Digest, OrderVersion: version,
	}
}

// halves starts two workers: one runs workflow code alone, the other activities alone.
func (l *lab) halves() (stopWorkflows, stopActivities func()) {
	l.t.Helper()
	connection := l.dial()
	l.t.Cleanup(connection.Close)
	code := worker.New(connection, l.queue, worker.Options{
		LocalActivityWorkerOnly: true, DisableRegistrationAliasing: true, Interceptors: []interceptor.WorkerInterceptor{workflows.Door()},
	})
	workflows.Register(code)
	effects := worker.New(connection, l.queue, worker.Options{DisableWorkflowWorker: true, DisableRegistrationAliasing: true})
	l.world.activities().Register(effects)
	require.NoError(l.t, code.Start())
	require.NoError(l.t, effects.Start())
	return code.Stop, effects.Stop
}
