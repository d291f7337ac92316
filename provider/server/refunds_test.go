package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/provider"
	"refundlab/refund"
)

func TestASubmissionOverTheNetwork(t *testing.T) {
	eachProfile(t, func(t *testing.T, w *world) {
		in := w.intake("r1")
		first, second := w.submit(in, refund.Fence{Term: 1}), w.submit(in, refund.Fence{Term: 1})
		require.Equal(t, refund.ObservedReceipt, first.Observation, first.Detail)
		require.Equal(t, refund.ObservedReceipt, second.Observation, second.Detail)
		seen := w.rest()
		require.Equal(t, w.profile.Name, seen.Profile)
		if w.profile.Idempotent {
			require.Equal(t, first.Receipt, second.Receipt)
			require.Len(t, seen.Ledger, 1)
			require.Equal(t, []string{"submit committed", "submit receipt"}, outcomes(seen))
		} else {
			require.Len(t, seen.Ledger, 2)
			require.Equal(t, []string{"submit committed", "submit committed"}, outcomes(seen))
		}
		require.Equal(t, in.Digest, seen.Received[0].Digest, "computed from the body")
		require.Equal(t, &refund.Fence{Term: 1}, seen.Received[0].Fence)
	})
}

func TestTheStatusOfEachAnswer(t *testing.T) {
	eachProfile(t, func(t *testing.T, w *world) {
		in := w.intake("r1")
		submission := provider.NewSubmission(in, refund.Decision{DecisionID: "d1", OrderVersion: 1}, refund.Fence{Term: 2})
		post := func(path string, body any) (int, provider.Problem) {
			text, err := json.Marshal(body)
			require.NoError(t, err)
			status, answer := w.call(http.MethodPost, path, string(text))
			if status == http.StatusOK {
				return status, provider.Problem{}
			}
			return status, problemIn(t, answer)
		}
		unknown := provider.Query{Ref: provider.RefOf(w.intake("r9"))}

		status, problem := post("/v1/refunds/lookup", unknown)
		switch w.profile.Lookup {
		case refund.LookupNone:
			require.Equal(t, http.StatusNotImplemented, status)
		default:
			require.Equal(t, http.StatusNotFound, status)
			require.Equal(t, refund.CodeNotFound, problem.Code)
			require.Equal(t, unknown.OperationID, problem.OperationID)
		}

		status, _ = post("/v1/refunds", submission)
		require.Equal(t, http.StatusOK, status)

		other := submission
		other.Reason = "late"
		other.Amount.Minor = 100
		status, problem = post("/v1/refunds", other)
		switch {
		case w.profile.OtherDigest != refund.DigestConflict:
			require.Equal(t, http.StatusOK, status)
		case w.profile.Expires:
			require.Equal(t, http.StatusBadRequest, status)
			require.Equal(t, refund.CodeKeyConflict, problem.Code)
		default:
			require.Equal(t, http.StatusConflict, status)
			require.Equal(t, refund.CodeKeyConflict, problem.Code)
		}

		missing := submission
		missing.Ref, missing.Order = provider.RefOf(w.intake("r2")), "o9"
		status, problem = post("/v1/refunds", missing)
		require.Equal(t, http.StatusUnprocessableEntity, status)
		require.Equal(t, refund.CodeOrderNotFound, problem.Code)
		require.Equal(t, missing.OperationID, problem.OperationID)
		require.Equal(t, missing.Digest(), problem.Digest)

		old := submission
		old.Fence = refund.Fence{Term: 1}
		status, problem = post("/v1/refunds", old)
		if w.profile.Fence {
			require.Equal(t, http.StatusPreconditionFailed, status)
			require.Equal(t, refund.CodeStaleFence, problem.Code)
			require.Equal(t, &refund.Fence{Term: 2}, problem.Fence)
		} else if w.profile.Idempotent {
			require.Equal(t, http.StatusOK, status)
		}

		close := provider.Query{Ref: provider.RefOf(w.intake("r3")), Fence: &refund.Fence{Term: 1}}
		status, problem = post("/v1/refunds/close", close)
		if w.profile.Close {
			require.Equal(t, http.StatusUnprocessableEntity, status)
			require.Equal(t, refund.CodeClosed, problem.Code)
		} else {
			require.Equal(t, http.StatusNotImplemented, status)
		}
	})
}

func TestAnswersAsTheClientSeesThem(t *testing.T) {
	w := serve(t, refund.ProfileFull)
	in := w.intake("r1")
	require.Equal(t, refund.ObservedNotFound, w.client.LookUp(t.Context(), in, nil).Observation)
	receipt := w.submit(in, refund.Fence{Term: 2})
	require.Equal(t, receipt, w.client.LookUp(t.Context(), in, nil))
	require.Equal(t, receipt, w.client.Close(t.Context(), in, refund.Fence{Term: 2}))
	stale := w.client.LookUp(t.Context(), in, &refund.Fence{Term: 1, Seq: 9})
	require.Equal(t, refund.ObservedStaleFence, stale.Observation)
	require.Equal(t, refund.Fence{Term: 2}, stale.Fence)

	conflicting := in
	conflicting.Request.Reason = "late"
	conflicting.Digest = conflicting.Request.Digest()
	require.Equal(t, refund.ObservedConflict, w.submit(conflicting, refund.Fence{Term: 2}).Observation)

	closed := w.client.Close(t.Context(), w.intake("r2"), refund.Fence{Term: 1})
	require.Equal(t, refund.ObservedRefusal, closed.Observation)
	require.Equal(t, refund.CodeClosed, closed.Refusal)
	require.Equal(t, refund.CodeClosed, w.submit(w.intake("r2"), refund.Fence{Term: 1}).Refusal)

	lenient := serve(t, refund.ProfileLenient)
	lenient.submit(lenient.intake("r1"), refund.Fence{})
	other := lenient.intake("r1")
	other.Request.Reason = "late"
	other.Digest = other.Request.Digest()
	require.Equal(t, refund.ObservedConflict, lenient.submit(other, refund.Fence{}).Observation, "the old answer is not taken for ours (I9)")
}

func TestAnOrderIsReadStronglyAndNamesTheProfile(t *testing.T) {
	eachProfile(t, func(t *testing.T, w *world) {
		w.submit(w.intake("r1"), refund.Fence{})
		order, err := w.client.Order(t.Context(), "shop", "o1")
		require.NoError(t, err)
		require.Equal(t, refund.Order{ID: "o1", Currency: "EUR", Captured: 10000, Refunded: 4200, Version: 1}, order)
		_, err = w.client.Order(t.Context(), "other", "o1")
		require.Equal(t, refund.CodeOrderNotFound, refund.CodeOf(err), "another tenant's order")
		_, err = w.client.Order(t.Context(), "shop", "..")
		require.Equal(t, refund.CodeOrderNotFound, refund.CodeOf(err), "a point is a name like any other")

		mistaken := w.intake("r2")
		mistaken.Terms.Profile = refund.ProfileLocal
		require.Equal(t, refund.ObservedUnsent, w.submit(mistaken, refund.Fence{}).Observation)
		require.Len(t, w.rest().Received, 1)
	})
}

const body = `{"tenant":"shop","kind":"refund","operation_id":"5f1c6e0b-934a-5d7e-8a52-2bd071e84c39","order":"o1",` +
	`"amount":{"minor":4200,"currency":"EUR"},"reason":"broken","order_version":1,"commit_by":1850000000000,"decision_id":"d1","fence":{"term":1,"seq":0}}`

func TestABodyThatIsNoRefundIsRefusedAtOnce(t *testing.T) {
	replace := func(old, new string) string {
		require.Contains(t, body, old)
		return strings.Replace(body, old, new, 1)
	}
	cases := []struct {
		name, body string
		code       refund.Code
		text       string
	}{
		{"nothing", "", refund.CodeInvalidBody, "cut off"},
		{"a list", "[]", refund.CodeInvalidBody, "object"},
		{"cut off", body[:50], refund.CodeInvalidBody, "cut off"},
		{"something behind", body + "x", refund.CodeInvalidBody, "behind"},
		{"a key twice", replace(`"order":`, `"order":"o2","order":`), refund.CodeInvalidBody, "twice"},
		{"an unknown key", replace(`"order":`, `"approved":true,"order":`), refund.CodeInvalidBody, "approved"},
		{"too long", `{"tenant":"` + strings.Repeat("x", provider.MaxBody) + `"}`, refund.CodeInvalidBody, "longer than"},
		{"amount zero", replace("4200", "0"), refund.CodeInvalidAmount, "more than zero"},
		{"amount absent", replace(`"amount":{"minor":4200,"currency":"EUR"},`, ""), refund.CodeInvalidCurrency, `""`},
		{"amount null", replace("4200", "null"), refund.CodeInvalidAmount, "more than zero"},
		{"amount negative", replace("4200", "-4200"), refund.CodeInvalidAmount, "more than zero"},
		{"amount as text", replace("4200", `"4200"`), refund.CodeInvalidBody, "minor"},
		{"amount with a fraction", replace("4200", "42.5"), refund.CodeInvalidBody, "minor"},
		{"amount with an exponent", replace("4200", "1e3"), refund.CodeInvalidBody, "minor"},
		{"amount that is no number", replace("4200", "NaN"), refund.CodeInvalidBody, ""},
		{"amount too large", replace("4200", "9223372036854775807"), refund.CodeInvalidAmount, "limit"},
		{"amount beyond 64 bits", replace("4200", "9223372036854775808"), refund.CodeInvalidBody, "minor"},
		{"currency unknown", replace("EUR", "EUX"), refund.CodeInvalidCurrency, "EUX"},
		{"currency in small letters", replace("EUR", "eur"), refund.CodeInvalidCurrency, "eur"},
		{"tenant empty", replace(`"shop"`, `""`), refund.CodeInvalidIdentity, "tenant is empty"},
		{"tenant in another spelling", replace(`"shop"`, `"Shop "`), refund.CodeInvalidIdentity, "one spelling"},
		{"another kind", replace(`"refund"`, `"payout"`), refund.CodeInvalidBody, "payout"},
		{"operation id that is none", replace("5f1c6e0b", "5F1C6E0B"), refund.CodeInvalidIdentity, "operation id"},
		{"order too long", replace(`"o1"`, `"`+strings.Repeat("o", 129)+`"`), refund.CodeInvalidIdentity, "129 bytes"},
		{"order in another spelling", replace(`"o1"`, `"O1"`), refund.CodeInvalidIdentity, "one spelling"},
		{"reason empty", replace("broken", " "), refund.CodeInvalidReason, "empty"},
		{"reason too long", replace("broken", strings.Repeat("x", 501)), refund.CodeInvalidReason, "501 bytes"},
		{"reason with a control character", replace("broken", `a\u0007b`), refund.CodeInvalidReason, "U+0007"},
		{"reason not trimmed", replace("broken", "broken "), refund.CodeInvalidIdentity, "one spelling"},
		{"order version zero", replace(`"order_version":1`, `"order_version":0`), refund.CodeInvalidBody, "order_version is 0"},
		{"no deadline", replace(`"commit_by":1850000000000,`, ""), refund.CodeInvalidBody, "commit_by is 0"},
		{"decision id empty", replace(`"d1"`, `""`), refund.CodeInvalidIdentity, "decision id"},
		{"fence negative", replace(`"seq":0`, `"seq":-1`), refund.CodeInvalidBody, "negative"},
	}
	for i, c := range cases {
		w := serve(t, refund.ProfileFull)
		status, answer := w.call(http.MethodPost, "/v1/refunds", c.body)
		require.Equal(t, http.StatusBadRequest, status, "%d %s: %s", i, c.name, answer)
		problem := problemIn(t, answer)
		require.Equal(t, c.code, problem.Code, "%s: %s", c.name, problem.Message)
		require.Contains(t, problem.Message, c.text, c.name)
		seen := w.rest()
		require.Empty(t, seen.Ledger, c.name)
		require.Empty(t, seen.Operations, "%s: nothing is stored", c.name)
		require.Equal(t, []string{"submit error"}, outcomes(seen), c.name)
		require.Equal(t, c.code, seen.Received[0].Code)
	}
	w := serve(t, refund.ProfileFull)
	status, answer := w.call(http.MethodPost, "/v1/refunds", body)
	require.Equal(t, http.StatusOK, status, "the body that all of them were made from is a good one: %s", answer)
}

func TestAQueryThatIsNoneIsRefusedAtOnce(t *testing.T) {
	w := serve(t, refund.ProfileFull)
	ref := `"tenant":"shop","kind":"refund","operation_id":"5f1c6e0b-934a-5d7e-8a52-2bd071e84c39"`
	for _, c := range []struct{ path, body, text string }{
		{"lookup", `{}`, "tenant"},
		{"lookup", `{` + ref + `,"fence":{"term":-1,"seq":0}}`, "negative"},
		{"lookup", `{` + ref + `,"order":"o1"}`, "order"},
		{"close", `{` + ref + `}`, "no fence"},
		{"close", `{` + strings.Replace(ref, "refund", "payout", 1) + `,"fence":{"term":1,"seq":0}}`, "payout"},
	} {
		status, answer := w.call(http.MethodPost, "/v1/refunds/"+c.path, c.body)
		require.Equal(t, http.StatusBadRequest, status, c)
		require.Contains(t, problemIn(t, answer).Message, c.text)
	}
	require.Empty(t, w.rest().Operations)
}

func TestManySubmissionsAtOnceOverTheNetwork(t *testing.T) {
	eachProfile(t, func(t *testing.T, w *world) {
		var done sync.WaitGroup
		answers := make([]provider.Answer, 12)
		for i := range answers {
			in := w.intake(fmt.Sprint("r", i%3)) // three operations of 42.00 EUR, two of which fit into 100.00 EUR
			done.Go(func() { answers[i] = w.submit(in, refund.Fence{Term: 1}) })
		}
		done.Wait()
		seen := w.rest()
		require.Len(t, seen.Ledger, 2, "I7")
		require.Len(t, seen.Received, 12)
		require.Equal(t, int64(8400), seen.Orders[0].Refunded)
		receipts := map[string]bool{}
		for i, answer := range answers {
			require.Contains(t, []refund.Observation{refund.ObservedReceipt, refund.ObservedRefusal}, answer.Observation, "%d: %s", i, answer.Detail)
			if answer.Receipt != nil {
				receipts[answer.Receipt.RefundID] = true
			}
		}
		require.Len(t, receipts, 2)
		for i, received := range seen.Received {
			require.Equal(t, int64(i+1), received.N)
		}
	})
}

func TestTheClockDecidesAndCanBeMoved(t *testing.T) {
	w := serve(t, refund.ProfileRetention)
	first := w.submit(w.intake("r1"), refund.Fence{})
	w.control("clock", `{"offset_ms":3599999}`)
	require.Equal(t, first.Receipt.RefundID, w.submit(w.intake("r1"), refund.Fence{}).Receipt.RefundID)
	w.control("clock", `{"offset_ms":3600000}`)
	require.NotEqual(t, first.Receipt.RefundID, w.submit(w.intake("r1"), refund.Fence{}).Receipt.RefundID, "a reused key is new")

	full := serve(t, refund.ProfileFull)
	in := full.intake("r1")
	full.control("clock", fmt.Sprintf(`{"offset_ms":%d}`, in.CommitBy()-noon))
	require.Equal(t, refund.CodeApprovalExpired, full.submit(in, refund.Fence{}).Refusal)
	full.control("clock", `{"offset_ms":0}`)
	require.Equal(t, refund.CodeApprovalExpired, full.submit(full.intake("r2"), refund.Fence{}).Refusal,
		"a clock that was put back does not run backwards behind what is stored")
}

func TestAReplicaLagsUntilItIsTold(t *testing.T) {
	w := serve(t, refund.ProfileStale)
	in := w.intake("r1")
	w.submit(in, refund.Fence{})
	require.Equal(t, refund.ObservedNotFound, w.client.LookUp(t.Context(), in, nil).Observation)
	w.control("replica", `{"catch_up":true}`)
	require.Equal(t, refund.ObservedReceipt, w.client.LookUp(t.Context(), in, nil).Observation)
}
