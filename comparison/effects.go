package comparison

import (
	"fmt"

	"refundlab/evidence"
	"refundlab/refund"
)

// I1: at most one ledger entry per operation id, in the scope that the profile has.
func oneEntry(t *trial) []string {
	var violations []string
	seen := map[refund.OperationID]int{}
	for _, entry := range t.Provider.Ledger {
		seen[entry.OperationID]++
	}
	for _, id := range sortedKeys(seen) {
		if seen[id] > 1 && t.outside[id] == "" {
			violations = append(violations, fmt.Sprintf("the ledger holds %d entries for operation %s (%s)", seen[id], id, t.nameOf(id)))
		}
	}
	return violations
}

func (t *trial) nameOf(id refund.OperationID) string {
	if r, ok := t.runOf(id); ok {
		return "run " + r.name
	}
	return "of no known run"
}

// I2: CONFIRMED and the ledger say the same, about the same order and amount, with one receipt for everyone who asked.
func confirmedHasItsEntry(t *trial) []string {
	var violations []string
	for _, r := range t.present() {
		entries := t.entries(r.id)
		switch status := r.export.View.Status; status {
		case refund.StatusConfirmed:
		case refund.StatusUnknown, refund.StatusRejected, refund.StatusExpired: // I4 and I3
			continue
		default:
			if len(entries) > 0 {
				violations = append(violations, fmt.Sprintf("run %s is %s at rest and the ledger holds its entry %s", r.name, status, entries[0].RefundID))
			}
			continue
		}
		if len(entries) == 0 {
			violations = append(violations, fmt.Sprintf("run %s is CONFIRMED and the ledger holds no entry of it", r.name))
			continue
		}
		if len(entries) > 1 && t.unscoped(r.id) == "" {
			violations = append(violations, fmt.Sprintf("run %s is CONFIRMED and the ledger holds %d entries of it", r.name, len(entries)))
		}
		violations = append(violations, sameRefund(r, entries)...)
		violations = append(violations, oneReceipt(t, r)...)
	}
	return violations
}

// I2 under one shared transaction, at every moment and not only at rest: the entry and the outcome that tells of it became durable
// together, so they have one time. With two transactions whoever dies between them leaves money that no record tells of.
func entryWithItsOutcome(t *trial) []string {
	if !t.promise.shared {
		return nil
	}
	var violations []string
	for _, r := range t.present() {
		for _, entry := range t.entries(r.id) {
			outcomes := r.factsOf(refund.FactOutcome)
			if len(outcomes) == 0 {
				violations = append(violations, fmt.Sprintf("run %s has no outcome, and the ledger in its store holds its entry %s", r.name, entry.RefundID))
			} else if at := outcomes[len(outcomes)-1].At; at != entry.At {
				violations = append(violations, fmt.Sprintf("run %s: entry %s is of %s and its outcome of %s, which the profile makes in one transaction", r.name, entry.RefundID, entry.At, at))
			}
		}
	}
	return violations
}

// sameRefund compares a confirmed run with its entries.
func sameRefund(r run, entries []evidence.Entry) []string {
	var violations []string
	q := r.facts.Intake.Request
	for _, e := range entries {
		if e.Tenant != q.Tenant || e.Order != q.Order || e.Amount != q.Amount || e.Digest != digestOf(r) {
			violations = append(violations, fmt.Sprintf("run %s asked for %s of order %s/%s, its entry %s moved %s of order %s/%s (digest %.8s, should be %.8s)",
				r.name, q.Amount, q.Tenant, q.Order, e.RefundID, e.Amount, e.Tenant, e.Order, e.Digest, digestOf(r)))
		}
	}
	receipt := r.facts.Receipt
	switch {
	case receipt == nil:
		violations = append(violations, fmt.Sprintf("run %s is CONFIRMED without a receipt", r.name))
	case len(filter(entries, func(e evidence.Entry) bool { return e.RefundID == receipt.RefundID })) == 0:
		violations = append(violations, fmt.Sprintf("run %s is CONFIRMED with receipt %s, the ledger holds %s", r.name, receipt.RefundID, entries[0].RefundID))
	}
	return violations
}

// oneReceipt asks that everyone who was shown a receipt of this run was shown the same.
func oneReceipt(t *trial, r run) []string {
	shown := map[string]string{} // refund id to where
	note := func(refundID, where string) {
		if _, known := shown[refundID]; refundID != "" && !known {
			shown[refundID] = where
		}
	}
	if r.facts.Receipt != nil {
		note(r.facts.Receipt.RefundID, "the export")
	}
	for _, view := range t.viewsOf(r.id) {
		if view.Facts.Receipt != nil {
			note(view.Facts.Receipt.RefundID, "an answer to "+view.process)
		}
		if view.World != nil && view.World.Receipt != nil {
			note(view.World.Receipt.RefundID, "the provider's answer to "+view.process)
		}
	}
	for _, notice := range t.Provider.Notices {
		if notice.OperationID == r.id {
			note(notice.RefundID, "a notice")
		}
	}
	for _, operation := range t.Provider.Operations {
		if operation.OperationID == r.id {
			note(operation.RefundID, "the provider's stored result")
		}
	}
	if len(shown) < 2 || t.unscoped(r.id) != "" {
		return nil
	}
	text := fmt.Sprintf("run %s has %d receipts:", r.name, len(shown))
	for _, id := range sortedKeys(shown) {
		text += fmt.Sprintf(" %s in %s;", id, shown[id])
	}
	return []string{text[:len(text)-1]}
}

// I3: REJECTED and EXPIRED moved no money, and what the provider refused it goes on refusing: that needs a result that is stored.
func endedWithoutEntry(t *trial) []string {
	var violations []string
	for _, r := range t.present() {
		if text := t.forgottenRefusal(r); text != "" {
			violations = append(violations, text)
		}
		status, entries := r.export.View.Status, t.entries(r.id)
		if (status == refund.StatusRejected || status == refund.StatusExpired) && len(entries) > 0 && t.outside[r.id] == "" {
			violations = append(violations, fmt.Sprintf("run %s is %s and the ledger holds its entry %s", r.name, statusText(r), entries[0].RefundID))
		}
	}
	return violations
}

// forgottenRefusal names a refusal or tombstone that the provider answered and did not store, where its profile remembers: what
// is stored has to be what was answered.
func (t *trial) forgottenRefusal(r run) string {
	if !t.promise.idempotent || t.promise.expires {
		return ""
	}
	stored := "nothing"
	for _, o := range t.Provider.Operations {
		if o.OperationID == r.id {
			stored = o.Result
		}
	}
	for _, request := range t.Provider.Received {
		refused := request.Outcome == "tombstone" || request.Outcome == "refusal"
		if request.OperationID == r.id && refused && request.Outcome != stored {
			return fmt.Sprintf("run %s: the provider answered request %d (%s) with a %s and has stored %s", r.name, request.N, request.Verb, request.Outcome, stored)
		}
	}
	return ""
}

func statusText(r run) string {
	if r.export.View.Reason != "" {
		return fmt.Sprintf("%s(%s)", r.export.View.Status, r.export.View.Reason)
	}
	return string(r.export.View.Status)
}

// I7: per order, what was refunded is the sum of its entries and no more than what was captured.
func withinCapture(t *trial) []string {
	var violations []string
	for _, order := range t.Provider.Orders {
		sum := order.Opening
		for _, e := range t.Provider.Ledger {
			if e.Tenant != order.Tenant || e.Order != order.ID {
				continue
			}
			if e.Amount.Currency != order.Currency {
				violations = append(violations, fmt.Sprintf("entry %s moved %s of order %s/%s, which is in %s", e.RefundID, e.Amount, order.Tenant, order.ID, order.Currency))
			}
			sum += e.Amount.Minor
		}
		if sum > order.Captured {
			violations = append(violations, fmt.Sprintf("order %s/%s: %d minor units were refunded, %d were captured", order.Tenant, order.ID, sum, order.Captured))
		}
		if sum != order.Refunded {
			violations = append(violations, fmt.Sprintf("order %s/%s: its entries make %d minor units, the order says %d", order.Tenant, order.ID, sum, order.Refunded))
		}
	}
	return violations
}

// I8: two requests with equal parameters and different request ids are two operations, and neither lives on the other's receipt.
func equalIsNotSame(t *trial) []string {
	var violations []string
	runs := t.present()
	for i, a := range runs {
		for _, b := range runs[i+1:] {
			p, q := a.facts.Intake.Request, b.facts.Intake.Request
			if p.RequestID == q.RequestID || p.Tenant != q.Tenant || p.Order != q.Order || p.Amount != q.Amount || p.Reason != q.Reason {
				continue
			}
			if a.id == b.id {
				violations = append(violations, fmt.Sprintf("runs %s and %s have equal parameters and were taken for one operation %s", a.name, b.name, a.id))
			} else if ra, rb := a.facts.Receipt, b.facts.Receipt; ra != nil && rb != nil && ra.RefundID == rb.RefundID {
				violations = append(violations, fmt.Sprintf("runs %s and %s have equal parameters and share receipt %s", a.name, b.name, ra.RefundID))
			}
		}
	}
	return violations
}
