package handrolled

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"refundlab/refund"
)

// announce puts the run's notice into the outbox, in the transaction of what it tells.
func (tx *transaction) announce(n refund.Notice) error {
	n.Revision, n.At = refund.NoticeRevision, tx.now
	body, err := text(n)
	if err != nil {
		return err
	}
	return tx.must("INSERT INTO outbox (operation_id, revision, body, next_at) VALUES (?, ?, ?, ?)", n.OperationID, n.Revision, body, tx.now)
}

// TakeNotice puts the next delivery off before this one is tried: a worker that dies in between, before or after the
// receiver had it, leaves the notice due, so it is delivered at least once and never lost.
//
// A notice that cannot be read is put off too: it is an error for its turn, and no obstacle for the others (I11).
func (s *Store) TakeNotice(ctx context.Context) (pending Pending, found bool, err error) {
	var unreadable error
	err = s.write(ctx, func(tx *transaction) error {
		var id refund.OperationID
		var revision int64
		var attempts int
		var notice, intake string
		err := tx.row(`SELECT d.operation_id, d.revision, d.attempts, d.body, r.intake FROM deliverable AS d JOIN runs AS r USING (operation_id)
			WHERE d.next_at <= ? ORDER BY d.next_at LIMIT 1`, tx.now).Scan(&id, &revision, &attempts, &notice, &intake)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		var in refund.Intake
		unreadable = wrap(errors.Join(column{&pending.Notice}.Scan(notice), column{&in}.Scan(intake)), "notice %d of operation %q", revision, id)
		pause := refund.MaxPause // where the run's own terms are not known
		if found = unreadable == nil; found {
			pending.Timeout = time.Duration(in.Terms.CallTimeout) * time.Millisecond
			pause = pending.Timeout + in.Terms.Pause(attempts+1)
		}
		return tx.must("UPDATE outbox SET attempts = attempts + 1, next_at = ? WHERE operation_id = ? AND revision = ?", tx.now.Add(pause), id, revision)
	})
	return pending, found && err == nil, errors.Join(err, unreadable)
}

// MarkDelivered records the delivery once, also when two relays delivered the same notice.
func (s *Store) MarkDelivered(ctx context.Context, n refund.Notice, party string) error {
	return s.write(ctx, func(tx *transaction) error {
		marked, err := tx.exec("UPDATE outbox SET next_at = NULL WHERE operation_id = ? AND revision = ? AND next_at IS NOT NULL", n.OperationID, n.Revision)
		if err != nil || marked == 0 {
			return err
		}
		return tx.record(n.OperationID, refund.FactNotice, party, 0, refund.Decimal(n.Revision), string(n.Status), n)
	})
}

// NextNotice is the time until the next notice is due.
func (s *Store) NextNotice(ctx context.Context) (time.Duration, bool, error) {
	return s.next(ctx, "SELECT min(next_at) FROM deliverable")
}
