package provider

import "refundlab/refund"

// Digest is computed from the body, as the provider must do: a digest that a caller sent would only repeat its claim.
func (s Submission) Digest() refund.Digest {
	return refund.DigestOf(s.Tenant, s.Kind, s.OperationID, s.Order, s.Amount, s.Reason)
}

// Query is the body of a look-up or a close. A reader's look-up has no fence.
type Query struct {
	Ref
	Fence *refund.Fence `json:"fence,omitempty"`
}

// Problem is the body of every answer of the refund service that is neither a receipt nor an order. Code and operation id
// are what makes it the provider's own word about this operation: a proxy's 422 has neither.
type Problem struct {
	Code        refund.Code        `json:"code"`
	Message     string             `json:"message"`
	OperationID refund.OperationID `json:"operation_id,omitempty"`
	Digest      refund.Digest      `json:"digest,omitempty"` // with a refusal: what was refused
	Fence       *refund.Fence      `json:"fence,omitempty"`  // with STALE_FENCE: the current pair
}

// MaxBody bounds every body of the refund service and of notices, in bytes. The largest real one, with a reason of 500 bytes
// escaped throughout, stays below a tenth of it.
const MaxBody = 64 << 10

// ProfileHeader names the provider's profile in every answer of the refund service.
const ProfileHeader = "Refundlab-Profile"

// ReceiptAnswer is the answer that carries a receipt, once it is checked: what is not a receipt for this intake is not shown
// as one (I2, I9).
func ReceiptAnswer(in refund.Intake, receipt refund.Receipt) Answer {
	switch seen := refund.CheckReceipt(in, receipt); seen {
	case refund.ObservedReceipt:
		return Answer{Observation: seen, Receipt: &receipt}
	case refund.ObservedConflict:
		return Answer{Observation: seen, Detail: "receipt " + receipt.RefundID + " is for something else than this operation"}
	default:
		return Answer{Observation: seen, Detail: "receipt lacks a part"}
	}
}

// RefusalAnswer is the answer to a refusal in the provider's own words. Only the codes that the provider gives count, and one
// that speaks of another digest is a conflict: it was something else that was refused (I9). Only a tombstone may lack the
// digest: it is also written for an id that was never seen.
func RefusalAnswer(in refund.Intake, code refund.Code, digest refund.Digest, detail string) Answer {
	switch code {
	case refund.CodeOrderNotFound, refund.CodeCurrencyMismatch, refund.CodeInsufficientBalance, refund.CodeOrderVersionChanged,
		refund.CodeApprovalExpired, refund.CodeClosed:
	default:
		return Answer{Observation: refund.ObservedAmbiguous, Detail: "refusal with the unknown code " + string(code)}
	}
	switch {
	case digest == "" && code != refund.CodeClosed:
		return Answer{Observation: refund.ObservedAmbiguous, Detail: "refusal " + string(code) + " does not say what was refused"}
	case digest != "" && digest != in.Digest:
		return Answer{Observation: refund.ObservedConflict, Detail: "provider refused other parameters under this operation id: " + detail}
	}
	return Answer{Observation: refund.ObservedRefusal, Refusal: code, Detail: detail}
}
