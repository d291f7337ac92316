package comparison

import (
	"testing"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

func second(s *scene) {
	s.enter(s.id(), "rf-2", refund.Fence{Term: 2, Seq: 1})
	s.Provider.Received[1].Outcome = "committed"
}

// doubled lets the network double the first message that worker A sent at a boundary.
func doubled(s *scene, boundary faults.Boundary) {
	rule := faults.Rule{Name: "double", Point: faults.Point{Boundary: boundary, When: faults.Before}, Nth: 1, Action: faults.Duplicate}
	s.expect.Schedule = append(s.expect.Schedule, rule)
	s.Trial.Schedule = s.expect.Schedule
	for i, c := range s.Trace {
		if c.Process == "A" && c.Point == rule.Point {
			s.Trace[i].Reply = faults.Duplicate
			s.Trial.Fired = append(s.Trial.Fired, evidence.Fired{Rule: "double", Point: rule.Point, Action: faults.Duplicate, Victim: "A", Seq: c.Seq, DoneSeq: c.Seq + 1, Proof: "answered"})
			return
		}
	}
	panic("A sent nothing there")
}

// copied is a doubled send whose copy became an entry too.
func copied(s *scene) {
	doubled(s, faults.ProviderCall)
	s.enter(s.id(), "rf-2", refund.Fence{Term: 1, Seq: 1})
}

func TestI1AtMostOneEntryPerOperation(t *testing.T) {
	judgeAll(t, []one{
		{name: "a second entry", change: second, verdict: Fail, checks: []string{"I1", "I2", "END"}},
		{name: "a second entry where nobody promised, on an undoubled network", profile: refund.ProfileLookup, change: second, verdict: Fail, checks: []string{"I1", "I2", "END"}},
		{name: "a second entry because the network doubled the send", profile: refund.ProfileLookup, change: copied, verdict: NotApplicable, checks: []string{"SCOPE"}},
		{name: "a second entry by a send of the engine's own, beside a doubled one", profile: refund.ProfileLookup, change: func(s *scene) { doubled(s, faults.ProviderCall); second(s) }, verdict: Fail, checks: []string{"I1", "I2", "END"}},
		{name: "a second entry, and the network doubled the send of another run", profile: refund.ProfileLookup, change: func(s *scene) {
			copied(s)
			for i, c := range s.Trace {
				if c.Reply == faults.Duplicate {
					s.Trace[i].Operation = "another"
				}
			}
			s.Provider.Received = s.Provider.Received[1:]
		}, verdict: Fail, checks: []string{"I1", "I2", "END"}},
		{name: "a doubled send that the provider recognised", change: func(s *scene) { doubled(s, faults.ProviderCall) }, verdict: Pass},
		{name: "a doubled send is no excuse for an idempotent provider", change: copied, verdict: Fail, checks: []string{"I1", "I2", "END"}},
		{name: "a second entry inside retention", profile: refund.ProfileRetention, change: second, verdict: Fail, checks: []string{"I1", "I2", "END"}},
		{name: "a second entry by a copy that arrived beyond retention", profile: refund.ProfileRetention, change: func(s *scene) {
			second(s)
			s.Provider.Received[1].At += 10_000
			agreed(func(t *refund.Terms) { t.Retention = 10_000 })(s)
		}, verdict: NotApplicable, checks: []string{"SCOPE"}},
		{name: "sent again beyond retention, whatever the ledger holds", profile: refund.ProfileRetention, change: agreed(func(t *refund.Terms) { t.Retention = 10 }), verdict: Fail, checks: []string{"I1"}},
		{name: "two entries of an operation that nobody knows", change: func(s *scene) {
			s.enter("0", "rf-8", refund.Fence{}).Amount.Minor = 1
			s.enter("0", "rf-9", refund.Fence{}).Amount.Minor = 1
			s.Provider.Orders[0].Refunded = 4202
		}, verdict: Fail, checks: []string{"I1", "I5"}},
		{name: "a violation stands although the script broke off", change: func(s *scene) { second(s); s.Trial.Broken = "no rest in time" }, verdict: Fail, checks: []string{"I1", "EVIDENCE"}},
	})
}

func TestI2ConfirmedAndTheLedgerSayTheSame(t *testing.T) {
	judgeAll(t, []one{
		{name: "confirmed without an entry", change: func(s *scene) { s.erase() }, verdict: Fail, checks: []string{"I2", "END"}},
		{name: "another amount", change: func(s *scene) {
			s.Provider.Ledger[0].Amount.Minor, s.Provider.Orders[0].Refunded = 4300, 4300
		}, verdict: Fail, checks: []string{"I2"}},
		{name: "another order", change: func(s *scene) {
			s.Provider.Ledger[0].Order, s.Provider.Orders[0].Refunded = "o-2", 0
		}, verdict: Fail, checks: []string{"I2"}},
		{name: "a receipt that the ledger does not have", change: func(s *scene) {
			s.change("r1", func(e *refund.Export) { e.View.Facts.Receipt.RefundID = "rf-7" })
			s.Provider.Notices[0].RefundID = "rf-7"
		}, verdict: Fail, checks: []string{"I2"}},
		{name: "confirmed without a receipt", change: func(s *scene) {
			s.change("r1", func(e *refund.Export) { e.View.Facts.Receipt = nil })
		}, verdict: Fail, checks: []string{"I2", "I4"}},
		{name: "a notice with another receipt", change: func(s *scene) { s.Provider.Notices[0].RefundID = "rf-7" }, verdict: Fail, checks: []string{"I2"}},
		{name: "a client was shown another receipt", change: func(s *scene) {
			view := s.Exports["r1"].View
			receipt := *view.Facts.Receipt
			receipt.RefundID = "rf-7"
			view.Facts.Receipt = &receipt
			s.answer(evidence.Answer{Process: "c1", Run: "r1", Verb: "status"}, view)
		}, verdict: Fail, checks: []string{"I2", "HISTORY"}},
		{name: "a client was shown the same receipt", change: func(s *scene) {
			s.answer(evidence.Answer{Process: "c1", Run: "r1", Verb: "status"}, s.Exports["r1"].View)
		}, verdict: Pass},
		{name: "an entry while the run says that it may be sent", change: func(s *scene) {
			s.change("r1", func(e *refund.Export) {
				e.View.Status, e.View.Facts.State, e.View.Facts.Receipt = refund.StatusRetryable, refund.StateSubmitted, nil
			})
			s.Provider.Notices = nil
			end := s.expect.Runs["r1"]
			end.Status = "RETRYABLE"
			s.expect.Runs["r1"] = end
		}, verdict: Fail, checks: []string{"I2"}},
		{name: "money that is older than its outcome, in one store", profile: refund.ProfileLocal, change: func(*scene) {}, verdict: Fail, checks: []string{"I2"}},
		{name: "money and outcome at once, in one store", profile: refund.ProfileLocal, change: func(s *scene) {
			for _, fact := range s.Exports["r1"].Facts {
				if fact.Kind == refund.FactOutcome {
					s.Provider.Ledger[0].At = fact.At
				}
			}
		}, verdict: Pass},
	})
}

func TestI3RejectedAndExpiredMovedNothing(t *testing.T) {
	entry := func(s *scene) { s.enter(s.id(), "rf-1", refund.Fence{Term: 1, Seq: 1}) }
	moved := func(s *scene, term int64) { // as the cell permits
		s.enter(s.id(), "rf-1", refund.Fence{Term: term, Seq: 1})
		end := s.expect.Runs["r1"]
		end.Entries = 1
		s.expect.Runs["r1"] = end
	}
	expired := func(s *scene) {
		s.rejected("")
		s.change("r1", func(e *refund.Export) {
			e.View.Status, e.View.Facts.State, e.View.Facts.Expired = refund.StatusExpired, refund.StatePrepared, true
			e.View.Facts.Decision, e.View.Facts.Verdicts = nil, nil
		})
		s.Provider.Notices[0].Status = refund.StatusExpired
		s.Answers, s.expect.Answers, s.expect.Verdicts = s.Answers[:1], nil, nil // nobody approved
		end := s.expect.Runs["r1"]
		end.Status = "EXPIRED"
		s.expect.Runs["r1"] = end
	}
	judgeAll(t, []one{
		{name: "rejected, nothing moved", change: func(s *scene) { s.rejected(refund.CodeOrderVersionChanged) }, verdict: Pass},
		{name: "rejected by an answer that the provider did not store", change: func(s *scene) {
			s.rejected(refund.CodeClosed)
			s.receive("close", s.id(), refund.Fence{Term: 9, Seq: 1}, "tombstone")
			s.cross("B", "close-call.before", s.id(), "9.1")
			s.Provider.Operations = nil
		}, verdict: Fail, checks: []string{"I3"}},
		{name: "rejected with an entry", change: func(s *scene) { s.rejected(refund.CodeOrderVersionChanged); entry(s) }, verdict: Fail, checks: []string{"I3", "END"}},
		{name: "rejected by the refusal of a copy that the network made", profile: refund.ProfileLookup, change: func(s *scene) {
			s.rejected(refund.CodeInsufficientBalance)
			doubled(s, faults.ProviderCall)
			moved(s, 1)
		}, verdict: NotApplicable, checks: []string{"SCOPE"}},
		{name: "rejected with an entry of the engine's own second send, beside a doubled one", profile: refund.ProfileLookup, change: func(s *scene) {
			s.rejected(refund.CodeInsufficientBalance)
			doubled(s, faults.ProviderCall)
			moved(s, 2)
		}, verdict: Fail, checks: []string{"I3"}},
		{name: "expired, nothing moved", change: expired, verdict: Pass},
		{name: "expired with an entry", change: func(s *scene) { expired(s); entry(s) }, verdict: Fail, checks: []string{"I3", "I5", "END"}},
	})
}

func TestI7NoMoreThanWasCaptured(t *testing.T) {
	judgeAll(t, []one{
		{name: "more than was captured", change: func(s *scene) { s.Provider.Orders[0].Captured = 4000 }, verdict: Fail, checks: []string{"I7"}},
		{name: "the order does not say what its entries say", change: func(s *scene) { s.Provider.Orders[0].Refunded = 8400 }, verdict: Fail, checks: []string{"I7"}},
		{name: "refunded before the ledger began", change: func(s *scene) {
			s.Provider.Orders[0].Opening, s.Provider.Orders[0].Refunded = 1000, 5200
		}, verdict: Pass},
		{name: "an entry in another currency", change: func(s *scene) { s.Provider.Orders[0].Currency = "USD" }, verdict: Fail, checks: []string{"I7"}},
	})
}

func TestI8EqualParametersAreTwoRefunds(t *testing.T) {
	twice := func(refundID string, own bool) func(*scene) {
		return func(s *scene) {
			id := s.run("r2", "handrolled", refund.ProfileFull)
			s.change("r2", func(e *refund.Export) {
				e.View.Facts.Receipt.RefundID = refundID
				e.View.Facts.Decision.DecisionID, e.View.Facts.Verdicts[0].DecisionID = "d2", "d2"
			})
			s.bill(id, "answer-1")
			s.cross("A", "model-call.before", id, "")
			s.expect.Runs["r2"] = faults.End{Status: "CONFIRMED", Entries: 1}
			if own {
				s.enter(id, refundID, refund.Fence{Term: 1, Seq: 1}).DecisionID = "d2"
			} else {
				end := s.expect.Runs["r2"]
				end.Entries = 0
				s.expect.Runs["r2"] = end
			}
		}
	}
	judgeAll(t, []one{
		{name: "two refunds", change: twice("rf-2", true), verdict: Pass},
		{name: "the second lives on the first one's receipt", change: twice("rf-1", false), verdict: Fail, checks: []string{"I2", "I8"}},
		{name: "the second was taken for the first", change: func(s *scene) {
			twice("rf-1", false)(s)
			s.change("r2", func(e *refund.Export) { e.View.OperationID = s.id() })
		}, verdict: Fail, checks: []string{"I8", "I9", "END"}},
	})
}
