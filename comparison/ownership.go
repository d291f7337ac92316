package comparison

import (
	"fmt"
	"slices"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// I6: after a hand-over, no write of the old owner takes effect, neither in the engine's record nor, where the provider keeps
// fences, in the ledger.
func noWriteOfOldOwner(t *trial) []string {
	var violations []string
	for _, r := range t.present() {
		var highest refund.Fence
		for _, fact := range r.export.Facts {
			if fact.Fence == (refund.Fence{}) { // written by a client, not by an owner
				continue
			}
			if fact.Fence.Less(highest) {
				violations = append(violations, fmt.Sprintf("run %s: fact %d (%s, by %s) bears fence %s, after one with fence %s was recorded",
					r.name, fact.Seq, fact.Kind, fact.Party, fenceText(fact.Fence), fenceText(highest)))
				continue
			}
			highest = fact.Fence
		}
		violations = append(violations, journalWrites(t, r)...)
		violations = append(violations, writesBeyondLease(t, r)...)
		if t.promise.fence {
			violations = append(violations, providerWrites(t, r)...)
		}
	}
	return violations
}

func fenceText(f refund.Fence) string { return fmt.Sprintf("%d.%d", f.Term, f.Seq) }

// ownerWrites are the boundaries at which an owner of the journal writes.
var ownerWrites = []faults.Boundary{
	faults.ModelBudget, faults.Proposal, faults.Intent, faults.Observed, faults.Outcome, faults.Notified, faults.Renewal,
	faults.ProviderCommit, // under "local", where it is the journal's own transaction
}

// journalWrites looks for writes that began after another worker's claim and went through nevertheless.
func journalWrites(t *trial, r run) []string {
	type claim struct {
		evidence.Crossing
		held refund.Fence
	}
	var claims []claim
	for _, c := range t.crossings(faults.Claim, faults.After, r.id) {
		if held, ok := parseFence(c.Fence); ok && !refused(c) {
			claims = append(claims, claim{c, held})
		}
	}
	var violations []string
	for _, boundary := range ownerWrites {
		if boundary == faults.ProviderCommit && !t.promise.shared {
			continue // a provider of its own: providerWrites looks at what it promised
		}
		for _, done := range t.crossings(boundary, faults.After, r.id) {
			fence, ok := parseFence(done.Fence)
			begun, found := t.beginningOf(done)
			if !ok || !found || refused(done) {
				continue
			}
			newer := slices.IndexFunc(claims, func(c claim) bool { return c.Seq <= begun.Seq && fence.Less(c.held) })
			if newer >= 0 {
				violations = append(violations, fmt.Sprintf("run %s: %s wrote %s with fence %s after %s had claimed it with %s",
					r.name, done.Process, boundary, fenceText(fence), claims[newer].Process, fenceText(claims[newer].held)))
			}
		}
	}
	return violations
}

// writesBeyondLease looks for writes that began when the owner's lease was over and nobody else had claimed the run yet. A lease
// begins in the transaction that claims or renews it, so it is over at the latest one lease after that was announced.
func writesBeyondLease(t *trial, r run) []string {
	if t.Trial.Engine == "temporal" {
		return nil
	}
	var violations []string
	until := map[string]refund.Instant{} // by fence
	for _, c := range t.Trace {
		if c.Operation != string(r.id) || c.Point.When != faults.After || refused(c) {
			continue
		}
		if slices.Contains(ownerWrites, c.Point.Boundary) && until[c.Fence] != 0 && t.isWorker(c.Process) {
			if begun := t.begun(c); begun >= until[c.Fence] {
				violations = append(violations, fmt.Sprintf("run %s: %s wrote %s with fence %s, begun %d ms after its lease was over",
					r.name, c.Process, c.Point.Boundary, c.Fence, begun-until[c.Fence]))
			}
		}
		if c.Point.Boundary == faults.Claim || c.Point.Boundary == faults.Renewal {
			until[c.Fence] = c.At + refund.Instant(t.Trial.Budget.LeaseMS)
		}
	}
	return violations
}

// beginningOf is the before side of a write whose after side is given: the last one of the same owner about the same run. Counting
// both sides does not pair them where a worker writes for several runs at a time and one of the writes is kept waiting.
func (t *trial) beginningOf(done evidence.Crossing) (before evidence.Crossing, found bool) {
	point := done.Point
	point.When = faults.Before
	for _, c := range slices.Backward(t.Trace) {
		if c.Seq < done.Seq && c.Point == point && c.Process == done.Process && c.Operation == done.Operation && c.Fence == done.Fence && !wentNowhere(c) {
			return c, true
		}
	}
	return evidence.Crossing{}, false
}

// begun is when, at the earliest, a write began whose after side is given: when its before side was let go.
func (t *trial) begun(done evidence.Crossing) refund.Instant {
	before, found := t.beginningOf(done)
	if !found {
		return 0
	}
	at := before.At
	for _, c := range t.Trace {
		if c.Seq >= before.Seq && c.Seq <= before.DoneSeq {
			at = c.At
		}
	}
	for _, step := range t.Trial.Steps { // the script lets go what was frozen or held long after the last crossing
		if step.StartSeq <= before.DoneSeq {
			at = max(at, step.StartedAt)
		}
	}
	return at
}

// providerWrites follows the fences of the requests that the provider answered, and those of its commits.
func providerWrites(t *trial, r run) []string {
	var violations []string
	for i, request := range t.Provider.Received {
		if request.OperationID != r.id || request.Fence == nil || !(answered(request) || request.Outcome == "not-found") {
			continue
		}
		for _, before := range t.Provider.Received[:i] {
			if before.OperationID == r.id && before.Fence != nil && request.Fence.Less(*before.Fence) && t.answeredBefore(before, request) {
				violations = append(violations, fmt.Sprintf("run %s: the provider answered request %d (%s, fence %s) with %q after it had seen fence %s",
					r.name, request.N, request.Verb, fenceText(*request.Fence), request.Outcome, fenceText(*before.Fence)))
				break
			}
		}
	}
	var committed refund.Fence
	for _, commit := range t.crossings(faults.ProviderCommit, faults.After, r.id) {
		fence, ok := parseFence(commit.Fence)
		if !ok || !answeredAs(commit.Detail["outcome"]) {
			continue
		}
		if fence.Less(committed) {
			violations = append(violations, fmt.Sprintf("run %s: the provider committed under fence %s after fence %s", r.name, fenceText(fence), fenceText(committed)))
		}
		committed = fence
	}
	return violations
}

// answeredBefore tells whether the provider had answered one request before another arrived: requests that are inside at the same
// time may be taken in any order, and only what was taken has raised the fence.
func (t *trial) answeredBefore(one, other evidence.Received) bool {
	answered := t.seqAtProvider(one, faults.After)
	arrived := t.seqAtProvider(other, faults.Before)
	return answered == 0 || arrived == 0 || answered < arrived
}

// seqAtProvider is the sequence number at which a request stood at the provider's door; for a look-up or close, which the
// provider does not announce, at its caller's. 0 where nobody announced it.
func (t *trial) seqAtProvider(request evidence.Received, when faults.When) int64 {
	boundary := map[string]faults.Boundary{"submit": faults.ProviderRecv, "lookup": faults.LookupCall, "close": faults.CloseCall}[request.Verb]
	for _, c := range t.crossings(boundary, when, request.OperationID) {
		if c.Fence == fenceText(*request.Fence) {
			return c.Seq
		}
	}
	return 0
}
