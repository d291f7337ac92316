package handrolled

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"refundlab/refund"
)

// transaction is one immediate transaction: it has the write lock from its first statement, so what it reads cannot change
// before it writes, and SQLITE_BUSY can come at its beginning only. now is read after the lock was had, so that a deadline
// or a lease that ended while it waited is over.
type transaction struct {
	*sql.Tx
	ctx context.Context
	now refund.Instant
}

// write runs fn in one transaction of the journal's clock and commits it. Nothing is committed when fn fails.
//
// When COMMIT fails the transaction may be there or not. An owner then drops the run, and the next claim reads what is there;
// the others read again themselves, see rewrite.
func (s *Store) write(ctx context.Context, fn func(*transaction) error) error {
	return s.immediate(ctx, func(tx *transaction) error {
		// One clock for leases and deadlines, kept from running backwards by what any process of this file has used: a clock
		// that was set back can make a lease last longer, by what nobody counted, never a fact older than the one before it.
		if err := tx.row("UPDATE clock SET highest = max(highest, ?) RETURNING highest", s.Now()).Scan(&tx.now); err != nil {
			return err
		}
		s.saw(tx.now)
		return fn(tx)
	})
}

// immediate runs fn between BEGIN IMMEDIATE and COMMIT.
//
// The caller may leave while this process's other transactions are in front. From BEGIN on nobody looks at the caller's
// context any more: a transaction that is cancelled in the middle of BEGIN or COMMIT is one of which nobody knows how it
// ended, and this one ends within milliseconds or, when another process holds the lock, within busyTimeout.
func (s *Store) immediate(ctx context.Context, fn func(*transaction) error) error {
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return wrap(err, "waiting for the writer")
	}
	defer func() { _ = conn.Close() }()
	ctx = context.WithoutCancel(ctx)
	begun, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return wrap(err, "beginning a transaction")
	}
	// Also when fn panics: closing a connection waits for its transaction, and the file would stay locked for everybody.
	defer func() { _ = begun.Rollback() }()
	if err := fn(&transaction{Tx: begun, ctx: ctx}); err != nil {
		return wrap(err, "in a transaction")
	}
	if err := begun.Commit(); err != nil {
		return refund.Wrap(refund.CodeUnavailable, errors.Join(errCommit, err), "a commit was not acknowledged and may be there or not: ask again with the same id")
	}
	return nil
}

// errCommit marks a transaction of which nobody knows whether it is there.
var errCommit = errors.New("commit failed")

// rewrite is write for a transaction that begins by looking for what it would record, by an id that its caller chose. When
// its COMMIT fails it is run once more, which reads the file again: it finds its own record, or makes it now.
func (s *Store) rewrite(ctx context.Context, fn func(*transaction) error) error {
	err := s.write(ctx, fn)
	if errors.Is(err, errCommit) {
		err = s.write(ctx, fn)
	}
	return err
}

// saw keeps the highest time seen, from which the clock goes on at once.
func (s *Store) saw(now refund.Instant) {
	for {
		highest := s.highest.Load()
		if int64(now) <= highest {
			return
		}
		if s.highest.CompareAndSwap(highest, int64(now)) {
			s.clock(now)
			return
		}
	}
}

// Now is the journal's clock as far as this process has seen it.
func (s *Store) Now() refund.Instant {
	now, _ := s.reading()
	return now
}

// SetBack tells whether the host's clock is well behind the file's time.
func (s *Store) SetBack() bool {
	_, setBack := s.reading()
	return setBack
}

func (s *Store) reading() (now refund.Instant, setBack bool) {
	seen := refund.Instant(s.highest.Load())
	now, setBack = s.clock(seen)
	return max(seen, now), setBack
}

func (tx *transaction) row(query string, args ...any) *sql.Row {
	return tx.QueryRowContext(tx.ctx, query, args...)
}

// exec runs a statement and returns how many rows it changed.
func (tx *transaction) exec(query string, args ...any) (int64, error) {
	result, err := tx.ExecContext(tx.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// must runs a statement that has to change exactly one row.
func (tx *transaction) must(query string, args ...any) error {
	changed, err := tx.exec(query, args...)
	if err == nil && changed != 1 {
		return refund.Errorf(refund.CodeInternal, "a statement changed %d rows and not one: %s", changed, query)
	}
	return err
}

// asOwner changes the run for the owner of the lease and for nobody else. It is the only door for an owner's write: the
// statement carries the generation and the end of the lease, and its row count is looked at, so a worker that was
// frozen, outrun or merely slow changes nothing and learns it (I6). The same worker's own later claim has another
// generation too.
//
// Errors: LEASE_LOST.
func (tx *transaction) asOwner(lease Lease, set string, args ...any) error {
	args = append(args, lease.OperationID, lease.Generation, tx.now)
	changed, err := tx.exec("UPDATE runs SET "+set+" WHERE operation_id = ? AND generation = ? AND ? < lease_until", args...)
	if err == nil && changed == 0 {
		return refund.Errorf(refund.CodeLeaseLost, "%s no longer holds run %s under generation %d at %s: nothing was written",
			lease.Owner, lease.OperationID, lease.Generation, tx.now)
	}
	return err
}

// holds is the same door for an owner who leaves the run's row as it is: the condition is what counts.
func (tx *transaction) holds(lease Lease) error { return tx.asOwner(lease, "owner = owner") }

// record appends one durable fact under the run's next sequence number.
func (tx *transaction) record(id refund.OperationID, kind refund.FactKind, party string, generation int64, ref, code string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return tx.must("INSERT INTO journal SELECT ?, coalesce(max(seq), 0) + 1, ?, ?, ?, ?, ?, ?, ? FROM journal WHERE operation_id = ?",
		id, tx.now, kind, party, generation, ref, code, string(text), id)
}
