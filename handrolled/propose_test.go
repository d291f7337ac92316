package handrolled

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

func TestAnOrderThatDoesNotAllowTheRefundCostsNoModelCall(t *testing.T) {
	for code, order := range map[refund.Code]refund.Order{
		refund.CodeInsufficientBalance: {ID: "order-1", Currency: "EUR", Captured: 10_000, Refunded: 6000, Version: 3},
		refund.CodeCurrencyMismatch:    {ID: "order-1", Currency: "USD", Captured: 10_000, Version: 3},
		refund.CodeOrderNotFound:       {},
	} {
		t.Run(string(code), func(t *testing.T) {
			store, _ := newStore(t)
			run := admit(t, store, refund.Terms{})
			w := newWorld()
			w.order = func() (refund.Order, error) {
				if order.ID == "" {
					return order, refund.Errorf(refund.CodeOrderNotFound, "no such order")
				}
				return order, nil
			}
			drive(t, store, w, "A")
			view := status(t, store, run.Lease.OperationID)
			require.Equal(t, refund.StatusRejected, view.Status)
			require.Equal(t, code, view.Reason)
			require.Zero(t, w.reached("propose"))
			require.Zero(t, view.Facts.ModelCalls)
		})
	}
}

func TestAnOrderThatCannotBeReadCostsNoModelCallEither(t *testing.T) {
	store, clock := newStore(t)
	run := admit(t, store, refund.Terms{})
	w := newWorld()
	good := w.order
	w.order = func() (refund.Order, error) {
		return refund.Order{}, refund.Errorf(refund.CodeUnavailable, "no answer")
	}
	for range 5 {
		drive(t, store, w, "A")
		clock.pass(time.Hour)
	}
	require.Zero(t, w.reached("propose"))
	w.order = good
	drive(t, store, w, "A")
	require.Equal(t, refund.StatusApprovalRequired, status(t, store, run.Lease.OperationID).Status)
}

// I11: the pause before the next try is longer than the time to decide, and still the run ends when that is over.
func TestARunWithoutAProposalEndsAtItsDeadline(t *testing.T) {
	store, clock := newStore(t)
	run := admit(t, store, refund.Terms{DecideWithin: 60_000, Backoff: refund.MaxPause.Milliseconds()})
	w := newWorld()
	w.order = func() (refund.Order, error) {
		return refund.Order{}, refund.Errorf(refund.CodeUnavailable, "no answer")
	}
	drive(t, store, w, "A")
	require.Equal(t, refund.StatusPending, status(t, store, run.Lease.OperationID).Status)
	clock.pass(time.Minute)
	drive(t, store, w, "A")
	require.Equal(t, refund.StatusExpired, status(t, store, run.Lease.OperationID).Status)
}

// I12: what the model is asked is counted before it is asked, and never more than the budget.
func TestTheBudgetEndsTheRunWhenTheModelGivesNoUsableAnswer(t *testing.T) {
	for good := range 5 {
		t.Run(fmt.Sprint("good answers from call ", good+1), func(t *testing.T) {
			store, clock := newStore(t)
			run := admit(t, store, refund.Terms{ModelBudget: 3})
			w := newWorld()
			w.proposal = func(context.Context) (refund.Proposal, error) {
				if w.reached("propose") <= good {
					return refund.Proposal{}, refund.Errorf(refund.CodeInvalidBody, "cut off")
				}
				return theProposal, nil
			}
			for range 6 {
				drive(t, store, w, "A")
				clock.pass(time.Minute)
			}
			view := status(t, store, run.Lease.OperationID)
			if good < 3 {
				require.Equal(t, refund.StatusApprovalRequired, view.Status)
				require.Equal(t, good+1, w.reached("propose"))
			} else {
				require.Equal(t, refund.CodeProposalFailed, view.Reason)
				require.Equal(t, 3, w.reached("propose"))
				require.Contains(t, kinds(t, store, run.Lease.OperationID), "OBSERVATION INVALID_BODY")
			}
			require.Equal(t, w.reached("propose"), view.Facts.ModelCalls)
		})
	}
}

func TestTheFileKeepsTheBudgetWhateverTheWorkerBelieves(t *testing.T) {
	store, _ := newStore(t)
	admit(t, store, refund.Terms{ModelBudget: 1})
	run := claim(t, store, "A")
	_, err := store.ReserveModelCall(bounded(t), run.Lease)
	require.NoError(t, err)
	_, err = store.ReserveModelCall(bounded(t), run.Lease)
	requireCode(t, err, refund.CodeProposalFailed)
	_, err = store.writer.Exec("UPDATE runs SET model_calls = model_calls + 1")
	require.ErrorContains(t, err, "CHECK")
}

// I12: a worker that dies after the proposal was recorded leaves it to the next; one that dies before has spent a call.
func TestARecordedProposalIsReusedByEveryRecovery(t *testing.T) {
	store, clock := newStore(t)
	run := admit(t, store, refund.Terms{})
	held := claim(t, store, "A")
	_, err := store.ReserveModelCall(bounded(t), held.Lease) // A asked, and died before the answer was recorded
	require.NoError(t, err)
	clock.set(held.Lease.Until)
	w := newWorld()
	w.proposal = func(context.Context) (refund.Proposal, error) {
		p := theProposal
		p.AnswerID = fmt.Sprint("answer-", w.reached("propose"))
		return p, nil
	}
	drive(t, store, w, "B")
	for range 5 {
		clock.pass(time.Hour)
		drive(t, store, w, "C")
	}
	view := status(t, store, run.Lease.OperationID)
	require.Equal(t, "answer-1", view.Facts.Proposal.AnswerID)
	require.Equal(t, 1, w.reached("propose"))
	require.Equal(t, 2, view.Facts.ModelCalls)
}
