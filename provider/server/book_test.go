package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/provider/ledger"
	"refundlab/provider/server"
	"refundlab/refund"
)

// keptIn lets a world keep what is not in its ledger in a file, and serves the same database again when asked twice.
func keptIn(dir string) option {
	return func(o *server.Options) {
		o.Database, o.Record = filepath.Join(dir, "p.db"), filepath.Join(dir, "p.record")
	}
}

func TestWhatIsNotInTheLedgerOutlivesTheProcess(t *testing.T) {
	dir := t.TempDir()
	w := serve(t, refund.ProfileFull, keptIn(dir))
	w.control("clock", `{"offset_ms":5000}`)
	w.control("answer", `{"kind":"status-500","count":2}`)
	w.control("model", `{"answers":[{"kind":"cut"},{"kind":"prose"}]}`)
	w.submit(w.intake("r1"), refund.Fence{Term: 1})
	w.call(http.MethodPost, "/model/v1/chat/completions", `{}`)
	notice := `{"operation_id":"` + string(w.intake("r1").OperationID) + `","revision":2,"status":"CONFIRMED","refund_id":"re-1"}`
	status, body := w.call(http.MethodPost, "/notices", notice)
	require.Equal(t, http.StatusOK, status, body)
	before := w.evidence()
	require.NoError(t, w.server.Close())

	again := serve(t, refund.ProfileFull, keptIn(dir))
	after := again.evidence()
	require.Equal(t, before, after)
	require.Equal(t, "committed", after.Received[0].Outcome)
	require.Equal(t, noon+5000, after.Received[0].At)

	require.Equal(t, refund.ObservedAmbiguous, again.submit(again.intake("r1"), refund.Fence{Term: 1}).Observation, "one faulty answer was still queued")
	require.Equal(t, refund.ObservedReceipt, again.submit(again.intake("r1"), refund.Fence{Term: 1}).Observation, "and only one")
	again.call(http.MethodPost, "/model/v1/chat/completions", `{}`)
	again.call(http.MethodPost, "/notices", notice)
	after = again.evidence()
	require.Equal(t, []int64{1, 2, 3}, []int64{after.Received[0].N, after.Received[1].N, after.Received[2].N}, "numbers go on")
	require.Equal(t, noon+5000, after.Received[2].At, "and so does the moved clock")
	require.Equal(t, []string{"cut", "prose"}, []string{after.Bill[0].Answered, after.Bill[1].Answered})
	require.True(t, after.Notices[1].Duplicate, "the receiver remembers what it took")
}

func TestARecordsTornEndIsCutOff(t *testing.T) {
	dir := t.TempDir()
	w := serve(t, refund.ProfileFull, keptIn(dir))
	w.submit(w.intake("r1"), refund.Fence{Term: 1})
	before := w.evidence()
	require.NoError(t, w.server.Close())
	path := filepath.Join(dir, "p.record")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append(text, `{"received":{"n":2,"verb":"subm`...), 0o600))

	again := serve(t, refund.ProfileFull, keptIn(dir))
	require.Equal(t, before, again.evidence())
	again.submit(again.intake("r1"), refund.Fence{Term: 1})
	require.NoError(t, again.server.Close())
	third := serve(t, refund.ProfileFull, keptIn(dir))
	require.Len(t, third.evidence().Received, 2, "what came after the torn line can be read")
}

func TestARecordThatIsNoneIsRefused(t *testing.T) {
	profile, err := refund.ProfileNamed(refund.ProfileFull)
	require.NoError(t, err)
	for name, text := range map[string]string{
		"no JSON":                  "received\n",
		"another key":              `{"arrived":{"n":1}}` + "\n",
		"a request out of order":   `{"received":{"n":2,"verb":"submit","operation_id":"","outcome":"","at":1}}` + "\n",
		"a bill without a number":  `{"billed":{"n":0,"operation_id":"","answered":"good","tokens":1,"at":1}}` + "\n",
		"a negative request":       `{"received":{"n":-1,"verb":"submit","operation_id":"","outcome":"","at":1}}` + "\n",
		"a hole before the second": strings.Repeat("\n", 2),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "p.record")
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			_, err := server.New(t.Context(), server.Options{
				Database: filepath.Join(dir, "p.db"), Record: path, Control: true,
				Promise: ledger.Promise{Profile: profile, Retention: time.Hour, Lag: ledger.LagManual},
			})
			require.Equal(t, refund.CodeStoreUnreadable, refund.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, path)
		})
	}
}
