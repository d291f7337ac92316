package comparison

import (
	"slices"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/model"
	"refundlab/refund"
)

// looked tells by number of which submits the sender had read the order: between the intent and the submit, in the same process, and
// the answer came back. Each look serves one submit; the earliest that fits leaves the most to the others. A look names the order and
// no run, so that of another run of this order may be taken for it.
func (p *path) looked(records []model.Record) map[int64]bool {
	asked := p.run.facts.Intake.Request
	request := "GET /v1/orders/" + asked.Tenant + "/" + asked.Order
	looks := filter(p.trial.crossings(faults.OrderCall, faults.After, ""), func(c evidence.Crossing) bool {
		return c.Detail["request"] == request && c.Detail[faults.DetailStatus] == "200" && c.Reply != faults.Lose
	})
	looked := map[int64]bool{}
	for _, submit := range p.crossings {
		fence, owned := parseFence(submit.Fence)
		if !owned || submit.Point != (faults.Point{Boundary: faults.ProviderCall, When: faults.Before}) {
			continue
		}
		since := p.intendedAt(records, fence)
		fits := func(c evidence.Crossing) bool {
			return c.Process == submit.Process && since < c.Seq && c.Seq < submit.Seq
		}
		if i := slices.IndexFunc(looks, fits); i >= 0 {
			looked[submit.Seq] = true
			looks = slices.Delete(looks, i, i+1)
		}
	}
	return looked
}

// intendedAt is the crossing with which the intent of an owner began, 0 where it is not known.
func (p *path) intendedAt(records []model.Record, fence refund.Fence) int64 {
	for _, r := range records {
		if r.Kind == refund.FactIntent && r.Begun >= 0 && (r.Fence == fence || p.rounds && r.Fence.Term == fence.Term) {
			return p.crossings[r.Begun].Seq
		}
	}
	return 0
}
