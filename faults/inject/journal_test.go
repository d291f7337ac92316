package inject

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/faults"
	"refundlab/handrolled"
	"refundlab/refund"
)

// ledger is a journal of which only these steps exist: it counts commits, or refuses them.
type ledger struct {
	handrolled.Journal
	commits chan struct{}
	err     error
}

func (l *ledger) RecordOutcome(ctx context.Context, lease handrolled.Lease, _ handrolled.Outcome) (handrolled.Run, error) {
	if err := ctx.Err(); err != nil {
		return handrolled.Run{}, err
	}
	l.commits <- struct{}{}
	return handrolled.Run{Lease: lease}, l.err
}

func (l *ledger) Claim(context.Context, string, time.Duration) (handrolled.Run, bool, error) {
	return handrolled.Run{Lease: handrolled.Lease{OperationID: "op-1", Generation: 5}}, true, nil
}

type recorded struct {
	run handrolled.Run
	err error
}

func record(ctx context.Context, l *ledger, announcer *faults.Announcer) <-chan recorded {
	done := make(chan recorded, 1)
	go func() {
		run, err := Journal(l, announcer).RecordOutcome(ctx, handrolled.Lease{OperationID: "op-1", Generation: 4}, handrolled.Outcome{})
		done <- recorded{run, err}
	}()
	return done
}

func newLedger(err error) *ledger { return &ledger{commits: make(chan struct{}, 4), err: err} }

func TestJournalWithoutHarnessIsTheOneItWasGiven(t *testing.T) {
	l := newLedger(nil)
	require.Same(t, l, Journal(l, nil))
}

func TestCommitIsAnnouncedOnBothSidesWithItsOwner(t *testing.T) {
	stage, announcer := newStage(t)
	l := newLedger(nil)
	done := record(t.Context(), l, announcer)
	before := stage.next("outcome.before")
	require.Equal(t, "op-1", before.Operation)
	require.Equal(t, "4.0", before.Fence)
	require.Empty(t, l.commits, "nothing is written while the process stands before")
	before.answer <- faults.Reply{Action: faults.Continue}
	after := stage.next("outcome.after")
	require.Len(t, l.commits, 1)
	after.answer <- faults.Reply{Action: faults.Continue}
	require.Equal(t, recorded{handrolled.Run{Lease: handrolled.Lease{OperationID: "op-1", Generation: 4}}, nil}, receive(t, done))
}

func TestLostAnswerToACommitIsAnErrorAlthoughTheFactStands(t *testing.T) {
	stage, announcer := newStage(t)
	l := newLedger(nil)
	done := record(t.Context(), l, announcer)
	stage.answer("outcome.before", faults.Continue)
	stage.answer("outcome.after", faults.Lose)
	require.Equal(t, refund.CodeUnavailable, refund.CodeOf(receive(t, done).err))
	require.Len(t, l.commits, 1)
}

func TestRefusedCommitWritesNothing(t *testing.T) {
	stage, announcer := newStage(t)
	l := newLedger(nil)
	done := record(t.Context(), l, announcer)
	stage.answer("outcome.before", faults.Refuse)
	require.Equal(t, refund.CodeUnavailable, refund.CodeOf(receive(t, done).err))
	require.Empty(t, l.commits)
}

func TestWriteThatTheJournalRefusedSaysSo(t *testing.T) {
	stage, announcer := newStage(t)
	done := record(t.Context(), newLedger(refund.Errorf(refund.CodeLeaseLost, "generation 5 owns it")), announcer)
	stage.answer("outcome.before", faults.Continue)
	require.Contains(t, stage.answer("outcome.after", faults.Continue).Detail[faults.DetailRefused], "generation 5")
	require.Equal(t, refund.CodeLeaseLost, refund.CodeOf(receive(t, done).err))
}

func TestHeldCommitIsMadeAfterItsTimeIsOver(t *testing.T) {
	stage, announcer := newStage(t)
	l := newLedger(nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := record(ctx, l, announcer)
	held := stage.next("outcome.before")
	cancel()
	held.answer <- faults.Reply{Action: faults.Continue, Held: true}
	stage.answer("outcome.after", faults.Continue)
	require.NoError(t, receive(t, done).err)
	require.Len(t, l.commits, 1)
}

func TestClaimIsNamedOnceItIsKnown(t *testing.T) {
	stage, announcer := newStage(t)
	done := make(chan error, 1)
	go func() {
		_, _, err := Journal(newLedger(nil), announcer).Claim(t.Context(), "a", time.Second)
		done <- err
	}()
	require.Empty(t, stage.answer("claim.before", faults.Continue).Operation)
	after := stage.answer("claim.after", faults.Continue)
	require.Equal(t, "op-1", after.Operation)
	require.Equal(t, "5.0", after.Fence)
	require.NoError(t, receive(t, done))
}
