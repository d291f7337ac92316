package comparison

import (
	"fmt"

	"refundlab/evidence"
	"refundlab/refund"
)

// I9: the same key with other parameters is a conflict, at intake and at the provider, and no receipt of something else is
// ever recorded.
func conflictsNamed(t *trial) []string {
	var violations []string
	for _, answer := range t.answers("request") {
		asked, ok := digestAsked(answer)
		if !ok || answer.Exit != 0 {
			continue
		}
		said := replyOf(answer)
		// The reply may name what was asked for while the record stands for something else.
		given, where := said.Digest, "as its own"
		if r, known := t.runOf(said.OperationID); given == asked && known {
			given, where = digestOf(r), "by its record"
		}
		if given != asked {
			violations = append(violations, fmt.Sprintf("%s asked for digest %.8s under request id %q and was given the operation of digest %.8s %s",
				answer.Process, asked, flagValue(answer.Args, "request-id"), given, where))
		}
	}
	for _, r := range t.present() {
		if receipt := r.facts.Receipt; receipt != nil && receipt.Digest != digestOf(r) {
			violations = append(violations, fmt.Sprintf("run %s recorded receipt %s of digest %.8s, its own is %.8s", r.name, receipt.RefundID, receipt.Digest, digestOf(r)))
		}
	}
	violations = append(violations, foreignRefusals(t)...)
	return append(violations, providerConflicts(t)...)
}

// foreignRefusals looks for runs that ended by a refusal of something else: the provider answered them with the stored refusal of
// other parameters, as a lenient one does, and they took it for their own.
func foreignRefusals(t *trial) []string {
	var violations []string
	for _, stored := range t.Provider.Operations {
		r, known := t.runOf(stored.OperationID)
		if !known || stored.Result != "refusal" || stored.Digest == digestOf(r) || r.export.View.Status != refund.StatusRejected {
			continue
		}
		for _, request := range t.received("submit", r.id) {
			if request.Digest == digestOf(r) && request.Outcome == "refusal" && request.Code == stored.Code && r.export.View.Reason == stored.Code {
				violations = append(violations, fmt.Sprintf("run %s is %s by the refusal of digest %.8s, its own is %.8s", r.name, statusText(r), stored.Digest, digestOf(r)))
				break
			}
		}
	}
	return violations
}

// digestAsked is the digest of what a request command was told to ask for, under the operation id that it was answered; false where
// it was not. Scripts write their values in the one spelling.
func digestAsked(answer evidence.Answer) (refund.Digest, bool) {
	said := replyOf(answer)
	amount, err := refund.ParseMoney(flagValue(answer.Args, "amount"), flagValue(answer.Args, "currency"))
	if err != nil || said.OperationID == "" || said.Digest == "" {
		return "", false
	}
	return digest(flagValue(answer.Args, "tenant"), said.OperationID, flagValue(answer.Args, "order"), amount, flagValue(answer.Args, "reason")), true
}

// providerConflicts follows the requests in the order in which they arrived: the first digest that an operation id got a
// result for is the one it stands for, as long as the provider remembers.
func providerConflicts(t *trial) []string {
	if !t.promise.conflict || t.promise.expires && len(t.unscopedRuns()) > 0 {
		return nil
	}
	var violations []string
	bound := map[refund.OperationID]refund.Digest{}
	for _, request := range t.Provider.Received {
		if request.Verb != "submit" || !answered(request) {
			continue
		}
		first, known := bound[request.OperationID]
		if !known {
			bound[request.OperationID] = request.Digest
		} else if request.Digest != first {
			violations = append(violations, fmt.Sprintf("the provider bound operation %s to digest %.8s and answered request %d, of digest %.8s, with %q",
				request.OperationID, first, request.N, request.Digest, request.Outcome))
		}
	}
	return violations
}

// answered tells whether the provider gave a result for this very request, as its own or a stored one.
func answered(r evidence.Received) bool { return answeredAs(r.Outcome) }

func answeredAs(outcome string) bool {
	return outcome == "committed" || outcome == "receipt" || outcome == "refusal" || outcome == "tombstone"
}

func (t *trial) unscopedRuns() []run {
	return filter(t.present(), func(r run) bool { return t.outside[r.id] != "" })
}
