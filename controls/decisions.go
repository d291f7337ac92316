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
		Replacements: []Replacement{{"workflows/refund.go", `		return len(r.door.arrivals) == 0 && (happened() || ready(r.door.deadline) || r.caller.Err() != nil)
`, `		return happened() || ready(r.door.deadline) || r.caller.Err() != nil
`}},
		Finds: on(temporal, "l06-8b-in-time-worker-dead", full, "END"),
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
	{
		Name:        "deadline-before-decision",
		Breaks:      "Whoever takes a run up when the time to decide is over lets it expire, though a decision came in time.",
		Design:      "the worker looks at its clock",
		Layers:      "The transaction of the journal that lets a run expire looks for a decision as well.",
		Executables: []string{worker},
		Replacements: []Replacement{
			{"workflows/decision.go", `		arrived := r.door.arrivals[0]
`, `		arrived := r.door.arrivals[0]
		arrived.overdue = arrived.overdue || !now(ctx).Before(r.Intake.DecideBy())
`},
			{"handrolled/executor.go", `	case f.Decision == nil && !run.At.Before(f.Intake.DecideBy()):
`, `	case f.State == refund.StatePrepared && !run.At.Before(f.Intake.DecideBy()):
`},
			{"handrolled/decide.go", `		if f.Decision != nil || f.State != refund.StatePrepared || tx.now.Before(f.Intake.DecideBy()) {
`, `		if f.State != refund.StatePrepared || tx.now.Before(f.Intake.DecideBy()) {
`},
		},
		Finds: join(both("l06-8b-in-time-worker-dead", full, "END"), both("l06-8f-decided-then-worker-dead", full, "END")),
	},
	{
		Name:        "deadline-at-a-decision-only",
		Breaks:      "The time to decide is looked at when a decision comes, and at no other time.",
		Design:      "a deadline is a rule about messages, and needs no timer",
		Layers:      "On the journal the transaction of a late decision writes the expiry itself.",
		Executables: []string{worker, starter},
		Replacements: []Replacement{
			{"workflows/refund.go", `(happened() || ready(r.door.deadline) || r.caller.Err() != nil)`, `(happened() || r.caller.Err() != nil)`},
			{"handrolled/record.go", `"proposal = ?, due_at = ?, asks = 0, lease_until = ?", body, run.Facts.Intake.DecideBy(), tx.now)`, `"proposal = ?, due_at = NULL, asks = 0, lease_until = ?", body, tx.now)`},
			{"handrolled/decide.go", `			return tx.expire(run, party)
`, `			return nil
`},
		},
		Finds: join(both("l06-8h-nobody-decides", full, "I11"), both("l06-8a-decision-after-deadline", full, "I11")),
	},
	{
		Name:        "approval-never-lapses",
		Breaks:      "The engine does not look at the time to commit.",
		Design:      "an approved run is approved",
		Layers:      "The rule looks at it before each step, and the step that sends right before it sends.",
		Executables: []string{worker},
		Replacements: []Replacement{
			{"handrolled/ask.go", `f.Lapsed == "" && run.At.Before(f.Intake.CommitBy())`, `f.Lapsed == ""`},
			{"workflows/account.go", `a.last.Refusal == "" && now.Before(a.Intake.CommitBy())`, `a.last.Refusal == ""`},
			{"provider/contract.go", `	if !now().Before(in.CommitBy()) {
`, `	if now() == 0 {
`},
		},
		Finds: both("l06-8d-submission-after-deadline", opaque, "I5"),
	},
	{
		Name:        "decision-not-recognised",
		Breaks:      "A decision that comes again under its id is judged again.",
		Design:      "every message is a new one",
		Layers:      "The client reads the record before it sends, the workflow before it judges, the journal's primary key takes an id once; and what the SDK sends again bears the id of the message by which the server recognises it.",
		Executables: []string{worker, starter},
		Replacements: []Replacement{
			{"handrolled/decide.go", `			if recorded.DecisionID == d.DecisionID {
`, `			if recorded.DecisionID == "" {
`},
			{"handrolled/schema.sql", `	PRIMARY KEY (operation_id, decision_id) -- I10: one verdict for each decision id
`, `	CHECK (decision_id <> '')
`},
			{"workflows/decision.go", `repeated := r.verdict(decision.DecisionID); repeated {`, `repeated := r.verdict(decision.DecisionID); repeated && err != nil {`},
			{"workflows/client_decide.go", `	if recorded, found := f.verdict(decision.DecisionID); found {
		return refund.Repeat(decision, recorded)
	}
	err = c.temporal.SignalWorkflow(`, `	err = c.temporal.SignalWorkflow(`},
			{"workflows/client_decide.go", `	if recorded, found := f.verdict(d.DecisionID); found {
		return refund.Repeat(d, recorded)
	}
	code := refund.Judge(`, `	code := refund.Judge(`},
			{"workflows/dial.go", `	options.ConnectionOptions.DialOptions = slices.Concat([]grpc.DialOption{reconnect}, `, `	anew := grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		if signal, ok := request.(*workflowservice.SignalWorkflowExecutionRequest); ok {
			signal.RequestId = uuid.NewString()
		}
		return invoke(ctx, method, request, reply, conn, options...)
	})
	options.ConnectionOptions.DialOptions = slices.Concat([]grpc.DialOption{reconnect, anew}, `},
			{"workflows/dial.go", `	"go.temporal.io/api/serviceerror"
`, `	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
`},
		},
		Finds: join(both("caller-dies-before-reply", full, "I10"), on(temporal, "server-answers-lost", full, "I10")),
	},
	{
		Name:        "signal-sent-once",
		Breaks:      "A signal is sent once, and a decision counts as stored whatever came back.",
		Design:      "a signal is fire and forget",
		Layers:      "The SDK sends a signal again whose answer does not come.",
		Executables: []string{starter},
		Replacements: []Replacement{
			{"workflows/dial.go", `	options.ConnectionOptions.DialOptions = slices.Concat([]grpc.DialOption{reconnect}, `, `	once := grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		err := invoke(ctx, method, request, reply, conn, options...)
		if _, ok := request.(*workflowservice.SignalWorkflowExecutionRequest); ok && status.Code(err) == codes.Unavailable {
			return status.Error(codes.DataLoss, err.Error()) // which the SDK does not try again
		}
		return err
	})
	options.ConnectionOptions.DialOptions = slices.Concat([]grpc.DialOption{reconnect, once}, `},
			{"workflows/dial.go", `	"go.temporal.io/api/serviceerror"
`, `	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
`},
			{"workflows/client_decide.go", `		return refund.RecordedVerdict{}, unavailable(err, "whether the decision is stored is not known: ask again with decision id "+decision.DecisionID)
`, `		return refund.RecordedVerdict{}, refund.Wrap(refund.CodeVerdictPending, err, "decision %q is on its way", decision.DecisionID)
`},
		},
		Finds: on(temporal, "server-messages-lost", full, "I10"),
	},
	{
		Name:        "cancellation-ignored",
		Breaks:      "A run that is cancelled before anybody has decided goes on.",
		Design:      "the workflow does not look at its context",
		Layers:      "The decision that comes afterwards is judged by the cancellation as well.",
		Executables: []string{worker},
		Replacements: []Replacement{
			{"workflows/refund.go", `(happened() || ready(r.door.deadline) || r.caller.Err() != nil)`, `(happened() || ready(r.door.deadline))`},
			{"workflows/door.go", `k.door.caller != nil && k.door.caller.Err() != nil,`, `false,`},
		},
		Finds: on(temporal, "cancel-before-approval", full, "END"),
	},
	{
		Name:        "cancelled-context-kept",
		Breaks:      "The work that a cancelled run has left is done under its cancelled context.",
		Design:      "one context for the whole workflow",
		Executables: []string{worker},
		Replacements: []Replacement{{"workflows/refund.go", `	r.ctx, _ = workflow.NewDisconnectedContext(ctx)
`, `	r.ctx = ctx
`}},
		Finds: on(temporal, "cancel-on-its-way", full, "I11"),
	},
	{
		Name:        "cancelled-on-its-way",
		Breaks:      "A cancellation ends the run although its refund is on its way.",
		Design:      "cancelled is cancelled",
		Executables: []string{worker},
		Replacements: []Replacement{
			{"workflows/submission.go", `	r.await(r.ctx, func() bool { return answered.IsReady() || r.interrupted })
`, `	r.await(r.ctx, func() bool { return answered.IsReady() || r.interrupted || r.caller.Err() != nil })
	if !answered.IsReady() && r.caller.Err() != nil {
		r.end(ending{Rejected: refund.CodeCancelled})
		return
	}
`},
		},
		Finds: on(temporal, "cancel-on-its-way", full, "I3"),
	},
}
