package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/faults/lossfs"
)

// transaction and header are what a fake worker appends to a log, or to a file beside it.
var transaction, header = strings.Repeat("x", logHeader+1), strings.Repeat("h", logHeader)

// fakeFile does what a word of a fake worker asks for: "write=FILE" appends a letter, or to another file than store a transaction, "keep=FILE" also
// makes file and name durable, "head=FILE" the same with the header of a log, "read=FILE" only looks. It returns what the file then
// holds, or what is wrong.
func fakeFile(word string) (content string, handled bool) {
	verb, path, _ := strings.Cut(word, "=")
	if verb != "write" && verb != "keep" && verb != "head" && verb != "read" {
		return "", false
	}
	what := "x"
	switch {
	case verb == "head":
		what = header
	case filepath.Base(path) != filepath.Base(store):
		what = transaction
	}
	flags := os.O_RDONLY
	if verb != "read" {
		flags = os.O_CREATE | os.O_APPEND | os.O_RDWR
	}
	file, err := os.OpenFile(path, flags, 0o644) // left open: its end by SIGKILL closes it
	if err == nil && verb != "read" {
		_, err = file.WriteString(what)
	}
	if err == nil && (verb == "keep" || verb == "head") {
		if err = file.Sync(); err == nil {
			var dir *os.File
			if dir, err = os.Open(filepath.Dir(path)); err == nil {
				err = dir.Sync()
			}
		}
	}
	if err != nil {
		return err.Error(), true
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error(), true
	}
	return string(text), true
}

// playLossy plays a script on a lossy volume of the journal, and sees that no mount is left behind.
func playLossy(t *testing.T, survival faults.Survival, schedule faults.Schedule, script ...faults.Step) evidence.Record {
	t.Helper()
	if err := lossfs.Probe(); err != nil {
		t.Skipf("NOT RUN: power loss cannot be tested on this machine: %v", err)
	}
	lab := newLab(t)
	plan := faults.Plan{Profile: "full", Script: script, Schedule: schedule, World: faults.World{Volumes: []string{faults.VolumeJournal}, Survival: survival}}
	r := lab.Play(t.Context(), cell, plan)
	table, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	require.NotContains(t, string(table), lab.Scratch)
	return r
}

func powerRule(at string, action faults.Action) faults.Rule {
	r := rule("cut", at, "", action)
	r.Volume = faults.VolumeJournal
	return r
}

const store = "{journal}/store"

func TestAPowerCutKillsWhoUsesTheVolumeAndLosesWhatWasNotSynced(t *testing.T) {
	r := playLossy(t, faults.Survival{}, faults.Schedule{powerRule("outcome.after", faults.PowerCut)},
		worker("a", "keep="+store, "intent.after"),
		worker("bystander", "intent.before"),
		worker("b", "write="+store, "outcome.after"), fired("cut"),
		worker("c", "read="+store, "finish.after"), crossed("finish.after", "c"),
	)
	require.Empty(t, r.Trial.Broken)
	require.Equal(t, "power lost", r.Trial.Fired[0].Proof)
	require.Equal(t, "xx", crossing(t, r, "b", "outcome.after").Detail["file"], "before the cut everyone sees the write")
	require.Equal(t, "x", crossing(t, r, "c", "finish.after").Detail["file"], "after it what was synced is there")
	require.Equal(t, "signal 9", processOf(t, r, "a").WaitStatus)
	require.Equal(t, "signal 9", processOf(t, r, "b").WaitStatus)
	require.Empty(t, processOf(t, r, "bystander").WaitStatus, "it lies on another machine")
	require.Len(t, r.Trial.Images, 1)
}

func TestWhatTheSystemWroteBackByItselfSurvives(t *testing.T) {
	r := playLossy(t, faults.Survival{}, faults.Schedule{powerRule("outcome.after", faults.PowerCut)},
		worker("a", "write="+store, "intent.after"), crossed("intent.after", "a"), faults.Step{Do: faults.DoSync, Kind: faults.VolumeJournal},
		worker("b", "write="+store, "outcome.after"), fired("cut"),
		worker("c", "read="+store, "finish.after"), crossed("finish.after", "c"),
	)
	require.Empty(t, r.Trial.Broken)
	require.Equal(t, "x", crossing(t, r, "c", "finish.after").Detail["file"])
}

func TestWhatSurvivesByLotIsDrawnByTheSeed(t *testing.T) {
	r := playLossy(t, faults.Survival{Percent: 100, Seed: 1}, faults.Schedule{powerRule("outcome.after", faults.PowerCut)},
		worker("b", "write="+store, "outcome.after"), fired("cut"),
		worker("c", "read="+store, "finish.after"), crossed("finish.after", "c"),
	)
	require.Empty(t, r.Trial.Broken)
	require.Equal(t, "x", crossing(t, r, "c", "finish.after").Detail["file"])
}

// syncRule cuts the power inside the transaction of worker b behind outcome.before.
func syncRule(sync faults.When) faults.Rule {
	r := powerRule("outcome.before", faults.PowerCut)
	r.Process, r.Sync = "b", sync
	return r
}

// Another process's fsync, one of a file that is no log, and that of a log's header are not what the cut waits for.
func TestAPowerCutInsideATransactionComesAtTheFsyncOfItsProcess(t *testing.T) {
	for _, c := range []struct {
		name     string
		sync     faults.When
		survival faults.Survival
		left     int // transactions
		pending  bool
	}{
		{"before it what was written is lost", faults.Before, faults.Survival{}, 2, true},
		{"before it what was written may survive", faults.Before, faults.Survival{Percent: 100, Seed: 1}, 3, true},
		{"after it what was written is there", faults.After, faults.Survival{}, 3, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := store + logSuffix
			r := playLossy(t, c.survival, faults.Schedule{syncRule(c.sync), rule("gate", "intent.after", "b", faults.Hold)},
				worker("a", "keep="+log, "intent.before"), crossed("intent.before", "a"),
				worker("b", "outcome.before", "keep="+store+"-other", "head="+log, "intent.after", "keep="+log, "outcome.after"), fired("gate"),
				worker("d", "keep="+log, "finish.before"), crossed("finish.before", "d"), faults.Step{Do: faults.DoRelease, Rule: "gate"}, fired("cut"),
				worker("c", "read="+log, "finish.after"), crossed("finish.after", "c"),
			)
			require.Empty(t, r.Trial.Broken)
			cut := r.Trial.Fired[0]
			require.Equal(t, "cut", cut.Rule)
			require.Equal(t, "power lost", cut.Proof)
			require.False(t, cut.Unsynced)
			left := crossing(t, r, "c", "finish.after").Detail["file"]
			require.Equal(t, c.left, strings.Count(left, transaction), left)
			require.Equal(t, "signal 9", processOf(t, r, "b").WaitStatus)
			for _, crossing := range r.Trace {
				require.NotEqual(t, point("outcome.after"), crossing.Point, "its process never learns of the fsync")
			}
			image := r.Trial.Images[0]
			require.Equal(t, c.pending, image.Pending > 0)
			if c.survival.Percent > 0 {
				require.Equal(t, image.Pending, image.Survived)
				require.Len(t, r.Trial.Images, 1+furtherDraws)
			}
		})
	}
}

// Who tells of a commit that was never synced loses the power there, and the evidence says so.
func TestAPowerCutWaitsForNoFsyncThatNeverComes(t *testing.T) {
	log := store + logSuffix
	r := playLossy(t, faults.Survival{}, faults.Schedule{syncRule(faults.Before)},
		worker("a", "keep="+log, "intent.before"), crossed("intent.before", "a"),
		worker("b", "outcome.before", "write="+log, "outcome.after", "finish.before"), fired("cut"),
		worker("c", "read="+log, "finish.after"), crossed("finish.after", "c"),
	)
	require.Empty(t, r.Trial.Broken)
	require.Equal(t, "power lost", r.Trial.Fired[0].Proof)
	require.True(t, r.Trial.Fired[0].Unsynced)
	require.Equal(t, transaction+transaction, crossing(t, r, "b", "outcome.after").Detail["file"])
	require.Empty(t, crossing(t, r, "b", "outcome.after").Reply, "it died there")
	require.Equal(t, transaction, crossing(t, r, "c", "finish.after").Detail["file"])
}

func TestAnInspectionChangesNothing(t *testing.T) {
	r := playLossy(t, faults.Survival{}, faults.Schedule{powerRule("outcome.after", faults.Inspect)},
		worker("a", "write="+store, "outcome.after", "read="+store, "finish.after"), fired("cut"), crossed("finish.after", "a"),
	)
	require.Empty(t, r.Trial.Broken)
	require.Equal(t, "inspected", r.Trial.Fired[0].Proof)
	require.Equal(t, "x", crossing(t, r, "a", "finish.after").Detail["file"])
	require.Empty(t, processOf(t, r, "a").WaitStatus)
}

// A cut of a volume that the trial does not have proves nothing, and says so where the proof would stand.
func TestACutWithoutItsVolumeHasNoProof(t *testing.T) {
	r := play(t, faults.Schedule{powerRule("outcome.after", faults.PowerCut)}, worker("a", "outcome.after"), fired("cut"))
	require.Empty(t, r.Trial.Broken)
	require.Contains(t, r.Trial.Fired[0].Proof, "no lossy volume")
}

func TestAnUnknownVolumeIsRefused(t *testing.T) {
	r := newLab(t).Play(t.Context(), cell, faults.Plan{World: faults.World{Volumes: []string{"floppy"}}})
	require.Contains(t, r.Trial.Broken, `"floppy"`)
}
