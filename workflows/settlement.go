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
		settlements.ReceiveAsync(&raw)
		r.settle(ctx, raw)
		r.door.settlements--
	}
}

func (r *run) settle(ctx workflow.Context, raw converter.RawValue) {
	settlement, err := readSettlement(raw)
	hash := settlementHash(settlement)
	if r.settlements[settlement.SettlementID] {
		return // answered: the record says how, and the sender sees by the hash whether it was this one
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
		r.settled(settlement)
	}
	r.record(ctx, memoSettlement, record)
	r.settlements[settlement.SettlementID] = true
	workflow.GetLogger(ctx).Info("settlement", "settlement", settlement.SettlementID, "refused", record.Refused)
	r.show(ctx)
}

func readSettlement(raw converter.RawValue) (refund.Settlement, error) {
	data := raw.Payload().GetData()
	var settlement refund.Settlement
	if err := refund.DecodeStrict(data, &settlement); err != nil {
		return refund.Settlement{SettlementID: "unreadable-" + refund.ContentHash("unreadable", string(data))[:16]}, err
	}
	checked, err := refund.NewSettlement(settlement)
	if err != nil {
		return settlement, err
	}
	return checked, nil
}
