package model

import "refundlab/refund"

// decide gives candidate n its verdict, in one transaction with whatever follows from it.
func (m *machine) decide(s *state, n int) {
	d := m.decisions[n].decision
	d.OrderVersion = int64(s.Shown) + m.decisions[n].version
	verdict := m.verdict(s, d)
	late := m.overdue(s)
	if verdict == refund.VerdictExpired && !s.Expired && !m.rounds {
		s.Expired = true // the person is told EXPIRED, so EXPIRED is recorded with it (I3)
	}
	if verdict != refund.VerdictAccepted {
		return
	}
	if s.Choice != 0 {
		s.Broken = brokenI10
	}
	s.Unfit = late || m.decisions[n].unfit || s.Shown == 0
	s.Choice = 1
	if d.Choice == refund.ChoiceReject {
		s.Choice = 2
		m.withdraw(s)
	}
}

// verdict is the shared rule on the facts as they stand.
func (m *machine) verdict(s *state, d refund.Decision) refund.VerdictCode {
	bench := refund.Bench{Intake: m.intake, Overdue: m.overdue(s), Expired: s.Expired, Closed: s.Op.state().Final()}
	if s.Shown != 0 {
		bench.Proposal = &m.proposals[s.Shown]
	}
	if s.Choice != 0 && (m.rules.FirstWins || s.Op.state().Final()) {
		bench.Accepted = &m.decisions[s.Choice-1].decision
	}
	return m.rules.Judge(d, bench)
}

// settle takes a person's word, where the shared rule and the engine allow it.
func (m *machine) settle(s *state, kind refund.SettlementKind) bool {
	if s.Held || s.Open != noAction {
		return false
	}
	word := refund.Settlement{SettlementID: "s", OperationID: m.intake.OperationID, Kind: kind, By: "dora", Reason: "asked the provider"}
	if kind == refund.SettleReceipt {
		if s.Entries == 0 {
			return false // a person brings a receipt that the provider issued, or none
		}
		word.Receipt = &m.ours
	}
	if _, err := refund.CheckSettlement(word, m.facts(s), m.profile, m.now(s)); err != nil {
		return false
	}
	s.Settlements++
	if !m.rounds {
		s.Fence.term++ // an owner who was frozen can no longer write (I6)
	}
	switch kind {
	case refund.SettleReceipt:
		m.move(s, refund.EventReceipt)
	case refund.SettleClose:
		s.Closing, s.Parked = true, false
	case refund.SettlePresumedAbsent:
		m.move(s, refund.EventAmbiguous)
		s.Presumed, s.Parked = true, true
	}
	return true
}

var settlements = [...]refund.SettlementKind{refund.SettleReceipt, refund.SettleClose, refund.SettlePresumedAbsent}

// lateEnd is the workflow's own end of a run for which nobody decided in time.
func (m *machine) lateEnd(s *state) bool {
	if m.over(s) || s.Choice != 0 || !m.overdue(s) {
		return false
	}
	s.Expired = true
	return true
}
