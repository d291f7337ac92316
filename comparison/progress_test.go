package comparison

import (
	"testing"

	"refundlab/evidence"
	"refundlab/faults"
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

// In a round of dozens of runs something is always being done. Only what can have moved a run is a reason for it to take longer.
func TestI11CountsFromWhatMovedThisRun(t *testing.T) {
	// late lets the end of r1 come after a minute in which a step was played, beside another run r2, of which nothing was stored.
	late := func(step evidence.Step, more func(*scene)) func(*scene) {
		return func(s *scene) {
			s.expect.Runs["r2"] = faults.End{Absent: true}
			s.change("r1", func(e *refund.Export) { e.Facts[len(e.Facts)-1].At += 60_000 })
			s.Trial.EndedAt += 90_000
			step.StartSeq, step.EndSeq = s.next(), s.next()
			step.StartedAt, step.EndedAt = start+59_000, start+59_100
			s.Trial.Steps = append(s.Trial.Steps, step)
			if more != nil {
				more(s)
			}
		}
	}
	client := func(s *scene) {
		s.Trial.Processes = append(s.Trial.Processes, evidence.Process{Name: "carol", Role: "client", StartSeq: s.Trial.Steps[0].StartSeq + 1, EndSeq: s.Trial.Steps[0].StartSeq + 2, WaitStatus: "exit 0"})
	}
	judgeAll(t, []one{
		{name: "a command about it", change: late(evidence.Step{Text: "settle dora r1 s1 receipt by dora"}, nil), verdict: Pass},
		{name: "a step about no run", change: late(evidence.Step{Text: "restart provider"}, nil), verdict: Pass},
		{name: "a command about another run", change: late(evidence.Step{Text: "approve carol r2 d2 by carol"}, client), verdict: Fail, checks: []string{"I11"}},
		{name: "a status of it", change: late(evidence.Step{Text: "status r1"}, client), verdict: Fail, checks: []string{"I11"}},
		{name: "a step that waits", change: late(evidence.Step{Text: "rest", Waits: true}, nil), verdict: Fail, checks: []string{"I11"}},
		{name: "a step long before anything was announced again", change: late(evidence.Step{Text: "restart provider"}, func(s *scene) {
			s.Trial.Steps[0].StartedAt, s.Trial.Steps[0].EndedAt = start+1_000, start+1_100
			s.cross("B", "notice-call.before", s.id(), "").At = start + 59_000
		}), verdict: Fail, checks: []string{"I11"}},
	})
}
