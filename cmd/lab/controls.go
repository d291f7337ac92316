package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"refundlab/comparison"
	"refundlab/controls"
	"refundlab/evidence"
	"refundlab/faults/scenarios"
	"refundlab/refund"
)

type controlsFlags struct {
	asked  evidence.ControlsAsked
	server serverFlags
	jobs   int
	json   bool
	keep   bool
	resume string // file
}

func controlsCommand() *cobra.Command {
	var f controlsFlags
	c := &cobra.Command{
		Use:   "controls",
		Short: "Take single protections away and prove that the suite sees each of them go",
		Long: `Build each control, which is the system without one protection, play the scenarios that must show it, and judge them. A control is
caught when one of the invariants that it names is among what the judge reports; I11 does not count where a worker or a provider ended by
itself. A control that does not build, or of which the suite reports something else or nothing, is not caught: then the suite is blind,
and the command fails. The unbroken system, built and played in the same way, has to pass. Where a control fails it is played without the
fault, too: what fails there as well says nothing about the scenario.

With --matrix each control is also played in every other scenario of its engines. A run of all controls writes report/controls.json and
REPORT.md. Exit status 1 unless every control is caught.`,
		Example: `  go run ./cmd/lab controls
  go run ./cmd/lab controls --control fence-only-logged,timeout-is-failure --engine temporal
  go run ./cmd/lab controls --matrix --resume runs/controls.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			for _, name := range []string{"control", "engine"} {
				if list, _ := c.Flags().GetStringSlice(name); c.Flags().Changed(name) && len(list) == 0 {
					return refund.Errorf(refund.CodeInvalidFlag, "--%s is empty: name what to play, or leave the flag out", name)
				}
			}
			selected, err := f.selected(controls.All())
			if err != nil {
				return err
			}
			return f.run(c.Context(), selected, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.StringSliceVar(&f.asked.Controls, "control", nil, "only controls whose name is or begins with this; several with commas")
	flags.StringSliceVar(&f.asked.Engines, "engine", nil, "only this engine: temporal or handrolled")
	flags.BoolVar(&f.asked.Matrix, "matrix", false, "play every control in every scenario of its engines; takes the better part of an hour")
	flags.IntVar(&f.jobs, "jobs", 8, "trials at a time; they mostly wait")
	flags.BoolVar(&f.json, "json", false, "print the result as JSON")
	flags.BoolVar(&f.keep, "keep", false, "leave the trials' stores, sockets and logs behind and say where")
	flags.StringVar(&f.resume, "resume", "", "`FILE` that takes each control's result as it is done; what is in it already is not played again")
	f.server.register(c)
	return c
}

// selected are the controls asked for, each with its cells of the engines asked for.
func (f *controlsFlags) selected(all []controls.Control) ([]controls.Control, error) {
	if err := checkEngines(f.asked.Engines...); err != nil {
		return nil, err
	}
	if err := checkJobs(f.jobs, maxJobs); err != nil {
		return nil, err
	}
	var names []string
	for _, control := range all {
		names = append(names, control.Name)
	}
	for _, asked := range f.asked.Controls {
		if asked == "" || !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, asked) }) {
			return nil, refund.Errorf(refund.CodeInvalidFlag, "--control %q begins no control's name: they are %s", asked, strings.Join(names, ", "))
		}
	}
	var selected []controls.Control
	for _, control := range all {
		wanted := len(f.asked.Controls) == 0 || slices.ContainsFunc(f.asked.Controls, func(asked string) bool { return strings.HasPrefix(control.Name, asked) })
		control.Finds = slices.DeleteFunc(slices.Clone(control.Finds), func(cell controls.Cell) bool {
			return len(f.asked.Engines) > 0 && !slices.Contains(f.asked.Engines, cell.Engine)
		})
		if wanted && len(control.Finds) > 0 {
			selected = append(selected, control)
		}
	}
	if len(selected) == 0 {
		return nil, refund.Errorf(refund.CodeInvalidFlag, "no control that is asked for exists on this engine")
	}
	return selected, nil
}

func (f *controlsFlags) run(ctx context.Context, selected []controls.Control, out, log io.Writer) error {
	var engines []string
	for _, control := range selected {
		engines = append(engines, control.Engines()...)
	}
	slices.Sort(engines)
	b, err := openBench(ctx, log, slices.Compact(engines), f.server, f.keep)
	if err != nil {
		return err
	}
	result := evidence.Controls{
		Command: commandLine(), Machine: machine(), Versions: versions(), Budget: budget, StartedAt: refund.At(time.Now()), Jobs: f.jobs, Asked: f.asked,
	}
	err = f.play(ctx, b, selected, &result, log)
	if stopped := b.close(); err == nil {
		err = stopped
	}
	if err != nil {
		return err
	}
	result.EndedAt = refund.At(time.Now())
	if err := f.tell(out, result); err != nil {
		return err
	}
	if f.keep {
		fmt.Fprintf(log, "the trials' stores and logs are in %s\n", b.lab.Scratch)
	}
	if len(f.asked.Engines) == 0 && len(selected) == len(controls.All()) {
		if err := publishInstrument("controls", result); err != nil {
			return err
		}
	}
	if !result.Passed() {
		return refund.Errorf(refund.CodeNotPassed, "a control is not caught, or the unbroken system does not pass: see above")
	}
	return nil
}

func (f *controlsFlags) play(ctx context.Context, b *bench, selected []controls.Control, result *evidence.Controls, log io.Writer) error {
	kept, err := keepControls(f.resume, b, f.asked)
	if err != nil {
		return err
	}
	defer kept.close()
	w, err := newWorkshop(ctx, b, kept, f.jobs, log)
	if err != nil {
		return err
	}
	return w.playControls(ctx, selected, f.asked.Matrix, result)
}

func (f *controlsFlags) tell(out io.Writer, result evidence.Controls) error {
	if f.json {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", " ")
		return encoder.Encode(result)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "\nCONTROL\tSHOWN BY\tEXPECTED\tREPORTED\tWITHOUT THE FAULT\t\n")
	caught := 0
	for _, control := range result.Controls {
		if control.Caught() {
			caught++
		}
		if control.BuildError != "" {
			fmt.Fprintf(table, "%s\t\t\t\t\tDID NOT BUILD\n", control.Name)
		}
		for _, trial := range control.Trials {
			without := ""
			if trial.Clean != nil {
				without = strings.TrimSpace(trial.Clean.Verdict + " " + strings.Join(trial.Clean.Reported, " "))
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", control.Name, strings.TrimSuffix(trial.Dir(), "/fault"), strings.Join(trial.Expected, " or "),
				strings.Join(trial.Reported, " "), without, map[bool]string{true: "caught", false: "NOT CAUGHT: " + trial.Verdict}[trial.Caught()])
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	passed := 0
	for _, trial := range result.Baseline {
		if trial.Verdict == string(comparison.Pass) {
			passed++
		}
	}
	for _, miss := range comparison.Uncaught(result) {
		fmt.Fprintln(out, miss.What, miss.Text)
	}
	_, err := fmt.Fprintf(out, "\n%d of %d controls caught; the unbroken system passes %d of the %d cells that show them; %.0f s\n",
		caught, len(result.Controls), passed, len(result.Baseline), result.EndedAt.Sub(result.StartedAt).Seconds())
	return err
}

// matrixCells are the trials of the kill matrix beyond those that a control names: every scenario of its engines, with its fault.
func matrixCells(control controls.Control) []controls.Cell {
	var cells []controls.Cell
	matrix := scenarios.Matrix()
	for _, engine := range control.Engines() {
		for _, scenario := range matrix.Scenarios {
			profile := ""
			for _, e := range matrix.Cells {
				if e.Scenario == scenario.Name && e.Engine == engine && e.Arm == string(evidence.ArmFault) && e.NotApplicable == "" &&
					(profile == "" || e.Profile == string(refund.ProfileFull)) {
					profile = e.Profile
				}
			}
			cell := controls.Cell{Scenario: scenario.Name, Engine: engine, Profile: profile}
			named := slices.ContainsFunc(control.Finds, func(c controls.Cell) bool {
				return c.Scenario == cell.Scenario && c.Engine == cell.Engine && c.Profile == cell.Profile
			})
			if profile != "" && !named {
				cells = append(cells, cell)
			}
		}
	}
	return cells
}

// shelf makes a directory for one build's executables.
func (w *workshop) shelf(name string) (string, error) {
	dir := filepath.Join(w.bench.lab.Scratch, "control-"+name)
	return dir, os.MkdirAll(dir, 0o755)
}
