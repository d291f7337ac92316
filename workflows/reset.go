package workflows

import (
	"go.temporal.io/sdk/workflow"
)

// changeFailsClosed marks the runs that look whether they were reset, and judge a decision by a cancellation that came before
// it. A history without the mark is replayed as it was made.
const changeFailsClosed = "fails-closed-after-reset-and-cancellation"

// changeLateApproval marks the runs that do not end EXPIRED over an approval that a reset carried over late.
const changeLateApproval = "late-approval-carried-over-may-have-sent"

// changeUndecided marks the runs that end, without a decision, by their cancellation though the deadline's timer has fired too, and by
// the deadline though an older server calls the activity that ran into it a failure.
const changeUndecided = "end-without-a-decision"

// changeSettledAfterReset marks the runs that judge a settlement which a reset carried over by what the run before may have sent.
const changeSettledAfterReset = "settlement-carried-over-is-judged-as-sent"

func (r *run) failsClosed() bool { return r.changed(changeFailsClosed) }

func (r *run) endsUndecided() bool { return r.changed(changeUndecided) }

func (r *run) changed(id string) bool {
	return workflow.GetVersion(r.ctx, id, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// currentRun is the id of the run that executes this code. A reset makes a new run that replays the old one's history up to the
// point of the reset, so the id is recorded, and again where it has changed.
func (r *run) currentRun() (id string) {
	if !r.failsClosed() {
		return r.firstRun
	}
	recorded := workflow.MutableSideEffect(r.ctx, "run", func(ctx workflow.Context) any {
		info := workflow.GetInfo(ctx)
		if info.OriginalRunID == "" { // in the SDK's test environment
			return r.firstRun
		}
		return info.WorkflowExecution.RunID
	}, func(a, b any) bool { return a == b })
	if err := recorded.Get(&id); err != nil {
		panic(err)
	}
	return id
}

// noticeReset comes before each round: a reset after the approval, to whatever point, must not be taken for a run that never
// sent anything (I1, I3).
func (r *run) noticeReset() {
	current := r.currentRun()
	if current == r.lastRun {
		return
	}
	r.lastRun = current
	r.record(r.ctx, memoReset, current)
	r.recordReset()
	r.show(r.ctx)
}
