package controls

// decisions are controls of approvals, deadlines and their verdicts.
var decisions = []Control{
	{
		Name:        "decision-after-deadline",
		Breaks:      "A decision that arrives after the deadline is accepted.",
		Design:      "the deadline is a hint for the person",
		Executables: []string{worker, starter},
		Replacements: []Replacement{{"refund/decision.go", `	case b.Overdue:
		return VerdictExpired
`, ``}},
		Finds: both("l06-8c-late-worker-dead", full, "I5"),
	},
	{
		Name:        "selector-for-the-deadline",
		Breaks:      "Decision and deadline are waited for side by side and whichever is looked at first counts, not whichever came first.",
		Design:      "a selector over a signal channel and a timer",
		Executables: []string{worker},
		Replacements: []Replacement{{"workflows/door.go", `			overdue:   ready(k.door.deadline),
`, `			overdue:   false,
`}},
		Finds: on(temporal, "l06-8c-late-worker-dead", full, "I5"),
	},
	{
		Name:        "signals-not-drained",
		Breaks:      "Decisions are read until one is accepted, and the workflow closes without answering those that came later.",
		Design:      "receive the signal, do the work, return",
		Layers:      "A coroutine that answers every decision runs once more in the task that closes the run, before the close is sent.",
		Executables: []string{worker},
		Replacements: []Replacement{
			{"workflows/decision.go", `	for {
		r.await(ctx, func() bool { return len(r.door.arrivals) > 0 })
`, `	for r.Decision == nil {
		r.await(ctx, func() bool { return len(r.door.arrivals) > 0 })
`},
			{"workflows/refund.go", `	r.await(r.ctx, r.door.idle)
	result := Result{`, `	result := Result{`},
		},
		Finds: on(temporal, "decision-while-closing", full, "I10"),
	},
	{
		Name:        "decision-overwritten",
		Breaks:      "A later decision is accepted although one was accepted before.",
		Design:      "the last word counts",
		Layers:      "The journal's unique index over accepted decisions would refuse the second one.",
		Executables: []string{worker, starter},
		Replacements: []Replacement{
			{"refund/decision.go", `	case b.Accepted != nil:
		return VerdictAlreadyDecided
`, ``},
			{"handrolled/schema.sql", `CREATE UNIQUE INDEX one_decision_wins`, `CREATE INDEX one_decision_wins`},
		},
		Finds: both("l06-4b-second-approval", full, "I10"),
	},
	{
		Name:        "requester-approves",
		Breaks:      "Who asked for the refund may approve it.",
		Design:      "one person has both rights",
		Executables: []string{worker, starter},
		Replacements: []Replacement{{"refund/decision.go", `	case d.Choice == ChoiceApprove && d.Approver == b.Intake.Request.Requester:
		return VerdictSelfApproval
`, ``}},
		Finds: both("requester-approves", full, "I5"),
	},
}
