package controls

// sending are controls of when something may be sent, and sent again.
var sending = []Control{
	{
		Name:        "only-current-node-saved",
		Breaks:      "A later owner knows that the run is at the step that sends, and not that something may have been sent.",
		Design:      "a checkpoint holds the current node; recovery runs it again",
		Executables: []string{worker},
		Replacements: []Replacement{
			{"handrolled/ask.go", `		Sent:        f.FirstSentAt != 0,
`, `		Sent:        false,
`},
			{"workflows/options.go", `		limit = 1 // the provider would take a second send for a second refund (I1)
`, `		limit = 3
`},
			{"activities/submission.go", `	handedOn := attempt > 1 || request.RunID`, `	handedOn := request.RunID`},
		},
		Finds: join(both("l06-3-crash-before-result-saved", opaque, "I1"), both("l06-3-crash-before-result-saved", lookup, "I1")),
	},
	{
		Name:        "only-external-key",
		Breaks:      "Recovery after a send begins the run again from the top, because the provider's key makes the second send harmless: the money moves once, and the model is asked and paid again.",
		Design:      "the idempotency key is all that has to last",
		Executables: []string{worker},
		Replacements: []Replacement{
			{"handrolled/executor.go", `	case f.Proposal == nil:
`, `	case f.Proposal == nil || f.FirstSentAt != 0 && f.ModelCalls < 2:
`},
			{"workflows/submission.go", `	r.asks++
`, `	if r.asks++; r.asks == 2 {
		r.propose()
	}
`},
		},
		Finds: join(on(handrolled, "l06-1-crash-before-commit", full, "I12"), on(temporal, "l06-2-answer-lost-after-commit", lookup, "I12")),
	},
	{
		Name:        "second-send-under-lookup",
		Breaks:      "A provider that can be asked is treated as one that recognises a repeated operation.",
		Design:      "a provider with a look-up can be retried safely",
		Executables: []string{worker},
		Replacements: []Replacement{{"refund/observation.go", `	if s.Profile.Idempotent && s.Authorised && (!s.Profile.Expires || s.Retained) {
`, `	if (s.Profile.Idempotent || s.Profile.Lookup == LookupStrong) && s.Authorised && (!s.Profile.Expires || s.Retained) {
`}},
		Finds: both("l06-3-crash-before-result-saved", lookup, "I1"),
	},
	{
		Name:        "retention-ignored",
		Breaks:      "The time after which the provider forgets an operation is not looked at.",
		Design:      "an idempotency key holds for ever",
		Executables: []string{worker},
		Replacements: []Replacement{{"refund/observation.go", `	return firstSent == 0 || now+Instant(t.CallTimeout) < firstSent+Instant(t.Retention)
`, `	return true
`}},
		Finds: both("retention-over", retained, "I1"),
	},
	{
		Name:        "order-not-read-again",
		Breaks:      "The order is not compared with the approval before the send.",
		Design:      "it was checked when it was approved",
		Executables: []string{worker},
		Replacements: []Replacement{{"provider/contract.go", `	if code := refund.CheckOrder(in.Request, order, decision.OrderVersion); code != "" {
`, `	if code := refund.CheckOrder(in.Request, order, 0); code == refund.CodeOrderNotFound {
`}},
		Finds: both("l06-9a-order-changed-before-submit", lookup, "I5"),
	},
	{
		Name:        "authority-not-checked-at-send",
		Breaks:      "The time to commit is not looked at again right before a send that follows a record or an earlier attempt.",
		Design:      "an approved run is approved",
		Layers:      "The journal's worker does not begin a call under a lease that is over, and the time to commit is looked at when the lease is claimed.",
		Executables: []string{worker},
		Replacements: []Replacement{
			{"provider/contract.go", `	if !now().Before(in.CommitBy()) {
`, `	if now() == 0 {
`},
			{"handrolled/executor.go", `	if now := e.Journal.Now(); !now.Before(run.Lease.Until) {
`, `	if now := e.Journal.Now(); now == 0 {
`},
		},
		Finds: both("l06-8i-deadline-before-send", lenient, "I5"),
	},
	{
		Name:        "authority-not-looked-at-again",
		Breaks:      "What may have been sent is sent again, whether or not its approval still holds.",
		Design:      "the same operation under the same key is always safe to repeat",
		Layers:      "The rule asks whether the operation is authorised, and the step that sends looks at the time to commit.",
		Executables: []string{worker},
		Replacements: []Replacement{
			{"refund/observation.go", `	if s.Profile.Idempotent && s.Authorised && (`, `	if s.Profile.Idempotent && (`},
			{"provider/contract.go", `	if !now().Before(in.CommitBy()) {
`, `	if now() == 0 {
`},
		},
		Finds: both("second-send-too-late", lenient, "I5"),
	},
	{
		Name:        "key-in-a-header",
		Breaks:      "The request bears an Idempotency-Key header, so Go's transport sends it again by itself when a connection breaks.",
		Design:      "the key travels in the header that everybody uses",
		Executables: []string{worker},
		Replacements: []Replacement{{"provider/client.go", `	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
`, `	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", path)
	response, err := c.http.Do(request)
`}},
		Finds: join(both("cut-after-commit", opaque, "I1"), both("cut-after-commit", lookup, "I1")),
	},
}
