package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"refundlab/provider/ledger"
	"refundlab/refund"
)

const (
	// busyTimeout is how long a statement waits for another process's lock. No other process has business with this file, so
	// it is short: a start on a file that somebody holds is refused at once.
	busyTimeout = 2 * time.Second
	// openTimeout bounds the start as a whole.
	openTimeout = 2 * busyTimeout
	// lockTimeout is how long a request waits for the one connection that writes. It outlasts a transaction that is held at a
	// fault point.
	lockTimeout = 60 * time.Second
)

// store is the ledger's file: one connection that writes, a few that read beside a held write.
type store struct {
	writer, reader *sql.DB
}

// openStore opens or creates the file.
//
// Errors: STORE_LOCKED, STORE_UNREADABLE, PROFILE_MISMATCH.
func openStore(ctx context.Context, path string, profile refund.ProfileName) (*store, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	s := &store{}
	var err error
	// Settings stand in the DSN because they belong to a connection: one that the pool replaces must have them too. FULL,
	// because WAL with NORMAL loses commits when the power fails, and the ledger is what everything is judged by.
	if s.writer, err = open(path, "rwc", "&_txlock=immediate"); err == nil {
		s.writer.SetMaxOpenConns(1)
		if err = checkSettings(ctx, s.writer); err == nil {
			err = s.write(ctx, func(tx *sql.Tx) error { return ledger.Schema(ctx, tx, profile) })
		}
	}
	if err == nil {
		if s.reader, err = open(path, "rw", "&_pragma=query_only(1)"); err == nil {
			err = checkSettings(ctx, s.reader)
		}
	}
	if err != nil {
		return nil, errors.Join(storeError(path, err), s.close())
	}
	return s, nil
}

func open(path, mode, more string) (*sql.DB, error) {
	return sql.Open("sqlite", fmt.Sprintf("file:%s?mode=%s&_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)%s",
		(&url.URL{Path: path}).EscapedPath(), mode, busyTimeout.Milliseconds(), more))
}

// checkSettings reads back what the DSN asked for: SQLite ignores a setting that it does not know.
func checkSettings(ctx context.Context, db *sql.DB) error {
	var journal string
	var synchronous, foreignKeys, timeout int64
	for pragma, value := range map[string]any{"journal_mode": &journal, "synchronous": &synchronous, "foreign_keys": &foreignKeys, "busy_timeout": &timeout} {
		if err := db.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(value); err != nil {
			return err
		}
	}
	if journal != "wal" || synchronous != 2 || foreignKeys != 1 || timeout != busyTimeout.Milliseconds() {
		return fmt.Errorf("settings are journal_mode=%s synchronous=%d foreign_keys=%d busy_timeout=%d and not what was asked for", journal, synchronous, foreignKeys, timeout)
	}
	return nil
}

// write runs one immediate transaction. Waiting for the writer is bounded; the transaction itself is not, because it may be
// held at a fault point, and ends with ctx alone.
func (s *store) write(ctx context.Context, work func(*sql.Tx) error) error {
	waiting, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	conn, err := s.writer.Conn(waiting)
	if err != nil {
		return err
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := work(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// read runs work on one snapshot; it waits for no writer.
func (s *store) read(ctx context.Context, work func(*sql.Tx) error) error {
	tx, err := s.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return work(tx)
}

func (s *store) close() error {
	var errs []error
	for _, db := range []*sql.DB{s.reader, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// storeError gives an error of the store its code. An error that has one keeps it.
func storeError(path string, err error) error {
	var coded *refund.Error
	var failure *sqlite.Error
	switch {
	case err == nil || errors.As(err, &coded):
		return err
	case errors.As(err, &failure) && failure.Code()&0xff == sqlite3.SQLITE_BUSY, errors.Is(err, context.DeadlineExceeded):
		return refund.Wrap(refund.CodeStoreLocked, err, "database %q is locked by another process: wait for it or end it, and leave its -wal and -shm files alone", path)
	}
	return refund.Wrap(refund.CodeStoreUnreadable, err, "database %q cannot be used", path)
}
