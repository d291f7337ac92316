package server_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/provider"
	"refundlab/provider/ledger"
	"refundlab/provider/server"
	"refundlab/refund"
)

const noon = refund.Instant(1_750_000_000_000)

// world is a served outside world, with a clock that stands still until it is moved.
type world struct {
	t        *testing.T
	server   *server.Server
	url      string
	database string
	profile  refund.Profile
	client   *provider.Client
	wall     *atomic.Int64
}

type option func(*server.Options)

func withAnnouncer(a *faults.Announcer) option { return func(o *server.Options) { o.Announcer = a } }
func withoutControl(o *server.Options)         { o.Control = false }

func serve(t *testing.T, name refund.ProfileName, options ...option) *world {
	t.Helper()
	profile, err := refund.ProfileNamed(name)
	require.NoError(t, err)
	wall := &atomic.Int64{}
	wall.Store(int64(noon))
	o := server.Options{
		Database: filepath.Join(t.TempDir(), "provider.db"),
		Promise:  ledger.Promise{Profile: profile, Retention: time.Hour, Lag: ledger.LagManual},
		Orders:   []ledger.Order{{Tenant: "shop", Order: refund.Order{ID: "o1", Currency: "EUR", Captured: 10000, Version: 1}}},
		Control:  true,
		Now:      func() time.Time { return time.UnixMilli(wall.Load()) },
		Log:      slog.New(slog.DiscardHandler),
	}
	for _, apply := range options {
		apply(&o)
	}
	s, err := server.New(t.Context(), o)
	require.NoError(t, err)
	service := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		require.NoError(t, s.Close()) // first: it ends what is held
		service.Close()
	})
	client, err := provider.NewClient(service.URL, nil)
	require.NoError(t, err)
	return &world{t: t, server: s, url: service.URL, database: o.Database, profile: profile, client: client, wall: wall}
}

func eachProfile(t *testing.T, test func(t *testing.T, w *world)) {
	for _, profile := range refund.Profiles() {
		if !profile.Shared {
			t.Run(string(profile.Name), func(t *testing.T) { test(t, serve(t, profile.Name)) })
		}
	}
}

func (w *world) intake(requestID string) refund.Intake {
	w.t.Helper()
	request, err := refund.NewRequest(refund.Request{Tenant: "shop", RequestID: requestID, Order: "o1", Amount: refund.Money{Minor: 4200, Currency: "EUR"}, Reason: "broken", Requester: "rita"})
	require.NoError(w.t, err)
	terms, err := refund.NewTerms(refund.Terms{Profile: w.profile.Name, DecideWithin: 10_000})
	require.NoError(w.t, err)
	return refund.NewIntake(request, terms, noon)
}

func (w *world) submit(in refund.Intake, fence refund.Fence) provider.Answer {
	return w.client.Submit(w.t.Context(), in, provider.NewSubmission(in, refund.Decision{DecisionID: "d1", OrderVersion: 1}, fence))
}

// call makes one raw request.
func (w *world) call(method, path, body string) (int, string) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	require.NoError(w.t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(w.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(w.t, err)
	return response.StatusCode, string(text)
}

func (w *world) control(path, body string) {
	w.t.Helper()
	status, text := w.call(http.MethodPost, "/control/"+path, body)
	require.Equal(w.t, http.StatusOK, status, text)
}

// rest waits until nothing is in flight and returns the evidence.
func (w *world) rest() evidence.Provider {
	w.t.Helper()
	w.control("quiesce", `{"deadline_ms":5000}`)
	return w.evidence()
}

func (w *world) evidence() evidence.Provider {
	w.t.Helper()
	status, text := w.call(http.MethodGet, "/control/evidence", "")
	require.Equal(w.t, http.StatusOK, status, text)
	var seen evidence.Provider
	require.NoError(w.t, refund.DecodeStrict([]byte(text), &seen))
	return seen
}

func outcomes(seen evidence.Provider) []string {
	var list []string
	for _, received := range seen.Received {
		list = append(list, received.Verb+" "+received.Outcome)
	}
	return list
}

func problemIn(t *testing.T, text string) provider.Problem {
	t.Helper()
	var problem provider.Problem
	require.NoError(t, json.Unmarshal([]byte(text), &problem), text)
	return problem
}

// within bounds one wait of a test for an event.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func receive[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-within(t).Done():
		require.FailNow(t, "waited too long for "+what)
	}
	panic("unreachable")
}
