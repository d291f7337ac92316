package model

import "refundlab/refund"

// machine is the rules on one operation: every step that a state allows. Its two kinds of ownership are those of the two
// engines. Under leases an owner claims a run, decides what to do, records its intent and then calls; under rounds a workflow
// decides and opens a round, and the attempts of that round are its owners.
type machine struct {
	profile refund.Profile
	rounds  bool
	rules   Rules
	intake  refund.Intake
	// instants gives each value of core.Now its time: the phases of an exploration, the moments of a trace.
	instants []refund.Instant
	owners   int // places for owners and messages
	wire     int

	proposals [3]refund.Proposal // by order version
	decisions []candidate
	ours      refund.Receipt
	foreign   refund.Receipt
}

// candidate is a decision that a person may send.
type candidate struct {
	decision refund.Decision
	text     string // for a story
	version  int64  // of the order that it names, above the one that was shown
	unfit    bool   // truth: no consent of another person to what was shown
}

func newMachine(profile refund.Profile, rounds bool, rules Rules, in refund.Intake, instants []refund.Instant) *machine {
	m := &machine{profile: profile, rounds: rounds, rules: rules, intake: in, instants: instants, owners: keyOwners, wire: keyWire}
	for version := range m.proposals {
		m.proposals[version] = refund.Proposal{Recommendation: "approve", OrderVersion: int64(version), AnswerID: "answer"}
	}
	decision := refund.Decision{DecisionID: "d", OperationID: in.OperationID, Choice: refund.ChoiceApprove, Approver: "bob", Digest: in.Digest}
	own, rejection, digest, operation := decision, decision, decision, decision
	own.Approver, rejection.Choice, digest.Digest, operation.OperationID = in.Request.Requester, refund.ChoiceReject, "another digest", "another operation"
	m.decisions = []candidate{
		{decision, "a person approves what was shown", 0, false},
		{rejection, "a person rejects", 0, false},
		{own, "the requester approves", 0, true},
		{digest, "a person approves something else than what was shown", 0, true},
		{decision, "a person approves the order in another version than the one that was shown", 1, true},
		{operation, "a person approves another operation", 0, true},
	}
	m.ours = refund.Receipt{RefundID: "re-1", OperationID: in.OperationID, Digest: in.Digest, Order: in.Request.Order, Amount: in.Request.Amount, At: in.At + 1}
	m.foreign = m.ours
	m.foreign.Digest = "another digest"
	return m
}

func (m *machine) now(s *state) refund.Instant { return m.instants[s.Now] }

func (m *machine) firstSent(s *state) refund.Instant {
	if s.FirstSent == 0 {
		return 0
	}
	return m.instants[s.FirstSent-1]
}

func (m *machine) overdue(s *state) bool { return !m.now(s).Before(m.intake.DecideBy()) }

func (m *machine) authorised(s *state) bool { return !s.Lapsed && m.now(s).Before(m.intake.CommitBy()) }

func (m *machine) retained(s *state) bool {
	return m.rules.Retained(m.intake.Terms, m.firstSent(s), m.now(s))
}

func (m *machine) over(s *state) bool { return s.Op.state().Final() || s.Expired }

// next asks the shared rule.
func (m *machine) next(s *state, saw seen, sent, authorised bool) action {
	return actions[m.rules.Next(refund.Situation{
		Profile: m.profile, Observation: saw.observation(), Authorised: authorised, Sent: sent, Retained: m.retained(s),
	})]
}

// allowed is what may be done about an approved operation by what is recorded.
func (m *machine) allowed(s *state) action {
	switch {
	case s.Conflict || s.Presumed:
		return actHold
	case s.Closing:
		return actClose
	}
	return m.next(s, sawNothing, s.FirstSent != 0, m.authorised(s))
}

// move takes the operation along the shared table; a move that is not in it must never be tried.
func (m *machine) move(s *state, event refund.OperationEvent) {
	next, legal := m.rules.After(s.Op.state(), event)
	if number, known := opOf(next); legal && known {
		s.Op = number
	} else {
		s.Broken = brokenTable
	}
}

// facts are what a client would read of this state. The pointers are the machine's own: nobody writes through them.
func (m *machine) facts(s *state) refund.Facts {
	f := refund.Facts{Intake: m.intake, State: s.Op.state(), Expired: s.Expired, FirstSentAt: m.firstSent(s), Closing: s.Closing}
	if s.Shown != 0 {
		f.Proposal = &m.proposals[s.Shown]
	}
	if s.Choice != 0 {
		f.Decision = &m.decisions[s.Choice-1].decision
	}
	if s.Lapsed {
		f.Lapsed = refund.CodeApprovalExpired
	}
	if s.Conflict {
		f.Conflict = string(refund.ObservedConflict)
	}
	if s.Presumed {
		f.PresumedAbsent = &refund.Settlement{}
	}
	if s.Op.state() == refund.StateConfirmed {
		f.Receipt = &m.ours
	}
	return f
}

// Status is what a client would be told.
func (m *machine) status(s *state) refund.RunStatus {
	return refund.StatusOf(m.facts(s), m.profile, m.now(s))
}

// order is the order as the provider has it.
func (m *machine) order(s *state) refund.Order {
	price := m.intake.Request.Amount
	order := refund.Order{ID: m.intake.Request.Order, Currency: price.Currency, Captured: 9 * price.Minor, Version: int64(s.Version)}
	switch {
	case s.Spent:
		order.Refunded = order.Captured
	case s.Trouble == tightBalance:
		order.Captured = price.Minor
		order.Refunded = min(int64(s.Entries), 1) * price.Minor
	default:
		order.Refunded = int64(s.Entries) * price.Minor // a second refund could be paid, and would be seen
	}
	return order
}
