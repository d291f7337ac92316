package handrolled

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/provider"
	"refundlab/refund"
)

// unknown is a run that nobody holds and whose outcome is not known.
func unknown(t *testing.T, store *Store, profile refund.ProfileName) Run {
	approved(t, store, refund.Terms{Profile: profile})
	run := claim(t, store, "A")
	_, err := store.RecordIntent(bounded(t), run.Lease, refund.ActSend)
	require.NoError(t, err)
	run, err = store.RecordObservation(bounded(t), run.Lease, Observed{Action: refund.ActSend, Answer: answer(refund.ObservedAmbiguous), Hold: profile == refund.ProfileOpaque})
	require.NoError(t, err)
	return run
}

func settlement(run Run, kind refund.SettlementKind) refund.Settlement {
	s := refund.Settlement{SettlementID: "set-1", OperationID: run.Lease.OperationID, Kind: kind, By: "carol", Reason: "seen at the bank"}
	if kind == refund.SettleReceipt {
		proof := receipt(run.Facts.Intake)
		s.Receipt = &proof
	}
	return s
}

func TestAPersonSettlesAnUnknownRun(t *testing.T) {
	for _, c := range []struct {
		profile refund.ProfileName
		kind    refund.SettlementKind
		status  refund.RunStatus
		reason  refund.Code
		tail    []string
	}{
		{refund.ProfileOpaque, refund.SettleReceipt, refund.StatusConfirmed, "", []string{"SETTLEMENT receipt", "OUTCOME CONFIRMED"}},
		{refund.ProfileOpaque, refund.SettlePresumedAbsent, refund.StatusUnknown, "", []string{"SETTLEMENT presumed-absent"}},
		{refund.ProfileFull, refund.SettleReceipt, refund.StatusConfirmed, "", []string{"SETTLEMENT receipt", "OUTCOME CONFIRMED"}},
		{refund.ProfileFull, refund.SettleClose, refund.StatusRejected, refund.CodeClosed, []string{"SETTLEMENT close", "INTENT", "OUTCOME CLOSED"}},
	} {
		t.Run(string(c.profile)+"/"+string(c.kind), func(t *testing.T) {
			store, clock := newStore(t)
			run := unknown(t, store, c.profile)
			w := newWorld()
			client := &Client{Journal: store, Refunds: w, Name: "desk"}
			view, err := client.Settle(bounded(t), settlement(run, c.kind))
			require.NoError(t, err)
			require.Equal(t, c.status, view.Status)
			require.Equal(t, c.reason, view.Reason)
			require.Equal(t, c.tail, kinds(t, store, run.Lease.OperationID)[6:])
			if c.kind == refund.SettleClose {
				require.Equal(t, []refund.Fence{{Term: run.Lease.Generation + 1}}, w.fences)
			}

			// The same again changes nothing, the same id for something else is a conflict, and nothing is ever sent again.
			before := dump(t, store)
			_, err = client.Settle(bounded(t), settlement(run, c.kind))
			require.NoError(t, err)
			other := settlement(run, c.kind)
			other.By = "mallory"
			_, err = client.Settle(bounded(t), other)
			requireCode(t, err, refund.CodeDecisionConflict, "set-1")
			require.Equal(t, before, dump(t, store))
			clock.pass(time.Hour)
			drive(t, store, w, "B")
			require.Zero(t, w.reached("submit")+w.reached("lookup"))
			require.False(t, view.Lists(refund.ListUnknown, 0, 0, clock.now()))
		})
	}
}

func TestAHeldRunIsNotSettledAndASettledOneIsLostToItsOldOwner(t *testing.T) {
	store, clock := newStore(t)
	run := unknown(t, store, refund.ProfileLookup)
	clock.pass(time.Minute)
	held := claim(t, store, "A")
	client := &Client{Journal: store, Name: "desk"}
	_, err := client.Settle(bounded(t), settlement(run, refund.SettleReceipt))
	requireCode(t, err, refund.CodeSettlementRefused, "A holds the run")

	clock.set(held.Lease.Until)
	view, err := client.Settle(bounded(t), settlement(run, refund.SettlePresumedAbsent))
	require.NoError(t, err)
	require.Equal(t, refund.StatusUnknown, view.Status)
	// A wakes up with a receipt. It is traced by the worker and not written: the person's word stands until a person changes it.
	proof := receipt(run.Facts.Intake)
	_, err = store.RecordOutcome(bounded(t), held.Lease, Outcome{Event: refund.EventReceipt, Receipt: &proof})
	requireCode(t, err, refund.CodeLeaseLost)
	corrected := settlement(run, refund.SettleReceipt)
	corrected.SettlementID = "set-2"
	view, err = client.Settle(bounded(t), corrected)
	require.NoError(t, err)
	require.Equal(t, refund.StatusConfirmed, view.Status)
}

func TestASettlementThatTheFactsDoNotAllowIsRefused(t *testing.T) {
	store, _ := newStore(t)
	admit(t, store, refund.Terms{Profile: refund.ProfileOpaque})
	run := propose(t, store)
	client := &Client{Journal: store, Refunds: newWorld(), Name: "desk"}
	_, err := client.Settle(bounded(t), settlement(run, refund.SettleReceipt))
	requireCode(t, err, refund.CodeSettlementRefused, "APPROVAL_REQUIRED")

	store, _ = newStore(t)
	run = unknown(t, store, refund.ProfileOpaque)
	client = &Client{Journal: store, Refunds: newWorld(), Name: "desk"}
	_, err = client.Settle(bounded(t), settlement(run, refund.SettleClose))
	requireCode(t, err, refund.CodeSettlementRefused, "no close")
	foreign := settlement(run, refund.SettleReceipt)
	foreign.Receipt.Amount.Minor++
	_, err = client.Settle(bounded(t), foreign)
	requireCode(t, err, refund.CodeSettlementRefused, "does not belong")
	client.Refunds = nil
	_, err = client.Settle(bounded(t), settlement(run, refund.SettleClose))
	requireCode(t, err, refund.CodeInvalidFlag, "address")
	foreign.OperationID = refund.NewOperationID("acme", refund.Kind, "nobody")
	_, err = client.Settle(bounded(t), foreign)
	requireCode(t, err, refund.CodeNotFound)
	require.Equal(t, refund.StatusUnknown, status(t, store, run.Lease.OperationID).Status)
}

// A person's close binds every later owner, whether the close reached the provider or not.
func TestACloseThatWasBegunIsFinishedByAWorkerAndNothingIsSent(t *testing.T) {
	for name, first := range map[string]func(t *testing.T, store *Store, w *world, run Run){
		"its answer is lost": func(t *testing.T, store *Store, w *world, run Run) {
			w.close = func(refund.Intake) provider.Answer { return answer(refund.ObservedAmbiguous) }
			view, err := (&Client{Journal: store, Refunds: w, Name: "desk"}).Settle(bounded(t), settlement(run, refund.SettleClose))
			require.NoError(t, err)
			require.Equal(t, refund.StatusUnknown, view.Status)
			require.Equal(t, "close the operation at the provider", view.May.Next)
		},
		"its client dies before the call": func(t *testing.T, store *Store, _ *world, run Run) {
			_, err := store.ClaimToClose(bounded(t), settlement(run, refund.SettleClose), "desk", lease)
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, clock := newStore(t)
			run := unknown(t, store, refund.ProfileFull)
			w := newWorld()
			first(t, store, w, run)
			closed := w.reached("close")
			w.close = func(refund.Intake) provider.Answer { return refusalAnswer(refund.CodeClosed) }
			clock.pass(time.Minute)
			drive(t, store, w, "B")
			require.Equal(t, refund.CodeClosed, status(t, store, run.Lease.OperationID).Reason)
			require.Equal(t, closed+1, w.reached("close"))
			require.Zero(t, w.reached("submit"))
		})
	}
}

// A conflict is never sent or closed again, also when somebody repeats the close that found it.
func TestARepeatedCloseLeavesAConflictAlone(t *testing.T) {
	store, clock := newStore(t)
	run := unknown(t, store, refund.ProfileFull)
	w := newWorld()
	w.close = func(refund.Intake) provider.Answer { return answer(refund.ObservedConflict) }
	client := &Client{Journal: store, Refunds: w, Name: "desk"}
	for range 2 {
		view, err := client.Settle(bounded(t), settlement(run, refund.SettleClose))
		require.NoError(t, err)
		require.Equal(t, refund.StatusUnknown, view.Status)
		require.NotEmpty(t, view.Facts.Conflict)
		clock.pass(time.Hour)
		drive(t, store, w, "B")
	}
	require.Equal(t, []string{"close"}, w.calls)
}

// A COMMIT that was reported failed and is there: the settlement is recorded, so it is not told as refused. A worker closes.
func TestACloseWhoseCommitFailedIsRecordedOrMadeAgain(t *testing.T) {
	for _, how := range []string{"there", "gone"} {
		t.Run(how, func(t *testing.T) {
			store, clock, next := shaky(t)
			run, w := unknown(t, store, refund.ProfileFull), newWorld()
			client := &Client{Journal: store, Refunds: w, Name: "desk"}
			*next = how
			_, err := client.Settle(bounded(t), settlement(run, refund.SettleClose))
			if how == "there" {
				requireCode(t, err, refund.CodeVerdictPending, "set-1", "is recorded", "ask again")
				other := settlement(run, refund.SettleClose)
				other.SettlementID = "set-2"
				_, err = client.Settle(bounded(t), other)
				requireCode(t, err, refund.CodeSettlementRefused, "desk holds the run") // that one is not recorded
			} else {
				require.NoError(t, err)
			}
			clock.pass(time.Minute)
			drive(t, store, w, "B")
			view, err := client.Settle(bounded(t), settlement(run, refund.SettleClose))
			require.NoError(t, err)
			require.Equal(t, refund.CodeClosed, view.Reason)
			require.Equal(t, []string{"close"}, w.calls)
		})
	}
}
