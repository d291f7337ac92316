package harness

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"refundlab/faults"
)

// everyClient is the name under which all client commands of a trial share their proxies.
const everyClient = "clients"

// lines are the proxies of one trial: one for each process and far side, where its plan asks for any.
type lines struct {
	mu      sync.Mutex
	asked   map[string]bool   // far sides that stand behind proxies
	far     map[string]string // their addresses, HOST:PORT
	proxies map[line]*proxy
	all     map[string]lineMode // what was last said to every process
}

// line is one process's way to one far side.
type line struct{ process, far string }

// linesOf finds out which far sides a plan breaks or restarts. Only those get proxies, so that the other trials are measured
// without them.
func linesOf(plan faults.Plan) *lines {
	l := &lines{asked: map[string]bool{}, far: map[string]string{}, proxies: map[line]*proxy{}, all: map[string]lineMode{}}
	restarts := func(process string) {
		if process == faults.LineProvider {
			l.asked[faults.LineProvider], l.asked[faults.LineModel] = true, true
		}
	}
	for _, rule := range plan.Schedule {
		if rule.Action == faults.Kill {
			restarts(cmp.Or(rule.Victim, rule.Process))
		}
	}
	for _, step := range plan.Steps() {
		switch step.Do {
		case faults.DoCut, faults.DoSilence, faults.DoRestore:
			l.asked[step.Kind] = true
		case faults.DoRestart, faults.DoKill:
			restarts(step.Process)
		}
	}
	if plan.World.OwnServer {
		l.asked[faults.LineServer] = true
	}
	return l
}

// moved tells where a far side is now; an address may be a URL.
func (l *lines) moved(far, address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, bare, isURL := strings.Cut(address, "://")
	if !isURL {
		bare = address
	}
	l.far[far] = bare
	for key, p := range l.proxies {
		if key.far == far {
			p.move(bare)
		}
	}
}

// through is the address by which a process reaches a far side: that of its proxy, where there is one.
func (l *lines) through(process, far, address string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.asked[far] {
		return address, nil
	}
	p, err := l.proxy(line{process, far})
	if err != nil {
		return "", err
	}
	if scheme, _, isURL := strings.Cut(address, "://"); isURL {
		return scheme + "://" + p.address(), nil
	}
	return p.address(), nil
}

// proxy finds or makes one. The lock is held.
func (l *lines) proxy(key line) (*proxy, error) {
	if p := l.proxies[key]; p != nil {
		return p, nil
	}
	p, err := newProxy(l.far[key.far], l.all[key.far])
	if err == nil {
		l.proxies[key] = p
	}
	return p, err
}

// set carries out a verb for one process, or for all of them and those to come.
func (l *lines) set(s faults.Step) error {
	mode, known := map[faults.Verb]lineMode{faults.DoCut: lineCut, faults.DoSilence: lineSilent, faults.DoRestore: lineOpen}[s.Do]
	if !known || !slices.Contains([]string{faults.LineProvider, faults.LineModel, faults.LineServer}, s.Kind) {
		return fmt.Errorf("there is no line %q to %s", s.Kind, s.Do)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.Process != "" {
		p, err := l.proxy(line{s.Process, s.Kind})
		if err == nil {
			p.set(mode)
		}
		return err
	}
	l.all[s.Kind] = mode
	for key, p := range l.proxies {
		if key.far == s.Kind {
			p.set(mode)
		}
	}
	return nil
}

func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.proxies {
		p.close()
	}
}
