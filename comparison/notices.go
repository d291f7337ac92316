package comparison

import (
	"fmt"

	"refundlab/refund"
)

// noticesTakenOnce asks that the receiver took each revision of a run's notice once: it is delivered at least once, and what comes
// again is its duplicate. No invariant speaks of it, because no money moves by a notice.
func noticesTakenOnce(t *trial) []string {
	type notice struct {
		operation refund.OperationID
		revision  int64
	}
	var violations []string
	taken := map[notice]int{}
	for _, arrival := range t.Provider.Notices {
		n := notice{arrival.OperationID, arrival.Revision}
		if arrival.Duplicate {
			continue
		}
		if taken[n]++; taken[n] == 2 {
			violations = append(violations, fmt.Sprintf("the receiver took notice %d of %s more than once", n.revision, t.nameOf(n.operation)))
		}
	}
	return violations
}
