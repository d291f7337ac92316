package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"refundlab/comparison"
	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/faults/lossfs"
	"refundlab/faults/scenarios"
	"refundlab/refund"
)

type powerFlags struct {
	engines      []string
	names        []string
	seed         uint64
	jobs         int
	keep         bool
	json         bool
	allowMissing bool
	// possible says why this machine cannot play the trials.
	possible func(log io.Writer) error
}

func powerCommand() *cobra.Command {
	f := powerFlags{possible: powerPossible}
	c := &cobra.Command{
		Use:   "power",
		Short: "Cut the power of the stores at every boundary and show what their synchronous setting keeps",
		Long: `Put the journal, the provider's ledger and the Temporal server's database on a file system that loses what was not synced, cut
its power at every boundary, and let the next process start on what is left. Where synchronous is FULL, as the programs have it,
every invariant must hold. Where a build has NORMAL or OFF instead, the judge must report the check that the trial names, and
nothing where the trial says that what is lost contradicts nobody.

It needs FUSE, root and the right to mount. Without them no trial is played and none passes: each is listed as not run, with the
reason, and the exit status is 1, or with --allow-missing 0.

A complete run writes report/power.json and REPORT.md, also where nothing could be played: what another machine showed is not this
one's.

Exit status 1 where a trial without a broken setting does not pass, a broken one is not found by its check or is not harmless as
said, or a trial was not run.`,
		Example: `  go run ./cmd/lab power
  go run ./cmd/lab power --engine handrolled --trial journal-intent --seed 7
  go run ./cmd/lab power --json --allow-missing`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr()) },
	}
	flags := c.Flags()
	flags.StringSliceVar(&f.engines, "engine", nil, "only this engine: temporal or handrolled")
	flags.StringSliceVar(&f.names, "trial", nil, "only trials whose name is or begins with this; several with commas")
	flags.Uint64Var(&f.seed, "seed", 1, "of what survives by lot beside what was synced")
	flags.IntVar(&f.jobs, "jobs", 4, "trials at a time")
	flags.BoolVar(&f.keep, "keep", false, "leave the trials' logs and images behind and say where")
	flags.BoolVar(&f.json, "json", false, "print the result as JSON in the place of the summary")
	flags.BoolVar(&f.allowMissing, "allow-missing", false, "exit with 0 where this machine cannot play the trials")
	return c
}

// powerPlay is one trial to play: with a store as the product has it, or with a build that does not sync.
type powerPlay struct {
	scenarios.PowerTrial
	synchronous string
	lot         bool
}

func (p powerPlay) cell() evidence.Cell {
	name := strings.Join([]string{p.Name, strings.ToLower(p.synchronous)}, "-")
	if p.lot {
		name += "-by-lot"
	}
	return evidence.Cell{Scenario: name, Engine: p.Expect.Engine, Profile: refund.ProfileName(p.Profile), Arm: evidence.ArmFault}
}

// record is the trial in the result, before it was played.
func (p powerPlay) record() evidence.PowerTrial {
	point := p.Point.String()
	if p.Sync != "" {
		point = fmt.Sprintf("%s, %s its fsync", p.Point.Boundary, p.Sync)
	}
	return evidence.PowerTrial{
		Name: p.Name, Engine: p.Expect.Engine, Profile: p.Profile, Volume: p.Volume, Synchronous: p.synchronous,
		Point: point, Moment: p.Moment, Lot: p.lot, Breaks: p.Breaks, Why: p.Why, Verdict: evidence.NotRun,
	}
}

// survivalPercent is the chance of what was not synced where it survives by lot.
const survivalPercent = 50

// plays are the trials that are asked for, each as it is, once more with what survives by lot, and with each broken setting.
func (f *powerFlags) plays() ([]powerPlay, error) {
	if err := checkEngines(f.engines...); err != nil {
		return nil, err
	}
	if err := checkJobs(f.jobs, maxJobs); err != nil {
		return nil, err
	}
	found := map[string]bool{}
	var plays []powerPlay
	for _, trial := range scenarios.Power() {
		if len(f.engines) > 0 && !slices.Contains(f.engines, trial.Expect.Engine) {
			continue
		}
		asked := len(f.names) == 0
		for _, name := range f.names {
			if name != "" && strings.HasPrefix(trial.Name, name) {
				asked, found[name] = true, true
			}
		}
		if !asked {
			continue
		}
		plays = append(plays, powerPlay{trial, evidence.SynchronousFull, false}, powerPlay{trial, evidence.SynchronousFull, true})
		if trial.Sync == faults.After {
			continue // where nothing is synced there is no such moment
		}
		for _, broken := range brokenSettings {
			plays = append(plays, powerPlay{trial, broken, false})
		}
	}
	for _, name := range f.names {
		if !found[name] {
			return nil, refund.Errorf(refund.CodeInvalidFlag, "--trial %q begins no trial's name: they begin with journal-, ledger- and history-", name)
		}
	}
	return plays, nil
}

// lot is the seed of one trial: with the same for all each would draw the same survivors.
func (f *powerFlags) lot(trial string) uint64 {
	name := fnv.New64a()
	_, _ = name.Write([]byte(trial)) // a hash takes everything
	return f.seed ^ name.Sum64()
}

func (f *powerFlags) whole() bool { return len(f.engines)+len(f.names) == 0 }

func (f *powerFlags) run(ctx context.Context, out, log io.Writer) error {
	plays, err := f.plays()
	if err != nil {
		return err
	}
	result := evidence.Power{Command: commandLine(), Machine: machine(), Versions: versions(), StartedAt: refund.At(time.Now()), Seed: f.seed}
	for _, p := range plays {
		result.Trials = append(result.Trials, p.record())
		if !slices.Contains(result.Engines, p.Expect.Engine) {
			result.Engines = append(result.Engines, p.Expect.Engine)
		}
	}
	if err := f.possible(log); err != nil {
		result.NotRun = err.Error()
	} else if err := f.play(ctx, plays, &result, log); err != nil {
		return err
	}
	result.EndedAt = refund.At(time.Now())
	if f.whole() {
		if err := publishInstrument("power", result); err != nil {
			return err
		}
	}
	if f.json {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", " ")
		if err := encoder.Encode(result); err != nil {
			return err
		}
	} else {
		fmt.Fprint(out, comparison.PowerSection(result))
	}
	switch {
	case result.NotRun != "" && f.allowMissing:
		fmt.Fprintf(log, "NOT RUN: %d trials with a power failure were not played and show nothing: %s\n", len(result.Trials), result.NotRun)
		return nil
	case result.NotRun != "":
		return refund.Errorf(refund.CodeNotPassed, "%d trials were not run: %s", len(result.Trials), result.NotRun)
	case !result.Passed():
		return refund.Errorf(refund.CodeNotPassed, "a power failure showed what it must not, or did not show what it must: see above")
	}
	return nil
}

// powerPossible detaches volumes that earlier runs left behind when they were killed, and says why none can be mounted here.
func powerPossible(log io.Writer) error {
	swept, err := lossfs.Sweep()
	for _, point := range swept {
		fmt.Fprintf(log, "detached a dead volume on %s\n", point)
	}
	if err != nil {
		return err
	}
	return lossfs.Probe()
}

// play plays every trial and fills in what it showed.
func (f *powerFlags) play(ctx context.Context, plays []powerPlay, result *evidence.Power, log io.Writer) (err error) {
	b, err := openPowerBench(ctx, log, result.Engines, f.keep)
	if err != nil {
		return err
	}
	defer func() {
		if closed := b.close(); err == nil {
			err = closed
		}
	}()
	began := time.Now()
	var mu sync.Mutex
	done := 0
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(f.jobs)
	for i, p := range plays {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			plan := p.Plan
			if p.lot {
				plan.World.Survival = faults.Survival{Percent: survivalPercent, Seed: f.lot(p.Name)}
			}
			lab := b.labs[p.synchronous]
			record := lab.Play(ctx, p.cell(), plan)
			if ctx.Err() != nil {
				return refund.Wrap(refund.CodeInterrupted, ctx.Err(), "the run was interrupted")
			}
			expect := p.Expect
			expect.Scenario, expect.Unsynced = p.cell().Scenario, p.synchronous != evidence.SynchronousFull
			judged := comparison.JudgeRecord(record, expect)
			trial := &result.Trials[i]
			trial.Verdict, trial.TookMS = string(judged.Verdict), int64(record.Trial.EndedAt-record.Trial.StartedAt)
			for _, finding := range judged.Findings {
				trial.Findings = append(trial.Findings, evidence.PowerFinding(finding))
			}
			if images := record.Trial.Images; len(images) > 0 { // the first is the one that the trial went on with
				trial.Pending, trial.Survived = images[0].Pending, images[0].Survived
				if p.lot {
					trial.Draws = len(images)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			reportPower(log, fmt.Sprintf("%3.0fs %*d/%d", time.Since(began).Seconds(), len(strconv.Itoa(len(plays))), done, len(plays)), p.cell(), *trial)
			return nil
		})
	}
	err = group.Wait()
	if f.keep {
		fmt.Fprintf(log, "the trials' logs and images are in %s\n", b.bench.lab.Scratch)
	}
	return err
}

// reportPower prints a line for a trial, and its findings where it is not what it must be.
func reportPower(log io.Writer, progress string, cell evidence.Cell, t evidence.PowerTrial) {
	verdict := t.Verdict
	switch {
	case !t.Control():
	case t.Caught():
		verdict = "caught by " + t.Breaks
	case t.Breaks != "":
		verdict = "NOT CAUGHT by " + t.Breaks
	case t.Right():
		verdict = "harmless"
	default:
		verdict = "NOT HARMLESS (" + t.Verdict + ")"
	}
	fmt.Fprintf(log, "%s %-16s %s (%.1fs)\n", progress, verdict, cell.Scenario, float64(t.TookMS)/1000)
	if t.Right() {
		return
	}
	for _, finding := range t.Findings {
		fmt.Fprintf(log, "       %s: %s\n", finding.Check, finding.Text)
	}
}
