package server_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/faults"
	"refundlab/provider"
	"refundlab/provider/server"
	"refundlab/refund"
)

// harness is the other side of the announcements: it holds each one until the test replies.
type harness struct {
	announced chan held
}

type held struct {
	faults.Announcement
	reply chan faults.Reply
}

func (h held) answer(action faults.Action) { h.reply <- faults.Reply{Action: action} }

func newHarness(t *testing.T) (*harness, *faults.Announcer) {
	t.Helper()
	dir, err := os.MkdirTemp("", "held") // the path of a Unix socket must be short
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	h := &harness{announced: make(chan held)}
	service := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		point := held{reply: make(chan faults.Reply, 1)}
		if err := json.NewDecoder(r.Body).Decode(&point.Announcement); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		select {
		case h.announced <- point:
		case <-r.Context().Done():
			return
		}
		select {
		case reply := <-point.reply:
			_ = json.NewEncoder(w).Encode(reply)
		case <-r.Context().Done():
		}
	})}
	go service.Serve(listener)
	t.Cleanup(func() { service.Close() })
	return h, faults.NewAnnouncer(socket, "provider")
}

// at waits for the next announcement and requires it to be at point.
func (h *harness) at(t *testing.T, point string) held {
	t.Helper()
	next := receive(t, h.announced, point)
	require.Equal(t, point, next.Point.String())
	return next
}

// let answers the announcements that follow, in their order, with continue.
func (h *harness) let(t *testing.T, points ...string) {
	t.Helper()
	for _, point := range points {
		h.at(t, point).answer(faults.Continue)
	}
}

const (
	received  = "provider-received.before"
	committed = "provider-commit.after"
	before    = "provider-commit.before"
	answering = "provider-received.after"
)

// async submits from another goroutine.
func (w *world) async(ctx context.Context, in refund.Intake, fence refund.Fence) <-chan provider.Answer {
	answer := make(chan provider.Answer, 1)
	go func() {
		answer <- w.client.Submit(ctx, in, provider.NewSubmission(in, refund.Decision{DecisionID: "d1", OrderVersion: 1}, fence))
	}()
	return answer
}

func TestASubmitAnnouncesItsFourPoints(t *testing.T) {
	h, announcer := newHarness(t)
	w := serve(t, refund.ProfileFull, withAnnouncer(announcer))
	in := w.intake("r1")
	answer := w.async(t.Context(), in, refund.Fence{Term: 3, Seq: 1})
	for _, point := range []string{received, before, committed, answering} {
		p := h.at(t, point)
		require.Equal(t, "provider", p.Process)
		require.Equal(t, string(in.OperationID), p.Operation)
		require.Equal(t, "3.1", p.Fence)
		require.Equal(t, "submit", p.Detail["verb"])
		require.Equal(t, point != received, p.Detail["outcome"] == "committed")
		p.answer(faults.Continue)
	}
	require.Equal(t, refund.ObservedReceipt, receive(t, answer, "the answer").Observation)

	// Look-ups and closes announce nothing: had they, nobody would answer and this would not end.
	require.Equal(t, refund.ObservedReceipt, w.client.LookUp(within(t), in, &refund.Fence{Term: 3, Seq: 1}).Observation)
	require.Equal(t, refund.ObservedReceipt, w.client.Close(within(t), in, refund.Fence{Term: 3, Seq: 1}).Observation)
}

func TestHeldBeforeTheCommit(t *testing.T) {
	h, announcer := newHarness(t)
	w := serve(t, refund.ProfileFull, withAnnouncer(announcer))
	first, second := w.intake("r1"), w.intake("r2")
	held := w.async(t.Context(), first, refund.Fence{Term: 1})
	h.let(t, received)
	point := h.at(t, before)

	// The held transaction has the file's write lock. What only reads goes on, and sees nothing of it.
	order, err := w.client.Order(within(t), "shop", "o1")
	require.NoError(t, err)
	require.Zero(t, order.Refunded)
	require.Equal(t, refund.ObservedNotFound, w.client.LookUp(within(t), first, nil).Observation)
	// What writes waits rather than fails; its arrival is on record all the same.
	waiting := w.async(t.Context(), second, refund.Fence{Term: 1})
	h.let(t, received)
	require.Equal(t, []string{"submit ", "lookup not-found", "submit "}, outcomes(w.evidence()))
	closing := make(chan provider.Answer, 1)
	go func() { closing <- w.client.Close(t.Context(), first, refund.Fence{Term: 1}) }()
	status, text := w.call(http.MethodPost, "/control/quiesce", `{"deadline_ms":50}`)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, refund.CodeTimeout, problemIn(t, text).Code, "it is not at rest")
	select {
	case answer := <-waiting:
		require.Fail(t, "a submit did not wait for the held transaction", "%v", answer)
	case answer := <-closing:
		require.Fail(t, "a close did not wait for the held transaction", "%v", answer)
	default:
	}

	point.answer(faults.Continue)
	next := map[string]int{}
	for range 5 { // commit.after and received.after of the first, all but the arrival of the second
		p := receive(t, h.announced, "a point")
		next[p.Point.String()]++
		p.answer(faults.Continue)
	}
	require.Equal(t, map[string]int{before: 1, committed: 2, answering: 2}, next)
	receipt := receive(t, held, "the first answer")
	require.Equal(t, refund.ObservedReceipt, receipt.Observation)
	require.Equal(t, refund.ObservedReceipt, receive(t, waiting, "the second answer").Observation)
	require.Equal(t, receipt, receive(t, closing, "the close"), "in flight before the close: it returns the receipt (I3)")
	require.Len(t, w.rest().Ledger, 2)
}

func TestAbortedBeforeTheCommitAnswersNobody(t *testing.T) {
	h, announcer := newHarness(t)
	w := serve(t, refund.ProfileFull, withAnnouncer(announcer))
	in := w.intake("r1")
	ctx, die := context.WithCancel(t.Context())
	answer := w.async(ctx, in, refund.Fence{Term: 1})
	h.let(t, received)
	point := h.at(t, before)
	die() // the caller's process is killed while its request is held
	require.Equal(t, refund.ObservedAmbiguous, receive(t, answer, "the dead caller").Observation)
	point.answer(faults.Abort)

	seen := w.rest()
	require.Empty(t, seen.Ledger)
	require.Empty(t, seen.Operations, "the rolled-back transaction left nothing")
	require.Equal(t, []string{"submit aborted"}, outcomes(seen))

	again := w.async(t.Context(), in, refund.Fence{Term: 1})
	h.let(t, received, before, committed, answering)
	require.Equal(t, refund.ObservedReceipt, receive(t, again, "the retry").Observation, "and the file is free")
}

func TestASubmitIsFinishedAlthoughItsCallerIsGone(t *testing.T) {
	h, announcer := newHarness(t)
	w := serve(t, refund.ProfileFull, withAnnouncer(announcer))
	ctx, die := context.WithCancel(t.Context())
	answer := w.async(ctx, w.intake("r1"), refund.Fence{Term: 1})
	point := h.at(t, received)
	die()
	receive(t, answer, "the dead caller")
	point.answer(faults.Continue)
	h.let(t, before, committed, answering)
	require.Len(t, w.rest().Ledger, 1)
}

func TestALostAnswerIsACutConnectionAndTheEffectStands(t *testing.T) {
	for _, lost := range []string{received, before, committed, answering} {
		t.Run(lost, func(t *testing.T) {
			h, announcer := newHarness(t)
			w := serve(t, refund.ProfileFull, withAnnouncer(announcer))
			in := w.intake("r1")
			answer := w.async(t.Context(), in, refund.Fence{Term: 1})
			for _, point := range []string{received, before, committed, answering} {
				action := faults.Continue
				if point == lost {
					action = faults.Lose
				}
				h.at(t, point).answer(action)
			}
			seen := receive(t, answer, "the answer")
			require.Equal(t, refund.ObservedAmbiguous, seen.Observation)
			require.Contains(t, seen.Detail, "EOF")
			require.Equal(t, refund.ObservedReceipt, w.client.LookUp(t.Context(), in, nil).Observation)
			require.Equal(t, []string{"submit committed", "lookup receipt"}, outcomes(w.rest()), "it was sent once")
		})
	}
}

func TestARefusedSubmitIsNotProcessed(t *testing.T) {
	h, announcer := newHarness(t)
	w := serve(t, refund.ProfileFull, withAnnouncer(announcer))
	answer := w.async(t.Context(), w.intake("r1"), refund.Fence{Term: 1})
	h.at(t, received).answer(faults.Refuse)
	seen := receive(t, answer, "the answer")
	require.Equal(t, refund.ObservedAmbiguous, seen.Observation)
	require.Contains(t, seen.Detail, strconv.Itoa(http.StatusServiceUnavailable))
	world := w.rest()
	require.Empty(t, world.Ledger)
	require.Equal(t, []string{"submit refused-by-control"}, outcomes(world))
}

func TestASubmitThatIsLostAtTheDoorIsNotProcessedAndNotAnswered(t *testing.T) {
	h, announcer := newHarness(t)
	w := serve(t, refund.ProfileFull, withAnnouncer(announcer))
	answer := w.async(t.Context(), w.intake("r1"), refund.Fence{Term: 1})
	h.at(t, received).answer(faults.Drop)
	seen := receive(t, answer, "the answer")
	require.Equal(t, refund.ObservedAmbiguous, seen.Observation)
	require.Contains(t, seen.Detail, "EOF")
	world := w.rest()
	require.Empty(t, world.Ledger)
	require.Equal(t, []string{"submit refused-by-control"}, outcomes(world))
}

func TestADoubledSubmitArrivesTwice(t *testing.T) {
	for _, c := range []struct {
		profile  refund.ProfileName
		outcomes []string
		entries  int
	}{
		{refund.ProfileFull, []string{"submit committed", "submit receipt"}, 1},
		{refund.ProfileOpaque, []string{"submit committed", "submit committed"}, 2},
	} {
		t.Run(string(c.profile), func(t *testing.T) {
			h, announcer := newHarness(t)
			w := serve(t, c.profile, withAnnouncer(announcer))
			answer := w.async(t.Context(), w.intake("r1"), refund.Fence{Term: 1})
			h.at(t, received).answer(faults.Duplicate)
			h.let(t, before, committed, before, committed, answering)
			require.Equal(t, refund.ObservedReceipt, receive(t, answer, "the answer").Observation)
			seen := w.rest()
			require.Equal(t, c.outcomes, outcomes(seen))
			require.Len(t, seen.Ledger, c.entries)
		})
	}
}

func TestAServerThatIsClosedCommitsNothingThatIsHeld(t *testing.T) {
	h, announcer := newHarness(t)
	w := serve(t, refund.ProfileFull, withAnnouncer(announcer))
	answer := w.async(t.Context(), w.intake("r1"), refund.Fence{Term: 1})
	h.let(t, received)
	h.at(t, before)
	require.NoError(t, w.server.Close())
	require.Equal(t, refund.ObservedAmbiguous, receive(t, answer, "the answer").Observation)
	again := serve(t, refund.ProfileFull, func(o *server.Options) { o.Database = w.database })
	require.Empty(t, again.rest().Ledger)
}

func TestWithoutTheControlSurfaceNothingIsAnnounced(t *testing.T) {
	_, announcer := newHarness(t)
	w := serve(t, refund.ProfileFull, withAnnouncer(announcer), withoutControl)
	require.Equal(t, refund.ObservedReceipt, w.client.Submit(within(t), w.intake("r1"),
		provider.NewSubmission(w.intake("r1"), refund.Decision{DecisionID: "d1", OrderVersion: 1}, refund.Fence{})).Observation)
}
