package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"refundlab/comparison"
	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/faults/exploration"
	"refundlab/refund"
)

// Names in a run's directory.
const (
	resultsFile = "results.jsonl" // one exploration.Result a line, in the order in which they came
	elapsedFile = "elapsed.json"  // milliseconds of the parts of a run that was resumed
	failedDir   = "failed"        // plans of the trials that did not pass
)

// plays is how often a trial is played at most until its faults hit and everything took place as planned.
const plays = 3

// explorer plays trials and keeps their results.
type explorer struct {
	bench *bench
	dir   string
	keep  bool
	jobs  int
	seed  uint64
	log   io.Writer
	until time.Time // when no further trial starts; zero: never

	began    time.Time
	before   int64 // milliseconds of earlier parts of this run
	unplayed int
	pairless int // single faults of which no pair could be made
	unaimed  []evidence.UnaimedPairs

	mu      sync.Mutex
	results exploration.Results
	have    map[string]bool // by ID
	file    *os.File
	phase   phase
}

// phase is what the progress lines count.
type phase struct {
	name        string
	total, done int
	began       time.Time
}

// load reads the results that are there. A last line that was cut off is taken away: its trial is played again.
func (e *explorer) load() error {
	e.have = map[string]bool{}
	path := filepath.Join(e.dir, resultsFile)
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	lines := bufio.NewScanner(bytes.NewReader(whole))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r exploration.Result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return refund.Wrap(refund.CodeInvalidFlag, err, "%s cannot be read", path)
		}
		e.results.Add(r)
		e.have[r.ID()] = true
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if text, err := os.ReadFile(filepath.Join(e.dir, elapsedFile)); err == nil {
		_ = json.Unmarshal(text, &e.before) // what is not there counts as nothing
	}
	if e.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return err
	}
	if err := e.file.Truncate(int64(len(whole))); err != nil {
		return err
	}
	_, err = e.file.Seek(0, io.SeekEnd)
	return err
}

func (e *explorer) close() { _ = e.file.Close() }

// elapsed notes and returns the time of all parts of this run.
func (e *explorer) elapsed() int64 {
	total := e.before + time.Since(e.began).Milliseconds()
	text, _ := json.Marshal(total)
	_ = os.WriteFile(filepath.Join(e.dir, elapsedFile), text, 0o644) // a note for the next part alone
	return total
}

// play plays the trials that have no result yet, each as many turns as are asked for, in a drawn order: those that wait (a frozen
// worker of Temporal is waited for 20 s) lie among those that compute, and both are had at once.
func (e *explorer) play(ctx context.Context, name string, trials []exploration.Trial, turns int) error {
	var due []exploration.Result
	for _, t := range exploration.Draw(trials, len(trials), e.seed) {
		for turn := 1; turn <= turns; turn++ {
			if r := (exploration.Result{Trial: t, Turn: turn}); !e.have[r.ID()] {
				due = append(due, r)
			}
		}
	}
	e.phase = phase{name: name, total: len(due), began: time.Now()}
	fmt.Fprintf(e.log, "%s: %d trials, %d of them have their result already\n", name, len(trials)*turns, len(trials)*turns-len(due))
	group, playing := errgroup.WithContext(ctx)
	room := semaphore.NewWeighted(int64(e.jobs))
	for i, r := range due {
		takes := min(load(r.Trial), int64(e.jobs))
		if room.Acquire(playing, takes) != nil {
			break // interrupted, or a trial could not be kept: the group says which
		}
		if !e.until.IsZero() && time.Now().After(e.until) {
			e.unplayed += len(due) - i
			break
		}
		group.Go(func() error {
			defer room.Release(takes)
			return e.one(playing, r)
		})
	}
	err := group.Wait()
	if err == nil && ctx.Err() != nil { // before any trial could say so
		err = e.interrupted(ctx.Err())
	}
	return err
}

func (e *explorer) interrupted(err error) error {
	return refund.Wrap(refund.CodeInterrupted, err, "the run was interrupted: go on with --resume %s", e.dir)
}

// load is how many of the jobs a trial takes. One with a freeze mostly waits; one without computes from its beginning to its end, and
// two dozen of these keep each other, and Temporal's server, waiting beyond the time-outs.
func load(t exploration.Trial) int64 {
	if slices.ContainsFunc(t.Faults, func(f exploration.Fault) bool { return f.Action == faults.Freeze }) {
		return 1
	}
	return 2
}

// one plays one trial, again where something did not take place, and keeps its result.
func (e *explorer) one(ctx context.Context, r exploration.Result) error {
	plan, err := r.Plan(budget)
	if err != nil {
		return err
	}
	expectation, err := r.Expect(budget)
	if err != nil {
		return err
	}
	record, err := playOften(&r, func() (evidence.Record, comparison.Judged, error) {
		lab := e.bench.lab
		lab.Nonce = rand.Text() // a tenant and a task queue of its own for each play
		record := lab.Play(ctx, r.Cell(), plan)
		if err := ctx.Err(); err != nil {
			return record, comparison.Judged{}, e.interrupted(err)
		}
		return record, comparison.JudgeRecord(record, expectation), nil
	})
	if err != nil {
		return err
	}
	r.TookMS = record.Trial.EndedAt.Sub(record.Trial.StartedAt).Milliseconds()
	r.Places = r.Recovery(record)
	for _, export := range record.Exports {
		r.Status = string(export.View.Status)
		if reason := export.View.Reason; reason != "" {
			r.Status += "(" + string(reason) + ")"
		}
	}
	r.Entries = len(record.Provider.Ledger)
	for _, received := range record.Provider.Received {
		if received.Verb == "submit" {
			r.Submits++
		}
	}
	if r.Evidence, err = e.save(r, record); err != nil {
		return err
	}
	if r.Verdict != exploration.Pass {
		if err := e.saveFailed(r, plan, expectation); err != nil {
			return err
		}
	}
	return e.keepResult(r)
}

// playOften plays a trial until it took place or was played often enough, puts the verdict into its result, and returns the
// record of the last play.
func playOften(r *exploration.Result, play func() (evidence.Record, comparison.Judged, error)) (evidence.Record, error) {
	notReached := true // in every play
	for r.Repeats = 0; ; r.Repeats++ {
		record, judged, err := play()
		if err != nil {
			return record, err
		}
		var findings []string
		for _, finding := range judged.Findings {
			findings = append(findings, finding.Check+": "+finding.Text)
		}
		notReached = notReached && onlyMissed(r.Trial, record, judged)
		if judged.Again && r.Repeats+1 < plays {
			for _, finding := range findings {
				r.Earlier = append(r.Earlier, fmt.Sprintf("play %d: %s", r.Repeats+1, finding))
			}
			continue
		}
		r.Verdict, r.Findings = string(judged.Verdict), findings
		if notReached {
			r.Verdict = exploration.NotReached
		}
		return record, nil
	}
}

// onlyMissed tells whether nothing was amiss in a play but that faults of the trial never fired: the judge has one finding for
// each rule that did not, so that any further one is about something else.
func onlyMissed(t exploration.Trial, record evidence.Record, judged comparison.Judged) bool {
	missed := t.Missed(record)
	return judged.Verdict == comparison.Invalid && missed > 0 && len(judged.Findings) == missed
}

// save writes a trial's evidence, and takes it away again where it passed and nobody asked for it: its hash stays.
func (e *explorer) save(r exploration.Result, record evidence.Record) (hash string, err error) {
	root := filepath.Join(e.dir, "evidence")
	if err := evidence.Save(root, record); err != nil {
		return "", err
	}
	dir := filepath.Join(root, filepath.FromSlash(r.Cell().Dir()))
	text, err := os.ReadFile(filepath.Join(dir, evidence.TrialFile))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	if r.Verdict == exploration.Pass && !e.keep {
		err = os.RemoveAll(dir)
	}
	return hex.EncodeToString(sum[:]), err
}

// saveFailed keeps what "lab replay" needs to play a trial again.
func (e *explorer) saveFailed(r exploration.Result, plan faults.Plan, expectation faults.Expectation) error {
	text, err := json.MarshalIndent(faults.Save(expectation, plan, r.About()), "", " ")
	if err != nil {
		return err
	}
	path := filepath.Join(e.dir, e.replayFile(r))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// replayFile is where the plan of a trial that did not pass lies below the run's directory.
func (e *explorer) replayFile(r exploration.Result) string {
	return filepath.Join(failedDir, strings.Join([]string{r.Engine, r.Profile, r.Cell().Scenario}, "~")+".json")
}

// keepResult appends a result to the file and prints its progress line.
func (e *explorer) keepResult(r exploration.Result) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, err := e.file.Write(append(text, '\n')); err != nil {
		return err
	}
	e.results.Add(r)
	e.have[r.ID()] = true
	e.elapsed() // a run that is killed keeps its time with its results
	p := &e.phase
	p.done++
	left := time.Duration(float64(time.Since(p.began)) / float64(p.done) * float64(p.total-p.done)).Round(time.Second)
	repeats := ""
	if r.Repeats > 0 {
		repeats = fmt.Sprintf(", repeated %d", r.Repeats)
	}
	fmt.Fprintf(e.log, "%4.0fs %s %d/%d, %s left: %-11s %s (%.1fs%s)\n", time.Since(e.began).Seconds(), p.name, p.done, p.total, left,
		r.Verdict, r.Cell().Dir(), float64(r.TookMS)/1000, repeats)
	for _, finding := range r.Earlier {
		fmt.Fprintf(e.log, "       repeated after %s\n", finding)
	}
	if r.Verdict == exploration.Pass {
		return nil
	}
	for _, finding := range r.Findings {
		fmt.Fprintf(e.log, "       %s\n", finding)
	}
	fmt.Fprintf(e.log, "       lab replay %s\n", filepath.Join(e.dir, e.replayFile(r)))
	return nil
}
