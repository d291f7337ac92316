package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"refundlab/provider"
	"refundlab/refund"
)

func intake(t *testing.T) refund.Intake {
	t.Helper()
	request, err := refund.NewRequest(refund.Request{Tenant: "shop", RequestID: "r1", Order: "o1", Amount: refund.Money{Minor: 4200, Currency: "EUR"}, Reason: "broken", Requester: "rita"})
	require.NoError(t, err)
	terms, err := refund.NewTerms(refund.Terms{})
	require.NoError(t, err)
	return refund.NewIntake(request, terms, 1_750_000_000_000)
}

func receiptOf(in refund.Intake) refund.Receipt {
	return refund.Receipt{RefundID: "re-1", OperationID: in.OperationID, Digest: in.Digest, Order: "o1", Amount: in.Request.Amount, At: in.At + 1}
}

// serve answers every request by handle and counts them.
func serve(t *testing.T, handle http.HandlerFunc) (url string, received *atomic.Int64) {
	t.Helper()
	received = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received.Add(1)
		handle(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, received
}

func answering(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func text(v any) string {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // the test's own values
	}
	return string(body)
}

// What an answer shows, for every status and body that matters. Whatever is not the provider's word about this operation is
// AMBIGUOUS.
func TestWhatAnAnswerShows(t *testing.T) {
	in := intake(t)
	receipt := receiptOf(in)
	changed := func(change func(*refund.Receipt)) string {
		r := receipt
		change(&r)
		return text(r)
	}
	problem := func(code refund.Code, change ...func(*provider.Problem)) string {
		p := provider.Problem{Code: code, Message: "why", OperationID: in.OperationID, Digest: in.Digest}
		for _, c := range change {
			c(&p)
		}
		return text(p)
	}
	foreignID := func(p *provider.Problem) { p.OperationID = refund.NewOperationID("shop", refund.Kind, "other") }
	noID := func(p *provider.Problem) { p.OperationID = "" }
	otherDigest := func(p *provider.Problem) { p.Digest = refund.Digest(strings.Repeat("0", 64)) }
	noDigest := func(p *provider.Problem) { p.Digest = "" }
	fenced := func(p *provider.Problem) { p.Fence = &refund.Fence{Term: 7, Seq: 2} }

	cases := []struct {
		name   string
		status int
		body   string
		shows  refund.Observation
	}{
		{"receipt", 200, text(receipt), refund.ObservedReceipt},
		{"receipt with another status", 201, text(receipt), refund.ObservedAmbiguous},
		{"200 without a body", 200, "", refund.ObservedAmbiguous},
		{"200 with an empty object", 200, "{}", refund.ObservedAmbiguous},
		{"200 with a page", 200, "<html>ok</html>", refund.ObservedAmbiguous},
		{"200 with null", 200, "null", refund.ObservedAmbiguous},
		{"receipt cut off", 200, text(receipt)[:60], refund.ObservedAmbiguous},
		{"receipt with something behind it", 200, text(receipt) + "{}", refund.ObservedAmbiguous},
		{"receipt with a key twice", 200, strings.Replace(text(receipt), "{", `{"refund_id":"re-0",`, 1), refund.ObservedAmbiguous},
		{"receipt with a fraction", 200, strings.Replace(text(receipt), "4200", "4200.5", 1), refund.ObservedAmbiguous},
		{"receipt without a refund id", 200, changed(func(r *refund.Receipt) { r.RefundID = "" }), refund.ObservedAmbiguous},
		{"receipt without a digest", 200, changed(func(r *refund.Receipt) { r.Digest = "" }), refund.ObservedAmbiguous},
		{"receipt of another digest", 200, changed(func(r *refund.Receipt) { r.Digest = refund.Digest(strings.Repeat("0", 64)) }), refund.ObservedConflict},
		{"receipt of another operation", 200, changed(func(r *refund.Receipt) { r.OperationID = refund.NewOperationID("shop", refund.Kind, "other") }), refund.ObservedConflict},
		{"receipt of another amount", 200, changed(func(r *refund.Receipt) { r.Amount.Minor++ }), refund.ObservedConflict},
		{"receipt of another order", 200, changed(func(r *refund.Receipt) { r.Order = "o2" }), refund.ObservedConflict},
		{"body without an end", 200, strings.Repeat(" ", provider.MaxBody) + text(receipt), refund.ObservedAmbiguous},

		{"refusal by balance", 422, problem(refund.CodeInsufficientBalance), refund.ObservedRefusal},
		{"refusal by deadline", 422, problem(refund.CodeApprovalExpired), refund.ObservedRefusal},
		{"refusal by version", 422, problem(refund.CodeOrderVersionChanged), refund.ObservedRefusal},
		{"refusal by currency", 422, problem(refund.CodeCurrencyMismatch), refund.ObservedRefusal},
		{"refusal by a missing order", 422, problem(refund.CodeOrderNotFound), refund.ObservedRefusal},
		{"tombstone", 422, problem(refund.CodeClosed, noDigest), refund.ObservedRefusal},
		{"refusal of another digest", 422, problem(refund.CodeInsufficientBalance, otherDigest), refund.ObservedConflict},
		{"refusal of no digest", 422, problem(refund.CodeInsufficientBalance, noDigest), refund.ObservedAmbiguous},
		{"refusal of another operation", 422, problem(refund.CodeInsufficientBalance, foreignID), refund.ObservedAmbiguous},
		{"refusal of no operation", 422, problem(refund.CodeInsufficientBalance, noID), refund.ObservedAmbiguous},
		{"refusal with a code of nobody's", 422, problem("BLOCKED_BY_PROXY"), refund.ObservedAmbiguous},
		{"refusal without a code", 422, problem(""), refund.ObservedAmbiguous},
		{"422 of a proxy", 422, "Unprocessable", refund.ObservedAmbiguous},
		{"refusal under another status", 403, problem(refund.CodeInsufficientBalance), refund.ObservedAmbiguous},

		{"conflict", 409, problem(refund.CodeKeyConflict), refund.ObservedConflict},
		{"conflict as 400", 400, problem(refund.CodeKeyConflict), refund.ObservedConflict},
		{"409 of another operation", 409, problem(refund.CodeKeyConflict, foreignID), refund.ObservedAmbiguous},
		{"409 of a proxy", 409, "Conflict", refund.ObservedAmbiguous},
		{"409 with another code", 409, problem(refund.CodeAlreadyExists), refund.ObservedAmbiguous},
		{"400 by the body", 400, problem(refund.CodeInvalidBody), refund.ObservedAmbiguous},

		{"stale fence", 412, problem(refund.CodeStaleFence, fenced), refund.ObservedStaleFence},
		{"stale fence without the current pair", 412, problem(refund.CodeStaleFence), refund.ObservedAmbiguous},
		{"stale fence of another operation", 412, problem(refund.CodeStaleFence, fenced, foreignID), refund.ObservedAmbiguous},

		{"not found", 404, problem(refund.CodeNotFound), refund.ObservedNotFound},
		{"not found, of a proxy", 404, "404 page not found", refund.ObservedAmbiguous},
		{"not found, another operation", 404, problem(refund.CodeNotFound, foreignID), refund.ObservedAmbiguous},
		{"no look-up", 501, problem(refund.CodeProfileMismatch), refund.ObservedAmbiguous},

		{"unauthorised", 401, problem(refund.CodeInternal), refund.ObservedAmbiguous},
		{"request time-out", 408, "", refund.ObservedAmbiguous},
		{"too many requests", 429, "", refund.ObservedAmbiguous},
		{"server error", 500, problem(refund.CodeInternal), refund.ObservedAmbiguous},
		{"bad gateway", 502, "", refund.ObservedAmbiguous},
		{"unavailable", 503, problem(refund.CodeUnavailable), refund.ObservedAmbiguous},
		{"gateway time-out", 504, "", refund.ObservedAmbiguous},
		{"no content", 204, "", refund.ObservedAmbiguous},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			url, received := serve(t, answering(c.status, c.body))
			client, err := provider.NewClient(url, nil)
			require.NoError(t, err)
			fence := refund.Fence{Term: 1}
			answers := []provider.Answer{
				client.Submit(t.Context(), in, provider.NewSubmission(in, refund.Decision{OrderVersion: 1}, fence)),
				client.LookUp(t.Context(), in, nil),
				client.Close(t.Context(), in, fence),
			}
			require.Equal(t, int64(3), received.Load(), "one request a call")
			for _, answer := range answers {
				require.Equal(t, c.shows, answer.Observation, answer.Detail)
				require.Equal(t, c.shows == refund.ObservedReceipt, answer.Receipt != nil)
				require.Equal(t, c.shows == refund.ObservedRefusal, answer.Refusal != "")
				require.Equal(t, c.shows == refund.ObservedStaleFence, answer.Fence == refund.Fence{Term: 7, Seq: 2})
				require.Equal(t, c.shows == refund.ObservedReceipt, answer.Detail == "", "everything else is explained to a person")
			}
		})
	}
}

func cut(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		conn.Close()
	}
}

func TestACallThatBroughtNothingBackIsAmbiguousAndNotRepeated(t *testing.T) {
	in := intake(t)
	faults := map[string]http.HandlerFunc{
		"connection cut": cut,
		"answer cut": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, text(receiptOf(in)))
			cut(w, r)
		},
		"never answered": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body) // only then does the server see that its client leaves
			<-r.Context().Done()
		},
	}
	for name, handle := range faults {
		t.Run(name, func(t *testing.T) {
			url, received := serve(t, handle)
			client, err := provider.NewClient(url, nil)
			require.NoError(t, err)
			ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer stop()
			answer := client.Submit(ctx, in, provider.Submission{})
			require.Equal(t, refund.ObservedAmbiguous, answer.Observation)
			require.NotEmpty(t, answer.Detail)
			require.Equal(t, int64(1), received.Load())
		})
	}
	t.Run("on a connection that was used before, where Go's transport resends what it may", func(t *testing.T) {
		var submits atomic.Int64
		url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				submits.Add(1)
				cut(w, r)
			}
		})
		client, err := provider.NewClient(url, nil)
		require.NoError(t, err)
		_, err = client.Order(t.Context(), "shop", "o1")
		require.Error(t, err)
		require.Equal(t, refund.ObservedAmbiguous, client.Submit(t.Context(), in, provider.Submission{}).Observation)
		require.Equal(t, int64(1), submits.Load())
	})
	t.Run("nobody there", func(t *testing.T) {
		gone := httptest.NewServer(http.NotFoundHandler())
		gone.Close()
		client, err := provider.NewClient(gone.URL, nil)
		require.NoError(t, err)
		require.Equal(t, refund.ObservedAmbiguous, client.Submit(t.Context(), in, provider.Submission{}).Observation)
	})
}

// With 307 and 308 Go's client would send the refund a second time.
func TestARedirectIsNotFollowed(t *testing.T) {
	in := intake(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		target, arrived := serve(t, answering(200, text(receiptOf(in))))
		url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, status) })
		client, err := provider.NewClient(url, nil)
		require.NoError(t, err)
		require.Equal(t, refund.ObservedAmbiguous, client.Submit(t.Context(), in, provider.Submission{}).Observation, status)
		require.Zero(t, arrived.Load(), status)
	}
}

func TestWhatIsSent(t *testing.T) {
	in := intake(t)
	var path string
	var header http.Header
	var body map[string]any
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		path, header, body = r.URL.Path, r.Header, nil
		_ = json.NewDecoder(r.Body).Decode(&body)
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	client, err := provider.NewClient(url, nil)
	require.NoError(t, err)
	decision := refund.Decision{DecisionID: "d1", OrderVersion: 3}

	client.Submit(t.Context(), in, provider.NewSubmission(in, decision, refund.Fence{Term: 2, Seq: 1}))
	require.Equal(t, "/v1/refunds", path)
	require.NotContains(t, header, "Idempotency-Key", "Go's transport resends a request that bears one")
	require.Equal(t, map[string]any{
		"tenant": "shop", "kind": "refund", "operation_id": string(in.OperationID), "order": "o1",
		"amount": map[string]any{"minor": 4200.0, "currency": "EUR"}, "reason": "broken", "order_version": 3.0,
		"commit_by": float64(in.CommitBy()), "decision_id": "d1", "fence": map[string]any{"term": 2.0, "seq": 1.0},
	}, body)

	client.LookUp(t.Context(), in, nil)
	require.Equal(t, "/v1/refunds/lookup", path)
	require.NotContains(t, body, "fence", "a reader has none")
	client.LookUp(t.Context(), in, &refund.Fence{Term: 2})
	require.Equal(t, map[string]any{"term": 2.0, "seq": 0.0}, body["fence"])
	client.Close(t.Context(), in, refund.Fence{})
	require.Equal(t, "/v1/refunds/close", path)
	require.Equal(t, map[string]any{"term": 0.0, "seq": 0.0}, body["fence"], "an owner's fence is sent even if it is zero")
}

func TestReadingAnOrder(t *testing.T) {
	order := refund.Order{ID: "o1", Currency: "EUR", Captured: 10000, Version: 3}
	notFound := text(provider.Problem{Code: refund.CodeOrderNotFound, Message: `tenant "shop" has no order "o1"`})
	cases := map[string]struct {
		status int
		body   string
		code   refund.Code
	}{
		"order":                {200, text(order), ""},
		"another order":        {200, strings.Replace(text(order), "o1", "o2", 1), refund.CodeUnavailable},
		"order cut off":        {200, text(order)[:20], refund.CodeUnavailable},
		"no such order":        {404, notFound, refund.CodeOrderNotFound},
		"404 of a proxy":       {404, "404 page not found", refund.CodeUnavailable},
		"another status":       {410, notFound, refund.CodeUnavailable},
		"provider unavailable": {503, "", refund.CodeUnavailable},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			url, _ := serve(t, answering(c.status, c.body))
			client, err := provider.NewClient(url, nil)
			require.NoError(t, err)
			got, err := client.Order(t.Context(), "shop", "o1")
			require.Equal(t, c.code, refund.CodeOf(err))
			if c.code == "" {
				require.Equal(t, order, got)
			}
		})
	}
	t.Run("whatever identity it has", func(t *testing.T) {
		var asked string
		url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked = r.URL.EscapedPath()
			http.NotFound(w, r)
		})
		client, err := provider.NewClient(url, nil)
		require.NoError(t, err)
		_, _ = client.Order(t.Context(), "a@b+c", "..")
		require.Equal(t, "/v1/orders/a@b+c/%2E%2E", asked)
	})
}

func TestNothingIsSentToAProviderWithAnotherPromise(t *testing.T) {
	in := intake(t) // relies on full
	order := text(refund.Order{ID: "o1", Currency: "EUR", Captured: 10000, Version: 1})
	for profile, sent := range map[string]bool{"full": true, "opaque": false, "": true} {
		t.Run(fmt.Sprintf("profile %q", profile), func(t *testing.T) {
			var submits int
			url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					submits++
				}
				if profile != "" {
					w.Header().Set(provider.ProfileHeader, profile)
				}
				answering(200, order)(w, r)
			})
			client, err := provider.NewClient(url, nil)
			require.NoError(t, err)
			answer := provider.CheckAndSubmit(t.Context(), client, in, refund.Decision{OrderVersion: 1}, refund.Fence{}, func() refund.Instant { return in.At })
			if sent {
				require.Equal(t, refund.ObservedAmbiguous, answer.Observation)
				require.Equal(t, 1, submits)
				return
			}
			require.Equal(t, refund.ObservedUnsent, answer.Observation)
			require.Empty(t, answer.Refusal, "it is no reason to reject")
			require.Contains(t, answer.Detail, "PROFILE_MISMATCH")
			require.Zero(t, submits)
		})
	}
}

// untold is a context whose time is over and whose timer has not run yet, as after SIGCONT.
type untold struct {
	context.Context
	deadline time.Time
}

func (u untold) Deadline() (time.Time, bool) { return u.deadline, true }

// slept is a deadline after the host has slept for so long: of its two readings the monotonic one has stood still. The package time
// offers no way to part them, so its second word, the monotonic reading in nanoseconds, is moved.
func slept(deadline time.Time, long time.Duration) time.Time {
	deadline = deadline.Add(-long)
	*(*int64)(unsafe.Add(unsafe.Pointer(&deadline), 8)) += int64(long)
	return deadline
}

// sink takes a refund after it has shown its order.
type sink struct {
	provider.Refunds
	submits int
}

func (*sink) Order(context.Context, string, string) (refund.Order, error) {
	return refund.Order{ID: "o1", Currency: "EUR", Captured: 10000, Version: 1}, nil
}

func (s *sink) Submit(context.Context, refund.Intake, provider.Submission) provider.Answer {
	s.submits++
	return provider.Answer{Observation: refund.ObservedAmbiguous}
}

// A worker that was frozen while it read the order sends nothing, also where no timer has told its context by then (I1, I6).
func TestNothingIsSentAfterTheDeadline(t *testing.T) {
	in := intake(t)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		sent int
	}{
		"in time":               {t.Context(), 1},
		"cancelled":             {cancelled, 0},
		"over, and not told so": {untold{t.Context(), time.Now()}, 0},
		"over by the wall":      {untold{t.Context(), slept(time.Now().Add(time.Hour), 2*time.Hour)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := &sink{}
			answer := provider.CheckAndSubmit(c.ctx, s, in, refund.Decision{OrderVersion: 1}, refund.Fence{}, func() refund.Instant { return in.At })
			require.Equal(t, c.sent, s.submits)
			require.Equal(t, c.sent == 0, answer.Observation == refund.ObservedUnsent)
			require.Empty(t, answer.Refusal, "it is no reason to reject")
		})
	}
}

func TestURLsThatAreNotUsable(t *testing.T) {
	for _, url := range []string{"", "127.0.0.1:8080", "ftp://host", "http://", "http://host?x=1", "http://host\x00"} {
		_, err := provider.NewClient(url, nil)
		require.Equal(t, refund.CodeInvalidFlag, refund.CodeOf(err), url)
		_, err = provider.NewNoticeSender(url, nil)
		require.Equal(t, refund.CodeInvalidFlag, refund.CodeOf(err), url)
		_, err = provider.NewModel(provider.ModelConfig{BaseURL: url}, nil)
		require.Equal(t, refund.CodeInvalidFlag, refund.CodeOf(err), url)
	}
}

func TestANoticeIsDeliveredOnceItIsAcknowledged(t *testing.T) {
	in := intake(t)
	notice := refund.Notice{OperationID: in.OperationID, Revision: 1, Status: refund.StatusConfirmed, RefundID: "re-1", At: in.At}
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		code   refund.Code
	}{
		"acknowledged":   {answering(200, `{"duplicate":false}`), ""},
		"accepted":       {answering(202, ""), refund.CodeUnavailable},
		"refused":        {answering(400, ""), refund.CodeUnavailable},
		"unavailable":    {answering(503, ""), refund.CodeUnavailable},
		"connection cut": {cut, refund.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			url, received := serve(t, c.handle)
			sender, err := provider.NewNoticeSender(url, nil)
			require.NoError(t, err)
			require.Equal(t, c.code, refund.CodeOf(sender.Send(t.Context(), notice)))
			require.Equal(t, int64(1), received.Load())
		})
	}
}
