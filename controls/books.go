package controls

// answerDropped takes away that a worker keeps its answer while the file is locked: the layer behind the settings of a connection.
var answerDropped = Replacement{"handrolled/executor.go", `		if refund.CodeOf(err) != refund.CodeStoreLocked || !e.Journal.Now().Before(over) {
			return run, err
		}
`, `		if over != 0 {
			return run, err
		}
`}

// books are controls of stores: the provider's ledger and the journal's file.
var books = []Control{
	{
		Name:        "operation-not-looked-up",
		Breaks:      "The provider neither looks for the operation's result nor refuses a second one.",
		Design:      "duplicates do not happen",
		Layers:      "Looking and inserting in one immediate transaction hides that the unique constraints are missing, and they hide that nobody looks.",
		Executables: []string{outside},
		Replacements: []Replacement{
			{"provider/ledger/accept.go", `		if stored != nil {
			return stored.result(ctx, tx)
		}
`, ``},
			{"provider/ledger/accept.go", `s.Fence.Seq, now, p.Idempotent && !p.Expires); err != nil {`, `s.Fence.Seq, now, false); err != nil {`},
			{"provider/ledger/operations.go", `	_, err := tx.ExecContext(ctx, ` + "`INSERT INTO ledger_operations", `	_, err := tx.ExecContext(ctx, ` + "`INSERT OR REPLACE INTO ledger_operations"},
		},
		Finds: both("l06-2-answer-lost-after-commit", full, "I1"),
	},
	{
		Name:        "refusal-not-stored",
		Breaks:      "The provider refuses and remembers nothing.",
		Design:      "only successes are results",
		Executables: []string{outside},
		Replacements: []Replacement{{"provider/ledger/accept.go", `		err := remember(ctx, tx, p, Operation{Ref: s.Ref, Digest: digest, Result: Refusal, Code: code, Message: message, At: now})
		return`, `		return`}},
		Finds: both("refusal-lost", full, "I3"),
	},
	{
		Name:        "tombstone-not-stored",
		Breaks:      "The provider answers a close with CLOSED and remembers nothing.",
		Design:      "there was nothing to close",
		Executables: []string{outside},
		Replacements: []Replacement{{"provider/ledger/operations.go", `		if err := remember(ctx, tx, p, *stored); err != nil {
			return Result{}, err
		}
`, ``}},
		Finds: both("settled-by-close", full, "I3"),
	},
	{
		Name:        "tombstone-not-checked",
		Breaks:      "A submit under a closed operation id is taken like a new one.",
		Design:      "closing only informs",
		Layers:      "The fence that the close raised refuses the late request before anybody looks for a result, and the primary key of results refuses its commit.",
		Executables: []string{outside},
		Replacements: []Replacement{
			{"provider/ledger/accept.go", `		if stored != nil {
			return stored.result(ctx, tx)
		}
`, `		if stored != nil && stored.Result != Tombstone {
			return stored.result(ctx, tx)
		}
`},
			{"provider/ledger/operations.go", `	if stale, err := raise(ctx, tx, p, ref, fence); stale.Outcome != "" || err != nil {
		return stale, err
	}
	stored, err := recall(ctx, tx, p, ref, now)
`, `	stored, err := recall(ctx, tx, p, ref, now)
`},
			{"provider/ledger/operations.go", `	_, err := tx.ExecContext(ctx, ` + "`INSERT INTO ledger_operations", `	_, err := tx.ExecContext(ctx, ` + "`INSERT OR REPLACE INTO ledger_operations"},
		},
		Finds: both("closed-while-late", full, "I3"),
	},
	{
		Name:         "deadline-not-checked-at-commit",
		Breaks:       "The provider does not look at the time to commit.",
		Design:       "the caller has checked it",
		Executables:  []string{outside},
		Replacements: []Replacement{{"provider/ledger/accept.go", `	case p.Deadline && !now.Before(s.CommitBy): // I5`, `	case p.Deadline && now == 0: // I5`}},
		Finds:        both("l06-8e-deadline-at-commit", full, "I5"),
	},
	{
		Name:         "version-not-checked-at-commit",
		Breaks:       "The provider does not compare the order's version with the approval's.",
		Design:       "the caller has checked it",
		Executables:  []string{outside},
		Replacements: []Replacement{{"provider/ledger/accept.go", `	case p.OrderVersion && order.Version != s.OrderVersion: // I5`, `	case p.OrderVersion && order.Version == 0: // I5`}},
		Finds:        both("l06-9b-order-changed-on-the-way", full, "I5"),
	},
	{
		Name:        "balance-outside-transaction",
		Breaks:      "The balance is read when the request arrives and the money moves in a later transaction.",
		Design:      "SELECT, compare, UPDATE",
		Layers:      "The statement that moves the money has the balance in its condition, and the table has it in a constraint.",
		Executables: []string{outside},
		Replacements: []Replacement{
			{"provider/server/refunds.go", `	p := s.passage(submission)
`, `	var arrivedOn refund.Order
	if err := s.store.read(s.life, func(tx *sql.Tx) (err error) {
		arrivedOn, err = ledger.ReadOrder(s.life, tx, submission.Tenant, submission.Order)
		return err
	}); err != nil {
		s.writeError(w, submission.OperationID, err)
		return
	}
	p := s.passage(submission)
	p.arrivedOn = arrivedOn
`},
			{"provider/server/points.go", `	refused    bool // nothing is processed
`, `	arrivedOn  refund.Order
	refused    bool // nothing is processed
`},
			{"provider/server/points.go", `	"refundlab/provider/ledger"
)
`, `	"refundlab/provider/ledger"
	"refundlab/refund"
)
`},
			{"provider/server/refunds.go", `ledger.Accept(s.life, tx, s.options.Promise, submission, now)`, `ledger.Accept(context.WithValue(s.life, ledger.Balance{}, p.arrivedOn), tx, s.options.Promise, submission, now)`},
			{"provider/server/refunds.go", `import (
`, `import (
	"context"
`},
			{"provider/ledger/accept.go", `	if code, message := check(p, s, order, now); code != "" {
`, `	if read, ok := ctx.Value(Balance{}).(refund.Order); ok {
		order = read
	}
	if code, message := check(p, s, order, now); code != "" {
`},
			{"provider/ledger/accept.go", `// check is the provider's own reading`, `type Balance struct{}

// check is the provider's own reading`},
			{"provider/ledger/accept.go", ` AND currency = ?4 AND ?1 <= captured_minor - refunded_minor`, ` AND currency = ?4`},
			{"provider/ledger/schema.go", `CHECK (refunded_minor BETWEEN opening_minor AND captured_minor)`, `CHECK (refunded_minor >= opening_minor)`},
		},
		Finds: both("balance-contended", full, "I7"),
	},
	{
		Name:        "deferred-transaction",
		Breaks:      "A transaction of the journal reads first and asks for the write lock when it writes.",
		Design:      "BEGIN, as the driver has it",
		Layers:      "The first statement of each transaction is a write, the clock's, and asks for the lock at once. A worker that finds the file locked keeps its answer and tries again.",
		Executables: []string{worker, starter},
		Replacements: []Replacement{
			{"handrolled/store.go", `"_txlock": {"immediate"}`, `"_txlock": {"deferred"}`},
			{"handrolled/transaction.go", `"UPDATE clock SET highest = max(highest, ?) RETURNING highest"`, `"SELECT max(highest, ?) FROM clock"`},
			answerDropped,
		},
		Finds: join(on(handrolled, "outcome-contended", opaque, "I4"), on(handrolled, "store-contended", full, "END")),
	},
	{
		Name:        "pragmas-by-exec",
		Breaks:      "The settings are executed once, on one connection of a pool; the connection that writes is another one and does not wait for a lock.",
		Design:      "db.Exec(\"PRAGMA ...\") after opening",
		Layers:      "Every new connection reads its settings back and is refused without them. A worker that finds the file locked keeps its answer and tries again.",
		Executables: []string{worker, starter},
		Replacements: []Replacement{
			{"handrolled/store.go", `	for _, s := range settings {
		query.Add("_pragma", s.pragma+"("+s.want+")")
	}
	return (&url.URL`, `	return (&url.URL`},
			{"handrolled/store.go", `	for _, s := range settings {
		if err := readBack(ctx, conn, s.pragma, s.want); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
`, `	return conn, nil
`},
			{"handrolled/store.go", `	if err := s.create(path); err != nil {
`, `	for _, set := range settings {
		if _, err := s.reader.Exec("PRAGMA " + set.pragma + " = " + set.want); err != nil && set.pragma != "journal_mode" {
			return nil, errors.Join(err, s.Close())
		}
	}
	if err := s.create(path); err != nil {
`},
			answerDropped,
		},
		Finds: join(on(handrolled, "outcome-contended", opaque, "I4"), on(handrolled, "store-contended", full, "END")),
	},
	{
		Name:        "money-before-outcome",
		Breaks:      "Under local the money moves in one transaction of the journal's file and the outcome is recorded in the next.",
		Design:      "both writes are local, so nothing can come between them",
		Executables: []string{worker},
		Replacements: []Replacement{
			{"handrolled/local.go", `	return s.owned(ctx, lease, func(tx *transaction, run Run) error {
		f := run.Facts`, `	var answer provider.Answer
	if run, err := s.owned(ctx, lease, func(tx *transaction, run Run) (err error) {
		f := run.Facts`},
			{"handrolled/local.go", `		if err := tx.asOwner(lease, "due_at = NULL, lease_until = ?", tx.now); err != nil {
			return err
		}
		if err := tx.intend(`, `		if err := tx.holds(lease); err != nil {
			return err
		}
		if err := tx.intend(`},
			{"handrolled/local.go", `		answer, err := s.ledger.Accept(ctx, tx.Tx, f.Intake, provider.NewSubmission(f.Intake, *f.Decision, lease.Fence()), tx.now)
		if err != nil {
			return err
		}
		if run, err = tx.load(lease.OperationID); err != nil {
			return err
		}
`, `		answer, err = s.ledger.Accept(ctx, tx.Tx, f.Intake, provider.NewSubmission(f.Intake, *f.Decision, lease.Fence()), tx.now)
		return err
	}); err != nil {
		return run, err
	}
	return s.owned(ctx, lease, func(tx *transaction, run Run) error {
		if err := tx.asOwner(lease, "due_at = NULL, lease_until = ?", tx.now); err != nil {
			return err
		}
`},
		},
		Finds: on(handrolled, "outcome-and-nothing-else", "local", "I2"),
	},
}
