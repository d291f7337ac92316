package comparison

import (
	"testing"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// one is a case: what is changed in a sound trial, and what the judge must say. Verdict Pass is the green side of a check.
type one struct {
	name    string
	profile refund.ProfileName // full where it is empty
	engine  string             // handrolled where it is empty
	change  func(*scene)
	verdict Verdict
	checks  []string
}

func judgeAll(t *testing.T, cases []one) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			if tt.profile == "" {
				tt.profile = refund.ProfileFull
			}
			if tt.engine == "" {
				tt.engine = "handrolled"
			}
			s := newScene(tt.engine, tt.profile)
			tt.change(s)
			requireChecks(t, s.judge(), tt.verdict, tt.checks...)
		})
	}
}

func second(s *scene) {
	s.enter(s.id(), "rf-2", refund.Fence{Term: 2, Seq: 1})
	s.Provider.Received[1].Outcome = "committed"
}

func doubled(s *scene) {
	rule := faults.Rule{Name: "double", Point: point("provider-call.before"), Nth: 1, Action: faults.Duplicate}
	s.expect.Schedule = append(s.expect.Schedule, rule)
	s.Trial.Schedule = s.expect.Schedule
	s.Trial.Fired = append(s.Trial.Fired, evidence.Fired{Rule: "double", Point: rule.Point, Action: faults.Duplicate, Victim: "A", Seq: 95, DoneSeq: 96, Proof: "answered"})
}

func TestI1AtMostOneEntryPerOperation(t *testing.T) {
	judgeAll(t, []one{
		{name: "a second entry", change: second, verdict: Fail, checks: []string{"I1", "I2", "END"}},
		{name: "a second entry where nobody promised, on an undoubled network", profile: refund.ProfileLookup, change: second, verdict: Fail, checks: []string{"I1", "I2", "END"}},
		{name: "a second entry because the network doubled the send", profile: refund.ProfileLookup, change: func(s *scene) { doubled(s); second(s) }, verdict: NotApplicable, checks: []string{"SCOPE"}},
		{name: "a doubled send that the provider recognised", change: doubled, verdict: Pass},
		{name: "a doubled send is no excuse for an idempotent provider", change: func(s *scene) { doubled(s); second(s) }, verdict: Fail, checks: []string{"I1", "I2", "END"}},
		{name: "a second entry inside retention", profile: refund.ProfileRetention, change: second, verdict: Fail, checks: []string{"I1", "I2", "END"}},
		{name: "a second entry beyond retention", profile: refund.ProfileRetention, change: func(s *scene) {
			second(s)
			s.change("r1", func(e *refund.Export) { e.View.Facts.Intake.Terms.Retention = 10 })
		}, verdict: NotApplicable, checks: []string{"SCOPE"}},
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
		{name: "a notice with another receipt", change: func(s *scene) { s.Provider.Notices[0].RefundID = "rf-7" }, verdict: Fail, checks: []string{"I2"}},
		{name: "a client was shown another receipt", change: func(s *scene) {
			view := s.Exports["r1"].View
			receipt := *view.Facts.Receipt
			receipt.RefundID = "rf-7"
			view.Facts.Receipt = &receipt
			s.answer(evidence.Answer{Process: "c1", Run: "r1", Verb: "status"}, view)
		}, verdict: Fail, checks: []string{"I2"}},
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
	})
}

func TestI3RejectedAndExpiredMovedNothing(t *testing.T) {
	entry := func(s *scene) { s.enter(s.id(), "rf-1", refund.Fence{Term: 1, Seq: 1}) }
	expired := func(s *scene) {
		s.rejected("")
		s.change("r1", func(e *refund.Export) {
			e.View.Status, e.View.Facts.State, e.View.Facts.Expired = refund.StatusExpired, refund.StatePrepared, true
		})
		s.Provider.Notices[0].Status = refund.StatusExpired
		end := s.expect.Runs["r1"]
		end.Status = "EXPIRED"
		s.expect.Runs["r1"] = end
	}
	judgeAll(t, []one{
		{name: "rejected, nothing moved", change: func(s *scene) { s.rejected(refund.CodeOrderVersionChanged) }, verdict: Pass},
		{name: "rejected with an entry", change: func(s *scene) { s.rejected(refund.CodeOrderVersionChanged); entry(s) }, verdict: Fail, checks: []string{"I3", "END"}},
		{name: "expired, nothing moved", change: expired, verdict: Pass},
		{name: "expired with an entry", change: func(s *scene) { expired(s); entry(s) }, verdict: Fail, checks: []string{"I3", "END"}},
	})
}

func TestI4UnknownOnlyWhereNobodyCanKnow(t *testing.T) {
	lapsed := func(s *scene) {
		s.unknown()
		s.change("r1", func(e *refund.Export) { e.View.Facts.Intake.Terms.CommitWithin = 3000 })
	}
	judgeAll(t, []one{
		{name: "unknown where nothing can be asked", profile: refund.ProfileOpaque, change: func(s *scene) { s.unknown() }, verdict: Pass},
		{name: "unknown that the matrix does not permit", profile: refund.ProfileOpaque, change: func(s *scene) {
			s.unknown()
			end := s.expect.Runs["r1"]
			end.UnknownBecause = ""
			s.expect.Runs["r1"] = end
		}, verdict: Fail, checks: []string{"I4"}},
		{name: "unknown under full", change: func(s *scene) { s.unknown() }, verdict: Fail, checks: []string{"I4"}},
		{name: "a conflict is permitted everywhere", change: func(s *scene) {
			s.unknown()
			s.change("r1", func(e *refund.Export) { e.View.Facts.Conflict = "digest" })
		}, verdict: Pass},
		{name: "unknown under lenient while it may be sent", profile: refund.ProfileLenient, change: func(s *scene) { s.unknown() }, verdict: Fail, checks: []string{"I4"}},
		{name: "unknown under lenient after the time to commit", profile: refund.ProfileLenient, change: lapsed, verdict: Pass},
		{name: "unknown under retention while it may be sent", profile: refund.ProfileRetention, change: func(s *scene) { s.unknown() }, verdict: Fail, checks: []string{"I4"}},
		{name: "unknown under retention after retention", profile: refund.ProfileRetention, change: func(s *scene) {
			s.unknown()
			s.change("r1", func(e *refund.Export) { e.View.Facts.Intake.Terms.Retention = 3000 })
		}, verdict: Pass},
		{name: "unknown although a strong look-up would find the entry", profile: refund.ProfileLookup, change: func(s *scene) {
			s.unknown()
			s.enter(s.id(), "rf-1", refund.Fence{Term: 1, Seq: 1})
			end := s.expect.Runs["r1"]
			end.Entries = 1
			s.expect.Runs["r1"] = end
		}, verdict: Fail, checks: []string{"I4"}},
		{name: "unknown although a refusal is stored", profile: refund.ProfileLenient, change: func(s *scene) {
			lapsed(s)
			s.Provider.Operations = []evidence.Operation{{OperationID: s.id(), Result: "refusal", Code: refund.CodeInsufficientBalance}}
		}, verdict: Fail, checks: []string{"I4"}},
		{name: "a notice told an unknown outcome as done", profile: refund.ProfileOpaque, change: func(s *scene) {
			s.unknown()
			s.notice(s.id(), refund.StatusConfirmed, "")
		}, verdict: Fail, checks: []string{"I4"}},
		{name: "told as rejected, then confirmed", change: func(s *scene) {
			view := s.Exports["r1"].View
			view.Status, view.Facts.Receipt = refund.StatusRejected, nil
			s.answer(evidence.Answer{Process: "c1", Run: "r1", Verb: "status"}, view)
		}, verdict: Fail, checks: []string{"I4"}},
		{name: "sent before the intent was recorded", change: func(s *scene) {
			s.Trace = filter(s.Trace, func(c evidence.Crossing) bool { return c.Process != "B" || c.Point != point("intent.after") })
		}, verdict: Fail, checks: []string{"I4"}},
		{name: "sent although the intent was refused", change: func(s *scene) {
			for i, c := range s.Trace {
				if c.Process == "B" && c.Point == point("intent.after") {
					s.Trace[i].Detail = map[string]string{faults.DetailRefused: "LEASE_LOST"}
				}
			}
		}, verdict: Fail, checks: []string{"I4"}},
		{name: "on Temporal the activity may start before the answer to its scheduling is back", engine: "temporal", change: func(s *scene) {
			s.Trace = filter(s.Trace, func(c evidence.Crossing) bool { return c.Process != "B" || c.Point != point("intent.after") })
		}, verdict: Pass},
		{name: "a status that does not follow from its facts", change: func(s *scene) {
			s.change("r1", func(e *refund.Export) { e.View.Facts.State = refund.StateSubmitted })
		}, verdict: Fail, checks: []string{"I4"}},
	})
}

func TestI5EveryEntryWasAuthorised(t *testing.T) {
	facts := func(edit func(*refund.Facts)) func(*scene) {
		return func(s *scene) { s.change("r1", func(e *refund.Export) { edit(&e.View.Facts) }) }
	}
	judgeAll(t, []one{
		{name: "approved by the requester", change: facts(func(f *refund.Facts) { f.Decision.Approver = "alice" }), verdict: Fail, checks: []string{"I5"}},
		{name: "a rejection", change: facts(func(f *refund.Facts) { f.Decision.Choice = refund.ChoiceReject }), verdict: Fail, checks: []string{"I5"}},
		{name: "no accepted verdict", change: func(s *scene) {
			facts(func(f *refund.Facts) { f.Verdicts[0].Code = refund.VerdictExpired })(s)
			s.expect.Verdicts, s.Answers = nil, nil
			s.expect.Answers = nil
		}, verdict: Fail, checks: []string{"I5"}},
		{name: "an entry under another decision", change: func(s *scene) { s.Provider.Ledger[0].DecisionID = "d9" }, verdict: Fail, checks: []string{"I5"}},
		{name: "approved for another digest", change: facts(func(f *refund.Facts) { f.Decision.Digest = "0123456789" }), verdict: Fail, checks: []string{"I5"}},
		{name: "approved for an order version that was not shown", change: facts(func(f *refund.Facts) { f.Decision.OrderVersion = 2 }), verdict: Fail, checks: []string{"I5"}},
		{name: "committed at a newer order version", change: func(s *scene) { s.Provider.Ledger[0].OrderVersion = 4 }, verdict: Fail, checks: []string{"I5"}},
		{name: "a newer order version at the commit of a provider that does not compare", profile: refund.ProfileLenient,
			change: func(s *scene) { s.Provider.Ledger[0].OrderVersion = 4 }, verdict: Pass},
		{name: "accepted after the deadline", change: facts(func(f *refund.Facts) { f.Intake.Terms.DecideWithin = 20 }), verdict: Fail, checks: []string{"I5"}},
		{name: "accepted a moment after the deadline, before Temporal's timer", engine: "temporal",
			change: facts(func(f *refund.Facts) { f.Intake.Terms.DecideWithin = 20 }), verdict: Pass},
		{name: "committed after the time to commit", change: facts(func(f *refund.Facts) { f.Intake.Terms.CommitWithin = 60 }), verdict: Fail, checks: []string{"I5"}},
		{name: "sent in time where the provider keeps no deadline", profile: refund.ProfileLenient,
			change: facts(func(f *refund.Facts) { f.Intake.Terms.CommitWithin = 60 }), verdict: Pass},
		{name: "sent too late where the provider keeps no deadline", profile: refund.ProfileLenient, change: func(s *scene) {
			facts(func(f *refund.Facts) { f.Intake.Terms.CommitWithin = 60 })(s)
			for i := range s.Trace {
				s.Trace[i].At += 1000
			}
		}, verdict: Fail, checks: []string{"I5"}},
		{name: "an entry of no known run", change: func(s *scene) {
			s.enter("00000000-0000-5000-8000-000000000000", "rf-5", refund.Fence{})
		}, verdict: Fail, checks: []string{"I5"}},
	})
}

func TestI6NoWriteOfAnOldOwner(t *testing.T) {
	judgeAll(t, []one{
		{name: "a fact of an old owner", change: func(s *scene) {
			s.fact("r1", refund.FactObservation, "", "AMBIGUOUS", refund.Fence{Term: 1, Seq: 1})
		}, verdict: Fail, checks: []string{"I6"}},
		{name: "facts without a fence are a client's", change: func(s *scene) {
			s.fact("r1", refund.FactSettlement, "s1", "", refund.Fence{})
		}, verdict: Pass},
		{name: "a write that began after the other's claim went through", change: func(s *scene) {
			s.cross("A", "outcome.before", s.id(), "1.1")
			s.cross("A", "outcome.after", s.id(), "1.1")
		}, verdict: Fail, checks: []string{"I6"}},
		{name: "the same write was refused", change: func(s *scene) {
			s.cross("A", "outcome.before", s.id(), "1.1")
			s.cross("A", "outcome.after", s.id(), "1.1").Detail = map[string]string{faults.DetailRefused: "LEASE_LOST: generation"}
		}, verdict: Pass},
		{name: "a write begun after the owner's lease was over", change: func(s *scene) {
			s.cross("B", "notified.before", s.id(), "2.1").At += 1600
			s.cross("B", "notified.after", s.id(), "2.1").At += 1600
		}, verdict: Fail, checks: []string{"I6"}},
		{name: "the lease had been renewed", change: func(s *scene) {
			s.cross("B", "renewal.after", s.id(), "2.1").At += 1000
			s.cross("B", "notified.before", s.id(), "2.1").At += 1600
			s.cross("B", "notified.after", s.id(), "2.1").At += 1600
		}, verdict: Pass},
		{name: "a write held before it began until the lease was over", change: func(s *scene) {
			before := s.cross("B", "notified.before", s.id(), "2.1")
			before.DoneSeq = before.Seq + 15
			s.cross("A", "renewal.before", s.id(), "1.1").At += 1600
			s.cross("B", "notified.after", s.id(), "2.1").At += 1600
		}, verdict: Fail, checks: []string{"I6"}},
		{name: "the same write was refused by the lease", change: func(s *scene) {
			s.cross("B", "notified.before", s.id(), "2.1").At += 1600
			after := s.cross("B", "notified.after", s.id(), "2.1")
			after.At, after.Detail = after.At+1600, map[string]string{faults.DetailRefused: "LEASE_LOST: over"}
		}, verdict: Pass},
		{name: "the provider answered a lower fence", change: func(s *scene) {
			s.receive("close", s.id(), refund.Fence{Term: 1, Seq: 1}, "receipt")
			s.cross("A", "close-call.before", s.id(), "1.1")
		}, verdict: Fail, checks: []string{"I6"}},
		{name: "the provider refused a lower fence", change: func(s *scene) {
			s.receive("close", s.id(), refund.Fence{Term: 1, Seq: 1}, "stale-fence")
			s.cross("A", "close-call.before", s.id(), "1.1")
		}, verdict: Pass},
		{name: "a lower fence where the provider keeps none", profile: refund.ProfileLenient, change: func(s *scene) {
			s.receive("lookup", s.id(), refund.Fence{Term: 1, Seq: 1}, "receipt")
		}, verdict: Pass},
		{name: "a commit under a lower fence after one under a higher", change: func(s *scene) {
			s.cross("provider", "provider-commit.after", s.id(), "2.1").Detail = map[string]string{"outcome": "receipt"}
			s.cross("provider", "provider-commit.after", s.id(), "1.1").Detail = map[string]string{"outcome": "committed"}
		}, verdict: Fail, checks: []string{"I6"}},
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

func TestI9TheSameKeyWithOtherParametersIsAConflict(t *testing.T) {
	request := func(amount string, exit int, output any) func(*scene) {
		return func(s *scene) {
			s.answer(evidence.Answer{Process: "c1", Run: "r1", Verb: "request", Exit: exit,
				Args: []string{"--tenant", "acme", "--request-id", "r1", "--order", "o-1", "--amount", amount, "--currency=EUR", "--reason", "broken"}}, output)
		}
	}
	said := func(s *scene) reply {
		return reply{OperationID: s.id(), RequestID: "r1", Digest: s.Exports["r1"].View.Facts.Intake.Digest, Existing: true}
	}
	judgeAll(t, []one{
		{name: "the same request again", change: func(s *scene) { request("42.00", 0, said(s))(s) }, verdict: Pass},
		{name: "another amount was given the old operation", change: func(s *scene) { request("43.00", 0, said(s))(s) }, verdict: Fail, checks: []string{"I9"}},
		{name: "another amount was refused", change: func(s *scene) {
			request("43.00", 3, map[string]any{"error": map[string]string{"code": "KEY_CONFLICT"}})(s)
		}, verdict: Pass},
		{name: "a receipt of another digest was recorded", profile: refund.ProfileLenient, change: func(s *scene) {
			s.change("r1", func(e *refund.Export) { e.View.Facts.Receipt.Digest = "0123456789" })
		}, verdict: Fail, checks: []string{"I9"}},
		{name: "the provider answered another digest", change: func(s *scene) { s.Provider.Received[1].Digest = "0123456789" }, verdict: Fail, checks: []string{"I9"}},
		{name: "the provider named the conflict", change: func(s *scene) {
			s.Provider.Received[1].Digest, s.Provider.Received[1].Outcome = "0123456789", "conflict"
		}, verdict: Pass},
		{name: "lenient gives the old answer, as it says", profile: refund.ProfileLenient,
			change: func(s *scene) { s.Provider.Received[1].Digest = "0123456789" }, verdict: Pass},
	})
}

func TestI10EachAcknowledgedDecisionHasOneVerdict(t *testing.T) {
	judgeAll(t, []one{
		{name: "another verdict than the reply", change: func(s *scene) {
			s.change("r1", func(e *refund.Export) {
				e.View.Facts.Verdicts = append(e.View.Facts.Verdicts, refund.RecordedVerdict{DecisionID: "d2", Code: refund.VerdictAlreadyDecided, At: start + 35})
			})
			s.answer(evidence.Answer{Process: "carol", Run: "r1", Verb: "reject", Exit: 5}, reply{DecisionID: "d2", Verdict: refund.VerdictExpired, At: start + 35})
		}, verdict: Fail, checks: []string{"I10"}},
		{name: "a verdict of another time", change: func(s *scene) {
			s.answer(evidence.Answer{Process: "bob-again", Run: "r1", Verb: "approve"}, reply{DecisionID: "d1", Verdict: refund.VerdictAccepted, At: start + 99})
		}, verdict: Fail, checks: []string{"I10"}},
		{name: "the same decision got the same verdict again", change: func(s *scene) {
			s.answer(evidence.Answer{Process: "bob-again", Run: "r1", Verb: "approve"}, reply{DecisionID: "d1", Verdict: refund.VerdictAccepted, At: start + 30})
		}, verdict: Pass},
		{name: "received, and never judged", change: func(s *scene) {
			s.answer(evidence.Answer{Process: "carol", Run: "r1", Verb: "reject", Exit: 6, Args: []string{"--decision-id", "d2"}},
				map[string]any{"error": map[string]string{"code": "VERDICT_PENDING"}})
		}, verdict: Fail, checks: []string{"I10"}},
		{name: "killed before it was acknowledged", change: func(s *scene) {
			s.answer(evidence.Answer{Process: "carol", Run: "r1", Verb: "reject", Exit: -9, Args: []string{"--decision-id", "d2"}}, nil)
		}, verdict: Pass},
		{name: "two verdicts for one decision", change: func(s *scene) {
			s.change("r1", func(e *refund.Export) {
				e.View.Facts.Verdicts = append(e.View.Facts.Verdicts, refund.RecordedVerdict{DecisionID: "d1", Code: refund.VerdictAccepted, At: start + 31})
			})
		}, verdict: Fail, checks: []string{"I5", "I10"}},
		{name: "success for a verdict that is no acceptance", change: func(s *scene) {
			s.change("r1", func(e *refund.Export) {
				e.View.Facts.Verdicts = append(e.View.Facts.Verdicts, refund.RecordedVerdict{DecisionID: "d2", Code: refund.VerdictExpired, At: start + 35})
			})
			s.answer(evidence.Answer{Process: "carol", Run: "r1", Verb: "approve"}, reply{DecisionID: "d2", Verdict: refund.VerdictExpired})
		}, verdict: Fail, checks: []string{"I10"}},
	})
}

func TestI11RunsEndInTime(t *testing.T) {
	stuck := func(s *scene) {
		s.change("r1", func(e *refund.Export) {
			e.View.Status, e.View.Facts.State, e.View.Facts.Receipt = refund.StatusRetryable, refund.StateSubmitted, nil
		})
		s.erase()
		s.Provider.Notices = nil
	}
	unfinished := func(s *scene) { s.Trial.Broken, s.Trial.RestSeq = "not at rest in time", 0 }
	untold := func(s *scene) { s.Provider.Notices = nil }
	judgeAll(t, []one{
		{name: "the end came too late", change: func(s *scene) { s.Trial.Budget.BoundMS = 20 }, verdict: Fail, checks: []string{"I11"}},
		{name: "the end never came", change: stuck, verdict: Fail, checks: []string{"I11", "END"}},
		{name: "the script broke off before the bound was over", change: func(s *scene) { stuck(s); unfinished(s) }, verdict: Invalid, checks: []string{"EVIDENCE"}},
		{name: "the script broke off after the bound was over", change: func(s *scene) {
			stuck(s)
			unfinished(s)
			s.Trial.EndedAt += 20_000
		}, verdict: Fail, checks: []string{"I11", "EVIDENCE"}},
		{name: "nobody was told of the end", change: untold, verdict: Fail, checks: []string{"I11"}},
		{name: "nobody was told yet when the script broke off", change: func(s *scene) { untold(s); unfinished(s) }, verdict: Invalid, checks: []string{"EVIDENCE"}},
		{name: "nobody was told within the bound", change: func(s *scene) {
			untold(s)
			unfinished(s)
			s.Trial.EndedAt += 20_000
		}, verdict: Fail, checks: []string{"I11", "EVIDENCE"}},
	})
}

func TestI12TheRecordedProposalIsReused(t *testing.T) {
	again := func(s *scene) { s.bill(s.id(), "answer-2"); s.cross("B", "model-call.before", s.id(), "") }
	judgeAll(t, []one{
		{name: "a second call within the budget", change: again, verdict: Pass},
		{name: "more calls than the budget", change: func(s *scene) { again(s); again(s); again(s) }, verdict: Fail, checks: []string{"I12"}},
		{name: "a second proposal was recorded", change: func(s *scene) {
			again(s)
			s.fact("r1", refund.FactProposal, "answer-2", "", refund.Fence{Term: 2, Seq: 1})
		}, verdict: Fail, checks: []string{"I12"}},
		{name: "a proposal that the model never gave", change: func(s *scene) {
			s.change("r1", func(e *refund.Export) { e.View.Facts.Proposal.AnswerID = "answer-9" })
		}, verdict: Fail, checks: []string{"I12"}},
		{name: "a person was shown another proposal", change: func(s *scene) {
			view := s.Exports["r1"].View
			proposal := *view.Facts.Proposal
			proposal.AnswerID = "answer-0"
			view.Facts.Proposal = &proposal
			s.answer(evidence.Answer{Process: "c1", Run: "r1", Verb: "status"}, view)
		}, verdict: Fail, checks: []string{"I12"}},
	})
}

func TestThePermittedEnd(t *testing.T) {
	end := func(edit func(*faults.End)) func(*scene) {
		return func(s *scene) {
			e := s.expect.Runs["r1"]
			edit(&e)
			s.expect.Runs["r1"] = e
		}
	}
	judgeAll(t, []one{
		{name: "another status", change: end(func(e *faults.End) { e.Status = "EXPIRED" }), verdict: Fail, checks: []string{"END"}},
		{name: "another reason", change: func(s *scene) {
			s.rejected(refund.CodeClosed)
			end(func(e *faults.End) { e.Reason = "INSUFFICIENT_BALANCE" })(s)
		}, verdict: Fail, checks: []string{"END"}},
		{name: "fewer submits than permitted", change: end(func(e *faults.End) { e.LeastSubmits, e.MostSubmits = 3, 4 }), verdict: Fail, checks: []string{"END"}},
		{name: "more submits than permitted", change: end(func(e *faults.End) { e.LeastSubmits, e.MostSubmits = 1, 1 }), verdict: Fail, checks: []string{"END"}},
		{name: "more model calls than permitted", change: func(s *scene) {
			s.bill(s.id(), "answer-2")
			s.cross("B", "model-call.before", s.id(), "")
			end(func(e *faults.End) { e.MostModelCalls = 1 })(s)
		}, verdict: Fail, checks: []string{"END"}},
		{name: "something was stored that should not be", change: end(func(e *faults.End) { e.Absent = true }), verdict: Fail, checks: []string{"END"}},
		{name: "nothing was stored, as it should be", change: func(s *scene) { s.expect.Runs["r2"] = faults.End{Absent: true} }, verdict: Pass},
		{name: "another verdict", change: func(s *scene) { s.expect.Verdicts["d1"] = "EXPIRED" }, verdict: Fail, checks: []string{"END"}},
		{name: "a verdict that should not be", change: func(s *scene) { s.expect.Verdicts["d1"] = "" }, verdict: Fail, checks: []string{"END"}},
		{name: "another answer", change: func(s *scene) { s.expect.Answers["bob"] = "EXPIRED" }, verdict: Fail, checks: []string{"END"}},
		{name: "no answer", change: func(s *scene) { s.expect.Answers["carol"] = "" }, verdict: Fail, checks: []string{"END"}},
		{name: "a killed command", change: func(s *scene) {
			s.answer(evidence.Answer{Process: "carol", Run: "r1", Verb: "approve", Exit: -9}, nil)
			s.expect.Answers["carol"] = faults.Killed
		}, verdict: Pass},
		{name: "the code of an error on standard error", change: func(s *scene) {
			s.answer(evidence.Answer{Process: "carol", Run: "r1", Verb: "approve", Exit: 4, Stderr: "level=INFO msg=x\nNOT_FOUND: no such run"}, nil)
			s.expect.Answers["carol"] = "NOT_FOUND"
		}, verdict: Pass},
	})
}

func TestNothingArrivesUntraced(t *testing.T) {
	judgeAll(t, []one{
		{name: "a submit behind the suite's back", change: func(s *scene) {
			s.receive("submit", s.id(), refund.Fence{Term: 2, Seq: 1}, "receipt")
			end := s.expect.Runs["r1"]
			end.MostSubmits = 3
			s.expect.Runs["r1"] = end
		}, verdict: Fail, checks: []string{"TRACE"}},
		{name: "a bill behind the suite's back", change: func(s *scene) { s.bill(s.id(), "answer-2") }, verdict: Fail, checks: []string{"TRACE"}},
		{name: "another caller's use of the operation id", change: func(s *scene) {
			s.receive("submit", s.id(), refund.Fence{}, "conflict").Digest = "0123456789"
			end := s.expect.Runs["r1"]
			end.MostSubmits = 3
			s.expect.Runs["r1"] = end
		}, verdict: Pass},
		{name: "a call that never arrived", change: func(s *scene) { s.cross("B", "provider-call.before", s.id(), "2.1") }, verdict: Pass},
	})
}
