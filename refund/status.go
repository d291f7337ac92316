package refund

// RunStatus is what a client is told about a run.
type RunStatus string

// The seven run statuses.
const (
	StatusPending          RunStatus = "PENDING"
	StatusApprovalRequired RunStatus = "APPROVAL_REQUIRED"
	StatusRetryable        RunStatus = "RETRYABLE" // approved, no outcome; nothing was sent, or the same operation may be sent again
	StatusUnknown          RunStatus = "UNKNOWN"   // approved, sent, no outcome, and it may not be sent again
	StatusConfirmed        RunStatus = "CONFIRMED"
	StatusRejected         RunStatus = "REJECTED"
	StatusExpired          RunStatus = "EXPIRED"
)

// Terminal tells whether the status is final for its request id.
func (s RunStatus) Terminal() bool {
	return s == StatusConfirmed || s == StatusRejected || s == StatusExpired
}

// Facts are what an engine has recorded about one run, and nothing that it infers.
type Facts struct {
	Intake      Intake            `json:"intake"`
	ModelCalls  int               `json:"model_calls"` // calls reserved from the budget
	Proposal    *Proposal         `json:"proposal,omitempty"`
	Decision    *Decision         `json:"decision,omitempty"` // the accepted one
	Verdicts    []RecordedVerdict `json:"verdicts,omitempty"`
	Expired     bool              `json:"expired,omitempty"`
	State       OperationState    `json:"state"`
	FirstSentAt Instant           `json:"first_sent_at,omitempty"` // of the first intent that may have let something leave
	Receipt     *Receipt          `json:"receipt,omitempty"`
	Rejected    Code              `json:"rejected,omitempty"`
	Conflict    string            `json:"conflict,omitempty"`
	// Lapsed is the code of a check that failed when something may have been sent already: authority to send is gone for
	// good, and no refusal is known.
	Lapsed         Code        `json:"lapsed,omitempty"`
	PresumedAbsent *Settlement `json:"presumed_absent,omitempty"`
	// Closing: a person has settled by close, so the operation is closed by whoever owns the run, and never sent again.
	Closing bool `json:"closing,omitempty"`
	// Last is the last recorded answer that decided nothing, for a person who asks why the run does not move: its
	// observation and detail. Empty once there is an outcome.
	Last string `json:"last,omitempty"`
}

// StatusOf is the one rule from facts to status, for both engines' clients, with or without a worker alive. now only moves
// RETRYABLE to UNKNOWN: expiry is what the engine recorded and never inferred from a clock.
func StatusOf(f Facts, p Profile, now Instant) RunStatus {
	switch {
	case f.State == StateConfirmed:
		return StatusConfirmed
	case f.State == StateRejected:
		return StatusRejected
	case f.Expired:
		return StatusExpired
	case f.Proposal == nil:
		return StatusPending
	case f.Decision == nil:
		return StatusApprovalRequired
	case f.Decision.Choice == ChoiceReject:
		return StatusRejected // by a person: nothing may be sent, whatever else is recorded later
	case f.Conflict != "" || f.PresumedAbsent != nil || f.Closing:
		return StatusUnknown
	case f.State == StatePrepared || f.FirstSentAt == 0: // nothing was sent
		return StatusRetryable
	}
	next := Next(Situation{
		Profile:     p,
		Observation: ObservedNothing,
		Authorised:  f.Lapsed == "" && now.Before(f.Intake.CommitBy()),
		Sent:        true,
		Retained:    Retained(f.Intake.Terms, f.FirstSentAt, now),
	})
	if next == ActSend {
		return StatusRetryable
	}
	return StatusUnknown
}

// Settlement is a person's word about a run that is UNKNOWN.
type Settlement struct {
	SettlementID string         `json:"settlement_id"`
	OperationID  OperationID    `json:"operation_id"`
	Kind         SettlementKind `json:"kind"`
	Receipt      *Receipt       `json:"receipt,omitempty"` // with SettleReceipt
	By           string         `json:"by"`
	Reason       string         `json:"reason"`
}

// SettlementKind is how a person settles.
type SettlementKind string

// The three ways. Which one is open depends on the profile: see CheckSettlement.
const (
	SettleReceipt        SettlementKind = "receipt"         // a receipt got by other means: CONFIRMED
	SettleClose          SettlementKind = "close"           // get-or-tombstone at the provider: CONFIRMED or REJECTED
	SettlePresumedAbsent SettlementKind = "presumed-absent" // an annotation: the run stays UNKNOWN, is never sent again, leaves the open list
)

// NewSettlement checks what can be checked without the run's facts, and brings a settlement to its one spelling.
//
// Errors: INVALID_IDENTITY, INVALID_REASON, INVALID_DECISION.
func NewSettlement(in Settlement) (Settlement, error) {
	out := in
	var err error
	if out.SettlementID, err = ParseIdentity("settlement id", in.SettlementID); err != nil {
		return Settlement{}, err
	}
	if out.OperationID, err = ParseOperationID(string(in.OperationID)); err != nil {
		return Settlement{}, err
	}
	if out.By, err = ParseIdentity("name of the person who settles", in.By); err != nil {
		return Settlement{}, err
	}
	if out.Reason, err = parseText("reason", in.Reason); err != nil {
		return Settlement{}, err
	}
	switch in.Kind {
	case SettleReceipt:
		if in.Receipt == nil {
			return Settlement{}, Errorf(CodeInvalidDecision, "settlement by receipt has no receipt: give the one that the provider issued")
		}
	case SettleClose, SettlePresumedAbsent:
		if in.Receipt != nil {
			return Settlement{}, Errorf(CodeInvalidDecision, "settlement by %s carries a receipt: leave it out or settle by receipt", in.Kind)
		}
	default:
		return Settlement{}, Errorf(CodeInvalidDecision, "settlement kind %q is unknown: it is receipt, close or presumed-absent", clip(string(in.Kind)))
	}
	return out, nil
}

// CheckSettlement checks a person's settlement against the recorded facts. It cannot see whether an attempt is still
// running: each engine refuses until lease or attempt is over.
//
// Errors: INVALID_IDENTITY, INVALID_REASON, INVALID_DECISION, SETTLEMENT_REFUSED.
func CheckSettlement(s Settlement, f Facts, p Profile, now Instant) (Settlement, error) {
	out, err := NewSettlement(s)
	if err != nil {
		return Settlement{}, err
	}
	if s.OperationID != f.Intake.OperationID {
		return Settlement{}, Errorf(CodeSettlementRefused, "settlement speaks of operation %q, this is %q", s.OperationID, f.Intake.OperationID)
	}
	status := StatusOf(f, p, now)
	if status != StatusUnknown && status != StatusRetryable || f.State == StatePrepared {
		return Settlement{}, Errorf(CodeSettlementRefused, "run is %s with operation state %s: only a run whose outcome is unknown can be settled", status, f.State)
	}
	if f.Conflict != "" && s.Kind != SettlePresumedAbsent {
		return Settlement{}, Errorf(CodeSettlementRefused, "run has the conflict %q: a person can only annotate it", f.Conflict)
	}
	switch s.Kind {
	case SettleReceipt:
		if seen := CheckReceipt(f.Intake, *s.Receipt); seen != ObservedReceipt {
			return Settlement{}, Errorf(CodeSettlementRefused, "receipt %q does not belong to this operation: digest, order or amount differ, or a part is missing", s.Receipt.RefundID)
		}
	case SettleClose:
		if !p.Close {
			return Settlement{}, Errorf(CodeSettlementRefused, "profile %s has no close: settle with a receipt, or record presumed-absent", p.Name)
		}
	case SettlePresumedAbsent:
		if p.Close && f.Conflict == "" {
			return Settlement{}, Errorf(CodeSettlementRefused, "profile %s has a close, which proves absence: settle with close", p.Name)
		}
		// Whoever may send again will be told what became of the operation; to presume would be to stop asking (I4).
		if status == StatusRetryable {
			return Settlement{}, Errorf(CodeSettlementRefused, "run is %s: the engine may still send the operation and learn its outcome: let it, or settle with a receipt", status)
		}
	}
	return out, nil
}
