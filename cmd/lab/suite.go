package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"refundlab/comparison"
	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/faults/scenarios"
	"refundlab/refund"
)

// playAll plays the trial of every cell, several at a time, and saves what each left behind.
// schedule replaces that of their scenario unless it is nil.
func playAll(ctx context.Context, b *bench, cells []faults.Expectation, schedule faults.Schedule, root string, jobs int, log io.Writer) error {
	cells = slices.DeleteFunc(slices.Clone(cells), func(e faults.Expectation) bool { return e.NotApplicable != "" })
	// Those that wait longest come first, so that none of them is alone at the end.
	slices.SortStableFunc(cells, func(x, y faults.Expectation) int { return patience(y) - patience(x) })
	display := &progress{out: log, total: len(cells), began: time.Now()}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(jobs)
	for _, expectation := range cells {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			cell := comparison.CellOf(expectation)
			plan, err := scenarios.PlanOf(expectation.Scenario, expectation.Engine, expectation.Profile, expectation.Arm)
			if err != nil {
				return err
			}
			if schedule != nil {
				plan.Schedule = schedule
			}
			record := b.lab.Play(ctx, cell, plan)
			if err := ctx.Err(); err != nil {
				return refund.Wrap(refund.CodeTimeout, err, "the run was interrupted")
			}
			if err := evidence.Save(root, record); err != nil {
				return err
			}
			display.trial(record, comparison.JudgeRecord(record, expectation))
			return nil
		})
	}
	return group.Wait()
}

// patience ranks trials by what they wait for: a frozen worker swallows its engine's next tasks, a deadline takes its time, a
// dead worker's time-outs come next.
func patience(e faults.Expectation) int {
	most := 0
	plan, err := scenarios.PlanOf(e.Scenario, e.Engine, e.Profile, e.Arm)
	if err != nil || e.Arm == string(evidence.ArmClean) {
		return 0
	}
	for _, rule := range plan.Schedule {
		switch rule.Action {
		case faults.Freeze:
			most = max(most, 3)
		case faults.Kill:
			most = max(most, 1)
		}
	}
	for _, step := range plan.Script {
		if step.Do == faults.DoPass {
			most = max(most, 2)
		}
	}
	return most
}

// progress prints a line for each trial that ended, which reads the same in a terminal, a pipe and a log.
type progress struct {
	out   io.Writer
	total int
	began time.Time

	mu   sync.Mutex
	done int
}

func (p *progress) trial(r evidence.Record, judged comparison.Judged) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	took := r.Trial.EndedAt.Sub(r.Trial.StartedAt)
	fmt.Fprintf(p.out, "%3.0fs %*d/%d %-14s %s (%.1fs)\n", time.Since(p.began).Seconds(), len(strconv.Itoa(p.total)), p.done, p.total, judged.Verdict, r.Trial.Dir(), took.Seconds())
	for _, finding := range judged.Findings {
		fmt.Fprintf(p.out, "       %s: %s\n", finding.Check, finding.Text)
	}
}

// describeSuite says what is about to be measured, and on what.
func describeSuite(filter evidence.Filter) evidence.Suite {
	return evidence.Suite{
		Command: commandLine(), Filter: filter, Machine: machine(), Versions: versions(), Budget: budget,
		StartedAt: refund.At(time.Now()), Census: census(),
	}
}

// commandLine is the command without the path of the executable, which "go run" makes up.
func commandLine() string { return strings.Join(append([]string{"lab"}, os.Args[1:]...), " ") }

// census counts the sources in the working directory; without them there is nothing to count.
func census() []evidence.Lines {
	lines, err := evidence.CountLines(".")
	if err != nil {
		return nil
	}
	return lines
}

func machine() evidence.Machine {
	m := evidence.Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version()}
	if kernel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(kernel))
	}
	if info, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kilobytes int64
		if _, err := fmt.Sscanf(string(info), "MemTotal: %d kB", &kilobytes); err == nil {
			m.MemoryMB = kilobytes >> 10
		}
	}
	return m
}

// versions are those of the parts whose behaviour is measured.
func versions() []evidence.Version {
	parts := []struct{ name, module string }{
		{"Temporal SDK", "go.temporal.io/sdk"},
		{"SQLite driver", "modernc.org/sqlite"},
	}
	var list []evidence.Version
	if server := moduleVersion("devserver/go.mod", "go.temporal.io/server"); server != "" {
		list = append(list, evidence.Version{Part: "Temporal server", Version: server})
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return list
	}
	for _, part := range parts {
		for _, dependency := range info.Deps {
			if dependency.Path == part.module {
				list = append(list, evidence.Version{Part: part.name, Version: dependency.Version})
			}
		}
	}
	return list
}

func moduleVersion(file, module string) string {
	text, _ := os.ReadFile(file)
	for _, line := range strings.Split(string(text), "\n") {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && fields[0] == module {
			return fields[1]
		}
	}
	return ""
}
