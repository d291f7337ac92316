package inject

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/faults"
)

// patience bounds every wait of these tests; none of them comes near it.
const patience = 20 * time.Second

// stage plays the harness: every process that stands at a point waits on it until the test answers.
type stage struct {
	t      *testing.T
	socket string
	stands chan standing
}

type standing struct {
	faults.Announcement
	answer chan faults.Reply
}

func newStage(t *testing.T) (*stage, *faults.Announcer) {
	s := &stage{t: t, socket: filepath.Join(t.TempDir(), "s"), stands: make(chan standing, 16)}
	listener, err := net.Listen("unix", s.socket)
	require.NoError(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var a faults.Announcement
		if json.NewDecoder(r.Body).Decode(&a) != nil {
			return
		}
		standing := standing{a, make(chan faults.Reply, 1)}
		s.stands <- standing
		select {
		case reply := <-standing.answer:
			_ = json.NewEncoder(w).Encode(reply)
		case <-r.Context().Done():
		}
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { // what was answered still has to be written
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = server.Shutdown(ctx)
	})
	return s, faults.NewAnnouncer(s.socket, "a")
}

// next waits until something stands at the point.
func (s *stage) next(point string) standing {
	s.t.Helper()
	select {
	case standing := <-s.stands:
		require.Equal(s.t, point, standing.Point.String())
		return standing
	case <-time.After(patience):
		require.FailNow(s.t, "nothing stands at "+point)
		return standing{}
	}
}

// answer lets the next that stands at a point go on with an action.
func (s *stage) answer(point string, action faults.Action) faults.Announcement {
	s.t.Helper()
	standing := s.next(point)
	standing.answer <- faults.Reply{Action: action}
	return standing.Announcement
}

// empty asks that nothing more was announced.
func (s *stage) empty() {
	s.t.Helper()
	require.Empty(s.t, s.stands)
}

func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		require.FailNow(t, "nothing came in time")
		panic("unreachable")
	}
}
