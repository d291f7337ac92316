package comparison

import (
	"slices"
	"testing"

	"refundlab/evidence"
	"refundlab/refund"
)

func TestI5EveryEntryWasAuthorised(t *testing.T) {
	facts := func(edit func(*refund.Facts)) func(*scene) {
		return func(s *scene) { s.change("r1", func(e *refund.Export) { edit(&e.View.Facts) }) }
	}
	// decided is bob's command with other arguments and another answer.
	decided := func(verb string, exit int, output any, args ...string) func(*scene) {
		return func(s *scene) {
			a := &s.Answers[1]
			a.Verb, a.Exit, a.Output, a.Args = verb, exit, nil, append(a.Args, args...)
			if output != nil {
				a.Output = jsonOf(output)
			}
			s.expect.Answers = nil
		}
	}
	accepted := reply{DecisionID: "d1", Verdict: refund.VerdictAccepted, At: start + 30}
	// also is a further command under the same decision id.
	also := func(person string, exit int, output any) func(*scene) {
		return func(s *scene) {
			s.answer(evidence.Answer{Process: person, Run: "r1", Verb: "approve", Args: []string{"--decision-id", "d1", "--as", person}, Exit: exit}, output)
		}
	}
	both := func(changes ...func(*scene)) func(*scene) {
		return func(s *scene) {
			for _, change := range changes {
				change(s)
			}
		}
	}
	pending, conflict := map[string]any{"error": map[string]string{"code": "VERDICT_PENDING"}}, map[string]any{"error": map[string]string{"code": "DECISION_CONFLICT"}}
	judgeAll(t, []one{
		{name: "approved by the requester, and bob is recorded", change: decided("approve", 0, accepted, "--as", "alice"), verdict: Fail, checks: []string{"I5", "HISTORY"}},
		{name: "approved by carol, and bob is recorded", change: decided("approve", 0, accepted, "--as", "carol"), verdict: Fail, checks: []string{"I5"}},
		{name: "rejected, and an approval is recorded", change: decided("reject", 0, accepted), verdict: Fail, checks: []string{"I5", "HISTORY"}},
		{name: "approved by a client that was killed", change: decided("approve", -9, nil), verdict: Pass},
		{name: "approved by one that was not told its verdict", change: decided("approve", 6, pending), verdict: Pass},
		{name: "killed in approving as alice, and bob is recorded", change: decided("approve", -9, nil, "--as", "alice"), verdict: Fail, checks: []string{"I5", "HISTORY"}},
		{name: "killed in rejecting, and an approval is recorded", change: decided("reject", -9, nil), verdict: Fail, checks: []string{"I5", "HISTORY"}},
		{name: "one of two who were killed", change: both(decided("approve", -9, nil, "--as", "carol"), also("bob", -9, nil)), verdict: Pass},
		{name: "one who was told that the id is another's", change: both(decided("approve", -9, nil, "--as", "carol"), also("bob", 3, conflict)), verdict: Fail, checks: []string{"I5"}},
		{name: "another was told that the id is bob's", change: also("carol", 3, conflict), verdict: Pass},
		{name: "under another id", change: decided("approve", -9, nil, "--decision-id", "d2"), verdict: Fail, checks: []string{"I5", "HISTORY"}},
		{name: "by nobody", change: func(s *scene) { s.Answers, s.expect.Answers = s.Answers[:1], nil }, verdict: Fail, checks: []string{"I5", "HISTORY"}},
		{name: "approved by the requester", change: facts(func(f *refund.Facts) { f.Decision.Approver = "alice" }), verdict: Fail, checks: []string{"I5"}},
		{name: "a rejection", change: facts(func(f *refund.Facts) { f.Decision.Choice = refund.ChoiceReject }), verdict: Fail, checks: []string{"I5"}},
		{name: "no accepted verdict", change: func(s *scene) {
			facts(func(f *refund.Facts) { f.Verdicts[0].Code = refund.VerdictExpired })(s)
			s.expect.Verdicts, s.Answers = nil, nil
			s.expect.Answers = nil
		}, verdict: Fail, checks: []string{"I5"}},
		{name: "an entry under another decision", change: func(s *scene) { s.Provider.Ledger[0].DecisionID = "d9" }, verdict: Fail, checks: []string{"I5"}},
		{name: "approved for another digest", change: facts(func(f *refund.Facts) { f.Decision.Digest = "0123456789" }), verdict: Fail, checks: []string{"I5"}},
		{name: "approved for an order version that was not shown", change: facts(func(f *refund.Facts) { f.Decision.OrderVersion = 2 }), verdict: Fail, checks: []string{"I5"}},
		{name: "the same where the provider does not compare", profile: refund.ProfileLenient,
			change: facts(func(f *refund.Facts) { f.Decision.OrderVersion = 2 }), verdict: Fail, checks: []string{"I5"}},
		{name: "committed at a newer order version", change: func(s *scene) { s.Provider.Ledger[0].OrderVersion = 4 }, verdict: Fail, checks: []string{"I5"}},
		{name: "a newer order version at the commit of a provider that does not compare", profile: refund.ProfileLenient,
			change: func(s *scene) { s.Provider.Ledger[0].OrderVersion = 4 }, verdict: Pass},
		{name: "the change was made before the order was read for the send", profile: refund.ProfileLenient, change: changed(-5, -3), verdict: Fail, checks: []string{"I5"}},
		{name: "the change was made while or after the order was read for the send", profile: refund.ProfileLenient, change: changed(-5, 2), verdict: Pass},
		{name: "the change was made before the person was shown the order", profile: refund.ProfileLenient, change: changed(-1000, -999), verdict: Pass},
		{name: "accepted after the deadline", change: agreed(func(t *refund.Terms) { t.DecideWithin = 20 }), verdict: Fail, checks: []string{"I5"}},
		{name: "accepted a moment after the deadline, before Temporal's timer", engine: "temporal",
			change: agreed(func(t *refund.Terms) { t.DecideWithin = 20 }), verdict: Pass},
		{name: "committed after the time to commit", change: agreed(func(t *refund.Terms) { t.CommitWithin = 60 }), verdict: Fail, checks: []string{"I5"}},
		{name: "sent in time where the provider keeps no deadline", profile: refund.ProfileLenient,
			change: agreed(func(t *refund.Terms) { t.CommitWithin = 60 }), verdict: Pass},
		{name: "sent too late where the provider keeps no deadline", profile: refund.ProfileLenient, change: func(s *scene) {
			agreed(func(t *refund.Terms) { t.CommitWithin = 60 })(s)
			for i := range s.Trace {
				s.Trace[i].At += 1000
			}
		}, verdict: Fail, checks: []string{"I5"}},
		{name: "an entry of no known run", change: func(s *scene) {
			s.enter("00000000-0000-5000-8000-000000000000", "rf-5", refund.Fence{})
		}, verdict: Fail, checks: []string{"I5"}},
	})
}

func TestI10EachAcknowledgedDecisionHasOneVerdict(t *testing.T) {
	judgeAll(t, []one{
		{name: "another verdict than the reply", change: func(s *scene) {
			s.change("r1", func(e *refund.Export) {
				e.View.Facts.Verdicts = append(e.View.Facts.Verdicts, refund.RecordedVerdict{DecisionID: "d2", Code: refund.VerdictAlreadyDecided, At: start + 35})
			})
			s.answer(evidence.Answer{Process: "carol", Run: "r1", Verb: "reject", Exit: 5}, reply{DecisionID: "d2", Verdict: refund.VerdictExpired, At: start + 35})
		}, verdict: Fail, checks: []string{"I10", "HISTORY"}},
		{name: "a verdict of another time", change: func(s *scene) {
			s.answer(evidence.Answer{Process: "bob-again", Run: "r1", Verb: "approve", Args: []string{"--as", "bob"}}, reply{DecisionID: "d1", Verdict: refund.VerdictAccepted, At: start + 99})
		}, verdict: Fail, checks: []string{"I10"}},
		{name: "the same decision got the same verdict again", change: func(s *scene) {
			s.answer(evidence.Answer{Process: "bob-again", Run: "r1", Verb: "approve", Args: []string{"--as", "bob"}}, reply{DecisionID: "d1", Verdict: refund.VerdictAccepted, At: start + 30})
		}, verdict: Pass},
		{name: "received, and never judged", change: func(s *scene) {
			s.answer(evidence.Answer{Process: "carol", Run: "r1", Verb: "reject", Exit: 6, Args: []string{"--decision-id", "d2"}},
				map[string]any{"error": map[string]string{"code": "VERDICT_PENDING"}})
		}, verdict: Fail, checks: []string{"I10"}},
		{name: "killed before it was acknowledged", change: func(s *scene) {
			s.answer(evidence.Answer{Process: "carol", Run: "r1", Verb: "reject", Exit: -9, Args: []string{"--decision-id", "d2"}}, nil)
		}, verdict: Pass},
		{name: "two verdicts for one decision", change: func(s *scene) {
			s.change("r1", func(e *refund.Export) {
				e.View.Facts.Verdicts = append(e.View.Facts.Verdicts, refund.RecordedVerdict{DecisionID: "d1", Code: refund.VerdictAlreadyDecided, At: start + 31})
			})
			s.expect.Verdicts = nil
		}, verdict: Fail, checks: []string{"I10"}},
		{name: "two accepted decisions, and nothing sent yet", profile: refund.ProfileOpaque, change: func(s *scene) {
			s.unknown()
			s.change("r1", func(e *refund.Export) {
				e.View.Facts.Verdicts = append(e.View.Facts.Verdicts, refund.RecordedVerdict{DecisionID: "d2", Code: refund.VerdictAccepted, At: start + 31})
			})
		}, verdict: Fail, checks: []string{"I10"}},
		{name: "success for a verdict that is no acceptance", change: func(s *scene) {
			s.change("r1", func(e *refund.Export) {
				e.View.Facts.Verdicts = append(e.View.Facts.Verdicts, refund.RecordedVerdict{DecisionID: "d2", Code: refund.VerdictExpired, At: start + 35})
			})
			s.answer(evidence.Answer{Process: "carol", Run: "r1", Verb: "approve"}, reply{DecisionID: "d2", Verdict: refund.VerdictExpired})
		}, verdict: Fail, checks: []string{"I10", "HISTORY"}},
	})
}

// changed is a commit at a newer order version, with the change begun and ended so much before or after the sender's look at the
// order, which stands right before its call.
func changed(begun, ended int64) func(*scene) {
	return func(s *scene) {
		s.Provider.Ledger[0].OrderVersion = 4
		for i, c := range s.Trace {
			if c.Point == point("provider-call.before") && c.Process == "A" {
				look := c
				look.Point, look.Seq, look.Operation, look.Fence = point("order-call.before"), c.Seq-1, "", ""
				s.Trial.Steps = append(s.Trial.Steps, evidence.Step{Text: "order-version o-1", StartSeq: look.Seq + begun, EndSeq: look.Seq + ended})
				s.Trace = slices.Insert(s.Trace, i, look)
				return
			}
		}
	}
}
