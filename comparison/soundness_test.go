package comparison

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// A trial that was not what the matrix asks for is invalid, and says why; it never passes.
func TestUnsoundTrialsAreInvalid(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*scene)
		says   string
	}{
		{"a broken script", func(s *scene) { s.Trial.Broken = "worker B was not ready" }, "did not reach its end: worker B was not ready"},
		{"no rest", func(s *scene) { s.Trial.RestSeq = 0 }, "never came to rest"},
		{"an empty trace", func(s *scene) { s.Trace, s.Provider.Bill, s.Provider.Received = nil, nil, nil }, "the trace is empty"},
		{"an empty dump", func(s *scene) { s.Provider = evidence.Provider{Profile: refund.ProfileFull} }, "holds no order"},
		{"another profile", func(s *scene) { s.Provider.Profile = refund.ProfileLenient }, `under profile "lenient"`},
		{"no process", func(s *scene) { s.Trial.Processes, s.Provider.Bill, s.Provider.Received = nil, nil, nil }, "no process is recorded"},
		{"a trace out of order", func(s *scene) { s.Trace[1].Seq = s.Trace[0].Seq }, "out of order"},
		{"an export that is missing", func(s *scene) { s.expect.Runs["r2"] = faults.End{Status: "CONFIRMED"} }, "run r2 has no export"},
		{"an export that nobody expected", func(s *scene) { delete(s.expect.Runs, "r1") }, "states no end for it"},
		{"an export of the other engine", func(s *scene) { s.change("r1", func(e *refund.Export) { e.View.Engine = "temporal" }) }, `comes from engine "temporal"`},
		{"another schedule", func(s *scene) { s.expect.Schedule = nil }, "another schedule was played"},
		{"a clean arm with faults", func(s *scene) { s.Trial.Arm = evidence.ArmClean }, "played with faults"},
		{"a fault that never fired", func(s *scene) { s.Trial.Fired = nil }, "rule kill-a never fired: kill of any process at provider-commit.after, occurrence 1"},
		{"a fault at another point", func(s *scene) { s.Trial.Fired[0].Point = point("intent.after") }, "recorded as kill at intent.after"},
		{"a fault without its effect", func(s *scene) { s.Trial.Fired[0].DoneSeq = 0 }, "its effect was never complete"},
		{"a fault without its proof", func(s *scene) { s.Trial.Fired[0].Proof = "" }, `the proof of kill is "", not "signal 9"`},
		{"a commit that was told without an fsync", func(s *scene) { s.Trial.Fired[0].Unsynced = true }, "A told of its commit at provider-commit, and its store had synced nothing"},
		{"a victim that ended by itself", func(s *scene) { s.Trial.Processes[1].WaitStatus = "exit 0" }, `process "A" ended with "exit 0", not by signal 9`},
		{"a victim that outlived its kill", func(s *scene) { s.Trial.Processes[1].WaitStatus = "" }, "not by signal 9"},
		{"a worker that crashed by itself", func(s *scene) { s.Trial.Processes[2].WaitStatus = "exit 2" }, "process B ended by itself: exit 2"},
		{"a worker that left by itself", func(s *scene) { s.Trial.Processes[2].WaitStatus = "exit 0" }, "process B ended by itself: exit 0"},
		{"a worker that no rule killed", func(s *scene) { s.Trial.Processes[2].WaitStatus = "signal 9" }, "process B ended by itself: signal 9"},
		{"a witness that is missing", func(s *scene) {
			s.expect.Witnesses = []faults.Witness{{Why: "the provider refused a stale owner", Outcome: "stale-fence", Least: 1}}
		}, "not shown: the provider refused a stale owner (stale-fence seen 0 times"},
		{"a witness at a point of another process", func(s *scene) {
			s.expect.Witnesses = []faults.Witness{{Why: "A recorded the outcome", Point: "outcome.after", Process: "A", Least: 1}}
		}, "not shown: A recorded the outcome"},
		{"a witness of a refusal where no answer could be had", func(s *scene) {
			s.cross("B", "renewal.after", s.id(), "1.1").Detail = map[string]string{faults.DetailRefused: "UNAVAILABLE: the caller did not wait"}
			s.expect.Witnesses = []faults.Witness{{Why: "a renewal was refused", Point: "renewal.after", Process: "B", Refused: true, Least: 1}}
		}, "not shown: a renewal was refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene("handrolled", refund.ProfileFull)
			tt.change(s)
			judged := s.judge()
			requireChecks(t, judged, Invalid, "EVIDENCE")
			require.Contains(t, texts(judged), tt.says)
		})
	}
}

// That a trial was not as planned takes nothing away from what it shows against an engine once everything is at rest.
func TestAnUnsoundTrialAtRestStillViolatesWhatMustAlwaysHold(t *testing.T) {
	rejected := func(s *scene) {
		s.rejected(refund.CodeInsufficientBalance)
		s.enter(s.id(), "rf-1", refund.Fence{Term: 1, Seq: 1})
	}
	s := newScene("handrolled", refund.ProfileFull)
	rejected(s)
	s.Trial.Fired, s.Trial.Processes[1].WaitStatus = nil, ""
	judged := s.judge()
	require.Equal(t, Fail, judged.Verdict)
	require.Contains(t, checksOf(judged.Findings), "I3")
	require.Contains(t, checksOf(judged.Findings), "EVIDENCE")

	s = newScene("handrolled", refund.ProfileFull)
	rejected(s)
	s.Trial.RestSeq = 0 // its end may still come
	require.NotContains(t, checksOf(s.judge().Findings), "I3")
}

// Only what is nobody's doing may be tried again: whatever an engine can bring about is a result.
func TestATrialIsPlayedAgainOnlyWhereItsFaultDidNotHitOrTheMachineWasTooBusy(t *testing.T) {
	missed := func(s *scene) { s.Trial.Fired, s.Trial.Processes[1].WaitStatus = nil, "" }
	for _, tt := range []struct {
		name    string
		changes []func(*scene)
		again   bool
	}{
		{"its fault did not hit", []func(*scene){missed}, true},
		{"its fault hit when all was over", []func(*scene){func(s *scene) {
			s.Trial.Fired[0].Seq, s.Trial.Fired[0].DoneSeq, s.Trial.Fired[0].Proof = s.Trial.RestSeq+1, 0, ""
			s.Trial.Processes[1].WaitStatus = ""
		}}, true},
		{"its fault hit in time and had no effect", []func(*scene){func(s *scene) {
			s.Trial.Fired[0].DoneSeq, s.Trial.Fired[0].Proof = 0, ""
			s.Trial.Processes[1].WaitStatus = ""
		}}, false},
		{"and a worker crashed", []func(*scene){missed, func(s *scene) { s.Trial.Processes[2].WaitStatus = "exit 2" }}, false},
		{"a worker crashed", []func(*scene){func(s *scene) { s.Trial.Processes[2].WaitStatus = "exit 2" }}, false},
		{"it broke off", []func(*scene){func(s *scene) { s.Trial.Broken = "worker B was not ready" }}, false},
		{"it never came to rest", []func(*scene){func(s *scene) { s.Trial.RestSeq = 0 }}, false},
		{"it passed", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene("handrolled", refund.ProfileFull)
			for _, change := range tt.changes {
				change(s)
			}
			require.Equal(t, tt.again, s.judge().Again)
		})
	}
}

func TestARuleThatWasDrawnByLotNeedNotHit(t *testing.T) {
	s := newScene("handrolled", refund.ProfileFull)
	never := faults.Rule{Name: "never", Point: point("close-call.before"), Nth: 9, Action: faults.Kill}
	s.expect.Schedule = append(s.expect.Schedule, never)
	s.Trial.Schedule = s.expect.Schedule
	requireChecks(t, s.judge(), Invalid, "EVIDENCE")
	s.expect.ByLot = true
	requireChecks(t, s.judge(), Pass)
}

// A call that takes as long as its time-out is a fault. Where the trial had none in effect, it is one that nobody planned.
func TestACallThatTimesOutWithoutAFaultIsNotTheTrial(t *testing.T) {
	slow := func(ms refund.Instant) func(*scene) {
		return func(s *scene) {
			s.cross("B", "provider-call.before", s.id(), "2.1").At -= ms
			s.cross("B", "provider-call.after", s.id(), "2.1")
		}
	}
	fired := func(action faults.Action, proof string) func(*scene) {
		return func(s *scene) {
			rule := faults.Rule{Name: "late", Point: point("order-call.before"), Nth: 1, Action: action}
			s.expect.Schedule = append(s.expect.Schedule, rule)
			s.Trial.Schedule = s.expect.Schedule
			seq := s.next()
			s.Trial.Fired = append(s.Trial.Fired, evidence.Fired{Rule: rule.Name, Point: rule.Point, Action: action, Victim: "provider", Seq: seq, DoneSeq: seq + 1, Proof: proof})
		}
	}
	step := func(text string) func(*scene) {
		return func(s *scene) {
			s.Trial.Steps = append(s.Trial.Steps, evidence.Step{Text: text, StartSeq: s.next(), EndSeq: s.next()})
		}
	}
	for _, tt := range []struct {
		name    string
		verdict Verdict
		changes []func(*scene)
	}{
		{"without a fault", Invalid, []func(*scene){slow(800)}},
		{"just in time", Pass, []func(*scene){slow(780)}},
		{"a fault that was over", Invalid, []func(*scene){fired(faults.Hold, "released"), slow(800)}},
		{"a process that is frozen", Pass, []func(*scene){fired(faults.Freeze, "state T"), slow(800), step("thaw provider")}},
		{"a process that was let go", Invalid, []func(*scene){fired(faults.Freeze, "state T"), step("thaw provider"), slow(800)}},
		{"another process was let go", Pass, []func(*scene){fired(faults.Freeze, "state T"), step("thaw A"), slow(800)}},
		{"a line that is silent", Pass, []func(*scene){step("silence B provider"), slow(800)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene("handrolled", refund.ProfileFull)
			for _, change := range tt.changes {
				change(s)
			}
			judged := s.judge()
			require.Equal(t, tt.verdict, judged.Verdict, texts(judged))
			if tt.verdict == Invalid {
				require.Contains(t, texts(judged), "provider-call of B ran into its time-out")
				require.True(t, judged.Again)
			}
		})
	}
}

func texts(j Judged) string {
	var lines []string
	for _, finding := range j.Findings {
		lines = append(lines, finding.Text)
	}
	return strings.Join(lines, "\n")
}

// Two rules hold; release gives the order in which the held were let go and the last one came to stand.
func race(firstHeld, firstGone, secondHeld, secondGone int64) func(*scene) {
	return func(s *scene) {
		for _, rule := range []struct {
			name       string
			held, gone int64
		}{{"hold-1", firstHeld, firstGone}, {"hold-2", secondHeld, secondGone}} {
			r := faults.Rule{Name: rule.name, Point: point("decision.before"), Nth: 1, Process: rule.name, Action: faults.Hold}
			s.expect.Schedule = append(s.expect.Schedule, r)
			s.expect.Race = append(s.expect.Race, rule.name)
			if rule.held != 0 {
				s.Trial.Fired = append(s.Trial.Fired, evidence.Fired{Rule: r.Name, Point: r.Point, Action: faults.Hold, Victim: r.Process, Seq: rule.held, DoneSeq: rule.gone, Proof: "released"})
			}
		}
		s.Trial.Schedule = s.expect.Schedule
	}
}

func TestARaceNeedsAllRacersAtTheirPointsBeforeTheFirstIsLetGo(t *testing.T) {
	judgeAll(t, []one{
		{name: "both were held", change: race(10, 30, 20, 31), verdict: Pass},
		{name: "the first was gone when the second came", change: race(10, 15, 20, 31), verdict: Invalid, checks: []string{"EVIDENCE"}},
		{name: "the second never came", change: race(10, 30, 0, 0), verdict: Invalid, checks: []string{"EVIDENCE"}},
		{name: "a racer that no schedule has", change: func(s *scene) { s.expect.Race = []string{"hold-9"} }, verdict: Invalid, checks: []string{"EVIDENCE"}},
	})
}

// late makes A's request, held before its call, arrive at the given sequence number; B recorded the receipt at 230.
func late(arrives bool) func(*scene) {
	return func(s *scene) {
		var call evidence.Crossing
		for _, c := range s.Trace {
			if c.Process == "A" && c.Point == point("provider-call.before") {
				call = c
			}
		}
		rule := faults.Rule{Name: "freeze-a", Point: call.Point, Nth: 1, Process: "A", Action: faults.Freeze}
		s.Trial.Processes[1].WaitStatus = "" // nobody kills it here
		s.expect.Schedule, s.expect.Late = faults.Schedule{rule}, &faults.Late{Run: "r1", Rule: "freeze-a", Other: "B"}
		s.Trial.Schedule = s.expect.Schedule
		s.Trial.Fired = []evidence.Fired{{Rule: "freeze-a", Point: call.Point, Action: faults.Freeze, Victim: "A", Seq: call.Seq, DoneSeq: call.Seq + 1, Proof: "state T"}}
		if arrives {
			s.cross("provider", "provider-received.before", s.id(), "1.1")
		}
	}
}

func TestALateWorkerMustArriveAfterTheOthersRecord(t *testing.T) {
	judgeAll(t, []one{
		{name: "it arrived after the other's receipt was recorded", change: late(true), verdict: Pass},
		{name: "it had arrived before", change: late(false), verdict: Invalid, checks: []string{"EVIDENCE"}},
		{name: "a run that is not in the evidence", change: func(s *scene) { late(true)(s); s.expect.Late.Run = "r9" }, verdict: Invalid, checks: []string{"EVIDENCE"}},
		{name: "a call without a fence could be anyone's", change: func(s *scene) {
			late(true)(s)
			for i := range s.Trace {
				if s.Trace[i].Seq == s.Trial.Fired[0].Seq || s.Trace[i].Point == point("intent.after") {
					s.Trace[i].Fence = ""
				}
			}
		}, verdict: Invalid, checks: []string{"EVIDENCE"}},
		{name: "the other recorded nothing", change: func(s *scene) { late(true)(s); s.expect.Late.Other = "C" }, verdict: Invalid, checks: []string{"EVIDENCE"}},
		{name: "the other's observation is no end where it may send again", change: func(s *scene) {
			late(true)(s)
			for i := range s.Trace {
				if s.Trace[i].Point == point("outcome.after") {
					s.Trace[i].Point = point("observation.after")
				}
			}
		}, verdict: Invalid, checks: []string{"EVIDENCE"}},
		{name: "the other's observation is the end where nobody may send twice", profile: refund.ProfileOpaque, change: func(s *scene) {
			late(true)(s)
			for i := range s.Trace {
				if s.Trace[i].Point == point("outcome.after") {
					s.Trace[i].Point = point("observation.after")
				}
			}
		}, verdict: Pass},
	})
}

func TestAnExportWithoutFactsDecidesNothing(t *testing.T) {
	judgeAll(t, []one{{name: "no facts", change: func(s *scene) {
		s.change("r1", func(e *refund.Export) { e.Facts = nil })
	}, verdict: Inconclusive, checks: []string{"I10"}}})
}
