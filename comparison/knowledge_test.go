package comparison

import (
	"strconv"
	"testing"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

func TestI4UnknownOnlyWhereNobodyCanKnow(t *testing.T) {
	lapsed := func(s *scene) {
		s.unknown()
		agreed(func(t *refund.Terms) { t.CommitWithin = 3000 })(s)
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
		{name: "unknown under retention after a person presumed absence", profile: refund.ProfileRetention, change: func(s *scene) {
			s.unknown()
			s.change("r1", func(e *refund.Export) { e.View.Facts.PresumedAbsent = &refund.Settlement{By: "dora"} })
		}, verdict: Pass},
		{name: "unknown under retention after retention", profile: refund.ProfileRetention, change: func(s *scene) {
			s.unknown()
			agreed(func(t *refund.Terms) { t.Retention = 3000 })(s)
		}, verdict: Pass},
		{name: "unknown although a strong look-up would find the entry", profile: refund.ProfileLookup, change: func(s *scene) {
			s.unknown()
			s.enter(s.id(), "rf-1", refund.Fence{Term: 1, Seq: 1})
			s.cross("B", "lookup-call.before", s.id(), "2.1")
			end := s.expect.Runs["r1"]
			end.Entries = 1
			s.expect.Runs["r1"] = end
		}, verdict: Fail, checks: []string{"I4"}},
		{name: "unknown while the ask that would find the entry is not due yet", profile: refund.ProfileLookup, change: func(s *scene) {
			s.unknown()
			s.enter(s.id(), "rf-1", refund.Fence{Term: 1, Seq: 1})
			end := s.expect.Runs["r1"]
			end.Entries = 1
			s.expect.Runs["r1"] = end
		}, verdict: Pass},
		{name: "unknown although a refusal is stored", profile: refund.ProfileLenient, change: func(s *scene) {
			lapsed(s)
			s.cross("B", "lookup-call.before", s.id(), "2.1")
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
		}, verdict: Fail, checks: []string{"I4", "HISTORY"}},
		{name: "told as confirmed, while somebody who had asked before is told later that it was not", change: func(s *scene) {
			s.shown(9_002, 9_003, refund.StatusConfirmed, nil)
			s.shown(9_001, 9_004, refund.StatusRetryable, nil)
		}, verdict: Pass},
		{name: "told as confirmed, then as on its way", change: func(s *scene) {
			s.shown(9_002, 9_003, refund.StatusConfirmed, nil)
			s.shown(9_004, 9_005, refund.StatusRetryable, nil)
		}, verdict: Fail, checks: []string{"I4", "HISTORY"}},
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

func TestI12TheRecordedProposalIsReused(t *testing.T) {
	budget := func(s *scene, n int) {
		s.change("r1", func(e *refund.Export) { e.View.Facts.Intake.Terms.ModelBudget = n })
		s.Answers[0].Args = append(s.Answers[0].Args, "--model-budget", strconv.Itoa(n))
	}
	again := func(s *scene) { s.bill(s.id(), "answer-2"); s.cross("B", "model-call.before", s.id(), "") }
	lost := func(s *scene) { // the first answer was not recorded
		for i := range s.Trace {
			if s.Trace[i].Point.Boundary == faults.Proposal {
				s.Trace[i].Detail = map[string]string{faults.DetailRefused: "lease"}
			}
		}
		again(s)
		s.cross("B", "proposal.after", s.id(), "")
	}
	judgeAll(t, []one{
		{name: "a second call within the budget, the first one's answer lost", change: lost, verdict: Pass},
		{name: "a second call although a proposal is recorded", change: again, verdict: Fail, checks: []string{"I12"}},
		{name: "the same although the script broke off", change: func(s *scene) { again(s); s.Trial.Broken = "no rest in time" }, verdict: Fail, checks: []string{"I12", "EVIDENCE"}},
		{name: "more calls than the budget", change: func(s *scene) { again(s); again(s); again(s) }, verdict: Fail, checks: []string{"I12"}},
		{name: "more requests than the budget because the network doubled one", change: func(s *scene) {
			budget(s, 1)
			doubled(s, faults.ModelCall)
			s.bill(s.id(), "answer-2")
		}, verdict: Pass},
		{name: "more calls than the budget beside a doubled one", change: func(s *scene) {
			budget(s, 1)
			doubled(s, faults.ModelCall)
			s.bill(s.id(), "answer-2")
			lost(s)
		}, verdict: Fail, checks: []string{"I12"}},
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
