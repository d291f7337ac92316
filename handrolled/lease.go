package handrolled

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"refundlab/refund"
)

// Claim takes the run that is due longest. One UPDATE finds it and takes it, so two workers cannot both; a run that is held
// is not due before its lease is over, so a worker that starts up adopts nothing that is alive. The generation grows at
// every claim, and what an earlier claim of anybody, the same worker included, still has in hand is void (I6).
//
// A run that cannot be read keeps the lease that it was given: it is an error for its turn, and no obstacle for the others.
func (s *Store) Claim(ctx context.Context, owner string, length time.Duration) (run Run, found bool, err error) {
	var unreadable error
	err = s.write(ctx, func(tx *transaction) error {
		var id refund.OperationID
		err := tx.row(`UPDATE runs SET generation = generation + 1, owner = ?, lease_until = ?
			WHERE operation_id = (SELECT operation_id FROM runs WHERE wake_at <= ? ORDER BY wake_at LIMIT 1)
			RETURNING operation_id`, owner, tx.now.Add(length), tx.now).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		run, unreadable = tx.load(id)
		found = unreadable == nil
		return nil
	})
	return run, found && err == nil, errors.Join(err, unreadable)
}

// Renew prolongs a lease, but never one that is over: a renewal that was held up cannot take a run back.
func (s *Store) Renew(ctx context.Context, lease Lease, length time.Duration) (Lease, error) {
	err := s.write(ctx, func(tx *transaction) error {
		until := max(lease.Until, tx.now.Add(length))
		if err := tx.asOwner(lease, "lease_until = ?", until); err != nil {
			return err
		}
		lease.Until = until
		return nil
	})
	return lease, err
}

// EndLease gives the run back at once. A fence that the provider answered with raises the generation, so the next claim is
// above it: max(own, returned) + 1.
func (s *Store) EndLease(ctx context.Context, lease Lease, seen refund.Fence) error {
	return s.write(ctx, func(tx *transaction) error {
		return tx.asOwner(lease, "lease_until = ?, generation = max(generation, ?)", tx.now, seen.Term)
	})
}

// NextWake is the time until the next run is due.
func (s *Store) NextWake(ctx context.Context) (time.Duration, bool, error) {
	return s.next(ctx, "SELECT min(wake_at) FROM runs WHERE wake_at IS NOT NULL")
}

func (s *Store) next(ctx context.Context, query string) (wait time.Duration, due bool, err error) {
	err = s.read(ctx, func(tx *transaction) error {
		var at sql.NullInt64
		if err := tx.row(query).Scan(&at); err != nil {
			return err
		}
		wait, due = refund.Instant(at.Int64).Sub(tx.now), at.Valid
		return nil
	})
	return wait, due, err
}
