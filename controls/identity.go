package controls

// identity are controls of keys and digests: what is the same refund and what is another one.
var identity = []Control{
	{
		Name:        "no-digest-at-intake",
		Breaks:      "A repeated request id gets the run that is there, whatever the request says.",
		Design:      "the key alone decides",
		Executables: []string{starter},
		Replacements: []Replacement{
			{"handrolled/intake.go", `		case err == nil && stored != in.Digest: // I9`, `		case err == nil && stored == "": // I9`},
			{"workflows/client.go", `	if recorded.Intake.Digest != in.Digest {
`, `	if recorded.Intake.Digest == "" {
`},
		},
		Finds: both("l06-7a-key-reused-at-intake", full, "I9"),
	},
	{
		Name:         "no-digest-at-receipt",
		Breaks:       "A receipt is recorded without a look at its digest.",
		Design:       "the answer to my request is mine",
		Executables:  []string{worker},
		Replacements: []Replacement{{"refund/observation.go", `	if r.OperationID != in.OperationID || r.Digest != in.Digest || r.Order`, `	if r.OperationID != in.OperationID || r.Order`}},
		Finds:        join(both("other-digest-receipt", full, "I9"), both("other-digest-receipt", lookup, "I9")),
	},
	{
		Name:        "receipt-not-compared",
		Breaks:      "A whole receipt is recorded as this operation's, whatever it is for.",
		Design:      "status 200 is success",
		Executables: []string{worker},
		Replacements: []Replacement{{"refund/observation.go", `	if r.OperationID != in.OperationID || r.Digest != in.Digest || r.Order != in.Request.Order || r.Amount != in.Request.Amount {
`, `	if in.OperationID == "" {
`}},
		Finds: join(both("foreign-receipt", full, "I2"), both("foreign-receipt", lookup, "I9")),
	},
	{
		Name:         "no-digest-at-provider",
		Breaks:       "The provider answers a known operation id with its stored result, whatever the request says.",
		Design:       "the key alone decides",
		Executables:  []string{outside},
		Replacements: []Replacement{{"provider/ledger/accept.go", `		if stored != nil && p.OtherDigest == refund.DigestConflict &&`, `		if stored != nil && p.OtherDigest == "" &&`}},
		Finds:        both("l06-7b-key-reused-at-provider", full, "I9"),
	},
	{
		Name:        "digest-without-currency",
		Breaks:      "The digest covers the amount and takes its currency for granted.",
		Design:      "42.00 is 42.00",
		Executables: []string{worker, starter, outside},
		Replacements: []Replacement{{"refund/operation.go", `		strconv.FormatInt(amount.Minor, 10), amount.Currency, reason))
`, `		strconv.FormatInt(amount.Minor, 10), "EUR", reason))
`}},
		Finds: both("key-reused-with-currency", full, "I9"),
	},
	{
		Name:        "key-from-the-attempt",
		Breaks:      "The key by which the provider recognises a repetition is made from the operation and the attempt.",
		Design:      "every HTTP request has its own idempotency key",
		Layers:      "The ledger's unique index over operations would refuse the second entry.",
		Executables: []string{worker, outside},
		Replacements: append([]Replacement{
			{"provider/contract.go", `DecisionID: decision.DecisionID, Fence: fence,
	}
`, `DecisionID: decision.DecisionID, Fence: fence,
		Key: string(in.OperationID) + "/" + refund.Decimal(fence.Term) + "." + refund.Decimal(fence.Seq),
	}
`},
		}, keyedByCaller...),
		Finds: both("l06-2-answer-lost-after-commit", full, "I1"),
	},
	{
		Name:        "key-from-the-workflow-run",
		Breaks:      "The key by which the provider recognises a repetition is the id of the workflow run.",
		Design:      "the run id is unique, so it is the key",
		Layers:      "While a request id can have one run only, its run id is as good as the operation id. The ledger's unique index would refuse the second entry.",
		Executables: []string{worker, starter, outside},
		Replacements: append([]Replacement{
			reuseByDefault,
			{"provider/contract.go", `	return refunds.Submit(ctx, in, NewSubmission(in, decision, fence))
}
`, `	s := NewSubmission(in, decision, fence)
	s.Key, _ = ctx.Value(RunKey{}).(string)
	return refunds.Submit(ctx, in, s)
}

type RunKey struct{}
`},
			{"activities/submission.go", `	answer := provider.CheckAndSubmit(ctx, a.bounded(in)`, `	answer := provider.CheckAndSubmit(context.WithValue(ctx, provider.RunKey{}, info.WorkflowExecution.RunID), a.bounded(in)`},
		}, keyedByCaller...),
		Finds: on(temporal, "repeated-after-the-end", full, "I1"),
	},
	{
		Name:         "workflow-id-reused-by-default",
		Breaks:       "The workflow id of a run that is closed may be used again.",
		Design:       "the start options are left as they come",
		Executables:  []string{starter},
		Replacements: []Replacement{reuseByDefault},
		Finds:        on(temporal, "repeated-after-the-end", full, "I5", "I10"),
	},
	{
		Name:        "equal-is-a-duplicate",
		Breaks:      "The provider takes a refund of the same order and amount for one that it has made.",
		Design:      "nobody means the same refund twice",
		Executables: []string{outside},
		Replacements: []Replacement{{"provider/ledger/accept.go", `	order, err := ReadOrder(ctx, tx, s.Tenant, s.Order)
`, `	if equal, err := readReceipt(ctx, tx, "tenant = ? AND order_id = ? AND amount_minor = ? AND currency = ?", s.Tenant, s.Order, s.Amount.Minor, s.Amount.Currency); err != nil {
		return Result{}, err
	} else if equal != nil {
		equal.OperationID, equal.Digest = s.OperationID, digest
		return Result{Outcome: Receipt, Receipt: equal}, nil
	}
	order, err := ReadOrder(ctx, tx, s.Tenant, s.Order)
`}},
		Finds: both("equal-requests", full, "I8"),
	},
}

// keyedByCaller lets the provider recognise a repetition by a key that the caller makes up, and by nothing else.
var keyedByCaller = []Replacement{
	{"provider/contract.go", "	Fence        refund.Fence   `json:\"fence\"`\n}\n", "	Fence        refund.Fence   `json:\"fence\"`\n	Key          string         `json:\"key\"`\n}\n"},
	{"provider/ledger/accept.go", `	digest := s.Digest()
	if p.Idempotent {
		stored, err := recall(ctx, tx, p, s.Ref, now)
`, `	digest := s.Digest()
	key := s.Ref
	key.OperationID = refund.OperationID(s.Key)
	if p.Idempotent {
		stored, err := recall(ctx, tx, p, key, now)
`},
	{"provider/ledger/accept.go", `		err := remember(ctx, tx, p, Operation{Ref: s.Ref, Digest: digest, Result: Refusal`, `		err := remember(ctx, tx, p, Operation{Ref: key, Digest: digest, Result: Refusal`},
	{"provider/ledger/accept.go", `s.Fence.Seq, now, p.Idempotent && !p.Expires); err != nil {`, `s.Fence.Seq, now, false); err != nil {`},
	{"provider/ledger/accept.go", `	return receipt, remember(ctx, tx, p, Operation{Ref: s.Ref, Digest: digest, Result: Receipt`, `	key := s.Ref
	key.OperationID = refund.OperationID(s.Key)
	return receipt, remember(ctx, tx, p, Operation{Ref: key, Digest: digest, Result: Receipt`},
}

var reuseByDefault = Replacement{"workflows/client.go", `		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
`, ``}
