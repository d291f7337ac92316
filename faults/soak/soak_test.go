package soak

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/faults"
	"refundlab/refund"
)

func drawn(t *testing.T, r Round) faults.Saved {
	t.Helper()
	trial, err := r.Draw()
	require.NoError(t, err)
	return trial
}

// rounds are some of every engine and profile.
func rounds() []Round {
	var list []Round
	for _, engine := range []string{temporal, handrolled} {
		for number := range 60 {
			list = append(list, Round{Engine: engine, Profile: ProfileOf(engine, 7, number), Seed: 7, Number: number, Refunds: 40, Faults: 25, OwnServer: true})
		}
	}
	return list
}

func TestTheSameSeedDrawsTheSameTrialAndAnotherAnother(t *testing.T) {
	r := rounds()[0]
	first, again := drawn(t, r), drawn(t, r)
	require.Equal(t, first, again)
	for _, other := range []Round{{r.Engine, r.Profile, 8, r.Number, 40, 25, true}, {r.Engine, r.Profile, 7, r.Number + 1, 40, 25, true}, {handrolled, r.Profile, 7, r.Number, 40, 25, true}} {
		require.NotEqual(t, drawn(t, r).Plan, drawn(t, other).Plan)
	}
}

func TestEveryDrawnTrialCanBeSavedAndRead(t *testing.T) {
	for _, r := range rounds() {
		trial := drawn(t, r)
		text, err := json.Marshal(trial)
		require.NoError(t, err)
		got, err := faults.ParseSaved(text)
		require.NoError(t, err)
		require.Equal(t, trial, got)
	}
}

func TestADrawnTrialBreaksNoRuleOfTheHarness(t *testing.T) {
	for _, r := range rounds() {
		trial := drawn(t, r)
		promises, err := refund.ProfileNamed(r.Profile)
		require.NoError(t, err)
		clients, signalled := map[string]bool{}, map[string]bool{}
		var ended []int
		workers, asked := map[string]bool{}, map[string]bool{}
		for _, s := range trial.Plan.Steps() {
			asked[s.Run] = asked[s.Run] || s.Do == faults.DoRequest
			if s.Receipt != "" {
				require.True(t, asked[s.Receipt], "the receipt of %s, which nobody has asked for yet, is looked for", s.Receipt)
			}
			if s.Do == faults.DoSettle && s.Kind == string(refund.SettleReceipt) {
				require.True(t, s.IfAny, "whether there is a receipt, the lot cannot know")
			}
			require.False(t, s.Do == faults.DoCancel && r.Engine == handrolled, "the journal has no cancellation")
			if s.Background {
				require.False(t, clients[s.Process], "client %s stands twice", s.Process)
				clients[s.Process] = true
			}
			if s.Do == faults.DoStart {
				require.False(t, workers[s.Process], "worker %s starts twice", s.Process)
				workers[s.Process] = true
			}
		}
		for _, rule := range trial.Plan.Schedule {
			victim := rule.Victim
			if victim == "" {
				victim = rule.Process
			}
			if rule.Action == faults.Kill && victim == "provider" {
				for _, nth := range ended {
					require.Greater(t, max(nth-rule.Nth, rule.Nth-nth), 5, "the provider is killed twice at one time")
				}
				ended = append(ended, rule.Nth)
			}
			if trial.Plan.World.OwnServer {
				require.False(t, workers[victim] && (rule.Action == faults.Kill || rule.Action == faults.Freeze), "a worker that starts while the server is down ends by itself")
			}
			if rule.Action == faults.Hold {
				reaction := trial.Plan.Reactions[rule.Name]
				require.Equal(t, faults.Step{Do: faults.DoRelease, Rule: rule.Name}, reaction[len(reaction)-1])
				require.NotEqual(t, faults.ProviderCommit, rule.Point.Boundary, "who stands there keeps the others out, and none could overtake")
			}
			if (rule.Action == faults.Kill || rule.Action == faults.Freeze) && victim != "provider" && victim != faults.LineServer {
				require.False(t, signalled[victim], "%s is hit twice, and a dead process cannot be", victim)
				signalled[victim] = true
				require.True(t, workers[victim] || clients[victim], victim)
			}
			if rule.Victim != "" && rule.Victim != faults.LineServer {
				require.Contains(t, []string{"a", "b", "c"}, rule.Victim, "a worker that has not started yet cannot be hit at the provider")
			}
			if rule.Action == faults.Kill && (workers[victim] || victim == "provider" || victim == faults.LineServer) || rule.Action == faults.Freeze {
				require.NotEmpty(t, trial.Plan.Reactions[rule.Name], "somebody must go on after %s", rule.Name)
			}
			if rule.Action == faults.Duplicate && (rule.Point.Boundary == faults.ProviderCall || rule.Point.Boundary == faults.ProviderRecv) {
				require.True(t, promises.Idempotent, "nobody promised anything about a send that the network doubles under %s", r.Profile)
			}
		}
		last := trial.Plan.Script[len(trial.Plan.Script)-1]
		require.Equal(t, faults.DoRest, last.Do)
		require.Len(t, trial.Expect.Runs, 40)
	}
}

func TestTheLotReachesEverythingThatIsAskedOfASoak(t *testing.T) {
	seen := map[string]int{}
	for _, r := range rounds() {
		trial := drawn(t, r)
		seen[string(r.Profile)]++
		for _, rule := range trial.Plan.Schedule {
			seen[string(rule.Action)]++
			if rule.Process == "provider" && rule.Action == faults.Kill && rule.Victim == "" {
				seen["provider killed"]++
			}
			if rule.Victim == faults.LineServer {
				require.True(t, trial.Plan.World.OwnServer, "the one that trials share is nobody's to kill")
				seen["server killed"]++
			}
			if strings.HasPrefix(rule.Process, "settle-") {
				seen["settler killed"]++
			}
			if strings.HasPrefix(rule.Process, "request-") || strings.HasPrefix(rule.Process, "approve-") {
				seen["client broken"]++
			}
		}
		decisions, settled := map[string]bool{}, map[string]string{}
		for _, s := range trial.Plan.Script {
			seen[string(s.Do)]++
			seen[string(s.Do)+" "+s.Kind]++
			if s.Do == faults.DoSettle {
				seen["settle with other's "+s.Kind] += map[bool]int{true: 1}[s.Receipt != "" && s.Receipt != s.Run]
				content := fmt.Sprint(s.By, s.Kind, s.Receipt, s.Args)
				if before, known := settled[s.Run+s.Decision]; known && before == content {
					seen["a settlement id again"]++
				} else if known {
					seen["a settlement id for something else"]++
				}
				settled[s.Run+s.Decision] = content
			}
			if s.By == "alice" {
				seen["the requester decides"]++
			}
			if s.Decision != "" {
				if key := s.Run + s.Decision; decisions[key] {
					seen["a decision id again"]++
				} else {
					decisions[key] = true
				}
			}
		}
	}
	for _, what := range []string{
		"full", "retention", "lenient", "lookup", "stale", "opaque", "local",
		"kill", "freeze", "delay", "lose", "duplicate", "refuse", "abort", "drop", "hold", "provider killed", "server killed", "client broken", "settler killed",
		"request", "approve", "reject", "status", "settle close", "settle presumed-absent", "settle receipt", "settle with other's receipt", "cancel", "order-version", "model", "provider", "catch-up", "cut", "silence", "restore",
		"clock host", "clock process",
		"the requester decides", "a decision id again", "a settlement id again", "a settlement id for something else",
	} {
		require.NotZero(t, seen[what], what)
	}
}

func TestOrdersDoNotBearAllThatIsAskedOfThem(t *testing.T) {
	for _, r := range rounds() {
		trial := drawn(t, r)
		asked, bears := int64(0), int64(0)
		for _, s := range trial.Plan.Script {
			if s.Do == faults.DoRequest && slices.IndexFunc(trial.Plan.Script, func(o faults.Step) bool { return o.Do == faults.DoRequest && o.Run == s.Run }) >= 0 {
				asked += s.Amount
			}
		}
		for _, o := range trial.Plan.World.Orders {
			bears += o.Captured
		}
		require.Greater(t, asked, bears)
	}
}

func TestAProfileThatTheEngineDoesNotHaveIsRefused(t *testing.T) {
	_, err := Round{Engine: temporal, Profile: refund.ProfileLocal, Refunds: 3}.Draw()
	require.ErrorContains(t, err, "INVALID_PROFILE")
	_, err = Round{Engine: handrolled, Profile: "none", Refunds: 3}.Draw()
	require.Error(t, err)
}

func TestMinimalFindsWhatMatters(t *testing.T) {
	list := make([]int, 40)
	for i := range list {
		list[i] = i
	}
	for _, needed := range [][]int{{}, {0}, {39}, {17}, {3, 30}, {5, 6, 7}, {0, 13, 26, 39}} {
		asked := 0
		got := minimal(list, func(part []int) bool {
			asked++
			for _, n := range needed {
				if !slices.Contains(part, n) {
					return false
				}
			}
			return true
		}, func() bool { return true })
		require.Equal(t, needed, append([]int{}, got...))
		require.Less(t, asked, 200)
	}
}

func TestMinimalStopsWithItsBudget(t *testing.T) {
	budget := 3
	got := minimal([]int{1, 2, 3, 4, 5, 6, 7, 8}, func(part []int) bool { budget--; return slices.Contains(part, 8) }, func() bool { return budget > 0 })
	require.Contains(t, got, 8)
	require.Zero(t, budget)
}

// A judge that is made up: the trial fails when one rule is there, and the refund that it hits, and its approval.
func TestATrialShrinksToTheFaultAndTheRefundThatMatter(t *testing.T) {
	trial := drawn(t, rounds()[61])
	require.GreaterOrEqual(t, len(trial.Plan.Schedule), 20)
	var rule faults.Rule
	for _, r := range trial.Plan.Schedule { // one that needs no client
		if len(trial.Plan.Reactions[r.Name]) > 0 && r.Process != "" {
			rule = r
		}
	}
	plays := 0
	fails := func(s faults.Saved) bool {
		plays++
		first := func(do faults.Verb) int {
			return slices.IndexFunc(s.Plan.Script, func(step faults.Step) bool { return step.Do == do && step.Run == "r17" })
		}
		asked := first(faults.DoRequest)
		hits := slices.ContainsFunc(s.Plan.Schedule, func(r faults.Rule) bool {
			r.Nth = rule.Nth
			return r == rule
		})
		works := slices.ContainsFunc(s.Plan.Script, func(step faults.Step) bool { return step.Do == faults.DoStart })
		return hits && works && asked >= 0 && asked < first(faults.DoApprove)
	}
	require.True(t, fails(trial))
	found := 0
	small := Shrinker{Fails: fails, More: func() bool { return true }, Smaller: func(faults.Saved) { found++ }}.Shrink(trial)
	rule.Nth = 1 // the first occurrence does as well
	require.Equal(t, faults.Schedule{rule}, small.Plan.Schedule)
	require.Len(t, small.Plan.Reactions, 1)
	require.Len(t, small.Expect.Runs, 1)
	require.Contains(t, small.Expect.Runs, "r17")
	var said []faults.Verb
	for _, s := range small.Plan.Script {
		said = append(said, s.Do)
	}
	require.Equal(t, []faults.Verb{faults.DoStart, faults.DoRequest, faults.DoJoin, faults.DoApprove, faults.DoRest}, said)
	require.NotZero(t, found)
	require.Less(t, plays, 250)
	_, err := faults.ParseSaved(must(json.Marshal(small)))
	require.NoError(t, err, "what is left is a trial")

	story := Story(small)
	require.Contains(t, story, "asks for refund r17")
	require.Contains(t, story, "meanwhile\n  "+rule.Name+": when "+rule.Process+" stands")
}

// A judge that is made up: a run does not end where the rule is there, nor where nobody works or decides, which is no fault.
func TestATrialOfARunThatDoesNotEndKeepsItsFault(t *testing.T) {
	trial := drawn(t, rounds()[61])
	trial = without(trial, slices.DeleteFunc(runUnits(trial.Plan), func(u *unit) bool { // nobody decides on some, and they wait for ever
		return slices.ContainsFunc(u.steps, func(i int) bool { return trial.Plan.Script[i].By == "zoe" })
	}))
	rule := trial.Plan.Schedule[slices.IndexFunc(trial.Plan.Schedule, func(r faults.Rule) bool { return r.Process == "" })].Name
	path := []faults.Verb{faults.DoRequest, faults.DoAwait, faults.DoApprove}
	fails := func(s faults.Saved) bool {
		works, hit := false, slices.ContainsFunc(s.Plan.Schedule, func(r faults.Rule) bool { return r.Name == rule })
		come := map[string]int{} // how far along the path each run is
		for _, step := range s.Plan.Script {
			works = works || step.Do == faults.DoStart
			if n := come[step.Run]; n < len(path) && step.Do == path[n] {
				come[step.Run]++
			}
		}
		for _, n := range come {
			if hit || !works || n < len(path) {
				return true
			}
		}
		return false
	}
	small := Shrinker{Fails: fails, More: func() bool { return true }, Smaller: func(faults.Saved) {}, Ending: true}.Shrink(trial)
	require.Len(t, small.Plan.Schedule, 1)
	require.Equal(t, rule, small.Plan.Schedule[0].Name)
	require.Len(t, small.Expect.Runs, 1)
	var said []faults.Verb
	for _, s := range small.Plan.Script {
		said = append(said, s.Do)
	}
	require.Equal(t, []faults.Verb{faults.DoStart, faults.DoRequest, faults.DoJoin, faults.DoAwait, faults.DoApprove, faults.DoRest}, said)
}

func TestWhoBringsTheReceiptOfARunThatIsGoneIsGoneToo(t *testing.T) {
	trial := faults.Saved{Plan: faults.Plan{Script: []faults.Step{
		{Do: faults.DoRequest, Process: "ask-1", Run: "r1"}, {Do: faults.DoRequest, Process: "ask-2", Run: "r2"},
		{Do: faults.DoSettle, Process: "dora", Run: "r1", Kind: string(refund.SettleReceipt), Receipt: "r2"},
	}}}
	small := without(trial, []*unit{{steps: []int{1}}})
	require.Equal(t, trial.Plan.Script[:1], small.Plan.Script)
}

func TestTheSilenceOfADrawnTrialIsThatOfARunThatShouldGoOn(t *testing.T) {
	for _, r := range rounds() {
		require.Equal(t, stuck*time.Millisecond, Silence(drawn(t, r).Plan))
	}
}

func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}
