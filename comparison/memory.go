package comparison

import (
	"fmt"

	"refundlab/faults"
	"refundlab/refund"
)

// I1, at its root: what may have been sent is not sent again once the provider may have forgotten it. A copy that the network
// delivers so late is outside the promise; one that an engine sends is its own second refund, whether or not the first arrived.
func sentWithinMemory(t *trial) []string {
	if !t.promise.expires {
		return nil
	}
	var violations []string
	for _, r := range t.present() {
		var first refund.Instant
		for _, call := range t.crossings(faults.ProviderCall, faults.Before, r.id) {
			if !t.isWorker(call.Process) {
				continue // another caller that the script plays
			}
			if first == 0 {
				first = call.At
			}
			if retention := refund.Instant(r.facts.Intake.Terms.Retention); call.At-first >= retention {
				violations = append(violations, fmt.Sprintf("run %s: %s sent it again %d ms after it was first sent, and the provider remembers for %d ms",
					r.name, call.Process, call.At-first, retention))
			}
		}
	}
	return violations
}
