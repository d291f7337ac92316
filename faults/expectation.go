package faults

// Matrix is what one run of the suite must show: the scenarios in the order of the report, and the cells of which every
// one must have its trial. It is data, made by the catalogue and read by the judge; the judge decides nothing by the
// name of a scenario.
type Matrix struct {
	Scenarios []ScenarioText
	Cells     []Expectation
}

// ScenarioText is what the report says of a scenario before its tables.
type ScenarioText struct {
	Name  string // as in cells, for instance "answer-lost"
	Title string // one line
	About string // what breaks, and what must hold nevertheless: one or two sentences
}

// Expectation is one cell of the matrix, and what its trial is allowed to show.
type Expectation struct {
	Scenario string
	Engine   string // "temporal" or "handrolled"
	Profile  string
	Arm      string // "clean" or "fault"

	// NotApplicable says why this cell has no trial; a trial that is there nevertheless is invalid.
	NotApplicable string

	// Schedule is what must have been played; empty in the clean arm and where the script alone makes the fault. A trial that
	// played another one is invalid.
	Schedule Schedule

	// ByLot tells that the schedule was drawn by lot: a rule that never hit does not make the trial invalid.
	ByLot bool

	// Unsynced tells that the stores of this build do not sync what they commit, so that a power cut at an fsync comes where the
	// commit is told.
	Unsynced bool

	// Runs holds the one permitted end of each run by the name that the script gave its request. A run in the exports without
	// an end here, and an end without its export, make the trial invalid.
	Runs map[string]End

	// Verdicts is the code that each decision id must have got in the end ("" where it must have none, for instance a message
	// that never left its client).
	Verdicts map[string]string

	// Answers is the code with which a client command, by its process name, must have ended: "" for success, a code of the
	// vocabulary, or Killed. Commands that are not named may end as they like.
	Answers map[string]string

	// Race names rules that must all have hit before the first of them was let go; otherwise no race took place.
	Race []string

	// Late is set where an old worker's request must arrive after the run's end was recorded.
	Late *Late

	// InOrder names rules, each of which held or froze a worker at its call: their requests must have reached the provider one after
	// the other, in this order.
	InOrder []string

	// Witnesses are sightings without which the trial has not shown what the scenario is about, for instance that the provider
	// did answer a stale fence. A trial without one of them is invalid.
	Witnesses []Witness

	// Patience says for how long nobody may have come back after an answer that asked for it.
	Patience []Patience
}

// Patience is about the first answer with Status at Boundary: for LeastMS after it, nothing may be sent there again about the
// same operation, or about none in particular, as an order is read. The provider's boundaries count as one.
type Patience struct {
	Boundary Boundary `json:"boundary"`
	Status   string   `json:"status"`
	LeastMS  int64    `json:"least_ms"`
}

// Killed stands in Expectation.Answers for a command that ended by signal 9.
const Killed = "KILLED"

// End is the permitted end of one run. All of it must hold at rest.
type End struct {
	Status  string `json:"status"`           // a run status
	Reason  string `json:"reason,omitempty"` // code of a REJECTED run
	Entries int    `json:"entries"`          // in the ledger, under the run's operation id
	// Submits received by the provider under the operation id, whatever it answered: the least and the most.
	LeastSubmits int `json:"least_submits"`
	MostSubmits  int `json:"most_submits"`
	// ModelCalls received and billed: the least, and the most, where it is less than the run's budget or the network adds to it; 0 as
	// the most leaves the budget alone to decide.
	LeastModelCalls int `json:"least_model_calls,omitempty"`
	MostModelCalls  int `json:"most_model_calls,omitempty"`
	// Absent tells that the intake must have stored nothing: no export exists (a request that was refused, or died before
	// its intake). The other fields except Entries are then without meaning.
	Absent bool `json:"absent,omitempty"`
	// UnknownBecause states why UNKNOWN at rest is permitted; the judge refuses UNKNOWN without it (I4).
	UnknownBecause string `json:"unknown_because,omitempty"`
	// Or holds further permitted ends, for a trial whose fault nobody wrote by hand: which of them may come is then the
	// invariants' business alone.
	Or []End `json:"or,omitempty"`
}

// Late describes a late worker: the request that was held or frozen by Rule must have reached the provider after Other had
// recorded the run's end, or its UNKNOWN where nobody may send twice.
type Late struct {
	Run   string `json:"run"`   // name of the request
	Rule  string `json:"rule"`  // that froze or held the old worker at its call
	Other string `json:"other"` // process that took over
}

// Witness is one sighting that a trial must have: at least Least crossings at Point (of Process, where it is set), or at
// least Least requests received with Outcome. Exactly one of Point and Outcome is set.
type Witness struct {
	Why     string `json:"why"`
	Point   string `json:"point,omitempty"` // such as "lookup-call.before"
	Process string `json:"process,omitempty"`
	Refused bool   `json:"refused,omitempty"` // at Point: count only what the far side refused because it was no longer the process's
	Status  string `json:"status,omitempty"`  // at Point: count only what ended with this DetailStatus
	Outcome string `json:"outcome,omitempty"` // of evidence.Received
	Least   int    `json:"least"`
}
