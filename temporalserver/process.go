package temporalserver

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is one run of a server.
type process struct {
	pid     int
	logFile string
	began   int64            // where this run's part of the log begins
	address chan string      // from devserver's ready line
	exited  chan struct{}    // closed after the process was waited for
	state   *os.ProcessState // valid once exited is closed
}

// CommandLine is how the project's devserver is started with these options by somebody who follows its process himself: it
// prints "ready HOST:PORT" once a workflow can start in it. LogFile and StartTimeout mean nothing here.
func CommandLine(o Options) []string { return append([]string{o.Binary}, arguments(o)...) }

// arguments is the same command line for both servers: devserver understands the CLI's.
func arguments(o Options) []string {
	args := []string{"server", "start-dev", "--ip", host, "--port", strconv.Itoa(o.Port), "--log-level", "warn", "--log-format", "json"}
	if o.UIPort == 0 {
		args = append(args, "--headless")
	} else {
		args = append(args, "--ui-port", strconv.Itoa(o.UIPort))
	}
	if o.DBFile != "" {
		// Without these the CLI's file is durable but for the last commit, at twice the syncs.
		args = append(args, "--db-filename", o.DBFile, "--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=full")
	}
	for _, namespace := range o.Namespaces {
		args = append(args, "--namespace", namespace)
	}
	for _, name := range slices.Sorted(maps.Keys(o.SearchAttributes)) {
		args = append(args, "--search-attribute", name+"="+o.SearchAttributes[name])
	}
	// A poll limit meant for many shards slows the single one down to a third; devserver lifts it by itself.
	settings := map[string]string{"history.transferProcessorMaxPollRPS": "1000"}
	maps.Copy(settings, o.DynamicConfig)
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "--dynamic-config-value", key+"="+settings[key])
	}
	return args
}

func startProcess(o Options) (*process, error) {
	log, err := os.OpenFile(o.LogFile, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	began, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		_ = log.Close()
		return nil, err
	}
	p := &process{logFile: o.LogFile, began: began, address: make(chan string, 1), exited: make(chan struct{})}

	cmd := exec.Command(o.Binary+o.CLI, arguments(o)...)
	cmd.Env = environment()
	cmd.Stderr = log
	// A process group of its own: Ctrl-C in a terminal is for the caller, who then stops the server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		_ = log.Close()
		return nil, err
	}
	started := make(chan error, 1)
	go func() {
		// The parent whose end ends the server is, to the kernel, the thread that started it: the thread must
		// live, bound to this goroutine, as long as the server.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer log.Close()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.read(stdout, log)
		_ = cmd.Wait() // the state says it all
		p.state = cmd.ProcessState
		close(p.exited)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	p.pid = cmd.Process.Pid
	return p, nil
}

// read announces the address of the ready line; all other lines go to the log, until the process ends.
func (p *process) read(stdout io.Reader, log io.Writer) {
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if address, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
			p.address <- address
			continue
		}
		_, _ = fmt.Fprintln(log, lines.Text()) // best effort, as any log
	}
}

// environment keeps the caller's Temporal settings out, which point at another server.
func environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TEMPORAL_") })
	return append(env, "TEMPORAL_CONFIG_FILE="+os.DevNull)
}

// ends tells whether the process ends within endTimeout.
func (p *process) ends() bool {
	deadline := time.NewTimer(endTimeout)
	defer deadline.Stop()
	select {
	case <-p.exited:
		return true
	case <-deadline.C:
		return false
	}
}

// lastWords is the end of what this run wrote to its log.
func (p *process) lastWords() string {
	const most = 10
	content, err := os.ReadFile(p.logFile)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	content = content[min(p.began, int64(len(content))):]
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
