package comparison

import (
	"testing"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

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
		}, verdict: Fail, checks: []string{"I12", "END"}},
		{name: "fewer model calls than permitted", change: end(func(e *faults.End) { e.LeastModelCalls, e.MostModelCalls = 2, 2 }), verdict: Fail, checks: []string{"END"}},
		{name: "something was stored that should not be", change: end(func(e *faults.End) { e.Absent = true }), verdict: Fail, checks: []string{"END"}},
		{name: "nothing was stored, as it should be", change: func(s *scene) { s.expect.Runs["r2"] = faults.End{Absent: true} }, verdict: Pass},
		{name: "another of several permitted ends", change: end(func(e *faults.End) {
			other := *e
			e.Status, e.Or = "EXPIRED", []faults.End{{Status: "REJECTED"}, other}
		}), verdict: Pass},
		{name: "none of several permitted ends", change: end(func(e *faults.End) { e.Status, e.Or = "EXPIRED", []faults.End{{Status: "REJECTED"}} }), verdict: Fail, checks: []string{"END"}},
		{name: "another verdict", change: func(s *scene) { s.expect.Verdicts["d1"] = "EXPIRED" }, verdict: Fail, checks: []string{"END"}},
		{name: "a verdict that should not be", change: func(s *scene) { s.expect.Verdicts["d1"] = "" }, verdict: Fail, checks: []string{"END"}},
		{name: "another answer", change: func(s *scene) { s.expect.Answers["bob"] = "EXPIRED" }, verdict: Fail, checks: []string{"END"}},
		{name: "no answer", change: func(s *scene) { s.expect.Answers["carol"] = "" }, verdict: Fail, checks: []string{"END"}},
		{name: "a killed command", change: func(s *scene) {
			s.answer(evidence.Answer{Process: "carol", Run: "r1", Verb: "approve", Exit: -9}, nil)
			s.expect.Answers["carol"] = faults.Killed
		}, verdict: Pass},
		{name: "the code of an error on standard error", change: func(s *scene) {
			s.answer(evidence.Answer{Process: "carol", Run: "r1", Verb: "approve", Exit: 7, Stderr: "level=INFO msg=x\nUNAVAILABLE: no server"}, nil)
			s.expect.Answers["carol"] = "UNAVAILABLE"
		}, verdict: Pass},
	})
}

func TestWhoWasToldToWaitMustHaveWaited(t *testing.T) {
	told := func(s *scene, waited refund.Instant, next string) {
		s.expect.Patience = []faults.Patience{{Boundary: faults.ProviderCall, Status: "429", LeastMS: 2000}}
		busy := s.cross("B", "provider-call.after", s.id(), "2.1")
		busy.Detail = map[string]string{faults.DetailStatus: "429"}
		at := busy.At
		s.cross("B", next, s.id(), "2.1").At = at + waited
	}
	judgeAll(t, []one{
		{name: "at once", change: func(s *scene) { told(s, 0, "provider-call.before") }, verdict: Fail, checks: []string{"END"}},
		{name: "too early, by a look-up", change: func(s *scene) { told(s, 1999, "lookup-call.before") }, verdict: Fail, checks: []string{"END"}},
		{name: "in time", change: func(s *scene) { told(s, 2000, "provider-call.before") }, verdict: Pass},
		{name: "elsewhere", change: func(s *scene) { told(s, 0, "notice-call.before") }, verdict: Pass},
	})
}

// foreign lets a request for something else arrive under the run's operation id.
func foreign(s *scene) {
	s.receive("submit", s.id(), refund.Fence{}, "conflict").Digest = "0123456789"
	end := s.expect.Runs["r1"]
	end.MostSubmits = 3
	s.expect.Runs["r1"] = end
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
			foreign(s)
			s.Trial.Steps = append(s.Trial.Steps, evidence.Step{Text: "foreign r1 o-1 1000000 minor units"})
		}, verdict: Pass},
		{name: "another digest, and no script that has another caller", change: foreign, verdict: Fail, checks: []string{"TRACE"}},
		{name: "a submit behind the suite's back, and a worker that died before it sent its own", change: func(s *scene) {
			s.cross("B", "provider-call.before", s.id(), "2.1").Reply = ""
			s.receive("submit", s.id(), refund.Fence{Term: 2, Seq: 1}, "receipt")
			end := s.expect.Runs["r1"]
			end.MostSubmits = 3
			s.expect.Runs["r1"] = end
		}, verdict: Fail, checks: []string{"TRACE"}},
		{name: "a close behind the suite's back, and a worker that died before it sent its own", change: func(s *scene) {
			s.cross("B", "close-call.before", s.id(), "2.1").Reply = ""
			s.receive("close", s.id(), refund.Fence{Term: 2, Seq: 1}, "receipt")
		}, verdict: Fail, checks: []string{"TRACE"}},
		{name: "a bill behind the suite's back, and a worker that died before it asked", change: func(s *scene) {
			for i, c := range s.Trace {
				if c.Point == point("model-call.before") {
					s.Trace[i].Reply = ""
				}
			}
		}, verdict: Fail, checks: []string{"TRACE"}},
		{name: "a bill behind the suite's back, and another run's call that never arrived", change: func(s *scene) {
			s.bill(s.id(), "answer-2")
			s.cross("A", "model-call.before", "00000000-0000-5000-8000-000000000000", "")
		}, verdict: Fail, checks: []string{"TRACE"}},
		{name: "a bill of no operation, and a call about one that never arrived", change: func(s *scene) {
			s.bill("", "answer-2")
			s.cross("A", "model-call.before", "00000000-0000-5000-8000-000000000000", "")
		}, verdict: Fail, checks: []string{"TRACE"}},
		{name: "two calls and two bills", change: func(s *scene) {
			s.bill(s.id(), "answer-2")
			for i, c := range s.Trace {
				if c.Point == point("model-call.before") {
					s.Trace[i].Reply = faults.Duplicate
				}
			}
		}, verdict: Pass},
		{name: "a call that never arrived", change: func(s *scene) { s.cross("B", "provider-call.before", s.id(), "2.1") }, verdict: Pass},
	})
}
