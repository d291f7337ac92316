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

func noDecision(v *refund.View) { v.Facts.Decision, v.Facts.Receipt = nil, nil }

func (s *scene) decided(begin, end int64, verb, id, person string, exit int, code refund.VerdictCode) {
	s.told(begin, end, verb, person, []string{"--decision-id", id, "--as", person}, exit, reply{DecisionID: id, Verdict: code, At: start + 30})
}

func (s *scene) failed(begin, end int64, verb, id, person string, code refund.Code) {
	s.told(begin, end, verb, person, []string{"--decision-id", id, "--as", person}, 3, map[string]any{"error": map[string]any{"code": code}})
}

func (s *scene) settled(begin, end int64, kind refund.SettlementKind, by string, exit int, output any) {
	s.told(begin, end, "reconcile", by, []string{"--settlement-id", "s1", "--kind", string(kind), "--by", by}, exit, output)
}

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
			s.settled(81, 82, refund.SettleClose, "dora", 5, map[string]any{"error": map[string]any{"code": "SETTLEMENT_REFUSED"}})
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
			s.shown(81, 82, refund.StatusUnknown, nil)
			s.shown(83, 84, refund.StatusRetryable, nil)
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
		"a run that was stored has no export":           func(s *scene) { delete(s.Exports, "r1") },
		"a run that was stored is not found":            func(s *scene) { s.failed(71, 72, "status", "", "reader", refund.CodeNotFound) },
		"a run is settled before anything was approved": func(s *scene) { s.settled(11, 12, refund.SettlePresumedAbsent, "dora", 0, s.same(false)) },
		"settled with a receipt and then unknown": func(s *scene) {
			s.settled(81, 82, refund.SettleReceipt, "dora", 0, s.same(false))
			s.shown(83, 84, refund.StatusUnknown, nil)
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
