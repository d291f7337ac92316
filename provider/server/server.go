// Package server serves the outside world over HTTP: the refund service under one profile, a simulator of an
// OpenAI-compatible model with its bill, and a receiver of notices that removes duplicates. It can be told to misbehave only
// when it was started with its control surface.
package server

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"refundlab/faults"
	"refundlab/provider"
	"refundlab/provider/ledger"
	"refundlab/refund"
)

// Options say what is served.
type Options struct {
	Database string // the ledger's file
	Promise  ledger.Promise
	Orders   []ledger.Order // seeded where they are missing
	// Control opens the surface by which a harness sets the world up, reads it, and makes it misbehave.
	Control bool
	// Record is a file that keeps, beyond the process, what is not in the ledger; "" keeps nothing. It is used with Control alone.
	Record string
	// Announcer tells a harness where a submit stands; nil tells nobody. It is used with Control alone.
	Announcer *faults.Announcer
	Now       func() time.Time // nil means time.Now
	Log       *slog.Logger     // nil means slog.Default
}

// Server is the outside world. Its state besides the ledger (what was received, the bill, the notices) lives as long as the
// process, or as Options.Record.
type Server struct {
	options Options
	store   *store
	log     *slog.Logger
	life    context.Context // ends with Close
	end     context.CancelFunc
	offset  atomic.Int64 // of the clock, in milliseconds
	book    *book

	record    record
	flights   flights
	simulator simulator
	notices   notices
	faulty    faultyAnswers
}

// New opens the ledger's file and seeds orders. Close the server after its HTTP server.
//
// Errors: STORE_LOCKED, STORE_UNREADABLE, PROFILE_MISMATCH, and those of ledger.PutOrder.
func New(ctx context.Context, o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if !o.Control {
		o.Announcer, o.Record = nil, ""
	}
	store, err := openStore(ctx, o.Database, o.Promise.Name)
	if err != nil {
		return nil, err
	}
	kept, entries, err := openBook(o.Record)
	if err != nil {
		return nil, errors.Join(err, store.close())
	}
	s := &Server{options: o, store: store, log: o.Log, book: kept}
	// Without the control surface nobody can read these, and they would only grow.
	s.record.keep, s.simulator.keep, s.notices.keep = o.Control, o.Control, o.Control
	s.record.book, s.simulator.book, s.notices.book, s.faulty.book = kept, kept, kept, kept
	s.recall(entries)
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	err = store.write(ctx, func(tx *sql.Tx) error {
		for _, order := range o.Orders {
			if err := ledger.PutOrder(ctx, tx, order); err != nil && refund.CodeOf(err) != refund.CodeAlreadyExists {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(storeError(o.Database, err), s.Close())
	}
	return s, nil
}

// Close ends what is still held or waiting, and closes the file.
func (s *Server) Close() error {
	s.end()
	return errors.Join(s.store.close(), s.book.close())
}

// Handler serves everything.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{"profile": s.options.Promise.Name})
	})
	for pattern, handle := range map[string]http.HandlerFunc{
		"POST /v1/refunds":                s.submit,
		"POST /v1/refunds/lookup":         s.lookUp,
		"POST /v1/refunds/close":          s.close,
		"GET /v1/orders/{tenant}/{order}": s.order,
		"POST /model/v1/chat/completions": s.complete,
		"POST /notices":                   s.receiveNotice,
	} {
		mux.HandleFunc(pattern, s.flights.counted(handle))
	}
	if s.options.Control {
		s.addControl(mux)
	}
	return mux
}

// now is the provider's one clock, kept from running backwards by the highest time stored.
func (s *Server) now(ctx context.Context, tx *sql.Tx) (refund.Instant, error) {
	return ledger.Now(ctx, tx, s.clock())
}

// clock is what the wall says, moved by the control surface.
func (s *Server) clock() refund.Instant {
	return refund.At(s.options.Now()) + refund.Instant(s.offset.Load())
}

// readBody reads a body up to limit bytes.
//
// Errors: INVALID_BODY.
func readBody(r *http.Request, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, refund.Wrap(refund.CodeInvalidBody, err, "body was not read to its end")
	}
	if int64(len(body)) > limit {
		return nil, refund.Errorf(refund.CodeInvalidBody, "body is longer than the limit of %d bytes", limit)
	}
	return body, nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// An error here means that the client is gone, and nobody is left to be told.
	_ = json.NewEncoder(w).Encode(v)
}

// writeError answers an error by its code. The operation id stands in it where the request named one.
func (s *Server) writeError(w http.ResponseWriter, id refund.OperationID, err error) {
	var coded *refund.Error
	problem := provider.Problem{Code: refund.CodeInternal, Message: "the provider failed: see its log", OperationID: id}
	if errors.As(err, &coded) {
		problem.Code, problem.Message = coded.Code, coded.Message
		if coded.Err != nil {
			problem.Message += ": " + coded.Err.Error()
		}
	}
	status := http.StatusInternalServerError
	switch refund.ExitStatus(problem.Code) {
	case refund.ExitInvalidInput:
		status = http.StatusBadRequest
	case refund.ExitConflict:
		status = http.StatusConflict
	case refund.ExitNotFound:
		status = http.StatusNotFound
	case refund.ExitUnavailable:
		status = http.StatusServiceUnavailable
	}
	switch problem.Code {
	case refund.CodeOrderNotFound:
		status = http.StatusNotFound
	case refund.CodeProfileMismatch:
		status = http.StatusNotImplemented
	}
	if status >= http.StatusInternalServerError {
		s.log.Error("request failed", "operation", id, "status", status, "error", err)
	}
	writeJSON(w, status, problem)
}
