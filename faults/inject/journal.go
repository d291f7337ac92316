package inject

import (
	"context"
	"fmt"
	"time"

	"refundlab/faults"
	"refundlab/handrolled"
	"refundlab/refund"
)

// Journal announces the transactions of the journal by business step. Reading and giving a lease back are no boundaries.
func Journal(inner handrolled.Journal, announcer *faults.Announcer) handrolled.Journal {
	if announcer == nil {
		return inner
	}
	return &journal{Journal: inner, gate: gate{announcer}}
}

type journal struct {
	handrolled.Journal
	gate gate
}

// transact announces both sides of one transaction. A lost answer is what a failed COMMIT looks like: an error although the
// fact is on disk.
func transact[T any](ctx context.Context, g gate, b faults.Boundary, a faults.Announcement, commit func(context.Context) (T, error)) (T, error) {
	var none T
	reply := g.before(ctx, b, a)
	if reply.Action == faults.Refuse || reply.Action == faults.Drop {
		return none, refund.Errorf(refund.CodeUnavailable, "the store could not be reached")
	}
	sending, cancel := sendContext(ctx, reply)
	defer cancel()
	if reply.Action == faults.Duplicate {
		_, _ = commit(sending)
	}
	result, err := commit(sending)
	if err != nil {
		a = with(a, faults.DetailRefused, err.Error())
	}
	if g.after(ctx, b, a).Action == faults.Lose {
		return none, refund.Errorf(refund.CodeUnavailable, "the answer to the commit was lost")
	}
	return result, err
}

// owned is the announcement of an owner's write.
func owned(lease handrolled.Lease) faults.Announcement {
	fence := lease.Fence()
	return faults.Announcement{Operation: string(lease.OperationID), Fence: fmt.Sprintf("%d.%d", fence.Term, fence.Seq)}
}

func (j *journal) owner(ctx context.Context, b faults.Boundary, lease handrolled.Lease, commit func(context.Context) (handrolled.Run, error)) (handrolled.Run, error) {
	return transact(ctx, j.gate, b, owned(lease), commit)
}

type admitted struct {
	run      handrolled.Run
	existing bool
}

func (j *journal) Admit(ctx context.Context, request refund.Request, terms refund.Terms, party string) (handrolled.Run, bool, error) {
	id := refund.NewOperationID(request.Tenant, refund.Kind, request.RequestID)
	got, err := transact(ctx, j.gate, faults.Intake, faults.Announcement{Operation: string(id)}, func(ctx context.Context) (admitted, error) {
		run, existing, err := j.Journal.Admit(ctx, request, terms, party)
		return admitted{run, existing}, err
	})
	return got.run, got.existing, err
}

func (j *journal) Decide(ctx context.Context, decision refund.Decision, party string) (refund.RecordedVerdict, error) {
	announcement := faults.Announcement{Operation: string(decision.OperationID), Detail: map[string]string{"decision": decision.DecisionID}}
	return transact(ctx, j.gate, faults.Decision, announcement, func(ctx context.Context) (refund.RecordedVerdict, error) {
		return j.Journal.Decide(ctx, decision, party)
	})
}

// Claim is announced without an operation before, because only the claim itself finds out which run is due, and after only
// where one was.
func (j *journal) Claim(ctx context.Context, owner string, length time.Duration) (handrolled.Run, bool, error) {
	j.gate.before(ctx, faults.Claim, faults.Announcement{})
	run, found, err := j.Journal.Claim(ctx, owner, length)
	if found {
		j.gate.after(ctx, faults.Claim, owned(run.Lease))
	}
	return run, found, err
}

func (j *journal) Renew(ctx context.Context, lease handrolled.Lease, length time.Duration) (handrolled.Lease, error) {
	return transact(ctx, j.gate, faults.Renewal, owned(lease), func(ctx context.Context) (handrolled.Lease, error) {
		return j.Journal.Renew(ctx, lease, length)
	})
}

func (j *journal) ReserveModelCall(ctx context.Context, lease handrolled.Lease) (handrolled.Run, error) {
	return j.owner(ctx, faults.ModelBudget, lease, func(ctx context.Context) (handrolled.Run, error) {
		return j.Journal.ReserveModelCall(ctx, lease)
	})
}

func (j *journal) RecordProposal(ctx context.Context, lease handrolled.Lease, proposal refund.Proposal) (handrolled.Run, error) {
	return j.owner(ctx, faults.Proposal, lease, func(ctx context.Context) (handrolled.Run, error) {
		return j.Journal.RecordProposal(ctx, lease, proposal)
	})
}

func (j *journal) RecordNoProposal(ctx context.Context, lease handrolled.Lease, cause error) (handrolled.Run, error) {
	return j.owner(ctx, faults.Observed, lease, func(ctx context.Context) (handrolled.Run, error) {
		return j.Journal.RecordNoProposal(ctx, lease, cause)
	})
}

// Expire is the end of a run like any other outcome.
func (j *journal) Expire(ctx context.Context, lease handrolled.Lease) (handrolled.Run, error) {
	return j.owner(ctx, faults.Outcome, lease, func(ctx context.Context) (handrolled.Run, error) {
		return j.Journal.Expire(ctx, lease)
	})
}

func (j *journal) RecordIntent(ctx context.Context, lease handrolled.Lease, action refund.Action) (handrolled.Run, error) {
	return j.owner(ctx, faults.Intent, lease, func(ctx context.Context) (handrolled.Run, error) {
		return j.Journal.RecordIntent(ctx, lease, action)
	})
}

func (j *journal) RecordObservation(ctx context.Context, lease handrolled.Lease, observed handrolled.Observed) (handrolled.Run, error) {
	return j.owner(ctx, faults.Observed, lease, func(ctx context.Context) (handrolled.Run, error) {
		return j.Journal.RecordObservation(ctx, lease, observed)
	})
}

func (j *journal) RecordOutcome(ctx context.Context, lease handrolled.Lease, outcome handrolled.Outcome) (handrolled.Run, error) {
	return j.owner(ctx, faults.Outcome, lease, func(ctx context.Context) (handrolled.Run, error) {
		commitsCount.Store(true)
		return j.Journal.RecordOutcome(ctx, lease, outcome)
	})
}

// SubmitLocally is the provider's commit and the engine's outcome in one transaction. Its two sides lie around that; inside it
// is its own commit.
func (j *journal) SubmitLocally(ctx context.Context, lease handrolled.Lease) (handrolled.Run, error) {
	return j.owner(ctx, faults.ProviderCommit, lease, func(ctx context.Context) (handrolled.Run, error) {
		commitsCount.Store(true)
		return j.Journal.SubmitLocally(ctx, lease)
	})
}

func (j *journal) MarkDelivered(ctx context.Context, notice refund.Notice, party string) error {
	_, err := transact(ctx, j.gate, faults.Notified, faults.Announcement{Operation: string(notice.OperationID)}, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, j.Journal.MarkDelivered(ctx, notice, party)
	})
	return err
}
