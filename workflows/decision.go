package workflows

import (
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"refundlab/activities"
	"refundlab/refund"
)

// answerDecisions gives every decision its verdict, in the order of the history, and records it in the same workflow task (I10).
// It never stops to wait between taking a decision and recording its verdict.
func (r *run) answerDecisions(ctx workflow.Context) {
	decisions := workflow.GetSignalChannel(ctx, DecisionSignal)
	for {
		r.await(ctx, func() bool { return len(r.door.arrivals) > 0 })
		// Raw, because the SDK drops what it cannot decode, and an unreadable decision is owed a verdict too.
		var raw converter.RawValue
		if !decisions.ReceiveAsync(&raw) {
			panic("the door counted a signal that its channel does not have") // nothing is lost: the task fails and is tried again
		}
		arrived := r.door.arrivals[0]
		r.door.arrivals = r.door.arrivals[1:]
		r.judge(ctx, raw, arrived)
	}
}

func (r *run) judge(ctx workflow.Context, raw converter.RawValue, arrived arrival) {
	decision, hash, err := readDecision(raw)
	if recorded, repeated := r.verdict(decision.DecisionID); repeated {
		// A verdict is final for its decision id. Other content under the same id changes nothing; its sender sees it by the hash.
		if recorded.Hash != hash {
			workflow.GetLogger(ctx).Warn("decision id stands for another decision", "decision", decision.DecisionID)
		}
		return
	}
	code, bench := refund.VerdictInvalid, r.bench(ctx, arrived)
	if err == nil {
		code = refund.Judge(decision, bench)
	}
	record := verdictRecord{RecordedVerdict: refund.RecordedVerdict{DecisionID: decision.DecisionID, Hash: hash, Code: code, At: now(ctx)}}
	if code == refund.VerdictAccepted || bench.Overdue && !arrived.overdue && r.wasApproved(ctx, decision, bench) {
		record.Accepted = &decision
	}
	r.record(ctx, memoVerdict, record)
	r.recordVerdict(record.RecordedVerdict, record.Accepted)
	workflow.GetLogger(ctx).Info("decision", "decision", decision.DecisionID, "verdict", code)
	r.show(ctx)
}

// bench is what the verdict is made from: the facts as they stood when the decision arrived.
func (r *run) bench(ctx workflow.Context, arrived arrival) refund.Bench {
	bench := refund.Bench{
		Intake:   r.Intake,
		Accepted: r.Decision,
		Overdue:  arrived.overdue,
		Expired:  r.Expired,
		// A late decision is told of the end that the run comes to, whatever came first of cancellation and deadline.
		Closed: r.State == refund.StateRejected || arrived.withdrawn && r.failsClosed() || arrived.overdue && r.withdrawn(),
	}
	// A reset puts the signals that it carries over in front of the deadline's timer, so there the history tells no order.
	if !bench.Overdue && !now(ctx).Before(r.Intake.DecideBy()) && r.currentRun() != r.firstRun {
		bench.Overdue = true
	}
	if arrived.proposed {
		var result activities.ProposeResult
		if err := r.door.proposal.Get(ctx, &result); err == nil { // ready: it does not wait
			bench.Proposal = &result.Proposal
		}
	}
	return bench
}

// wasApproved tells whether a decision that a reset carried over, and that is late here, may be the approval that the run before was
// given in time and sent by. The run then does not end EXPIRED over what that one did (I3), and sends nothing itself (I5).
func (r *run) wasApproved(ctx workflow.Context, decision refund.Decision, bench refund.Bench) bool {
	bench.Overdue = false
	if r.decidedBefore || refund.Judge(decision, bench) != refund.VerdictAccepted {
		return false
	}
	r.decidedBefore = true // by this one, or by none in time: those that follow it came later there as well
	return decision.Choice == refund.ChoiceApprove &&
		workflow.GetVersion(ctx, changeLateApproval, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// readDecision reads a signal's payload. A decision that cannot be read gets a name from its content, so that it has a verdict
// and the same message again has the same.
func readDecision(raw converter.RawValue) (decision refund.Decision, hash string, err error) {
	data := raw.Payload().GetData() // none where the signal came without a payload
	err = refund.DecodeStrict(data, &decision)
	if err == nil {
		var checked refund.Decision
		if checked, err = refund.NewDecision(decision); err == nil {
			return checked, checked.Hash(), nil
		}
	}
	hash = refund.ContentHash("unreadable", string(data))
	id, unnamed := refund.ParseIdentity("decision id", decision.DecisionID)
	if unnamed != nil {
		id = "unreadable-" + hash[:16]
	}
	return refund.Decision{DecisionID: id}, hash, err
}
