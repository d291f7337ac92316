package comparison

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
	"refundlab/refund"
)

// told adds a command about r1 that began and ended at given instants, which lie between or behind those of the scene.
func (s *scene) told(begin, end int64, verb, process string, args []string, exit int, output any) {
	text, err := json.Marshal(output)
	if err != nil {
		panic(err)
	}
	s.Answers = append(s.Answers, evidence.Answer{StartSeq: begin, EndSeq: end, Process: process, Run: "r1", Verb: verb, Args: args, Exit: exit, Output: text})
}

// The scene's own calls: the request from 1 to 2, and bob's approval d1 from 60 to 70. behind is behind everything.
const behind = 10_000

func (s *scene) shown(begin, end int64, status refund.RunStatus, edit func(*refund.View)) {
	view := s.Exports["r1"].View
	view.Status = status
	if edit != nil {
		edit(&view)
	}
	s.told(begin, end, "status", "reader", nil, 0, view)
}

func intended(v *refund.View)  { v.Facts.State, v.Facts.Receipt = refund.StateSubmitted, nil }
func ambiguous(v *refund.View) { v.Facts.State, v.Facts.Receipt = refund.StateUnknown, nil }

func noDecision(v *refund.View) { v.Facts.Decision, v.Facts.Receipt = nil, nil }

func (s *scene) decided(begin, end int64, verb, id, person string, exit int, code refund.VerdictCode) {
	s.told(begin, end, verb, person, []string{"--decision-id", id, "--as", person}, exit, reply{DecisionID: id, Verdict: code, At: start + 30})
}

func (s *scene) failed(begin, end int64, verb, id, person string, code refund.Code) {
	s.told(begin, end, verb, person, []string{"--decision-id", id, "--as", person}, 3, map[string]any{"error": map[string]any{"code": code}})
}

func (s *scene) settled(begin, end int64, kind refund.SettlementKind, by string, more ...string) {
	s.told(begin, end, "reconcile", by, settleArgs(kind, by, more), 0, s.same(false))
}

// unsettled is a settlement that ended with a code.
func (s *scene) unsettled(begin, end int64, code refund.Code, kind refund.SettlementKind, by string, more ...string) {
	s.told(begin, end, "reconcile", by, settleArgs(kind, by, more), 3, map[string]any{"error": map[string]any{"code": code}})
}

// settleArgs are the arguments of settlement s1. Of a flag that is given twice the last counts.
func settleArgs(kind refund.SettlementKind, by string, more []string) []string {
	return append([]string{"--settlement-id", "s1", "--kind", string(kind), "--by", by, "--reason", "asked"}, more...)
}

// receipt is r1's own, changed by edit, as an argument of a settlement.
func (s *scene) receipt(edit func(*refund.Receipt)) string {
	in := s.Exports["r1"].View.Facts.Intake
	receipt := refund.Receipt{RefundID: "rf-1", OperationID: in.OperationID, Digest: in.Digest, Order: in.Request.Order, Amount: in.Request.Amount, At: start + 50}
	if edit != nil {
		edit(&receipt)
	}
	text, err := json.Marshal(receipt)
	if err != nil {
		panic(err)
	}
	return "--receipt=" + string(text)
}

// without lets the provider of the scene promise no close.
func (s *scene) without() { s.Trial.Profile = refund.ProfileLookup }

// stays ends r1 UNKNOWN with something recorded of a person or the provider.
func (s *scene) stays(edit func(*refund.Facts)) {
	s.change("r1", func(e *refund.Export) {
		e.View.Status, e.View.Facts.Receipt = refund.StatusUnknown, nil
		edit(&e.View.Facts)
	})
}

func presumed(f *refund.Facts)   { f.PresumedAbsent = &refund.Settlement{SettlementID: "s1"} }
func closing(f *refund.Facts)    { f.Closing = true }
func conflicted(f *refund.Facts) { f.Conflict = "409" }

// history judges the answers alone: what else a tampered scene shows is the business of other checks.
func (s *scene) history() []string { return oneHistory(newTrial(s.Record, s.expect)) }

func TestHistoriesThatAnOrderOfTheCallsExplains(t *testing.T) {
	for name, change := range map[string]func(*scene){
		"nothing but the scene": func(*scene) {},
		"statuses that only go forward": func(s *scene) {
			s.shown(11, 12, refund.StatusPending, noDecision)
			s.shown(13, 14, refund.StatusApprovalRequired, noDecision)
			s.shown(81, 82, refund.StatusRetryable, nil)
			s.shown(83, 84, refund.StatusUnknown, nil)
			s.shown(behind, behind+1, refund.StatusConfirmed, nil)
		},
		"an intent of which nothing had left, and then an answer that decided nothing": func(s *scene) {
			s.shown(81, 82, refund.StatusUnknown, intended)
			s.shown(83, 84, refund.StatusRetryable, intended)
			s.shown(85, 86, refund.StatusUnknown, intended)
			s.shown(87, 88, refund.StatusUnknown, ambiguous)
			s.shown(89, 90, refund.StatusUnknown, ambiguous)
		},
		"a read that overlaps the decision may come before or after it": func(s *scene) {
			s.shown(61, 62, refund.StatusApprovalRequired, noDecision)
			s.shown(63, 64, refund.StatusRetryable, nil)
		},
		"not ready before the proposal, accepted under another id": func(s *scene) { s.decided(11, 12, "approve", "d0", "carol", 5, refund.VerdictNotReady) },
		"the second of two decisions": func(s *scene) {
			s.decided(61, 90, "reject", "d2", "carol", 5, refund.VerdictAlreadyDecided)
			s.decided(91, 92, "reject", "d2", "carol", 5, refund.VerdictAlreadyDecided)
		},
		"the same id with other content": func(s *scene) { s.failed(71, 72, "reject", "d1", "bob", refund.CodeDecisionConflict) },
		"the requester's own approval":   func(s *scene) { s.decided(11, 12, "approve", "d0", "alice", 5, refund.VerdictSelfApproval) },
		"the same request again":         func(s *scene) { s.told(71, 72, "request", "again", requestArgs(asked("r1")), 0, s.same(true)) },
		"a settlement that is refused while it is asked": func(s *scene) {
			s.unsettled(81, 82, refund.CodeSettlementRefused, refund.SettleClose, "dora")
		},
		"a settlement that is refused, and then taken under the same id, as by the journal": func(s *scene) {
			s.unsettled(81, 82, refund.CodeSettlementRefused, refund.SettleClose, "dora")
			s.settled(83, 84, refund.SettleClose, "dora")
			s.stays(closing)
		},
		"a settlement that is refused, and whose id then stands for it, as on Temporal": func(s *scene) {
			s.unsettled(81, 82, refund.CodeSettlementRefused, refund.SettleClose, "dora")
			s.unsettled(83, 84, refund.CodeSettlementRefused, refund.SettleClose, "dora")
			s.unsettled(85, 86, refund.CodeDecisionConflict, refund.SettleReceipt, "dora", s.receipt(nil))
		},
		"a settlement that was never answered and refused, and whose id then stands for it": func(s *scene) {
			s.unsettled(81, 82, refund.CodeVerdictPending, refund.SettleClose, "dora")
			s.unsettled(83, 84, refund.CodeDecisionConflict, refund.SettleClose, "ed")
		},
		"a close, said again, and other content under its id": func(s *scene) {
			s.settled(81, 82, refund.SettleClose, "dora")
			s.settled(83, 84, refund.SettleClose, "dora")
			s.unsettled(85, 86, refund.CodeDecisionConflict, refund.SettleClose, "dora", "--reason", "another one")
			s.change("r1", func(e *refund.Export) { closing(&e.View.Facts) })
		},
		"a close that was never answered and nevertheless taken": func(s *scene) {
			s.unsettled(81, 82, refund.CodeVerdictPending, refund.SettleClose, "dora")
			s.shown(91, 92, refund.StatusRetryable, nil)
			s.shown(93, 94, refund.StatusUnknown, func(v *refund.View) { closing(&v.Facts) })
			s.change("r1", func(e *refund.Export) { closing(&e.View.Facts) })
		},
		"a close that finds a tombstone's refusal": func(s *scene) {
			s.settled(81, 82, refund.SettleClose, "dora")
			s.rejected(refund.CodeClosed)
			s.change("r1", func(e *refund.Export) { closing(&e.View.Facts) })
		},
		"absence is presumed, and later a receipt turns up": func(s *scene) {
			s.without()
			s.settled(81, 82, refund.SettlePresumedAbsent, "dora")
			s.shown(83, 84, refund.StatusUnknown, func(v *refund.View) { presumed(&v.Facts) })
			s.settled(85, 86, refund.SettleReceipt, "dora", "--settlement-id", "s2", s.receipt(nil))
			s.change("r1", func(e *refund.Export) { presumed(&e.View.Facts) })
		},
		"absence is presumed, and a receipt turns up by a client that was killed": func(s *scene) {
			s.without()
			s.settled(81, 82, refund.SettlePresumedAbsent, "dora")
			s.told(85, 86, "reconcile", "ed", settleArgs(refund.SettleReceipt, "ed", []string{"--settlement-id", "s2", s.receipt(nil)}), -9, nil)
			s.change("r1", func(e *refund.Export) { presumed(&e.View.Facts) })
		},
		"a conflict is annotated, although the provider can close": func(s *scene) {
			s.settled(81, 82, refund.SettlePresumedAbsent, "dora")
			s.stays(func(f *refund.Facts) { presumed(f); conflicted(f) })
		},
		"a receipt confirms": func(s *scene) { s.settled(81, 82, refund.SettleReceipt, "dora", s.receipt(nil)) },
		"another refund's receipt is refused": func(s *scene) {
			s.unsettled(81, 82, refund.CodeSettlementRefused, refund.SettleReceipt, "dora", s.receipt(func(r *refund.Receipt) { r.Amount.Minor++ }))
		},
		"a client that was killed and whose decision nevertheless won": func(s *scene) {
			s.Answers = s.Answers[:1]
			s.told(15, 16, "approve", "bob", []string{"--decision-id", "d1", "--as", "bob"}, -9, nil)
			s.shown(20, 21, refund.StatusApprovalRequired, noDecision) // its message was on its way
			s.decided(71, 72, "approve", "d2", "carol", 5, refund.VerdictAlreadyDecided)
		},
		"a client that was killed and whose decision never arrived": func(s *scene) {
			s.told(15, 16, "reject", "carol", []string{"--decision-id", "d0", "--as", "carol"}, -9, nil)
		},
		"a request that was never answered and left nothing": func(s *scene) {
			s.Answers[0].Exit, s.Answers[0].Output = -9, nil
			s.Answers = s.Answers[:1]
			delete(s.Exports, "r1")
		},
		"a request that was never answered, and its repetition": func(s *scene) {
			s.Answers[0].Exit, s.Answers[0].Output = -9, nil
			s.told(4, 5, "request", "again", requestArgs(asked("r1")), 0, s.same(true))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene("handrolled", refund.ProfileFull)
			change(s)
			require.Empty(t, s.history())
		})
	}
}

func (s *scene) same(existing bool) reply {
	in := s.Exports["r1"].View.Facts.Intake
	return reply{OperationID: in.OperationID, RequestID: "r1", Digest: in.Digest, Existing: existing}
}

func TestHistoriesThatNoOrderOfTheCallsExplains(t *testing.T) {
	other := asked("r1")
	other.Amount.Minor = 99
	for name, tamper := range map[string]func(*scene){
		"a status goes back from CONFIRMED to UNKNOWN": func(s *scene) {
			s.shown(81, 82, refund.StatusConfirmed, nil)
			s.shown(83, 84, refund.StatusUnknown, nil)
		},
		"a status goes back from UNKNOWN to RETRYABLE": func(s *scene) {
			s.shown(81, 82, refund.StatusUnknown, ambiguous)
			s.shown(83, 84, refund.StatusRetryable, ambiguous)
		},
		"the same, with a look at it between": func(s *scene) {
			s.shown(81, 82, refund.StatusUnknown, ambiguous)
			s.shown(83, 84, refund.StatusUnknown, intended)
			s.shown(85, 86, refund.StatusRetryable, intended)
		},
		"a status goes back from CONFIRMED to an intent": func(s *scene) {
			s.shown(81, 82, refund.StatusConfirmed, nil)
			s.shown(83, 84, refund.StatusUnknown, intended)
		},
		"an intent before any approval": func(s *scene) {
			s.shown(11, 12, refund.StatusUnknown, func(v *refund.View) { noDecision(v); intended(v) })
		},
		"two terminal statuses": func(s *scene) { s.shown(81, 82, refund.StatusRejected, nil) },
		"another reason than before": func(s *scene) {
			s.rejected(refund.CodeClosed)
			s.shown(81, 82, refund.StatusRejected, func(v *refund.View) { v.Reason = "INSUFFICIENT_BALANCE" })
		},
		"a decision is gone": func(s *scene) { s.shown(81, 82, refund.StatusApprovalRequired, noDecision) },
		"another decision is shown": func(s *scene) {
			s.shown(81, 82, refund.StatusRetryable, func(v *refund.View) { d := *v.Facts.Decision; d.DecisionID = "d9"; v.Facts.Decision = &d })
		},
		"two decisions are accepted":             func(s *scene) { s.decided(81, 82, "approve", "d2", "carol", 0, refund.VerdictAccepted) },
		"two decisions at one time are accepted": func(s *scene) { s.decided(60, 70, "reject", "d2", "carol", 0, refund.VerdictAccepted) },
		"a verdict changes": func(s *scene) {
			s.decided(11, 12, "approve", "d0", "carol", 5, refund.VerdictNotReady)
			s.decided(81, 82, "approve", "d0", "carol", 5, refund.VerdictAlreadyDecided)
		},
		"accepted after the deadline was told": func(s *scene) { s.decided(11, 12, "approve", "d0", "carol", 5, refund.VerdictExpired) },
		"not ready after the proposal was shown": func(s *scene) {
			s.shown(11, 12, refund.StatusApprovalRequired, noDecision)
			s.decided(13, 14, "approve", "d0", "carol", 5, refund.VerdictNotReady)
		},
		"already decided before any decision": func(s *scene) { s.decided(11, 12, "approve", "d0", "carol", 5, refund.VerdictAlreadyDecided) },
		"the requester's own approval is taken": func(s *scene) {
			s.Answers = s.Answers[:1]
			s.decided(60, 70, "approve", "d1", "alice", 0, refund.VerdictAccepted)
		},
		"the same id with other content is taken": func(s *scene) { s.decided(71, 72, "reject", "d1", "bob", 0, refund.VerdictAccepted) },
		"a conflict of an id that nobody used":    func(s *scene) { s.failed(71, 72, "reject", "d7", "carol", refund.CodeDecisionConflict) },
		"confirmed without a decision": func(s *scene) {
			s.Answers = s.Answers[:1]
			s.change("r1", func(e *refund.Export) { noDecision(&e.View) })
		},
		"the same key with other parameters is taken": func(s *scene) { s.told(71, 72, "request", "again", requestArgs(other), 0, s.same(true)) },
		"the same request is new a second time":       func(s *scene) { s.told(71, 72, "request", "again", requestArgs(asked("r1")), 0, s.same(false)) },
		"the same request is a conflict": func(s *scene) {
			s.told(71, 72, "request", "again", requestArgs(asked("r1")), 3, map[string]any{"error": map[string]any{"code": refund.CodeKeyConflict}})
		},
		"a run that was stored has no export": func(s *scene) { delete(s.Exports, "r1") },
		"a run that was stored is not found":  func(s *scene) { s.failed(71, 72, "status", "", "reader", refund.CodeNotFound) },
		"a run is settled before anything was approved": func(s *scene) {
			s.without()
			s.settled(11, 12, refund.SettlePresumedAbsent, "dora")
			s.stays(presumed)
		},
		"settled with a receipt and then unknown": func(s *scene) {
			s.settled(81, 82, refund.SettleReceipt, "dora", s.receipt(nil))
			s.shown(83, 84, refund.StatusUnknown, nil)
		},
		"settled with one receipt and confirmed by another": func(s *scene) {
			s.settled(81, 82, refund.SettleReceipt, "dora", s.receipt(func(r *refund.Receipt) { r.RefundID = "rf-2" }))
		},
		"settled with a receipt of another operation": func(s *scene) {
			s.settled(81, 82, refund.SettleReceipt, "dora", s.receipt(func(r *refund.Receipt) { r.OperationID = "another" }))
		},
		"settled with a receipt of another order": func(s *scene) {
			s.settled(81, 82, refund.SettleReceipt, "dora", s.receipt(func(r *refund.Receipt) { r.Order = "o-2" }))
		},
		"settled with a receipt of another amount": func(s *scene) {
			s.settled(81, 82, refund.SettleReceipt, "dora", s.receipt(func(r *refund.Receipt) { r.Amount.Minor++ }))
		},
		"settled with a receipt of another digest": func(s *scene) {
			s.settled(81, 82, refund.SettleReceipt, "dora", s.receipt(func(r *refund.Receipt) { r.Digest = "another" }))
		},
		"settled with a receipt without its time": func(s *scene) {
			s.settled(81, 82, refund.SettleReceipt, "dora", s.receipt(func(r *refund.Receipt) { r.At = 0 }))
		},
		"settled with no receipt": func(s *scene) { s.settled(81, 82, refund.SettleReceipt, "dora") },
		"presumed absent and then to be sent again": func(s *scene) {
			s.without()
			s.settled(81, 82, refund.SettlePresumedAbsent, "dora")
			s.shown(83, 84, refund.StatusRetryable, func(v *refund.View) { presumed(&v.Facts) })
			s.stays(presumed)
		},
		"presumed absent and then rejected": func(s *scene) {
			s.without()
			s.settled(81, 82, refund.SettlePresumedAbsent, "dora")
			s.rejected(refund.CodeClosed)
			s.change("r1", func(e *refund.Export) { presumed(&e.View.Facts) })
		},
		"presumed absent and then confirmed by nobody's receipt": func(s *scene) {
			s.without()
			s.settled(81, 82, refund.SettlePresumedAbsent, "dora")
			s.change("r1", func(e *refund.Export) { presumed(&e.View.Facts) })
		},
		"presumed absent where the provider can close": func(s *scene) {
			s.settled(81, 82, refund.SettlePresumedAbsent, "dora")
			s.stays(presumed)
		},
		"presumed absent, and no longer so": func(s *scene) {
			s.without()
			s.settled(81, 82, refund.SettlePresumedAbsent, "dora")
			s.stays(func(*refund.Facts) {})
		},
		"presumed absent by nobody": func(s *scene) {
			s.without()
			s.stays(presumed)
		},
		"closed and then to be sent again": func(s *scene) {
			s.settled(81, 82, refund.SettleClose, "dora")
			s.shown(83, 84, refund.StatusRetryable, func(v *refund.View) { closing(&v.Facts) })
			s.stays(closing)
		},
		"closed, and no longer so": func(s *scene) {
			s.settled(81, 82, refund.SettleClose, "dora")
			s.stays(func(*refund.Facts) {})
		},
		"closed where the provider cannot": func(s *scene) {
			s.without()
			s.settled(81, 82, refund.SettleClose, "dora")
			s.stays(closing)
		},
		"a run in a conflict is closed": func(s *scene) {
			s.shown(81, 82, refund.StatusUnknown, func(v *refund.View) { conflicted(&v.Facts) })
			s.settled(83, 84, refund.SettleClose, "dora")
			s.stays(func(f *refund.Facts) { closing(f); conflicted(f) })
		},
		"a conflict goes away": func(s *scene) {
			s.shown(81, 82, refund.StatusUnknown, func(v *refund.View) { conflicted(&v.Facts) })
			s.stays(func(*refund.Facts) {})
		},
		"a settlement that was taken is refused when it is said again": func(s *scene) {
			s.settled(81, 82, refund.SettleClose, "dora")
			s.unsettled(83, 84, refund.CodeSettlementRefused, refund.SettleClose, "dora")
			s.stays(closing)
		},
		"a settlement that was taken is a conflict when it is said again": func(s *scene) {
			s.settled(81, 82, refund.SettleClose, "dora")
			s.unsettled(83, 84, refund.CodeDecisionConflict, refund.SettleClose, "dora")
			s.stays(closing)
		},
		"another reason is taken under the id of a settlement": func(s *scene) {
			s.settled(81, 82, refund.SettleClose, "dora")
			s.settled(83, 84, refund.SettleClose, "dora", "--reason", "another one")
			s.stays(closing)
		},
		"another receipt is taken under the id of a settlement": func(s *scene) {
			s.settled(81, 82, refund.SettleReceipt, "dora", s.receipt(nil))
			s.settled(83, 84, refund.SettleReceipt, "dora", s.receipt(func(r *refund.Receipt) { r.At++ }))
		},
		"a conflict of a settlement id that nobody used": func(s *scene) {
			s.unsettled(81, 82, refund.CodeDecisionConflict, refund.SettleClose, "dora")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene("handrolled", refund.ProfileFull)
			tamper(s)
			require.Len(t, s.history(), 1)
			require.Contains(t, s.history()[0], "the first that does not fit is")
			require.True(t, slices.ContainsFunc(s.judge().Findings, func(f Finding) bool { return f.Check == "HISTORY" }), "the judge asks for it")
		})
	}
}

// Many clients that never got an answer are what could make the search long.
func TestAHistoryIsCheckedInMilliseconds(t *testing.T) {
	s := newScene("handrolled", refund.ProfileFull)
	for i := range 8 {
		id := string(rune('a' + i))
		s.told(15+int64(i), 16+int64(i), []string{"approve", "reject"}[i%2], "k"+id, []string{"--decision-id", id, "--as", "carol"}, -9, nil)
	}
	for i := range int64(4) {
		s.told(15+i, 30+i, "approve", "bob", []string{"--decision-id", "d1", "--as", "bob"}, -9, nil)
	}
	for i := range int64(12) {
		s.shown(80+2*i, 81+2*i, refund.StatusRetryable, nil)
	}
	began := time.Now()
	require.Empty(t, s.history())
	require.Less(t, time.Since(began), time.Second)
}

func TestAHistoryWithoutItsRequestIsNotJudged(t *testing.T) {
	s := newScene("handrolled", refund.ProfileFull)
	s.Answers = s.Answers[1:]
	s.shown(81, 82, refund.StatusRejected, nil)
	require.Empty(t, s.history())
}
