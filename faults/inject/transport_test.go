package inject

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/faults"
	"refundlab/provider"
)

const submission = `{"tenant":"shop","operation_id":"op-1","fence":{"term":3,"seq":2}}`

// farSide is a server that tells of every request that reached it.
func farSide(t *testing.T) (url string, arrived chan string) {
	arrived = make(chan string, 16)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived <- string(body)
		w.Header().Set("Far", "side")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte("done"))
	}))
	t.Cleanup(server.Close)
	return server.URL, arrived
}

type called struct {
	status int
	header string
	body   string
	err    error
}

// call makes a request in the background, as the code under test does while the test answers for the harness.
func call(ctx context.Context, announcer *faults.Announcer, method, url, body string) <-chan called {
	done := make(chan called, 1)
	go func() {
		client := &http.Client{Transport: Transport(http.DefaultTransport, announcer)}
		request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewBufferString(body))
		if err != nil {
			done <- called{err: err}
			return
		}
		request.Header.Set(provider.OperationHeader, "op-of-header")
		response, err := client.Do(request)
		if err != nil {
			done <- called{err: err}
			return
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		done <- called{response.StatusCode, response.Header.Get("Far"), string(text), err}
	}()
	return done
}

func TestTransportWithoutHarnessIsTheOneItWasGiven(t *testing.T) {
	require.Same(t, http.DefaultTransport, Transport(http.DefaultTransport, nil))
}

func TestTransportNamesTheBoundaryByPath(t *testing.T) {
	for _, c := range []struct {
		name, method, path, body, boundary, operation, fence string
	}{
		{"submit", "POST", "/v1/refunds", submission, "provider-call", "op-1", "3.2"},
		{"look-up of a reader", "POST", "/v1/refunds/lookup", `{"operation_id":"op-1"}`, "lookup-call", "op-1", ""},
		{"close", "POST", "/v1/refunds/close", submission, "close-call", "op-1", "3.2"},
		{"order", "GET", "/v1/orders/shop/o-1", "", "order-call", "op-of-header", ""},
		{"model", "POST", "/model/v1/chat/completions", `{"model":"m"}`, "model-call", "op-of-header", ""},
		{"notice", "POST", "/notices", `{"operation_id":"op-1"}`, "notice-call", "op-1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			stage, announcer := newStage(t)
			url, arrived := farSide(t)
			done := call(t.Context(), announcer, c.method, url+c.path, c.body)
			before := stage.answer(c.boundary+".before", faults.Continue)
			require.Equal(t, c.operation, before.Operation)
			require.Equal(t, c.fence, before.Fence)
			require.Equal(t, "a", before.Process)
			require.Equal(t, c.body, receive(t, arrived))
			after := stage.answer(c.boundary+".after", faults.Continue)
			require.Equal(t, "201", after.Detail[faults.DetailStatus])
			require.Equal(t, called{201, "side", "done", nil}, receive(t, done))
		})
	}
}

func TestTransportLeavesOtherPathsAlone(t *testing.T) {
	stage, announcer := newStage(t)
	url, arrived := farSide(t)
	done := call(t.Context(), announcer, "GET", url+"/healthz", "")
	receive(t, arrived)
	require.Equal(t, 201, receive(t, done).status)
	stage.empty()
}

func TestLostAnswerLeavesTheEffect(t *testing.T) {
	stage, announcer := newStage(t)
	url, arrived := farSide(t)
	done := call(t.Context(), announcer, "POST", url+"/v1/refunds", submission)
	stage.answer("provider-call.before", faults.Continue)
	receive(t, arrived)
	stage.answer("provider-call.after", faults.Lose)
	require.ErrorIs(t, receive(t, done).err, errCut)
}

func TestDuplicateArrivesTwiceAndIsAnsweredOnce(t *testing.T) {
	stage, announcer := newStage(t)
	url, arrived := farSide(t)
	done := call(t.Context(), announcer, "POST", url+"/v1/refunds", submission)
	stage.answer("provider-call.before", faults.Duplicate)
	require.JSONEq(t, submission, receive(t, arrived))
	require.JSONEq(t, submission, receive(t, arrived))
	stage.answer("provider-call.after", faults.Continue)
	require.Equal(t, 201, receive(t, done).status)
	require.Empty(t, arrived)
}

func TestRefusedRequestNeverLeaves(t *testing.T) {
	stage, announcer := newStage(t)
	url, arrived := farSide(t)
	done := call(t.Context(), announcer, "POST", url+"/v1/refunds", submission)
	stage.answer("provider-call.before", faults.Refuse)
	require.Equal(t, 503, receive(t, done).status)
	require.Empty(t, arrived)
}

func TestLostRequestNeverLeavesAndItsCallerSeesACutConnection(t *testing.T) {
	stage, announcer := newStage(t)
	url, arrived := farSide(t)
	done := call(t.Context(), announcer, "POST", url+"/v1/refunds", submission)
	stage.answer("provider-call.before", faults.Drop)
	require.ErrorIs(t, receive(t, done).err, errCut)
	require.Empty(t, arrived)
}

func TestHeldRequestGoesOutAfterItsCallerHasGivenUp(t *testing.T) {
	stage, announcer := newStage(t)
	url, arrived := farSide(t)
	ctx, giveUp := context.WithCancelCause(t.Context())
	done := call(ctx, announcer, "POST", url+"/v1/refunds", submission)
	held := stage.next("provider-call.before")
	tooLate := errors.New("the caller's time is over")
	giveUp(tooLate)
	require.ErrorIs(t, receive(t, done).err, tooLate, "the caller is not held with its message")
	require.Empty(t, arrived)
	held.answer <- faults.Reply{Action: faults.Continue, Held: true}
	require.JSONEq(t, submission, receive(t, arrived))
	stage.answer("provider-call.after", faults.Continue)
}

func TestRequestThatWasNotHeldEndsWithItsCaller(t *testing.T) {
	stage, announcer := newStage(t)
	url, arrived := farSide(t)
	ctx, giveUp := context.WithCancel(t.Context())
	done := call(ctx, announcer, "POST", url+"/v1/refunds", submission)
	standing := stage.next("provider-call.before")
	giveUp()
	require.Error(t, receive(t, done).err)
	standing.answer <- faults.Reply{Action: faults.Continue}
	require.Equal(t, "error", stage.answer("provider-call.after", faults.Continue).Detail[faults.DetailStatus])
	require.Empty(t, arrived)
}

// untold has a deadline that is over, and an error that does not say so yet, as in a process that was just let go.
type untold struct{ context.Context }

func (untold) Deadline() (time.Time, bool) { return time.Now(), true }

func TestRequestWhoseTimeIsOverIsNeitherSentNorAnnounced(t *testing.T) {
	stage, announcer := newStage(t)
	url, arrived := farSide(t)
	request, err := http.NewRequestWithContext(untold{t.Context()}, http.MethodPost, url+"/v1/refunds", bytes.NewBufferString(submission))
	require.NoError(t, err)
	_, err = Transport(http.DefaultTransport, announcer).RoundTrip(request)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Empty(t, arrived)
	stage.empty()
}

// lonelyChild is set in the environment of the test binary when it is to be a process whose harness is gone.
const lonelyChild = "REFUNDLAB_TEST_LONELY"

func TestMain(m *testing.M) {
	if url := os.Getenv(lonelyChild); url != "" {
		announcer := faults.NewAnnouncer("/nobody/listens", "a")
		<-call(context.Background(), announcer, "POST", url+"/v1/refunds", submission)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestProcessThatLosesItsHarnessEnds(t *testing.T) {
	url, arrived := farSide(t)
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), lonelyChild+"="+url)
	err := command.Run()
	var ended *exec.ExitError
	require.ErrorAs(t, err, &ended)
	require.Equal(t, exitUnfaulted, ended.ExitCode())
	require.Empty(t, arrived, "nothing leaves without its faults")
}

func TestReplyIsAnnouncedAroundTheWrite(t *testing.T) {
	stage, announcer := newStage(t)
	var out bytes.Buffer
	require.Same(t, &out, Reply(&out, nil))
	written := make(chan error, 1)
	go func() {
		_, err := Reply(&out, announcer).Write([]byte("answer"))
		written <- err
	}()
	before := stage.next("reply.before")
	require.Zero(t, out.Len())
	before.answer <- faults.Reply{Action: faults.Continue}
	stage.answer("reply.after", faults.Continue)
	require.NoError(t, receive(t, written))
	require.Equal(t, "answer", out.String())
}
