package refund

import "encoding/json"

// View is what a client shows of one run, with the three facts apart: what the executor knows, what it may do next, and,
// only where somebody asked the provider, what the world did.
type View struct {
	Engine      string      `json:"engine"`
	OperationID OperationID `json:"operation_id"`
	Status      RunStatus   `json:"status"`
	// Reason is the code of a REJECTED run.
	Reason Code  `json:"reason,omitempty"`
	Facts  Facts `json:"knows"`
	May    May   `json:"may"`
	// World is nil unless the provider was asked by this client.
	World *World `json:"world,omitempty"`
}

// May is what the run is allowed to do next.
type May struct {
	Next     string  `json:"next"` // a short phrase for a person: "a person may decide until ...", "send the same operation again"
	DecideBy Instant `json:"decide_by"`
	CommitBy Instant `json:"commit_by"`
	Fence    Fence   `json:"fence"`                 // of the current or last owner
	Owner    string  `json:"owner,omitempty"`       // who holds the run, where the engine knows
	Until    Instant `json:"lease_until,omitempty"` // of the journal's lease
}

// World is a reader's look-up at the provider. It carries no fence, raises nothing, and NOT_FOUND proves nothing.
type World struct {
	Observation Observation `json:"observation"`
	Receipt     *Receipt    `json:"receipt,omitempty"`
	Refusal     Code        `json:"refusal,omitempty"`
	Detail      string      `json:"detail,omitempty"`
}

// NewView derives the view from recorded facts: the same function for both engines.
func NewView(engine string, f Facts, fence Fence, now Instant) (View, error) {
	p, err := ProfileNamed(f.Intake.Terms.Profile)
	if err != nil {
		return View{}, err
	}
	status := StatusOf(f, p, now)
	view := View{
		Engine: engine, OperationID: f.Intake.OperationID, Status: status, Facts: f, Reason: f.Rejected,
		May: May{DecideBy: f.Intake.DecideBy(), CommitBy: f.Intake.CommitBy(), Fence: fence},
	}
	switch {
	case status.Terminal():
		view.May.Next = "nothing: the answer is final for its request id"
	case status == StatusPending:
		view.May.Next = "ask the model for a proposal"
	case status == StatusApprovalRequired:
		view.May.Next = "a person other than the requester may decide until " + f.Intake.DecideBy().String()
	case status == StatusRetryable && f.State == StatePrepared:
		view.May.Next = "send the operation for the first time"
	case status == StatusRetryable:
		view.May.Next = "send the same operation again"
	case f.Conflict != "":
		view.May.Next = "nothing: a person can only annotate a conflict"
	case f.PresumedAbsent != nil:
		view.May.Next = "nothing: presumed absent by " + f.PresumedAbsent.By
	case p.Close:
		view.May.Next = "close the operation at the provider"
	case p.Lookup != LookupNone:
		view.May.Next = "look the operation up; a second send is not allowed"
	default:
		view.May.Next = "nothing: a person must settle"
	}
	return view, nil
}

// FactKind names one kind of durable fact, alike for both engines.
type FactKind string

// The kinds of durable facts.
const (
	FactIntake      FactKind = "INTAKE"
	FactModelCall   FactKind = "MODEL_CALL" // a call reserved from the budget
	FactProposal    FactKind = "PROPOSAL"
	FactDecision    FactKind = "DECISION" // a decision arrived; where arriving and judging are one transaction, only its verdict is there
	FactVerdict     FactKind = "VERDICT"
	FactIntent      FactKind = "INTENT"
	FactObservation FactKind = "OBSERVATION"
	FactOutcome     FactKind = "OUTCOME"
	FactExpiry      FactKind = "EXPIRY"
	FactSettlement  FactKind = "SETTLEMENT"
	FactNotice      FactKind = "NOTICE" // delivered and acknowledged
	FactClosed      FactKind = "CLOSED" // the run ended
)

// Fact is one durable fact in the neutral form of an export.
type Fact struct {
	Seq   int64    `json:"seq"`
	At    Instant  `json:"at"`
	Kind  FactKind `json:"kind"`
	Hash  string   `json:"hash"`           // ContentHash of what was recorded
	Party string   `json:"party"`          // who wrote it: a worker's or client's name, or the engine
	Ref   string   `json:"ref,omitempty"`  // decision id, refund id, answer id, settlement id, or the action of an intent
	Code  string   `json:"code,omitempty"` // verdict, observation, final state or reason
	Fence Fence    `json:"fence"`
}

// Export is one run's durable facts, with the raw history or journal attached.
type Export struct {
	View  View            `json:"view"`
	Facts []Fact          `json:"facts"`
	Raw   json.RawMessage `json:"raw"`
}

// NoticeRevision of the only notice this flow sends: "refund finished". A later revision would supersede it.
const NoticeRevision = 1

// Notice tells a receiver that a run ended. It is delivered at least once; the receiver removes duplicates by operation id
// and revision, and ignores a revision older than one it has.
type Notice struct {
	OperationID OperationID `json:"operation_id"`
	Revision    int64       `json:"revision"`
	Status      RunStatus   `json:"status"`
	Reason      Code        `json:"reason,omitempty"`
	RefundID    string      `json:"refund_id,omitempty"`
	At          Instant     `json:"at"`
}

// Listing names a set of runs that a person has to look at.
type Listing string

// The listings.
const (
	ListWaiting Listing = "waiting" // for a person's decision
	ListUnknown Listing = "unknown" // outcome unknown and not annotated: the open list
	ListOverdue Listing = "overdue" // not ended, not waiting for a person, older than the bound (I11)
	ListAll     Listing = "all"
)

// Lists tells whether the run belongs to a listing. bound is the time within which runs are expected to end, counted from
// the moment since which nothing but the engine could move them: the decision, or the intake before there was one.
func (v View) Lists(l Listing, since Instant, bound int64, now Instant) bool {
	switch l {
	case ListWaiting:
		return v.Status == StatusApprovalRequired
	case ListUnknown:
		return v.Status == StatusUnknown && v.Facts.PresumedAbsent == nil
	case ListOverdue:
		return !v.Status.Terminal() && v.Status != StatusApprovalRequired && v.Facts.PresumedAbsent == nil && now-since > Instant(bound)
	}
	return l == ListAll
}

// Listed is a run in a listing.
type Listed struct {
	View  View    `json:"view"`
	Since Instant `json:"since"` // from when on nothing but the engine could move it
	At    Instant `json:"at"`    // when it was read, by the clock that Since is of
}
