package refund

import "strings"

// Choice is what a person decided.
type Choice string

// The two choices.
const (
	ChoiceApprove Choice = "approve"
	ChoiceReject  Choice = "reject"
)

// Decision is one person's answer. It names what was shown to that person, so that consent cannot be moved to something
// else (I5), and its own id, so that a repeated message is recognised as the same decision.
type Decision struct {
	DecisionID   string      `json:"decision_id"`
	OperationID  OperationID `json:"operation_id"`
	Choice       Choice      `json:"choice"`
	Approver     string      `json:"approver"`
	Digest       Digest      `json:"digest"`
	OrderVersion int64       `json:"order_version"`
}

// NewDecision checks a decision and brings it to its one spelling.
//
// Errors: INVALID_IDENTITY, INVALID_DECISION.
func NewDecision(in Decision) (Decision, error) {
	out := in
	var err error
	if out.DecisionID, err = ParseIdentity("decision id", in.DecisionID); err != nil {
		return Decision{}, err
	}
	if out.Approver, err = ParseIdentity("approver", in.Approver); err != nil {
		return Decision{}, err
	}
	if out.OperationID, err = ParseOperationID(string(in.OperationID)); err != nil {
		return Decision{}, err
	}
	switch {
	case in.Choice != ChoiceApprove && in.Choice != ChoiceReject:
		return Decision{}, Errorf(CodeInvalidDecision, "choice %q is unknown: it is approve or reject", clip(string(in.Choice)))
	case len(in.Digest) != 64 || strings.Trim(string(in.Digest), "0123456789abcdef") != "":
		return Decision{}, Errorf(CodeInvalidDecision, "digest %q is not the 64 hex digits that status shows", clip(string(in.Digest)))
	case in.OrderVersion <= 0:
		return Decision{}, Errorf(CodeInvalidDecision, "order version %d is not one that status shows", in.OrderVersion)
	}
	return out, nil
}

// Hash is the decision's content: the same id with another hash is a conflict.
func (d Decision) Hash() string {
	return ContentHash("decision", d.DecisionID, string(d.OperationID), string(d.Choice), d.Approver, string(d.Digest), Decimal(d.OrderVersion))
}

// VerdictCode says what became of a decision. It is final for its decision id.
type VerdictCode string

// The verdicts, in the order in which Judge looks for them. EXPIRED comes third for a run that is recorded as expired, and
// after NOT_READY for one whose deadline has merely passed.
const (
	VerdictInvalid        VerdictCode = "INVALID"         // the message could not be read as a decision for this operation
	VerdictAlreadyDecided VerdictCode = "ALREADY_DECIDED" // another decision was first
	VerdictExpired        VerdictCode = "EXPIRED"         // the engine's deadline had passed
	VerdictRunClosed      VerdictCode = "RUN_CLOSED"      // the run ended before, and not for want of a decision
	VerdictNotReady       VerdictCode = "NOT_READY"       // no proposal was recorded yet: nothing could have been shown
	VerdictDigestMismatch VerdictCode = "DIGEST_MISMATCH" // something else was shown
	VerdictOrderMismatch  VerdictCode = "ORDER_MISMATCH"  // another order version was shown
	VerdictSelfApproval   VerdictCode = "SELF_APPROVAL"   // the requester may reject, not approve
	VerdictAccepted       VerdictCode = "ACCEPTED"
)

// RecordedVerdict is the one verdict that a decision id ever gets (I10).
type RecordedVerdict struct {
	DecisionID string      `json:"decision_id"`
	Hash       string      `json:"hash"`
	Code       VerdictCode `json:"verdict"`
	At         Instant     `json:"at"`
}

// Bench is what a verdict is made from: the facts as they stood when the decision arrived, in the engine's own order of
// events and by its own clock, never by a time that the sender wrote.
type Bench struct {
	Intake   Intake
	Proposal *Proposal
	Accepted *Decision // the decision that won, or nil
	Overdue  bool      // the deadline had passed when this decision arrived
	Expired  bool      // the run is recorded as EXPIRED
	Closed   bool      // the run is over for another reason
}

// Judge gives a decision its verdict. The first acceptable decision wins; one that is refused uses up nothing.
func Judge(d Decision, b Bench) VerdictCode {
	switch {
	case d.OperationID != b.Intake.OperationID:
		return VerdictInvalid
	case b.Accepted != nil:
		return VerdictAlreadyDecided
	case b.Expired:
		return VerdictExpired
	case b.Closed:
		return VerdictRunClosed
	case b.Proposal == nil:
		return VerdictNotReady
	case b.Overdue:
		return VerdictExpired
	case d.Digest != b.Intake.Digest:
		return VerdictDigestMismatch
	case d.OrderVersion != b.Proposal.OrderVersion:
		return VerdictOrderMismatch
	case d.Choice == ChoiceApprove && d.Approver == b.Intake.Request.Requester:
		return VerdictSelfApproval
	}
	return VerdictAccepted
}

// Repeat answers a decision whose id has a verdict already: the same content gets the same verdict, other content is a
// conflict and changes nothing.
//
// Errors: DECISION_CONFLICT.
func Repeat(d Decision, recorded RecordedVerdict) (RecordedVerdict, error) {
	if recorded.Hash != d.Hash() {
		return RecordedVerdict{}, Errorf(CodeDecisionConflict, "decision id %q already stands for another decision, with verdict %s: use a new id for a new decision", d.DecisionID, recorded.Code)
	}
	return recorded, nil
}

// VerdictError turns a verdict other than ACCEPTED into the error that a command ends with, and ACCEPTED into nil.
func VerdictError(v RecordedVerdict) error {
	advice := map[VerdictCode]string{
		VerdictInvalid:        "the message could not be read as a decision for this operation",
		VerdictRunClosed:      "the run is over: see its status",
		VerdictNotReady:       "the proposal is not recorded yet: read the status again and decide on what it shows, with a new decision id",
		VerdictAlreadyDecided: "another decision was first: see its status",
		VerdictExpired:        "the deadline has passed: a new refund needs a new request id",
		VerdictDigestMismatch: "the decision speaks of something else than this operation: decide on the digest that status shows",
		VerdictOrderMismatch:  "the decision speaks of another order version: decide on the version that status shows",
		VerdictSelfApproval:   "the requester cannot approve: another person must",
	}
	if v.Code == VerdictAccepted {
		return nil
	}
	return Errorf(Code(v.Code), "decision %q was not accepted: %s", v.DecisionID, advice[v.Code])
}
