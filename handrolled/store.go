package handrolled

import (
	"context"
	"database/sql"
	"database/sql/driver"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"refundlab/provider/ledger"
	"refundlab/refund"
)

//go:embed schema.sql
var schema string

const (
	applicationID = 0x7266_6a6c // "rfjl": refund journal, in the file's header
	schemaVersion = 1
	// busyTimeout is how long a transaction waits for another process's write lock. A transaction of this package takes
	// milliseconds, so a longer wait means that its holder is frozen.
	busyTimeout = 5 * time.Second
	// walLimit is the size in bytes to which the log is cut back once a long reader has let a checkpoint through.
	walLimit = 16 << 20
)

// settings are asked for in the DSN, so that every connection of a pool has them, and read back on every new connection,
// because a driver that ignores one says nothing. synchronous=FULL is what "durable before the call" rests on: under NORMAL
// the last commits go with the power.
var settings = []struct{ pragma, want string }{
	{"busy_timeout", fmt.Sprint(busyTimeout.Milliseconds())}, // first: the others may have to wait for a lock
	{"journal_mode", "wal"},
	{"synchronous", "2"},
	{"foreign_keys", "1"},
	{"journal_size_limit", fmt.Sprint(walLimit)},
}

// Clock is the one source of time of a store. It is told the highest time that this process has seen in the file, which some
// process has reached by then. setBack tells that the wall is well behind the file: how long ago anything was is not known then.
type Clock func(seen refund.Instant) (now refund.Instant, setBack bool)

// Options of a store. The zero value is the usual one.
type Options struct {
	Clock  Clock       // the host's clock when nil
	Ledger LocalLedger // of the profile "local"; the ledger in this file when nil
}

// Store is the journal on one SQLite file.
type Store struct {
	clock  Clock
	ledger LocalLedger
	// One writer connection: the transactions of this process queue here, in order and without SQLITE_BUSY, and only
	// processes wait for each other in SQLite.
	writer *sql.DB
	reader *sql.DB
	// highest is the highest time that this process has seen in the file.
	highest atomic.Int64
}

var _ Journal = (*Store)(nil)

// Open opens or creates the journal in the file path. It never removes a -wal or -shm file: committed steps may be in them
// alone.
//
// Errors: STORE_LOCKED when another process keeps the file locked, STORE_UNREADABLE when the file is no journal of this
// version or cannot be had.
func Open(path string, options Options) (*Store, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, refund.Wrap(refund.CodeStoreUnreadable, err, "journal %q has no absolute path", path)
	}
	if err := isOurs(absolute); err != nil {
		return nil, wrap(err, "journal %q", path)
	}
	connect, err := sqlite.NewConnector(dsn(absolute))
	if err != nil {
		return nil, refund.Wrap(refund.CodeStoreUnreadable, err, "journal %q cannot be opened", path)
	}
	return open(absolute, connect, options)
}

// isOurs refuses another program's database before a connection with our settings touches it: asking for WAL rewrites the
// header of the file. What cannot be read in this way is told apart by opening it.
func isOurs(path string) error {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return nil // a file that is not there yet is made, and one that cannot be had is told so by opening it
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: "mode=ro"}).String())
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var application, version, tables int
	if db.QueryRowContext(context.Background(), identity).Scan(&application, &version, &tables) != nil {
		return nil
	}
	return checkIdentity(application, version, tables)
}

// identity reads whose file it is.
const identity = "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), " +
	"(SELECT count(*) FROM sqlite_schema)"

// checkIdentity refuses a file that is neither empty nor a journal of this version.
func checkIdentity(application, version, tables int) error {
	switch {
	case application == 0 && version == 0 && tables == 0:
		return nil
	case application != applicationID:
		return refund.Errorf(refund.CodeStoreUnreadable, "the database belongs to another program (application id %#x): give another file", application)
	case version != schemaVersion:
		return refund.Errorf(refund.CodeStoreUnreadable, "the journal has schema version %d, this program reads %d", version, schemaVersion)
	}
	return nil
}

func dsn(path string) string {
	query := url.Values{"_txlock": {"immediate"}}
	for _, s := range settings {
		query.Add("_pragma", s.pragma+"("+s.want+")")
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}

func open(path string, connect driver.Connector, options Options) (*Store, error) {
	s := &Store{clock: options.Clock, ledger: options.Ledger}
	if s.clock == nil {
		s.clock = HostClock(time.Now)
	}
	if s.ledger == nil {
		s.ledger = fileLedger{}
	}
	s.writer = sql.OpenDB(checked{connect})
	s.writer.SetMaxOpenConns(1)
	s.reader = sql.OpenDB(checked{connect})
	s.reader.SetMaxIdleConns(idleReaders)
	if err := s.create(path); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// HostClock is a store's clock on a host's wall clock. When that is set back, the file's time does not stand still until the wall
// is where the file has been, which would keep a dead worker's runs for an hour (I11): it goes on, from the highest time that was
// seen, by the monotonic clock of this process. Nobody counts the time in which no process looks at the file.
func HostClock(wall func() time.Time) Clock {
	var mu sync.Mutex
	base, when := refund.At(wall()), time.Now() // what it was, and when
	return func(seen refund.Instant) (refund.Instant, bool) {
		mu.Lock()
		defer mu.Unlock()
		shown, now := refund.At(wall()), time.Now()
		running := base.Add(now.Sub(when))
		if later := max(shown, seen); later > running {
			base, when, running = later, now, later
		}
		return running, shown.Add(smallStep) < running
	}
}

// smallStep is what a synchronised host may set its clock back by and nobody be told. The provider's memory is taken to end earlier by
// as much.
const smallStep = time.Second

// idleReaders are the reading connections that are kept for the next read.
const idleReaders = 4

// Close closes the file. What was committed stays.
func (s *Store) Close() error { return errors.Join(s.writer.Close(), s.reader.Close()) }

// create makes the tables in an empty file, and otherwise checks whose file it is. Switching a fresh file to WAL answers
// SQLITE_BUSY at once, whatever the time-out, when another process does the same; so it is tried again until the time-out.
func (s *Store) create(path string) error {
	if s.isJournal(context.Background()) {
		return nil
	}
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for deadline := time.Now().Add(busyTimeout); ; <-retry.C {
		err := s.prepare(context.Background())
		if refund.CodeOf(err) != refund.CodeStoreLocked || time.Now().After(deadline) {
			return wrap(err, "journal %q", path)
		}
	}
}

// isJournal tells whether the file is a journal of this version already, by reading alone: whoever only wants to see the runs
// does not wait for a writer that is frozen.
func (s *Store) isJournal(ctx context.Context) bool {
	var application, version, tables int
	err := s.reader.QueryRowContext(ctx, identity).Scan(&application, &version, &tables)
	return err == nil && application != 0 && checkIdentity(application, version, tables) == nil
}

func (s *Store) prepare(ctx context.Context) error {
	return s.immediate(ctx, func(tx *transaction) error {
		var application, version, tables int
		if err := tx.row(identity).Scan(&application, &version, &tables); err != nil {
			return err
		}
		if err := checkIdentity(application, version, tables); err != nil || application != 0 {
			return err
		}
		if _, err := tx.exec(fmt.Sprintf("%s; PRAGMA application_id = %d; PRAGMA user_version = %d", schema, applicationID, schemaVersion)); err != nil {
			return err
		}
		return ledger.Schema(ctx, tx, refund.ProfileLocal)
	})
}

// checked refuses a connection that does not have the settings. The pool asks for one whenever it replaces one, so a setting
// cannot be lost with a connection.
type checked struct{ driver.Connector }

func (c checked) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, wrap(err, "connection")
	}
	for _, s := range settings {
		if err := readBack(ctx, conn, s.pragma, s.want); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

func readBack(ctx context.Context, conn driver.Conn, pragma, want string) error {
	query, ok := conn.(driver.QueryerContext)
	if !ok {
		return refund.Errorf(refund.CodeStoreUnreadable, "the driver cannot read a setting back")
	}
	rows, err := query.QueryContext(ctx, "PRAGMA "+pragma, nil)
	if err != nil {
		return wrap(err, "setting %s", pragma)
	}
	defer func() { _ = rows.Close() }()
	value := make([]driver.Value, 1)
	if err := rows.Next(value); err != nil {
		return wrap(err, "setting %s", pragma)
	}
	if got := fmt.Sprint(value[0]); got != want {
		return refund.Errorf(refund.CodeStoreUnreadable, "setting %s is %s and not %s: the file system may not allow it", pragma, got, want)
	}
	return nil
}

// wrap gives an error of SQLite its code. BUSY is a state of the machinery and never a verdict on a run.
func wrap(err error, what string, args ...any) error {
	var coded *refund.Error
	var failure *sqlite.Error
	text := fmt.Sprintf(what, args...)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &coded):
		if coded.Code == refund.CodeStoreLocked || coded.Code == refund.CodeStoreUnreadable {
			return refund.Wrap(coded.Code, err, "%s", text)
		}
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return refund.Wrap(refund.CodeUnavailable, err, "%s: the caller did not wait", text)
	case !errors.As(err, &failure):
		return refund.Wrap(refund.CodeInternal, err, "%s", text)
	}
	switch failure.Code() & 0xff { // the primary result code
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return refund.Wrap(refund.CodeStoreLocked, err, "%s: another process has held the write lock for %s: end it or let it go on, then try again", text, busyTimeout)
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR:
		return refund.Wrap(refund.CodeStoreUnreadable, err, "%s: the file cannot be read and written as a database", text)
	case sqlite3.SQLITE_FULL:
		return refund.Wrap(refund.CodeUnavailable, err, "%s: the disk is full", text)
	}
	return refund.Wrap(refund.CodeInternal, err, "%s", text)
}
