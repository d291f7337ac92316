package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"refundlab/cmd/internal/cmdline"
	"refundlab/comparison"
	"refundlab/evidence"
	"refundlab/faults/soak"
	"refundlab/refund"
)

type soakFlags struct {
	engine  string
	profile string
	seed    uint64
	minutes float64
	rounds  int
	first   int
	refunds int
	faults  int
	jobs    int
	shrink  time.Duration
	out     string
	goOn    bool
	keep    bool
	json    bool
	server  serverFlags
}

func soakCommand() *cobra.Command {
	var f soakFlags
	c := &cobra.Command{
		Use:   "soak",
		Short: "Play refunds, people, clients and faults drawn by lot, for minutes, and judge every round",
		Long: `Play rounds for so many minutes on each engine. A round is a trial that the seed and its number draw: --refunds refunds over few
orders of their own that do not bear them all, three workers, people who compete, clients who say everything again, and faults of every kind.
Each round's plan is saved before it is played. Every invariant is judged afterwards, and the history of the clients' calls.

The first round that violates an invariant ends the soak: its evidence is kept, and its plan is made smaller for as long as
--shrink says, written to a file, and told as a sequence. "lab replay FILE" plays any plan again.

A soak of both engines and all profiles that goes on for 5 minutes or more, with --refunds and --faults left as they are and without
--rounds, writes report/soak.json and REPORT.md, whether it passes or fails. Any other leaves both alone. Each leaves soak.json in its
directory.
Exit status 1 where a round violates an invariant or did not take place as planned.`,
		Example: `  go run ./cmd/lab soak --seed 7 --minutes 30
  go run ./cmd/lab soak --engine handrolled --profile full --minutes 2 --jobs 2`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check(c.Flags().Changed("profile")); err != nil {
				return err
			}
			return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.engine, "engine", "", "only this engine: temporal or handrolled")
	flags.StringVar(&f.profile, "profile", "", "only this provider profile (default: drawn for each round, full most often)")
	flags.Uint64Var(&f.seed, "seed", 1, "of every draw")
	flags.Float64Var(&f.minutes, "minutes", soakMinutes, "how long rounds are begun; both engines at the same time")
	flags.IntVar(&f.rounds, "rounds", 0, "end after so many rounds on each engine; 0: only --minutes counts")
	flags.IntVar(&f.first, "first", 1, "number of the first round")
	flags.IntVar(&f.refunds, "refunds", soakRefunds, "in each round")
	flags.IntVar(&f.faults, "faults", soakFaults, "rules drawn for each round, beside those that hit clients; about half of them hit")
	flags.IntVar(&f.jobs, "jobs", 3, "rounds at a time, on each engine")
	flags.BoolVar(&f.goOn, "go-on", false, "play to the end although a round has violated an invariant; the first one is made smaller then")
	flags.DurationVar(&f.shrink, "shrink", 10*time.Minute, "how long a round that fails is made smaller; 0 leaves it as it is")
	flags.StringVar(&f.out, "out", "", "`DIRECTORY` of this soak (default: a new one below runs/)")
	flags.BoolVar(&f.keep, "keep", false, "leave the rounds' stores, sockets and logs behind and say where")
	flags.BoolVar(&f.json, "json", false, "print the result as JSON in the place of the summary")
	f.server.register(c)
	return c
}

func (f *soakFlags) check(profiled bool) error {
	if f.engine != "" {
		if err := checkEngines(f.engine); err != nil {
			return err
		}
	}
	if profiled {
		profile, err := refund.ProfileNamed(refund.ProfileName(f.profile))
		if err != nil {
			return err
		}
		if profile.Shared && f.engine != handrolledEngine {
			return refund.Errorf(refund.CodeInvalidProfile, "profile %s is the journal's own ledger: give --engine %s with it", profile.Name, handrolledEngine)
		}
	}
	for _, n := range []struct {
		flag        string
		value       float64
		least, most float64
	}{
		{"minutes", f.minutes, 0.01, 24 * 60}, {"rounds", float64(f.rounds), 0, 1e6}, {"first", float64(f.first), 1, 1e6},
		{"refunds", float64(f.refunds), 1, 200}, {"faults", float64(f.faults), 0, 200}, {"jobs", float64(f.jobs), 1, 32},
	} {
		if !(n.value >= n.least && n.value <= n.most) { // NaN is neither
			return refund.Errorf(refund.CodeInvalidFlag, "--%s is %v: it must be from %v to %v", n.flag, n.value, n.least, n.most)
		}
	}
	if f.shrink < 0 {
		return refund.Errorf(refund.CodeInvalidFlag, "--shrink is %s: the least is 0", f.shrink)
	}
	return nil
}

// soaker plays the rounds of one engine.
type soaker struct {
	soakFlags
	bench *bench
	dir   string
	log   io.Writer
	began time.Time

	mu     sync.Mutex
	sum    evidence.SoakEngine
	failed *failure
}

// failure is the first round that violated something.
type failure struct {
	round     soak.Round
	invariant string
	plan      string
	open      int // its place among the open rounds
	took      time.Duration
}

func (f *soakFlags) run(ctx context.Context, out, log io.Writer) (err error) {
	engines := engineNames
	if f.engine != "" {
		engines = []string{f.engine}
	}
	dir := cmp.Or(f.out, newRunDir("soak"))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return refund.Wrap(refund.CodeStoreUnreadable, err, "no directory for the soak")
	}
	b, err := openBench(ctx, log, engines, f.server, f.keep)
	if err != nil {
		return err
	}
	defer func() {
		if stopped := b.close(); err == nil {
			err = stopped
		}
	}()
	result := evidence.Soak{
		Command: commandLine(), Machine: machine(), Versions: versions(), Budget: budget, StartedAt: refund.At(time.Now()),
		Seed: f.seed, Minutes: f.minutes, Refunds: f.refunds, Faults: f.faults, Jobs: f.jobs,
	}
	// The engines share nothing but the machine, so their rounds are played side by side.
	soakers := make([]*soaker, len(engines))
	group, playing := errgroup.WithContext(ctx)
	for i, engine := range engines {
		s := &soaker{soakFlags: *f, bench: b, dir: dir, log: log, began: time.Now(), sum: evidence.SoakEngine{Engine: engine}}
		soakers[i] = s
		group.Go(func() error {
			err := s.play(playing)
			s.sum.ElapsedMS = time.Since(s.began).Milliseconds()
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var stories []string
	for _, s := range soakers {
		if s.failed != nil {
			story, err := s.explain(ctx)
			if err != nil {
				return err
			}
			stories = append(stories, story)
		}
		result.Engines = append(result.Engines, s.sum)
	}
	result.EndedAt = refund.At(time.Now())
	return f.publish(result, dir, stories, out)
}

// play plays rounds side by side until the time is over, the last one is played, or one has violated an invariant.
func (s *soaker) play(ctx context.Context) error {
	until := s.began.Add(time.Duration(s.minutes * float64(time.Minute)))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.jobs)
	for number := s.first; (s.rounds == 0 || number < s.first+s.rounds) && time.Now().Before(until) && ctx.Err() == nil && !s.hasFailed(); number++ {
		group.Go(func() error {
			if s.hasFailed() || time.Now().After(until) {
				return nil
			}
			return s.round(ctx, number)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if ctx.Err() != nil && s.sum.Rounds == 0 {
		return refund.Wrap(refund.CodeTimeout, ctx.Err(), "the soak was interrupted")
	}
	return nil
}

// hasFailed tells whether a round has violated an invariant, and that ends the soak.
func (s *soaker) hasFailed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed != nil && !s.goOn
}

func (s *soaker) round(ctx context.Context, number int) error {
	round := soak.Round{
		Engine: s.sum.Engine, Profile: refund.ProfileName(s.profile), Seed: s.seed, Number: number, Refunds: s.refunds, Faults: s.faults,
		OwnServer: s.bench.lab.Engines[s.sum.Engine].Server != nil,
	}
	if round.Profile == "" {
		round.Profile = soak.ProfileOf(round.Engine, s.seed, number)
	}
	trial, err := round.Draw()
	if err != nil {
		return err
	}
	plan := filepath.Join("plans", round.Engine, round.Name()+".json")
	if err := writeSaved(filepath.Join(s.dir, plan), trial); err != nil {
		return err
	}
	record, judged := s.bench.playSaved(ctx, trial)
	if ctx.Err() != nil {
		return refund.Wrap(refund.CodeTimeout, ctx.Err(), "the soak was interrupted in round %d", number)
	}
	if err := s.verdict(plan, judged); err != nil {
		return err
	}
	if judged.Verdict != comparison.Pass && judged.Verdict != comparison.NotApplicable {
		if err := evidence.Save(filepath.Join(s.dir, "evidence"), record); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	comparison.AddRound(&s.sum, record, judged, plan)
	if invariant := violated(judged); invariant != "" && s.failed == nil {
		s.failed = &failure{round, invariant, plan, len(s.sum.Open) - 1, record.Trial.EndedAt.Sub(record.Trial.StartedAt)}
	}
	s.tell(number, record, judged)
	return nil
}

// verdict writes what became of a round beside its plan.
func (s *soaker) verdict(plan string, judged comparison.Judged) error {
	text, err := json.MarshalIndent(struct {
		Verdict  comparison.Verdict   `json:"verdict"`
		Findings []comparison.Finding `json:"findings,omitempty"`
	}{judged.Verdict, judged.Findings}, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, strings.TrimSuffix(plan, ".json")+".verdict.json"), append(text, '\n'), 0o644)
}

// tell prints one line about a round, and what it found. The lock is held.
func (s *soaker) tell(number int, record evidence.Record, judged comparison.Judged) {
	var one evidence.SoakEngine
	comparison.AddRound(&one, record, judged, "")
	removed := map[string]int{}
	for _, r := range one.Removed {
		removed[r.By] += r.Count
	}
	fmt.Fprintf(s.log, "%5.0fs %s round %d under %s: %s; %d refunds, %d of %d faults hit (%d kills, %d freezes), %d requests received, removed by provider %d, application %d, engine %d (%.1fs)\n",
		time.Since(s.began).Seconds(), s.sum.Engine, number, record.Trial.Profile, judged.Verdict, one.Refunds, len(record.Trial.Fired), one.Drawn,
		one.Kills.Total(), one.Freezes, one.Received.Total(), removed["provider"], removed["application"], removed["engine"],
		record.Trial.EndedAt.Sub(record.Trial.StartedAt).Seconds())
	for _, f := range judged.Findings {
		fmt.Fprintf(s.log, "       %s: %s\n", f.Check, f.Text)
	}
}

// explain makes the failed round smaller and tells it.
func (s *soaker) explain(ctx context.Context) (string, error) {
	if s.shrink == 0 {
		return fmt.Sprintf("\n%s is violated by round %d on %s; play it again with\n  go run ./cmd/lab replay %s\n",
			s.failed.invariant, s.failed.round.Number, s.sum.Engine, filepath.Join(s.dir, s.failed.plan)), nil
	}
	trial, err := s.failed.round.Draw()
	if err != nil {
		return "", err
	}
	smaller := filepath.Join("minimal", s.sum.Engine, s.failed.round.Name()+".json")
	file := filepath.Join(s.dir, smaller)
	fmt.Fprintf(s.log, "making round %d smaller by %s, for at most %s\n", s.failed.round.Number, s.failed.invariant, s.shrink)
	if trial, err = s.bench.shrink(ctx, trial, s.failed.invariant, shrinking{s.shrink, max(2, s.jobs), s.failed.took}, file, s.log); err != nil {
		return "", err
	}
	s.sum.Open[s.failed.open].Minimal = smaller
	return fmt.Sprintf("\n%s is violated by\n\n%s\nplay it again with\n  go run ./cmd/lab replay %s\n", s.failed.invariant, soak.Story(trial), file), nil
}

// The sizes of a round, and the minutes, of a soak that stands in the report. Whoever asks for less looks for something else.
const (
	soakMinutes = 5.0
	soakRefunds = 40
	soakFaults  = 24
)

// whole tells whether a soak is the instrument's own, and stands in the report whatever it found: a result is not kept because it is
// the nicer one.
func (f *soakFlags) whole() bool {
	return f.engine == "" && f.profile == "" && f.rounds == 0 && f.minutes >= soakMinutes && f.refunds == soakRefunds && f.faults == soakFaults
}

// publish writes the result, and prints it or its summary.
func (f *soakFlags) publish(result evidence.Soak, dir string, stories []string, out io.Writer) error {
	text, err := json.MarshalIndent(result, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "soak.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	open := 0
	for _, e := range result.Engines {
		open += len(e.Open)
	}
	if f.whole() {
		if err := publishInstrument("soak", result); err != nil {
			return err
		}
	}
	if f.json {
		if err := cmdline.WriteJSON(out, result); err != nil {
			return err
		}
	} else {
		fmt.Fprint(out, comparison.SoakSection(result))
		for _, story := range stories {
			fmt.Fprint(out, story)
		}
	}
	if open > 0 {
		return refund.Errorf(refund.CodeNotPassed, "%d rounds did not pass: see %s", open, dir)
	}
	return nil
}
