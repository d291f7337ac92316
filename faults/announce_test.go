package faults_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/faults"
)

// harness serves announcements on a Unix socket with the given handler and returns the socket's path.
func harness(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	// Not t.TempDir: a socket's path may have at most 108 bytes, and test names are long.
	dir, err := os.MkdirTemp("", "faults")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	server := &http.Server{Handler: handle, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return socket
}

var here = faults.Announcement{
	Point: faults.Point{Boundary: faults.ProviderCall, When: faults.Before}, Operation: "op-1", Fence: "2.1", Detail: map[string]string{"attempt": "1"},
}

func TestWithoutAHarnessNothingIsAnnounced(t *testing.T) {
	t.Setenv(faults.EnvSocket, "")
	announcer := faults.FromEnvironment()
	require.Nil(t, announcer)
	reply, err := announcer.Announce(t.Context(), here)
	require.NoError(t, err)
	require.Equal(t, faults.Reply{Action: faults.Continue}, reply)
}

func TestAProcessSaysWhoItIsAndWhereItStands(t *testing.T) {
	heard := make(chan faults.Announcement, 1)
	t.Setenv(faults.EnvSocket, harness(t, func(w http.ResponseWriter, r *http.Request) {
		var a faults.Announcement
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		heard <- a
		_ = json.NewEncoder(w).Encode(faults.Reply{Action: faults.Lose, Held: true})
	}))
	t.Setenv(faults.EnvProcess, "A")
	reply, err := faults.FromEnvironment().Announce(t.Context(), here)
	require.NoError(t, err)
	require.Equal(t, faults.Reply{Action: faults.Lose, Held: true}, reply)

	want := here
	want.Process, want.PID = "A", os.Getpid()
	require.Equal(t, want, <-heard)
}

func TestAProcessIsHeldUntilTheHarnessAnswers(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	announcer := faults.NewAnnouncer(harness(t, func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		_ = json.NewEncoder(w).Encode(faults.Reply{Action: faults.Continue, Held: true})
	}), "A")
	done := make(chan faults.Reply, 1)
	go func() {
		reply, err := announcer.Announce(t.Context(), here)
		if err == nil {
			done <- reply
		}
		close(done)
	}()
	<-arrived
	select {
	case <-done:
		t.Fatal("the process went on before it was let go")
	default:
	}
	close(release)
	require.Equal(t, faults.Reply{Action: faults.Continue, Held: true}, <-done)
}

func TestAProcessCanBeCalledOffWhileItIsHeld(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	announcer := faults.NewAnnouncer(harness(t, func(_ http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&faults.Announcement{}) // so that the server watches the connection
		cancel()
		<-r.Context().Done()
	}), "A")
	_, err := announcer.Announce(ctx, here)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "provider-call.before")
}

func TestAnAnswerThatIsNoneIsAnError(t *testing.T) {
	for name, handle := range map[string]http.HandlerFunc{
		"a refusal": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"action":"continue"}`))
		},
		"no JSON":        func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("continue")) },
		"nothing":        func(http.ResponseWriter, *http.Request) {},
		"a cut line":     func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"half an answer": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"action":"cont`)) },
	} {
		t.Run(name, func(t *testing.T) {
			reply, err := faults.NewAnnouncer(harness(t, handle), "A").Announce(t.Context(), here)
			require.ErrorContains(t, err, "announce provider-call.before")
			require.Zero(t, reply)
		})
	}
	_, err := faults.NewAnnouncer(filepath.Join(t.TempDir(), "none"), "A").Announce(t.Context(), here)
	require.ErrorContains(t, err, "announce provider-call.before", "a harness that is gone")
}
