package handrolled

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"refundlab/refund"
)

// read runs fn on one snapshot of the file. It takes no lock that a writer waits for, and it ends at once, so that it never
// keeps a checkpoint from cutting the log.
func (s *Store) read(ctx context.Context, fn func(*transaction) error) error {
	begun, err := s.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return wrap(err, "beginning to read")
	}
	defer func() { _ = begun.Rollback() }() // nothing was written
	tx := &transaction{Tx: begun, ctx: ctx}
	var highest refund.Instant
	if err := tx.row("SELECT highest FROM clock").Scan(&highest); err != nil {
		return wrap(err, "reading the clock")
	}
	s.saw(highest)
	tx.now = s.Now()
	return wrap(fn(tx), "reading")
}

// Load reads one run.
func (s *Store) Load(ctx context.Context, id refund.OperationID) (run Run, err error) {
	err = s.read(ctx, func(tx *transaction) error {
		run, err = tx.load(id)
		return err
	})
	return run, err
}

// Runs reads all runs. One that cannot be read is logged and left out: whoever looks for what is UNKNOWN sees the others (I4).
func (s *Store) Runs(ctx context.Context) (runs []Run, err error) {
	err = s.read(ctx, func(tx *transaction) error {
		ids, err := collect(tx, scanText[refund.OperationID], "SELECT operation_id FROM runs ORDER BY at, operation_id")
		if err != nil {
			return err
		}
		for _, id := range ids {
			run, err := tx.load(id)
			if errors.Is(err, errUnreadable) {
				leftOut(ctx, id, err)
				continue
			}
			if err != nil {
				return err
			}
			runs = append(runs, run)
		}
		return nil
	})
	return runs, err
}

func leftOut(ctx context.Context, id refund.OperationID, err error) {
	slog.WarnContext(ctx, "run is left out of the list", "operation", id, "error", err)
}

// Rows reads the durable facts of one run.
func (s *Store) Rows(ctx context.Context, id refund.OperationID) (run Run, rows []Row, err error) {
	err = s.read(ctx, func(tx *transaction) error {
		if run, err = tx.load(id); err != nil {
			return err
		}
		rows, err = collect(tx, func(scan func(...any) error) (r Row, err error) {
			err = scan(&r.Seq, &r.At, &r.Kind, &r.Party, &r.Generation, &r.Ref, &r.Code, &r.Body)
			return r, err
		}, "SELECT seq, at, kind, party, generation, ref, code, body FROM journal WHERE operation_id = ? ORDER BY seq", id)
		return err
	})
	return run, rows, err
}

// load reads one run as this transaction sees it.
func (tx *transaction) load(id refund.OperationID) (Run, error) {
	run := Run{Lease: Lease{OperationID: id}, At: tx.now}
	f := &run.Facts
	var firstSent sql.NullInt64
	var rejected, conflict, lapsed, last sql.NullString
	err := tx.row(`SELECT r.intake, r.model_calls, r.proposal, r.expired, r.asks, r.generation, r.owner, r.lease_until,
			o.state, o.first_sent_at, o.receipt, o.rejected, o.conflict, o.lapsed, o.presumed_absent,
			(SELECT code || ': ' || iif(json_valid(body), coalesce(body ->> '$.answer.detail', body ->> '$.detail', ''), 'unreadable') FROM journal
				WHERE operation_id = r.operation_id AND kind = 'OBSERVATION' ORDER BY seq DESC LIMIT 1),
			EXISTS (SELECT 1 FROM journal WHERE operation_id = r.operation_id AND kind = 'SETTLEMENT' AND code = 'close')
		FROM runs AS r JOIN operations AS o USING (operation_id) WHERE operation_id = ?`, id).Scan(
		column{&f.Intake}, &f.ModelCalls, column{&f.Proposal}, &f.Expired, &run.Asks,
		&run.Lease.Generation, &run.Lease.Owner, &run.Lease.Until,
		&f.State, &firstSent, column{&f.Receipt}, &rejected, &conflict, &lapsed, column{&f.PresumedAbsent}, &last, &f.Closing)
	if errors.Is(err, sql.ErrNoRows) {
		return Run{}, refund.Errorf(refund.CodeNotFound, "the journal has no operation %q", id)
	}
	if err != nil {
		return Run{}, err
	}
	f.FirstSentAt, f.Rejected, f.Conflict = refund.Instant(firstSent.Int64), refund.Code(rejected.String), conflict.String
	f.Lapsed, run.Since = refund.Code(lapsed.String), f.Intake.At
	if !f.State.Final() && !f.Expired {
		f.Last = last.String
	}

	type judged struct {
		decision refund.Decision
		verdict  refund.RecordedVerdict
	}
	decisions, err := collect(tx, func(scan func(...any) error) (j judged, err error) {
		err = scan(column{&j.decision}, &j.verdict.DecisionID, &j.verdict.Hash, &j.verdict.Code, &j.verdict.At)
		return j, err
	}, "SELECT body, decision_id, hash, verdict, at FROM decisions WHERE operation_id = ? ORDER BY rowid", id)
	if err != nil {
		return Run{}, err
	}
	for _, j := range decisions {
		f.Verdicts = append(f.Verdicts, j.verdict)
		if j.verdict.Code == refund.VerdictAccepted {
			f.Decision, run.Since = &j.decision, j.verdict.At
		}
	}
	return run, nil
}

// collect reads all rows of a query and closes it, so that no open statement outlives its use.
func collect[T any](tx *transaction, scan func(func(...any) error) (T, error), query string, args ...any) ([]T, error) {
	rows, err := tx.QueryContext(tx.ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []T
	for rows.Next() {
		one, err := scan(rows.Scan)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

func scanText[T ~string](scan func(...any) error) (text T, err error) {
	err = scan(&text)
	return text, err
}

// column reads a JSON column; NULL leaves the value as it is.
type column struct{ into any }

// errUnreadable marks a value that is in the file and cannot be read, in contrast to a file that cannot be.
var errUnreadable = errors.New("a row cannot be read")

func (c column) Scan(value any) error {
	if value == nil {
		return nil
	}
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("%w: %T where a text of JSON belongs", errUnreadable, value)
	}
	if err := json.Unmarshal([]byte(text), c.into); err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return nil
}

// text writes a JSON column.
func text(v any) (string, error) {
	body, err := json.Marshal(v)
	return string(body), err
}
