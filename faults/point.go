// Package faults holds fault points and schedules as data, and the one message by which a process announces that it
// stands at a boundary. It imports the standard library alone, so that the harness, the provider and the decorators of the
// ports can share it without learning anything of each other.
package faults

import (
	"fmt"
	"strings"
)

// Boundary is one step of the flow that has something durable, or something sent, on its far side.
type Boundary string

// When is the side of a boundary.
type When string

// The two sides.
const (
	Before When = "before"
	After  When = "after"
)

// Point is one side of a boundary, written "outcome.before".
type Point struct {
	Boundary Boundary
	When     When
}

// String writes the point as schedules and traces do.
func (p Point) String() string { return string(p.Boundary) + "." + string(p.When) }

// MarshalText writes the point as String does.
func (p Point) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a point and refuses one that is not in the list.
func (p *Point) UnmarshalText(text []byte) error {
	boundary, when, _ := strings.Cut(string(text), ".")
	point := Point{Boundary(boundary), When(when)}
	if !point.known() {
		return fmt.Errorf("fault point %q is unknown: write a boundary of the list and .before or .after, such as outcome.before", text)
	}
	*p = point
	return nil
}

// known tells whether the point is in the list.
func (p Point) known() bool {
	_, listed := meanings[p.Boundary]
	return listed && (p.When == Before || p.When == After)
}

// The boundaries. Meaning describes each one and what is durable behind it on each engine.
const (
	Intake         Boundary = "intake"
	ModelBudget    Boundary = "model-budget"
	ModelCall      Boundary = "model-call"
	Proposal       Boundary = "proposal"
	Decision       Boundary = "decision"
	Intent         Boundary = "intent"
	OrderCall      Boundary = "order-call"
	ProviderCall   Boundary = "provider-call"
	ProviderRecv   Boundary = "provider-received"
	ProviderCommit Boundary = "provider-commit"
	LookupCall     Boundary = "lookup-call"
	CloseCall      Boundary = "close-call"
	Observed       Boundary = "observation"
	Outcome        Boundary = "outcome"
	NoticeCall     Boundary = "notice-call"
	Notified       Boundary = "notified"
	Finish         Boundary = "finish"
	Claim          Boundary = "claim"
	Renewal        Boundary = "renewal"
	StoreCommit    Boundary = "store-commit"
	WorkflowTask   Boundary = "workflow-task"
	ActivityTask   Boundary = "activity-task"
	CallerReply    Boundary = "reply"
)

// Meaning says where a boundary lies and what is durable behind it.
type Meaning struct {
	Boundary   Boundary
	Where      string // the process that announces it
	What       string
	Temporal   string // durable behind it on Temporal, or "" when the engine has no such boundary
	Handrolled string
}

var list = []Meaning{
	{Intake, "client", "the request is stored", "WorkflowExecutionStarted", "row in runs and journal INTAKE"},
	{ModelBudget, "worker", "one model call is taken from the budget", "", "journal MODEL_CALL"},
	{ModelCall, "worker", "request to the model", "nothing: the bill is the model's", "nothing: the bill is the model's"},
	{Proposal, "worker", "the model's answer is recorded", "ActivityTaskCompleted of Propose", "journal PROPOSAL"},
	{Decision, "client", "the person's decision is stored", "WorkflowExecutionSignaled; the verdict follows with the next workflow task", "row in decisions and journal VERDICT"},
	{Intent, "worker", "the intent to call the provider is recorded", "ActivityTaskScheduled of Submit, together with the verdict", "journal INTENT"},
	{OrderCall, "worker", "the order is read before a proposal or a send", "nothing", "nothing"},
	{ProviderCall, "worker", "submit goes to the provider", "nothing: the effect is the provider's", "nothing: the effect is the provider's"},
	{ProviderRecv, "provider", "a submit arrived, and was answered", "nothing", "nothing"},
	{ProviderCommit, "provider", "the provider's transaction", "the ledger's entry", "the ledger's entry"},
	{LookupCall, "worker", "look-up goes to the provider", "nothing", "nothing"},
	{CloseCall, "worker", "close goes to the provider", "nothing: the tombstone is the provider's", "nothing: the tombstone is the provider's"},
	{Observed, "worker", "an answer that decides nothing is recorded", "ActivityTaskCompleted of a look-up or submit without outcome", "journal OBSERVATION"},
	{Outcome, "worker", "the local result is saved", "ActivityTaskCompleted that carries receipt or refusal", "journal OUTCOME and the outbox row in one transaction"},
	{NoticeCall, "worker", "the notice goes to its receiver", "nothing", "nothing"},
	{Notified, "worker", "the delivery of the notice is recorded", "ActivityTaskCompleted of Notify", "outbox row marked, journal NOTICE"},
	{Finish, "worker", "the run is closed", "WorkflowExecutionCompleted", ""},
	{Claim, "worker", "a run is claimed under a new generation", "", "runs.generation and lease_until"},
	{Renewal, "worker", "the lease is prolonged, or the attempt gives a sign of life", "nothing: the server remembers when it last heard of the attempt", "runs.lease_until"},
	{StoreCommit, "worker", "any transaction commits, the outcome's own being the first; only before", "", "what the transaction holds"},
	{WorkflowTask, "worker", "any other workflow task completes", "the task's commands", ""},
	{ActivityTask, "worker", "any other activity task completes", "the activity's result", ""},
	{CallerReply, "client", "the answer goes to the caller", "nothing", "nothing"},
}

var meanings = func() map[Boundary]Meaning {
	m := map[Boundary]Meaning{}
	for _, meaning := range list {
		m[meaning.Boundary] = meaning
	}
	return m
}()

// Boundaries returns the closed list of boundaries in the order of the flow.
func Boundaries() []Meaning { return append([]Meaning(nil), list...) }
