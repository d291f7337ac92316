package server_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

func TestAnAnswerInThePlaceOfTheSubmitLeavesNoEffect(t *testing.T) {
	w := serve(t, refund.ProfileFull)
	w.control("answer", `{"kind":"in-progress","count":1}`)
	w.control("answer", `{"kind":"busy","count":1,"retry_after_ms":1500}`)
	first := w.submit(w.intake("r1"), refund.Fence{Term: 1})
	require.Equal(t, refund.ObservedAmbiguous, first.Observation, "still at work is neither a conflict nor a refusal")
	require.Contains(t, first.Detail, "409")
	second := w.submit(w.intake("r1"), refund.Fence{Term: 1})
	require.Equal(t, refund.ObservedAmbiguous, second.Observation)
	require.Equal(t, 2*time.Second, second.Later(), "whole seconds, rounded up")
	require.Empty(t, w.evidence().Ledger)
	require.Equal(t, refund.ObservedReceipt, w.submit(w.intake("r1"), refund.Fence{Term: 1}).Observation)
	require.Equal(t, []string{"submit refused-by-control", "submit refused-by-control", "submit committed"}, outcomes(w.evidence()))
}

func TestAnAnswerInThePlaceOfTheSubmitThatIsNoneIsRefused(t *testing.T) {
	w := serve(t, refund.ProfileFull)
	for _, body := range []string{
		`{"kind":"busy","count":1}`, `{"kind":"in-progress","count":1,"retry_after_ms":5}`, `{"kind":"status-500","count":1,"retry_after_ms":5}`,
		`{"kind":"busy","count":1,"retry_after_ms":-5}`, `{"kind":"in-progress","count":0}`,
	} {
		status, text := w.call(http.MethodPost, "/control/answer", body)
		require.Equal(t, http.StatusBadRequest, status, "%s: %s", body, text)
		require.Equal(t, refund.CodeInvalidBody, problemIn(t, text).Code)
	}
}
