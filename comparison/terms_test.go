package comparison

import (
	"strings"
	"testing"

	"refundlab/evidence"
	"refundlab/refund"
)

func TestTheTermsOfARunAreThoseThatWereAskedFor(t *testing.T) {
	recorded := func(edit func(*refund.Terms)) func(*scene) {
		return func(s *scene) { s.change("r1", func(e *refund.Export) { edit(&e.View.Facts.Intake.Terms) }) }
	}
	asked := func(flags string) func(*scene) {
		return func(s *scene) { s.Answers[0].Args = append(s.Answers[0].Args, strings.Fields(flags)...) }
	}
	// again is a further request under the same id.
	again := func(amount, flags string) func(*scene) {
		return func(s *scene) {
			in := s.Exports["r1"].View.Facts.Intake
			args := append(requestArgs(in.Request), strings.Fields(flags)...)
			answer := evidence.Answer{Process: "alice-again", Run: "r1", Verb: "request", Args: args}
			if amount == "" {
				s.answer(answer, reply{OperationID: in.OperationID, RequestID: "r1", Digest: in.Digest, Existing: true})
				return
			}
			args[7], answer.Exit = amount, refund.ExitConflict
			s.answer(answer, map[string]any{"error": map[string]string{"code": string(refund.CodeKeyConflict)}})
		}
	}
	all := func(changes ...func(*scene)) func(*scene) {
		return func(s *scene) {
			for _, change := range changes {
				change(s)
			}
		}
	}
	day := refund.DefaultDecide.Milliseconds()
	short := func(t *refund.Terms) { t.DecideWithin, t.CommitWithin = 5_000, 4_000 }
	mixed := func(t *refund.Terms) { t.DecideWithin, t.CommitWithin = 5_000, day }
	judgeAll(t, []one{
		{name: "as they were asked for", change: all(asked("--decide-within 5s --commit-within 4s"), recorded(short)), verdict: Pass},
		{name: "a commit deadline that nobody gave is that of the decision", change: all(asked("--decide-within 5s"), recorded(func(t *refund.Terms) { t.DecideWithin, t.CommitWithin = 5_000, 5_000 })), verdict: Pass},
		{name: "longer deadlines than were asked for", change: asked("--decide-within 5s --commit-within 4s"), verdict: Fail, checks: []string{"I5"}},
		{name: "longer deadlines than the default", change: recorded(func(t *refund.Terms) { t.DecideWithin, t.CommitWithin = 2*day, 2*day }), verdict: Fail, checks: []string{"I5"}},
		{name: "a longer commit deadline than that of the decision", change: all(asked("--decide-within 5s"), recorded(mixed)), verdict: Fail, checks: []string{"I5"}},
		{name: "a larger budget", change: all(asked("--model-budget 1"), recorded(func(t *refund.Terms) { t.ModelBudget = 2 })), verdict: Fail, checks: []string{"I12"}},
		{name: "a longer memory", profile: refund.ProfileRetention, change: all(asked("--retention 12s"), recorded(func(t *refund.Terms) { t.Retention = 60_000 })), verdict: Fail, checks: []string{"I1"}},
		{name: "longer calls", change: recorded(func(t *refund.Terms) { t.CallTimeout = 15_000 }), verdict: Fail, checks: []string{"I4"}},
		{name: "a flag that was given twice", change: all(asked("--call-timeout 15s"), recorded(func(t *refund.Terms) { t.CallTimeout = 15_000 })), verdict: Pass},
		{name: "those of one of two requests", change: all(again("", "--decide-within 5s --commit-within 4s"), recorded(short)), verdict: Pass},
		{name: "some of one and some of the other", change: all(again("", "--decide-within 5s --commit-within 4s"), recorded(mixed)), verdict: Fail, checks: []string{"I5"}},
		{name: "those of a request for something else", change: all(again("43.00", "--decide-within 5s --commit-within 4s"), recorded(short)), verdict: Fail, checks: []string{"I5"}},
	})
}
