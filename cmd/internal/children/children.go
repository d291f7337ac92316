// Package children runs processes that live and die together: a set of servers and workers on one machine, started by their
// command lines, known to serve by their ready line, and ended in order.
package children

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"refundlab/refund"
)

// readyWithin bounds a start: opening a store on a busy machine takes seconds, never minutes.
const readyWithin = 60 * time.Second

// Children are processes that one parent started. The zero value is empty. Its methods are called by one goroutine.
type Children struct {
	list []*Child
	ends chan *Child
}

// Child is one process, in a group of its own: Ctrl-C in a terminal is for the parent, which then ends the children in
// their order.
type Child struct {
	Name   string
	Log    string // file
	began  int64  // where the log of this run begins
	cmd    *exec.Cmd
	exited chan struct{}
	asked  bool // to end
}

// most is more children than anybody starts: what ends never waits to be heard.
const most = 32

// Start starts a process, whose standard error is appended to the file log, and returns what stands behind "ready" in the
// line that says so. The process also ends with its parent, however that one ends.
//
// Errors: what the process said itself when it ended before; TIMEOUT; UNAVAILABLE.
func (all *Children) Start(ctx context.Context, name, log string, env []string, path string, args ...string) (ready string, err error) {
	output, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return "", refund.Wrap(refund.CodeStoreUnreadable, err, "no log for %s", name)
	}
	defer output.Close()
	began, err := output.Seek(0, io.SeekEnd)
	if err != nil {
		return "", refund.Wrap(refund.CodeStoreUnreadable, err, "no log for %s", name)
	}
	c := &Child{Name: name, Log: log, began: began, cmd: exec.Command(path, args...), exited: make(chan struct{})}
	c.cmd.Env = env
	c.cmd.Stderr = output
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := c.cmd.Start(); err != nil {
		return "", refund.Wrap(refund.CodeUnavailable, err, "%s cannot be started", name)
	}
	all.list = append(all.list, c)
	lines := make(chan string, 1)
	ends := all.deaths()
	go func() {
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			if rest, ok := strings.CutPrefix(scanner.Text(), "ready "); ok && len(lines) == 0 {
				lines <- rest
			}
		}
		_ = c.cmd.Wait() // the state says it all
		close(c.exited)
		ends <- c
	}()
	timer := time.NewTimer(readyWithin)
	defer timer.Stop()
	select {
	case rest := <-lines:
		return rest, nil
	case <-c.exited:
		return "", c.Failure()
	case <-timer.C:
		return "", refund.Errorf(refund.CodeTimeout, "%s is not ready after %s: see its log %s", name, readyWithin, log)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Dead receives each child that ended, asked or not.
func (all *Children) Dead() <-chan *Child { return all.deaths() }

func (all *Children) deaths() chan *Child {
	if all.ends == nil {
		all.ends = make(chan *Child, most)
	}
	return all.ends
}

// Pid is the process id of the child of that name, or 0.
func (all *Children) Pid(name string) int {
	for _, c := range all.list {
		if c.Name == name {
			return c.cmd.Process.Pid
		}
	}
	return 0
}

// Stop asks the named children to end, all at once, and kills those that do not within the bound.
//
// Errors: INTERNAL of one that did not end cleanly.
func (all *Children) Stop(within time.Duration, names ...string) error {
	timer := time.NewTimer(within)
	defer timer.Stop()
	var ending []*Child
	for _, c := range all.list {
		for _, name := range names {
			if c.Name == name && !c.asked {
				c.asked = true
				_ = syscall.Kill(c.cmd.Process.Pid, syscall.SIGTERM) // it may have ended just now
				ending = append(ending, c)
			}
		}
	}
	var err error
	for _, c := range ending {
		select {
		case <-c.exited:
		case <-timer.C:
			_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
			<-c.exited
			timer.Reset(0) // the bound is over for the others, too
		}
		if !c.cmd.ProcessState.Success() && err == nil {
			err = refund.Errorf(refund.CodeInternal, "%s did not end cleanly (%s): see its log %s", c.Name, c.cmd.ProcessState, c.Log)
		}
	}
	return err
}

// Ended is one line about a child that ended.
func (c *Child) Ended() string {
	return fmt.Sprintf("%s (pid %d) ended (%s)", c.Name, c.cmd.Process.Pid, c.cmd.ProcessState)
}

// Failure is the error, on one line, of a child that ended without being asked: its own, where its last line has a code.
func (c *Child) Failure() error {
	last := c.lastLine()
	if code, text, ok := strings.Cut(last, ": "); ok && code != "" && strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" {
		return refund.Errorf(refund.Code(code), "%s: %s (log %s)", c.Ended(), text, c.Log)
	}
	return refund.Errorf(refund.CodeUnavailable, "%s: see its log %s", c.Ended(), c.Log)
}

// lastLine is the last line that this run wrote to its log, or "".
func (c *Child) lastLine() string {
	text, err := os.ReadFile(c.Log)
	if err != nil {
		return ""
	}
	said := strings.TrimSpace(string(text[min(c.began, int64(len(text))):]))
	return said[strings.LastIndex(said, "\n")+1:]
}
