package lossfs_test

import (
	"bufio"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"refundlab/faults/lossfs"
)

// envDatabase turns the test's executable into the program that uses the volume: SQLite must not run in the process that
// serves it.
const (
	envDatabase = "LOSSFS_TEST_DATABASE" // file
	envSettings = "LOSSFS_TEST_SETTINGS" // pragmas
	envServe    = "LOSSFS_TEST_SERVE"    // directory to mount a volume on, until killed
)

func TestMain(m *testing.M) {
	if path := os.Getenv(envDatabase); path != "" {
		if err := writeRows(path, os.Getenv(envSettings)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if dir := os.Getenv(envServe); dir != "" {
		if _, err := lossfs.Mount(dir, lossfs.Hooks{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("mounted")
		select {}
	}
	os.Exit(m.Run())
}

// writeRows commits one row for each line of standard input and acknowledges it on standard output.
func writeRows(path, settings string) error {
	db, err := sql.Open("sqlite", "file:"+path+"?"+settings)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE IF NOT EXISTS rows (n INTEGER PRIMARY KEY, text TEXT)"); err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if _, err := db.Exec("INSERT INTO rows (text) VALUES (?)", strings.Repeat("x", 300)); err != nil {
			return err
		}
		fmt.Println(lines.Text())
	}
	return nil // without closing: the volume is looked at as it is
}

// writer is that program.
type writer struct {
	t       *testing.T
	command *exec.Cmd
	in      *os.File
	acks    *bufio.Scanner
}

func startWriter(t *testing.T, dir, settings string) *writer {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	w := &writer{t: t, command: exec.Command(executable)}
	w.command.Env = append(os.Environ(), envDatabase+"="+filepath.Join(dir, "a.db"), envSettings+"="+settings)
	w.command.Stderr = os.Stderr
	read, write, err := os.Pipe()
	require.NoError(t, err)
	w.command.Stdin, w.in = read, write
	out, err := w.command.StdoutPipe()
	require.NoError(t, err)
	w.acks = bufio.NewScanner(out)
	require.NoError(t, w.command.Start())
	require.NoError(t, read.Close())
	t.Cleanup(w.kill)
	return w
}

// commit has n rows committed, one after the other, and returns once all are acknowledged.
func (w *writer) commit(n int) {
	w.t.Helper()
	for range n {
		w.send()
		w.acked()
	}
}

func (w *writer) send() {
	w.t.Helper()
	_, err := fmt.Fprintln(w.in, "row")
	require.NoError(w.t, err)
}

func (w *writer) acked() {
	w.t.Helper()
	require.True(w.t, w.acks.Scan(), "the program ended: %v", w.acks.Err())
}

func (w *writer) kill() {
	_ = w.in.Close()
	_ = w.command.Process.Kill()
	_ = w.command.Wait()
}

func wal(synchronous string, checkpoint int) string {
	return fmt.Sprintf("_pragma=journal_mode(WAL)&_pragma=synchronous(%s)&_pragma=wal_autocheckpoint(%d)", synchronous, checkpoint)
}

// mount gives a test a volume, or says loudly why it cannot.
func mount(t *testing.T, before func(lossfs.Event)) (*lossfs.Volume, string) {
	t.Helper()
	if err := lossfs.Probe(); err != nil {
		t.Skipf("NOT RUN: power loss cannot be tested on this machine: %v", err)
	}
	dir := t.TempDir()
	v, err := lossfs.Mount(dir, lossfs.Hooks{Before: before})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, v.Unmount())
		table, err := os.ReadFile("/proc/self/mountinfo")
		require.NoError(t, err)
		require.NotContains(t, string(table), dir, "no mount is left behind")
	})
	return v, dir
}

// rowsIn is what SQLite finds in an image: the number of rows, or what is wrong.
func rowsIn(t *testing.T, image lossfs.Image) (int, error) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, image.Save(dir))
	if _, found := image["a.db"]; !found {
		return 0, fmt.Errorf("no such table: there is no file")
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "a.db"))
	require.NoError(t, err)
	defer db.Close()
	var check string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&check); err != nil {
		return 0, err
	}
	if check != "ok" {
		return 0, fmt.Errorf("malformed: %s", check)
	}
	var n int
	err = db.QueryRow("SELECT count(*) FROM rows").Scan(&n)
	return n, err
}

const committed = 20

// What FULL promises and the others do not: acknowledged means durable.
func TestAcknowledgedRowsSurviveOnlyUnderFull(t *testing.T) {
	for _, c := range []struct {
		synchronous string
		survive     bool
	}{{"EXTRA", true}, {"FULL", true}, {"NORMAL", false}, {"OFF", false}} {
		t.Run(c.synchronous, func(t *testing.T) {
			v, dir := mount(t, nil)
			w := startWriter(t, dir, wal(c.synchronous, 1000))
			w.commit(committed)
			v.Cut()
			w.kill()
			rows, err := rowsIn(t, v.Image(lossfs.Survival{}))
			if c.survive {
				require.NoError(t, err)
				require.Equal(t, committed, rows)
				return
			}
			require.ErrorContains(t, err, "no such table", "nothing was synced before the first checkpoint")
		})
	}
}

// A checkpoint makes NORMAL durable up to itself, and OFF not at all.
func TestRowsAreLostBackToTheLastCheckpoint(t *testing.T) {
	v, dir := mount(t, nil)
	w := startWriter(t, dir, wal("NORMAL", 10))
	w.commit(committed)
	rows, err := rowsIn(t, v.Image(lossfs.Survival{}))
	require.NoError(t, err)
	require.Less(t, rows, committed)
	require.NotZero(t, rows)
}

func TestAProgramGoesOnAfterAPowerFailureFromWhatWasOnTheDisk(t *testing.T) {
	v, dir := mount(t, nil)
	first := startWriter(t, dir, wal("FULL", 1000))
	first.commit(committed)
	v.Cut()
	first.send()
	require.False(t, first.acks.Scan(), "after the cut nothing is acknowledged")
	first.kill()

	v.Restore(v.Image(lossfs.Survival{}))
	second := startWriter(t, dir, wal("FULL", 1000))
	second.commit(committed)
	v.Cut()
	second.kill()
	rows, err := rowsIn(t, v.Image(lossfs.Survival{}))
	require.NoError(t, err)
	require.Equal(t, 2*committed, rows)
}

// Between the write and its fsync a commit is not there, whoever has seen the write.
func TestACommitIsNotDurableBeforeItsFsync(t *testing.T) {
	held, letGo := make(chan struct{}), make(chan struct{})
	armed := make(chan bool, 1)
	v, dir := mount(t, func(e lossfs.Event) {
		if e.Op == lossfs.Sync && strings.HasSuffix(e.Name, "-wal") {
			select {
			case <-armed:
				close(held)
				<-letGo
			default:
			}
		}
	})
	w := startWriter(t, dir, wal("FULL", 1000))
	release := sync.OnceFunc(func() { close(letGo) })
	t.Cleanup(release) // before the program's end is waited for: a held program cannot die
	w.commit(committed)
	armed <- true
	w.send()
	<-held
	rows, err := rowsIn(t, v.Image(lossfs.Survival{}))
	require.NoError(t, err)
	require.Equal(t, committed, rows)
	survived, err := rowsIn(t, v.Image(lossfs.Survival{Chance: 1}))
	require.NoError(t, err)
	require.Equal(t, committed+1, survived, "written, and by luck on the disk")
	release()
	w.acked()
	rows, err = rowsIn(t, v.Image(lossfs.Survival{}))
	require.NoError(t, err)
	require.Equal(t, committed+1, rows)
}

// Each fsync is told of twice, and with a thread of the program that asked for it.
func TestWhoAsksForAnFsyncIsKnownBeforeAndBehindIt(t *testing.T) {
	if err := lossfs.Probe(); err != nil {
		t.Skipf("NOT RUN: power loss cannot be tested on this machine: %v", err)
	}
	dir := t.TempDir()
	var mu sync.Mutex
	var told []string
	threads := map[int]bool{}
	hook := func(when string) func(lossfs.Event) {
		return func(e lossfs.Event) {
			if e.Op == lossfs.Sync && strings.HasSuffix(e.Name, "-wal") {
				mu.Lock()
				defer mu.Unlock()
				told, threads[e.Thread] = append(told, when), true
			}
		}
	}
	v, err := lossfs.Mount(dir, lossfs.Hooks{Before: hook("before"), Synced: hook("synced")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, v.Unmount()) })
	w := startWriter(t, dir, wal("FULL", 1000))
	w.commit(1)
	mu.Lock()
	told = nil
	mu.Unlock()
	w.commit(2)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"before", "synced", "before", "synced"}, told, "one fsync for each commit")
	for thread := range threads {
		require.DirExists(t, fmt.Sprintf("/proc/%d/task/%d", w.command.Process.Pid, thread))
	}
}

// Disks write in any order. FULL and NORMAL are never corrupt, whatever survives; OFF is.
func TestWhateverSurvivesOnlyOffIsCorrupt(t *testing.T) {
	const images = 60
	for _, c := range []struct {
		synchronous string
		corrupt     bool
	}{{"FULL", false}, {"NORMAL", false}, {"OFF", true}} {
		for _, torn := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s torn=%t", c.synchronous, torn), func(t *testing.T) {
				v, dir := mount(t, nil)
				w := startWriter(t, dir, wal(c.synchronous, 4))
				corrupt, lost, seed := 0, 0, uint64(0)
				for range images / 4 {
					w.commit(3)
					for range 4 {
						seed++
						rows, err := rowsIn(t, v.Image(lossfs.Survival{Chance: 0.5, Torn: torn, Seed: seed}))
						switch acknowledged := int(seed+3) / 4 * 3; {
						case err != nil && !strings.Contains(err.Error(), "no such table"):
							corrupt++
						case err != nil || rows < acknowledged:
							lost++
						}
					}
				}
				t.Logf("%d images: %d corrupt, %d without a row that was acknowledged", images, corrupt, lost)
				if c.corrupt {
					require.NotZero(t, corrupt)
				} else {
					require.Zero(t, corrupt)
				}
				if c.synchronous == "FULL" {
					require.Zero(t, lost)
				}
			})
		}
	}
}
