package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/provider/server"
	"refundlab/refund"
)

func reader(text string) io.Reader { return strings.NewReader(text) }

func TestTheControlSurfaceIsNotThereUnlessItWasAskedFor(t *testing.T) {
	w := serve(t, refund.ProfileFull, withoutControl)
	for _, path := range []string{"orders", "orders/version", "clock", "replica", "model", "answer", "quiesce"} {
		status, _ := w.call(http.MethodPost, "/control/"+path, "{}")
		require.Equal(t, http.StatusNotFound, status, path)
	}
	status, _ := w.call(http.MethodGet, "/control/evidence", "")
	require.Equal(t, http.StatusNotFound, status)
	require.Equal(t, refund.ObservedReceipt, w.submit(w.intake("r1"), refund.Fence{}).Observation, "everything else is")
	seen, err := w.server.Evidence(t.Context())
	require.NoError(t, err)
	require.Empty(t, seen.Received, "and nothing grows that nobody can read")
}

func TestOrdersAreSetUp(t *testing.T) {
	w := serve(t, refund.ProfileFull)
	w.control("orders", `{"tenant":"shop","id":"o2","currency":"JPY","captured_minor":500,"refunded_minor":100,"version":1}`)
	w.control("orders/version", `{"tenant":"shop","id":"o2"}`)
	w.control("orders/version", `{"tenant":"shop","id":"o2","version":7}`)
	order, err := w.client.Order(t.Context(), "shop", "o2")
	require.NoError(t, err)
	require.Equal(t, refund.Order{ID: "o2", Currency: "JPY", Captured: 500, Refunded: 100, Version: 7}, order)
	seen := w.rest()
	require.Equal(t, int64(100), seen.Orders[1].Opening)
}

func TestACommandThatIsNoneChangesNothing(t *testing.T) {
	w := serve(t, refund.ProfileFull)
	before := w.evidence()
	for _, c := range []struct {
		path, body string
		status     int
		code       refund.Code
	}{
		{"orders", `{"tenant":"shop","id":"o1","currency":"EUR","captured_minor":1,"refunded_minor":0,"version":1}`, 409, refund.CodeAlreadyExists},
		{"orders", `{"tenant":"shop","id":"o2","currency":"EUR","captured_minor":-1,"refunded_minor":0,"version":1}`, 400, refund.CodeInvalidAmount},
		{"orders", `[]`, 400, refund.CodeInvalidBody},
		{"orders/version", `{"tenant":"shop","id":"o9"}`, 404, refund.CodeOrderNotFound},
		{"orders/version", `{"tenant":"shop","id":"o1","version":1}`, 400, refund.CodeInvalidBody},
		{"clock", `{"offset":1}`, 400, refund.CodeInvalidBody},
		{"replica", `{}`, 400, refund.CodeInvalidBody},
		{"model", `{"answers":[{"kind":"good"},{"kind":"better"}]}`, 400, refund.CodeInvalidBody},
		{"model", `{"answers":[{"kind":"slow","delay_ms":-1}]}`, 400, refund.CodeInvalidBody},
		{"answer", `{"kind":"status-200","count":1}`, 400, refund.CodeInvalidBody},
		{"answer", `{"kind":"status-500","count":0}`, 400, refund.CodeInvalidBody},
		{"answer", `{"kind":"","count":1}`, 400, refund.CodeInvalidBody},
	} {
		status, text := w.call(http.MethodPost, "/control/"+c.path, c.body)
		require.Equal(t, c.status, status, "%s %s: %s", c.path, c.body, text)
		require.Equal(t, c.code, problemIn(t, text).Code)
	}
	require.Equal(t, before, w.evidence())
	require.Equal(t, refund.ObservedReceipt, w.submit(w.intake("r1"), refund.Fence{}).Observation)
	_, err := w.model().Propose(t.Context(), w.intake("r1"), order)
	require.NoError(t, err)
}

// An answer that says something else than what happened is one, and the effect stands.
func TestFaultyAnswers(t *testing.T) {
	for kind, shows := range map[string]refund.Observation{
		"malformed-receipt":    refund.ObservedAmbiguous,
		"foreign-receipt":      refund.ObservedConflict,
		"other-digest-receipt": refund.ObservedConflict,
		"status-500":           refund.ObservedAmbiguous,
		"status-503":           refund.ObservedAmbiguous,
		"status-404":           refund.ObservedAmbiguous,
	} {
		t.Run(kind, func(t *testing.T) {
			w := serve(t, refund.ProfileFull)
			w.control("answer", `{"kind":"`+kind+`","count":2}`)
			in := w.intake("r1")
			require.Equal(t, shows, w.submit(in, refund.Fence{}).Observation)
			require.Equal(t, shows, w.submit(in, refund.Fence{}).Observation)
			third := w.submit(in, refund.Fence{})
			require.Equal(t, refund.ObservedReceipt, third.Observation)
			seen := w.rest()
			require.Equal(t, []string{"submit committed", "submit receipt", "submit receipt"}, outcomes(seen))
			require.Equal(t, third.Receipt.RefundID, seen.Ledger[0].RefundID)
		})
	}
}

func TestWhatIsDumpedFromTheFileIsWhatTheServerSays(t *testing.T) {
	eachProfile(t, func(t *testing.T, w *world) {
		w.submit(w.intake("r1"), refund.Fence{Term: 1})
		w.submit(w.intake("r9"), refund.Fence{Term: 1})
		w.submit(w.intake("r8"), refund.Fence{Term: 1}) // refused: the balance is spent
		if w.profile.Close {
			w.client.Close(t.Context(), w.intake("r2"), refund.Fence{Term: 4})
		}
		seen := w.rest()
		dumped, err := server.Dump(t.Context(), w.database, w.profile.Name)
		require.NoError(t, err)
		require.Equal(t, seen.Orders, dumped.Orders)
		require.Equal(t, seen.Operations, dumped.Operations)
		require.Equal(t, seen.Ledger, dumped.Ledger)
		require.Len(t, dumped.Ledger, 2)
		if w.profile.Close {
			var results []string
			for _, o := range dumped.Operations {
				results = append(results, o.Result+" "+string(o.Code))
			}
			require.ElementsMatch(t, []string{"receipt ", "receipt ", "refusal INSUFFICIENT_BALANCE", "tombstone CLOSED"}, results)
		}
		_, err = server.Dump(t.Context(), w.database, refund.ProfileLocal)
		require.Equal(t, refund.CodeProfileMismatch, refund.CodeOf(err))
	})
}
