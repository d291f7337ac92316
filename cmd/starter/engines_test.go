package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/binaries"
	"refundlab/cmd/internal/children"
	"refundlab/faults"
	"refundlab/refund"
	"refundlab/temporalserver"
	"refundlab/workflows"
)

// world is a provider and one engine, as real processes, with the starter in this one.
type world struct {
	provider string   // URL
	engine   []string // flags by which starter and worker reach it
	dir      string
	paths    binaries.Paths
	children children.Children
}

const stopWithin = 20 * time.Second

// onEachEngine runs a test on both engines, each with a provider of its own and no worker yet.
func onEachEngine(t *testing.T, profile string, test func(*testing.T, *world)) {
	t.Run("handrolled", func(t *testing.T) {
		w := newWorld(t, profile)
		w.engine = []string{"--engine", "handrolled", "--journal", filepath.Join(w.dir, "journal.db")}
		test(t, w)
	})
	t.Run("temporal", func(t *testing.T) {
		w := newWorld(t, profile, binaries.DevServer)
		server, err := temporalserver.Start(t.Context(), temporalserver.Options{
			Binary: w.paths[binaries.DevServer], LogFile: filepath.Join(w.dir, "temporal.log"),
			SearchAttributes: workflows.SearchAttributes(),
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, server.Stop()) })
		w.engine = []string{"--engine", "temporal", "--temporal-address", server.Address()}
		test(t, w)
	})
}

const seed = `[{"tenant":"shop","id":"o-1001","currency":"EUR","captured_minor":10000,"refunded_minor":0,"version":3}]`

func newWorld(t *testing.T, profile string, more ...string) *world {
	t.Helper()
	w := &world{dir: t.TempDir()}
	var err error
	w.paths, err = binaries.Build(t.Context(), os.Stderr, append(more, binaries.Provider, binaries.Worker)...)
	require.NoError(t, err)
	orders := filepath.Join(w.dir, "orders.json")
	require.NoError(t, os.WriteFile(orders, []byte(seed), 0o600))
	w.provider, err = w.children.Start(t.Context(), "provider", filepath.Join(w.dir, "provider.log"), os.Environ(), w.paths[binaries.Provider],
		"serve", "--listen", "127.0.0.1:0", "--db", filepath.Join(w.dir, "provider.db"), "--profile", profile, "--orders", orders)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.children.Stop(stopWithin, "provider")) })
	return w
}

// worker starts a worker, which ends with the test unless stop was called before.
func (w *world) worker(t *testing.T, name, provider string, more ...string) (stop func()) {
	t.Helper()
	args := slices.Concat([]string{"--name", name, "--provider", provider}, w.engine, more)
	ready, err := w.children.Start(t.Context(), name, filepath.Join(w.dir, name+".log"), os.Environ(), w.paths[binaries.Worker], args...)
	require.NoError(t, err)
	require.Equal(t, name, ready)
	stop = func() { require.NoError(t, w.children.Stop(stopWithin, name)) }
	t.Cleanup(stop)
	return stop
}

// run runs the starter for a person.
func (w *world) run(t *testing.T, verb ...string) result {
	t.Helper()
	return starterRun(t, append(append([]string{"--provider", w.provider}, w.engine...), verb...)...)
}

// ask runs the starter for a program, which expects the exit status, and reads its answer.
func ask[T any](t *testing.T, w *world, exit int, verb ...string) T {
	t.Helper()
	got := w.run(t, append(verb, "--json")...)
	require.Equal(t, exit, got.exit, "%v: %s%s", verb, got.stdout, got.stderr)
	var answer T
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &answer), got.stdout)
	return answer
}

type failed struct {
	Error struct {
		Code    refund.Code
		Message string
	}
}

type listed struct {
	Runs []refund.View `json:"runs"`
}

func TestOneRefundFromRequestToReceipt(t *testing.T) {
	onEachEngine(t, "full", func(t *testing.T, w *world) {
		w.worker(t, "a", w.provider)
		run := []string{"--tenant", "shop", "--request-id", "r-1"}
		on := func(verb string, more ...string) []string { return append(append([]string{verb}, run...), more...) }

		asked := ask[requestAnswer](t, w, refund.ExitOK, requestWith()...)
		require.False(t, asked.Existing)
		require.Equal(t, refund.NewOperationID("shop", refund.Kind, "r-1"), asked.OperationID)
		again := ask[requestAnswer](t, w, refund.ExitOK, requestWith("--amount", "42")...)
		require.True(t, again.Existing)
		otherTerms := w.run(t, append(requestWith(), "--decide-within", "1m", "--profile", "stale", "--model-budget", "1")...)
		require.Zero(t, otherTerms.exit, otherTerms.stderr)
		require.Contains(t, otherTerms.stdout, "was there already; its own terms stand: request r-1")
		require.Equal(t, asked.Digest, again.Digest)
		require.Equal(t, refund.CodeKeyConflict, ask[failed](t, w, refund.ExitConflict, requestWith("--amount", "43.00")...).Error.Code)

		require.Zero(t, w.run(t, on("watch", "--until", "approval_required", "--timeout", "30s")...).exit)
		waiting := ask[refund.View](t, w, refund.ExitOK, "status", string(asked.OperationID))
		require.Equal(t, refund.StatusApprovalRequired, waiting.Status)
		require.EqualValues(t, 3, waiting.Facts.Proposal.OrderVersion)
		require.Equal(t, refund.ProfileFull, waiting.Facts.Intake.Terms.Profile)
		require.Equal(t, refund.ObservedNotFound, waiting.World.Observation)
		require.Len(t, ask[listed](t, w, refund.ExitOK, "list", "--which", "waiting").Runs, 1)
		require.NotNil(t, ask[listed](t, w, refund.ExitOK, "list", "--which", "unknown").Runs, "an empty list is not null")

		own := ask[decisionAnswer](t, w, refund.ExitRefused, on("approve", "--as", "Alice ", "--decision-id", "d-0")...)
		require.Equal(t, refund.VerdictSelfApproval, own.Verdict)
		require.Equal(t, refund.Code("SELF_APPROVAL"), own.Error.Code)

		shown := w.run(t, on("approve", "--as", "bob", "--decision-id", "d-1")...)
		require.Zero(t, shown.exit, shown.stderr)
		require.Contains(t, shown.stdout, "decision d-1 of bob")
		for _, text := range []string{"approve 42.00 EUR of order o-1001 (version 3), asked for by alice", waiting.Facts.Proposal.Rationale, string(asked.Digest)} {
			require.Contains(t, shown.stderr, text, "a person sees what is decided on")
		}
		repeated := ask[decisionAnswer](t, w, refund.ExitOK, on("approve", "--as", "bob", "--decision-id", "d-1", "--digest", string(asked.Digest), "--order-version", "3")...)
		require.Equal(t, refund.VerdictAccepted, repeated.Verdict)
		require.Equal(t, "d-1", repeated.DecisionID)
		other := ask[decisionAnswer](t, w, refund.ExitConflict, on("reject", "--as", "bob", "--decision-id", "d-1")...)
		require.Equal(t, refund.CodeDecisionConflict, other.Error.Code)

		lines := strings.Split(strings.TrimSpace(w.run(t, on("watch", "--timeout", "30s")...).stdout), "\n")
		require.True(t, strings.HasPrefix(lines[len(lines)-1], "CONFIRMED  operation CONFIRMED"), lines)
		late := ask[decisionAnswer](t, w, refund.ExitRefused, on("reject", "--as", "carol", "--decision-id", "d-2")...)
		require.Equal(t, refund.VerdictAlreadyDecided, late.Verdict)

		done := ask[refund.View](t, w, refund.ExitOK, on("status")...)
		require.Equal(t, done.Facts.Receipt, done.World.Receipt, "what the engine knows is what the world did")
		text := w.run(t, on("status")...).stdout
		require.Regexp(t, `(?m)^world +refunded 42\.00 EUR`, text)
		require.Regexp(t, `(?m)^knows +operation CONFIRMED`, text)
		require.Regexp(t, `(?m)^may +nothing: the answer is final`, text)

		export := ask[refund.Export](t, w, refund.ExitOK, on("export")...)
		kinds := map[refund.FactKind]bool{}
		for _, fact := range export.Facts {
			kinds[fact.Kind] = true
		}
		for _, kind := range []refund.FactKind{refund.FactIntake, refund.FactProposal, refund.FactVerdict, refund.FactIntent, refund.FactOutcome} {
			require.True(t, kinds[kind], "%s is missing in %v", kind, kinds)
		}
		require.Contains(t, w.run(t, on("export")...).stdout, "OUTCOME")
		require.Regexp(t, `(?m)^r-1 +[0-9a-f-]{36} +CONFIRMED `, w.run(t, "list").stdout)

		unreachable := w.run(t, on("status", "--provider", "http://127.0.0.1:1")...)
		require.Zero(t, unreachable.exit, unreachable.stderr)
		require.Regexp(t, `(?m)^world +not known: "the provider is not reachable: .*refused`, unreachable.stdout)

		require.Equal(t, refund.CodeSettlementRefused, ask[failed](t, w, refund.ExitRefused,
			on("reconcile", "--kind", "close", "--by", "carol", "--reason", "to be sure")...).Error.Code)
		for _, verb := range [][]string{{"status"}, {"export"}, {"watch"}, {"approve", "--as", "bob"}} {
			require.Equal(t, refund.CodeNotFound, ask[failed](t, w, refund.ExitNotFound,
				append(verb, "--tenant", "shop", "--request-id", "r-404")...).Error.Code, verb)
		}
	})
}

// Requests, decisions and every reader work while no worker is alive; only what a worker must do is missing.
func TestTheClientNeedsNoWorker(t *testing.T) {
	onEachEngine(t, "full", func(t *testing.T, w *world) {
		run := []string{"--tenant", "shop", "--request-id", "r-1"}
		on := func(verb string, more ...string) []string { return append(append([]string{verb}, run...), more...) }
		asked := ask[requestAnswer](t, w, refund.ExitOK, requestWith()...)
		require.Equal(t, refund.StatusPending, asked.Status)
		require.Equal(t, refund.StatusPending, ask[refund.View](t, w, refund.ExitOK, on("status")...).Status)
		require.Equal(t, refund.StatusPending, ask[refund.View](t, w, refund.ExitOK, on("watch", "--until", "PENDING")...).Status)
		require.Equal(t, refund.Code("NOT_READY"), ask[failed](t, w, refund.ExitRefused, on("approve", "--as", "bob")...).Error.Code)
		require.NotEmpty(t, ask[refund.Export](t, w, refund.ExitOK, on("export")...).Facts)
		require.Equal(t, refund.ExitUnavailable, w.run(t, on("watch", "--timeout", "300ms")...).exit)

		stop := w.worker(t, "a", w.provider)
		require.Zero(t, w.run(t, on("watch", "--until", "APPROVAL_REQUIRED", "--timeout", "30s")...).exit)
		stop()

		approve := on("approve", "--as", "bob", "--decision-id", "d-1", "--wait", "2s", "--digest", string(asked.Digest), "--order-version", "3")
		got := w.run(t, append(approve, "--json")...)
		var answer decisionAnswer
		require.NoError(t, json.Unmarshal([]byte(got.stdout), &answer), got.stdout)
		if answer.Verdict == "" { // an engine whose workers make the verdicts: it is stored and waits
			require.Equal(t, refund.ExitVerdictPending, got.exit, got.stdout)
			require.Equal(t, refund.CodeVerdictPending, answer.Error.Code)
			require.Contains(t, answer.Error.Message, "--decision-id d-1")
		} else {
			require.Equal(t, refund.VerdictAccepted, answer.Verdict)
		}
		require.Len(t, ask[listed](t, w, refund.ExitOK, "list").Runs, 1)

		w.worker(t, "b", w.provider)
		require.Zero(t, w.run(t, on("watch", "--until", "CONFIRMED", "--timeout", "30s")...).exit)
		require.Equal(t, refund.VerdictAccepted, ask[decisionAnswer](t, w, refund.ExitOK, approve...).Verdict)
	})
}

// Where the provider cannot be asked, a person settles: with a receipt, or by noting that the refund is presumed absent.
// I11: a journal whose host's clock was set forward and back stays ahead of it, and so does what it recorded.
func TestOverdueIsReckonedByTheTimeOfTheJournal(t *testing.T) {
	dir := t.TempDir()
	offset := filepath.Join(dir, "offset")
	t.Setenv(faults.EnvClock, offset)
	at := func(ahead time.Duration, verb ...string) result {
		require.NoError(t, os.WriteFile(offset, []byte(strconv.FormatInt(ahead.Milliseconds(), 10)), 0o600))
		got := starterRun(t, append([]string{"--engine", "handrolled", "--journal", filepath.Join(dir, "journal.db")}, verb...)...)
		require.Equal(t, refund.ExitOK, got.exit, got.stderr)
		return got
	}
	at(time.Hour, requestWith()...)
	at(time.Hour+time.Minute, requestWith("--request-id", "r-2")...)
	overdue := at(0, "list", "--which", "overdue", "--bound", "30s").stdout
	require.Regexp(t, "(?m)^r-1 ", overdue)
	require.NotRegexp(t, "(?m)^r-2 ", overdue)
}

func TestAPersonSettlesWhatCannotBeKnown(t *testing.T) {
	onEachEngine(t, "opaque", func(t *testing.T, w *world) {
		receipts := make(chan []byte, 2)
		w.worker(t, "a", losingAnswers(t, w.provider, receipts))
		for _, id := range []string{"r-1", "r-2"} {
			run := []string{"--tenant", "shop", "--request-id", id}
			require.Zero(t, w.run(t, append(requestWith("--request-id", id), "--profile", "opaque", "--call-timeout", "2s", "--backoff", "50ms")...).exit)
			require.Zero(t, w.run(t, append([]string{"watch", "--until", "APPROVAL_REQUIRED", "--timeout", "30s"}, run...)...).exit)
			require.Zero(t, w.run(t, append([]string{"approve", "--as", "bob"}, run...)...).exit)
			require.Zero(t, w.run(t, append([]string{"watch", "--until", "UNKNOWN", "--timeout", "30s"}, run...)...).exit)
		}
		require.Len(t, ask[listed](t, w, refund.ExitOK, "list", "--which", "unknown").Runs, 2)
		unasked := []string{"status", "--tenant", "shop", "--request-id", "r-1"}
		require.Nil(t, ask[refund.View](t, w, refund.ExitOK, unasked...).World)
		require.Regexp(t, `(?m)^world +not asked: this provider has no look-up$`, w.run(t, unasked...).stdout)

		settle := func(id, kind string, more ...string) []string {
			return append([]string{"reconcile", "--tenant", "shop", "--request-id", id, "--kind", kind, "--by", "carol", "--reason", "asked the provider's support"}, more...)
		}
		require.Equal(t, refund.CodeSettlementRefused, ask[failed](t, w, refund.ExitRefused, settle("r-1", "close")...).Error.Code)
		first, second := <-receipts, <-receipts
		require.Equal(t, refund.CodeSettlementRefused, ask[failed](t, w, refund.ExitRefused, settle("r-1", "receipt", "--receipt", string(second))...).Error.Code,
			"the receipt of another operation")

		file := filepath.Join(w.dir, "receipt.json")
		require.NoError(t, os.WriteFile(file, first, 0o600))
		require.Equal(t, refund.StatusConfirmed, ask[refund.View](t, w, refund.ExitOK, settle("r-1", "receipt", "--receipt", file)...).Status)
		annotated := ask[refund.View](t, w, refund.ExitOK, settle("r-2", "presumed-absent", "--settlement-id", "s-2")...)
		require.Equal(t, refund.StatusUnknown, annotated.Status)
		require.Equal(t, "carol", annotated.Facts.PresumedAbsent.By)
		require.Empty(t, ask[listed](t, w, refund.ExitOK, "list", "--which", "unknown").Runs)
	})
}

// Two sides that were told different promises: nothing is sent, and whoever asks is told why nothing moves.
func TestAProviderOfAnotherProfileGetsNothingAndTheStatusSaysWhy(t *testing.T) {
	onEachEngine(t, "full", func(t *testing.T, w *world) {
		w.worker(t, "a", w.provider)
		run := []string{"--tenant", "shop", "--request-id", "r-1"}
		require.Zero(t, w.run(t, append(requestWith(), "--profile", "opaque", "--backoff", "50ms")...).exit)
		require.Zero(t, w.run(t, append([]string{"watch", "--until", "APPROVAL_REQUIRED", "--timeout", "30s"}, run...)...).exit)
		require.Zero(t, w.run(t, append([]string{"approve", "--as", "bob"}, run...)...).exit)
		require.Eventually(t, func() bool {
			shown := w.run(t, append([]string{"status"}, run...)...).stdout
			return regexp.MustCompile(`(?m)^status +RETRYABLE$`).MatchString(shown) && strings.Contains(shown, `last answer "UNSENT: PROFILE_MISMATCH: `)
		}, 30*time.Second, 100*time.Millisecond)
	})
}

// A run that ended before anything could be decided is told apart from one that is worth waiting for, and the list tells why
// each run ended, the oldest first on both engines.
func TestADecisionThatComesAfterTheEndIsToldSo(t *testing.T) {
	onEachEngine(t, "full", func(t *testing.T, w *world) {
		w.worker(t, "a", deaf(t))
		names := []string{"r-3", "r-1", "r-2"} // neither the order of the names nor that of the operation ids
		for _, name := range names {
			terms := []string{"--decide-within", "1ms"}
			if name == "r-2" {
				terms = []string{"--model-budget", "1", "--call-timeout", "1s"}
			}
			require.Zero(t, w.run(t, append(requestWith("--request-id", name), terms...)...).exit)
		}
		for name, code := range map[string]refund.Code{"r-3": refund.Code(refund.VerdictExpired), "r-2": refund.Code(refund.VerdictRunClosed)} {
			run := []string{"--tenant", "shop", "--request-id", name}
			require.Zero(t, w.run(t, append([]string{"watch", "--timeout", "30s"}, run...)...).exit)
			for _, verb := range []string{"approve", "reject"} {
				require.Equal(t, code, ask[failed](t, w, refund.ExitRefused, append([]string{verb, "--as", "bob"}, run...)...).Error.Code)
			}
		}
		require.Eventually(t, func() bool { // Temporal's list may be some moments behind
			return len(ask[listed](t, w, refund.ExitOK, "list").Runs) == len(names)
		}, 30*time.Second, 50*time.Millisecond)
		require.Regexp(t, `(?s)\nr-3 .*EXPIRED .*\nr-1 .*\nr-2 .*REJECTED \(PROPOSAL_FAILED\) `, w.run(t, "list").stdout)
	})
}

// deaf is a provider that knows every order, and whose model never answers.
func deaf(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/orders/") {
			_, _ = io.WriteString(rw, `{"id":"o-1001","currency":"EUR","captured_minor":10000,"refunded_minor":0,"version":3}`)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // only then the end of the connection is seen
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Where the provider can close an operation, a person who does not want to wait any longer gets a final answer.
func TestClosingTellsForGood(t *testing.T) {
	onEachEngine(t, "full", func(t *testing.T, w *world) {
		receipts := make(chan []byte, 100)
		w.worker(t, "a", losingAnswers(t, w.provider, receipts))
		run := []string{"--tenant", "shop", "--request-id", "r-1"}
		// The next try is far away, so that nobody is in the middle of one.
		require.Zero(t, w.run(t, append(requestWith(), "--call-timeout", "2s", "--backoff", "30m")...).exit)
		require.Zero(t, w.run(t, append([]string{"watch", "--until", "APPROVAL_REQUIRED", "--timeout", "30s"}, run...)...).exit)
		require.Zero(t, w.run(t, append([]string{"approve", "--as", "bob"}, run...)...).exit)
		<-receipts
		// The journal takes no settlement while a try is under way; Temporal ends the tries by itself.
		known := refund.StateUnknown
		if w.engine[1] == "temporal" {
			known = refund.StateSubmitted
		}
		require.Eventually(t, func() bool {
			got := w.run(t, append([]string{"status", "--json"}, run...)...)
			var view refund.View
			return json.Unmarshal([]byte(got.stdout), &view) == nil && view.Facts.State == known
		}, 30*time.Second, 10*time.Millisecond)
		closed := ask[refund.View](t, w, refund.ExitOK, append([]string{"reconcile", "--kind", "close", "--by", "carol", "--reason", "the customer is on the phone"}, run...)...)
		require.Equal(t, refund.StatusConfirmed, closed.Status)
		require.NotNil(t, closed.Facts.Receipt)
	})
}

// Under the profile local the money moves in the journal's own transaction.
func TestTheJournalsOwnLedger(t *testing.T) {
	w := newWorld(t, "full")
	w.engine = []string{"--engine", "handrolled", "--journal", filepath.Join(w.dir, "journal.db")}
	w.worker(t, "a", w.provider, "--local-orders", filepath.Join(w.dir, "orders.json"))
	run := []string{"--tenant", "shop", "--request-id", "r-1"}
	require.Zero(t, w.run(t, append(requestWith(), "--profile", "local")...).exit)
	require.Zero(t, w.run(t, append([]string{"watch", "--until", "APPROVAL_REQUIRED"}, run...)...).exit)
	require.Zero(t, w.run(t, append([]string{"approve", "--as", "bob"}, run...)...).exit)
	require.Zero(t, w.run(t, append([]string{"watch", "--until", "CONFIRMED"}, run...)...).exit)
	require.Contains(t, w.run(t, append([]string{"status"}, run...)...).stdout, "the ledger is in the journal")

	response, err := http.Get(w.provider + "/v1/orders/shop/o-1001")
	require.NoError(t, err)
	defer response.Body.Close()
	var order refund.Order
	require.NoError(t, json.NewDecoder(response.Body).Decode(&order))
	require.Zero(t, order.Refunded, "the provider across the network was not asked")
}

// losingAnswers passes everything on to the provider, but cuts the connection instead of giving the answer to a refund. The
// receipt goes to whoever asks the provider's support.
func losingAnswers(t *testing.T, provider string, receipts chan<- []byte) string {
	t.Helper()
	target, err := url.Parse(provider)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/refunds" {
			proxy.ServeHTTP(rw, r)
			return
		}
		response, err := http.Post(provider+r.URL.Path, r.Header.Get("Content-Type"), r.Body)
		if err == nil {
			receipt, _ := io.ReadAll(response.Body)
			response.Body.Close()
			receipts <- receipt
		}
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
