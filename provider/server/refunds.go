package server

import (
	"database/sql"
	"net/http"

	"refundlab/evidence"
	"refundlab/provider"
	"refundlab/provider/ledger"
	"refundlab/refund"
)

// answer is what goes back to a caller: a result, or an error.
type answer struct {
	ref    provider.Ref
	result ledger.Result
	err    error
}

// order serves reads of orders, strongly under every profile.
func (s *Server) order(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(provider.ProfileHeader, string(s.options.Promise.Name))
	var order refund.Order
	err := s.store.read(r.Context(), func(tx *sql.Tx) (err error) {
		order, err = ledger.ReadOrder(r.Context(), tx, r.PathValue("tenant"), r.PathValue("order"))
		return err
	})
	if err != nil {
		s.writeError(w, "", storeError(s.options.Database, err))
		return
	}
	writeJSON(w, http.StatusOK, order)
}

// submit serves POST /v1/refunds. What it does is bound to the server's life and not to the client's connection: a provider
// finishes what it has received, whether or not somebody still listens.
func (s *Server) submit(w http.ResponseWriter, r *http.Request) {
	submission, decodeErr := decodeSubmission(r)
	arrival := evidence.Received{Verb: "submit", OperationID: submission.OperationID}
	if decodeErr == nil {
		arrival.Digest, arrival.Fence = submission.Digest(), &submission.Fence
	}
	received := s.record.arrive(s.clock(), arrival)
	if decodeErr != nil {
		s.record.decide(received, "error", refund.CodeOf(decodeErr))
		s.writeError(w, submission.OperationID, decodeErr)
		return
	}

	p := s.passage(submission)
	p.arrive()
	if p.refused {
		s.record.decide(received, "refused-by-control", refund.CodeUnavailable)
		if p.lost {
			s.cut(w)
			return
		}
		s.writeError(w, submission.OperationID, refund.Errorf(refund.CodeUnavailable, "refused by the control surface: nothing was processed"))
		return
	}
	if s.faulty.replaces(w, submission.Ref) {
		s.record.decide(received, "refused-by-control", refund.CodeUnavailable)
		return
	}
	a := s.accept(p, submission, received)
	if p.duplicated && !p.aborted {
		// The network delivered the message twice. The first copy's answer is the one that arrives.
		s.accept(p, submission, s.record.arrive(s.clock(), arrival))
	}
	p.leave(a)
	if p.aborted || p.lost {
		s.cut(w)
		return
	}
	if s.faulty.answer(w, a, s.clock()) {
		return
	}
	s.write(w, a)
}

// accept decides one copy of a submission in one immediate transaction.
func (s *Server) accept(p *passage, submission provider.Submission, received *evidence.Received) answer {
	a := answer{ref: submission.Ref}
	a.err = s.store.write(s.life, func(tx *sql.Tx) error {
		now, err := s.now(s.life, tx)
		if err != nil {
			return err
		}
		if a.result, err = ledger.Accept(s.life, tx, s.options.Promise, submission, now); err != nil {
			return err
		}
		return p.beforeCommit(a.result)
	})
	if a.err == nil {
		p.afterCommit(a.result)
	}
	s.decided(received, a, p.aborted)
	return a
}

// lookUp serves POST /v1/refunds/lookup. A look-up that raises no fence writes nothing and waits for no writer.
func (s *Server) lookUp(w http.ResponseWriter, r *http.Request) {
	s.query(w, r, "lookup", func(q provider.Query) (result ledger.Result, err error) {
		transaction := s.store.read
		if s.options.Promise.Fence && q.Fence != nil {
			transaction = s.store.write
		}
		err = transaction(s.life, func(tx *sql.Tx) error {
			now, err := s.now(s.life, tx)
			if err != nil {
				return err
			}
			result, err = ledger.LookUp(s.life, tx, s.options.Promise, q.Ref, q.Fence, now)
			return err
		})
		return result, err
	})
}

// close serves POST /v1/refunds/close.
func (s *Server) close(w http.ResponseWriter, r *http.Request) {
	s.query(w, r, "close", func(q provider.Query) (result ledger.Result, err error) {
		if q.Fence == nil {
			return result, refund.Errorf(refund.CodeInvalidBody, "close has no fence: only an owner closes")
		}
		err = s.store.write(s.life, func(tx *sql.Tx) error {
			now, err := s.now(s.life, tx)
			if err != nil {
				return err
			}
			result, err = ledger.Close(s.life, tx, s.options.Promise, q.Ref, *q.Fence, now)
			return err
		})
		return result, err
	})
}

func (s *Server) query(w http.ResponseWriter, r *http.Request, verb string, run func(provider.Query) (ledger.Result, error)) {
	q, err := decodeQuery(r)
	received := s.record.arrive(s.clock(), evidence.Received{Verb: verb, OperationID: q.OperationID, Fence: q.Fence})
	a := answer{ref: q.Ref, err: err}
	if err == nil {
		a.result, a.err = run(q)
	}
	s.decided(received, a, false)
	s.write(w, a)
}

// decided notes what became of a request, whether or not its answer will arrive.
func (s *Server) decided(received *evidence.Received, a answer, aborted bool) {
	switch {
	case aborted:
		s.record.decide(received, "aborted", "")
	case a.err != nil:
		s.record.decide(received, "error", refund.CodeOf(storeError(s.options.Database, a.err)))
	default:
		s.record.decide(received, string(a.result.Outcome), a.result.Code)
	}
}

// write answers by the table of statuses.
func (s *Server) write(w http.ResponseWriter, a answer) {
	w.Header().Set(provider.ProfileHeader, string(s.options.Promise.Name))
	if a.err != nil {
		s.writeError(w, a.ref.OperationID, storeError(s.options.Database, a.err))
		return
	}
	status, body := s.wire(a)
	writeJSON(w, status, body)
}

func (s *Server) wire(a answer) (int, any) {
	result := a.result
	problem := provider.Problem{Code: result.Code, Message: result.Message, OperationID: a.ref.OperationID, Digest: result.Digest}
	switch result.Outcome {
	case ledger.Committed, ledger.Receipt:
		return http.StatusOK, result.Receipt
	case ledger.Refusal, ledger.Tombstone:
		return http.StatusUnprocessableEntity, problem
	case ledger.Conflict:
		if s.options.Promise.Expires { // providers of this kind answer 400
			return http.StatusBadRequest, problem
		}
		return http.StatusConflict, problem
	case ledger.StaleFence:
		problem.Fence = &result.Fence
		return http.StatusPreconditionFailed, problem
	}
	return http.StatusNotFound, problem
}

// cut ends the connection without an answer.
func (s *Server) cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // net/http's own way to end a connection that cannot be taken over
	}
	_ = conn.Close() // it is to be gone, however it ends
}
