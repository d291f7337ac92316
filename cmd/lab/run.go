package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"refundlab/comparison"
	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/faults/scenarios"
	"refundlab/refund"
)

type runFlags struct {
	filter evidence.Filter
	server serverFlags
	keep   bool
	jobs   int
	out    string
	// schedule is a file whose faults are played in the place of the catalogue's.
	schedule string
}

func runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run",
		Short: "Run the fault suite on both engines, judge it, and write the report",
		Long: `Run every scenario on both engines, without and with its fault, as real processes; judge the evidence; write the report.
The whole suite writes REPORT.md and report/evidence.tar.gz, a whole extended run report/EXTENDED.md and report/extended.tar.gz; a filtered
run leaves its report in its own directory, below runs/ unless --out says otherwise.

Exit status 1 unless every cell of the expected matrix has its trial and passes or is not applicable.`,
		Example: `  go run ./cmd/lab run
  go run ./cmd/lab run --scenario l06-2 --engine temporal --profile opaque --keep
  go run ./cmd/lab run --extended --scenario server-killed`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, args []string) error {
			for _, name := range []string{"scenario", "engine", "profile"} {
				// An empty list would be the whole suite, and so another report, for want of a shell variable.
				if list, _ := c.Flags().GetStringSlice(name); c.Flags().Changed(name) && len(list) == 0 {
					return refund.Errorf(refund.CodeInvalidFlag, "--%s is empty: name what to run, or leave the flag out", name)
				}
			}
			if err := f.check(matrixFor(f.filter)); err != nil {
				return err
			}
			schedule, err := f.readSchedule(comparison.Select(matrixFor(f.filter).Cells, f.filter))
			if err != nil {
				return err
			}
			return f.run(c.Context(), schedule, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.StringSliceVar(&f.filter.Scenarios, "scenario", nil, "only scenarios whose name is or begins with this; several with commas")
	flags.StringSliceVar(&f.filter.Engines, "engine", nil, "only this engine: temporal or handrolled")
	flags.StringSliceVar(&f.filter.Profiles, "profile", nil, "only these provider profiles")
	flags.BoolVar(&f.filter.Extended, "extended", false, "the scenarios that take too long for every run, in the place of the suite's")
	flags.BoolVar(&f.keep, "keep", false, "leave the trials' stores, sockets and logs behind and say where")
	flags.IntVar(&f.jobs, "jobs", 12, "trials at a time; they mostly wait")
	flags.StringVar(&f.schedule, "schedule", "", "`FILE` with a schedule, or a trial.json that has one: played in the place of the scenario's own, for one scenario, engine and profile")
	flags.StringVar(&f.out, "out", "runs", "`DIRECTORY` below which each run has its own, with its evidence")
	f.server.register(c)
	return c
}

// check refuses a filter that would select nothing, and turns the beginnings of scenario names into names.
func (f *runFlags) check(matrix faults.Matrix) error {
	var names []string
	for _, asked := range f.filter.Scenarios {
		found := false
		for _, s := range matrix.Scenarios {
			if strings.HasPrefix(s.Name, asked) && asked != "" {
				names, found = append(names, s.Name), true
			}
		}
		if !found {
			return refund.Errorf(refund.CodeInvalidFlag, "--scenario %q begins no scenario's name: they are %s", asked, strings.Join(nameList(matrix), ", "))
		}
	}
	slices.Sort(names)
	f.filter.Scenarios = slices.Compact(names)
	if err := checkEngines(f.filter.Engines...); err != nil {
		return err
	}
	if err := checkProfiles(f.filter.Profiles); err != nil {
		return err
	}
	if err := checkJobs(f.jobs, maxJobs); err != nil {
		return err
	}
	cells := comparison.Select(matrix.Cells, f.filter)
	if len(cells) == 0 {
		return refund.Errorf(refund.CodeInvalidFlag, "no scenario has a cell for this engine and profile")
	}
	if !slices.ContainsFunc(cells, func(e faults.Expectation) bool { return e.NotApplicable == "" }) {
		return refund.Errorf(refund.CodeInvalidFlag, "there is nothing to play: %s", cells[0].NotApplicable)
	}
	return nil
}

// readSchedule reads the schedule to play in the place of the scenario's own, nil where none is asked for. The judge compares
// what was played with the matrix, so another schedule than the scenario's is played, and reported as invalid.
func (f *runFlags) readSchedule(cells []faults.Expectation) (faults.Schedule, error) {
	if f.schedule == "" {
		return nil, nil
	}
	for _, cell := range cells {
		if cell.Scenario != cells[0].Scenario || cell.Engine != cells[0].Engine || cell.Profile != cells[0].Profile {
			return nil, refund.Errorf(refund.CodeInvalidFlag, "--schedule is for one scenario, engine and profile: name each of them")
		}
	}
	text, err := os.ReadFile(f.schedule)
	if err != nil {
		return nil, refund.Wrap(refund.CodeInvalidFlag, err, "--schedule cannot be read")
	}
	var trial struct{ Schedule json.RawMessage }
	if json.Unmarshal(text, &trial) == nil && trial.Schedule != nil {
		text = trial.Schedule
	}
	schedule, err := faults.ParseSchedule(text)
	if err != nil {
		return nil, refund.Wrap(refund.CodeInvalidBody, err, "--schedule %s", f.schedule)
	}
	if schedule == nil {
		return nil, refund.Errorf(refund.CodeInvalidBody, "--schedule %s holds no schedule: an empty one is []", f.schedule)
	}
	return schedule, nil
}

func nameList(matrix faults.Matrix) (names []string) {
	for _, s := range matrix.Scenarios {
		names = append(names, s.Name)
	}
	return names
}

// matrixFor is the matrix that a filter is about.
func matrixFor(filter evidence.Filter) faults.Matrix {
	if filter.Extended {
		return scenarios.Extended()
	}
	return scenarios.Matrix()
}

func (f *runFlags) whole() bool {
	return len(f.filter.Scenarios)+len(f.filter.Engines)+len(f.filter.Profiles) == 0
}

func (f *runFlags) run(ctx context.Context, schedule faults.Schedule, out, log io.Writer) (err error) {
	matrix := matrixFor(f.filter)
	cells := comparison.Select(matrix.Cells, f.filter)
	dir := filepath.Join(f.out, stamp())
	root := filepath.Join(dir, "evidence")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return refund.Wrap(refund.CodeStoreUnreadable, err, "no directory for the run")
	}
	b, err := openBench(ctx, log, enginesOf(cells), f.server, f.keep)
	if err != nil {
		return err
	}
	suite := describeSuite(f.filter)
	memory := watchMemory(ctx)
	err = playAll(ctx, b, cells, schedule, root, f.jobs, log)
	peak := memory.stop()
	if stopped := b.close(); err == nil {
		err = stopped
	}
	if err != nil {
		return err
	}
	suite.EndedAt, suite.PeakMemoryMB = refund.At(time.Now()), peak>>20
	if err := evidence.SaveSuite(root, suite); err != nil {
		return err
	}
	result, err := comparison.Judge(root, matrix)
	if err != nil {
		return err
	}
	report, err := f.publish(dir, root, result)
	if err != nil {
		return err
	}
	summarise(out, result)
	fmt.Fprintf(out, "\n%d cells in %.0f s after the build; all processes together used at most %d MiB\n", len(result.Trials), time.Since(b.built).Seconds(), peak>>20)
	fmt.Fprintf(out, "report %s, evidence %s (SHA-256 %s)\n", report, root, result.Hash)
	if f.keep {
		fmt.Fprintf(out, "the trials' stores and logs are in %s\n", b.lab.Scratch)
	}
	if !result.Passed() {
		return refund.Errorf(refund.CodeNotPassed, "the suite did not pass: see %s", report)
	}
	return nil
}

func enginesOf(cells []faults.Expectation) (engines []string) {
	for _, cell := range cells {
		if cell.NotApplicable == "" && !slices.Contains(engines, cell.Engine) {
			engines = append(engines, cell.Engine)
		}
	}
	return engines
}

// publish writes the report; of the whole suite, and of the whole extended matrix, also the packed evidence, to where both
// are committed.
func (f *runFlags) publish(dir, root string, result comparison.Result) (path string, err error) {
	path = filepath.Join(dir, reportFile)
	text := []byte(result.Report(""))
	if err := os.WriteFile(path, text, 0o644); err != nil || !f.whole() {
		return path, err
	}
	if f.filter.Extended {
		path = filepath.Join(reportDir, extendedReport)
		if err := pack(root, extendedPack); err != nil {
			return "", err
		}
		return path, errors.Join(os.WriteFile(path, text, 0o644), writeReport())
	}
	if err := pack(root, evidencePack); err != nil {
		return "", err
	}
	return reportFile, writeReport()
}
