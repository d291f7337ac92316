package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"refundlab/comparison"
	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// roundDeadline bounds one trial that is read from a file or drawn by lot: dozens of refunds take their time.
const roundDeadline = 5 * time.Minute

// playSaved plays a saved trial and judges it. Each play is told apart from every other on a server that they share.
func (b *bench) playSaved(ctx context.Context, trial faults.Saved) (evidence.Record, comparison.Judged) {
	expectation := trial.Expectation()
	lab := b.lab
	lab.Nonce, lab.Deadline = rand.Text(), roundDeadline
	record := lab.Play(ctx, comparison.CellOf(expectation), trial.Plan)
	return record, comparison.JudgeRecord(record, expectation)
}

// readSaved reads a saved trial from a file, or from standard input for "-".
func readSaved(path string, stdin func() ([]byte, error)) (faults.Saved, error) {
	read := func() ([]byte, error) { return os.ReadFile(path) }
	if path == "-" {
		read = stdin
	}
	text, err := read()
	if err != nil {
		return faults.Saved{}, refund.Wrap(refund.CodeInvalidFlag, err, "no saved trial")
	}
	trial, err := faults.ParseSaved(text)
	if err != nil {
		return faults.Saved{}, refund.Wrap(refund.CodeInvalidBody, err, "%s", path)
	}
	return trial, playable(trial)
}

// playable refuses what no play could begin with.
func playable(trial faults.Saved) error {
	if !slices.Contains(engineNames, trial.Engine) {
		return refund.Errorf(refund.CodeInvalidBody, "engine %q is unknown: it is temporal or handrolled", trial.Engine)
	}
	profile, err := refund.ProfileNamed(refund.ProfileName(trial.Plan.Profile))
	if err == nil && profile.Shared && trial.Engine == temporalEngine {
		return refund.Errorf(refund.CodeInvalidProfile, "profile %s is the journal's own ledger: Temporal has none", profile.Name)
	}
	return err
}

// writeSaved writes a trial as a file that "lab replay" reads.
func writeSaved(path string, trial faults.Saved) error {
	text, err := json.MarshalIndent(trial, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return refund.Wrap(refund.CodeStoreUnreadable, err, "no directory for the plans")
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// violated is the invariant that a judged trial is shrunk by: the first that it violates, a check of what is permitted only where
// there is no other.
func violated(judged comparison.Judged) string {
	if judged.Verdict != comparison.Fail {
		return ""
	}
	last := ""
	for _, f := range judged.Findings {
		switch f.Check {
		case "EVIDENCE":
		case "END", "TRACE":
			if last == "" {
				last = f.Check
			}
		default:
			return f.Check
		}
	}
	return last
}

// violates tells whether a judged trial violates the invariant. An inconclusive verdict names checks too, those that its evidence
// does not decide: a smaller trial that is only hard to judge has not kept the failure.
func violates(judged comparison.Judged, invariant string) bool {
	return judged.Verdict == comparison.Fail && slices.ContainsFunc(judged.Findings, func(f comparison.Finding) bool { return f.Check == invariant })
}

// fails plays copies of a trial side by side and tells whether any of them violates the invariant, and how long that one took; the
// others are then given up.
func (b *bench) fails(ctx context.Context, trial faults.Saved, invariant string, copies int) (took time.Duration, failed bool) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	began := time.Now()
	var plays sync.WaitGroup
	for range copies {
		plays.Go(func() {
			_, judged := b.playSaved(ctx, trial)
			if ctx.Err() == nil && violates(judged, invariant) {
				stop(errFails)
			}
		})
	}
	plays.Wait()
	return time.Since(began), errors.Is(context.Cause(ctx), errFails)
}

// errFails ends the plays of a candidate of which one has failed.
var errFails = errors.New("the trial fails as the first one did")
