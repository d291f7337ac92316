package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
			f := newFlow(t, profile)
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
