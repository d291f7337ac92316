package controls

// ownership are controls of leases, generations and fences.
var ownership = []Control{
	{
		Name:        "owned-for-ever",
		Breaks:      "What a worker has taken in hand belongs to it until it gives it back: on the journal the run, on Temporal a task of its workflow and the attempt of an activity.",
		Design:      "a row is locked until its owner unlocks it",
		Executables: []string{worker, starter},
		Replacements: []Replacement{
			{"handrolled/lease.go", `RETURNING operation_id` + "`, owner, tx.now.Add(length), tx.now).Scan(&id)", `RETURNING operation_id` + "`, owner, tx.now.Add(length+time.Hour), tx.now).Scan(&id)"},
			{"workflows/client.go", `		WorkflowTaskTimeout:      c.options.WorkflowTaskTimeout,
`, `		WorkflowTaskTimeout:      time.Hour,
`},
			{"workflows/options.go", `		StartToCloseTimeout:    r.callTimeout() + reportSlack,
		ScheduleToCloseTimeout: r.until(ctx, r.Intake.DecideBy()),
		HeartbeatTimeout:       r.heartbeatTimeout(),
`, `		StartToCloseTimeout: time.Hour,
`},
			{"workflows/options.go", `		StartToCloseTimeout: attempt,
`, `		StartToCloseTimeout: time.Hour,
`},
		},
		Finds: join(both("window-1-before-prepare", full, "I11"), both("proposal-lost", full, "I11")),
	},
	{
		Name:        "generation-not-in-where",
		Breaks:      "An owner's write asks whether somebody holds the lease, not whether the writer does.",
		Design:      "locked is locked",
		Layers:      "Each step of an owner also compares the generation when it reads the run again, and would take the write back.",
		Executables: []string{worker},
		Replacements: []Replacement{
			{"handrolled/transaction.go", `	args = append(args, lease.OperationID, lease.Generation, tx.now)
	changed, err := tx.exec("UPDATE runs SET "+set+" WHERE operation_id = ? AND generation = ? AND ? < lease_until", args...)
`, `	args = append(args, lease.OperationID, tx.now)
	changed, err := tx.exec("UPDATE runs SET "+set+" WHERE operation_id = ? AND ? < lease_until", args...)
`},
			{"handrolled/record.go", `err == nil && run.Lease.Generation != lease.Generation {`, `err == nil && run.Lease.Generation < lease.Generation {`},
		},
		Finds: join(on(handrolled, "renewal-against-holder", full, "I6")),
	},
	{
		Name:        "lease-time-not-in-where",
		Breaks:      "An owner's write goes through when its lease is over, as long as nobody else has claimed the run.",
		Design:      "the generation says it all",
		Executables: []string{worker},
		Replacements: []Replacement{{"handrolled/transaction.go", `	args = append(args, lease.OperationID, lease.Generation, tx.now)
	changed, err := tx.exec("UPDATE runs SET "+set+" WHERE operation_id = ? AND generation = ? AND ? < lease_until", args...)
`, `	args = append(args, lease.OperationID, lease.Generation)
	changed, err := tx.exec("UPDATE runs SET "+set+" WHERE operation_id = ? AND generation = ?", args...)
`}},
		Finds: on(handrolled, "own-result-late", full, "I6"),
	},
	{
		Name:        "row-count-not-looked-at",
		Breaks:      "The condition stands in the statement, and nobody looks whether it changed a row.",
		Design:      "an UPDATE without an error has worked",
		Executables: []string{worker},
		Replacements: []Replacement{{"handrolled/transaction.go", `	if err == nil && changed == 0 {
		return refund.Errorf(refund.CodeLeaseLost,`, `	if err == nil && changed < 0 {
		return refund.Errorf(refund.CodeLeaseLost,`}},
		Finds: on(handrolled, "own-result-late", full, "I6"),
	},
	{
		Name:        "renewal-without-generation",
		Breaks:      "A renewal prolongs the lease of whoever holds the run.",
		Design:      "a heartbeat says that the run is alive",
		Executables: []string{worker},
		Replacements: []Replacement{{"handrolled/lease.go", `		if err := tx.asOwner(lease, "lease_until = ?", until); err != nil {
			return err
		}
		lease.Until = until
`, `		if err := tx.must("UPDATE runs SET lease_until = ? WHERE operation_id = ? AND ? < lease_until", until, lease.OperationID, tx.now); err != nil {
			return err
		}
		lease.Until = until
`}},
		Finds: on(handrolled, "renewal-against-holder", full, "I6"),
	},
	{
		Name:        "fence-compared-before-sending-only",
		Breaks:      "The provider takes a submit under any fence: the sender had compared it.",
		Design:      "check the token, then call",
		Executables: []string{outside},
		Replacements: []Replacement{{"provider/ledger/accept.go", `		if stale, err := raise(ctx, tx, p, s.Ref, s.Fence); stale.Outcome != "" || err != nil {
			return stale, err
		}
`, ``}},
		Finds: both("l06-6-old-worker-late", full, "I6"),
	},
	{
		Name:        "fence-only-logged",
		Breaks:      "The provider notes that a fence is old and goes on.",
		Design:      "the token stands in every log line",
		Executables: []string{outside},
		Replacements: []Replacement{{"provider/ledger/operations.go", `	if known && fence.Less(current) {
		return Result{Outcome: StaleFence, Code: refund.CodeStaleFence, Fence: current,
			Message: fmt.Sprintf("fence %d.%d is older than %d.%d: another owner has taken over", fence.Term, fence.Seq, current.Term, current.Seq)}, nil
	}
`, `	if known && fence.Less(current) {
		_, err := fmt.Fprintf(os.Stderr, "fence %d.%d is older than %d.%d\n", fence.Term, fence.Seq, current.Term, current.Seq)
		return Result{}, err
	}
`}, {"provider/ledger/operations.go", `	"fmt"
`, `	"fmt"
	"os"
`}},
		Finds: join(both("l06-6-old-worker-late", full, "I6"), both("late-after-close", full, "I6")),
	},
	{
		Name:        "fence-without-order",
		Breaks:      "The token of a new owner differs from the old one's and is not above it.",
		Design:      "a random UUID for every owner",
		Layers:      "The journal's schema refuses a generation that falls.",
		Executables: []string{worker, starter},
		Replacements: []Replacement{
			{"handrolled/lease.go", `UPDATE runs SET generation = generation + 1, owner = ?, lease_until = ?
`, `UPDATE runs SET generation = (generation * 3 + 2) % 11, owner = ?, lease_until = ?
`},
			// A token without an order has no greater one to go on from. The run ends when its turn comes round to what the provider takes.
			{"handrolled/lease.go", `"lease_until = ?, generation = max(generation, ?)", tx.now, seen.Term)`, `"lease_until = ?", tx.now)`},
			{"handrolled/schema.sql", `CREATE TRIGGER generation_grows BEFORE UPDATE OF generation ON runs WHEN NEW.generation < OLD.generation
BEGIN SELECT RAISE(ABORT, 'a generation never falls'); END;
`, ``},
			{"workflows/submission.go", `	round := r.round + 1
`, `	round := (r.round*7 + 3) % 11
`},
		},
		Finds: join(on(handrolled, "l06-2-answer-lost-after-commit", full, "I6"), on(temporal, "l06-2-answer-lost-after-commit", lookup, "I6")),
	},
	{
		Name:        "close-without-fence",
		Breaks:      "A close is asked for under no fence.",
		Design:      "the fence belongs to the call that moves money",
		Executables: []string{worker, starter},
		Replacements: []Replacement{{"provider/client.go", `	return c.ask(ctx, in, "/v1/refunds/close", Query{Ref: RefOf(in), Fence: &fence})
`, `	fence = refund.Fence{}
	return c.ask(ctx, in, "/v1/refunds/close", Query{Ref: RefOf(in), Fence: &fence})
`}},
		Finds: both("settled-by-close-finds-receipt", full, "I4", "I11"),
	},
	{
		Name:         "look-up-without-fence",
		Breaks:       "An owner's look-up carries no fence.",
		Design:       "reading is free",
		Harmless:     "Where a provider keeps a fence there is a close, and the rule sends again or closes, which both carry it; a look-up is for the profiles that cannot close, and those have no fence to compare. The one look-up under full is that of Temporal's submit after a check that failed, in the first attempt of a round before which nothing was sent: all that could be late there bears the same fence, and an equal one is refused by none. What an old owner's look-up shows is never recorded: the journal's write carries generation and lease, and Temporal's server takes no result of an attempt that is over.",
		Executables:  []string{worker},
		Replacements: []Replacement{{"provider/client.go", `"/v1/refunds/lookup", Query{Ref: RefOf(in), Fence: fence})`, `"/v1/refunds/lookup", Query{Ref: RefOf(in)})`}},
		Finds:        join(both("l06-6-old-worker-late", lookup, "MODEL"), both("stale-not-found", stale, "MODEL")),
	},
	{
		Name:        "close-raises-no-fence",
		Breaks:      "The provider does not raise its fence when an operation is closed.",
		Design:      "closing is not a submit",
		Executables: []string{outside},
		Replacements: []Replacement{{"provider/ledger/operations.go", `	if stale, err := raise(ctx, tx, p, ref, fence); stale.Outcome != "" || err != nil {
		return stale, err
	}
	stored, err := recall(ctx, tx, p, ref, now)
`, `	stored, err := recall(ctx, tx, p, ref, now)
`}},
		Finds: both("late-after-close", full, "I6"),
	},
}
