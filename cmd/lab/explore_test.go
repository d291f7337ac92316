package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/comparison"
	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/faults/exploration"
	"refundlab/refund"
)

func TestExploreRefusesWhatItCannotPlay(t *testing.T) {
	taken := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(taken, askedFile), []byte("{}\n"), 0o600))
	for _, c := range []struct {
		name string
		args []string
		code refund.Code
		text string
	}{
		{"an unknown engine", []string{"--engine", "cadence"}, refund.CodeInvalidFlag, `--engine "cadence" is unknown: it is temporal or handrolled`},
		{"an unknown profile", []string{"--profile", "best"}, refund.CodeInvalidProfile, `profile "best" is unknown`},
		{"an unknown flow", []string{"--flow", "sideways"}, refund.CodeInvalidFlag, `--flow "sideways" is unknown: the flows are approved, lost`},
		{"pairs of another kind", []string{"--pairs", "triples"}, refund.CodeInvalidFlag, `--pairs "triples" is unknown: it is none, kill, sample or all`},
		{"no jobs", []string{"--jobs", "0"}, refund.CodeInvalidFlag, "--jobs is 0: it must be from 1 to 128"},
		{"a slice below zero", []string{"--slice", "-1"}, refund.CodeInvalidFlag, "cannot be below zero"},
		{"nothing to explore", []string{"--engine", "temporal", "--profile", "local"}, refund.CodeInvalidFlag, "no base flow has a part"},
		{"a directory that is taken", []string{"--out", taken}, refund.CodeInvalidFlag, "holds a run already: go on with it by --resume"},
		{"a run that is none", []string{"--resume", t.TempDir()}, refund.CodeInvalidFlag, "is no run of lab explore"},
		{"a new and an old directory", []string{"--out", "x", "--resume", taken}, refund.CodeInvalidFlag, "out resume"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out, log := lab(t, append([]string{"explore"}, c.args...)...)
			require.Equal(t, refund.ExitInvalidInput, status)
			require.Empty(t, out)
			require.Contains(t, log, string(c.code)+": ")
			require.Contains(t, log, c.text)
		})
	}
}

// slice explores a few places of the journal's shortest flow.
func slice(t *testing.T, args ...string) (evidence.Exploration, string) {
	t.Helper()
	status, out, log := lab(t, append([]string{"explore", "--json", "--jobs", "4"}, args...)...)
	require.Equal(t, 0, status, log)
	var result evidence.Exploration
	require.NoError(t, json.Unmarshal([]byte(out), &result))
	return result, log
}

func TestExploreHitsPlacesAndGoesOnWhereItEnded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	first, log := slice(t, "--engine", "handrolled", "--profile", "full", "--flow", "rejected", "--slice", "4", "--out", dir)
	require.Contains(t, log, "single faults 2/2")
	require.Contains(t, log, "pairs 2/2")
	require.Empty(t, first.Open)
	require.NoFileExists(t, "report/explore.json", "only a whole run is published")
	kinds := map[string]int{}
	for _, g := range first.Groups {
		kinds[g.Kind] += g.Passed
		require.Equal(t, map[string]int{"REJECTED(APPROVAL_REJECTED), 0 in the ledger": g.Trials}, g.Ends)
	}
	require.Equal(t, sliceTurns, kinds["trace"])
	hit, known := 0, 0
	for _, p := range first.Points {
		hit += p.Single.Trials + p.Second.Trials
		known += p.Known
	}
	require.Equal(t, 4, hit)
	require.GreaterOrEqual(t, known, 8, "decision, answer, notice and its record, each on both sides")

	// A line that was cut off, and one that is gone, are played again; nothing else is.
	path := filepath.Join(dir, resultsFile)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := bytes.SplitAfter(text, []byte("\n"))
	require.NoError(t, os.WriteFile(path, append(bytes.Join(lines[:5], nil), `{"flow":"reje`...), 0o600))
	second, log := slice(t, "--resume", dir)
	require.Equal(t, 1, strings.Count(log, " pass "), log)
	require.Equal(t, first.Asked, second.Asked)
	require.Len(t, second.Groups, len(first.Groups))
}

// A mended engine or judge must not be given the results of the one before.
func TestExploreDoesNotGoOnWithWhatOtherCodePlayed(t *testing.T) {
	for name, asked := range map[string]string{
		"the format of the time before":    `{"engines":["handrolled"],"profiles":["full"],"flows":["rejected"],"pairs":"none","seed":1}`,
		"what other executables have left": `{"built":["lab 00","provider 00","starter 00","worker 00"],"asked":{"engines":["handrolled"],"profiles":["full"],"flows":["rejected"],"pairs":"none","seed":1}}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, askedFile), []byte(asked), 0o600))
			status, out, log := lab(t, "explore", "--resume", dir, "--budget", "1ns")
			require.Equal(t, refund.ExitInvalidInput, status, log)
			require.Empty(t, out)
			require.Contains(t, log, "INVALID_FLAG: --resume "+dir)
			require.Contains(t, log, ": begin a new run")
			require.NoFileExists(t, filepath.Join(dir, resultsFile))
		})
	}
}

// aimed is a trial of the journal's rejected flow, which calls no provider, with a kill at the n-th outcome.
func aimed(t *testing.T, nth int) exploration.Trial {
	t.Helper()
	place := exploration.Place{Process: "a", Nth: nth, Stage: exploration.Unsent}
	require.NoError(t, place.Point.UnmarshalText([]byte("outcome.before")))
	return exploration.Trial{Flow: exploration.Rejected, Engine: handrolledEngine, Profile: "full", Faults: exploration.At(place, faults.Kill)}
}

func TestATrialIsNotReachedOnlyWhereNothingElseWasAmiss(t *testing.T) {
	const missed, busy = "rule fault-1 never fired", "the machine was too busy"
	for _, c := range []struct {
		name    string
		plays   [][]string // findings of each play; none is a pass
		fired   int        // in this play, from 1, the fault fired
		verdict string
		earlier []string
	}{
		{"the first play passes", [][]string{{}}, 1, exploration.Pass, nil},
		{"the fault hits at last", [][]string{{missed}, {missed}, {}}, 3, exploration.Pass, []string{"play 1: EVIDENCE: " + missed, "play 2: EVIDENCE: " + missed}},
		{"it never hits", [][]string{{missed}, {missed}, {missed}}, 0, exploration.NotReached, []string{"play 1: EVIDENCE: " + missed, "play 2: EVIDENCE: " + missed}},
		{"something else in the last play", [][]string{{missed}, {missed}, {missed, busy}}, 0, exploration.Invalid, []string{"play 1: EVIDENCE: " + missed, "play 2: EVIDENCE: " + missed}},
		{"something else in an earlier play", [][]string{{missed, busy}, {missed}, {missed}}, 0, exploration.Invalid,
			[]string{"play 1: EVIDENCE: " + missed, "play 1: EVIDENCE: " + busy, "play 2: EVIDENCE: " + missed}},
		{"it hits, and another play is invalid", [][]string{{missed}, {busy}, {missed}}, 2, exploration.Invalid, []string{"play 1: EVIDENCE: " + missed, "play 2: EVIDENCE: " + busy}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, n := exploration.Result{Trial: aimed(t, 1), Turn: 1}, 0
			_, err := playOften(&r, func() (evidence.Record, comparison.Judged, error) {
				var record evidence.Record
				judged := comparison.Judged{Verdict: comparison.Pass}
				for _, text := range c.plays[n] {
					judged.Verdict, judged.Again = comparison.Invalid, true
					judged.Findings = append(judged.Findings, comparison.Finding{Check: "EVIDENCE", Text: text})
				}
				if n++; n == c.fired {
					record.Trial.Fired = []evidence.Fired{{Rule: "fault-1", DoneSeq: 1}}
				}
				return record, judged, nil
			})
			require.NoError(t, err)
			require.Equal(t, len(c.plays), n)
			require.Equal(t, c.verdict, r.Verdict)
			require.Equal(t, c.earlier, r.Earlier)
			require.Equal(t, n-1, r.Repeats)
		})
	}
}

// The judge has exactly one finding for a fault that never fired: with another number, no trial would ever be not reached.
func TestATrialWhoseFaultNeverHitsIsNotReached(t *testing.T) {
	var log bytes.Buffer
	b, err := openBench(t.Context(), &log, []string{handrolledEngine}, serverFlags{}, false)
	require.NoError(t, err)
	defer func() { require.NoError(t, b.close()) }()
	e := &explorer{bench: b, dir: t.TempDir(), log: &log, results: exploration.Results{}}
	require.NoError(t, e.load())
	defer e.close()
	trial := aimed(t, 9)
	require.NoError(t, e.one(t.Context(), exploration.Result{Trial: trial, Turn: 1}))
	r := e.results[trial.Key()][0]
	require.Equal(t, exploration.NotReached, r.Verdict, log.String())
	require.Equal(t, plays-1, r.Repeats)
	require.Len(t, r.Earlier, plays-1)
	require.Len(t, r.Findings, 1)
	require.Contains(t, log.String(), "repeated after play 1: EVIDENCE: rule fault-1 never fired")
}

func TestSinglesWithoutPairsAreCountedForThePairsThatWereAskedFor(t *testing.T) {
	place := aimed(t, 1).Faults[0].Place
	base := exploration.Trial{Flow: exploration.Approved, Engine: handrolledEngine, Profile: "full"}
	results := exploration.Results{}
	for turn := range baseTurns {
		results.Add(exploration.Result{Trial: base, Turn: turn + 1, Verdict: exploration.Pass, Places: []exploration.Place{place}})
	}
	for _, single := range results.Singles([]exploration.Trial{base}) { // a kill and a freeze
		results.Add(exploration.Result{Trial: single, Turn: 1, Verdict: exploration.NotReached})
	}
	for pairs, count := range map[string]int{noPairs: 0, killPairs: 1, samplePairs: 2, allPairs: 2} {
		f := exploreFlags{asked: evidence.ExplorationAsked{Engines: []string{handrolledEngine}, Profiles: []string{"full"}, Flows: []string{base.Flow}, Pairs: pairs}}
		e := &explorer{dir: t.TempDir(), jobs: 1, log: &bytes.Buffer{}, results: results, have: map[string]bool{}, until: time.Now().Add(-time.Hour)}
		_, err := f.phases(t.Context(), e)
		require.NoError(t, err)
		require.Equal(t, count, e.pairless, pairs)
	}
}

func TestTheSummarySaysThatMoreThanTheUnplayedIsMissing(t *testing.T) {
	for _, c := range []struct {
		unplayed, pairless int
		unaimed            []evidence.UnaimedPairs
		texts              []string
	}{
		{0, 0, nil, []string{"; 0 not played\n"}},
		{7, 3, []evidence.UnaimedPairs{{Engine: "temporal", Profile: "full", Pairs: 4}}, []string{"temporal, full: 4 pairs of kills were not aimed at",
			"; at least 7 not played, since later parts are made from the traces of these\n", "of 3 single faults no pair could be made"}},
	} {
		var out bytes.Buffer
		f := exploreFlags{asked: evidence.ExplorationAsked{Pairs: allPairs, Slice: 1}}
		result := evidence.Exploration{Unplayed: c.unplayed, Pairless: c.pairless, Unaimed: c.unaimed, Groups: []evidence.ExploredGroup{{Tally: evidence.Tally{Trials: 1, Passed: 1}}}}
		require.NoError(t, f.publish(t.TempDir(), result, &out))
		for _, text := range c.texts {
			require.Contains(t, out.String(), text)
		}
	}
}

func TestExploreKeepsWhatCanPlayAFailedTrialAgain(t *testing.T) {
	e := &explorer{dir: t.TempDir(), log: &bytes.Buffer{}, results: exploration.Results{}}
	require.NoError(t, e.load())
	defer e.close()
	var point exploration.Place
	require.NoError(t, json.Unmarshal([]byte(`{"process":"a","point":"outcome.before","nth":1,"stage":"committed"}`), &point))
	trial := exploration.Trial{Flow: "approved", Engine: "handrolled", Profile: "full", Faults: exploration.At(point, "kill")}
	r := exploration.Result{Trial: trial, Turn: 1, Verdict: exploration.Fail, Findings: []string{"I1: two entries"}}
	plan, err := trial.Plan(budget)
	require.NoError(t, err)
	expectation, err := trial.Expect(budget)
	require.NoError(t, err)
	require.NoError(t, e.saveFailed(r, plan, expectation))
	require.NoError(t, e.keepResult(r))
	require.Contains(t, e.log.(*bytes.Buffer).String(), "lab replay "+filepath.Join(e.dir, e.replayFile(r)))
	saved, err := readSaved(filepath.Join(e.dir, e.replayFile(r)), nil)
	require.NoError(t, err)
	require.NoError(t, playable(saved))
	require.Equal(t, expectation, saved.Expectation())
	require.Equal(t, "Flow approved: kill a at outcome.before #1.", saved.About)
}
