package binaries

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// How often progress is told: on a terminal the same line is written anew, elsewhere a line is added.
const (
	terminalInterval = time.Second
	logInterval      = 5 * time.Second
)

// reporter tells what a build does and for how long.
type reporter struct {
	out      io.Writer
	name     string
	began    time.Time
	terminal bool
	stop     chan struct{}
	stopped  sync.WaitGroup

	mu       sync.Mutex
	doing    string
	modules  int
	packages int
	total    int
}

// report starts telling out about the build of name, until close. Nothing is told of what takes no time.
func report(out io.Writer, name string) *reporter {
	r := &reporter{out: out, name: name, began: time.Now(), doing: "starting", stop: make(chan struct{})}
	if f, ok := out.(*os.File); ok {
		info, err := f.Stat()
		r.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	interval := logInterval
	if r.terminal {
		interval = terminalInterval
	}
	r.stopped.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-r.stop:
				return
			case <-tick.C:
				r.print(r.state())
			}
		}
	})
	return r
}

// close ends the telling; the writer is not used afterwards.
func (r *reporter) close() {
	close(r.stop)
	r.stopped.Wait()
}

func (r *reporter) phase(doing string) {
	r.mu.Lock()
	r.doing = doing
	r.mu.Unlock()
	r.print(r.state())
}

func (r *reporter) compiles(total int) {
	r.mu.Lock()
	r.total = total
	r.mu.Unlock()
	doing := "compiling what changed"
	if r.name == DevServer {
		doing = "compiling Temporal's server and UI, minutes if the build cache is empty"
	}
	r.phase(doing)
}

func (r *reporter) downloads() { r.count(&r.modules) }
func (r *reporter) compiled()  { r.count(&r.packages) }

func (r *reporter) count(n *int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*n++
}

// built ends the report with a line that stays.
func (r *reporter) built() {
	line := fmt.Sprintf("built %s in %s", r.name, r.elapsed())
	if r.terminal {
		line += "\n"
	}
	r.print(line)
}

func (r *reporter) elapsed() time.Duration { return time.Since(r.began).Round(100 * time.Millisecond) }

func (r *reporter) state() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := fmt.Sprintf("building %s: %s", r.name, r.doing)
	if r.modules > 0 {
		line += fmt.Sprintf(", %d modules downloaded", r.modules)
	}
	if r.packages > 0 { // what the build cache holds is never compiled, so the total is seldom reached
		line += fmt.Sprintf(", %d of at most %d packages", r.packages, r.total)
	}
	return fmt.Sprintf("%s, %s", line, r.elapsed())
}

// print is best effort: a build does not fail because nobody can read its progress.
func (r *reporter) print(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.terminal {
		const eraseLine = "\r\x1b[K"
		fmt.Fprint(r.out, eraseLine+line)
		return
	}
	fmt.Fprintln(r.out, line)
}
