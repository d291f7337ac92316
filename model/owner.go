package model

import (
	"slices"

	"refundlab/refund"
)

// due tells whether a run waits for an owner under leases.
func (m *machine) due(s *state) bool {
	if m.over(s) || s.Parked {
		return false
	}
	return s.Shown == 0 || s.Choice == 1 || s.Choice == 0 && m.overdue(s)
}

// todo is the step that an owner takes by what is recorded.
func (m *machine) todo(s *state) action {
	switch {
	case s.Choice == 0 && m.overdue(s):
		return actExpire
	case s.Shown == 0:
		return actPropose
	}
	return m.allowed(s)
}

// claim gives the run to owner i under a new generation.
func (m *machine) claim(s *state, i int) bool {
	if m.rounds || s.Held || !m.due(s) {
		return false
	}
	if m.rules.GenerationGrows || s.Fence.term == 0 {
		s.Fence.term++
	}
	s.Held = true
	act := m.todo(s)
	s.owners[i] = owner{fence: s.Fence, at: ready, act: act, sentBefore: s.FirstSent != 0 || act == actClose}
	return true
}

// lapse ends the running lease or attempt, whatever its owner does.
func (m *machine) lapse(s *state) bool {
	if !s.Held {
		return false
	}
	s.Held = false
	return true
}

// writes tells whether an owner's write goes through. One that goes through and should not have violates I6.
func (m *machine) writes(s *state, o owner) bool {
	mine := o.fence == s.Fence
	passes := (mine || !m.rules.GenerationCond) && (s.Held || !m.rules.LeaseCond)
	if passes && !(mine && s.Held) {
		s.Broken = brokenI6
	}
	return passes
}

// drop frees owner i: it was refused, is done, or died.
func (s *state) drop(i int) { s.owners[i] = owner{} }

// yield frees owner i after a write that ends its lease.
func (s *state) yield(i int) {
	s.drop(i)
	s.Held = false
}

// propose records the proposal for the order version of now, and leaves the run to a person.
func (m *machine) propose(s *state, i int) bool {
	if o := s.owners[i]; o.at != ready || o.act != actPropose {
		return false
	}
	if m.writes(s, s.owners[i]) {
		s.Shown = s.Version
		s.yield(i)
		return true
	}
	s.drop(i)
	return true
}

// expire ends a run for which nobody decided. What was decided between the claim and this line wins.
func (m *machine) expire(s *state, i int) bool {
	if o := s.owners[i]; o.at != ready || o.act != actExpire {
		return false
	}
	if m.writes(s, s.owners[i]) {
		if !m.over(s) && s.Choice == 0 && m.overdue(s) {
			s.Expired = true
		}
		s.yield(i)
		return true
	}
	s.drop(i)
	return true
}

// intend records the intent of owner i.
func (m *machine) intend(s *state, i int) bool {
	o := &s.owners[i]
	if o.at != ready || o.act != actSend && o.act != actClose || m.profile.Shared && o.act == actSend {
		return false
	}
	if o.act == actSend && !m.rules.IntentFirst {
		return false
	}
	if !m.writes(s, *o) {
		s.drop(i)
		return true
	}
	m.noteIntent(s, o.act)
	o.at = intended
	return true
}

func (m *machine) noteIntent(s *state, act action) {
	m.move(s, refund.EventIntent)
	if act == actSend && s.FirstSent == 0 {
		s.FirstSent = s.Now + 1
	}
}

// conclude is the step of an owner that needs no call: a withdrawal, or leaving the run to a person.
func (m *machine) conclude(s *state, i int) bool {
	o := s.owners[i]
	if o.at != ready || o.act != actReject && o.act != actHold {
		return false
	}
	if !m.writes(s, o) {
		s.drop(i)
		return true
	}
	if o.act == actReject {
		m.withdraw(s)
	} else {
		s.Parked = true
		m.move(s, refund.EventAmbiguous)
	}
	s.yield(i)
	return true
}

// withdraw ends a run as if it had never been asked for, which is true only if nothing has left (I4).
func (m *machine) withdraw(s *state) {
	m.move(s, refund.EventWithdrawn)
	if s.Sends > 0 && s.Broken == 0 {
		s.Broken = brokenI4
	}
}

// submitLocally is the profile local: intent, money and outcome in one transaction.
func (m *machine) submitLocally(s *state, i int) bool {
	o := s.owners[i]
	if o.at != ready || o.act != actSend || !m.profile.Shared {
		return false
	}
	if !m.writes(s, o) {
		s.drop(i)
		return true
	}
	m.noteIntent(s, actSend)
	s.Sends++
	saw, foreign := m.accept(s, message{act: actSend, fence: o.fence})
	s.owners[i].saw, s.owners[i].foreign = saw, foreign
	m.learn(s, i)
	return true
}

// openRound is the workflow's own step under rounds: it decides, raises the fence and schedules.
func (m *machine) openRound(s *state) bool {
	if !m.rounds || s.Open != noAction || s.Choice != 1 || m.over(s) {
		return false
	}
	switch act := m.allowed(s); act {
	case actReject:
		m.withdraw(s)
	case actSend, actLookUp, actClose:
		s.Left = s.FirstSent != 0 || act != actSend
		m.noteIntent(s, act)
		s.Open, s.Held = act, false
		s.Fence.term++
		s.Fence.seq = 0
	default:
		return false // waits for a person
	}
	return true
}

// attempt starts the next attempt of the open round.
func (m *machine) attempt(s *state, i int) bool {
	once := m.rules.OneAttempt && s.Open == actSend && !m.profile.Idempotent // the provider would take a second send for a second refund (I1)
	if s.Open == noAction || s.Held || once && s.Fence.seq > 0 {
		return false
	}
	s.Fence.seq++
	s.Held = true
	s.owners[i] = owner{fence: s.Fence, at: intended, act: s.Open, sentBefore: s.Left || s.Fence.told().seq > 1}
	return true
}

// recount is an operator's reset of the open round's activity: its attempts are counted from one again. Operators are told to do it
// only where the provider recognises a repetition and a call's time-out has passed since the intent. Before that it is played
// where nothing of the round can arrive any more, because then the provider knows what became of it.
func (m *machine) recount(s *state) bool {
	if s.Open != actSend || !m.profile.Idempotent || s.Held || s.Fence.seq == 0 || s.Fence.seq >= recounted || !m.late(s) && s.mayStillSend() {
		return false
	}
	s.Fence.seq = recounted
	return true
}

// late tells whether an attempt begins so long after the intent that a reset may have been between them.
func (m *machine) late(s *state) bool {
	return m.rounds && s.FirstSent != 0 && !m.now(s).Before(m.firstSent(s)+refund.Instant(m.intake.Terms.CallTimeout))
}

// mayStillSend tells whether a submit is on its way or may yet leave.
func (s *state) mayStillSend() bool {
	return slices.ContainsFunc(s.wire[:], func(m message) bool { return m.act == actSend }) ||
		slices.ContainsFunc(s.owners[:], func(o owner) bool { return o.at == intended && o.act == actSend })
}

// endRound records that the open round brought no answer: its time was over, or a person's word came before it.
func (m *machine) endRound(s *state) bool {
	if s.Open == noAction || s.Held {
		return false
	}
	s.Open, s.Left = noAction, false
	m.move(s, refund.EventAmbiguous)
	return true
}

// readyToCall tells whether owner i is about to call with this action.
func (m *machine) readyToCall(o owner, act action) bool {
	if o.act != act {
		return false
	}
	return o.at == intended || o.at == ready && !m.rounds && (act == actLookUp || act == actSend && !m.rules.IntentFirst)
}

// unsent is why a send of owner i must not leave: "" when it may. coded tells that a rule says so.
func (m *machine) unsent(s *state, i int) (coded, blocked bool) {
	// Also for the first to send: it may have stood still since its intent, and its successor may have sent meanwhile.
	if m.profile.Expires && !m.retained(s) && (m.rules.FirstInTime || s.owners[i].sentBefore) {
		return false, true
	}
	coded = m.rules.CheckedAtSend && (m.rules.CheckedAgain || !s.owners[i].sentBefore) && m.unfitNow(s)
	return coded, coded
}

// unfitNow is the engine's own check of order and authority.
func (m *machine) unfitNow(s *state) bool {
	return m.rules.Order(m.intake.Request, m.order(s), int64(s.Shown)) != "" || m.rules.DeadlineAtSend && !m.now(s).Before(m.intake.CommitBy())
}

// send lets owner i check and send, or find that it must not.
func (m *machine) send(s *state, i int) bool {
	if !m.readyToCall(s.owners[i], actSend) || m.profile.Shared {
		return false
	}
	coded, blocked := m.unsent(s, i)
	if blocked {
		m.unsentBy(s, i, coded)
		return true
	}
	msg := message{act: actSend, fence: s.owners[i].fence, unauthorised: !m.consented(s)}
	msg.untimely = m.untimely(s)
	if !s.post(msg, m.wire) {
		return false
	}
	s.Sends++
	s.owners[i].at = waiting
	return true
}

// untimely is the truth of a send: it may arrive, within its call's time-out, when the provider has forgotten the first one. Like all
// truths it asks none of the rules that it judges.
func (m *machine) untimely(s *state) bool {
	terms := m.intake.Terms
	return m.profile.Expires && s.FirstSent != 0 && m.now(s)+refund.Instant(terms.CallTimeout) >= m.firstSent(s)+refund.Instant(terms.Retention)
}

// unsentBy notes that owner i sent nothing. Under rounds the first attempt need not be the first to run, so where the provider
// can be asked it says whether anything was sent; and one that begins late takes it that something was (I3).
func (m *machine) unsentBy(s *state, i int, coded bool) {
	o := &s.owners[i]
	o.at, o.saw, o.coded = answered, sawUnsent, coded
	if m.rules.AsksFirst && m.rounds && coded && !o.sentBefore && m.profile.Lookup == refund.LookupStrong {
		if saw, foreign := m.lookUp(s, o.fence); saw != sawNotFound {
			o.saw, o.foreign, o.coded = saw, foreign, false
		}
	}
	o.sentBefore = o.sentBefore || m.rules.LateIsAgain && m.profile.Idempotent && m.late(s)
}

// unreadable lets owner i fail to read the order: it learns nothing and sends nothing. A first attempt after a reset that came too early
// would take it that nothing was ever sent, without asking anybody: that is what operators are told to wait for.
func (m *machine) unreadable(s *state, i int) bool {
	o := s.owners[i]
	if !m.readyToCall(o, actSend) || m.profile.Shared || !m.rules.IntentFirst || o.fence.seq >= recounted && !m.late(s) {
		return false
	}
	m.unsentBy(s, i, false)
	return true
}

// ask lets owner i look the operation up and read the answer, or not.
func (m *machine) ask(s *state, i int, lost bool) bool {
	if !m.readyToCall(s.owners[i], actLookUp) {
		return false
	}
	o := &s.owners[i]
	o.saw, o.foreign = m.lookUp(s, o.fence)
	o.at = answered
	if lost {
		o.saw, o.foreign = sawAmbiguous, false
	}
	return true
}

// callClose lets owner i send a close.
func (m *machine) callClose(s *state, i int) bool {
	if !m.readyToCall(s.owners[i], actClose) || !s.post(message{act: actClose, fence: s.owners[i].fence}, m.wire) {
		return false
	}
	s.owners[i].at = waiting
	return true
}

// giveUp ends owner i's waiting without an answer: the call's time is over, or the answer was lost.
func (m *machine) giveUp(s *state, i int) bool {
	if s.owners[i].at != waiting {
		return false
	}
	s.owners[i].at, s.owners[i].saw = answered, sawAmbiguous
	return true
}

// record lets owner i record what it saw.
func (m *machine) record(s *state, i int) bool {
	o := s.owners[i]
	if o.at != answered {
		return false
	}
	if !m.writes(s, o) {
		s.drop(i)
		return true
	}
	if !m.rounds && o.act == actSend && !m.rules.IntentFirst {
		m.noteIntent(s, o.act)
	}
	if m.rounds && m.retries(o) {
		s.yield(i) // the attempt fails, the round goes on
		return true
	}
	m.learn(s, i)
	return true
}

// retries tells whether an attempt that saw this is an error, so that the round goes on with another.
func (m *machine) retries(o owner) bool {
	switch o.act {
	case actSend:
		return o.saw == sawAmbiguous && m.profile.Idempotent
	case actLookUp:
		return o.saw == sawAmbiguous || o.saw == sawNotFound && m.rules.NotFoundRepeats
	}
	return o.saw == sawAmbiguous
}

// learn records what owner i saw, by the shared rule. It ends the lease, or the round.
func (m *machine) learn(s *state, i int) {
	o := s.owners[i]
	sent := o.sentBefore || o.saw != sawUnsent && o.act == actSend
	// Whoever was about to send something for the first time was authorised; for all others it makes no difference here.
	verdict := m.next(s, o.saw, sent, !o.coded)
	if m.rounds {
		verdict = afterRound(o, verdict)
	}
	s.yield(i)
	s.Open, s.Left = noAction, false
	switch {
	case verdict == actConfirm:
		m.move(s, refund.EventReceipt)
		s.Foreign = o.foreign
	case verdict == actReject && o.saw == sawRefusal:
		m.move(s, refund.EventRefusal)
	case verdict == actReject:
		m.withdraw(s)
	case o.saw == sawStale:
		// It speaks about this owner and not about the refund.
	case o.saw == sawUnsent:
		if !sent {
			s.FirstSent = 0
		}
		s.Lapsed = s.Lapsed || o.coded
	default:
		s.Conflict = s.Conflict || o.saw == sawConflict
		m.move(s, refund.EventAmbiguous)
		s.Parked = !m.rounds && verdict == actHold
	}
}

// afterRound is what a round's answer decides at once: the workflow withdraws in a step of its own.
func afterRound(o owner, verdict action) action {
	if o.saw == sawUnsent && verdict == actReject {
		return actHold
	}
	return verdict
}
