package main

import (
	"context"

	"go.temporal.io/sdk/client"

	"refundlab/activities"
	"refundlab/refund"
	"refundlab/workflows"
)

// openTemporal connects to the Temporal server and makes its worker.
func (w *worker) openTemporal(ctx context.Context, world ports) (engine, error) {
	connection, err := w.engine.Dial(ctx, w.name, world.logger.With("worker", w.name), w.announcer)
	if err != nil {
		return engine{}, err
	}
	effects := &activities.Activities{
		Refunds: world.refunds, Model: world.model, Notices: world.notices,
		Now: func() refund.Instant { return refund.At(w.clock()) }, Awaited: activities.AskServer(connection),
	}
	fatal := make(chan error, 1)
	poller := workflows.NewWorker(connection, effects, workflows.WorkerOptions{
		TaskQueue: w.engine.TaskQueue, Identity: w.name,
		StickyTimeout: w.stickyTimeout, StickyCache: w.stickyCache,
		DisableEagerActivities: w.announcer != nil,
		OnFatalError:           func(err error) { fatal <- err },
	})
	return engine{
		run: func(ctx context.Context, ready func()) error {
			if err := poller.Start(); err != nil {
				return refund.Wrap(refund.CodeUnavailable, err, "the Temporal server gives no work")
			}
			ready()
			select {
			case <-ctx.Done():
				poller.Stop()
				return nil
			case err := <-fatal: // the SDK has stopped it already
				return refund.Wrap(refund.CodeUnavailable, err, "the Temporal server gives no more work")
			}
		},
		healthy: func(ctx context.Context) error {
			_, err := connection.CheckHealth(ctx, &client.CheckHealthRequest{})
			return err
		},
		close: func() error {
			connection.Close()
			return nil
		},
	}, nil
}
