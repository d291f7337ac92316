package comparison

import (
	"testing"

	"refundlab/evidence"
	"refundlab/refund"
)

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
	ahead := func(s *scene) {
		s.change("r1", func(e *refund.Export) {
			for i := range e.Facts {
				if e.Facts[i].Kind == refund.FactOutcome {
					e.Facts[i].At += 600_000
				}
			}
		})
	}
	judgeAll(t, []one{
		{name: "the end is recorded ten minutes ahead", change: ahead, verdict: Fail, checks: []string{"I11"}},
		{name: "the end is recorded by a clock that the script had set", change: func(s *scene) {
			ahead(s)
			s.Trial.Steps = append(s.Trial.Steps, evidence.Step{Text: "clock host 600000 ms", StartSeq: 1, EndSeq: 2})
			s.cross("B", "notice-call.before", s.id(), "")
		}, verdict: Pass},
		{name: "the end came too late", change: func(s *scene) { s.Trial.Budget.BoundMS = 20 }, verdict: Fail, checks: []string{"I11"}},
		{name: "the end never came", change: stuck, verdict: Fail, checks: []string{"I11", "END"}},
		{name: "the script broke off before the bound was over", change: func(s *scene) { stuck(s); unfinished(s) }, verdict: Invalid, checks: []string{"EVIDENCE"}},
		{name: "the script broke off after the bound was over", change: func(s *scene) {
			stuck(s)
			unfinished(s)
			s.Trial.EndedAt += 20_000
		}, verdict: Fail, checks: []string{"I11", "EVIDENCE"}},
		{name: "a worker was started and did nothing for longer than the bound", change: func(s *scene) {
			stuck(s)
			unfinished(s)
			last := s.Trace[len(s.Trace)-1]
			s.Trial.Processes = append(s.Trial.Processes, evidence.Process{Name: "C", Role: "worker", StartSeq: last.Seq + 2})
			s.Trial.Steps = append(s.Trial.Steps, evidence.Step{Text: "start C", StartSeq: last.Seq + 1, EndSeq: last.Seq + 3, StartedAt: last.At, EndedAt: last.At})
			s.Trial.EndedAt += 20_000
		}, verdict: Fail, checks: []string{"I11", "EVIDENCE"}},
		{name: "the end came after the rest, and nobody had the time to tell", change: func(s *scene) {
			untold(s)
			s.Trial.RestSeq = 1
		}, verdict: Pass},
		{name: "nobody was told of the end", change: untold, verdict: Fail, checks: []string{"I11"}},
		{name: "nobody was told yet when the script broke off", change: func(s *scene) { untold(s); unfinished(s) }, verdict: Invalid, checks: []string{"EVIDENCE"}},
		{name: "nobody was told within the bound", change: func(s *scene) {
			untold(s)
			unfinished(s)
			s.Trial.EndedAt += 20_000
		}, verdict: Fail, checks: []string{"I11", "EVIDENCE"}},
	})
}
