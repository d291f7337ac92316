package ledger

import (
	"time"

	"refundlab/provider"
	"refundlab/refund"
)

// Promise is what this ledger keeps: a row of the table of profiles, with the two durations that the row leaves open.
type Promise struct {
	refund.Profile
	// Retention is how long a result is remembered where Profile.Expires.
	Retention time.Duration
	// Lag is how far the replica is behind where Profile.Lookup is lagging, or LagManual.
	Lag time.Duration
}

// LagManual means that the replica stands still until CatchUp.
const LagManual time.Duration = -1

// Outcome is what the ledger decided about one request.
type Outcome string

// The outcomes.
const (
	Committed  Outcome = "committed" // a new entry
	Receipt    Outcome = "receipt"   // an entry that was there before
	Refusal    Outcome = "refusal"
	Tombstone  Outcome = "tombstone"
	Conflict   Outcome = "conflict"    // the operation id is bound to another digest (I9)
	StaleFence Outcome = "stale-fence" // a newer owner was seen (I6)
	NotFound   Outcome = "not-found"
)

// Result is the ledger's answer. Exactly what its Outcome names is set.
type Result struct {
	Outcome Outcome
	Receipt *refund.Receipt // with Committed and Receipt
	Code    refund.Code     // with every outcome that is not a receipt
	Message string          // for a person
	Digest  refund.Digest   // with Refusal: what was refused
	Fence   refund.Fence    // with StaleFence: the current pair
}

// Answer is the result as a caller in the same process sees it, by the same checks as an answer that came over a network.
func (r Result) Answer(in refund.Intake) provider.Answer {
	switch r.Outcome {
	case Committed, Receipt:
		return provider.ReceiptAnswer(in, *r.Receipt)
	case Refusal, Tombstone:
		return provider.RefusalAnswer(in, r.Code, r.Digest, r.Message)
	case Conflict:
		return provider.Answer{Observation: refund.ObservedConflict, Detail: r.Message}
	case StaleFence:
		return provider.Answer{Observation: refund.ObservedStaleFence, Fence: r.Fence, Detail: r.Message}
	}
	return provider.Answer{Observation: refund.ObservedNotFound, Detail: r.Message}
}
