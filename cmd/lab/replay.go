package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"refundlab/cmd/internal/cmdline"
	"refundlab/comparison"
	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/faults/soak"
	"refundlab/refund"
)

type replayFlags struct {
	engine string
	times  int
	shrink time.Duration
	out    string
	keep   bool
	json   bool
	server serverFlags
}

func replayCommand() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Play a saved trial again, tell it, and judge it",
		Long: `Play a trial that a soak, an exploration or a person has saved (docs/soak.md says how such a file looks), tell it as a sequence,
and judge it. FILE may be - for standard input. The evidence stays below --out.

With --shrink, a trial that violates an invariant is made smaller for as long as it says, and the smallest is written beside the
evidence and told.

Exit status 1 unless every play passes.`,
		Example: `  go run ./cmd/lab replay schedules/late-send-after-thaw.json --times 5
  go run ./cmd/lab replay runs/soak-20261129-171500.000/plans/handrolled/soak-7-3.json --shrink 10m`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			trial, err := readSaved(args[0], func() ([]byte, error) { return io.ReadAll(c.InOrStdin()) })
			if err != nil {
				return err
			}
			if err := f.check(&trial); err != nil {
				return err
			}
			return f.replay(c.Context(), trial, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.engine, "engine", "", "play it on this engine in the place of the file's")
	flags.IntVar(&f.times, "times", 1, "how often it is played, one after the other")
	flags.DurationVar(&f.shrink, "shrink", 0, "make a trial that fails smaller for so long")
	flags.StringVar(&f.out, "out", "", "`DIRECTORY` for the evidence (default: a new one below runs/)")
	flags.BoolVar(&f.keep, "keep", false, "leave the trial's stores, sockets and logs behind and say where")
	flags.BoolVar(&f.json, "json", false, "print the verdicts as JSON in the place of the story")
	f.server.register(c)
	return c
}

func (f *replayFlags) check(trial *faults.Saved) error {
	if f.engine != "" {
		if err := checkEngines(f.engine); err != nil {
			return err
		}
		trial.Engine = f.engine
	}
	if f.times < 1 || f.times > 1000 {
		return refund.Errorf(refund.CodeInvalidFlag, "--times is %d: it must be from 1 to 1000", f.times)
	}
	if f.shrink < 0 {
		return refund.Errorf(refund.CodeInvalidFlag, "--shrink is %s: the least is 0", f.shrink)
	}
	return playable(*trial)
}

// replayed is one play as --json prints it.
type replayed struct {
	Verdict  comparison.Verdict   `json:"verdict"`
	Findings []comparison.Finding `json:"findings,omitempty"`
	Hit      []string             `json:"hit"` // rules, in the order in which they hit
	Millis   int64                `json:"ms"`
}

func (f *replayFlags) replay(ctx context.Context, trial faults.Saved, out, log io.Writer) (err error) {
	dir := cmp.Or(f.out, newRunDir("replay"))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return refund.Wrap(refund.CodeStoreUnreadable, err, "no directory for the evidence")
	}
	if !f.json {
		fmt.Fprintln(out, soak.Story(trial))
	}
	b, err := openBench(ctx, log, []string{trial.Engine}, f.server, f.keep)
	if err != nil {
		return err
	}
	defer func() {
		if stopped := b.close(); err == nil {
			err = stopped
		}
	}()
	var plays []replayed
	passed, invariant, took := 0, "", time.Duration(0)
	for n := range f.times {
		record, judged := b.playSaved(ctx, trial)
		if ctx.Err() != nil {
			return refund.Wrap(refund.CodeTimeout, ctx.Err(), "the replay was interrupted")
		}
		if err := evidence.Save(filepath.Join(dir, fmt.Sprintf("play-%d", n+1)), record); err != nil {
			return err
		}
		play := replayed{Verdict: judged.Verdict, Findings: judged.Findings, Hit: []string{}, Millis: int64(record.Trial.EndedAt - record.Trial.StartedAt)}
		for _, fired := range record.Trial.Fired {
			play.Hit = append(play.Hit, fired.Rule)
		}
		plays = append(plays, play)
		if judged.Verdict == comparison.Pass || judged.Verdict == comparison.NotApplicable {
			passed++
		}
		if broken := violated(judged); invariant == "" && broken != "" {
			invariant, took = broken, record.Trial.EndedAt.Sub(record.Trial.StartedAt)
		}
		if !f.json {
			tellPlay(out, n+1, trial, play)
		}
	}
	if f.json {
		if err := cmdline.WriteJSON(out, struct {
			Plays []replayed `json:"plays"`
		}{plays}); err != nil {
			return err
		}
	}
	if f.shrink > 0 && invariant != "" {
		file := filepath.Join(dir, "minimal.json")
		smallest, err := b.shrink(ctx, trial, invariant, shrinking{f.shrink, 3, took}, file, log)
		if err != nil {
			return err
		}
		if !f.json {
			fmt.Fprintf(out, "\n%s is violated by\n\n%s\nwritten to %s\n", invariant, soak.Story(smallest), file)
		}
	}
	if passed < f.times {
		return refund.Errorf(refund.CodeNotPassed, "%d of %d plays did not pass; the evidence is in %s", f.times-passed, f.times, dir)
	}
	return nil
}

func tellPlay(out io.Writer, n int, trial faults.Saved, play replayed) {
	fmt.Fprintf(out, "play %d: %s in %.1f s; %d of %d rules hit", n, play.Verdict, float64(play.Millis)/1000, len(play.Hit), len(trial.Plan.Schedule))
	if len(play.Hit) > 0 {
		fmt.Fprintf(out, ": %s", strings.Join(play.Hit, ", "))
	}
	fmt.Fprintln(out)
	for _, finding := range play.Findings {
		fmt.Fprintf(out, "  %s: %s\n", finding.Check, finding.Text)
	}
}
