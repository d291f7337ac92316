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
		said := replyOf(answer)
		if ok && answer.Exit == 0 && said.Digest != asked {
			violations = append(violations, fmt.Sprintf("%s asked for digest %.8s under request id %q and was given the operation of digest %.8s as its own",
				answer.Process, asked, flagValue(answer.Args, "request-id"), said.Digest))
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

// digestOfRequest is the digest of what a request command was told to ask for, under an operation id.
func digestOfRequest(answer evidence.Answer, id refund.OperationID) (refund.Digest, bool) {
	amount, err := refund.ParseMoney(flagValue(answer.Args, "amount"), flagValue(answer.Args, "currency"))
	if err != nil {
		return "", false
	}
	return digest(flagValue(answer.Args, "tenant"), id, flagValue(answer.Args, "order"), amount, flagValue(answer.Args, "reason")), true
}

// digestAsked is the same under the operation id that the command was answered, false where it was not. Scripts write their values in
// the one spelling.
func digestAsked(answer evidence.Answer) (refund.Digest, bool) {
	said := replyOf(answer)
	if said.OperationID == "" || said.Digest == "" {
		return "", false
	}
	return digestOfRequest(answer, said.OperationID)
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
