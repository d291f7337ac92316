package comparison

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/faults/scenarios"
	"refundlab/refund"
)

// committed unpacks the evidence beside REPORT.md once for all tests.
var committed = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "committed-")
	if err != nil {
		return "", err
	}
	pack, err := os.Open("../report/evidence.tar.gz")
	if err != nil {
		return "", err
	}
	defer pack.Close()
	return dir, Unpack(pack, dir)
})

// expectations are those of the catalogue, by cell.
var expectations = sync.OnceValue(func() map[evidence.Cell]faults.Expectation {
	cells := map[evidence.Cell]faults.Expectation{}
	for _, e := range scenarios.Matrix().Cells {
		cells[CellOf(e)] = e
	}
	return cells
})

func expectationOf(cell evidence.Cell) faults.Expectation { return expectations()[cell] }

// recorded loads one committed trial; each call gives its own copy.
func recorded(t *testing.T, cell evidence.Cell) evidence.Record {
	t.Helper()
	dir, err := committed()
	require.NoError(t, err)
	record, err := evidence.Load(dir, cell, "")
	require.NoError(t, err)
	return record
}

// Whatever the committed trials recorded, on both engines and under every profile, is a path of the model.
func TestEveryCommittedTraceIsAPathOfTheModel(t *testing.T) {
	dir, err := committed()
	require.NoError(t, err)
	cells, err := evidence.Cells(dir)
	require.NoError(t, err)
	require.Greater(t, len(cells), 300)
	for _, cell := range cells {
		require.Empty(t, pathOfModel(newTrial(recorded(t, cell), expectationOf(cell))), cell.Dir())
	}
}

// tampered is a trial that nobody can have recorded under these rules.
type tampered struct {
	name   string
	cell   evidence.Cell
	change func(*evidence.Record)
	says   string
}

// Without these the check could accept everything. Each takes a real trial and changes what a broken engine, provider or
// journal would have left.
func TestWhatIsNoPathIsRefused(t *testing.T) {
	cell := func(scenario, engine string, profile refund.ProfileName, arm evidence.Arm) evidence.Cell {
		return evidence.Cell{Scenario: scenario, Engine: engine, Profile: profile, Arm: arm}
	}
	late := "l06-6-old-worker-late"
	for _, tt := range []tampered{
		{"a second send after not found", cell(late, "handrolled", refund.ProfileLookup, evidence.ArmFault), func(r *evidence.Record) {
			renamed(r, "b", "lookup-call", "provider-call")
		}, "its step is LOOK_UP"},
		{"a second intent where nobody may send twice", cell(late, "temporal", refund.ProfileLookup, evidence.ArmFault), func(r *evidence.Record) {
			edited(r, refund.FactIntent, 2, func(f *refund.Fact) { f.Ref = "SEND" })
		}, "opens round 2 to SEND, and the rule allows LOOK_UP"},
		{"a second attempt where nobody may send twice", cell(late, "temporal", refund.ProfileFull, evidence.ArmFault), func(r *evidence.Record) {
			as(r, refund.ProfileLookup)
		}, "a second send"},
		{"an outcome by an old owner", cell(late, "handrolled", refund.ProfileFull, evidence.ArmFault), func(r *evidence.Record) {
			edited(r, refund.FactOutcome, 1, func(f *refund.Fact) { f.Fence.Term-- })
		}, "does not hold the run"},
		{"an outcome by an attempt that is over", cell(late, "temporal", refund.ProfileFull, evidence.ArmFault), func(r *evidence.Record) {
			edited(r, refund.FactOutcome, 1, func(f *refund.Fact) { f.Fence.Seq = 2 })
		}, "attempt 1.2 is over, or has called nobody"},
		{"a second proposal", cell(late, "handrolled", refund.ProfileFull, evidence.ArmClean), func(r *evidence.Record) {
			repeated(r, refund.FactProposal)
		}, "is a second proposal"},
		{"a submit without an intent", cell(late, "handrolled", refund.ProfileFull, evidence.ArmClean), func(r *evidence.Record) {
			removed(r, refund.FactIntent)
			uncrossed(r, "intent")
		}, "is ready and its step is SEND"},
		{"a submit before its intent", cell(late, "handrolled", refund.ProfileFull, evidence.ArmClean), func(r *evidence.Record) {
			swapped(r, "intent", "provider-call")
		}, "is ready and its step is SEND"},
		{"a submit of a round that nobody opened", cell(late, "temporal", refund.ProfileFull, evidence.ArmClean), func(r *evidence.Record) {
			removed(r, refund.FactIntent)
		}, "round 1 was not opened"},
		{"a confirmation without a receipt", cell(late, "handrolled", refund.ProfileFull, evidence.ArmClean), func(r *evidence.Record) {
			r.Provider.Received = nil
		}, "nothing that 2.0 can have seen allows it"},
		{"a confirmation without a receipt, on Temporal", cell(late, "temporal", refund.ProfileFull, evidence.ArmClean), func(r *evidence.Record) {
			r.Provider.Received = nil
		}, "nothing that 1.1 can have seen allows it"},
		{"a rejection that nobody gave", cell(late, "handrolled", refund.ProfileFull, evidence.ArmClean), func(r *evidence.Record) {
			edited(r, refund.FactOutcome, 1, func(f *refund.Fact) { f.Code = "INSUFFICIENT_BALANCE" })
		}, "nothing that 2.0 can have seen allows it"},
		{"an approval before the proposal", cell(late, "handrolled", refund.ProfileFull, evidence.ArmClean), func(r *evidence.Record) {
			removed(r, refund.FactProposal)
			uncrossed(r, "proposal")
		}, "the verdict ACCEPTED, and the rule does not"},
		{"an approval after the deadline", cell(late, "handrolled", refund.ProfileFull, evidence.ArmClean), func(r *evidence.Record) {
			edited(r, refund.FactVerdict, 1, func(f *refund.Fact) { f.At += 30 * 24 * 3600 * 1000 })
		}, "the verdict ACCEPTED, and the rule does not"},
		{"an approval by the requester", cell(late, "temporal", refund.ProfileFull, evidence.ArmClean), func(r *evidence.Record) {
			export := r.Exports["r1"]
			decision := *export.View.Facts.Decision
			decision.Approver = export.View.Facts.Intake.Request.Requester
			export.View.Facts.Decision = &decision
			r.Exports["r1"] = export
		}, "the verdict ACCEPTED, and the rule does not"},
		{"a stale fence that the provider took", cell(late, "handrolled", refund.ProfileFull, evidence.ArmFault), func(r *evidence.Record) {
			answered := &r.Provider.Received[len(r.Provider.Received)-1]
			answered.Outcome, answered.Code = "receipt", ""
		}, "the provider's promise does not allow"},
		{"a second commit", cell(late, "handrolled", refund.ProfileFull, evidence.ArmFault), func(r *evidence.Record) {
			answered := &r.Provider.Received[len(r.Provider.Received)-1]
			answered.Outcome, answered.Code = "committed", ""
		}, "the provider's promise does not allow"},
		{"a tombstone that did not hold", cell("late-after-close", "handrolled", refund.ProfileFull, evidence.ArmFault), func(r *evidence.Record) {
			answered := &r.Provider.Received[len(r.Provider.Received)-1]
			answered.Outcome, answered.Code = "committed", ""
		}, "the provider's promise does not allow"},
		{"a submit without a look at the order", cell(late, "handrolled", refund.ProfileRetention, evidence.ArmFault), func(r *evidence.Record) {
			looksLost(r, "b", 1)
		}, "the order was not read for it"},
		{"a submit without a look at the order, on Temporal", cell(late, "temporal", refund.ProfileRetention, evidence.ArmFault), func(r *evidence.Record) {
			looksLost(r, "b", 1)
		}, "the order was not read for it"},
		{"a look at the order before the intent and none after it", cell(late, "handrolled", refund.ProfileLookup, evidence.ArmClean), func(r *evidence.Record) {
			looksLost(r, "a", 2)
		}, "the order was not read for it"},
		{"a look at the order before the round and none in it", cell(late, "temporal", refund.ProfileLookup, evidence.ArmClean), func(r *evidence.Record) {
			looksLost(r, "a", 2)
		}, "the order was not read for it"},
		{"one look at the order for two attempts", cell("l06-2-answer-lost-after-commit", "temporal", refund.ProfileFull, evidence.ArmFault), func(r *evidence.Record) {
			looksLost(r, "a", 3)
		}, "the order was not read for it"},
		{"a first send by an old owner when the provider has forgotten the second", cell(late, "handrolled", refund.ProfileRetention, evidence.ArmFault), func(r *evidence.Record) {
			remembering(r, time.Minute)
			sentLater(r, "2.0", 2*time.Minute)
		}, "what was sent first may be forgotten"},
		{"a second send when the provider has forgotten the first", cell(late, "handrolled", refund.ProfileRetention, evidence.ArmFault), func(r *evidence.Record) {
			remembering(r, time.Minute)
			stoodStill(r, "3.0", 2*time.Minute)
		}, "what was sent first may be forgotten"},
		{"a first attempt when the provider has forgotten a later one", cell(late, "temporal", refund.ProfileRetention, evidence.ArmFault), func(r *evidence.Record) {
			remembering(r, time.Minute)
			sentLater(r, "1.1", 2*time.Minute)
		}, "what was sent first may be forgotten"},
		{"a later attempt when the provider has forgotten the first", cell(late, "temporal", refund.ProfileRetention, evidence.ArmFault), func(r *evidence.Record) {
			remembering(r, time.Minute)
			stoodStill(r, "1.4", 2*time.Minute)
		}, "what was sent first may be forgotten"},
		{"a message that nobody sent", cell(late, "temporal", refund.ProfileFull, evidence.ArmClean), func(r *evidence.Record) {
			uncrossed(r, "provider-call")
		}, "nobody had sent it"},
		{"a claim under a generation that was given before", cell(late, "handrolled", refund.ProfileFull, evidence.ArmFault), func(r *evidence.Record) {
			for i := range r.Trace {
				if r.Trace[i].Process == "b" && r.Trace[i].Fence == "3.0" {
					r.Trace[i].Fence = "2.0"
				}
			}
		}, "generation 2 was given before"},
		{"an end for want of a decision that is there", cell(late, "temporal", refund.ProfileFull, evidence.ArmClean), func(r *evidence.Record) {
			edited(r, refund.FactIntent, 1, func(f *refund.Fact) { f.Kind, f.Ref, f.Fence = refund.FactExpiry, "", refund.Fence{} })
		}, "it has one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			record := recorded(t, tt.cell)
			require.Empty(t, pathOfModel(newTrial(record, expectationOf(tt.cell))), "before the change")
			tt.change(&record)
			found := pathOfModel(newTrial(record, expectationOf(tt.cell)))
			require.Len(t, found, 1)
			require.Contains(t, found[0], tt.says)
		})
	}
}

// An attempt that the server has given up may be about to say how it ended, and die there: the record of its end is the server's own.
func TestWhatDiesBeforeItsWordIsNotTheRecordBeforeIt(t *testing.T) {
	cell := evidence.Cell{Scenario: "l06-6-old-worker-late", Engine: "temporal", Profile: refund.ProfileLookup, Arm: evidence.ArmFault}
	record := recorded(t, cell)
	last := record.Trace[len(record.Trace)-1]
	run := record.Exports["r1"]
	require.True(t, slices.ContainsFunc(run.Facts, func(f refund.Fact) bool {
		return f.Kind == refund.FactObservation && f.Code == string(refund.ObservedAmbiguous) && f.Fence == refund.Fence{Term: 1, Seq: 1}
	}))
	word := evidence.Crossing{Seq: last.Seq + 1, At: last.At, Nth: 1, Announcement: faults.Announcement{
		Process: "a", Point: point("observation.before"), Operation: string(run.View.Facts.Intake.OperationID),
		Detail: map[string]string{"activity": "Submit", faults.DetailAttempt: "1"},
	}}
	record.Trace = append(record.Trace, word)
	require.Empty(t, pathOfModel(newTrial(record, expectationOf(cell))))
}

// The check is one of the judge's.
func TestTheJudgeFollowsThePath(t *testing.T) {
	sketched := checks
	checks = allChecks
	t.Cleanup(func() { checks = sketched })
	cell := evidence.Cell{Scenario: "l06-6-old-worker-late", Engine: "temporal", Profile: refund.ProfileFull, Arm: evidence.ArmClean}
	record := recorded(t, cell)
	require.Equal(t, Pass, JudgeRecord(record, expectationOf(cell)).Verdict)
	repeated(&record, refund.FactProposal)
	judged := JudgeRecord(record, expectationOf(cell))
	require.Equal(t, Fail, judged.Verdict)
	require.Contains(t, judged.Findings[len(judged.Findings)-1].Text, "second proposal")
}

// What is too large for the walk is neither a path nor a violation, and no pass.
func TestATraceThatIsNotFollowedIsInconclusive(t *testing.T) {
	cell := evidence.Cell{Scenario: "l06-6-old-worker-late", Engine: "handrolled", Profile: refund.ProfileFull, Arm: evidence.ArmClean}
	for _, tt := range []struct {
		name   string
		change func(*evidence.Record)
		says   string
	}{
		{"as it was recorded", func(*evidence.Record) {}, ""},
		{"five more owners", func(r *evidence.Record) { crowded(r, 5) }, ""},
		{"nine more owners", func(r *evidence.Record) { crowded(r, 9) }, "more than 8 owners"},
		{"too many requests", func(r *evidence.Record) {
			for range 64 {
				r.Provider.Received = append(r.Provider.Received, r.Provider.Received[0])
			}
		}, "65 requests arrived"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			record := recorded(t, cell)
			tt.change(&record)
			trial := newTrial(record, expectationOf(cell))
			require.Empty(t, pathOfModel(trial))
			verdict, findings := undecided(trial)
			if tt.says == "" {
				require.Equal(t, Pass, verdict, findings)
				return
			}
			require.Equal(t, Inconclusive, verdict)
			require.Len(t, findings, 1)
			require.Equal(t, "MODEL", findings[0].Check)
			require.Contains(t, findings[0].Text, tt.says)
		})
	}
}

// A send that is late, but not later than the provider's memory, is a path: only the tampered ones above are none.
func TestASendInsideTheProvidersMemoryIsAPath(t *testing.T) {
	for engine, first := range map[string]string{"handrolled": "2.0", "temporal": "1.1"} {
		cell := evidence.Cell{Scenario: "l06-6-old-worker-late", Engine: engine, Profile: refund.ProfileRetention, Arm: evidence.ArmFault}
		record := recorded(t, cell)
		remembering(&record, 3*time.Minute)
		sentLater(&record, first, 2*time.Minute)
		require.Empty(t, pathOfModel(newTrial(record, expectationOf(cell))), engine)
	}
}

// looksLost loses the answer to the n-th look of a process at the order.
func looksLost(r *evidence.Record, process string, n int) {
	for i := range r.Trace {
		if c := &r.Trace[i]; c.Process == process && c.Point == point("order-call.after") {
			if n--; n == 0 {
				c.Reply = faults.Lose
			}
		}
	}
}

// remembering shortens what the provider remembers.
func remembering(r *evidence.Record, retention time.Duration) {
	export := r.Exports["r1"]
	export.View.Facts.Intake.Terms.Retention = retention.Milliseconds()
	r.Exports["r1"] = export
}

// sentLater puts a submit after all that its owner's successor did, and the provider's answer to it with it. Of the owner nothing else is
// seen then.
func sentLater(r *evidence.Record, fence string, by time.Duration) {
	of := func(boundaries ...faults.Boundary) func(evidence.Crossing) bool {
		return func(c evidence.Crossing) bool {
			return c.Fence == fence && slices.Contains(boundaries, c.Point.Boundary)
		}
	}
	late := filter(r.Trace, of("provider-call", "provider-received", "provider-commit"))
	moves := of("provider-call", "provider-received", "provider-commit", "renewal", "observation")
	r.Trace = filter(r.Trace, func(c evidence.Crossing) bool { return !moves(c) })
	for _, c := range late {
		c.At += refund.Instant(by.Milliseconds())
		r.Trace = append(r.Trace, c)
	}
}

// stoodStill lets an owner stand still before its submit, and everything from there on be later.
func stoodStill(r *evidence.Record, fence string, by time.Duration) {
	later := refund.Instant(by.Milliseconds())
	from := slices.IndexFunc(r.Trace, func(c evidence.Crossing) bool { return c.Fence == fence && c.Point == point("provider-call.before") })
	at := r.Trace[from].At
	for i := range r.Trace[from:] {
		r.Trace[from+i].At += later
	}
	for i := range r.Exports["r1"].Facts {
		if fact := &r.Exports["r1"].Facts[i]; fact.At >= at {
			fact.At += later
		}
	}
	for i := range r.Provider.Received {
		if received := &r.Provider.Received[i]; received.At >= at {
			received.At += later
		}
	}
}

// crowded lets so many owners hold the run before its first one, all of which are heard of again.
func crowded(r *evidence.Record, owners int) {
	var claims, again []evidence.Crossing
	for _, c := range r.Trace {
		if c.Point == point("claim.after") {
			for n := range owners {
				c.Process, c.Fence, c.Point = fmt.Sprintf("x%d", n), fmt.Sprintf("0.%d", n+1), point("claim.after")
				claims = append(claims, c)
				c.Point = point("renewal.before")
				again = append(again, c)
			}
			break
		}
	}
	r.Trace = slices.Concat(claims, r.Trace, again)
}

// edited changes the n-th fact of a kind.
func edited(r *evidence.Record, kind refund.FactKind, n int, edit func(*refund.Fact)) {
	for i := range r.Exports["r1"].Facts {
		if fact := &r.Exports["r1"].Facts[i]; fact.Kind == kind {
			if n--; n == 0 {
				edit(fact)
				return
			}
		}
	}
}

func removed(r *evidence.Record, kind refund.FactKind) {
	export := r.Exports["r1"]
	export.Facts = filter(export.Facts, func(f refund.Fact) bool { return f.Kind != kind })
	r.Exports["r1"] = export
}

func repeated(r *evidence.Record, kind refund.FactKind) {
	export := r.Exports["r1"]
	var facts []refund.Fact
	for _, fact := range export.Facts {
		facts = append(facts, fact)
		if fact.Kind == kind {
			facts = append(facts, fact)
		}
	}
	export.Facts = facts
	r.Exports["r1"] = export
}

// uncrossed takes every crossing of a boundary out of the trace.
func uncrossed(r *evidence.Record, boundary faults.Boundary) {
	r.Trace = filter(r.Trace, func(c evidence.Crossing) bool { return c.Point.Boundary != boundary })
}

// renamed lets a process announce one boundary as another.
func renamed(r *evidence.Record, process string, from, to faults.Boundary) {
	for i := range r.Trace {
		if c := &r.Trace[i]; c.Process == process && c.Point.Boundary == from {
			c.Point.Boundary = to
		}
	}
}

// swapped exchanges two boundaries.
func swapped(r *evidence.Record, one, other faults.Boundary) {
	for i := range r.Trace {
		switch c := &r.Trace[i]; c.Point.Boundary {
		case one:
			c.Point.Boundary = other
		case other:
			c.Point.Boundary = one
		}
	}
}

// as lets a trial have been played under another profile.
func as(r *evidence.Record, profile refund.ProfileName) {
	r.Trial.Profile = profile
	export := r.Exports["r1"]
	export.View.Facts.Intake.Terms.Profile = profile
	text, _ := json.Marshal(export.View)
	_ = json.Unmarshal(text, &export.View)
	r.Exports["r1"] = export
}

// A worker that is frozen right behind the commit of its claim announces it when others have claimed the run since.
func TestAClaimThatIsAnnouncedLateCameBeforeTheNextOwners(t *testing.T) {
	for name, c := range map[string]struct {
		begun int64 // the late one
		order []string
	}{
		"begun before the next owner's": {1, []string{"1.0", "2.0"}},
		"begun after it":                {4, []string{"2.0", "1.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			crossing := func(seq int64, process, fence string, when faults.When) evidence.Crossing {
				return evidence.Crossing{Seq: seq, Announcement: faults.Announcement{Process: process, Fence: fence, Point: faults.Point{Boundary: faults.Claim, When: when}}}
			}
			trial := &trial{}
			trial.Trace = []evidence.Crossing{
				crossing(c.begun, "a", "", faults.Before), crossing(2, "b", "", faults.Before), crossing(3, "b", "2.0", faults.After), crossing(5, "a", "1.0", faults.After),
			}
			p := &path{trial: trial, crossings: slices.Clone(trial.Trace[2:])}
			p.orderClaims()
			require.Len(t, p.crossings, 2)
			order := []string{p.crossings[0].Fence, p.crossings[1].Fence}
			require.Equal(t, c.order, order)
		})
	}
}
