package model

import "refundlab/refund"

// recall is what the provider remembers of the operation now.
func (m *machine) recall(s *state) stored {
	if !m.profile.Idempotent {
		return storedNothing
	}
	retention := refund.Instant(m.intake.Terms.Retention)
	if m.profile.Expires && s.Stored != storedNothing && m.now(s) >= m.instants[s.StoredAt]+retention {
		return storedNothing
	}
	return s.Stored
}

func (m *machine) remember(s *state, what stored, by fence) {
	if m.profile.Idempotent {
		s.Stored, s.StoredBy = what, by
		if m.profile.Expires {
			s.StoredAt = s.Now
		}
	}
}

// raise compares a caller's fence with the highest that was seen; stale says that the caller is refused. To go on with an
// older owner after a newer one was here violates I6, whatever the provider compared.
func (m *machine) raise(s *state, f fence, carried bool) (stale bool) {
	if !m.profile.Fence {
		return false
	}
	f = f.told()
	if m.rules.FenceCompared && carried && f.less(s.Raised) {
		return true
	}
	if carried && s.Raised.less(f) {
		s.Raised = f
	}
	if f.less(s.Newest) {
		s.Broken = brokenI6
	} else {
		s.Newest = f
	}
	return false
}

// accept decides one submission: the order of its checks is the provider's contract.
func (m *machine) accept(s *state, msg message) (saw seen, foreign bool) {
	if m.profile.Expires && s.First == 0 {
		s.First = s.Now + 1
	}
	if m.profile.Idempotent {
		known := m.recall(s)
		if !m.rules.OneKey && s.StoredBy != msg.fence {
			known = storedNothing
		}
		if known == storedForeign && m.profile.OtherDigest == refund.DigestConflict {
			return sawConflict, false
		}
		if m.raise(s, msg.fence, true) {
			return sawStale, false
		}
		switch {
		case known == storedTombstone && !m.rules.TombstoneHolds:
		case known != storedNothing:
			return m.result(known)
		case s.Trouble == equalTwin && !m.rules.ByKeyAlone:
			return sawReceipt, true
		}
	}
	if m.refuses(s) {
		if m.rules.RefusalStored {
			m.remember(s, storedRefusal, msg.fence)
		}
		return sawRefusal, false
	}
	m.commit(s, msg)
	return sawReceipt, false
}

// result is a stored result as its caller reads it, after the check of the receipt.
func (m *machine) result(known stored) (saw seen, foreign bool) {
	switch known {
	case storedReceipt:
		return seenAs(m.rules.Receipt(m.intake, m.ours)), false
	case storedForeign:
		return seenAs(m.rules.Receipt(m.intake, m.foreign)), true
	case storedNothing:
		return sawNotFound, false
	}
	return sawRefusal, false
}

// refuses is the provider's own check at its commit. It is another party's reading of the rules, and calls none of the engines'.
func (m *machine) refuses(s *state) bool {
	order := m.order(s)
	return m.rules.BalanceAtCommit && m.intake.Request.Amount.Minor > order.Captured-order.Refunded ||
		m.profile.OrderVersion && m.rules.VersionAtCommit && order.Version != int64(s.Shown) ||
		m.profile.Deadline && m.rules.DeadlineAtCommit && !m.now(s).Before(m.intake.CommitBy())
}

// commit moves the money.
func (m *machine) commit(s *state, msg message) {
	authorised := !msg.unauthorised // as it was sent
	if m.profile.OrderVersion && m.profile.Deadline {
		authorised = m.consented(s) // as it is now
	}
	switch {
	case !authorised:
		s.Broken = brokenI5
	case s.exhausted():
		s.Broken = brokenI7
	}
	s.Entries++
	m.remember(s, storedReceipt, msg.fence)
}

// lookUp answers an owner's look-up. Of several entries it shows the first; a replica shows what it has seen.
func (m *machine) lookUp(s *state, f fence) (saw seen, foreign bool) {
	if m.raise(s, f, true) {
		return sawStale, false
	}
	if known := m.recall(s); known != storedNothing {
		return m.result(known)
	}
	visible := s.Entries
	if m.profile.Lookup == refund.LookupLagging {
		visible = s.Replica
	}
	if visible == 0 {
		return sawNotFound, false
	}
	return m.result(storedReceipt)
}

// close is get-or-tombstone.
func (m *machine) close(s *state, f fence) (saw seen, foreign bool) {
	if m.raise(s, f, m.rules.FenceOfClose) {
		return sawStale, false
	}
	if m.recall(s) == storedNothing {
		m.remember(s, storedTombstone, f)
	}
	return m.result(s.Stored)
}

// mayArrive tells whether the network may deliver a message now. Under a profile that forgets, I1 is promised while every copy
// arrives within retention, so a copy that was sent in time and would arrive later is lost; one that was sent too late is the
// sender's own fault.
func (m *machine) mayArrive(s *state, msg message) bool {
	if !m.profile.Expires || msg.act != actSend || s.First == 0 || msg.untimely && !msg.doubled {
		return true
	}
	return m.now(s) < m.instants[s.First-1]+refund.Instant(m.intake.Terms.Retention)
}

// deliver lets message i arrive. With stays it is on its way once more: the network has doubled it.
func (m *machine) deliver(s *state, i int, stays, lost bool) bool {
	msg := s.wire[i]
	if msg.act == noAction || !m.mayArrive(s, msg) {
		return false
	}
	// Where the provider recognises nothing, I1 is promised only while the network delivers each request once.
	if stays && (!m.profile.Idempotent || msg.doubled) {
		return false
	}
	if stays {
		s.wire[i].doubled = true
	} else {
		s.unpost(i)
	}
	saw, foreign := m.process(s, msg)
	if o := s.ownerOf(msg.fence); o != nil && o.at == waiting && !lost {
		o.at, o.saw, o.foreign = answered, saw, foreign
	} else if !lost {
		return false // the same as lost: nobody waits
	}
	return true
}

func (m *machine) process(s *state, msg message) (saw seen, foreign bool) {
	if msg.act == actClose {
		return m.close(s, msg.fence)
	}
	return m.accept(s, msg)
}
