package workflows

import "refundlab/refund"

// Memo fields. Each holds the latest record of its kind, so the memo stays small; every record stays in the history, where an
// upsert is an event, and there the fold reads all of them.
const (
	memoCall       = "refund.call"       // of the client's call that started the run
	memoVerdict    = "refund.verdict"    // verdictRecord
	memoSettlement = "refund.settlement" // settlementRecord
	memoReset      = "refund.reset"      // id of the run that goes on here from one that was reset
	memoEnding     = "refund.ending"     // ending
)

// verdictRecord is one verdict, with the decision where it was accepted, here or perhaps before a reset.
type verdictRecord struct {
	refund.RecordedVerdict
	Accepted *refund.Decision `json:"accepted,omitempty"`
}

// settlementRecord is what became of one settlement: taken, or refused with a code.
type settlementRecord struct {
	Settlement refund.Settlement `json:"settlement"`
	Hash       string            `json:"hash"` // of its content: the same id with another hash is another settlement
	Refused    refund.Code       `json:"refused,omitempty"`
	Detail     string            `json:"detail,omitempty"`
	At         refund.Instant    `json:"at"`
}

// ending is an end that the run decided by itself, not by an answer of the provider.
type ending struct {
	Expired  bool        `json:"expired,omitempty"`
	Rejected refund.Code `json:"rejected,omitempty"`
}

// Result is what the closed run says in Temporal's UI; the history holds the facts.
type Result struct {
	Status   refund.RunStatus `json:"status"`
	Reason   refund.Code      `json:"reason,omitempty"`
	RefundID string           `json:"refund_id,omitempty"`
}

func settlementHash(s refund.Settlement) string {
	parts := []string{"settlement", s.SettlementID, string(s.OperationID), string(s.Kind), s.By, s.Reason}
	if r := s.Receipt; r != nil {
		parts = append(parts, r.RefundID, string(r.OperationID), string(r.Digest), r.Order, refund.Decimal(r.Amount.Minor), r.Amount.Currency, refund.Decimal(int64(r.At)))
	}
	return refund.ContentHash(parts...)
}
