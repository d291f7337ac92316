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
		Breaks:      "The workflow closes without answering the decisions that it has taken in.",
		Design:      "return when the work is done",
		Executables: []string{worker},
		Replacements: []Replacement{{"workflows/refund.go", `	r.await(r.ctx, r.door.idle)
	result := Result{`, `	result := Result{`}},
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
