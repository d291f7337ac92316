package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/provider"
	"refundlab/refund"
)

// An unanswered submit is what the profiles exist for: what is done next, and what it comes to, is each one's own.
func TestLostAnswerUnderEveryProfile(t *testing.T) {
	const again = -1 // and again, with growing pauses
	type end struct {
		status                refund.RunStatus
		entries, submits, ask int // ask: look-ups and closes
	}
	lost := map[string]struct {
		committed bool
		want      map[refund.ProfileName]end
	}{
		"after the commit": {true, map[refund.ProfileName]end{
			refund.ProfileFull:      {refund.StatusConfirmed, 1, 2, 0},
			refund.ProfileRetention: {refund.StatusConfirmed, 1, 2, 0},
			refund.ProfileLenient:   {refund.StatusConfirmed, 1, 2, 0},
			refund.ProfileLookup:    {refund.StatusConfirmed, 1, 1, 1},
			refund.ProfileStale:     {refund.StatusConfirmed, 1, 1, 4},
			refund.ProfileOpaque:    {refund.StatusUnknown, 1, 1, 0},
		}},
		"before the commit": {false, map[refund.ProfileName]end{
			refund.ProfileFull:      {refund.StatusConfirmed, 1, 2, 0},
			refund.ProfileRetention: {refund.StatusConfirmed, 1, 2, 0},
			refund.ProfileLenient:   {refund.StatusConfirmed, 1, 2, 0},
			refund.ProfileLookup:    {refund.StatusUnknown, 0, 1, again},
			refund.ProfileStale:     {refund.StatusUnknown, 0, 1, again},
			refund.ProfileOpaque:    {refund.StatusUnknown, 0, 1, 0},
		}},
	}
	for name, c := range lost {
		for profile, want := range c.want {
			t.Run(name+" under "+string(profile), func(t *testing.T) {
				f := newFlow(t, profile)
				f.approve(time.Minute)
				drop := func(n int) *provider.Answer {
					if n == 1 {
						return ambiguous()
					}
					return nil
				}
				if c.committed {
					f.world.answering = drop
				} else {
					f.world.submitting = drop
				}
				if profile == refund.ProfileStale {
					f.world.looking = func(n int) *provider.Answer {
						if n <= 3 { // the replica lags
							return &provider.Answer{Observation: refund.ObservedNotFound}
						}
						return nil
					}
				}
				asked := end{}
				look := func() {
					asked = end{f.status, len(f.world.entries), len(f.world.submits), len(f.world.lookups) + len(f.world.closes)}
				}
				if want.status == refund.StatusUnknown {
					// A run that stays UNKNOWN has no end: a person gives it one, hours later, with a receipt.
					f.after(8*time.Hour, look)
					f.settle(8*time.Hour+time.Minute, "s-1", refund.SettleReceipt, func(s *refund.Settlement) { s.Receipt = receiptFor(f.intake) })
					require.Equal(t, refund.StatusConfirmed, f.run().Status)
				} else {
					require.Equal(t, want.status, f.run().Status)
					look()
				}
				if want.ask == again {
					require.Greater(t, asked.ask, 10)
					want.ask = asked.ask
				}
				require.Equal(t, want, asked)
			})
		}
	}
}

func TestEveryRoundAndAttemptRaisesTheFence(t *testing.T) {
	f := newFlow(t, refund.ProfileFull)
	f.approve(time.Minute)
	f.world.submitting = func(n int) *provider.Answer {
		switch n {
		case 1, 2:
			return ambiguous()
		case 3: // a run that was reset had gone further
			return &provider.Answer{Observation: refund.ObservedStaleFence, Fence: refund.Fence{Term: 9, Seq: 4}}
		}
		return nil
	}
	require.Equal(t, refund.StatusConfirmed, f.run().Status)
	var fences []refund.Fence
	for _, s := range f.world.submits {
		fences = append(fences, s.Fence)
	}
	require.Equal(t, []refund.Fence{{Term: 1, Seq: 1}, {Term: 1, Seq: 2}, {Term: 1, Seq: 3}, {Term: 10, Seq: 1}}, fences)
	require.Len(t, f.world.entries, 1)
}

// A provider that refuses a fence which nothing overtook would be asked as fast as it answers.
func TestFenceThatIsStaleWithoutBeingBehindIsPausedFor(t *testing.T) {
	f := newFlow(t, refund.ProfileFull)
	f.approve(time.Minute)
	var at []time.Duration
	f.world.submitting = func(n int) *provider.Answer {
		at = append(at, f.Now().Sub(start.Add(time.Minute)))
		if n < 4 {
			return &provider.Answer{Observation: refund.ObservedStaleFence}
		}
		return nil
	}
	require.Equal(t, refund.StatusConfirmed, f.run().Status)
	require.Equal(t, []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}, at)
}

func TestLapsedAuthorityClosesWhereItCanAndLooksUpElsewhere(t *testing.T) {
	for profile, want := range map[refund.ProfileName]struct {
		status refund.RunStatus
		reason refund.Code
		closes int
	}{
		refund.ProfileFull:      {refund.StatusRejected, refund.CodeClosed, 1},
		refund.ProfileRetention: {refund.StatusUnknown, "", 0},
		refund.ProfileLenient:   {refund.StatusUnknown, "", 0},
	} {
		t.Run(string(profile), func(t *testing.T) {
			f := newFlow(t, profile)
			f.approve(time.Minute)
			f.world.submitting = func(int) *provider.Answer { return ambiguous() } // down for good
			if want.status == refund.StatusUnknown {
				f.after(3*time.Hour, func() {
					require.Equal(t, want.status, f.status)
					require.NotEmpty(t, f.world.lookups)
				})
				f.settle(4*time.Hour, "s-1", refund.SettleReceipt, func(s *refund.Settlement) { s.Receipt = receiptFor(f.intake) })
				require.Equal(t, refund.StatusConfirmed, f.run().Status)
			} else {
				result := f.run()
				require.Equal(t, want.status, result.Status)
				require.Equal(t, want.reason, result.Reason)
			}
			require.Len(t, f.world.closes, want.closes)
			require.Empty(t, f.world.entries)
			for _, s := range f.world.submits {
				require.Equal(t, refund.At(start.Add(time.Hour)), s.CommitBy)
			}
		})
	}
}

// Our own success may have used up the balance: the check before the second send must not be taken for a refusal.
func TestFailedCheckBeforeASecondSendIsNoRefusal(t *testing.T) {
	for _, profile := range []refund.ProfileName{refund.ProfileFull, refund.ProfileRetention, refund.ProfileLenient} {
		t.Run(string(profile), func(t *testing.T) {
			f := newFlow(t, profile)
			f.intake.Request.Amount.Minor = 10000 // all of it
			f.intake = refund.NewIntake(f.intake.Request, f.intake.Terms, 0)
			f.approve(time.Minute)
			f.world.answering = func(n int) *provider.Answer {
				if n == 1 {
					return ambiguous()
				}
				return nil
			}
			require.Equal(t, refund.StatusConfirmed, f.run().Status)
			require.Len(t, f.world.submits, 1, "the second attempt saw that nothing is left and did not send")
			require.Len(t, f.world.entries, 1)
		})
	}
}

// The same, where the first send belongs to a round that ended without an answer.
func TestARoundWithoutAnAnswerMayHaveSent(t *testing.T) {
	for _, profile := range []refund.ProfileName{refund.ProfileFull, refund.ProfileRetention, refund.ProfileLenient} {
		t.Run(string(profile), func(t *testing.T) {
			f := newFlow(t, profile)
			f.approve(time.Minute)
			attempts := 0
			f.world.submitting = func(int) *provider.Answer {
				attempts++
				if attempts == 10 { // the last of the round: it is committed, and uses up the balance
					f.world.results[f.intake.OperationID] = provider.Answer{Observation: refund.ObservedReceipt, Receipt: receiptFor(f.intake)}
					f.world.order.Refunded = f.world.order.Captured
				}
				return ambiguous()
			}
			require.Equal(t, refund.StatusConfirmed, f.run().Status)
			require.Equal(t, 10, attempts)
			require.Empty(t, f.endings)
		})
	}
}

func TestRetentionEndsTheSending(t *testing.T) {
	f := newFlow(t, refund.ProfileRetention, func(terms *refund.Terms) {
		terms.Retention = (10 * time.Minute).Milliseconds()
		terms.DecideWithin = (24 * time.Hour).Milliseconds()
	})
	f.approve(time.Minute)
	var last time.Time
	f.world.submitting = func(int) *provider.Answer {
		last = f.Now()
		return ambiguous()
	}
	f.world.looking = func(n int) *provider.Answer {
		if n == 5 {
			return &provider.Answer{Observation: refund.ObservedReceipt, Receipt: receiptFor(f.intake)}
		}
		return nil
	}
	require.Equal(t, refund.StatusConfirmed, f.run().Status)
	require.Greater(t, len(f.world.submits), 3)
	require.Less(t, last, start.Add(11*time.Minute), "time-out included, no request may arrive once the provider may have forgotten")
}

func TestUnreadableOrderSendsNothingAndIsReadAgain(t *testing.T) {
	for _, profile := range []refund.ProfileName{refund.ProfileFull, refund.ProfileOpaque} {
		t.Run(string(profile), func(t *testing.T) {
			f := newFlow(t, profile)
			f.approve(time.Minute)
			f.world.reading = func(n int) error {
				if n > 1 && n < 6 { // the first is for the proposal
					return refund.Errorf(refund.CodeUnavailable, "no answer")
				}
				return nil
			}
			require.Equal(t, refund.StatusConfirmed, f.run().Status)
			require.Len(t, f.world.submits, 1)
			require.Equal(t, int64(5), f.world.submits[0].Fence.Term, "each read was a round of its own")
		})
	}
}

func TestConflictIsHeldForAPersonAndNeverTouchedAgain(t *testing.T) {
	for _, profile := range []refund.ProfileName{refund.ProfileFull, refund.ProfileLenient, refund.ProfileOpaque} {
		t.Run(string(profile), func(t *testing.T) {
			f := newFlow(t, profile)
			f.approve(time.Minute)
			f.world.submitting = func(int) *provider.Answer {
				return &provider.Answer{Observation: refund.ObservedConflict, Detail: "409: another digest"}
			}
			f.settle(2*time.Hour, "s-1", refund.SettleReceipt, func(s *refund.Settlement) { s.Receipt = receiptFor(f.intake) })
			f.settle(3*time.Hour, "s-2", refund.SettlePresumedAbsent)
			f.runFor(30 * 24 * time.Hour)
			require.Equal(t, refund.StatusUnknown, f.status)
			require.Equal(t, []refund.Code{refund.CodeSettlementRefused, ""}, f.answers())
			require.Len(t, f.world.submits, 1)
			require.Empty(t, f.world.closes)
			require.Empty(t, f.world.lookups)
		})
	}
}
