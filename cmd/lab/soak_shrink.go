package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"refundlab/faults"
	"refundlab/faults/soak"
)

// candidateMargin is what the play of a smaller trial may take beyond the last that failed and the silence of a run that never ends: it
// may hit another run, at another time.
const candidateMargin = 15 * time.Second

// candidateDeadline bounds the play of a smaller trial. One that lost a step which another waits for would use up the whole time of a
// round. A run that never ends is found out by silence alone, so last, what the play took that failed last, counts with that beside it.
func candidateDeadline(last time.Duration, trial faults.Saved) time.Duration {
	return min(roundDeadline, last+soak.Silence(trial.Plan)+candidateMargin)
}

// shrinking is how much a shrink may cost.
type shrinking struct {
	within time.Duration
	copies int           // side by side of each candidate, because what fails need not fail each time
	took   time.Duration // the play that failed
}

// shrink makes a failing trial smaller and writes the smallest into file.
func (b *bench) shrink(ctx context.Context, trial faults.Saved, invariant string, how shrinking, file string, log io.Writer) (faults.Saved, error) {
	until := time.Now().Add(how.within)
	plays := 0
	var failed error
	smallest := soak.Shrinker{
		Fails: func(candidate faults.Saved) bool {
			plays++
			bounded, cancel := context.WithTimeout(ctx, candidateDeadline(how.took, candidate))
			defer cancel()
			took, fails := b.fails(bounded, candidate, invariant, how.copies)
			if fails {
				how.took = took
			}
			return fails
		},
		More: func() bool { return failed == nil && ctx.Err() == nil && time.Now().Before(until) },
		Smaller: func(smaller faults.Saved) {
			fmt.Fprintf(log, "%4d candidates: %s still fails with %d rules, %d refunds and %d steps\n", plays, invariant, len(smaller.Plan.Schedule), len(smaller.Expect.Runs), len(smaller.Plan.Script))
			failed = writeSaved(file, smaller)
		},
		Ending: invariant == "I11" || invariant == "END",
	}.Shrink(trial)
	if failed != nil {
		return smallest, failed
	}
	smallest.About = fmt.Sprintf("violates %s; made smaller from %s", invariant, trial.Name)
	return smallest, writeSaved(file, smallest)
}
