package model

import "refundlab/refund"

// cross is what an observed event leaves of a node: the states in which it can have been announced.
func (w *walker) cross(n node, event Event) []node {
	if !w.ripe(n) {
		return nil
	}
	f := small(event.Fence)
	switch event.What {
	case Claimed:
		return w.claimed(n, event)
	case Wrote:
		if o := n.ownerOf(f); o == nil {
			return w.no("nobody holds the run under %d.%d", f.term, f.seq)
		}
	case Dropped:
		if f == n.Fence {
			n.Held = false // it never comes back
		}
		for i := range n.owners {
			if n.owners[i].at != free && n.owners[i].fence == f {
				n.drop(i)
			}
		}
	case Submits:
		return w.calls(n, event, actSend)
	case LooksUp:
		return w.calls(n, event, actLookUp)
	case Closes:
		return w.calls(n, event, actClose)
	}
	return []node{n}
}

// claimed is a claim that was announced. That the old lease is over shows in nothing else.
func (w *walker) claimed(n node, event Event) []node {
	f := small(event.Fence)
	if !n.Fence.less(f) {
		return w.no("generation %d was given before", f.term)
	}
	i := n.slot(w.owners)
	if i < 0 {
		w.lost = true
		return nil
	}
	var after []node
	for _, moment := range w.moments(event.At) {
		m := n
		m.Now, m.Held = moment, false
		if !w.claim(&m.state, i) {
			continue
		}
		m.Fence, m.owners[i].fence = f, f // above the last one by more than one where the provider had seen a newer
		after = append(after, m)
	}
	if len(after) == 0 {
		return w.no("nothing was due")
	}
	return after
}

// calls is a request that leaves under a fence.
func (w *walker) calls(n node, event Event, act action) []node {
	f := small(event.Fence)
	o := n.ownerOf(f)
	if o == nil && w.rounds {
		if o = w.attemptOf(&n.state, f); o == nil {
			return nil
		}
	}
	if o == nil {
		return w.no("nobody holds the run under %d.%d", f.term, f.seq)
	}
	// Before a refund is withdrawn under rounds, the provider is asked whether anything was sent: by a first attempt that knows of
	// no earlier round, also when there is a later one meanwhile.
	first := f.seq == 1 && (!o.sentBefore || f.term < n.Fence.term)
	if w.rounds && act == actLookUp && o.act == actSend && o.at == intended && first && w.profile.Lookup == refund.LookupStrong {
		o.at, o.coded = waiting, true
		return []node{n}
	}
	if !w.readyToCall(*o, act) {
		return w.no("the owner under %d.%d is %s and its step is %s", f.term, f.seq, standNames[o.at], o.act)
	}
	if act == actSend {
		switch {
		case !event.Looked:
			return w.no("the order was not read for it, between the intent and the send")
		case w.tooLate(event.At):
			return w.no("the time to commit was over at %s", w.intake.CommitBy())
		case w.forgotten(&n.state, *o, event.At):
			return w.no("what was sent first may be forgotten since %s", w.forgetsAt(&n.state))
		}
	}
	o.at = waiting
	if act != actLookUp && !n.post(message{act: act, fence: f}, w.wire) {
		w.lost = true
		return nil
	}
	if act == actSend {
		n.Sends = 1
	}
	return []node{n}
}

var standNames = [...]string{"gone", "ready", "about to call", "waiting for an answer", "answered"}

func (w *walker) tooLate(at refund.Instant) bool { return at-Slack >= w.intake.CommitBy() }

func (w *walker) forgetsAt(s *state) refund.Instant {
	return w.firstSent(s) + refund.Instant(w.intake.Terms.Retention)
}

// forgotten tells whether a send at this time is later than the look at the provider's memory allows. Only the send is observed; the
// look before it is at most one call's time-out old under a lease, and two in an attempt, because an engine's calls have no more.
//
// Two looks see no reason to doubt: that of an owner whose lease is running, and that of a first attempt within a call's time-out of the
// intent.
func (w *walker) forgotten(s *state, o owner, at refund.Instant) bool {
	if !w.profile.Expires || w.trace.ClockMoved || s.FirstSent == 0 || at-Slack < w.forgetsAt(s) {
		return false
	}
	timeout := refund.Instant(w.intake.Terms.CallTimeout)
	switch {
	case o.sentBefore && (!w.rounds || o.fence.seq > 1):
		return true
	case w.rounds:
		return at-Slack >= w.firstSent(s)+3*timeout
	}
	next, claimed := w.claimedAfter(o.fence)
	return claimed && at-Slack >= next+timeout
}

// claimedAfter is when the run was given to another after an owner: at the latest then its lease was over.
func (w *walker) claimedAfter(f fence) (refund.Instant, bool) {
	for _, event := range w.trace.Events[:w.at] {
		if event.What == Claimed && f.less(small(event.Fence)) {
			return event.At, true
		}
	}
	return 0, false
}

// attemptOf starts the attempts of a round up to one that calls. Attempts that were started before may act later, and so may
// those of a round that is over; each calls once.
func (w *walker) attemptOf(s *state, f fence) *owner {
	act, known := w.acts[f.term]
	switch {
	case !known || s.Fence.term < f.term:
		w.no("round %d was not opened", f.term)
		return nil
	case act == actSend && !w.profile.Idempotent && f.seq > 1:
		w.no("attempt %d would be a second send, which profile %s does not recognise", f.seq, w.profile.Name)
		return nil
	case s.Fence.term == f.term && s.Fence.seq < f.seq:
		if s.Open == noAction {
			w.no("round %d is over", f.term)
			return nil
		}
		s.Fence, s.Held = f, true
	}
	i := s.slot(w.owners)
	if i < 0 {
		w.lost = true
		return nil
	}
	left := s.Left || s.Fence.term > f.term || f.seq > 1 || act != actSend
	s.owners[i] = owner{fence: f, at: intended, act: act, sentBefore: left}
	return &s.owners[i]
}

// arrived is a request that the provider decided on.
func (w *walker) arrived(n node, a Arrival) []node {
	if a.Foreign {
		if n.Stored == storedNothing && w.profile.Idempotent && (a.Outcome == "committed" || a.Outcome == "refusal") {
			n.Stored = storedForeign
		}
		return []node{n}
	}
	msg := message{act: actions[a.Act], fence: small(a.Fence)}
	if !w.taken(&n.state, msg, a.Begun < 0) {
		return w.no("%s arrived and nobody had sent it", a.Name)
	}
	switch wants, known := outcomes[a.Outcome]; {
	case known:
		after := w.decides(n, a, msg, func(saw seen, grew, foreign bool) bool {
			// A stored result for something else is named as such by the one who reads it.
			return (saw == wants || saw == sawConflict && foreign) && grew == (a.Outcome == "committed")
		})
		if len(after) == 0 {
			return w.no("%s was answered %q, which the provider's promise does not allow there", a.Name, a.Outcome)
		}
		return after
	case a.Outcome == "" || a.Outcome == "error": // the provider died over it: nobody knows whether it committed
		return append(w.decides(n, a, msg, func(seen, bool, bool) bool { return true }), n)
	}
	return []node{n} // nothing came of it
}

// taken takes a message off the wire. A close that nobody announced is a client's, whose calls are not traced.
func (w *walker) taken(s *state, msg message, unannounced bool) bool {
	if msg.act == actLookUp {
		return true
	}
	for i := range s.wire {
		if s.wire[i].act != msg.act || s.wire[i].fence != msg.fence {
			continue
		}
		if !w.trace.Doubled || s.wire[i].doubled {
			s.unpost(i)
		} else {
			s.wire[i].doubled = true
		}
		return true
	}
	o := s.ownerOf(msg.fence)
	if !unannounced || o == nil || msg.act != actClose || !w.readyToCall(*o, actClose) {
		return false
	}
	o.at = waiting
	return true
}

// decides lets the provider decide in every way that its promise and the moment allow, and keeps what fits.
func (w *walker) decides(n node, a Arrival, msg message, fits func(saw seen, grew, foreign bool) bool) []node {
	var after []node
	for _, moment := range w.moments(a.At) {
		for _, refuses := range []bool{false, true} { // the order as it stood is not on record
			for _, replica := range []uint8{0, n.Entries} {
				m := n
				m.Now, m.Spent, m.Replica = moment, refuses, replica
				var saw seen
				if msg.act == actLookUp {
					saw, _ = w.lookUp(&m.state, msg.fence)
				} else {
					saw, _ = w.process(&m.state, msg)
				}
				if m.Broken != unbroken || !fits(saw, m.Entries > n.Entries, m.Stored == storedForeign) {
					continue
				}
				m.Spent, m.Replica = false, 0
				if o := m.ownerOf(msg.fence); o != nil && o.at == waiting {
					o.saw = saw // it may read the answer, or not
				}
				after = append(after, m)
			}
		}
	}
	return after
}

var outcomes = map[string]seen{
	"committed": sawReceipt, "receipt": sawReceipt, "refusal": sawRefusal, "tombstone": sawRefusal,
	"conflict": sawConflict, "stale-fence": sawStale, "not-found": sawNotFound,
}
