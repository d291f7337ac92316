package refund

// Observation is what one call to the provider showed. It is never a verdict by itself: Next says what it allows.
type Observation string

// The observations.
const (
	ObservedNothing    Observation = "NOTHING"     // no call has ended yet, for instance after a crash
	ObservedReceipt    Observation = "RECEIPT"     // a receipt that passed CheckReceipt
	ObservedRefusal    Observation = "REFUSAL"     // the provider's own code for this operation, stored there
	ObservedConflict   Observation = "CONFLICT"    // the key is bound to something else
	ObservedAmbiguous  Observation = "AMBIGUOUS"   // time-out, cut connection, malformed answer, any other status
	ObservedNotFound   Observation = "NOT_FOUND"   // a look-up saw nothing, which proves nothing
	ObservedStaleFence Observation = "STALE_FENCE" // speaks about the caller, not about the refund
	ObservedUnsent     Observation = "UNSENT"      // the check before the call failed, so this attempt sent nothing
)

// CheckReceipt compares a receipt with what was asked, before anything is recorded (I2, I9). A receipt that lacks a part
// is ambiguous: the effect may be there and its proof is not. A whole receipt for something else is a conflict.
func CheckReceipt(in Intake, r Receipt) Observation {
	if r.RefundID == "" || r.Digest == "" || r.OperationID == "" || r.Order == "" || r.Amount.Minor == 0 || r.Amount.Currency == "" || r.At <= 0 {
		return ObservedAmbiguous
	}
	if r.OperationID != in.OperationID || r.Digest != in.Digest || r.Order != in.Request.Order || r.Amount != in.Request.Amount {
		return ObservedConflict
	}
	return ObservedReceipt
}

// Situation is everything that decides what may be done next about one operation.
type Situation struct {
	Profile     Profile
	Observation Observation
	// Authorised: decision, deadline, order version and balance held at the last check.
	Authorised bool
	// Sent: something may have left under this operation, in this or an earlier attempt.
	Sent bool
	// Retained: a request sent now is answered before the provider forgets the first one (see Retained).
	Retained bool
}

// Action is what an engine does next.
type Action string

// The actions.
const (
	ActConfirm Action = "CONFIRM" // record the receipt
	ActReject  Action = "REJECT"  // record the refusal
	ActSend    Action = "SEND"    // send the operation, the same one if it was sent before
	ActLookUp  Action = "LOOK_UP"
	ActClose   Action = "CLOSE"
	ActHold    Action = "HOLD" // UNKNOWN until a person settles: nothing that may be asked would tell
)

// Next is the rule after an observation. Reading its order: what is proved is recorded; a conflict is never touched
// again; what was never sent may be sent or withdrawn freely; then the profile decides.
func Next(s Situation) Action {
	switch s.Observation {
	case ObservedReceipt:
		return ActConfirm
	case ObservedRefusal:
		return ActReject
	case ObservedConflict:
		return ActHold
	}
	// An ambiguous answer is an answer to something sent, and a stale fence means that another owner was ahead and may have
	// sent: neither can be withdrawn as if nothing had left.
	sent := s.Sent || s.Observation == ObservedAmbiguous || s.Observation == ObservedStaleFence
	if !sent {
		if s.Authorised {
			return ActSend
		}
		return ActReject
	}
	// Something may be on its way. "Looked up, not found" never allows a second send where the provider would take it
	// for a second refund (I1): the first may still land.
	if s.Profile.Idempotent && s.Authorised && (!s.Profile.Expires || s.Retained) {
		return ActSend
	}
	if s.Profile.Close {
		return ActClose
	}
	if s.Profile.Lookup != LookupNone {
		return ActLookUp
	}
	return ActHold
}

// Retained tells whether a request sent at now, and answered within the call's time-out, arrives while the provider still
// remembers the operation: now + time-out < first send + retention.
func Retained(t Terms, firstSent, now Instant) bool {
	return firstSent == 0 || now+Instant(t.CallTimeout) < firstSent+Instant(t.Retention)
}

// CheckOrder is the eligibility of a request against the order as it was read: the check before the proposal and before
// every send. shown is the order version that the person saw, or 0 before anyone was shown one. It returns "" or the
// code of the first rule that fails.
func CheckOrder(r Request, order Order, shown int64) Code {
	switch {
	case order.ID != r.Order:
		return CodeOrderNotFound
	case order.Currency != r.Amount.Currency:
		return CodeCurrencyMismatch
	case shown != 0 && order.Version != shown:
		return CodeOrderVersionChanged
	case r.Amount.Minor > order.Captured-order.Refunded:
		return CodeInsufficientBalance
	}
	return ""
}
