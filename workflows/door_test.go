package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"refundlab/provider"
	"refundlab/refund"
	"refundlab/workflows"
)

type refundAnswer = provider.Answer

var workerWithoutDoor = worker.Options{}

// quietly sends a decision that makes no workflow task of its own: it is applied together with whatever comes next, as after
// an outage.
func (f *flow) quietly(at time.Duration, d any) {
	f.after(at, func() { f.SignalWorkflowSkippingWorkflowTask(workflows.DecisionSignal, d) })
}

func TestVerdictsFollowTheOrderOfTheHistory(t *testing.T) {
	const deadline = time.Hour
	for name, c := range map[string]struct {
		prepare func(f *flow)
		want    []refund.VerdictCode
		status  refund.RunStatus
	}{
		"in time": {
			func(f *flow) { f.approve(time.Minute) },
			[]refund.VerdictCode{refund.VerdictAccepted}, refund.StatusConfirmed,
		},
		"in time, in one task with the deadline's timer": {
			func(f *flow) { f.quietly(deadline-time.Millisecond, f.decision("d-1")) },
			[]refund.VerdictCode{refund.VerdictAccepted}, refund.StatusRejected, // approved in time, too late to commit
		},
		"in time, in one task with the deadline's timer, with time left to commit": {
			func(f *flow) {
				f.intake.Terms.CommitWithin *= 2
				f.quietly(deadline-time.Millisecond, f.decision("d-1"))
			},
			[]refund.VerdictCode{refund.VerdictAccepted}, refund.StatusConfirmed,
		},
		"before the proposal, in one task with it": {
			func(f *flow) {
				f.world.proposing = func(int) error {
					f.SignalWorkflowSkippingWorkflowTask(workflows.DecisionSignal, f.decision("d-1"))
					return nil
				}
			},
			[]refund.VerdictCode{refund.VerdictNotReady}, refund.StatusExpired,
		},
		"too early uses up the decision id and nothing else": {
			func(f *flow) {
				f.world.proposing = func(int) error {
					f.SignalWorkflow(workflows.DecisionSignal, f.decision("d-1"))
					return nil
				}
				f.decide(time.Minute, f.decision("d-1"))
				f.decide(2*time.Minute, f.decision("d-2"))
			},
			[]refund.VerdictCode{refund.VerdictNotReady, refund.VerdictAccepted}, refund.StatusConfirmed,
		},
		"approve crosses reject": {
			func(f *flow) {
				f.quietly(time.Minute, f.decision("d-1"))
				f.decide(time.Minute, f.decision("d-2", rejecting))
			},
			[]refund.VerdictCode{refund.VerdictAccepted, refund.VerdictAlreadyDecided}, refund.StatusConfirmed,
		},
		"reject crosses approve": {
			func(f *flow) {
				f.quietly(time.Minute, f.decision("d-1", rejecting))
				f.decide(time.Minute, f.decision("d-2"))
			},
			[]refund.VerdictCode{refund.VerdictAccepted, refund.VerdictAlreadyDecided}, refund.StatusRejected,
		},
		"the same decision twenty times": {
			func(f *flow) {
				for range 20 {
					f.quietly(time.Minute, f.decision("d-1"))
				}
				f.decide(time.Minute, f.decision("d-1"))
			},
			[]refund.VerdictCode{refund.VerdictAccepted}, refund.StatusConfirmed,
		},
		"the same id with other content changes nothing": {
			func(f *flow) {
				f.quietly(time.Minute, f.decision("d-1"))
				f.decide(time.Minute, f.decision("d-1", rejecting))
			},
			[]refund.VerdictCode{refund.VerdictAccepted}, refund.StatusConfirmed,
		},
		"shown something else, by the requester, for another order version; then properly": {
			func(f *flow) {
				f.decide(time.Minute, f.decision("d-1", func(d *refund.Decision) { d.Digest = d.Digest[1:] + "0" }))
				f.decide(time.Minute, f.decision("d-2", func(d *refund.Decision) { d.Approver = "User-1" }))
				f.decide(time.Minute, f.decision("d-3", func(d *refund.Decision) { d.OrderVersion = 6 }))
				f.decide(time.Minute, f.decision("d-4", func(d *refund.Decision) { d.OperationID = "00000000-0000-5000-8000-000000000000" }))
				f.decide(time.Minute, f.decision("d-5"))
			},
			[]refund.VerdictCode{
				refund.VerdictDigestMismatch, refund.VerdictSelfApproval, refund.VerdictOrderMismatch, refund.VerdictInvalid, refund.VerdictAccepted,
			}, refund.StatusConfirmed,
		},
		"unreadable": {
			func(f *flow) {
				f.decide(time.Minute, "approve")
				f.decide(time.Minute, map[string]any{"decision_id": "d-1", "approved": true})
				f.decide(time.Minute, nil)
				f.decide(2*time.Minute, "approve")
				f.decide(3*time.Minute, f.decision("d-2"))
			},
			[]refund.VerdictCode{refund.VerdictInvalid, refund.VerdictInvalid, refund.VerdictInvalid, refund.VerdictAccepted}, refund.StatusConfirmed,
		},
		"while the run closes as expired": {
			func(f *flow) {
				f.world.delivering = func(n int) error {
					if n == 1 {
						f.SignalWorkflowSkippingWorkflowTask(workflows.DecisionSignal, f.decision("d-1"))
						f.SignalWorkflowSkippingWorkflowTask(workflows.DecisionSignal, f.decision("d-2", rejecting))
					}
					return nil
				}
			},
			[]refund.VerdictCode{refund.VerdictExpired, refund.VerdictExpired}, refund.StatusExpired,
		},
		"while the run closes as rejected": {
			func(f *flow) {
				f.world.order.Refunded = 9000
				f.world.delivering = func(int) error {
					f.SignalWorkflowSkippingWorkflowTask(workflows.DecisionSignal, f.decision("d-1"))
					return nil
				}
			},
			[]refund.VerdictCode{refund.VerdictRunClosed}, refund.StatusRejected,
		},
		"after the confirmation, before the close": {
			func(f *flow) {
				f.approve(time.Minute)
				f.world.delivering = func(int) error {
					f.SignalWorkflowSkippingWorkflowTask(workflows.DecisionSignal, f.decision("d-2", rejecting))
					return nil
				}
			},
			[]refund.VerdictCode{refund.VerdictAccepted, refund.VerdictAlreadyDecided}, refund.StatusConfirmed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFlow(t, refund.ProfileFull)
			c.prepare(f)
			require.Equal(t, c.status, f.run().Status)
			require.Equal(t, c.want, f.codes())
			accepted := 0
			for _, v := range f.verdicts {
				if v.Accepted != nil {
					accepted++
				}
			}
			require.LessOrEqual(t, accepted, 1)
			require.LessOrEqual(t, len(f.world.entries), accepted)
		})
	}
}

func TestARepeatedUnreadableDecisionKeepsItsVerdict(t *testing.T) {
	f := newFlow(t, refund.ProfileFull)
	f.decide(time.Minute, "approve")
	f.decide(2*time.Minute, "approve")
	f.run()
	require.Len(t, f.verdicts, 1)
	require.Regexp(t, "^unreadable-[0-9a-f]{16}$", f.verdicts[0].DecisionID)
}
