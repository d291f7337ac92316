package main

import (
	"context"
	"errors"

	"refundlab/cmd/internal/orderfile"
	"refundlab/faults/inject"
	"refundlab/handrolled"
	"refundlab/provider/ledger"
)

// openJournal opens the journal, or creates it, and makes its executor.
func (w *worker) openJournal(ctx context.Context, world ports) (engine, error) {
	var orders []ledger.Order
	if w.localOrders != "" {
		var err error
		if orders, err = orderfile.Read("--local-orders", w.localOrders); err != nil {
			return engine{}, err
		}
	}
	inject.Commits(w.announcer)
	store, err := handrolled.Open(w.engine.Journal, handrolled.Options{Clock: handrolled.HostClock(w.clock)})
	if err != nil {
		return engine{}, err
	}
	if err := store.SeedLocalOrders(ctx, orders); err != nil {
		return engine{}, errors.Join(err, store.Close())
	}
	executor := &handrolled.Executor{
		Journal: inject.Journal(store, w.announcer),
		Refunds: world.refunds, Model: world.model, Notices: world.notices,
		Name: w.name, Lease: w.lease, Log: world.logger, // to which it adds its name
	}
	return engine{
		run: func(ctx context.Context, ready func()) error {
			ready()
			return executor.Run(ctx)
		},
		healthy: func(ctx context.Context) error {
			_, _, err := store.NextWake(ctx)
			return err
		},
		close: store.Close,
	}, nil
}
