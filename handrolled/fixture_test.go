package handrolled

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/provider"
	"refundlab/refund"
)

// patience bounds every wait of these tests; none of them comes near it.
const patience = 20 * time.Second

// hands is a clock that a test sets.
type hands struct{ at atomic.Int64 }

func clockAt(at refund.Instant) *hands {
	h := &hands{}
	h.set(at)
	return h
}

func (h *hands) set(at refund.Instant) { h.at.Store(int64(at)) }
func (h *hands) pass(d time.Duration)  { h.at.Add(d.Milliseconds()) }
func (h *hands) now() refund.Instant   { return refund.Instant(h.at.Load()) }

// read is the clock of a store: what the hands show, whatever the file has seen.
func (h *hands) read(seen refund.Instant) (now refund.Instant, setBack bool) {
	return h.now(), h.now().Add(smallStep) < seen
}

func journalPath(t testing.TB) string { return filepath.Join(t.TempDir(), "journal.db") }
func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func openAt(t testing.TB, path string, options Options) *Store {
	store, err := Open(path, options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// newStore is a fresh journal under a clock that stands at 1000.
func newStore(t testing.TB) (*Store, *hands) {
	clock := clockAt(1000)
	return openAt(t, journalPath(t), Options{Clock: clock.read}), clock
}

func request(n int) refund.Request {
	return refund.Request{Tenant: "acme", RequestID: fmt.Sprintf("req-%d", n), Order: "order-1",
		Amount: refund.Money{Minor: 4200, Currency: "EUR"}, Reason: "broken cup", Requester: "user-1"}
}

func terms(t testing.TB, change refund.Terms) refund.Terms {
	if change.CallTimeout == 0 {
		change.CallTimeout = 800
	}
	if change.Backoff == 0 {
		change.Backoff = 100
	}
	full, err := refund.NewTerms(change)
	require.NoError(t, err)
	return full
}

func admit(t testing.TB, store Journal, change refund.Terms) Run {
	run, _, err := store.Admit(bounded(t), request(1), terms(t, change), "client")
	require.NoError(t, err)
	return run
}

// spoil damages a file as only something else than this program can.
func spoil(t testing.TB, store *Store, change string, args ...any) {
	_, err := store.writer.Exec("DROP TRIGGER run_is_final")
	require.NoError(t, err)
	_, err = store.writer.Exec(change, args...)
	require.NoError(t, err)
}

const lease = 1500 * time.Millisecond

func claim(t testing.TB, store Journal, owner string) Run {
	run, found, err := store.Claim(bounded(t), owner, lease)
	require.NoError(t, err)
	require.True(t, found, "nothing was due")
	return run
}

var theProposal = refund.Proposal{Recommendation: "approve", Rationale: "the cup is broken", OrderVersion: 3, AnswerID: "answer-1"}

// propose brings an admitted run to the point where a person may decide.
func propose(t testing.TB, store Journal) Run {
	run := claim(t, store, "A")
	_, err := store.ReserveModelCall(bounded(t), run.Lease)
	require.NoError(t, err)
	run, err = store.RecordProposal(bounded(t), run.Lease, theProposal)
	require.NoError(t, err)
	return run
}

func decision(run Run, id string, choice refund.Choice) refund.Decision {
	return refund.Decision{DecisionID: id, OperationID: run.Facts.Intake.OperationID, Choice: choice, Approver: "boss-" + id,
		Digest: run.Facts.Intake.Digest, OrderVersion: theProposal.OrderVersion}
}

// approved is a run that may be sent.
func approved(t testing.TB, store Journal, change refund.Terms) Run {
	admit(t, store, change)
	run := propose(t, store)
	verdict, err := store.Decide(bounded(t), decision(run, "1", refund.ChoiceApprove), "client")
	require.NoError(t, err)
	require.Equal(t, refund.VerdictAccepted, verdict.Code)
	return run
}

func receipt(in refund.Intake) refund.Receipt {
	return refund.Receipt{RefundID: "re-1", OperationID: in.OperationID, Digest: in.Digest, Order: in.Request.Order, Amount: in.Request.Amount, At: in.At + 1}
}

func status(t testing.TB, store Journal, id refund.OperationID) refund.View {
	view, err := (&Client{Journal: store}).View(bounded(t), id)
	require.NoError(t, err)
	return view
}

func requireCode(t testing.TB, err error, code refund.Code, words ...string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, refund.CodeOf(err), err.Error())
	for _, w := range words {
		require.ErrorContains(t, err, w)
	}
}

// kinds are the durable facts of a run, in order, with their codes.
func kinds(t testing.TB, store Journal, id refund.OperationID) []string {
	_, rows, err := store.Rows(bounded(t), id)
	require.NoError(t, err)
	var list []string
	for i, row := range rows {
		require.EqualValues(t, i+1, row.Seq)
		text := string(row.Kind)
		if row.Code != "" {
			text += " " + row.Code
		}
		list = append(list, text)
	}
	return list
}

// world is a provider, a model and a receiver whose answers a test writes, and which count what reached them.
type world struct {
	mu       sync.Mutex
	calls    []string
	fences   []refund.Fence
	order    func() (refund.Order, error)
	submit   func(ctx context.Context, in refund.Intake, s provider.Submission) provider.Answer
	lookUp   func(in refund.Intake) provider.Answer
	close    func(in refund.Intake) provider.Answer
	proposal func(ctx context.Context) (refund.Proposal, error)
	notice   func(n refund.Notice) error
	notices  []refund.Notice
}

// newWorld pays, proposes and acknowledges.
func newWorld() *world {
	return &world{
		order: func() (refund.Order, error) {
			return refund.Order{ID: "order-1", Currency: "EUR", Captured: 10_000, Version: 3}, nil
		},
		submit: func(_ context.Context, in refund.Intake, _ provider.Submission) provider.Answer {
			return receiptAnswer(in)
		},
		lookUp:   func(refund.Intake) provider.Answer { return answer(refund.ObservedNotFound) },
		close:    func(refund.Intake) provider.Answer { return refusalAnswer(refund.CodeClosed) },
		proposal: func(context.Context) (refund.Proposal, error) { return theProposal, nil },
		notice:   func(refund.Notice) error { return nil },
	}
}

func answer(o refund.Observation) provider.Answer {
	return provider.Answer{Observation: o, Detail: "as the test says"}
}

func refusalAnswer(code refund.Code) provider.Answer {
	return provider.Answer{Observation: refund.ObservedRefusal, Refusal: code}
}

func receiptAnswer(in refund.Intake) provider.Answer {
	r := receipt(in)
	return provider.Answer{Observation: refund.ObservedReceipt, Receipt: &r}
}

func (w *world) note(call string, fence *refund.Fence) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, call)
	if fence != nil {
		w.fences = append(w.fences, *fence)
	}
}

// reached counts the calls of one name, or all calls for "".
func (w *world) reached(call string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, c := range w.calls {
		if call == "" || c == call {
			n++
		}
	}
	return n
}

func (w *world) Order(context.Context, string, string) (refund.Order, error) { return w.order() }

func (w *world) Submit(ctx context.Context, in refund.Intake, s provider.Submission) provider.Answer {
	w.note("submit", &s.Fence)
	return w.submit(ctx, in, s)
}

func (w *world) LookUp(_ context.Context, in refund.Intake, fence *refund.Fence) provider.Answer {
	w.note("lookup", fence)
	return w.lookUp(in)
}

func (w *world) Close(_ context.Context, in refund.Intake, fence refund.Fence) provider.Answer {
	w.note("close", &fence)
	return w.close(in)
}

func (w *world) Propose(ctx context.Context, _ refund.Intake, _ refund.Order) (refund.Proposal, error) {
	w.note("propose", nil)
	return w.proposal(ctx)
}

func (w *world) Send(_ context.Context, n refund.Notice) error {
	w.note("notice", nil)
	if err := w.notice(n); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notices = append(w.notices, n)
	return nil
}

// logs keeps what an executor said.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func executor(store Journal, w *world, name string) (*Executor, *logs) {
	said := &logs{}
	return &Executor{Journal: store, Refunds: w, Model: w, Notices: w, Name: name, Lease: lease, Log: slog.New(slog.NewTextHandler(said, nil))}, said
}

// drive lets one worker take everything that is due now, and nothing that is due later.
func drive(t testing.TB, store *Store, w *world, name string) string {
	e, said := executor(store, w, name)
	for {
		run, found, err := store.Claim(bounded(t), name, lease)
		require.NoError(t, err)
		if !found {
			return said.String()
		}
		e.drive(bounded(t), run)
	}
}

// start runs a worker until the test ends.
func start(t *testing.T, store Journal, w *world, name string) {
	e, _ := executor(store, w, name)
	run(t, e)
}

// until watches a run until it has the status.
func until(t testing.TB, store Journal, id refund.OperationID, want refund.RunStatus) refund.View {
	t.Helper()
	var last refund.View
	err := (&Client{Journal: store}).Watch(bounded(t), id, func(v refund.View) bool {
		last = v
		return v.Status == want
	})
	require.NoError(t, err, "last seen: %s", last.Status)
	return last
}

// happens waits for a signal.
func happens(t *testing.T, signal <-chan struct{}) {
	t.Helper()
	select {
	case <-signal:
	case <-time.After(patience):
		require.Fail(t, "it did not happen")
	}
}
