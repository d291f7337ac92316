package workflows

import (
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"refundlab/refund"
)

// answerSettlements gives every settlement its answer and records it. One that may be taken waits until no attempt is open:
// the main line ends what it is asking, and what that attempt still learns comes first.
func (r *run) answerSettlements(ctx workflow.Context) {
	settlements := workflow.GetSignalChannel(ctx, SettlementSignal)
	for {
		r.await(ctx, func() bool { return r.door.settlements > 0 })
		var raw converter.RawValue
		if !settlements.ReceiveAsync(&raw) {
			panic("the door counted a signal that its channel does not have") // nothing is lost: the task fails and is tried again
		}
		r.settle(ctx, raw)
		r.door.settlements--
	}
}

func (r *run) settle(ctx workflow.Context, raw converter.RawValue) {
	settlement, hash, err := readSettlement(raw)
	if r.settlements[settlement.SettlementID] {
		return // answered: the record says how, and the sender sees by the hash whether it was this one
	}
	// A reset hands approval and settlement over in one task. That the run before may have sent is on record first: a close that was
	// accepted must not be refused now, and the operation sent (I4).
	if !r.accountable() && r.changed(changeSettledAfterReset) {
		r.await(ctx, r.accountable)
	}
	if err == nil {
		_, err = refund.CheckSettlement(settlement, r.Facts, r.profile, now(ctx))
	}
	if err == nil {
		r.interrupted = true
		r.await(ctx, func() bool { return !r.asking })
		r.interrupted = false
		_, err = refund.CheckSettlement(settlement, r.Facts, r.profile, now(ctx))
	}
	record := settlementRecord{Settlement: settlement, Hash: hash, At: now(ctx)}
	if err != nil {
		record.Refused, record.Detail = refund.CodeOf(err), err.Error()
	} else {
		r.recordSettlement(settlement)
	}
	r.record(ctx, memoSettlement, record)
	r.settlements[settlement.SettlementID] = true
	workflow.GetLogger(ctx).Info("settlement", "settlement", settlement.SettlementID, "refused", record.Refused)
	r.show(ctx)
}

// accountable tells whether what is on record is all that this task knows of the operation.
func (r *run) accountable() bool {
	return len(r.door.arrivals) == 0 && (r.Decision == nil || r.over() || r.submitting)
}

// maxSettlement is far more than a settlement with a receipt needs, in bytes, and far less than a record may have.
const maxSettlement = 16 << 10

// readSettlement reads a signal's payload. Of one that cannot be taken only its name and hash are kept: the rest may be larger
// than any record, and a run that cannot write its record stands still.
func readSettlement(raw converter.RawValue) (settlement refund.Settlement, hash string, err error) {
	data := raw.Payload().GetData() // none where the signal came without a payload
	if len(data) > maxSettlement {
		err = refund.Errorf(refund.CodeInvalidBody, "settlement is %d bytes long: the limit is %d", len(data), maxSettlement)
	} else if err = refund.DecodeStrict(data, &settlement); err == nil {
		var checked refund.Settlement
		if checked, err = refund.NewSettlement(settlement); err == nil {
			return checked, settlementHash(checked), nil
		}
	}
	hash = refund.ContentHash("unreadable", string(data))
	id, unnamed := refund.ParseIdentity("settlement id", settlement.SettlementID)
	if unnamed != nil {
		id = "unreadable-" + hash[:16]
	}
	return refund.Settlement{SettlementID: id}, hash, err
}
