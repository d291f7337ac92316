package server

import (
	"context"
	"database/sql"
	"net/http"
	"time"

	"refundlab/provider"
	"refundlab/provider/ledger"
	"refundlab/refund"
)

// addControl opens the surface by which a harness sets the world up and reads it. Nothing of it exists without
// Options.Control: whoever can reach it can invent orders and move the clock.
func (s *Server) addControl(mux *http.ServeMux) {
	mux.HandleFunc("POST /control/orders", control(s, func(ctx context.Context, order ledger.Order) (any, error) {
		return order, s.store.write(ctx, func(tx *sql.Tx) error { return ledger.PutOrder(ctx, tx, order) })
	}))
	mux.HandleFunc("POST /control/orders/version", control(s, s.raiseVersion))
	mux.HandleFunc("POST /control/clock", control(s, func(_ context.Context, c struct {
		OffsetMS int64 `json:"offset_ms"`
	}) (any, error) {
		s.offset.Store(c.OffsetMS)
		s.book.note(bookEntry{OffsetMS: &c.OffsetMS})
		return map[string]refund.Instant{"now": s.clock()}, nil
	}))
	mux.HandleFunc("POST /control/replica", control(s, func(ctx context.Context, c struct {
		CatchUp bool `json:"catch_up"`
	}) (any, error) {
		if !c.CatchUp {
			return nil, refund.Errorf(refund.CodeInvalidBody, "catch_up is not true: there is nothing else that a replica can be told")
		}
		return c, s.store.write(ctx, func(tx *sql.Tx) error { return ledger.CatchUp(ctx, tx) })
	}))
	mux.HandleFunc("POST /control/model", control(s, func(_ context.Context, c struct {
		Answers []ModelAnswer `json:"answers"`
	}) (any, error) {
		return c, s.simulator.queue(c.Answers)
	}))
	mux.HandleFunc("POST /control/answer", control(s, func(_ context.Context, c struct {
		Kind         string `json:"kind"`
		Count        int    `json:"count"`
		RetryAfterMS int64  `json:"retry_after_ms"`
	}) (any, error) {
		return c, s.faulty.add(c.Kind, c.Count, c.RetryAfterMS)
	}))
	mux.HandleFunc("POST /control/quiesce", control(s, s.quiesce))
	mux.HandleFunc("GET /control/evidence", func(w http.ResponseWriter, r *http.Request) {
		world, err := s.Evidence(r.Context())
		if err != nil {
			s.writeError(w, "", err)
			return
		}
		writeJSON(w, http.StatusOK, world)
	})
}

// control serves one command: a strict JSON object in, a JSON object out.
func control[T any](s *Server, run func(context.Context, T) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var command T
		body, err := readBody(r, provider.MaxBody)
		if err == nil {
			err = refund.DecodeStrict(body, &command)
		}
		var result any
		if err == nil {
			result, err = run(r.Context(), command)
		}
		if err != nil {
			s.writeError(w, "", storeError(s.options.Database, err))
			return
		}
		writeJSON(w, http.StatusOK, result)
	}
}

type versionCommand struct {
	Tenant  string `json:"tenant"`
	ID      string `json:"id"`
	Version int64  `json:"version"` // 0: the next one
}

func (s *Server) raiseVersion(ctx context.Context, c versionCommand) (any, error) {
	var order refund.Order
	err := s.store.write(ctx, func(tx *sql.Tx) (err error) {
		if order, err = ledger.ReadOrder(ctx, tx, c.Tenant, c.ID); err != nil {
			return err
		}
		if c.Version == 0 {
			c.Version = order.Version + 1
		}
		order.Version = c.Version
		return ledger.SetVersion(ctx, tx, c.Tenant, c.ID, c.Version)
	})
	return order, err
}

type quiesceCommand struct {
	DeadlineMS int64 `json:"deadline_ms"`
}

// quiesce waits until no request is in flight. It cannot see one that is still on its way here.
func (s *Server) quiesce(ctx context.Context, c quiesceCommand) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.DeadlineMS)*time.Millisecond)
	defer cancel()
	if n := s.flights.rest(ctx); n > 0 {
		return nil, refund.Errorf(refund.CodeTimeout, "%d requests are still in flight after %d ms", n, c.DeadlineMS)
	}
	return map[string]int{"received": len(s.record.list())}, nil
}
