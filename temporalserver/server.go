// Package temporalserver runs a Temporal server as a process of its own, to be used, killed and restarted: the
// project's devserver or an installed Temporal CLI. It speaks to the server by command line only, so that whoever
// must not know Temporal, as the fault harness, can still run one.
package temporalserver

import (
	"context"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"refundlab/refund"
)

// Options says which server to start and how. Binary or CLI is needed, and LogFile.
type Options struct {
	Binary string // path of the project's devserver
	CLI    string // path or name of an installed Temporal CLI, instead of Binary

	DBFile  string // SQLite file, created if missing; empty: in memory, so that an end of the process loses all
	LogFile string // what the server says is appended here

	Port             int               // of the frontend; 0: a free one, kept by Restart
	UIPort           int               // of the web UI; 0: no UI
	Namespaces       []string          // beside "default"
	SearchAttributes map[string]string // name → type, as Keyword
	DynamicConfig    map[string]string // key → value in JSON

	StartTimeout time.Duration // from the start of the process until it is ready; 0: a minute and a half
}

const (
	host                = "127.0.0.1"
	defaultStartTimeout = 90 * time.Second
	// endTimeout is how long a server may take to end: one second is usual for a clean stop, and after SIGKILL only a
	// process that hangs in the kernel takes longer.
	endTimeout = 20 * time.Second
)

// Server is a server that was ready once. Its methods may be called from several goroutines.
type Server struct {
	options Options

	mu      sync.Mutex
	process *process
	asked   bool // the process was told to end
}

// Start starts a server and waits until a workflow can start in it. ctx bounds the start, not the server's life;
// the server ends with the calling process, on Linux even if that one is killed.
//
// Errors: INVALID_FLAG for options that contradict each other; TIMEOUT; else the code that the server gives
// (PORT_IN_USE, STORE_LOCKED, STORE_UNREADABLE) or UNAVAILABLE, with its last words.
func Start(ctx context.Context, o Options) (*Server, error) {
	if (o.Binary == "") == (o.CLI == "") {
		return nil, refund.Errorf(refund.CodeInvalidFlag, "a Temporal server is either a binary (%q) or a CLI (%q)", o.Binary, o.CLI)
	}
	if o.LogFile == "" {
		return nil, refund.Errorf(refund.CodeInvalidFlag, "a Temporal server needs a log file: its reasons are there")
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = defaultStartTimeout
	}
	for _, path := range []*string{&o.DBFile, &o.LogFile} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return nil, refund.Wrap(refund.CodeInvalidFlag, err, "path %q", *path)
		}
		*path = absolute
	}
	if o.Port == 0 && o.CLI != "" {
		port, err := freePort() // the CLI knows no "any port"
		if err != nil {
			return nil, err
		}
		o.Port = port
	}
	s := &Server{options: o}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// start replaces the process, which is not running, and keeps the port for the next one.
func (s *Server) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.StartTimeout)
	defer cancel()
	p, err := startProcess(s.options)
	if err != nil {
		return refund.Wrap(refund.CodeUnavailable, err, "cannot start a Temporal server")
	}
	s.process, s.asked = p, false
	port, err := p.waitReady(ctx, s.options)
	if err != nil {
		s.asked = true
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
		p.ends()
		return err
	}
	s.options.Port = port
	return nil
}

// Address is the frontend's host:port. It stays the same after Restart.
func (s *Server) Address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return net.JoinHostPort(host, strconv.Itoa(s.options.Port))
}

// UIAddress is the URL of the web UI, or "" without one.
func (s *Server) UIAddress() string {
	if s.options.UIPort == 0 {
		return ""
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(s.options.UIPort))
}

// Pid is the process id of the server, also after its end; Restart changes it.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.pid
}

// Exited is closed when the present process has ended, by whatever cause; Restart makes a new one.
func (s *Server) Exited() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.exited
}

// Stop asks the server to end and kills it if it does not. It is an error (UNAVAILABLE) if the server had ended
// without being asked, and (TIMEOUT) if it had to be killed. Stopping a stopped or killed server is no error.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stop()
}

func (s *Server) stop() error {
	p := s.process
	if s.asked {
		return nil
	}
	s.asked = true
	select {
	case <-p.exited:
		return refund.Errorf(refund.CodeUnavailable, "the Temporal server had ended by itself (%s): %s", p.state, p.lastWords())
	default:
	}
	_ = syscall.Kill(p.pid, syscall.SIGTERM)
	if p.ends() {
		return nil
	}
	_ = syscall.Kill(p.pid, syscall.SIGKILL)
	p.ends()
	return refund.Errorf(refund.CodeTimeout, "the Temporal server did not stop within %s and was killed: %s", endTimeout, p.lastWords())
}

// Kill sends SIGKILL and returns how the process ended. It is an error (UNAVAILABLE) if it was not this signal that
// ended it: such a kill proves nothing.
func (s *Server) Kill() (syscall.WaitStatus, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.process
	s.asked = true
	_ = syscall.Kill(p.pid, syscall.SIGKILL)
	if !p.ends() {
		return 0, refund.Errorf(refund.CodeTimeout, "the Temporal server (process %d) outlived SIGKILL for %s", p.pid, endTimeout)
	}
	status, _ := p.state.Sys().(syscall.WaitStatus)
	if !status.Signaled() || status.Signal() != syscall.SIGKILL {
		return status, refund.Errorf(refund.CodeUnavailable, "the Temporal server had ended before the kill (%s): %s", p.state, p.lastWords())
	}
	return status, nil
}

// Restart stops the server if it still runs and starts it on the same file and port. Errors are those of Start, and
// of Stop if the old process had ended without being asked.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.stop(); err != nil {
		return err
	}
	return s.start(ctx)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, refund.Wrap(refund.CodePortInUse, err, "no free port on %s", host)
	}
	defer l.Close()
	address, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, refund.Errorf(refund.CodeInternal, "address %s of a TCP listener is none of TCP", l.Addr())
	}
	return address.Port, nil
}
