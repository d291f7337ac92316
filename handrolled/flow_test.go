package handrolled

import (
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

func TestARefundGoesFromRequestToNotice(t *testing.T) {
	store := openAt(t, journalPath(t), Options{})
	w := newWorld()
	start(t, store, w, "A")
	client := &Client{Journal: store, Name: "client"}

	view, existing, err := client.Request(bounded(t), request(1), refund.Terms{})
	require.NoError(t, err)
	require.False(t, existing)
	require.Equal(t, refund.StatusPending, view.Status)
	id := view.OperationID

	view = until(t, store, id, refund.StatusApprovalRequired)
	require.Equal(t, theProposal, *view.Facts.Proposal)
	run, err := store.Load(bounded(t), id)
	require.NoError(t, err)
	verdict, err := client.Decide(bounded(t), decision(run, "1", refund.ChoiceApprove))
	require.NoError(t, err)
	require.Equal(t, refund.VerdictAccepted, verdict.Code)

	view = until(t, store, id, refund.StatusConfirmed)
	require.Equal(t, "re-1", view.Facts.Receipt.RefundID)
	require.Eventually(t, func() bool { return len(kinds(t, store, id)) == 7 }, patience, tick, "the notice was not delivered")
	require.Equal(t, []string{"INTAKE", "MODEL_CALL", "PROPOSAL approve", "VERDICT ACCEPTED", "INTENT", "OUTCOME CONFIRMED", "NOTICE CONFIRMED"}, kinds(t, store, id))
	require.Equal(t, []string{"propose", "submit", "notice"}, w.calls)
}
