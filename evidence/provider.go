package evidence

import "refundlab/refund"

// Provider is the outside world at the end of a trial, dumped by the provider's own process (or, under the profile "local",
// read from the journal's file). Lists are in the order in which the world saw them.
type Provider struct {
	Profile    refund.ProfileName `json:"profile"`
	Orders     []Order            `json:"orders"`
	Operations []Operation        `json:"operations"`
	Ledger     []Entry            `json:"ledger"`
	Received   []Received         `json:"received"`
	Bill       []ModelRequest     `json:"bill"`
	Notices    []NoticeArrival    `json:"notices"`
}

// Order is one order of one tenant.
type Order struct {
	Tenant string `json:"tenant"`
	refund.Order
	// Opening is what was refunded already when the order was put in, before the ledger's first entry; in minor units.
	Opening int64 `json:"opening_refunded_minor,omitempty"`
}

// Operation is what an idempotent provider remembers.
type Operation struct {
	Tenant      string             `json:"tenant"`
	Kind        string             `json:"kind"`
	OperationID refund.OperationID `json:"operation_id"`
	Digest      refund.Digest      `json:"digest"`
	Result      string             `json:"result"` // "receipt", "refusal" or "tombstone"
	Code        refund.Code        `json:"code,omitempty"`
	RefundID    string             `json:"refund_id,omitempty"`
	Fence       refund.Fence       `json:"fence"`
	At          refund.Instant     `json:"at"`
}

// Entry is one line of the ledger: money that moved.
type Entry struct {
	RefundID     string             `json:"refund_id"`
	Tenant       string             `json:"tenant"`
	OperationID  refund.OperationID `json:"operation_id"`
	Digest       refund.Digest      `json:"digest"`
	Order        string             `json:"order"`
	Amount       refund.Money       `json:"amount"`
	OrderVersion int64              `json:"order_version"` // that the provider saw at the commit
	DecisionID   string             `json:"decision_id"`
	Fence        refund.Fence       `json:"fence"`
	At           refund.Instant     `json:"at"` // by the provider's clock
}

// Received is one request that reached the provider, whatever became of it.
type Received struct {
	N           int64              `json:"n"`
	Verb        string             `json:"verb"` // "submit", "lookup" or "close"
	OperationID refund.OperationID `json:"operation_id"`
	Digest      refund.Digest      `json:"digest,omitempty"` // computed from the body
	Fence       *refund.Fence      `json:"fence,omitempty"`
	// Outcome is what the provider decided, whether or not its answer arrived: committed, receipt, refusal, tombstone,
	// conflict, stale-fence, not-found, refused-by-control, aborted, error; "" when the provider's process died before it could
	// say so, though the ledger may hold the effect.
	Outcome string         `json:"outcome"`
	Code    refund.Code    `json:"code,omitempty"`
	At      refund.Instant `json:"at"`
}

// ModelRequest is one request on the model's bill.
type ModelRequest struct {
	N           int64              `json:"n"`
	OperationID refund.OperationID `json:"operation_id"`
	AnswerID    string             `json:"answer_id,omitempty"` // "" when it never answered
	Answered    string             `json:"answered"`            // the kind of answer: "good", "cut", "status 500" ...
	Tokens      int64              `json:"tokens"`
	At          refund.Instant     `json:"at"`
}

// NoticeArrival is one delivery at the receiver of notices.
type NoticeArrival struct {
	N int64 `json:"n"`
	refund.Notice
	Duplicate bool `json:"duplicate"` // removed by the receiver: this revision or a later one was there already
}
