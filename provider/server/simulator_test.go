package server_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/provider"
	"refundlab/refund"
)

func (w *world) model() *provider.ModelClient {
	w.t.Helper()
	model, err := provider.NewModel(provider.ModelConfig{BaseURL: w.url + "/model/v1"}, nil)
	require.NoError(w.t, err)
	return model
}

var order = refund.Order{ID: "o1", Currency: "EUR", Captured: 10000, Version: 3}

func TestAProposalIsBilledAndNoTwoAreAlike(t *testing.T) {
	w := serve(t, refund.ProfileFull)
	in := w.intake("r1")
	first, err := w.model().Propose(t.Context(), in, order)
	require.NoError(t, err)
	second, err := w.model().Propose(t.Context(), in, order)
	require.NoError(t, err)
	require.Equal(t, "approve", first.Recommendation)
	require.Equal(t, int64(3), first.OrderVersion, "of the order that was shown")
	require.NotEqual(t, first.AnswerID, second.AnswerID)
	require.NotEqual(t, first.Rationale, second.Rationale)

	bill := w.rest().Bill
	require.Len(t, bill, 2)
	for i, proposal := range []refund.Proposal{first, second} {
		require.Equal(t, int64(i+1), bill[i].N)
		require.Equal(t, in.OperationID, bill[i].OperationID)
		require.Equal(t, proposal.AnswerID, bill[i].AnswerID)
		require.Equal(t, "good", bill[i].Answered)
		require.Positive(t, bill[i].Tokens)
	}
}

// Each kind of answer costs exactly one request, and only a whole good one is a proposal.
func TestWhatAModelCanAnswer(t *testing.T) {
	cases := []struct {
		answer string
		code   refund.Code
		billed string // an answer id on the bill
	}{
		{`{"kind":"good"}`, "", "yes"},
		{`{"kind":"slow","delay_ms":20}`, "", "yes"},
		{`{"kind":"cut"}`, refund.CodeInvalidBody, "yes"},
		{`{"kind":"prose"}`, refund.CodeInvalidBody, "yes"},
		{`{"kind":"extra-key"}`, refund.CodeInvalidBody, "yes"},
		{`{"kind":"larger-amount"}`, refund.CodeInvalidBody, "yes"},
		{`{"kind":"other-order"}`, refund.CodeInvalidBody, "yes"},
		{`{"kind":"status-429","retry_after_ms":1}`, refund.CodeUnavailable, ""},
		{`{"kind":"status-429","retry_after_ms":60000}`, refund.CodeUnavailable, ""},
		{`{"kind":"status-500"}`, refund.CodeUnavailable, ""},
		{`{"kind":"status-400"}`, refund.CodeUnavailable, ""},
		{`{"kind":"never"}`, refund.CodeTimeout, ""},
		{`{"kind":"slow","delay_ms":60000}`, refund.CodeTimeout, ""},
	}
	for _, c := range cases {
		t.Run(c.answer, func(t *testing.T) {
			w := serve(t, refund.ProfileFull)
			w.control("model", `{"answers":[`+c.answer+`]}`)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			if c.code != refund.CodeTimeout {
				ctx = within(t)
			}
			defer cancel()
			_, err := w.model().Propose(ctx, w.intake("r1"), order)
			require.Equal(t, c.code, refund.CodeOf(err), err)
			bill := w.rest().Bill
			require.Len(t, bill, 1, "one call is one request: the SDK retries nothing (I12)")
			require.Equal(t, c.billed != "", bill[0].AnswerID != "")
			require.Contains(t, c.answer, bill[0].Answered)
			require.Positive(t, bill[0].Tokens, "billed when it arrived")

			_, err = w.model().Propose(within(t), w.intake("r1"), order)
			require.NoError(t, err, "the answers that follow are good")
		})
	}
}

func TestRetryAfterIsTold(t *testing.T) {
	w := serve(t, refund.ProfileFull)
	w.control("model", `{"answers":[{"kind":"status-429","retry_after_ms":1001}]}`)
	question := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}]}`, `{"request":{"order":"o1"}}`)
	response, err := http.Post(w.url+"/model/v1/chat/completions", "application/json", reader(question))
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
	require.Equal(t, "2", response.Header.Get("Retry-After"))
}

func TestAModelRequestThatIsNoQuestion(t *testing.T) {
	w := serve(t, refund.ProfileFull)
	for _, body := range []string{"", "{}", "[]", `{"messages":[]}`, `{"messages":[{"role":"user","content":"hello"}]}`, `{"messages":[{"role":"user","content":"{}"}]}`} {
		status, text := w.call(http.MethodPost, "/model/v1/chat/completions", body)
		require.Equal(t, http.StatusBadRequest, status, body)
		require.Contains(t, text, "not a question about a refund")
	}
}

func TestAReceiverTakesEachRevisionOnce(t *testing.T) {
	w := serve(t, refund.ProfileFull)
	sender, err := provider.NewNoticeSender(w.url, nil)
	require.NoError(t, err)
	notice := func(id string, revision int64) refund.Notice {
		return refund.Notice{OperationID: w.intake(id).OperationID, Revision: revision, Status: refund.StatusConfirmed, RefundID: "re-1", At: noon}
	}
	sent := []refund.Notice{notice("r1", 1), notice("r1", 1), notice("r1", 3), notice("r1", 2), notice("r1", 3), notice("r2", 1)}
	for _, n := range sent {
		require.NoError(t, sender.Send(t.Context(), n), "a duplicate is acknowledged like the first")
	}
	var taken []refund.Notice
	arrivals := w.rest().Notices
	require.Len(t, arrivals, len(sent))
	for i, arrival := range arrivals {
		require.Equal(t, int64(i+1), arrival.N)
		require.Equal(t, sent[i], arrival.Notice)
		if !arrival.Duplicate {
			taken = append(taken, arrival.Notice)
		}
	}
	require.Equal(t, []refund.Notice{notice("r1", 1), notice("r1", 3), notice("r2", 1)}, taken, "none twice, none after a later one")

	var done sync.WaitGroup
	for range 10 {
		done.Go(func() { _ = sender.Send(t.Context(), notice("r3", 1)) })
	}
	done.Wait()
	fresh := 0
	for _, arrival := range w.rest().Notices {
		if arrival.OperationID == w.intake("r3").OperationID && !arrival.Duplicate {
			fresh++
		}
	}
	require.Equal(t, 1, fresh)
}

func TestANoticeThatIsNone(t *testing.T) {
	w := serve(t, refund.ProfileFull)
	good := `{"operation_id":"5f1c6e0b-934a-5d7e-8a52-2bd071e84c39","revision":1,"status":"CONFIRMED","at":1}`
	status, text := w.call(http.MethodPost, "/notices", good)
	require.Equal(t, http.StatusOK, status, text)
	for _, c := range []struct{ body, text string }{
		{"", "cut off"},
		{`{"operation_id":"x","revision":1,"status":"CONFIRMED","at":1}`, "operation id"},
		{`{"operation_id":"5f1c6e0b-934a-5d7e-8a52-2bd071e84c39","revision":0,"status":"CONFIRMED","at":1}`, "counted from 1"},
		{`{"operation_id":"5f1c6e0b-934a-5d7e-8a52-2bd071e84c39","revision":1,"status":"UNKNOWN","at":1}`, "UNKNOWN"},
	} {
		status, text := w.call(http.MethodPost, "/notices", c.body)
		require.Equal(t, http.StatusBadRequest, status, c.body)
		require.Contains(t, problemIn(t, text).Message, c.text)
	}
	require.Len(t, w.rest().Notices, 1)
}
