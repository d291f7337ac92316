package refund

import (
	"crypto/sha1" //nolint:gosec // RFC 9562 defines UUID version 5 over SHA-1; it names, it does not protect.
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
)

// OperationID names one business intent: the same for every attempt, restart, reset and replay, on both engines. It is
// made from the caller's own request id, never by a model, an attempt or a run.
type OperationID string

// namespace is this project's own UUID for names (RFC 9562, section 5.5).
var namespace = [16]byte{0x5f, 0x1c, 0x6e, 0x0b, 0x93, 0x4a, 0x4d, 0x7e, 0x8a, 0x52, 0x2b, 0xd0, 0x71, 0xe8, 0x4c, 0x39}

// NewOperationID is the UUID version 5 of the three names. Each is preceded by its length, so that ("ab","c") and
// ("a","bc") can never meet.
func NewOperationID(tenant, kind, requestID string) OperationID {
	hash := sha1.New() //nolint:gosec // see the import
	hash.Write(namespace[:])
	hash.Write(lengthPrefixed(tenant, kind, requestID))
	var id [16]byte
	copy(id[:], hash.Sum(nil))
	id[6] = id[6]&0x0f | 0x50
	id[8] = id[8]&0x3f | 0x80
	return OperationID(fmt.Sprintf("%x-%x-%x-%x-%x", id[0:4], id[4:6], id[6:8], id[8:10], id[10:16]))
}

// ParseOperationID checks the form of an operation id.
//
// Errors: INVALID_IDENTITY.
func ParseOperationID(value string) (OperationID, error) {
	valid := len(value) == 36
	for i := 0; valid && i < len(value); i++ {
		c := value[i]
		if i == 8 || i == 13 || i == 18 || i == 23 {
			valid = c == '-'
		} else {
			valid = c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
		}
	}
	if !valid {
		return "", Errorf(CodeInvalidIdentity, "operation id %q is not a lower-case UUID such as the one that \"request\" printed", clip(value))
	}
	return OperationID(value), nil
}

// Digest binds an operation id to what the caller asked: lower-case hex of a SHA-256.
type Digest string

// digestVersion stands at the head of the hashed bytes; another set or order of fields needs another version.
const digestVersion = "refundlab.digest.v1"

// Digest decides whether a repeated key means the same thing (I9). It covers tenant, kind, operation id, order, amount,
// currency and reason; not the requester, who may be another front end's spelling of the same caller's intent.
func (r Request) Digest() Digest {
	id := NewOperationID(r.Tenant, Kind, r.RequestID)
	return DigestOf(r.Tenant, Kind, id, r.Order, r.Amount, r.Reason)
}

// DigestOf is the digest of its parts, for a party that has the operation id but not the request id.
func DigestOf(tenant, kind string, id OperationID, order string, amount Money, reason string) Digest {
	sum := sha256.Sum256(lengthPrefixed(digestVersion, tenant, kind, string(id), order,
		strconv.FormatInt(amount.Minor, 10), amount.Currency, reason))
	return Digest(hex.EncodeToString(sum[:]))
}

// lengthPrefixed puts each part's length in bytes (8 bytes, big-endian) before the part.
func lengthPrefixed(parts ...string) []byte {
	var out []byte
	for _, part := range parts {
		out = binary.BigEndian.AppendUint64(out, uint64(len(part)))
		out = append(out, part...)
	}
	return out
}

// ContentHash is the SHA-256, in lower-case hex, of length-prefixed parts; exports use it to show that two records say
// the same without showing what.
func ContentHash(parts ...string) string {
	sum := sha256.Sum256(lengthPrefixed(parts...))
	return hex.EncodeToString(sum[:])
}

// Decimal is the one spelling of a number in content hashes and references.
func Decimal(n int64) string { return strconv.FormatInt(n, 10) }

// OperationState is what is known of the effect, apart from what the run does next.
type OperationState string

// The five states of an operation.
const (
	StatePrepared  OperationState = "PREPARED"  // nothing was sent
	StateSubmitted OperationState = "SUBMITTED" // the intent is durable: it may have been sent
	StateUnknown   OperationState = "UNKNOWN"   // an answer was ambiguous or could not be had
	StateConfirmed OperationState = "CONFIRMED" // a checked receipt is recorded
	StateRejected  OperationState = "REJECTED"  // a stored refusal, or a refusal before anything was sent
)

// OperationEvent is what happens to an operation.
type OperationEvent string

// The events of an operation.
const (
	EventIntent    OperationEvent = "INTENT"    // the intent to call was made durable
	EventAmbiguous OperationEvent = "AMBIGUOUS" // no answer, or none that counts
	EventReceipt   OperationEvent = "RECEIPT"   // a receipt that passed CheckReceipt
	EventRefusal   OperationEvent = "REFUSAL"   // the provider's stored refusal or tombstone
	EventWithdrawn OperationEvent = "WITHDRAWN" // refused by a rule, a person or a deadline before anything was sent
)

// transitions lists every legal move; what is not listed is refused.
var transitions = map[OperationState]map[OperationEvent]OperationState{
	StatePrepared:  {EventIntent: StateSubmitted, EventWithdrawn: StateRejected},
	StateSubmitted: {EventIntent: StateSubmitted, EventAmbiguous: StateUnknown, EventReceipt: StateConfirmed, EventRefusal: StateRejected, EventWithdrawn: StateRejected},
	StateUnknown:   {EventIntent: StateUnknown, EventAmbiguous: StateUnknown, EventReceipt: StateConfirmed, EventRefusal: StateRejected},
	StateConfirmed: {EventReceipt: StateConfirmed},
	StateRejected:  {EventRefusal: StateRejected},
}

// After returns the state that event leads to, or false when the move is not legal. A final state takes only its own
// event again: nothing turns CONFIRMED into REJECTED or back (I2, I3), and UNKNOWN never becomes REJECTED without a
// refusal of the provider's, because a time-out is an observation and not a verdict (I4).
func (s OperationState) After(event OperationEvent) (OperationState, bool) {
	next, ok := transitions[s][event]
	return next, ok
}

// Final tells whether the state can no longer change.
func (s OperationState) Final() bool { return s == StateConfirmed || s == StateRejected }

// Fence is ownership of one operation, compared as a pair and growing with every hand-over: (lease generation, 0) of the
// journal, (round, attempt) of the workflow.
type Fence struct {
	Term int64 `json:"term"`
	Seq  int64 `json:"seq"`
}

// Less orders fences by term, then by sequence.
func (f Fence) Less(other Fence) bool {
	return f.Term < other.Term || f.Term == other.Term && f.Seq < other.Seq
}

// Receipt is the provider's proof for one operation.
type Receipt struct {
	RefundID    string      `json:"refund_id"`
	OperationID OperationID `json:"operation_id"`
	Digest      Digest      `json:"digest"`
	Order       string      `json:"order"`
	Amount      Money       `json:"amount"`
	At          Instant     `json:"at"`
}

// Order is what the provider says of an order.
type Order struct {
	ID       string `json:"id"`
	Currency string `json:"currency"`
	Captured int64  `json:"captured_minor"`
	Refunded int64  `json:"refunded_minor"`
	Version  int64  `json:"version"`
}
