package ledger

import (
	"context"
	"database/sql"
	"errors"

	"refundlab/refund"
)

// Querier is what both *sql.DB and *sql.Tx can do.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// The names begin with ledger_ because the tables may share a file with the journal's. Times are UTC milliseconds.
//
// The constraints say once more what Accept checks, for the day on which somebody writes around it: a balance outside its
// bounds (I7), a second result or a second entry for one operation (I1), an entry for no order.
const schema = `
CREATE TABLE IF NOT EXISTS ledger_state (
	id          INTEGER PRIMARY KEY CHECK (id = 1),
	profile     TEXT NOT NULL,
	replica_seq INTEGER NOT NULL DEFAULT 0 -- the last entry that the manual replica has seen
) STRICT;
CREATE TABLE IF NOT EXISTS ledger_orders (
	tenant         TEXT NOT NULL,
	id             TEXT NOT NULL,
	currency       TEXT NOT NULL,
	captured_minor INTEGER NOT NULL,
	opening_minor  INTEGER NOT NULL CHECK (opening_minor >= 0), -- refunded before the ledger's first entry
	refunded_minor INTEGER NOT NULL CHECK (refunded_minor BETWEEN opening_minor AND captured_minor),
	version        INTEGER NOT NULL CHECK (version > 0),
	PRIMARY KEY (tenant, id)
) STRICT;
CREATE TABLE IF NOT EXISTS ledger_entries (
	seq           INTEGER PRIMARY KEY, -- the order of commits
	refund_id     TEXT NOT NULL UNIQUE,
	tenant        TEXT NOT NULL,
	kind          TEXT NOT NULL,
	operation_id  TEXT NOT NULL,
	digest        TEXT NOT NULL,
	order_id      TEXT NOT NULL,
	amount_minor  INTEGER NOT NULL CHECK (amount_minor > 0),
	currency      TEXT NOT NULL,
	order_version INTEGER NOT NULL,
	decision_id   TEXT NOT NULL,
	fence_term    INTEGER NOT NULL,
	fence_seq     INTEGER NOT NULL,
	at            INTEGER NOT NULL,
	once          INTEGER NOT NULL, -- 1 where the profile promises one entry per operation for ever
	FOREIGN KEY (tenant, order_id) REFERENCES ledger_orders (tenant, id)
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS ledger_entry_once ON ledger_entries (tenant, kind, operation_id) WHERE once = 1;
CREATE INDEX IF NOT EXISTS ledger_entry_operation ON ledger_entries (tenant, kind, operation_id);
CREATE INDEX IF NOT EXISTS ledger_entry_at ON ledger_entries (at);
CREATE TABLE IF NOT EXISTS ledger_operations (
	tenant       TEXT NOT NULL,
	kind         TEXT NOT NULL,
	operation_id TEXT NOT NULL,
	digest       TEXT NOT NULL, -- '' for a tombstone of an id never seen
	result       TEXT NOT NULL CHECK (result IN ('receipt', 'refusal', 'tombstone')),
	code         TEXT NOT NULL,
	message      TEXT NOT NULL,
	refund_id    TEXT REFERENCES ledger_entries (refund_id),
	at           INTEGER NOT NULL,
	PRIMARY KEY (tenant, kind, operation_id),
	CHECK ((result = 'receipt') = (refund_id IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS ledger_operation_at ON ledger_operations (at);
CREATE TABLE IF NOT EXISTS ledger_fences (
	tenant       TEXT NOT NULL,
	kind         TEXT NOT NULL,
	operation_id TEXT NOT NULL,
	term         INTEGER NOT NULL,
	seq          INTEGER NOT NULL,
	PRIMARY KEY (tenant, kind, operation_id)
) STRICT, WITHOUT ROWID;
`

// Schema creates the tables where they are missing, in any database file. A file keeps the profile under which it was
// written, because what its operations mean depends on it.
//
// Errors: PROFILE_MISMATCH, and the store's own.
func Schema(ctx context.Context, q Querier, profile refund.ProfileName) error {
	if _, err := q.ExecContext(ctx, schema); err != nil {
		return err
	}
	if _, err := q.ExecContext(ctx, `INSERT INTO ledger_state (id, profile) VALUES (1, ?) ON CONFLICT DO NOTHING`, profile); err != nil {
		return err
	}
	written, err := ProfileOf(ctx, q)
	if err != nil {
		return err
	}
	if written != profile {
		return refund.Errorf(refund.CodeProfileMismatch, "ledger was written under profile %q, not %q: use another file or that profile", written, profile)
	}
	return nil
}

// ProfileOf returns the profile under which the ledger was written.
func ProfileOf(ctx context.Context, q Querier) (refund.ProfileName, error) {
	var name refund.ProfileName
	err := q.QueryRowContext(ctx, `SELECT profile FROM ledger_state`).Scan(&name)
	return name, err
}

// Now keeps the clock from running backwards: it returns read, or the highest time stored where that is later.
func Now(ctx context.Context, q Querier, read refund.Instant) (refund.Instant, error) {
	var highest refund.Instant
	err := q.QueryRowContext(ctx, `SELECT max(
		(SELECT coalesce(max(at), 0) FROM ledger_entries),
		(SELECT coalesce(max(at), 0) FROM ledger_operations))`).Scan(&highest)
	return max(read, highest), err
}

// oneRow tells whether a conditional write hit its row.
func oneRow(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// found turns "no rows" into false.
func found(err error) (bool, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
