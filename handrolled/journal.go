package handrolled

import (
	"context"
	"time"

	"refundlab/provider"
	"refundlab/refund"
)

// Engine is this engine's name in views and reports.
const Engine = "handrolled"

// Lease is the right to move one run. Generation grows at every claim, also by the same worker, and is the run's fence
// toward the provider. The lease is over at Until itself.
type Lease struct {
	OperationID refund.OperationID `json:"operation_id"`
	Generation  int64              `json:"generation"`
	Owner       string             `json:"owner"`
	Until       refund.Instant     `json:"until"`
}

// Fence is the pair that the provider compares: the journal's second part is always 0.
func (l Lease) Fence() refund.Fence { return refund.Fence{Term: l.Generation} }

// Run is one run as the file has it at the instant At of the journal's clock.
type Run struct {
	Facts refund.Facts
	Lease Lease // of the current or the last owner
	// Asks counts the answers that decided nothing since the last step that did; it decides the next pause.
	Asks int
	// Since is the instant from which nothing but the engine could move the run: its decision, or its intake.
	Since refund.Instant
	At    refund.Instant
}

// Held tells whether the lease was running when the run was read. A step that leaves nothing more to do ends the lease in
// its own transaction.
func (r Run) Held() bool { return r.At.Before(r.Lease.Until) }

// Observed is an answer that decides nothing yet.
type Observed struct {
	Action refund.Action   `json:"action"` // that was answered: SEND, LOOK_UP or CLOSE
	Answer provider.Answer `json:"answer"`
	// NothingSent: this attempt sent nothing and neither did an earlier one, so the operation is as good as never sent.
	NothingSent bool `json:"nothing_sent,omitempty"`
	// Hold: nothing that may be asked would tell, so the run waits for a person.
	Hold bool `json:"hold,omitempty"`
}

// Outcome is what ends a run: a receipt, or the code of a refusal.
type Outcome struct {
	Event   refund.OperationEvent `json:"event"` // RECEIPT, REFUSAL or WITHDRAWN
	Receipt *refund.Receipt       `json:"receipt,omitempty"`
	Code    refund.Code           `json:"code,omitempty"`
}

// Row is one durable fact as the journal has it.
type Row struct {
	Seq        int64           `json:"seq"` // from 1 without gaps, per run
	At         refund.Instant  `json:"at"`
	Kind       refund.FactKind `json:"kind"`
	Party      string          `json:"party"`
	Generation int64           `json:"generation"`
	Ref        string          `json:"ref,omitempty"`
	Code       string          `json:"code,omitempty"`
	Body       string          `json:"body"` // JSON
}

// Journal is the port between the flow and the file, named by business step. Each method is one transaction: when it
// returns without an error its fact is on disk. An error may still hide a commit (the answer to COMMIT can be lost like
// any other), so after one nobody acts on memory: clients ask again under the same id, an owner drops the run, and the
// next claim reads what the file says.
//
// Errors of every method: STORE_LOCKED, STORE_UNREADABLE, UNAVAILABLE. Methods that take a Lease also answer LEASE_LOST, and
// then nothing was written.
type Journal interface {
	// Admit stores a checked request, or finds it. Errors: KEY_CONFLICT.
	Admit(ctx context.Context, request refund.Request, terms refund.Terms, party string) (run Run, existing bool, err error)
	// Decide judges and records a checked decision in one transaction. Errors: NOT_FOUND, DECISION_CONFLICT.
	Decide(ctx context.Context, decision refund.Decision, party string) (refund.RecordedVerdict, error)
	// Settle records a settlement by receipt or presumed-absent. Errors: NOT_FOUND, DECISION_CONFLICT, SETTLEMENT_REFUSED, INVALID_*.
	Settle(ctx context.Context, settlement refund.Settlement, party string) (Run, error)
	// ClaimToClose records a settlement by close and claims the run for it, whatever it waits for. A run that is over
	// already is returned without a lease. Errors: as Settle; VERDICT_PENDING when it is recorded and the run is held.
	ClaimToClose(ctx context.Context, settlement refund.Settlement, owner string, length time.Duration) (Run, error)

	// Load reads one run. Errors: NOT_FOUND.
	Load(ctx context.Context, id refund.OperationID) (Run, error)
	// Runs reads all runs in the order of their intake, without those that cannot be read.
	Runs(ctx context.Context) ([]Run, error)
	// Rows reads the durable facts of one run, together with the run as they left it. Errors: NOT_FOUND.
	Rows(ctx context.Context, id refund.OperationID) (Run, []Row, error)
	// Now is the journal's clock, which never runs backwards within one file.
	Now() refund.Instant
	// SetBack tells whether the host's clock is well behind that: it was set back, and what is recorded may be longer ago than
	// Now says, by a time in which no process ran.
	SetBack() bool
	// Changes sends when another connection has committed to the file, until ctx is over. Values are merged.
	Changes(ctx context.Context) (<-chan struct{}, error)

	// NextWake is the time until the next run is due, which may be past; false when none waits for a time.
	NextWake(ctx context.Context) (time.Duration, bool, error)
	// Claim takes the run that is due longest under a new generation; false when none is due.
	Claim(ctx context.Context, owner string, length time.Duration) (Run, bool, error)
	// Renew prolongs a lease that is not over.
	Renew(ctx context.Context, lease Lease, length time.Duration) (Lease, error)
	// EndLease gives the run back. seen is a fence that the provider answered with, or the zero pair: the next generation
	// is above it.
	EndLease(ctx context.Context, lease Lease, seen refund.Fence) error

	// ReserveModelCall takes one call from the budget before it is made (I12). Errors: PROPOSAL_FAILED when none is left.
	ReserveModelCall(ctx context.Context, lease Lease) (Run, error)
	// RecordProposal records the answer that counts and lets the run wait for a person.
	RecordProposal(ctx context.Context, lease Lease, proposal refund.Proposal) (Run, error)
	// RecordNoProposal records that an order could not be read or a model did not answer usably, and pauses the run.
	RecordNoProposal(ctx context.Context, lease Lease, cause error) (Run, error)
	// Expire ends a run whose deadline is over without an accepted decision; any other run it leaves alone.
	Expire(ctx context.Context, lease Lease) (Run, error)
	// RecordIntent makes durable that a SEND or a CLOSE may leave from now on.
	RecordIntent(ctx context.Context, lease Lease, action refund.Action) (Run, error)
	// RecordObservation records an answer that decides nothing and pauses the run, or holds it.
	RecordObservation(ctx context.Context, lease Lease, observed Observed) (Run, error)
	// RecordOutcome ends the run and puts its notice into the outbox in the same transaction.
	RecordOutcome(ctx context.Context, lease Lease, outcome Outcome) (Run, error)

	// LocalOrder reads an order of the ledger that lives in this file. Errors: ORDER_NOT_FOUND.
	LocalOrder(ctx context.Context, tenant, order string) (refund.Order, error)
	// SubmitLocally accepts the operation at the ledger in this file, records its outcome and puts the notice into the
	// outbox, all in one transaction.
	SubmitLocally(ctx context.Context, lease Lease) (Run, error)

	// TakeNotice takes the notice that is due longest, in revision order, and puts its next delivery off in case this one
	// is never acknowledged; false when none is due, and with an error when that one cannot be read.
	TakeNotice(ctx context.Context) (Pending, bool, error)
	// MarkDelivered records that the receiver has acknowledged.
	MarkDelivered(ctx context.Context, notice refund.Notice, party string) error
	// NextNotice is the time until the next notice is due; false when all were acknowledged.
	NextNotice(ctx context.Context) (time.Duration, bool, error)

	Close() error
}

// Pending is a notice that was not acknowledged yet.
type Pending struct {
	Notice  refund.Notice
	Timeout time.Duration // of one delivery
}
