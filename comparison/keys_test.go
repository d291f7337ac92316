package comparison

import (
	"testing"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

func TestI9TheSameKeyWithOtherParametersIsAConflict(t *testing.T) {
	request := func(amount string, exit int, output any) func(*scene) {
		return func(s *scene) {
			s.answer(evidence.Answer{Process: "c1", Run: "r1", Verb: "request", Exit: exit,
				Args: []string{"--tenant", "acme", "--request-id", "r1", "--order", "o-1", "--amount", amount, "--currency=EUR", "--reason", "broken"}}, output)
		}
	}
	said := func(s *scene) reply {
		return reply{OperationID: s.id(), RequestID: "r1", Digest: s.Exports["r1"].View.Facts.Intake.Digest, Existing: true}
	}
	judgeAll(t, []one{
		{name: "the same request again", change: func(s *scene) { request("42.00", 0, said(s))(s) }, verdict: Pass},
		{name: "another amount was given the old operation", change: func(s *scene) { request("43.00", 0, said(s))(s) }, verdict: Fail, checks: []string{"I9", "HISTORY"}},
		{name: "another amount was refused", change: func(s *scene) {
			request("43.00", 3, map[string]any{"error": map[string]string{"code": "KEY_CONFLICT"}})(s)
		}, verdict: Pass},
		{name: "a receipt of another digest was recorded", profile: refund.ProfileLenient, change: func(s *scene) {
			s.change("r1", func(e *refund.Export) { e.View.Facts.Receipt.Digest = "0123456789" })
		}, verdict: Fail, checks: []string{"I9"}},
		{name: "a refusal of another digest was recorded", profile: refund.ProfileLenient, change: refusedAs(refund.StatusRejected), verdict: Fail, checks: []string{"I9"}},
		{name: "a refusal of another digest was not taken for its own", profile: refund.ProfileLenient, change: refusedAs(refund.StatusUnknown), verdict: Pass},
		{name: "the provider answered another digest", change: func(s *scene) { s.Provider.Received[1].Digest = "0123456789" }, verdict: Fail, checks: []string{"I9"}},
		{name: "the provider named the conflict", change: func(s *scene) {
			s.Provider.Received[1].Digest, s.Provider.Received[1].Outcome = "0123456789", "conflict"
		}, verdict: Pass},
		{name: "lenient gives the old answer, as it says", profile: refund.ProfileLenient,
			change: func(s *scene) { s.Provider.Received[1].Digest = "0123456789" }, verdict: Pass},
	})
}

// refusedAs is a run that a lenient provider answered with the stored refusal of other parameters, and what the run became.
func refusedAs(status refund.RunStatus) func(*scene) {
	return func(s *scene) {
		own := s.Exports["r1"].View.Facts.Intake.Digest
		s.Provider.Ledger, s.Provider.Notices = nil, nil
		s.Provider.Orders[0].Refunded = 0
		s.Provider.Operations = []evidence.Operation{{Tenant: "acme", Kind: refund.Kind, OperationID: s.id(), Digest: "0123456789", Result: "refusal", Code: refund.CodeInsufficientBalance}}
		for i := range s.Provider.Received {
			s.Provider.Received[i].Digest, s.Provider.Received[i].Outcome, s.Provider.Received[i].Code = own, "refusal", refund.CodeInsufficientBalance
		}
		end := faults.End{Status: string(status), LeastSubmits: 2, MostSubmits: 2}
		s.change("r1", func(e *refund.Export) {
			e.View.Status, e.View.Facts.Receipt = status, nil
			if status == refund.StatusUnknown {
				e.View.Facts.State, e.View.Facts.Conflict = refund.StateUnknown, "other parameters"
				end.UnknownBecause = "the operation id is bound to something else"
				return
			}
			e.View.Reason, e.View.Facts.State, e.View.Facts.Rejected = refund.CodeInsufficientBalance, refund.StateRejected, refund.CodeInsufficientBalance
			end.Reason = string(refund.CodeInsufficientBalance)
		})
		if status == refund.StatusRejected {
			s.notice(s.id(), status, "")
		}
		s.expect.Runs["r1"] = end
	}
}
