package main

import (
	"cmp"
	"context"
	"encoding/json"
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
	"refundlab/faults/exploration"
	"refundlab/refund"
)

// Which pairs of faults are played.
const (
	noPairs     = "none"
	killPairs   = "kill"   // every pair of kills under full and opaque
	samplePairs = "sample" // a sample of all others
	allPairs    = "all"    // both
)

// Turns of the trials whose traces are compared.
const (
	baseTurns   = 3
	sliceTurns  = 2 // enough to see most of what is not stable, where time is short
	singleTurns = 2 // of a kill whose recovery is hit at every place
)

type exploreFlags struct {
	asked  evidence.ExplorationAsked
	server serverFlags
	budget time.Duration
	jobs   int
	out    string
	resume string
	keep   bool
	json   bool
}

func exploreCommand() *cobra.Command {
	var f exploreFlags
	c := &cobra.Command{
		Use:   "explore",
		Short: "Hit every place of an undisturbed run, one by one and in pairs",
		Long: `Play each base flow without a fault, take from the traces every place where a process stands (process, point, occurrence),
and play one trial for each place with a kill there, and with a freeze that is let go late. With pairs, a second fault hits
during the recovery from the first: every pair of kills under the profiles full and opaque, and a sample of all others.

The results are appended to results.jsonl in the run's directory as they come; --resume goes on where a run ended. A complete
run of everything writes report/explore.json and REPORT.md; any run leaves exploration.json and exploration.md in its directory.
A trial that did not pass leaves its evidence, and in failed/ its plan, which "lab replay" plays again.

Exit status 1 where a trial failed or is invalid; one whose fault hit in none of its plays is listed as not reached.`,
		Example: `  go run ./cmd/lab explore
  go run ./cmd/lab explore --engine handrolled --profile full --pairs kill
  go run ./cmd/lab explore --pairs all --budget 60m
  go run ./cmd/lab explore --slice 60 --seed 7
  go run ./cmd/lab explore --resume runs/explore-20261129-171500.000`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return f.explore(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.StringSliceVar(&f.asked.Engines, "engine", nil, "only this engine: temporal or handrolled")
	flags.StringSliceVar(&f.asked.Profiles, "profile", nil, "only these provider profiles")
	flags.StringSliceVar(&f.asked.Flows, "flow", nil, "only these base flows: "+strings.Join(flowNames(), ", "))
	flags.StringVar(&f.asked.Pairs, "pairs", noPairs, "second faults: none, kill (every pair of kills under full and opaque), sample (a sample of all other pairs), all")
	flags.IntVar(&f.asked.Sample, "sample", 600, "pairs in the sample, for each engine")
	flags.Uint64Var(&f.asked.Seed, "seed", 1, "of every draw")
	flags.IntVar(&f.asked.Slice, "slice", 0, "only so many trials, drawn from everything: half of them single faults, half of them pairs")
	flags.DurationVar(&f.budget, "budget", 0, "start no further trial after this time; 0 plays everything")
	flags.IntVar(&f.jobs, "jobs", 24, "trials at a time; one without a freeze counts twice")
	flags.StringVar(&f.out, "out", "", "`DIRECTORY` of this run (default: a new one below runs/)")
	flags.StringVar(&f.resume, "resume", "", "`DIRECTORY` of a run to go on with, as it was asked for")
	flags.BoolVar(&f.keep, "keep", false, "keep the evidence of the trials that passed, too")
	flags.BoolVar(&f.json, "json", false, "print the result as JSON in the place of the summary")
	f.server.register(c)
	c.MarkFlagsMutuallyExclusive("out", "resume")
	return c
}

func flowNames() (names []string) {
	for _, flow := range exploration.Flows() {
		names = append(names, flow.Name)
	}
	return names
}

func (f *exploreFlags) check() error {
	if err := checkEngines(f.asked.Engines...); err != nil {
		return err
	}
	if err := checkProfiles(f.asked.Profiles); err != nil {
		return err
	}
	for _, flow := range f.asked.Flows {
		if !slices.Contains(flowNames(), flow) {
			return refund.Errorf(refund.CodeInvalidFlag, "--flow %q is unknown: the flows are %s", flow, strings.Join(flowNames(), ", "))
		}
	}
	if !slices.Contains([]string{noPairs, killPairs, samplePairs, allPairs}, f.asked.Pairs) {
		return refund.Errorf(refund.CodeInvalidFlag, "--pairs %q is unknown: it is none, kill, sample or all", f.asked.Pairs)
	}
	if err := checkJobs(f.jobs, 2*maxJobs); err != nil {
		return err
	}
	if f.asked.Sample < 0 || f.asked.Slice < 0 || f.budget < 0 {
		return refund.Errorf(refund.CodeInvalidFlag, "--sample, --slice and --budget cannot be below zero")
	}
	if len(f.scope().Bases()) == 0 {
		return refund.Errorf(refund.CodeInvalidFlag, "no base flow has a part for this engine and profile")
	}
	return nil
}

func (f *exploreFlags) scope() exploration.Scope {
	return exploration.Scope{Engines: f.asked.Engines, Profiles: f.asked.Profiles, Flows: f.asked.Flows}
}

// whole tells whether the run is the one whose result is published.
func (f *exploreFlags) whole() bool {
	a := f.asked
	return len(a.Engines)+len(a.Profiles)+len(a.Flows)+a.Slice == 0 && a.Pairs == allPairs
}

func (f *exploreFlags) explore(ctx context.Context, out, log io.Writer) (err error) {
	dir, then, err := f.directory()
	if err != nil {
		return err
	}
	b, err := openBench(ctx, log, enginesIn(f.scope().Bases()), f.server, false)
	if err != nil {
		return err
	}
	e := &explorer{bench: b, dir: dir, keep: f.keep, jobs: f.jobs, seed: f.asked.Seed, log: log, results: exploration.Results{}, began: time.Now()}
	if f.budget > 0 {
		e.until = e.began.Add(f.budget)
	}
	started := refund.At(time.Now())
	samples, err := f.play(ctx, e, then)
	if stopped := b.close(); err == nil {
		err = stopped
	}
	if err != nil {
		return err
	}
	result := evidence.Exploration{
		Command: commandLine(), Machine: machine(), Versions: versions(), Budget: budget, StartedAt: started, EndedAt: refund.At(time.Now()),
		ElapsedMS: e.elapsed(), Jobs: f.jobs, Asked: f.asked, Unplayed: e.unplayed, Pairless: e.pairless, Unaimed: e.unaimed, Groups: e.results.Groups(),
		Points: e.results.Coverage(f.scope().Bases()), Samples: samples, Open: e.results.Open(e.replayFile), Repeated: e.results.Repeated(),
	}
	return f.publish(dir, result, out)
}

// play plays what has no result yet. then is the code that has played the rest, nil in a new run.
func (f *exploreFlags) play(ctx context.Context, e *explorer, then []string) ([]evidence.PairSample, error) {
	if err := f.claim(e, then); err != nil {
		return nil, err
	}
	if err := e.load(); err != nil {
		return nil, err
	}
	defer e.close()
	return f.phases(ctx, e)
}

// phases plays one part after the other, because each is made from the traces of the one before.
func (f *exploreFlags) phases(ctx context.Context, e *explorer) ([]evidence.PairSample, error) {
	bases := f.scope().Bases()
	turns := baseTurns
	if f.asked.Slice > 0 {
		turns = sliceTurns
	}
	if err := e.play(ctx, "traces", bases, turns); err != nil {
		return nil, err
	}
	singles := e.results.Singles(bases)
	if f.asked.Slice > 0 {
		return nil, f.slice(ctx, e, singles)
	}
	if err := e.play(ctx, "single faults", singles, 1); err != nil {
		return nil, err
	}
	if f.asked.Pairs == killPairs || f.asked.Pairs == allPairs {
		again := slices.DeleteFunc(slices.Clone(singles), func(t exploration.Trial) bool {
			return t.Kind() != "kill" || !exploration.Exhaustive(t)
		})
		if err := e.play(ctx, "their recoveries once more", again, singleTurns); err != nil {
			return nil, err
		}
		e.pairless = e.results.Pairless(again)
		e.unaimed = e.results.Unaimed(again)
		pairs := e.results.KillPairs(again)
		if err := e.play(ctx, "pairs of kills", pairs, 1); err != nil {
			return nil, err
		}
	}
	if f.asked.Pairs != samplePairs && f.asked.Pairs != allPairs {
		return nil, nil
	}
	e.pairless = e.results.Pairless(singles) // those of the kills are among them
	var samples []evidence.PairSample
	var drawn []exploration.Trial
	population := e.results.OtherPairs(singles)
	for _, engine := range enginesIn(bases) {
		own := exploration.OfEngine(population, engine)
		draw := exploration.Draw(own, f.asked.Sample, f.asked.Seed)
		drawn = append(drawn, draw...)
		samples = append(samples, evidence.PairSample{Engine: engine, Population: len(own), Drawn: len(draw), Seed: f.asked.Seed})
	}
	return samples, e.play(ctx, "sampled pairs", drawn, 1)
}

// slice plays a few trials drawn from everything: single faults, and as many pairs whose first fault is one of these.
func (f *exploreFlags) slice(ctx context.Context, e *explorer, singles []exploration.Trial) error {
	drawn := exploration.Draw(singles, (f.asked.Slice+1)/2, f.asked.Seed)
	if err := e.play(ctx, "single faults", drawn, 1); err != nil {
		return err
	}
	e.pairless = e.results.Pairless(drawn)
	pairs := exploration.Draw(append(e.results.KillPairs(drawn), e.results.OtherPairs(drawn)...), f.asked.Slice/2, f.asked.Seed)
	return e.play(ctx, "pairs", pairs, 1)
}

func enginesIn(trials []exploration.Trial) (engines []string) {
	for _, engine := range engineNames {
		if slices.ContainsFunc(trials, func(t exploration.Trial) bool { return t.Engine == engine }) {
			engines = append(engines, engine)
		}
	}
	return engines
}

// askedFile keeps what a run was asked for and what code plays it, so that it can be gone on with.
const askedFile = "asked.json"

// directory makes the run's directory, or finds the one to go on with, what that run was asked for, and the code that played it.
func (f *exploreFlags) directory() (dir string, then []string, err error) {
	if f.resume != "" {
		text, err := os.ReadFile(filepath.Join(f.resume, askedFile))
		if err != nil {
			return "", nil, refund.Wrap(refund.CodeInvalidFlag, err, "--resume %s is no run of lab explore", f.resume)
		}
		var kept keptRun[evidence.ExplorationAsked]
		if err := json.Unmarshal(text, &kept); err != nil {
			return "", nil, refund.Wrap(refund.CodeInvalidFlag, err, "--resume %s: %s cannot be read", f.resume, askedFile)
		}
		if len(kept.Built) == 0 { // before anything is built or started
			return "", nil, refund.Errorf(refund.CodeInvalidFlag, "--resume %s does not say what code has played it: begin a new run", f.resume)
		}
		f.asked = kept.Asked
		return f.resume, kept.Built, nil
	}
	dir = cmp.Or(f.out, newRunDir("explore"))
	if _, err := os.Stat(filepath.Join(dir, askedFile)); err == nil {
		return "", nil, refund.Errorf(refund.CodeInvalidFlag, "--out %s holds a run already: go on with it by --resume, or name another", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, refund.Wrap(refund.CodeStoreUnreadable, err, "no directory for the run")
	}
	return dir, nil, nil
}

// claim writes into the run's directory what is asked for and what code plays it; where other code has played there already, it
// refuses: old results must not be published as those of the present versions.
func (f *exploreFlags) claim(e *explorer, then []string) error {
	now, err := playedBy(e.bench.paths)
	if err != nil {
		return err
	}
	if f.resume != "" {
		return sameCode(f.resume, then, now)
	}
	text, err := json.Marshal(keptRun[evidence.ExplorationAsked]{Built: now, Asked: f.asked})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(e.dir, askedFile), append(text, '\n'), 0o644)
}

// publish writes the result where it belongs, says what came of the run, and fails where that is not good.
func (f *exploreFlags) publish(dir string, result evidence.Exploration, out io.Writer) error {
	text, err := json.MarshalIndent(result, "", " ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	section := comparison.ExplorationSection(result)
	for name, content := range map[string][]byte{"exploration.json": text, "exploration.md": []byte(section)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	if f.whole() && result.Unplayed == 0 {
		if err := publishInstrument("explore", result); err != nil {
			return err
		}
	}
	total := evidence.Tally{}
	for _, g := range result.Groups {
		total.Add(g.Tally)
	}
	if f.json {
		if _, err := out.Write(text); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(out, "%d trials in %.0f s: %d passed, %d failed, %d invalid, %d inconclusive, %d not reached; %d plays repeated; %s\n",
			total.Trials, float64(result.ElapsedMS)/1000, total.Passed, total.Failed, total.Invalid, total.Inconclusive, total.NotReached, total.Repeats, unplayed(result.Unplayed))
		if result.Pairless > 0 {
			fmt.Fprintf(out, "of %d single faults no pair could be made, because a play of theirs did not take place\n", result.Pairless)
		}
		for _, u := range result.Unaimed {
			fmt.Fprintf(out, "%s, %s: %d pairs of kills were not aimed at, because only one play of the first kill holds their second place\n", u.Engine, u.Profile, u.Pairs)
		}
		fmt.Fprintf(out, "results and coverage: %s\n", filepath.Join(dir, "exploration.md"))
	}
	if bad := total.Failed + total.Invalid + total.Inconclusive; bad > 0 || total.Passed == 0 {
		return refund.Errorf(refund.CodeNotPassed, "%d of %d trials did not pass: see %s", bad, total.Trials, dir)
	}
	return nil
}

// unplayed says how many trials the budget of time has cut off.
func unplayed(n int) string {
	if n == 0 {
		return "0 not played"
	}
	return fmt.Sprintf("at least %d not played, since later parts are made from the traces of these", n)
}
