package harness

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"refundlab/evidence"
	"refundlab/faults"
)

// Limits of single processes, apart from the trial's own deadline.
const (
	readyWithin  = 20 * time.Second // of a worker or provider; a busy machine starts slowly
	serverWithin = 60 * time.Second // of a trial's own server, which makes its schema first
	signalWithin = 10 * time.Second // until the operating system shows the effect of a signal
	clientWithin = 60 * time.Second // of a client command
)

// processes are the processes of one trial, by name.
type processes struct {
	trace  *trace
	dir    string // for their standard error
	socket string
	env    []string // of the engine
	clocks bool     // whether their wall clocks can be set

	mu   sync.Mutex
	list []*process
}

// process is one process in its own process group.
type process struct {
	record evidence.Process
	cmd    *exec.Cmd
	stdout bytes.Buffer  // of a client
	ended  chan struct{} // closed once it was waited for
	ready  chan string   // receives the rest of the ready line; closed when standard output ends
}

// observer is the role of the commands by which the harness itself reads stores. They are no part of the trial: they announce
// nothing and stand in no record.
const observer = "observer"

// environment is all that a process of a trial inherits: no proxy, no key and no address of the user's shell can change what
// is measured.
func (p *processes) environment(name, role string) []string {
	env := slices.Clone(p.env)
	if role != observer {
		env = append(env, faults.EnvSocket+"="+p.socket, faults.EnvProcess+"="+name)
	}
	if p.clocks {
		env = append(env, faults.EnvClock+"="+p.clockOf("")+string(os.PathListSeparator)+p.clockOf(name))
	}
	for _, key := range []string{"PATH", "HOME", "TMPDIR", "GOCOVERDIR"} {
		if value, set := os.LookupEnv(key); set {
			env = append(env, key+"="+value)
		}
	}
	return env
}

// start starts a process. serves tells that it prints a ready line, which awaitReady waits for; the standard output of any
// other is kept.
func (p *processes) start(name, role string, argv []string, serves bool) (*process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stderr, err := os.OpenFile(filepath.Join(p.dir, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	child := &process{cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{}), ready: make(chan string, 1)}
	child.cmd.Env = p.environment(name, role)
	child.cmd.Stderr = stderr
	// Its own group, so that a signal reaches whatever it started; and no child outlives the harness.
	child.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var pipe io.ReadCloser
	if serves {
		if pipe, err = child.cmd.StdoutPipe(); err != nil {
			return nil, err
		}
	} else {
		child.cmd.Stdout = &child.stdout
	}
	child.record = evidence.Process{Name: name, Role: role, Args: append([]string{filepath.Base(argv[0])}, argv[1:]...), StartSeq: p.trace.mark()}
	if err := child.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start of %s: %w", name, err)
	}
	child.record.PID = child.cmd.Process.Pid
	p.list = append(p.list, child)
	go p.follow(child, pipe)
	return child, nil
}

// follow reads a serving process's standard output to its end and then collects its exit.
func (p *processes) follow(child *process, pipe io.Reader) {
	if pipe != nil {
		lines := bufio.NewScanner(pipe)
		for lines.Scan() {
			if rest, found := strings.CutPrefix(lines.Text(), "ready "); found {
				select {
				case child.ready <- rest:
				default: // only the first counts
				}
			}
		}
		_, _ = io.Copy(io.Discard, pipe) // after a line that was too long
	}
	_ = child.cmd.Wait() // the state says more than the error
	state := child.cmd.ProcessState
	p.mu.Lock()
	child.record.WaitStatus = waitStatus(state)
	child.record.CPUMS = (state.UserTime() + state.SystemTime()).Milliseconds()
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		child.record.MaxRSSKB = usage.Maxrss
	}
	child.record.EndSeq = p.trace.mark()
	p.mu.Unlock()
	close(child.ready)
	close(child.ended)
}

func waitStatus(state *os.ProcessState) string {
	status, ok := state.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return fmt.Sprintf("signal %d", status.Signal())
	}
	return fmt.Sprintf("exit %d", state.ExitCode())
}

// awaitReady waits for the ready line and returns what stands behind the word.
func (p *processes) awaitReady(ctx context.Context, child *process) (string, error) {
	within := readyWithin
	if child.record.Role == faults.LineServer {
		within = serverWithin
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	select {
	case rest, ok := <-child.ready:
		if !ok {
			return "", fmt.Errorf("%s ended before it was ready: %s: %s", child.record.Name, child.record.WaitStatus, p.lastWords(child))
		}
		return rest, nil
	case <-ctx.Done():
		return "", fmt.Errorf("%s was not ready in time: %s", child.record.Name, p.lastWords(child))
	}
}

// lastWords is the end of what a process wrote to standard error.
func (p *processes) lastWords(child *process) string {
	text, _ := os.ReadFile(filepath.Join(p.dir, child.record.Name+".log"))
	const limit = 400
	if len(text) > limit {
		text = text[len(text)-limit:]
	}
	return strings.TrimSpace(string(text))
}

// alive returns the process of that name that has not ended.
func (p *processes) alive(name string) (*process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, child := range p.list {
		if child.record.Name == name && child.running() {
			return child, nil
		}
	}
	return nil, fmt.Errorf("no process %q is running", name)
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func (p *process) signal(s syscall.Signal) error { return syscall.Kill(-p.record.PID, s) }

// kill sends SIGKILL to a process and waits for its end. It counts only if the operating system says that this signal ended
// it: a process that had left by itself just before was not killed.
func (p *processes) kill(name string) (proof string, err error) {
	child, err := p.alive(name)
	if err != nil {
		return "", err
	}
	if err := child.signal(syscall.SIGKILL); err != nil {
		return "", fmt.Errorf("SIGKILL to %s: %w", name, err)
	}
	if err := child.awaitEnd(signalWithin); err != nil {
		return "", err
	}
	if child.record.WaitStatus != "signal 9" {
		return "", fmt.Errorf("%s ended by %q, not by the kill", name, child.record.WaitStatus)
	}
	return child.record.WaitStatus, nil
}

// stop asks a process to end and waits until it did so cleanly.
func (p *processes) stop(name string) error {
	child, err := p.alive(name)
	if err != nil {
		return err
	}
	if err := child.signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("SIGTERM to %s: %w", name, err)
	}
	if err := child.awaitEnd(readyWithin); err != nil {
		return err
	}
	if child.record.WaitStatus != "exit 0" {
		return fmt.Errorf("%s did not end cleanly: %s: %s", name, child.record.WaitStatus, p.lastWords(child))
	}
	return nil
}

func (p *process) awaitEnd(within time.Duration) error {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.ended:
		return nil
	case <-timer.C:
		return fmt.Errorf("%s has not ended within %s", p.record.Name, within)
	}
}

// freeze sends SIGSTOP and waits until the process table says that the process is stopped: until then it may go on running.
func (p *processes) freeze(name string) (proof string, err error) {
	child, err := p.alive(name)
	if err != nil {
		return "", err
	}
	if err := child.signal(syscall.SIGSTOP); err != nil {
		return "", fmt.Errorf("SIGSTOP to %s: %w", name, err)
	}
	if err := child.awaitState('T'); err != nil {
		return "", err
	}
	return "state T", nil
}

// thaw sends SIGCONT to a stopped process.
func (p *processes) thaw(name string) error {
	child, err := p.alive(name)
	if err != nil {
		return err
	}
	if state, err := child.state(); err != nil || state != 'T' {
		return fmt.Errorf("%s is not stopped: state %q %w", name, state, err)
	}
	return child.signal(syscall.SIGCONT)
}

// awaitState polls the process table, because a stop is reported to a parent only where it waits for the child itself.
func (p *process) awaitState(want byte) error {
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	deadline := time.NewTimer(signalWithin)
	defer deadline.Stop()
	for {
		state, err := p.state()
		if err != nil {
			return err
		}
		if state == want {
			return nil
		}
		select {
		case <-poll.C:
		case <-deadline.C:
			return fmt.Errorf("%s is in state %q, not %q, after %s", p.record.Name, state, want, signalWithin)
		}
	}
}

// halt stops a process and waits until no thread of it runs any more: each is stopped, has ended, or stands in the kernel, as one that
// a volume holds does, and is stopped before it is back. Each is sent SIGSTOP by itself: one for the process would wake that thread
// alone, and the others would run on until it is let go.
func (p *process) halt() error {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", p.record.PID))
	if err != nil {
		return err
	}
	for _, thread := range threads {
		if id, err := strconv.Atoi(filepath.Base(thread)); err == nil {
			_ = syscall.Tgkill(p.record.PID, id, syscall.SIGSTOP) // it may have ended just now
		}
	}
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	deadline := time.NewTimer(signalWithin)
	defer deadline.Stop()
	for {
		states, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.record.PID))
		if err != nil || len(states) == 0 {
			return errGone
		}
		running := slices.ContainsFunc(states, func(file string) bool {
			state, err := stateIn(file)
			return err == nil && !strings.ContainsRune("TDZX", rune(state))
		})
		if !running {
			return nil
		}
		select {
		case <-poll.C:
		case <-deadline.C:
			return fmt.Errorf("%s still runs %s after it was stopped", p.record.Name, signalWithin)
		}
	}
}

var errGone = errors.New("it is not in the process table")

// state is the letter that the process table has for the whole process; every thread of a stopped process is stopped.
func (p *process) state() (byte, error) { return stateIn(fmt.Sprintf("/proc/%d/stat", p.record.PID)) }

// stateIn reads the letter from an entry of the process table.
func stateIn(file string) (byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, errGone
	}
	// The name in parentheses may hold anything, so the state is looked for behind the last one.
	if i := bytes.LastIndexByte(text, ')'); i >= 0 && i+2 < len(text) {
		return text[i+2], nil
	}
	return 0, errGone
}

// end kills whatever still runs in a role, or everything for "". What a process's record says then is that it outlived the
// trial.
func (p *processes) end(role string) {
	p.mu.Lock()
	var running []*process
	for _, child := range p.list {
		if child.running() && (role == "" || child.record.Role == role) {
			running = append(running, child)
		}
	}
	p.mu.Unlock()
	for _, child := range running {
		_ = child.signal(syscall.SIGKILL) // it may have ended just now
		_ = child.awaitEnd(signalWithin)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, child := range running {
		child.record.WaitStatus = ""
	}
}

// records are what the evidence says of the processes, in the order of their start.
func (p *processes) records() []evidence.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []evidence.Process
	for _, child := range p.list {
		if child.record.Role != observer {
			list = append(list, child.record)
		}
	}
	return list
}
