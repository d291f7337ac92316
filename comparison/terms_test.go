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
	// unanswered lets nobody be told what became of the requests: their clients were killed.
	unanswered := func(s *scene) {
		for i, a := range s.Answers {
			if a.Verb == "request" {
				s.Answers[i].Exit, s.Answers[i].Output = -9, nil
			}
		}
	}
	// atOnce lets the further request begin before anything was stored.
	atOnce := func(s *scene) { last := len(s.Answers) - 1; s.Answers[last].StartSeq = 3 }
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
		{name: "those of a later request", change: all(again("", "--decide-within 5s --commit-within 4s"), recorded(short)), verdict: Fail, checks: []string{"I5"}},
		{name: "those of the one that was told that it came first, although another was there before it", change: all(again("", ""), atOnce, func(s *scene) {
			s.Answers[0].StartSeq, s.Answers[0].EndSeq = 4, 5
			s.Answers[0].Args = append(s.Answers[0].Args, "--decide-within", "5s", "--commit-within", "4s")
		}, recorded(short)), verdict: Pass},
		{name: "those of one of two of which nobody was told", change: all(again("", "--decide-within 5s --commit-within 4s"), atOnce, unanswered, recorded(short)), verdict: Pass},
		{name: "some of one and some of the other", change: all(again("", "--decide-within 5s --commit-within 4s"), atOnce, unanswered, recorded(mixed)), verdict: Fail, checks: []string{"I5"}},
		{name: "those of a request that came when the run was there, of which nobody was told", change: all(again("", "--decide-within 5s --commit-within 4s"), unanswered, recorded(short)), verdict: Fail, checks: []string{"I5"}},
		{name: "those of a request that found what a killed one had stored", change: all(unanswered, again("", "--decide-within 5s --commit-within 4s"), recorded(short)), verdict: Fail, checks: []string{"I5"}},
		{name: "those of a killed one, and another found them", change: all(unanswered, again("", "--decide-within 5s --commit-within 4s")), verdict: Pass},
		{name: "those of a request for something else", change: all(again("43.00", "--decide-within 5s --commit-within 4s"), recorded(short)), verdict: Fail, checks: []string{"I5"}},
	})
}

// bound is r1 as if it had been asked for otherwise: record, decision, receipt and ledger agree about it.
func bound(edit func(*refund.Request)) func(*scene) {
	return func(s *scene) {
		s.change("r1", func(e *refund.Export) {
			in := &e.View.Facts.Intake
			edit(&in.Request)
			in.Digest = in.Request.Digest()
			decision, receipt := *e.View.Facts.Decision, *e.View.Facts.Receipt
			decision.Digest, receipt.Digest, receipt.Order, receipt.Amount = in.Digest, in.Digest, in.Request.Order, in.Request.Amount
			e.View.Facts.Decision, e.View.Facts.Receipt = &decision, &receipt
		})
		in := s.Exports["r1"].View.Facts.Intake
		for i := range s.Provider.Received {
			s.Provider.Received[i].Digest = in.Digest
		}
		entry := &s.Provider.Ledger[0]
		entry.Digest, entry.Order, entry.Amount = in.Digest, in.Request.Order, in.Request.Amount
		order := &s.Provider.Orders[0]
		order.ID, order.Currency, order.Refunded, order.Captured = entry.Order, entry.Amount.Currency, entry.Amount.Minor, 100_000
	}
}

func TestARunIsAboutWhatItsRequestAskedFor(t *testing.T) {
	tenfold := func(q *refund.Request) { q.Amount.Minor *= 10 }
	// silent lets the request be one that nobody was told about, so that only the record says what it was.
	silent := func(change func(*scene)) func(*scene) {
		return func(s *scene) {
			change(s)
			s.Answers[0].Exit, s.Answers[0].Output = -9, nil
		}
	}
	// rival is a request under the same id for ten times as much that began with the first.
	rival := func(exit int, output any) func(*scene) {
		return func(s *scene) {
			q := s.Exports["r1"].View.Facts.Intake.Request
			q.Amount = refund.Money{Minor: 42_000, Currency: "EUR"}
			s.answer(evidence.Answer{Process: "rival", Run: "r1", Verb: "request", Args: requestArgs(q), Exit: exit}, output)
			s.Answers[len(s.Answers)-1].StartSeq = 1
		}
	}
	conflict := map[string]any{"error": map[string]string{"code": string(refund.CodeKeyConflict)}}
	judgeAll(t, []one{
		{name: "ten times as much, under the digest of what was asked for", change: bound(tenfold), verdict: Fail, checks: []string{"I2", "I9"}},
		{name: "ten times as much, and nobody was told", change: silent(bound(tenfold)), verdict: Fail, checks: []string{"I2"}},
		{name: "ten times as much, as a rival asked of whom nobody was told either", change: silent(func(s *scene) { rival(-9, nil)(s); bound(tenfold)(s) }), verdict: Pass},
		{name: "ten times as much, as a rival asked who was told of the conflict", change: silent(func(s *scene) { rival(3, conflict)(s); bound(tenfold)(s) }), verdict: Fail, checks: []string{"I2"}},
		{name: "what was asked for, and a rival was told of the conflict", change: silent(rival(3, conflict)), verdict: Pass},
		{name: "another order", change: bound(func(q *refund.Request) { q.Order = "o-2" }), verdict: Fail, checks: []string{"I2", "I9"}},
		{name: "another currency", change: bound(func(q *refund.Request) { q.Amount.Currency = "USD" }), verdict: Fail, checks: []string{"I2", "I9"}},
		{name: "another reason", change: bound(func(q *refund.Request) { q.Reason = "late" }), verdict: Fail, checks: []string{"I5", "I9"}},
		{name: "another requester", change: bound(func(q *refund.Request) { q.Requester = "mallory" }), verdict: Fail, checks: []string{"I5"}},
		{name: "the same again for somebody else", change: func(s *scene) {
			q := s.Exports["r1"].View.Facts.Intake.Request
			q.Requester = "mallory"
			s.answer(evidence.Answer{Process: "mallory", Run: "r1", Verb: "request", Args: requestArgs(q)}, s.same(true))
		}, verdict: Pass},
		{name: "the requester of a later request", change: func(s *scene) {
			bound(func(q *refund.Request) { q.Requester = "mallory" })(s)
			s.answer(evidence.Answer{Process: "mallory", Run: "r1", Verb: "request", Args: requestArgs(s.Exports["r1"].View.Facts.Intake.Request)}, s.same(true))
		}, verdict: Fail, checks: []string{"I5"}},
		{name: "in another spelling", change: func(s *scene) {
			s.Answers[0].Args = append(s.Answers[0].Args, "--requester", " Alice")
			s.Answers[1].Args = append(s.Answers[1].Args, "--as", "BOB")
		}, verdict: Pass},
	})
}
