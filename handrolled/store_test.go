package handrolled

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"

	"refundlab/refund"
)

// B22: a connection that the pool makes anew has every setting, and one that would not have them is refused.
func TestSettingsSurviveAReplacedConnection(t *testing.T) {
	store, _ := newStore(t)
	for _, db := range []*sql.DB{store.writer, store.reader} {
		seen := map[any]bool{}
		for range 20 {
			conn, err := db.Conn(bounded(t))
			require.NoError(t, err)
			require.NoError(t, conn.Raw(func(c any) error { seen[c] = true; return nil }))
			for _, s := range settings {
				var got string
				require.NoError(t, conn.QueryRowContext(bounded(t), "PRAGMA "+s.pragma).Scan(&got))
				require.Equal(t, s.want, got, s.pragma)
			}
			// What a driver says of a connection that it wants replaced.
			require.ErrorIs(t, conn.Raw(func(any) error { return driver.ErrBadConn }), driver.ErrBadConn)
			_ = conn.Close()
		}
		require.Len(t, seen, 20, "no connection was replaced")
	}
	_, err := store.writer.Exec("INSERT INTO decisions VALUES ('no-such-run', 'd', 'approve', 'h', 'ACCEPTED', 1, '{}')")
	require.ErrorContains(t, err, "FOREIGN KEY")
}

func TestAConnectionWithoutASettingIsRefused(t *testing.T) {
	for _, s := range settings {
		path := journalPath(t)
		openAt(t, path, Options{})
		connect, err := sqlite.NewConnector("file:" + path + "?_txlock=immediate")
		require.NoError(t, err)
		db := sql.OpenDB(checkedFor{connect, s.pragma, "another"})
		_, err = db.Exec("SELECT 1")
		requireCode(t, err, refund.CodeStoreUnreadable, s.pragma)
		require.NoError(t, db.Close())
	}
}

// checkedFor reads back one setting, which it wants to be something else.
type checkedFor struct {
	driver.Connector
	pragma, want string
}

func (c checkedFor) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return conn, errors.Join(readBack(ctx, conn, c.pragma, c.want))
}

func TestOpenRefusesWhatIsNoJournalOfThisVersion(t *testing.T) {
	for _, c := range []struct {
		name  string
		make  func(t *testing.T, path string)
		words string
	}{
		{"text", func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte("this is not a database, but it is longer than a header of one hundred bytes, which SQLite reads first"), 0o600))
		}, "cannot be read and written as a database"},
		{"a directory", func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o700)) }, "cannot be read and written as a database"},
		{"another program's database", func(t *testing.T, path string) {
			execute(t, path, "CREATE TABLE t (x)", "PRAGMA application_id = 7")
		}, "another program"},
		{"an unmarked database", func(t *testing.T, path string) { execute(t, path, "CREATE TABLE t (x)") }, "another program"},
		{"a newer journal", func(t *testing.T, path string) {
			openAt(t, path, Options{})
			execute(t, path, "PRAGMA user_version = 2")
		}, "schema version 2, this program reads 1"},
		{"no such directory", func(t *testing.T, path string) { require.NoError(t, os.Remove(filepath.Dir(path))) }, "cannot be read and written as a database"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sub", "journal.db")
			require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
			c.make(t, path)
			before, _ := os.ReadFile(path)
			_, err := Open(path, Options{})
			requireCode(t, err, refund.CodeStoreUnreadable, path, c.words)
			after, _ := os.ReadFile(path)
			require.Equal(t, before, after, "what is refused is left as it was")
		})
	}
}

func execute(t *testing.T, path string, statements ...string) {
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	for _, s := range statements {
		_, err := db.Exec(s)
		require.NoError(t, err)
	}
	require.NoError(t, db.Close())
}

// lock takes the file's write lock as another process would, until the test lets it go.
func lock(t *testing.T, path string) (release func()) {
	db, err := sql.Open("sqlite", path+"?_txlock=immediate")
	require.NoError(t, err)
	tx, err := db.Begin()
	require.NoError(t, err)
	return func() {
		require.NoError(t, tx.Rollback())
		require.NoError(t, db.Close())
	}
}

// B20: a writer waits for the lock, and no run takes harm from it.
func TestAWriterWaitsForTheLock(t *testing.T) {
	path := journalPath(t)
	store := openAt(t, path, Options{})
	admit(t, store, refund.Terms{})
	run := propose(t, store)
	release := lock(t, path)
	const held = 300 * time.Millisecond
	began := time.Now()
	time.AfterFunc(held, release)
	verdict, err := store.Decide(bounded(t), decision(run, "1", refund.ChoiceApprove), "client")
	require.NoError(t, err)
	require.Equal(t, refund.VerdictAccepted, verdict.Code)
	require.GreaterOrEqual(t, time.Since(began), held)
}

// B28: while another process keeps the lock, clients are told so, reading goes on, no run is marked, and the log is kept.
func TestAFrozenHolderOfTheLockIsNamedAndHarmsNothing(t *testing.T) {
	t.Parallel()
	path := journalPath(t)
	store := openAt(t, path, Options{})
	admit(t, store, refund.Terms{})
	run := propose(t, store)
	w := newWorld()
	start(t, store, w, "A")
	release := lock(t, path)
	_, err := store.Decide(bounded(t), decision(run, "1", refund.ChoiceApprove), "client")
	requireCode(t, err, refund.CodeStoreLocked, "another process has held the write lock")
	second := openAt(t, path, Options{}) // whoever only wants to look does not wait for the frozen one
	require.Equal(t, refund.StatusApprovalRequired, status(t, second, run.Lease.OperationID).Status)
	require.FileExists(t, path+"-wal")

	release()
	_, err = store.Decide(bounded(t), decision(run, "1", refund.ChoiceApprove), "client")
	require.NoError(t, err)
	until(t, store, run.Lease.OperationID, refund.StatusConfirmed)
	require.Equal(t, 1, w.reached("submit"))
}

// B26: whoever leaves in the middle leaves a whole transaction or none, and no lock.
func TestACallerThatLeavesLeavesNoTransactionOpen(t *testing.T) {
	path := journalPath(t)
	store := openAt(t, path, Options{})
	other := openAt(t, path, Options{})
	random := rand.New(rand.NewPCG(26, 26))
	for n := range 200 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.IntN(3000))*time.Microsecond)
		_, _, first := store.Admit(ctx, request(n), terms(t, refund.Terms{}), "client")
		cancel()
		id := refund.NewOperationID("acme", refund.Kind, fmt.Sprint("req-", n))
		_, err := other.Load(bounded(t), id)
		if first == nil {
			require.NoError(t, err)
			require.Equal(t, []string{"INTAKE"}, kinds(t, other, id))
		} else {
			requireCode(t, first, refund.CodeUnavailable)
		}
		if _, _, err := other.Admit(bounded(t), request(n), terms(t, refund.Terms{}), "client"); err != nil {
			require.NoError(t, err, "a lock stayed held")
		}
		require.Equal(t, []string{"INTAKE"}, kinds(t, store, id))
	}
	require.LessOrEqual(t, store.writer.Stats().OpenConnections, 1)
}

// B43: a clock that is set back makes no time pass twice, and one that is ahead is followed by all.
func TestTheJournalsClockNeverRunsBackwards(t *testing.T) {
	path := journalPath(t)
	ahead, behind := clockAt(600_000), clockAt(1000)
	a, b := openAt(t, path, Options{Clock: ahead.read}), openAt(t, path, Options{Clock: behind.read})
	first, _, err := a.Admit(bounded(t), request(1), terms(t, refund.Terms{}), "client")
	require.NoError(t, err)
	second, _, err := b.Admit(bounded(t), request(2), terms(t, refund.Terms{}), "client")
	require.NoError(t, err)
	require.Equal(t, refund.Instant(600_000), first.Facts.Intake.At)
	require.Equal(t, refund.Instant(600_000), second.Facts.Intake.At)
	require.Equal(t, refund.Instant(600_000), b.Now())

	held := claim(t, a, "A")
	ahead.set(1000) // set back by ten minutes while A holds a run
	_, found, err := a.Claim(bounded(t), "B", lease)
	require.NoError(t, err)
	require.True(t, found, "the other run")
	_, found, err = a.Claim(bounded(t), "B", lease)
	require.NoError(t, err)
	require.False(t, found, "A's lease is not over")
	ahead.set(held.Lease.Until)
	require.Equal(t, int64(2), claim(t, a, "B").Lease.Generation)
}

// setBack is a wall clock that is an hour behind where a file has been.
func setBack() time.Time { return time.Now().Add(-time.Hour) }

func TestALeaseEndsInItsTimeAlsoForAProcessThatStartsAfterTheHostsClockWasSetBack(t *testing.T) {
	path := journalPath(t)
	before := openAt(t, path, Options{})
	admit(t, before, refund.Terms{})
	const short = 200 * time.Millisecond
	held, found, err := before.Claim(bounded(t), "A", short)
	require.NoError(t, err)
	require.True(t, found)

	after := openAt(t, path, Options{Clock: HostClock(setBack)})
	began := time.Now()
	var taken Run
	require.Eventually(t, func() bool {
		taken, found, err = after.Claim(bounded(t), "B", short)
		return err != nil || found
	}, patience, 5*time.Millisecond, "nobody would move the run for an hour (I11)")
	require.NoError(t, err)
	require.Equal(t, held.Lease.Generation+1, taken.Lease.Generation)
	require.GreaterOrEqual(t, taken.At, held.Lease.Until, "and not before its lease is over")
	require.Less(t, time.Since(began), patience/2)
}

func TestTheHostsClockGoesOnFromTheHighestTimeThatWasSeen(t *testing.T) {
	wall := time.UnixMilli(1_000_000)
	clock := HostClock(func() time.Time { return wall })
	reads := func(seen, least refund.Instant, setBack bool, why string) {
		t.Helper()
		now, behind := clock(seen)
		require.GreaterOrEqual(t, now, least, why)
		require.Less(t, now, least.Add(patience), why+": no faster than time does")
		require.Equal(t, setBack, behind, why)
	}
	reads(0, 1_000_000, false, "the wall's")
	wall = wall.Add(-100 * time.Millisecond)
	reads(0, 1_000_000, false, "a small step")
	wall = wall.Add(-time.Hour)
	reads(0, 1_000_000, true, "set back")
	reads(5_000_000, 5_000_000, true, "somebody was ahead")
	reads(0, 5_000_000, true, "and that is not forgotten")
	require.Eventually(t, func() bool {
		now, _ := clock(0)
		return now > 5_000_000
	}, patience, time.Millisecond, "it goes on")
	wall = time.UnixMilli(9_000_000)
	reads(0, 9_000_000, false, "the wall's again")
}

// B25: a long reader lets the log grow, and once it has ended the log is cut back.
func TestTheLogIsCutBackAfterALongReader(t *testing.T) {
	path := journalPath(t)
	store := openAt(t, path, Options{})
	run := admit(t, store, refund.Terms{})
	size := func() int64 {
		info, err := os.Stat(path + "-wal")
		require.NoError(t, err)
		return info.Size()
	}
	write := func(rows int) {
		require.NoError(t, store.write(bounded(t), func(tx *transaction) error {
			for range rows {
				body := map[string]string{"detail": strings.Repeat("x", 1<<16)}
				if err := tx.record(run.Lease.OperationID, refund.FactObservation, "A", 0, "", "", body); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	require.NoError(t, store.read(bounded(t), func(*transaction) error {
		for range 3 {
			write(100)
		}
		require.Greater(t, size(), int64(walLimit))
		return nil
	}))
	write(1)
	write(1) // the log starts again from its beginning, and is cut to its limit then
	require.LessOrEqual(t, size(), int64(walLimit))
}

func TestAFileThatIsNotYetAJournalAndIsLockedIsNotOpened(t *testing.T) {
	t.Parallel()
	path := journalPath(t)
	execute(t, path, "PRAGMA journal_mode = wal")
	defer lock(t, path)()
	_, err := Open(path, Options{})
	requireCode(t, err, refund.CodeStoreLocked, path, "another process has held the write lock")
}

// I4: what is UNKNOWN is listed, whatever else is in the file.
func TestARunThatCannotBeReadIsLeftOutOfTheList(t *testing.T) {
	for _, intake := range []string{"not JSON", `{"terms": {"profile": "nobody's"}}`} {
		t.Run(intake, func(t *testing.T) {
			store, _ := newStore(t)
			broken := admit(t, store, refund.Terms{})
			spoil(t, store, "UPDATE runs SET intake = ? WHERE operation_id = ?", intake, broken.Lease.OperationID)
			other, _, err := store.Admit(bounded(t), request(2), terms(t, refund.Terms{}), "client")
			require.NoError(t, err)
			list, err := (&Client{Journal: store}).List(bounded(t))
			require.NoError(t, err)
			require.Len(t, list, 1)
			require.Equal(t, other.Facts, list[0].View.Facts)
		})
	}
}

func TestAnUnreadableObservationCostsItsDetailAlone(t *testing.T) {
	store, _ := newStore(t)
	run := unknown(t, store, refund.ProfileOpaque)
	_, err := store.writer.Exec("DROP TRIGGER journal_is_final")
	require.NoError(t, err)
	_, err = store.writer.Exec("UPDATE journal SET body = 'not JSON' WHERE kind = 'OBSERVATION'")
	require.NoError(t, err)
	list, err := (&Client{Journal: store}).List(bounded(t))
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, refund.StatusUnknown, list[0].View.Status)
	require.Equal(t, run.Lease.OperationID, list[0].View.Facts.Intake.OperationID)
}

func TestAColumnThatIsNeitherTextNorNullIsAnError(t *testing.T) {
	var in refund.Intake
	require.NoError(t, column{&in}.Scan(nil))
	require.NoError(t, column{&in}.Scan(`{"digest": "d"}`))
	require.EqualValues(t, "d", in.Digest)
	for _, value := range []any{[]byte(`{"digest": "d"}`), int64(1), "not JSON"} {
		require.ErrorIs(t, column{&in}.Scan(value), errUnreadable)
	}
}
