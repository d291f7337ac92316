package controls

// knowledge are controls of what a run may say about an effect.
var knowledge = []Control{
	{
		Name:        "done-before-effect",
		Breaks:      "What was once taken in hand counts as done: a later owner records success without asking.",
		Design:      "\"processed\" is written first and the money moves afterwards",
		Executables: []string{worker},
		Replacements: []Replacement{
			{"handrolled/ask.go", `	action := refund.Next(situation)
	switch action {
`, `	action := refund.Next(situation)
	if situation.Sent {
		return e.Journal.RecordOutcome(ctx, run.Lease, Outcome{Event: refund.EventReceipt, Receipt: &refund.Receipt{
			RefundID: "re-assumed", OperationID: f.Intake.OperationID, Digest: f.Intake.Digest, Order: f.Intake.Request.Order,
			Amount: f.Intake.Request.Amount, At: run.At,
		}})
	}
	switch action {
`},
			{"activities/submission.go", `	if handedOn && !profile.Idempotent {
`, `	if sent {
		return SubmitResult{Answer: provider.Answer{Observation: refund.ObservedReceipt, Receipt: &refund.Receipt{
			RefundID: "re-assumed", OperationID: in.OperationID, Digest: in.Digest, Order: in.Request.Order,
			Amount: in.Request.Amount, At: a.Now(),
		}}, Sent: true}, nil
	}
	if handedOn && !profile.Idempotent {
`},
		},
		Finds: both("window-2-before-execute", full, "I2"),
	},
	{
		Name:        "timeout-is-failure",
		Breaks:      "A call without an answer is recorded as refused.",
		Design:      "an error of the HTTP client is a failed refund",
		Executables: []string{worker},
		Replacements: []Replacement{{"provider/client.go", `	if err != nil {
		return Answer{Observation: refund.ObservedAmbiguous, Detail: err.Error()}
	}
`, `	if err != nil {
		return Answer{Observation: refund.ObservedRefusal, Refusal: refund.CodeUnavailable, Detail: err.Error()}
	}
`}},
		Finds: both("l06-2-answer-lost-after-commit", full, "I3"),
	},
	{
		Name:        "not-found-is-absence",
		Breaks:      "\"Not found\" is taken for \"nothing was ever sent\", and the refund is sent again.",
		Design:      "look it up, and send it if it is not there",
		Executables: []string{worker},
		Replacements: []Replacement{
			{"refund/observation.go", `	sent := s.Sent || s.Observation == ObservedAmbiguous || s.Observation == ObservedStaleFence
`, `	sent := (s.Sent || s.Observation == ObservedAmbiguous || s.Observation == ObservedStaleFence) && s.Observation != ObservedNotFound
`},
			{"activities/submission.go", `	if answer.Observation == refund.ObservedNotFound || answer.Observation == refund.ObservedAmbiguous {
`, `	if answer.Observation == refund.ObservedAmbiguous {
`},
			{"handrolled/record.go", `	switch o.Answer.Observation {
	case refund.ObservedUnsent:
`, `	switch o.Answer.Observation {
	case refund.ObservedNotFound:
		firstSent = 0
	case refund.ObservedUnsent:
`},
		},
		Finds: join(both("stale-not-found", stale, "I1"), both("l06-6-old-worker-late", lookup, "I1")),
	},
	{
		Name:        "everything-is-unknown",
		Breaks:      "Once something may have been sent, the run is UNKNOWN whatever can still be asked.",
		Design:      "never say anything that could be wrong",
		Executables: []string{worker, starter},
		Replacements: []Replacement{{"refund/observation.go", `	if s.Profile.Idempotent && s.Authorised && (!s.Profile.Expires || s.Retained) {
		return ActSend
	}
	if s.Profile.Close {
		return ActClose
	}
	if s.Profile.Lookup != LookupNone {
		return ActLookUp
	}
	return ActHold
`, `	return ActHold
`}},
		Finds: join(on(handrolled, "l06-2-answer-lost-after-commit", full, "I4"), both("cut-after-commit", lookup, "I4")),
	},
	{
		Name:        "intent-after-the-call",
		Breaks:      "The intent to send is recorded when the answer is there.",
		Design:      "record what was done once it was done",
		Executables: []string{worker},
		Replacements: []Replacement{
			{"handrolled/ask.go", `	if action != refund.ActLookUp { // a look-up`, `	if action == "" { // a look-up`},
			{"handrolled/ask.go", `	learnt, err := e.kept(`, `	if action != refund.ActLookUp {
		if run, err = e.Journal.RecordIntent(ctx, run.Lease, action); err != nil {
			return run, err
		}
	}
	learnt, err := e.kept(`},
		},
		Finds: on(handrolled, "window-3-after-effect", lookup, "I1"),
	},
	{
		Name:        "outcome-and-notice-apart",
		Breaks:      "That somebody must be told is written after the outcome and not with it: on the journal in a transaction of its own, on Temporal by one call that nobody repeats.",
		Design:      "write the state, then publish",
		Executables: []string{worker},
		Replacements: []Replacement{
			{"handrolled/record.go", `	if err := tx.record(in.OperationID, refund.FactOutcome, party, run.Lease.Generation, ref, code, outcome); err != nil {
		return err
	}
	return tx.announce(notice)
`, `	untold.Store(in.OperationID, notice)
	return tx.record(in.OperationID, refund.FactOutcome, party, run.Lease.Generation, ref, code, outcome)
`},
			{"handrolled/record.go", `	return s.owned(ctx, lease, func(tx *transaction, run Run) error {
		if err := tx.asOwner(lease, "due_at = NULL, lease_until = ?", tx.now); err != nil {
			return err
		}
		return tx.conclude(run, lease.Owner, outcome)
	})
}
`, `	run, err := s.owned(ctx, lease, func(tx *transaction, run Run) error {
		if err := tx.asOwner(lease, "due_at = NULL, lease_until = ?", tx.now); err != nil {
			return err
		}
		return tx.conclude(run, lease.Owner, outcome)
	})
	if notice, owed := untold.LoadAndDelete(lease.OperationID); owed && err == nil {
		err = s.write(ctx, func(tx *transaction) error { return tx.announce(notice.(refund.Notice)) })
	}
	return run, err
}

var untold sync.Map
`},
			{"handrolled/record.go", `import (
	"context"
	"math"
`, `import (
	"context"
	"math"
	"sync"
`},
			{"workflows/refund.go", `	for {
		delivery := workflow.ExecuteActivity(workflow.WithActivityOptions(r.ctx, r.notifyOptions()), activities.Notify,
`, `	for once := r.notifyOptions(); ; {
		once.RetryPolicy.MaximumAttempts = 1
		delivery := workflow.ExecuteActivity(workflow.WithActivityOptions(r.ctx, once), activities.Notify,
`},
			{"workflows/refund.go", `		if delivery.Get(r.ctx, nil) == nil {
			return
		}
		_ = workflow.Sleep(r.ctx, r.Intake.Terms.Pause(1))
`, `		_ = delivery.Get(r.ctx, nil)
		return
`},
		},
		Finds: both("outcome-and-nothing-else", full, "I11"),
	},
	{
		Name:        "notice-marked-before-sent",
		Breaks:      "The notice is marked as delivered before it is sent.",
		Design:      "at most once",
		Executables: []string{worker},
		Replacements: []Replacement{
			{"handrolled/outbox.go", `		return tx.must("UPDATE outbox SET attempts = attempts + 1, next_at = ? WHERE operation_id = ? AND revision = ?", tx.now.Add(pause), id, revision)
`, `		_ = pause
		return tx.must("UPDATE outbox SET attempts = attempts + 1, next_at = NULL WHERE operation_id = ? AND revision = ?", id, revision)
`},
			{"handrolled/outbox.go", `WHERE operation_id = ? AND revision = ? AND next_at IS NOT NULL", n.OperationID`, `WHERE operation_id = ? AND revision = ?", n.OperationID`},
		},
		Finds: on(handrolled, "l06-8g-expired-then-worker-dead", full, "I11"),
	},
	{
		Name:        "notice-from-memory",
		Breaks:      "What there is to tell of a refund that was made is in the memory of the worker that asked for it.",
		Design:      "publish it once the call returns",
		Executables: []string{worker},
		Replacements: []Replacement{
			{"handrolled/ask.go", `	f := run.Facts
	profile, err := refund.ProfileNamed(f.Intake.Terms.Profile)
`, `	f := run.Facts
	tried.Store(f.Intake.OperationID, true)
	profile, err := refund.ProfileNamed(f.Intake.Terms.Profile)
`},
			{"handrolled/relay.go", `	ctx = context.WithoutCancel(ctx) // as every step: a stop does not cut it
`, `	if _, own := tried.Load(pending.Notice.OperationID); !own && pending.Notice.RefundID != "" {
		return true, e.Journal.MarkDelivered(ctx, pending.Notice, e.Name)
	}
	ctx = context.WithoutCancel(ctx)
`},
			{"handrolled/relay.go", `import "context"
`, `import (
	"context"
	"sync"
)

// tried holds the runs for which this process has asked the provider.
var tried sync.Map
`},
			{"activities/submission.go", `	sent := request.Sent ||`, `	tried.Store(in.OperationID, true)
	sent := request.Sent ||`},
			{"activities/submission.go", `	fence := fenceOf(ctx, request.Round)
	answer := a.bounded(request.Intake).LookUp(`, `	tried.Store(request.Intake.OperationID, true)
	fence := fenceOf(ctx, request.Round)
	answer := a.bounded(request.Intake).LookUp(`},
			{"activities/notice.go", `	if err := a.Notices.Send(ctx, request.Notice); err != nil {
`, `	if _, own := tried.Load(request.Notice.OperationID); !own && request.Notice.RefundID != "" {
		return NotifyResult{}, nil
	}
	if err := a.Notices.Send(ctx, request.Notice); err != nil {
`},
			{"activities/notice.go", `import (
	"context"
`, `import (
	"context"
	"sync"
`},
			{"activities/notice.go", `// NotifyRequest is the notice`, `// tried holds the runs for which this process has asked the provider.
var tried sync.Map

// NotifyRequest is the notice`},
		},
		Finds: both("window-5-after-result-saved", full, "I11"),
	},
	{
		Name:        "notice-taken-again",
		Breaks:      "The receiver takes a notice that it has taken.",
		Design:      "delivered at least once is delivered once",
		Executables: []string{outside},
		Replacements: []Replacement{{"provider/server/notices.go", `	duplicate := notice.Revision <= n.revision[notice.OperationID]
`, `	duplicate := notice.Revision < n.revision[notice.OperationID]
`}},
		Finds: both("notice-doubled", full, "END"),
	},
}
