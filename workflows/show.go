package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"refundlab/refund"
)

var (
	statusAttribute   = temporal.NewSearchAttributeKeyKeyword("RefundStatus")
	deadlineAttribute = temporal.NewSearchAttributeKeyTime("RefundDeadline")
)

// SearchAttributes lists the search attributes that the namespace must have, name to type as the server's
// --search-attribute flag takes them. They are for Temporal's UI and for narrowing a list; what a run's state is, its history
// says. None of them holds a person's name or an amount.
func SearchAttributes() map[string]string {
	return map[string]string{statusAttribute.GetName(): "Keyword", deadlineAttribute.GetName(): "Datetime"}
}

// describe sets what does not change.
func (r *run) describe() {
	r.upsert(deadlineAttribute.ValueSet(r.Intake.DecideBy().Time()))
	r.show(r.ctx)
}

// show brings Temporal's UI up to date with the run's status.
func (r *run) show(ctx workflow.Context) {
	view, err := refund.NewView(engineName, r.Facts, refund.Fence{Term: r.round}, now(ctx))
	if err != nil {
		panic(err) // the profile was looked at when the run began
	}
	workflow.SetCurrentDetails(r.ctx, "**"+string(view.Status)+"** "+string(view.Reason)+"\n\nNext: "+view.May.Next)
	if view.Status != r.shown {
		r.shown = view.Status
		r.upsert(statusAttribute.ValueSet(string(view.Status)))
	}
}

func (r *run) upsert(update temporal.SearchAttributeUpdate) {
	if err := workflow.UpsertTypedSearchAttributes(r.ctx, update); err != nil {
		panic(err)
	}
}

// record writes one record to the history. When it cannot, the workflow task fails and is tried again: a verdict is never
// lost silently.
func (r *run) record(ctx workflow.Context, field string, value any) {
	if err := workflow.UpsertMemo(ctx, map[string]any{field: value}); err != nil {
		panic(err)
	}
}
