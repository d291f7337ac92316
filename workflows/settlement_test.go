package workflows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"

	"refundlab/provider"
	"refundlab/refund"
	"refundlab/workflows"
)

// lose makes every answer of the provider's get lost, the effect included or not.
func (f *flow) lose() {
	f.world.submitting = func(int) *provider.Answer { return ambiguous() }
	f.world.looking = func(int) *provider.Answer { return ambiguous() }
}

func TestSettlementByReceipt(t *testing.T) {
	f := newFlow(t, refund.ProfileOpaque)
	f.lose()
	f.approve(time.Minute)
	f.settle(2*time.Minute, "s-1", refund.SettleReceipt, func(s *refund.Settlement) {
		s.Receipt = receiptFor(f.intake)
		s.Receipt.Amount.Minor++
	})
	f.settle(3*time.Minute, "s-2", refund.SettleReceipt, func(s *refund.Settlement) { s.Receipt = receiptFor(f.intake) })
	require.Equal(t, workflows.Result{Status: refund.StatusConfirmed, RefundID: "r-1"}, f.run())
	require.Equal(t, []refund.Code{refund.CodeSettlementRefused, ""}, f.answers())
}

func TestSettlementByClose(t *testing.T) {
	for name, c := range map[string]struct {
		committed bool
		want      workflows.Result
	}{
		"nothing was committed": {false, workflows.Result{Status: refund.StatusRejected, Reason: refund.CodeClosed}},
		"it was committed":      {true, workflows.Result{Status: refund.StatusConfirmed, RefundID: "r-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFlow(t, refund.ProfileFull)
			f.approve(time.Minute)
			if c.committed {
				f.world.answering = func(int) *provider.Answer { return ambiguous() }
			} else {
				f.lose()
			}
			f.settle(10*time.Minute, "s-1", refund.SettleClose)
			require.Equal(t, c.want, f.run())
			require.Len(t, f.world.closes, 1)
			require.Equal(t, []refund.Code{""}, f.answers())
			require.Less(t, f.Now(), start.Add(11*time.Minute), "the pause before the next send is cut short")
		})
	}
}

func TestPresumedAbsentStaysUnknownIsNeverSentAgainAndStillTakesAReceipt(t *testing.T) {
	for _, profile := range []refund.ProfileName{refund.ProfileRetention, refund.ProfileLenient, refund.ProfileLookup, refund.ProfileStale, refund.ProfileOpaque} {
		t.Run(string(profile), func(t *testing.T) {
			// Before the time to commit is over, retention and lenient send again and are not unknown.
			f := newFlow(t, profile, func(terms *refund.Terms) {
				terms.DecideWithin, terms.CommitWithin = (2 * time.Minute).Milliseconds(), (5 * time.Minute).Milliseconds()
			})
			f.lose()
			f.approve(time.Minute)
			f.settle(10*time.Minute, "s-1", refund.SettlePresumedAbsent)
			f.settle(10*time.Minute, "s-1", refund.SettlePresumedAbsent)
			var asked int
			f.after(11*time.Minute, func() { asked = len(f.world.submits) + len(f.world.lookups) })
			f.after(60*24*time.Hour, func() {
				require.Equal(t, refund.StatusUnknown, f.status)
				require.Equal(t, asked, len(f.world.submits)+len(f.world.lookups))
			})
			f.settle(61*24*time.Hour, "s-2", refund.SettleReceipt, func(s *refund.Settlement) { s.Receipt = receiptFor(f.intake) })
			require.Equal(t, refund.StatusConfirmed, f.run().Status)
			require.Equal(t, []refund.Code{"", ""}, f.answers(), "the repeated one is answered by its record")
		})
	}
}

// Both come in one workflow task: a person's word is looked at before the next round begins.
func TestSettlementThatComesWithAnAnswerGoesBeforeTheNextRound(t *testing.T) {
	f := newFlow(t, refund.ProfileLookup)
	f.approve(time.Minute)
	f.world.submitting = func(int) *provider.Answer {
		f.SignalWorkflowSkippingWorkflowTask(workflows.SettlementSignal, refund.Settlement{
			SettlementID: "s-1", OperationID: f.intake.OperationID, Kind: refund.SettleReceipt, By: "user-3", Reason: "asked the bank", Receipt: receiptFor(f.intake),
		})
		return ambiguous()
	}
	begun := 0
	f.SetOnActivityCanceledListener(func(*activity.Info) { begun++ }) // by the settlement, which would end it again
	require.Equal(t, refund.StatusConfirmed, f.run().Status)
	require.Equal(t, []refund.Code{""}, f.answers())
	require.Zero(t, begun+len(f.world.lookups))
}

// Whatever was sent, its record fits: a run that cannot write its record would stand still for good.
func TestMalformedSettlementIsRecordedByItsNameAlone(t *testing.T) {
	large := strings.Repeat("<", 600_000) // six times as much in a record
	for name, c := range map[string]struct {
		sent any
		id   string
		code refund.Code
	}{
		"text of the wrong kind":     {"close it", "^unreadable-[0-9a-f]{16}$", refund.CodeInvalidBody},
		"no operation":               {map[string]any{"settlement_id": "s-1", "reason": "because"}, "^s-1$", refund.CodeInvalidIdentity},
		"larger than any settlement": {map[string]any{"settlement_id": "s-1", "reason": large}, "^unreadable-", refund.CodeInvalidBody},
		"with an unknown field":      {map[string]any{"settlement_id": "s-1", large: true}, "^unreadable-", refund.CodeInvalidBody},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFlow(t, refund.ProfileFull)
			f.after(time.Second, func() { f.SignalWorkflow(workflows.SettlementSignal, c.sent) })
			f.approve(time.Minute)
			require.Equal(t, refund.StatusConfirmed, f.run().Status)
			require.Len(t, f.settlements, 1)
			record := f.settlements[0]
			require.Regexp(t, c.id, record.Settlement.SettlementID)
			require.Equal(t, refund.Settlement{SettlementID: record.Settlement.SettlementID}, record.Settlement)
			require.Equal(t, c.code, record.Refused)
			require.Len(t, record.Hash, 64)
			require.Less(t, len(record.Detail), 1000)
		})
	}
}

func TestSettlementIsRefusedWhereNothingIsUnknown(t *testing.T) {
	f := newFlow(t, refund.ProfileFull)
	f.settle(time.Second, "s-1", refund.SettleClose)
	f.after(2*time.Second, func() { f.SignalWorkflow(workflows.SettlementSignal, "close it") })
	f.settle(3*time.Second, "s-2", refund.SettleClose, func(s *refund.Settlement) { s.By = " " })
	f.approve(time.Minute)
	f.world.delivering = func(int) error {
		f.SignalWorkflow(workflows.SettlementSignal, refund.Settlement{
			SettlementID: "s-3", OperationID: f.intake.OperationID, Kind: refund.SettleClose, By: "user-3", Reason: "asked the bank",
		})
		return nil
	}
	require.Equal(t, refund.StatusConfirmed, f.run().Status)
	require.Equal(t, []refund.Code{refund.CodeSettlementRefused, refund.CodeInvalidBody, refund.CodeInvalidIdentity, refund.CodeSettlementRefused}, f.answers())
	require.Empty(t, f.world.closes)
}
