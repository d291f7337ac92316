package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"refundlab/binaries"
	"refundlab/comparison"
	"refundlab/controls"
	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/faults/harness"
	"refundlab/faults/scenarios"
	"refundlab/refund"
)

const (
	// buildsAtOnce fits two processors; a build is mostly one link.
	buildsAtOnce = 2
	// controlDeadline ends a trial whose script waits for what a broken build never does. Every trial of the unbroken one is done
	// in half of it.
	controlDeadline = 60 * time.Second
	// controlQuietMS is how long nothing must be announced until a run that is not over counts as resting, in milliseconds: longer
	// than the unbroken build is ever silent, the ten seconds for which a frozen worker swallows its engine's next tasks included.
	controlQuietMS = 12_000
	// controlPatienceMS is the same for what a script waits for and a broken build may never do. It is longer, because a script
	// that goes on too early plays another scenario.
	controlPatienceMS = 22_000
	// mostPlays is how often a trial is played that did not take place as planned, or that did not show its control: some need two
	// things within a second of each other, which a busy machine may keep apart. That the unbroken build fails is never played again.
	mostPlays = 3
)

// workshop builds the system with replaced sources and plays trials with what it built.
type workshop struct {
	bench    *bench
	root     string // of the module
	kept     *keptControls
	cells    map[evidence.Cell]faults.Expectation
	building chan struct{}
	playing  chan struct{}

	log   io.Writer
	began time.Time
	mu    sync.Mutex
	done  int
	total int
}

func newWorkshop(ctx context.Context, b *bench, kept *keptControls, jobs int, log io.Writer) (*workshop, error) {
	root, err := binaries.ModuleDirectory(ctx)
	if err != nil {
		return nil, err
	}
	w := &workshop{
		bench: b, root: root, kept: kept, cells: map[evidence.Cell]faults.Expectation{}, log: log, began: time.Now(),
		building: make(chan struct{}, buildsAtOnce), playing: make(chan struct{}, jobs),
	}
	for _, expectation := range scenarios.All().Cells {
		w.cells[comparison.CellOf(expectation)] = expectation
	}
	return w, nil
}

// playControls plays the unbroken system and the controls.
func (w *workshop) playControls(ctx context.Context, selected []controls.Control, matrix bool, result *evidence.Controls) error {
	baseline := controls.Control{Name: "nothing", Executables: []string{binaries.Worker, binaries.Starter, binaries.Provider}}
	for _, control := range selected {
		for _, cell := range control.Finds {
			if !slices.ContainsFunc(baseline.Finds, func(c controls.Cell) bool {
				return c.Scenario == cell.Scenario && c.Engine == cell.Engine && c.Profile == cell.Profile
			}) {
				baseline.Finds = append(baseline.Finds, controls.Cell{Scenario: cell.Scenario, Engine: cell.Engine, Profile: cell.Profile})
			}
		}
	}
	unbroken := evidence.Control{}
	result.Controls = make([]evidence.Control, len(selected))
	others := make([][]controls.Cell, len(selected))
	w.total = len(baseline.Finds)
	for i, control := range selected {
		if matrix {
			others[i] = matrixCells(control)
		}
		w.total += len(control.Finds) + len(others[i])
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cap(w.playing)) // builds that wait for their trials take 50 MB each
	play := func(control controls.Control, others []controls.Cell, into *evidence.Control) {
		if kept, found := w.kept.find(control.Name); found {
			*into = kept
			w.skip(len(kept.Trials) + len(kept.Others))
			return
		}
		group.Go(func() error {
			if err := w.playControl(ctx, control, others, into); err != nil {
				return err
			}
			return w.kept.keep(*into)
		})
	}
	play(baseline, nil, &unbroken)
	for i, control := range selected {
		play(control, others[i], &result.Controls[i])
	}
	err := group.Wait()
	if err == nil && unbroken.BuildError != "" {
		err = refund.Errorf(refund.CodeUnavailable, "the unbroken system does not build: %s", unbroken.BuildError)
	}
	result.Baseline = unbroken.Trials
	return err
}

// playControl builds one control, plays its cells, and drops the executables.
func (w *workshop) playControl(ctx context.Context, control controls.Control, others []controls.Cell, result *evidence.Control) error {
	*result = evidence.Control{
		Name: control.Name, Breaks: control.Breaks, Design: control.Design, Layers: control.Layers, Harmless: control.Harmless, Executables: control.Executables,
		Trials: make([]evidence.ControlTrial, len(control.Finds)),
	}
	dir, err := w.shelf(control.Name)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // Scratch goes as a whole
	paths, err := w.build(ctx, control, dir, result)
	if err != nil {
		return err
	}
	if result.BuildError != "" {
		result.Trials = nil
		w.tell(control.Name, "DID NOT BUILD", 0, result.BuildError)
		return nil
	}
	lab := w.bench.with(paths)
	lab.Nonce += control.Name
	lab.Deadline = controlDeadline
	result.Others = make([]evidence.ControlTrial, len(others))
	group, ctx := errgroup.WithContext(ctx)
	play := func(cell controls.Cell, most int, into *evidence.ControlTrial) {
		group.Go(func() error {
			trial, err := w.play(ctx, &lab, control.Name, cell, most)
			if err == nil {
				w.told(control, trial)
			}
			*into = trial
			return err
		})
	}
	for i, cell := range control.Finds {
		play(cell, mostPlays, &result.Trials[i])
	}
	for i, cell := range others {
		play(cell, 1, &result.Others[i])
	}
	return group.Wait()
}

func (w *workshop) build(ctx context.Context, control controls.Control, dir string, result *evidence.Control) (binaries.Paths, error) {
	select {
	case w.building <- struct{}{}:
		defer func() { <-w.building }()
	case <-ctx.Done():
		return nil, refund.Wrap(refund.CodeInterrupted, ctx.Err(), "the run was interrupted")
	}
	began := time.Now()
	sources, err := control.Sources(w.root)
	if err != nil {
		result.BuildError = err.Error()
		return nil, nil
	}
	if len(control.Replacements) == 0 {
		// The unbroken system goes the same way, with one file replaced by itself.
		const file = "refund/doc.go"
		text, err := os.ReadFile(filepath.Join(w.root, file))
		if err != nil {
			return nil, err
		}
		sources = map[string]string{file: string(text)}
	}
	result.Files = slices.Sorted(maps.Keys(sources))
	paths, err := binaries.BuildOverlaid(ctx, dir, sources, control.Executables...)
	if ctx.Err() != nil {
		return nil, refund.Wrap(refund.CodeInterrupted, ctx.Err(), "the run was interrupted")
	}
	if err != nil {
		result.BuildError = err.Error()
	}
	result.BuildMS = time.Since(began).Milliseconds()
	return paths, nil
}

// play plays one cell with the build of that name, at most so often, and judges it. Where it failed the same build is played without
// the fault, too: it costs one trial more for each that says something, and none for the many that pass.
func (w *workshop) play(ctx context.Context, lab *harness.Lab, name string, cell controls.Cell, most int) (evidence.ControlTrial, error) {
	trial, err := w.playArm(ctx, lab, name, cell, evidence.ArmFault, most)
	if err != nil || !trial.Failed() {
		return trial, err
	}
	w.oneMore()
	cell.Checks = nil // nothing is expected of it
	clean, err := w.playArm(ctx, lab, name, cell, evidence.ArmClean, mostPlays)
	trial.Clean = &clean
	return trial, err
}

// playArm plays one arm of a cell. One that did not take place as planned, or in which an expected check is not among those reported,
// is played again.
func (w *workshop) playArm(ctx context.Context, lab *harness.Lab, name string, cell controls.Cell, arm evidence.Arm, most int) (evidence.ControlTrial, error) {
	trial := evidence.ControlTrial{
		Cell:     evidence.Cell{Scenario: cell.Scenario, Engine: cell.Engine, Profile: refund.ProfileName(cell.Profile), Arm: arm},
		Expected: cell.Checks,
	}
	expectation, known := w.cells[trial.Cell]
	if !known || expectation.NotApplicable != "" {
		return trial, refund.Errorf(refund.CodeInternal, "the catalogue has no cell %s to play", trial.Dir())
	}
	plan, err := scenarios.PlanOf(cell.Scenario, cell.Engine, cell.Profile, string(arm))
	if err != nil {
		return trial, err
	}
	plan.Script = slices.Clone(plan.Script)
	for i, step := range plan.Script {
		switch {
		case step.QuietMS != 0:
		case step.Do == faults.DoRest:
			plan.Script[i].QuietMS = controlQuietMS
		case step.Do == faults.DoAwait:
			plan.Script[i].QuietMS = controlPatienceMS
		}
	}
	select {
	case w.playing <- struct{}{}:
		defer func() { <-w.playing }()
	case <-ctx.Done():
		return trial, refund.Wrap(refund.CodeInterrupted, ctx.Err(), "the run was interrupted")
	}
	for trial.Plays = 1; ; trial.Plays++ {
		again := *lab
		again.Nonce += strconv.Itoa(trial.Plays)
		record := again.Play(ctx, trial.Cell, plan)
		if err := ctx.Err(); err != nil {
			return trial, refund.Wrap(refund.CodeInterrupted, err, "the run was interrupted")
		}
		if lab.Keep {
			if err := evidence.Save(filepath.Join(lab.Scratch, "evidence", name), record); err != nil {
				return trial, err
			}
		}
		judged := comparison.JudgeRecord(record, expectation)
		summarised(&trial, record, judged)
		trial.TookMS = int64(record.Trial.EndedAt - record.Trial.StartedAt)
		missed := judged.Verdict == comparison.Invalid || len(cell.Checks) > 0 && !trial.Caught()
		if !missed || trial.Plays == most {
			return trial, nil
		}
	}
}

// summarised puts what the judge said into a trial's result.
func summarised(trial *evidence.ControlTrial, record evidence.Record, judged comparison.Judged) {
	trial.Verdict, trial.Reported, trial.Text = string(judged.Verdict), nil, ""
	trial.Unsound, trial.Stray = nil, comparison.EndedByItself(record)
	named := false
	for _, finding := range judged.Findings {
		expected := slices.Contains(trial.Expected, finding.Check)
		if trial.Text == "" || expected && !named {
			trial.Text = finding.Check + ": " + finding.Text
		}
		named = named || expected
		if finding.Check == "EVIDENCE" {
			trial.Unsound = append(trial.Unsound, finding.Text)
		}
		if !slices.Contains(trial.Reported, finding.Check) {
			trial.Reported = append(trial.Reported, finding.Check)
		}
	}
}

func (w *workshop) told(control controls.Control, trial evidence.ControlTrial) {
	verdict := trial.Verdict
	if len(trial.Expected) > 0 {
		verdict = map[bool]string{true: "caught", false: "NOT CAUGHT"}[trial.Caught()]
	}
	tell := func(verdict string, t evidence.ControlTrial) {
		w.tell(control.Name+" "+t.Dir(), verdict, time.Duration(t.TookMS)*time.Millisecond, strings.Join(t.Reported, " ")+" "+t.Text)
	}
	tell(verdict, trial)
	if trial.Clean != nil {
		tell(trial.Clean.Verdict, *trial.Clean)
	}
}

// oneMore counts a trial that nobody could foresee.
func (w *workshop) oneMore() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total++
}

// skip counts trials that an earlier run has played.
func (w *workshop) skip(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done += n
}

// tell prints a line for each trial that ended, which reads the same in a terminal, a pipe and a log.
func (w *workshop) tell(what, verdict string, took time.Duration, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done++
	fmt.Fprintf(w.log, "%3.0fs %d/%d %-10s %s (%.1fs) %s\n", time.Since(w.began).Seconds(), w.done, w.total, verdict, what, took.Seconds(), text)
}

// with is the bench's laboratory with other executables in the place of some of its own.
func (b *bench) with(paths binaries.Paths) harness.Lab {
	swapped := map[string]string{}
	for name, path := range paths {
		swapped[b.paths[name]] = path
	}
	swap := func(argv []string) []string {
		argv = slices.Clone(argv)
		for i, argument := range argv {
			if path, other := swapped[argument]; other {
				argv[i] = path
			}
		}
		return argv
	}
	lab := b.lab
	lab.Provider, lab.DumpLocal, lab.Engines = swap(lab.Provider), swap(lab.DumpLocal), map[string]harness.Engine{}
	for name, engine := range b.lab.Engines {
		engine.Worker, engine.Starter = swap(engine.Worker), swap(engine.Starter)
		lab.Engines[name] = engine
	}
	return lab
}
