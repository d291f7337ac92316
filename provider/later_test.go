package provider_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/provider"
	"refundlab/refund"
)

func TestAFarSideMaySayWhenToComeBack(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		header string
		want   time.Duration
	}{
		{"too many requests", 429, "7", 7 * time.Second},
		{"unavailable", 503, "7", 7 * time.Second},
		{"nothing said", 429, "", 0},
		{"a date, which is by another clock", 429, "Wed, 21 Oct 2026 07:28:00 GMT", 0},
		{"not a number", 429, "soon", 0},
		{"before now", 429, "-7", 0},
		{"for ever", 429, "2000000000", refund.MaxPause},
		{"more than a number holds", 429, "99999999999999999999", 0},
		{"on an answer that it does not belong to", 500, "7", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", c.header)
				http.Error(w, "later", c.status)
			})
			client, err := provider.NewClient(url, nil)
			require.NoError(t, err)
			model, err := provider.NewModel(provider.ModelConfig{BaseURL: url}, nil)
			require.NoError(t, err)
			in := intake(t)
			for _, answer := range []provider.Answer{
				client.Submit(t.Context(), in, provider.Submission{}), client.LookUp(t.Context(), in, nil), client.Close(t.Context(), in, refund.Fence{}),
			} {
				require.Equal(t, refund.ObservedAmbiguous, answer.Observation)
				require.Equal(t, c.want, answer.Later())
			}
			unsent := provider.CheckAndSubmit(t.Context(), client, in, refund.Decision{}, refund.Fence{}, nil)
			require.Equal(t, refund.ObservedUnsent, unsent.Observation)
			require.Equal(t, c.want, unsent.Later(), "also when it was the order that could not be read")
			_, err = model.Propose(t.Context(), in, order)
			require.Equal(t, refund.CodeUnavailable, refund.CodeOf(err), "%v", err)
			require.Equal(t, c.want, provider.RetryAfter(err))
		})
	}
}
