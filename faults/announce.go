package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
)

// Environment variables by which the harness tells a process that it is under test. Without them nothing is announced.
const (
	EnvSocket  = "REFUNDLAB_FAULTS"  // path of the harness's Unix socket
	EnvProcess = "REFUNDLAB_PROCESS" // the process's name in schedules and traces
)

// Announcement says that a process stands at a point. It waits there for the answer.
type Announcement struct {
	Process   string            `json:"process"`
	PID       int               `json:"pid"`
	Point     Point             `json:"point"`
	Operation string            `json:"operation,omitempty"` // operation id, where the boundary knows it
	Fence     string            `json:"fence,omitempty"`     // "term.seq" that the message carries
	Detail    map[string]string `json:"detail,omitempty"`    // for the trace: attempt, method, status, verdict ...
}

// Reply is the harness's answer, given when the process may go on.
type Reply struct {
	Action Action `json:"action"` // Continue, Lose, Duplicate, Refuse or Abort
	// Held tells that the process was kept at the point: its message must go out with its context detached, as if it had
	// been frozen in the socket write.
	Held bool `json:"held,omitempty"`
}

// Announcer announces points to the harness. The nil Announcer announces nothing and answers Continue.
type Announcer struct {
	process string
	client  *http.Client
}

// FromEnvironment returns the Announcer that the environment asks for, or nil.
func FromEnvironment() *Announcer {
	socket := os.Getenv(EnvSocket)
	if socket == "" {
		return nil
	}
	return NewAnnouncer(socket, os.Getenv(EnvProcess))
}

// NewAnnouncer announces to the harness behind a Unix socket under the given process name.
func NewAnnouncer(socket, process string) *Announcer {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	return &Announcer{process: process, client: &http.Client{Transport: &http.Transport{DialContext: dial}}}
}

// Announce says that this process stands at a.Point and blocks until the harness lets it go on. It has no time-out of its
// own: being held is its purpose, and the harness bounds every trial.
func (n *Announcer) Announce(ctx context.Context, a Announcement) (Reply, error) {
	if n == nil {
		return Reply{Action: Continue}, nil
	}
	a.Process, a.PID = n.process, os.Getpid()
	body, err := json.Marshal(a)
	if err != nil {
		return Reply{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://harness/announce", bytes.NewReader(body))
	if err != nil {
		return Reply{}, err
	}
	response, err := n.client.Do(request)
	if err != nil {
		return Reply{}, fmt.Errorf("announce %s: %w", a.Point, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return Reply{}, fmt.Errorf("announce %s: the harness answered %s", a.Point, response.Status)
	}
	var reply Reply
	if err := json.NewDecoder(response.Body).Decode(&reply); err != nil {
		return Reply{}, fmt.Errorf("announce %s: the harness's answer cannot be read: %w", a.Point, err)
	}
	return reply, nil
}
