package comparison

import (
	"testing"

	"refundlab/evidence"
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
		{name: "another amount was given the old operation", change: func(s *scene) { request("43.00", 0, said(s))(s) }, verdict: Fail, checks: []string{"I9"}},
		{name: "another amount was refused", change: func(s *scene) {
			request("43.00", 3, map[string]any{"error": map[string]string{"code": "KEY_CONFLICT"}})(s)
		}, verdict: Pass},
		{name: "a receipt of another digest was recorded", profile: refund.ProfileLenient, change: func(s *scene) {
			s.change("r1", func(e *refund.Export) { e.View.Facts.Receipt.Digest = "0123456789" })
		}, verdict: Fail, checks: []string{"I9"}},
		{name: "the provider answered another digest", change: func(s *scene) { s.Provider.Received[1].Digest = "0123456789" }, verdict: Fail, checks: []string{"I9"}},
		{name: "the provider named the conflict", change: func(s *scene) {
			s.Provider.Received[1].Digest, s.Provider.Received[1].Outcome = "0123456789", "conflict"
		}, verdict: Pass},
		{name: "lenient gives the old answer, as it says", profile: refund.ProfileLenient,
			change: func(s *scene) { s.Provider.Received[1].Digest = "0123456789" }, verdict: Pass},
	})
}
