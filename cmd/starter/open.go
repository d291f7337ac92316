package main

import (
	"context"
	"log/slog"
	"os"

	"refundlab/cmd/internal/engineflags"
	"refundlab/faults/inject"
	"refundlab/handrolled"
	"refundlab/refund"
	"refundlab/workflows"
)

// party is this client's name in durable facts.
const party = "starter"

// open reaches the engine. Only a request makes a journal that is not there yet.
func (s *starter) open(ctx context.Context, creates bool) (client, error) {
	if s.engine.Engine == engineflags.Temporal {
		return s.openTemporal(ctx)
	}
	return s.openJournal(creates)
}

func (s *starter) openTemporal(ctx context.Context) (client, error) {
	// What the SDK has to say is in the errors; its log is for what is not.
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	connection, err := s.engine.Dial(ctx, party, logger, s.announcer)
	if err != nil {
		return nil, err
	}
	return workflows.NewClient(connection, workflows.ClientOptions{TaskQueue: s.engine.TaskQueue, WorkflowTaskTimeout: s.workflowTaskTimeout, Now: s.clock}), nil
}

func (s *starter) openJournal(creates bool) (client, error) {
	if _, err := os.Stat(s.engine.Journal); err != nil && !creates {
		return nil, refund.Wrap(refund.CodeStoreUnreadable, err, "journal %q cannot be read: it comes with its first request or worker", s.engine.Journal)
	}
	store, err := handrolled.Open(s.engine.Journal, handrolled.Options{Clock: handrolled.HostClock(s.clock)})
	if err != nil {
		return nil, err
	}
	return &handrolled.Client{Journal: inject.Journal(store, s.announcer), Refunds: s.world, Name: party}, nil
}
