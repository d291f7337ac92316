package main

import (
	"context"
	"os"

	"refundlab/cmd/internal/engineflags"
	"refundlab/faults/inject"
	"refundlab/handrolled"
	"refundlab/refund"
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

func (s *starter) openJournal(creates bool) (client, error) {
	if _, err := os.Stat(s.engine.Journal); err != nil && !creates {
		return nil, refund.Wrap(refund.CodeStoreUnreadable, err, "journal %q cannot be read: it comes with its first request or worker", s.engine.Journal)
	}
	store, err := handrolled.Open(s.engine.Journal, handrolled.Options{})
	if err != nil {
		return nil, err
	}
	return &handrolled.Client{Journal: inject.Journal(store, s.announcer), Refunds: s.world, Name: party}, nil
}
