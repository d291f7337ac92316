package main

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/faults"
	"refundlab/refund"
)

// Under test the starter stands at the boundaries that are the client's, in the order in which a kill there means something:
// nothing is told to the caller before the intake is durable.
func TestUnderTestTheStarterStandsAtItsBoundaries(t *testing.T) {
	onEachEngine(t, "full", func(t *testing.T, w *world) {
		var crossed []string
		socket := filepath.Join(shortDir(t), "harness")
		listener, err := net.Listen("unix", socket)
		require.NoError(t, err)
		harness := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			var a faults.Announcement
			if json.NewDecoder(r.Body).Decode(&a) == nil {
				crossed = append(crossed, a.Process+" "+a.Point.String()) // one at a time: the starter waits for the answer
			}
			_ = json.NewEncoder(rw).Encode(faults.Reply{Action: faults.Continue})
		}))
		harness.Listener = listener
		harness.Start()
		defer harness.Close()
		t.Setenv(faults.EnvSocket, socket)
		t.Setenv(faults.EnvProcess, "client-1")

		require.Equal(t, refund.ExitOK, w.run(t, requestWith()...).exit)
		require.Equal(t, []string{"client-1 intake.before", "client-1 intake.after", "client-1 reply.before", "client-1 reply.after"}, crossed)
	})
}

// shortDir is a directory whose names fit into the 108 bytes of a socket's address.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}
