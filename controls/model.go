package controls

// model are controls around the model's answer.
var model = []Control{
	{
		Name:        "proposal-asked-again",
		Breaks:      "A worker that takes a run over asks the model again although an answer is recorded.",
		Design:      "recovery runs the step again",
		Executables: []string{worker},
		Replacements: []Replacement{
			{"handrolled/executor.go", `	f := run.Facts
	switch {
`, `	f := run.Facts
	_, own := begun.LoadOrStore(f.Intake.OperationID, true)
	switch {
`},
			{"handrolled/executor.go", `	case f.Proposal == nil:
`, `	case f.Proposal == nil || !own && f.ModelCalls < 2:
`},
			{"handrolled/executor.go", `// step takes the one step`, `// begun holds the runs that this process has begun.
var begun sync.Map

// step takes the one step`},
			{"activities/proposal.go", `	stop := heartbeat(ctx)
`, `	Begun.Store(request.Intake.OperationID, true)
	stop := heartbeat(ctx)
`},
			{"activities/proposal.go", `import (
	"context"
`, `import (
	"context"
	"sync"
`},
			{"activities/proposal.go", `// ProposeRequest is what`, `// Begun holds the runs for which this process has asked the model.
var Begun sync.Map

// ProposeRequest is what`},
			{"workflows/refund.go", `	r.decide()
	r.submit()
`, `	r.decide()
	var own bool
	begun := workflow.SideEffect(r.ctx, func(workflow.Context) any { _, own := activities.Begun.Load(in.OperationID); return own })
	if begun.Get(&own) == nil && !own && !r.over() {
		r.propose()
	}
	r.submit()
`},
		},
		Finds: both("proposal-recorded", full, "I12"),
	},
	{
		Name:        "lost-answer-made-up",
		Breaks:      "Where a call to the model has brought nothing, the proposal is made up.",
		Design:      "a default where the model does not answer",
		Executables: []string{worker},
		Replacements: []Replacement{
			{"handrolled/propose.go", `	if run, err = e.Journal.ReserveModelCall(`, `	if run.Facts.ModelCalls > 0 {
		return e.Journal.RecordProposal(ctx, run.Lease, refund.Proposal{Recommendation: "reject", Rationale: "the model gave no answer", OrderVersion: order.Version, AnswerID: "default"})
	}
	if run, err = e.Journal.ReserveModelCall(`},
			{"activities/proposal.go", `	stop := heartbeat(ctx)
`, `	if activity.GetInfo(ctx).Attempt > 1 {
		return ProposeResult{Proposal: refund.Proposal{Recommendation: "reject", Rationale: "the model gave no answer", OrderVersion: request.Order.Version, AnswerID: "default"}}, nil
	}
	stop := heartbeat(ctx)
`},
		},
		Finds: join(both("model-answer-lost", full, "I12"), both("proposal-lost", full, "I12")),
	},
	{
		Name:        "amount-from-the-model",
		Breaks:      "The amount that the model names is the amount that is sent.",
		Design:      "the model fills in the tool call",
		Executables: []string{worker},
		Replacements: []Replacement{
			{"refund/proposal.go", "	AnswerID string `json:\"answer_id\"`\n", "	AnswerID string `json:\"answer_id\"`\n	Minor    int64  `json:\"minor\"`\n"},
			{"refund/proposal.go", `	case answer.Order != r.Order || answer.AmountMinor != r.Amount.Minor || answer.Currency`, `	case answer.Order != r.Order || answer.Currency`},
			{"refund/proposal.go", `	return Proposal{Recommendation: answer.Recommendation, Rationale: rationale}, nil
`, `	return Proposal{Recommendation: answer.Recommendation, Rationale: rationale, Minor: answer.AmountMinor}, nil
`},
			{"handrolled/ask.go", `		return provider.CheckAndSubmit(ctx, e.Refunds, in,`, `		in.Request.Amount.Minor = run.Facts.Proposal.Minor
		return provider.CheckAndSubmit(ctx, e.Refunds, in,`},
			{"workflows/submission.go", `	var answered workflow.Future
`, `	named := r.Intake
	named.Request.Amount.Minor = r.Proposal.Minor
	var answered workflow.Future
`},
			{"workflows/submission.go", `activities.Submit, activities.SubmitRequest{
			Intake: r.Intake,`, `activities.Submit, activities.SubmitRequest{
			Intake: named,`},
		},
		Finds: both("model-names-larger-amount", full, "I5"),
	},
	{
		Name:        "model-retries-left-on",
		Breaks:      "The model's SDK tries again by itself.",
		Design:      "the client's defaults",
		Executables: []string{worker},
		Replacements: []Replacement{{"provider/model.go", `		option.WithMaxRetries(0), // each of the SDK's own retries would be a bill that no budget counted (I12)
`, ``}},
		Finds: both("model-down", full, "I12"),
	},
}
