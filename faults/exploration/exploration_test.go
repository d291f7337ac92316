package exploration

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

var budget = evidence.Budget{CallTimeoutMS: 1500, LeaseMS: 1500, StartToCloseMS: 4000, WorkflowTaskTimeoutMS: 2000, BackoffMS: 100, BoundMS: 45_000}

// stored reads a trace of the approved flow that a real run left: a line for each crossing, with process, point and fence.
func stored(t *testing.T, engine string) []evidence.Crossing {
	t.Helper()
	text, err := os.ReadFile("testdata/approved-" + engine + ".trace")
	require.NoError(t, err)
	return crossings(t, strings.Split(strings.TrimSpace(string(text)), "\n")...)
}

// crossings reads such lines; a last word "refused" marks one that the far side refused, "died" one that was never let go.
func crossings(t *testing.T, lines ...string) []evidence.Crossing {
	t.Helper()
	var trace []evidence.Crossing
	nth := map[string]int{}
	for i, line := range lines {
		words := strings.Fields(line)
		var point faults.Point
		require.NoError(t, point.UnmarshalText([]byte(words[1])))
		c := evidence.Crossing{Seq: int64(i + 1), Reply: faults.Continue, Announcement: faults.Announcement{Process: words[0], Point: point, Operation: "op"}}
		for _, word := range words[2:] {
			switch word {
			case "refused":
				c.Detail = map[string]string{faults.DetailRefused: "task not found"}
			case "died":
				c.Reply = ""
			default:
				c.Fence = word
			}
		}
		key := words[0] + words[1]
		nth[key]++
		c.Nth = nth[key]
		trace = append(trace, c)
	}
	return trace
}

// placed finds the place of a process at a point for the n-th time.
func placed(t *testing.T, places []Place, process, point string, nth int) Place {
	t.Helper()
	i := slices.IndexFunc(places, func(p Place) bool { return p.Process == process && p.Point.String() == point && p.Nth == nth })
	require.GreaterOrEqual(t, i, 0, "no place %s at %s #%d", process, point, nth)
	return places[i]
}

func TestAPlaceKnowsWhatADeadWorkerLeavesThere(t *testing.T) {
	for _, c := range []struct {
		engine, process, point string
		nth                    int
		stage                  Stage
		caller                 string
	}{
		{Handrolled, "request-r1", "intake.before", 1, Unproposed, ""},
		{Handrolled, "a", "proposal.before", 1, Unproposed, ""},
		{Handrolled, "a", "proposal.after", 1, Unsent, ""},
		{Handrolled, "a", "intent.before", 1, Unsent, ""},
		{Handrolled, "a", "intent.after", 1, Sent, ""},
		{Handrolled, "a", "provider-call.before", 1, Sent, ""},
		{Handrolled, "provider", "provider-received.before", 1, Sent, "a"},
		{Handrolled, "provider", "provider-commit.before", 1, Sent, "a"},
		{Handrolled, "provider", "provider-commit.after", 1, Committed, "a"},
		{Handrolled, "a", "provider-call.after", 1, Committed, ""},
		{Handrolled, "a", "outcome.before", 1, Committed, ""},
		{Handrolled, "a", "store-commit.before", 1, Committed, ""},
		{Handrolled, "a", "outcome.after", 1, Known, ""},
		{Handrolled, "a", "notified.after", 1, Known, ""},
		{Temporal, "a", "intent.before", 1, Unsent, ""},
		{Temporal, "a", "outcome.before", 1, Committed, ""},
		{Temporal, "a", "finish.after", 1, Known, ""},
	} {
		p := placed(t, Places(stored(t, c.engine), 0), c.process, c.point, c.nth)
		require.Equal(t, c.stage, p.Stage, p.String())
		require.Equal(t, c.caller, p.Caller, p.String())
	}
}

func TestWhatWasRefusedDoesNotMoveTheRunOn(t *testing.T) {
	places := Places(crossings(t, "a proposal.after", "a intent.before 1.0", "a outcome.before 1.0", "a outcome.after 1.0 refused", "b claim.before"), 0)
	require.Equal(t, Sent, placed(t, places, "b", "claim.before", 1).Stage)
}

func TestWhoDiesBeforeARecordRecordsNothing(t *testing.T) {
	places := Places(crossings(t, "a proposal.after", "a intent.before died", "b intent.before", "b outcome.before died", "c claim.before"), 0)
	require.Equal(t, Unsent, placed(t, places, "b", "intent.before", 1).Stage)
	require.Equal(t, Sent, placed(t, places, "c", "claim.before", 1).Stage)
}

// Under a shared transaction the owner's commit at the ledger is its outcome.
func TestInsideTheSharedTransactionNothingIsThereYet(t *testing.T) {
	places := Places(crossings(t, "a proposal.after", "a provider-commit.before 2.0", "a store-commit.before", "b claim.before", "a provider-commit.after 2.0"), 0)
	require.Equal(t, Unsent, placed(t, places, "a", "store-commit.before", 1).Stage)
	require.Equal(t, Unsure, placed(t, places, "b", "claim.before", 1).Stage)
	require.Equal(t, Known, placed(t, places, "a", "provider-commit.after", 1).Stage)
	places = Places(crossings(t, "a proposal.after", "a provider-commit.before 2.0", "a store-commit.before", "a provider-commit.after 2.0 refused"), 0)
	require.Equal(t, Unsent, placed(t, places, "a", "provider-commit.after", 1).Stage)
}

// What comes behind the end of a flow's own part is the first flow again, and is hit there.
func TestTheSlowPartEndsWithTheProposal(t *testing.T) {
	flow, err := FlowNamed(Slow)
	require.NoError(t, err)
	for _, c := range []struct {
		engine, profile string
		trace           []string
		own             []string
	}{
		{Temporal, "opaque", []string{"a model-call.before", "a model-call.after", "a renewal.before", "a proposal.before", "a proposal.after", "a finish.before"},
			[]string{"a at renewal.before #1", "a at proposal.before #1", "a at proposal.after #1"}},
		{Handrolled, "local", []string{"a model-call.after", "a renewal.before", "a proposal.after", "bob decision.before"}, []string{"a at renewal.before #1", "a at proposal.after #1"}},
		{Handrolled, "stale", []string{"a proposal.after", "a provider-call.after", "a renewal.before", "a outcome.before"}, []string{"a at renewal.before #1", "a at outcome.before #1"}},
	} {
		profile, err := refund.ProfileNamed(refund.ProfileName(c.profile))
		require.NoError(t, err)
		record := evidence.Record{Trace: crossings(t, c.trace...)}
		record.Trial.Schedule = flow.rules(course{engine: c.engine, profile: profile})
		slow := record.Trial.Schedule[0]
		i := slices.IndexFunc(record.Trace, func(x evidence.Crossing) bool { return x.Point == slow.Point })
		require.GreaterOrEqual(t, i, 0, "%s %s: %s", c.engine, c.profile, slow.Point)
		record.Trial.Fired = []evidence.Fired{{Rule: slow.Name, Seq: record.Trace[i].Seq}}
		places, complete := flow.Places(record)
		require.True(t, complete)
		require.Equal(t, c.own, texts(places))
	}
}

func TestBetweenTheTwoSidesOfARecordNobodyElseCanBeSure(t *testing.T) {
	places := Places(crossings(t, "a proposal.after", "a intent.before", "a outcome.before", "b workflow-task.before", "a outcome.after", "b workflow-task.after"), 0)
	require.Equal(t, Unsure, placed(t, places, "b", "workflow-task.before", 1).Stage)
	require.Equal(t, Known, placed(t, places, "b", "workflow-task.after", 1).Stage)
}

func TestOnlyPlacesThatEveryTraceHoldsAreStable(t *testing.T) {
	first := Places(crossings(t, "a claim.before", "a claim.before", "a proposal.after"), 0)
	second := Places(crossings(t, "a claim.before", "a proposal.after", "a renewal.before"), 0)
	stable, unstable := Stable([][]Place{first, second})
	require.Equal(t, []string{"a at claim.before #1", "a at proposal.after #1"}, texts(stable))
	require.Equal(t, []string{"a at claim.before #2", "a at renewal.before #1"}, texts(unstable))
}

func TestPlacesWhoseStageDiffersAreUnsure(t *testing.T) {
	stable, _ := Stable([][]Place{
		Places(crossings(t, "bob reply.before", "a proposal.after"), 0),
		Places(crossings(t, "a proposal.after", "bob reply.before"), 0),
	})
	require.Equal(t, Unsure, placed(t, stable, "bob", "reply.before", 1).Stage)
}

func texts[T fmt.Stringer](list []T) (texts []string) {
	for _, item := range list {
		texts = append(texts, item.String())
	}
	return texts
}

// at makes a trial of the approved flow with its faults at places of the stored trace, written "kill a outcome.before 1", with
// the victim in the place of the process.
func at(t *testing.T, engine string, profile refund.ProfileName, flow string, hits ...string) Trial {
	t.Helper()
	trial := Trial{Flow: flow, Engine: engine, Profile: string(profile)}
	for _, hit := range hits {
		var action, victim, point string
		var nth int
		_, err := fmt.Sscan(hit, &action, &victim, &point, &nth)
		require.NoError(t, err)
		process := victim
		if strings.HasPrefix(point, "provider-received") || strings.HasPrefix(point, "provider-commit") {
			process = faults.LineProvider
		}
		p := Place{Process: process, Nth: nth, Stage: Unsent}
		require.NoError(t, p.Point.UnmarshalText([]byte(point)))
		if process == "a" || process == faults.LineProvider || KindOf(process) == Client && !strings.Contains(process, againMark) {
			p = placed(t, Places(stored(t, engine), 0), process, point, nth)
		}
		trial = trial.with(Fault{p, faults.Action(action), victim})
	}
	return trial
}

func TestWhatIsDoneAboutAFault(t *testing.T) {
	for _, c := range []struct {
		hits  []string
		steps [][]string
	}{
		{[]string{"kill a outcome.before 1"}, [][]string{{"start b"}}},
		{[]string{"kill a provider-commit.before 1"}, [][]string{{"start b"}}},
		{[]string{"kill provider provider-commit.before 1"}, [][]string{{"restart provider"}}},
		{[]string{"kill request-r1 intake.before 1"}, [][]string{{"request request-r1.try-2 r1 o-1 4200 minor units (in the background)"}}},
		{[]string{"kill bob decision.after 1"}, [][]string{{"approve bob.try-2 r1 d1 by bob --wait 80s (in the background)"}}},
		{[]string{"freeze a intent.after 1"}, [][]string{{"start b", "lull", "thaw a", "land a"}}},
		{[]string{"freeze a store-commit.before 1"}, [][]string{{"pass r1 ownership", "thaw a", "land a", "start b"}}},
		{[]string{"freeze provider provider-received.before 1"}, [][]string{{"await a provider-call.after #1", "thaw provider"}}},
		{[]string{"freeze bob reply.before 1"}, [][]string{{"approve bob.try-2 r1 d1 by bob --wait 80s (in the background)", "lull", "thaw bob", "land bob"}}},
		{[]string{"freeze a provider-received.before 1"}, [][]string{{"start b", "lull", "thaw a", "land a"}}},
		{[]string{"freeze provider provider-received.before 1", "freeze a provider-received.after 1"},
			[][]string{{"await a provider-call.after #1", "thaw provider"}, {"pass r1 ownership", "thaw a", "land a", "start b"}}},
		{[]string{"kill a intent.after 1", "kill b claim.after 1"}, [][]string{{"start b"}, {"start c"}}},
		{[]string{"kill bob decision.before 1", "kill bob.try-2 decision.before 1"},
			[][]string{{"approve bob.try-2 r1 d1 by bob --wait 80s (in the background)"}, {"approve bob.try-3 r1 d1 by bob --wait 80s (in the background)"}}},
		{[]string{"kill request-r1 intake.after 1", "kill a intent.after 1"},
			[][]string{{"request request-r1.try-2 r1 o-1 4200 minor units (in the background)"}, {"start b"}}},
	} {
		t.Run(strings.Join(c.hits, ", "), func(t *testing.T) {
			plan, err := at(t, Handrolled, refund.ProfileFull, Approved, c.hits...).Plan(budget)
			require.NoError(t, err)
			require.Len(t, plan.Reactions, len(c.steps))
			for i, steps := range c.steps {
				require.Equal(t, steps, texts(plan.Reactions[ruleName(i)]))
			}
		})
	}
}

func TestARuleHitsTheWorkerWhoseRequestIsHeldAtTheProvider(t *testing.T) {
	plan, err := at(t, Handrolled, refund.ProfileFull, Approved, "kill a provider-commit.before 1").Plan(budget)
	require.NoError(t, err)
	require.Equal(t, "provider", plan.Schedule[0].Process)
	require.Equal(t, "a", plan.Schedule[0].Victim)
}

// A parked run says nothing, so silence must outlast every recovery that may still be due; the more so while a frozen worker
// swallows tasks.
func TestSilenceOutlastsEveryTimeOut(t *testing.T) {
	for _, engine := range []string{Temporal, Handrolled} {
		trial := at(t, engine, refund.ProfileOpaque, Approved, "freeze a intent.after 1")
		plan, err := trial.Plan(budget)
		require.NoError(t, err)
		recovery := budget.LeaseMS
		if engine == Temporal {
			recovery = budget.StartToCloseMS + timerShift
		}
		require.Greater(t, plan.Script[len(plan.Script)-1].QuietMS, recovery)
		require.Greater(t, plan.Reactions[ruleName(0)][1].QuietMS, recovery)
	}
}

const (
	c1 = "CONFIRMED 1"
	u0 = "UNKNOWN 0"
	u1 = "UNKNOWN 1"
	pf = "REJECTED(PROPOSAL_FAILED) 0"
)

func TestHowATrialMayEnd(t *testing.T) {
	for _, c := range []struct {
		engine  string
		profile refund.ProfileName
		flow    string
		hits    []string
		ends    []string
	}{
		// Whoever is recognised by its operation may send as often as it likes.
		{Handrolled, refund.ProfileFull, Approved, []string{"kill a provider-commit.after 1"}, []string{c1}},
		{Handrolled, refund.ProfileRetention, Approved, []string{"freeze a provider-call.before 1"}, []string{c1}},
		{Temporal, refund.ProfileLenient, Approved, []string{"kill a intent.after 1", "kill b order-call.before 1"}, []string{c1}},
		{Handrolled, refund.ProfileLocal, Approved, []string{"kill a outcome.before 1"}, []string{c1}},
		// Elsewhere the place of the crash decides, and nobody sends twice.
		{Handrolled, refund.ProfileOpaque, Approved, []string{"kill a intent.before 1"}, []string{c1}},
		{Handrolled, refund.ProfileOpaque, Approved, []string{"kill a intent.after 1"}, []string{u0}},
		{Handrolled, refund.ProfileOpaque, Approved, []string{"kill a provider-commit.before 1"}, []string{u0}},
		{Handrolled, refund.ProfileOpaque, Approved, []string{"kill a provider-received.before 1"}, []string{u1}},
		{Handrolled, refund.ProfileOpaque, Approved, []string{"kill a provider-commit.after 1"}, []string{u1}},
		{Handrolled, refund.ProfileOpaque, Approved, []string{"kill a outcome.before 1"}, []string{u1}},
		{Handrolled, refund.ProfileOpaque, Approved, []string{"kill a outcome.after 1"}, []string{c1}},
		{Handrolled, refund.ProfileOpaque, Approved, []string{"kill provider provider-commit.before 1"}, []string{u0}},
		{Handrolled, refund.ProfileLookup, Approved, []string{"kill a intent.after 1"}, []string{u0}},
		{Handrolled, refund.ProfileLookup, Approved, []string{"kill a provider-commit.after 1"}, []string{c1}},
		{Handrolled, refund.ProfileStale, Approved, []string{"kill a provider-commit.after 1"}, []string{u1}},
		// A client's death is nobody's business but its own.
		{Temporal, refund.ProfileOpaque, Approved, []string{"kill bob decision.after 1"}, []string{c1}},
		{Temporal, refund.ProfileOpaque, Approved, []string{"freeze request-r1 intake.before 1"}, []string{c1}},
		// A worker that is let go late may still send, or not.
		{Handrolled, refund.ProfileOpaque, Approved, []string{"freeze a intent.after 1"}, []string{u0}},
		{Handrolled, refund.ProfileOpaque, Approved, []string{"freeze a order-call.before 2"}, []string{u0}},
		{Handrolled, refund.ProfileOpaque, Approved, []string{"freeze provider provider-commit.before 1"}, []string{u1, u0}},
		{Temporal, refund.ProfileOpaque, Approved, []string{"freeze a intent.after 1"}, []string{u1, u0}},
		{Handrolled, refund.ProfileOpaque, Approved, []string{"freeze a intent.before 1"}, []string{c1}},
		{Handrolled, refund.ProfileOpaque, Approved, []string{"freeze a store-commit.before 1"}, []string{c1}},
		{Handrolled, refund.ProfileLookup, Approved, []string{"freeze a provider-call.before 1"}, []string{c1}},
		{Temporal, refund.ProfileOpaque, Approved, []string{"freeze a intent.before 1"}, []string{c1, u0}},
		{Temporal, refund.ProfileOpaque, Approved, []string{"kill a workflow-task.after 2"}, []string{c1}},
		{Temporal, refund.ProfileOpaque, Approved, []string{"kill a workflow-task.after 2", "kill b provider-commit.after 1"}, []string{u1}},
		{Handrolled, refund.ProfileOpaque, Approved, []string{"kill a claim.after 1"}, []string{c1}},
		{Temporal, refund.ProfileFull, Approved, []string{"freeze a model-call.before 1"}, []string{c1, pf}},
		// The first fault that leaves something open decides.
		{Handrolled, refund.ProfileOpaque, Approved, []string{"kill a intent.after 1", "kill b claim.after 1"}, []string{u0}},
		{Handrolled, refund.ProfileOpaque, Approved, []string{"kill bob reply.after 1", "kill a outcome.before 1"}, []string{u1}},
		// A request that has arrived outlives its sender, and not always its receiver.
		{Handrolled, refund.ProfileOpaque, Approved, []string{"kill a provider-received.before 1", "kill provider provider-commit.before 1"}, []string{u1, u0}},
		{Handrolled, refund.ProfileOpaque, Approved, []string{"kill a provider-received.before 1", "kill b claim.before 1"}, []string{u1}},
		// The other flows have one end each.
		{Handrolled, refund.ProfileOpaque, Lost, []string{"kill a outcome.after 1"}, []string{u1}},
		{Handrolled, refund.ProfileLookup, Lost, []string{"freeze a outcome.before 1"}, []string{c1}},
		{Temporal, refund.ProfileFull, Lapsed, []string{"kill a outcome.before 1"}, []string{"REJECTED(CLOSED) 0"}},
		{Temporal, refund.ProfileRetention, Lapsed, []string{"kill a outcome.before 1"}, []string{u0}},
		{Handrolled, refund.ProfileLenient, Lapsed, []string{"freeze a outcome.before 1"}, []string{u0}},
		{Handrolled, refund.ProfileOpaque, Slow, []string{"kill a outcome.before 1"}, []string{u1}},
		{Handrolled, refund.ProfileLocal, Slow, []string{"kill a proposal.before 1"}, []string{c1}},
		{Temporal, refund.ProfileFull, Rejected, []string{"kill a outcome.before 1"}, []string{"REJECTED(APPROVAL_REJECTED) 0"}},
		{Temporal, refund.ProfileFull, Expired, []string{"kill a outcome.before 1"}, []string{"EXPIRED 0"}},
	} {
		t.Run(fmt.Sprint(c.engine, " ", c.profile, " ", c.flow, " ", c.hits), func(t *testing.T) {
			e, err := at(t, c.engine, c.profile, c.flow, c.hits...).Expect(budget)
			require.NoError(t, err)
			end := e.Runs[run]
			var ends []string
			for _, end := range append([]faults.End{end}, end.Or...) {
				text := end.Status
				if end.Reason != "" {
					text += "(" + end.Reason + ")"
				}
				ends = append(ends, fmt.Sprintf("%s %d", text, end.Entries))
			}
			require.Equal(t, c.ends, ends)
		})
	}
}

func TestAnswersOfTheCommands(t *testing.T) {
	e, err := at(t, Handrolled, refund.ProfileFull, Approved, "kill bob decision.before 1").Expect(budget)
	require.NoError(t, err)
	require.Equal(t, map[string]string{asker: "", person: faults.Killed, "bob.try-2": ""}, e.Answers)
	require.Equal(t, map[string]string{decided: "ACCEPTED"}, e.Verdicts)
	e, err = at(t, Handrolled, refund.ProfileFull, Approved, "freeze bob reply.after 1", "freeze a store-commit.before 1").Expect(budget)
	require.NoError(t, err)
	require.Empty(t, e.Answers, "who finds the file locked is told so")
	e, err = at(t, Temporal, refund.ProfileFull, Approved, "freeze a model-call.before 1").Expect(budget)
	require.NoError(t, err)
	require.Equal(t, map[string]string{asker: ""}, e.Answers, "a run whose budget is spent may be over before anybody decides")
	require.Empty(t, e.Verdicts)
}

// Every single trial of both engines under every profile can be saved and played, and its expectation keeps what the profile
// promises: at most one entry; under a provider that is told nothing twice at most one submit, elsewhere never UNKNOWN.
func TestEveryTrialCanBePlayedAndPromisesWhatItsProfileDoes(t *testing.T) {
	names := map[string]bool{}
	for _, base := range (Scope{Flows: []string{Approved}}).Bases() {
		profile, err := refund.ProfileNamed(refund.ProfileName(base.Profile))
		require.NoError(t, err)
		for _, trial := range base.Singles(Places(stored(t, base.Engine), 0), faults.Kill, faults.Freeze) {
			require.False(t, names[trial.Key()], trial.Key())
			names[trial.Key()] = true
			plan, err := trial.Plan(budget)
			require.NoError(t, err)
			e, err := trial.Expect(budget)
			require.NoError(t, err)
			text, err := json.Marshal(faults.Save(e, plan, trial.About()))
			require.NoError(t, err)
			saved, err := faults.ParseSaved(text)
			require.NoError(t, err, trial.Key())
			require.Equal(t, plan, saved.Plan)
			end := e.Runs[run]
			for _, end := range append([]faults.End{end}, end.Or...) {
				require.LessOrEqual(t, end.Entries, 1)
				require.Equal(t, end.Status == "UNKNOWN", end.UnknownBecause != "")
				if profile.Idempotent {
					require.NotEqual(t, "UNKNOWN", end.Status)
				} else {
					require.LessOrEqual(t, end.MostSubmits, 1)
				}
			}
		}
	}
	require.Greater(t, len(names), 900)
}

func TestASecondFaultHitsOnlyWhoCanBeHit(t *testing.T) {
	places := Places(crossings(t, "a claim.before", "b claim.before", "b provider-call.before 2.0", "provider provider-commit.before 2.0", "bob.try-2 decision.before"), 0)
	names := func(trials []Trial) (names []string) {
		for _, trial := range trials {
			names = append(names, trial.Faults[len(trial.Faults)-1].String())
		}
		return names
	}
	killed := at(t, Handrolled, refund.ProfileFull, Approved, "kill a intent.after 1")
	require.Equal(t, []string{
		"kill b at claim.before #1", "kill b at provider-call.before #1", "kill provider at provider-commit.before #1",
		"kill b at provider-commit.before #1 of provider", "kill bob.try-2 at decision.before #1",
	}, names(killed.Seconds(places, faults.Kill)))
	// Who was frozen stands at places again once it was let go, where it may die; the harness freezes nobody twice.
	frozen := at(t, Handrolled, refund.ProfileFull, Approved, "freeze provider provider-commit.before 1")
	require.Contains(t, names(frozen.Seconds(places, faults.Kill)), "kill provider at provider-commit.before #1")
	require.NotContains(t, names(frozen.Seconds(places, faults.Freeze)), "freeze provider at provider-commit.before #1")
	// What the provider does with a request goes on while its sender stands frozen; the sender's next request is its own again.
	places = Places(crossings(t, "b provider-call.before 2.0", "provider provider-commit.before 2.0", "provider provider-commit.after 2.0",
		"b provider-call.before 2.0", "provider provider-commit.before 2.0"), 0)
	frozen = Trial{Flow: Approved, Engine: Handrolled, Profile: string(refund.ProfileFull)}.with(At(places[1], faults.Freeze)[1])
	require.NotContains(t, names(frozen.Seconds(places, faults.Kill)), "kill b at provider-commit.after #1 of provider")
	require.Contains(t, names(frozen.Seconds(places, faults.Kill)), "kill b at provider-commit.before #2 of provider")
	places = Places(crossings(t, "a claim.before"), 0)
	frozen = at(t, Handrolled, refund.ProfileFull, Approved, "freeze a intent.after 1")
	require.Contains(t, names(frozen.Seconds(places, faults.Kill)), "kill a at claim.before #1")
	plan, err := frozen.with(At(places[0], faults.Kill)[0]).Plan(budget)
	require.NoError(t, err)
	require.Equal(t, []string{"start b", "lull", "thaw a", "land a"}, texts(plan.Reactions[ruleName(0)]))
	require.Equal(t, []string{"start c"}, texts(plan.Reactions[ruleName(1)]))
}

func TestPairsAreExhaustiveOrDrawnAndNeverBoth(t *testing.T) {
	results := Results{}
	var singles []Trial
	for _, profile := range []refund.ProfileName{refund.ProfileFull, refund.ProfileLookup} {
		for _, hit := range []string{"kill a intent.after 1", "freeze a intent.after 1"} {
			trial := at(t, Handrolled, profile, Approved, hit)
			singles = append(singles, trial)
			results.Add(Result{Trial: trial, Turn: 1, Verdict: Pass, Places: Places(crossings(t, "b claim.before", "b claim.after"), 0)})
		}
	}
	exhaustive, others := results.KillPairs(singles), results.OtherPairs(singles)
	require.Len(t, exhaustive, 2)
	require.Len(t, others, 2*4*2-2)
	for _, flow := range Flows() {
		require.True(t, Exhaustive(at(t, Temporal, refund.ProfileOpaque, flow.Name, "kill a intent.after 1")), flow.Name)
	}
	for _, trial := range exhaustive {
		require.False(t, slices.ContainsFunc(others, func(o Trial) bool { return o.Key() == trial.Key() }))
	}
}

func TestPairsThatNothingIsAimedAtAreCountedAndListed(t *testing.T) {
	results := Results{}
	var singles []Trial
	add := func(profile refund.ProfileName, hit string, recoveries ...[]string) {
		trial := at(t, Handrolled, profile, Approved, hit)
		singles = append(singles, trial)
		for turn, recovery := range recoveries {
			results.Add(Result{Trial: trial, Turn: turn + 1, Verdict: Pass, Places: Places(crossings(t, recovery...), 0)})
		}
	}
	both := []string{"b claim.before", "b claim.after"}
	add(refund.ProfileOpaque, "kill a intent.after 1", both, both)
	add(refund.ProfileFull, "kill a intent.before 1", append(both, "b claim.before", "b claim.before"), both)
	add(refund.ProfileFull, "kill a intent.after 1", both, append(both, "b claim.before"))
	add(refund.ProfileLookup, "kill a intent.after 1", append(both, "b claim.before"))       // once alone: nothing to compare with
	add(refund.ProfileFull, "kill a outcome.before 1", both, append(both, "a claim.before")) // of whom nobody can be hit
	require.Equal(t, []evidence.UnaimedPairs{
		{Engine: Handrolled, Profile: "full", Recoveries: 3, Pairs: 3, Places: []string{"b at claim.before #2: 2", "b at claim.before #3: 1"}},
		{Engine: Handrolled, Profile: "opaque", Recoveries: 1},
	}, results.Unaimed(singles))
}

func TestATrialThatDidNotTakePlaceTellsNoPlaces(t *testing.T) {
	trial := at(t, Handrolled, refund.ProfileFull, Approved, "kill a intent.after 1")
	for _, verdict := range []string{Invalid, NotReached} {
		results := Results{}
		results.Add(Result{Trial: trial, Turn: 1, Verdict: Pass, Places: Places(crossings(t, "b claim.before"), 0)})
		results.Add(Result{Trial: trial, Turn: 2, Verdict: verdict, Places: Places(crossings(t, "b claim.before"), 0)})
		require.Empty(t, results.KillPairs([]Trial{trial}))
		played, waiting := at(t, Handrolled, refund.ProfileFull, Approved, "kill a intent.before 1"), at(t, Handrolled, refund.ProfileFull, Approved, "kill a outcome.before 1")
		results.Add(Result{Trial: played, Turn: 1, Verdict: Fail})
		require.Equal(t, 1, results.Pairless([]Trial{trial, played, waiting}), "the missing pairs are counted, once for both turns; one that was not played is not among them")
	}
}

func TestAFaultThatFiredWithoutEffectWasNotMissed(t *testing.T) {
	trial := at(t, Handrolled, refund.ProfileFull, Approved, "kill a intent.after 1", "freeze b claim.after 1")
	var record evidence.Record
	require.Equal(t, 2, trial.Missed(record))
	record.Trial.Fired = []evidence.Fired{{Rule: "another"}, {Rule: ruleName(0), DoneSeq: 7}}
	require.Equal(t, 1, trial.Missed(record))
	record.Trial.Fired = append(record.Trial.Fired, evidence.Fired{Rule: ruleName(1)})
	require.Zero(t, trial.Missed(record))
}

func TestRepeatedPlaysAreListedWithTheirReasons(t *testing.T) {
	results := Results{}
	trial := at(t, Handrolled, refund.ProfileFull, Approved, "kill a intent.after 1")
	results.Add(Result{Trial: trial, Turn: 1, Verdict: Pass})
	results.Add(Result{Trial: trial, Turn: 2, Verdict: Pass, Repeats: 1, Earlier: []string{"play 1: EVIDENCE: never fired"}})
	require.Equal(t, []evidence.RepeatedTrial{{
		Engine: Handrolled, Profile: "full", Name: "approved~kill-a-intent-after-1~turn-2", Verdict: Pass, Earlier: []string{"play 1: EVIDENCE: never fired"},
	}}, results.Repeated())
}

func TestADrawDependsOnItsSeedAlone(t *testing.T) {
	trials := (Trial{Flow: Approved, Engine: Temporal, Profile: "full"}).Singles(Places(stored(t, Temporal), 0), faults.Kill)
	keys := func(trials []Trial) (keys []string) {
		for _, trial := range trials {
			keys = append(keys, trial.Key())
		}
		return keys
	}
	drawn := keys(Draw(trials, 10, 1))
	slices.Reverse(trials)
	require.Equal(t, drawn, keys(Draw(trials, 10, 1)))
	require.NotEqual(t, drawn, keys(Draw(trials, 10, 2)))
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(drawn))), 10)
	require.Len(t, Draw(trials, 10_000, 1), len(trials))
}

func TestCoverageListsWhatWasNeverHitAndSaysWhy(t *testing.T) {
	base := Trial{Flow: Approved, Engine: Handrolled, Profile: "opaque"}
	results := Results{}
	trace := stored(t, Handrolled)
	for turn := 1; turn <= 2; turn++ {
		places := Places(trace, 0)
		if turn == 2 {
			places = slices.DeleteFunc(places, func(p Place) bool { return p.Point.Boundary == faults.Claim && p.Nth == 2 })
		}
		results.Add(Result{Trial: base, Turn: turn, Verdict: Pass, Places: places})
	}
	hit := at(t, Handrolled, refund.ProfileOpaque, Approved, "kill a outcome.before 1")
	results.Add(Result{Trial: hit, Turn: 1, Verdict: Fail, Repeats: 1})
	results.Add(Result{Trial: hit.with(hit.Faults[0]), Turn: 1, Verdict: NotReached})
	lines := map[string]evidence.ExploredPoint{}
	for _, line := range results.Coverage([]Trial{base}) {
		lines[line.Point] = line
	}
	require.Len(t, lines, len(Points()))
	require.Equal(t, evidence.Tally{Trials: 1, Failed: 1, Repeats: 1}, lines["outcome.before"].Single)
	require.Equal(t, evidence.Tally{Trials: 1, NotReached: 1}, lines["outcome.before"].Second)
	require.Equal(t, 1, lines["claim.after"].Known)
	require.Equal(t, []string{"a #2 of claim.after, flow approved"}, lines["claim.after"].Unstable)
	for point, why := range map[string]string{
		"finish.before": "this engine has no such boundary", "close-call.before": "the profile has no close",
		"lookup-call.after": "the profile has no look-up", "store-commit.after": "a commit is announced before it alone: what is durable behind it is behind its step, too",
		"renewal.before":     "not every flow and profile was asked for",
		"observation.before": "not every flow and profile was asked for", "outcome.before": "",
	} {
		require.Equal(t, why, lines[point].Why, point)
	}
}
