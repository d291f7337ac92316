package model

import "refundlab/refund"

// broken names what a state or a step violates.
type broken uint8

const (
	unbroken broken = iota
	brokenI1
	brokenI2
	brokenI3
	brokenI4
	brokenI5
	brokenI6
	brokenI7
	brokenI8
	brokenI9
	brokenI10
	brokenProgress
	brokenTable
)

var violations = [...]struct{ id, text string }{
	{"", ""},
	{"I1", "the ledger holds two entries for one operation"},
	{"I2", "the run is CONFIRMED and the ledger holds no entry of it"},
	{"I3", "the run was told as ended without a refund, and the ledger holds its entry"},
	{"I4", "the run is told as failed although something was sent and nobody refused it"},
	{"I5", "the entry was not authorised"},
	{"I6", "a write of an older owner took effect"},
	{"I7", "the entry exceeds what the order has left"},
	{"I8", "the run is CONFIRMED by another operation's refund, which has equal parameters"},
	{"I9", "the run is CONFIRMED with a receipt for something else under the same key"},
	{"I10", "a second decision was accepted"},
	{"I4", "the outcome can be known and the run stays UNKNOWN, whatever a worker does from here on"},
	{"I4", "an observation was recorded that the table of transitions does not have"},
}

// violated looks at one state. I3's "now or later" needs no look ahead: the later state is visited too.
func (m *machine) violated(s *state) broken {
	switch status := m.status(s); {
	case s.Broken != unbroken:
		return s.Broken
	case s.Entries > 1:
		return brokenI1
	case status == refund.StatusConfirmed && s.Foreign && s.Trouble == equalTwin:
		return brokenI8
	case status == refund.StatusConfirmed && s.Foreign:
		return brokenI9
	case status == refund.StatusConfirmed && s.Entries == 0:
		return brokenI2
	case (status == refund.StatusRejected || status == refund.StatusExpired) && s.Entries > 0:
		return brokenI3
	}
	return unbroken
}

// consented is the truth of I5: a person's approval, given as it must be, for the order as it is, and the time to commit is not
// over. It looks at the world and asks none of the rules that it judges.
func (m *machine) consented(s *state) bool {
	return s.Choice == 1 && !s.Unfit && s.Version == s.Shown && m.now(s) < m.intake.CommitBy()
}

// exhausted is the truth of I7: the order has nothing left for this refund.
func (s *state) exhausted() bool {
	return s.Spent || s.Trouble == tightBalance && s.Entries > 0
}

// settled tells whether a run may stay as it is for ever: it is over, or UNKNOWN where nobody can know (I4).
func (m *machine) settled(s *state) bool {
	switch status := m.status(s); {
	case status.Terminal():
		return true
	case status != refund.StatusUnknown:
		return false
	case s.Conflict || s.Presumed:
		return true
	case m.profile.Close:
		return false // the close tells
	case m.profile.Lookup == refund.LookupNone:
		return true
	case m.profile.Idempotent && m.authorised(s) && (!m.profile.Expires || m.retained(s)):
		return false // sending again tells
	}
	return s.Entries == 0 && m.recall(s) != storedRefusal
}

// calmSteps bound what one worker may need from any state: a wait for the deadline, and a few asks.
const calmSteps = 8

// progresses plays on from a state without any further fault: whoever held the run is gone, what was on its way is lost, and
// one worker acts alone and gets its answers. Within a few steps it must bring the run to an end, or to an UNKNOWN that is
// permitted. A person may help nowhere: a run that needs one is UNKNOWN where nobody can know.
func (m *machine) progresses(s state) bool {
	s.owners, s.wire = [maxOwners]owner{}, [maxWire]message{}
	s.Held = false
	s.Replica = s.Entries
	for range calmSteps {
		if m.settled(&s) {
			return true
		}
		if s.Shown != 0 && s.Choice == 0 {
			for !m.overdue(&s) {
				s.Now++
			}
		}
		if !m.calm(&s) {
			return m.settled(&s)
		}
	}
	return m.settled(&s)
}

// calm is one undisturbed turn of one worker, false when it finds nothing to do.
func (m *machine) calm(s *state) bool {
	switch {
	case m.rounds && s.Shown == 0:
		s.Shown = s.Version
		return true
	case m.rounds && s.Choice == 0:
		return m.lateEnd(s)
	case m.rounds && s.Open == noAction:
		return m.openRound(s)
	case m.rounds && !m.attempt(s, 0):
		return m.endRound(s)
	case !m.rounds && !m.claim(s, 0):
		return false
	}
	for s.owners[0].at != free {
		before := s.owners[0].at
		_ = m.propose(s, 0) || m.expire(s, 0) || m.conclude(s, 0) || m.submitLocally(s, 0) || m.intend(s, 0) ||
			m.send(s, 0) || m.ask(s, 0, false) || m.callClose(s, 0) || m.deliver(s, 0, false, false) || m.giveUp(s, 0) || m.record(s, 0)
		if s.owners[0].at == before {
			return false
		}
	}
	return true
}
