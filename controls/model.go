package controls

// model are controls around the model's answer.
var model = []Control{
	{
		Name:        "proposal-asked-again",
		Breaks:      "A later owner asks the model again although an answer is recorded.",
		Design:      "recovery runs the step again",
		Executables: []string{worker},
		Replacements: []Replacement{
			{"handrolled/executor.go", `	case f.Proposal == nil:
`, `	case f.Proposal == nil || f.ModelCalls < 2:
`},
			{"workflows/refund.go", `	r.decide()
	r.submit()
`, `	r.decide()
	r.propose()
	r.submit()
`},
		},
		Finds: both("proposal-recorded", full, "I12"),
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
