package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"refundlab/controls"
	"refundlab/faults/lossfs"
	"refundlab/faults/scenarios"
	"refundlab/refund"
)

// stages are the commands of a whole run: everything that this project can say about the two engines, by every instrument.
// They take hours.
func stages(seed uint64) [][]string {
	drawn := strconv.FormatUint(seed, 10)
	return [][]string{
		{"run"},
		{"run", "--extended"},
		{"model"},
		{"power", "--seed", drawn},
		{"controls", "--matrix"},
		{"explore", "--pairs", "all", "--seed", drawn},
		{"soak", "--minutes", "30", "--seed", drawn},
	}
}

// Sizes of a slice. Together they take some minutes on two cores.
const (
	sliceControls = 12
	sliceExtended = 5 // scenarios
	slicePower    = 4 // places
	sliceExplore  = 80
	sliceRefunds  = 20 // of one round on each engine
	// sliceJobs is half of what explore takes by itself: a build server has no time for trials that a busy machine spoils.
	sliceJobs = "12"
)

// sliceStages are a part of each instrument that the seed draws.
func sliceStages(seed uint64) [][]string {
	drawn := strconv.FormatUint(seed, 10)
	lot := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a draw that can be repeated, and no secret
	var broken, long, places []string
	for _, control := range controls.All() {
		broken = append(broken, control.Name)
	}
	for _, scenario := range scenarios.Extended().Scenarios {
		long = append(long, scenario.Name)
	}
	for _, trial := range scenarios.Power() {
		places = append(places, trial.Name)
	}
	return [][]string{
		{"model"},
		{"controls", "--control", some(lot, sliceControls, broken)},
		{"run", "--extended", "--scenario", some(lot, sliceExtended, long)},
		{"power", "--trial", some(lot, slicePower, places), "--seed", drawn, "--allow-missing"},
		{"explore", "--slice", strconv.Itoa(sliceExplore), "--seed", drawn, "--jobs", sliceJobs},
		{"soak", "--rounds", "1", "--refunds", strconv.Itoa(sliceRefunds), "--seed", drawn},
	}
}

// some draws n of the names, as a list for a flag.
func some(lot *rand.Rand, n int, names []string) string {
	lot.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return strings.Join(names[:min(n, len(names))], ",")
}

func allCommand() *cobra.Command {
	var slice bool
	var seed uint64
	c := &cobra.Command{
		Use:   "all",
		Short: "Run every instrument, one after the other: the whole of what the report stands on, or a slice of it",
		Long: `Run the suite, the scenarios that take longer, the model, the power failures, the controls in every scenario, every place and
pair of places, and a soak of 30 minutes on both engines. It takes hours, and writes REPORT.md and report/. With --slice a part of each, drawn
by the seed, takes minutes; the model alone is whole in it, and writes its result.

A stage that does not pass does not keep the next ones from running. Exit status 1 unless every stage passed. On a machine that can
mount no lossy volume the power failures are not run, and the table says so; a slice ends with 0 all the same.`,
		Example: `  go run ./cmd/lab all
  go run ./cmd/lab all --slice --seed 7`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			list := stages(seed)
			if slice {
				list = sliceStages(seed)
			}
			return runStages(c.Context(), list, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.Flags().BoolVar(&slice, "slice", false, "only a part of each instrument, drawn by the seed")
	c.Flags().Uint64Var(&seed, "seed", 1, "of every draw")
	return c
}

// runStages runs each stage as a process of its own, as a person would.
func runStages(ctx context.Context, list [][]string, out, log io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return refund.Wrap(refund.CodeInternal, err, "the path of this program is not known")
	}
	var failed, ends []string
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "\nSTAGE\tTOOK\tSTATUS\n")
	for _, args := range list {
		line := strings.Join(append([]string{"lab"}, args...), " ")
		fmt.Fprintf(log, "\n==> %s\n", line)
		began := time.Now()
		last := &tail{}
		status, err := runStage(ctx, self, args, io.MultiWriter(out, last), io.MultiWriter(log, last))
		if ctx.Err() != nil {
			return refund.Wrap(refund.CodeInterrupted, ctx.Err(), "interrupted in %q", line)
		}
		if err != nil {
			return refund.Wrap(refund.CodeInternal, err, "%q could not be started", line)
		}
		if status != 0 {
			failed = append(failed, line)
			ends = append(ends, fmt.Sprintf("\n==> %s ended with status %d, after it had said:\n%s", line, status, last))
		}
		fmt.Fprintf(table, "%s\t%.0f s\t%s\n", line, time.Since(began).Seconds(), stageStatus(args, status, lossfs.Probe))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprint(log, strings.Join(ends, "")) // of a long log often the end alone is kept or read
	if len(failed) > 0 {
		return refund.Errorf(refund.CodeNotPassed, "%d of %d stages did not pass: %s", len(failed), len(list), strings.Join(failed, "; "))
	}
	return nil
}

// tailBytes holds the table of a stage's results and the findings below it.
const tailBytes = 8 << 10

// tail keeps the end of what is written to it, by whole lines.
type tail struct {
	mu   sync.Mutex // a process' two streams are copied side by side
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - tailBytes; over > 0 {
		line := bytes.IndexByte(t.text[over-1:], '\n') // -1 within a line of that length, of which the end is kept
		t.text = slices.Clone(t.text[over+max(line, 0):])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// stageStatus is the exit status of a stage, and where this machine could not play its trials that too: what was not run has not
// passed, whatever the stage was allowed to end with.
func stageStatus(args []string, status int, lossy func() error) string {
	text := strconv.Itoa(status)
	if args[0] != "power" {
		return text
	}
	if err := lossy(); err != nil {
		return fmt.Sprintf("not run (%s): %v", text, err)
	}
	return text
}

// stopStage is how long a stage may take to end its own processes after an interruption.
const stopStage = 30 * time.Second

// runStage returns the exit status of one stage; an error only where it could not be started.
func runStage(ctx context.Context, self string, args []string, out, log io.Writer) (int, error) {
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stdout, cmd.Stderr = out, log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopStage
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	_ = cmd.Wait() // the state says more than the error
	return cmd.ProcessState.ExitCode(), nil
}
