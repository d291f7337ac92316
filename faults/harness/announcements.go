package harness

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	"refundlab/faults"
)

// maxAnnouncement bounds one announcement, in bytes.
const maxAnnouncement = 64 << 10

// post is where the processes of one trial announce the points at which they stand, and where the schedule hits them.
type post struct {
	trace     *trace
	processes *processes
	schedule  faults.Schedule
	power     func(*firing)                  // carries out what a rule does to a volume
	told      func(faults.Announcement) bool // false: the process died at the point
	server    http.Server
}

// listen serves announcements on a Unix socket. Its path must stay below the 108 bytes that the system allows.
func listen(socket string, t *trace, p *processes, s faults.Schedule, power func(*firing), told func(faults.Announcement) bool) (*post, error) {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("socket for announcements: %w", err)
	}
	h := &post{trace: t, processes: p, schedule: s, power: power, told: told}
	h.server.Handler = h
	go func() { _ = h.server.Serve(listener) }() // ends with close
	return h, nil
}

func (h *post) close() { _ = h.server.Close() }

// ServeHTTP takes one announcement and answers when the process may go on. A process that dies at the point is never
// answered: its end closes the connection.
func (h *post) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var a faults.Announcement
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAnnouncement)).Decode(&a); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	crossing, hit := h.trace.cross(a, h.schedule)
	if !h.told(a) {
		return
	}
	reply := faults.Reply{Action: faults.Continue}
	if hit != nil {
		go h.strike(hit)
		select {
		case reply = <-hit.answer:
		case <-r.Context().Done():
			return
		}
	}
	h.trace.answered(crossing, reply.Action)
	_ = json.NewEncoder(w).Encode(reply) // a process that died meanwhile does not read it
}

// strike carries out what a rule says. An effect that fails leaves the firing without its proof, which the judge and the
// step that waits for it both see.
func (h *post) strike(f *firing) {
	other := f.Victim != f.crossing.Process // the victim's message is held at another process
	switch f.Action {
	case faults.Kill:
		proof, err := h.processes.kill(f.Victim)
		if err != nil {
			f.answer <- faults.Reply{Action: faults.Abort}
			return
		}
		h.trace.done(f, proof)
		switch {
		case other && (f.Victim == faults.LineProvider || f.Victim == faults.LineServer): // the far side: its end speaks for itself
			f.answer <- faults.Reply{Action: faults.Continue}
		case other:
			f.answer <- h.orphaned(f)
		}
	case faults.Freeze:
		proof, err := h.processes.freeze(f.Victim)
		if err != nil {
			f.answer <- faults.Reply{Action: faults.Abort}
			return
		}
		h.trace.done(f, proof)
		if other {
			f.answer <- faults.Reply{Action: faults.Continue, Held: true}
		}
	case faults.PowerCut, faults.Inspect:
		h.power(f)
	case faults.Hold: // a step lets it go
	case faults.Delay:
		time.AfterFunc(time.Duration(f.rule.DelayMS)*time.Millisecond, func() {
			h.trace.done(f, "delayed")
			f.answer <- faults.Reply{Action: faults.Continue, Held: true}
		})
	default:
		h.trace.done(f, "answered")
		f.answer <- faults.Reply{Action: f.Action}
	}
}

// orphaned is the answer to a process that holds a dead worker's request: before the commit the request's connection is gone
// and the transaction is rolled back; after it the effect stands and its answer goes nowhere.
func (h *post) orphaned(f *firing) faults.Reply {
	if f.Point.When == faults.Before {
		return faults.Reply{Action: faults.Abort, Held: true}
	}
	return faults.Reply{Action: faults.Continue, Held: true}
}

// release lets go what a rule holds, or what was frozen there.
func (h *post) release(rule string) error {
	h.trace.mu.Lock()
	f := h.trace.find(rule)
	h.trace.mu.Unlock()
	switch {
	case f == nil:
		return fmt.Errorf("rule %q did not hit: there is nothing to release", rule)
	case f.Action != faults.Hold:
		return fmt.Errorf("rule %q does not hold", rule)
	}
	f.answer <- faults.Reply{Action: faults.Continue, Held: true}
	h.trace.done(f, "released")
	return nil
}

// thaw lets a frozen process go on. Its announcement is answered first, so that it finds the answer when it wakes up.
func (h *post) thaw(process string) error {
	h.trace.mu.Lock()
	var frozen *firing
	for _, f := range h.trace.fired {
		if f.Action == faults.Freeze && f.Victim == process {
			frozen = f
		}
	}
	h.trace.mu.Unlock()
	if frozen == nil || frozen.DoneSeq == 0 {
		return fmt.Errorf("process %q is not frozen", process)
	}
	if frozen.Victim == frozen.crossing.Process {
		frozen.answer <- faults.Reply{Action: faults.Continue, Held: true}
	}
	return h.processes.thaw(process)
}
