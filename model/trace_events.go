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
		return w.no("more owners than the model can follow")
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
	// Before a refund is withdrawn under rounds, the provider is asked whether anything was sent.
	if w.rounds && act == actLookUp && o.act == actSend && o.at == intended && !o.sentBefore && w.profile.Lookup == refund.LookupStrong {
		o.at, o.coded = waiting, true
		return []node{n}
	}
	if !w.readyToCall(*o, act) {
		return w.no("the owner under %d.%d is %s and its step is %s", f.term, f.seq, standNames[o.at], o.act)
	}
	if act == actSend && w.tooLate(event.At) {
		return w.no("the time to commit was over at %s", w.intake.CommitBy())
	}
	o.at = waiting
	if act != actLookUp && !n.post(message{act: act, fence: f}, w.wire) {
		return w.no("more messages than the model can follow")
	}
	if act == actSend {
		n.Sends = 1
	}
	return []node{n}
}

var standNames = [...]string{"gone", "ready", "about to call", "waiting for an answer", "answered"}

func (w *walker) tooLate(at refund.Instant) bool { return at-Slack >= w.intake.CommitBy() }

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
		w.no("more owners than the model can follow")
		return nil
	}
	left := s.Left || s.Fence.term > f.term || f.seq > 1 || act != actSend
	s.owners[i] = owner{fence: f, at: intended, act: act, sentBefore: left, authorised: true}
	return &s.owners[i]
}

// arrived is a request that the provider decided on.
func (w *walker) arrived(n node, a Arrival) []node {
	f := small(a.Fence)
	if a.Foreign {
		if n.Stored == storedNothing && w.profile.Idempotent && (a.Outcome == "committed" || a.Outcome == "refusal") {
			n.Stored = storedForeign
		}
		return []node{n}
	}
	msg := message{act: actions[a.Act], fence: f}
	if msg.act != actLookUp {
		at := -1
		for i := range n.wire {
			if n.wire[i].act == msg.act && n.wire[i].fence == f {
				at = i
			}
		}
		if at < 0 {
			return w.no("%s arrived and nobody had sent it", a.Name)
		}
		if !w.trace.Doubled || n.wire[at].doubled {
			n.unpost(at)
		} else {
			n.wire[at].doubled = true
		}
	}
	wants, decided := outcomes[a.Outcome]
	if !decided {
		return []node{n}
	}
	var after []node
	for _, moment := range w.moments(a.At) {
		for _, refuses := range []bool{false, true} {
			m := n
			m.Now, m.Spent = moment, refuses
			for _, seen := range []uint8{0, m.Entries} {
				m := m
				m.Replica = seen
				if w.decidesAs(&m.state, msg, wants, a.Outcome) {
					m.Spent, m.Replica = false, 0
					after = append(after, m)
				}
			}
		}
	}
	if len(after) == 0 {
		return w.no("%s was answered %q, which the provider's promise does not allow there", a.Name, a.Outcome)
	}
	return after
}

var outcomes = map[string]seen{
	"committed": sawReceipt, "receipt": sawReceipt, "refusal": sawRefusal, "tombstone": sawRefusal,
	"conflict": sawConflict, "stale-fence": sawStale, "not-found": sawNotFound,
}

// decidesAs lets the provider decide and tells whether it decides so. The owner who waits may read the answer, or not.
func (w *walker) decidesAs(s *state, msg message, wants seen, outcome string) bool {
	entries := s.Entries
	var saw seen
	if msg.act == actLookUp {
		saw, _ = w.lookUp(s, msg.fence)
	} else {
		saw, _ = w.process(s, msg)
	}
	// A stored result for something else is named as such by the one who reads it.
	stranger := saw == sawConflict && s.Stored == storedForeign
	if saw != wants && !stranger || s.Broken != unbroken {
		s.Broken = unbroken
		return false
	}
	if (outcome == "committed") != (s.Entries > entries) {
		return false
	}
	if o := s.ownerOf(msg.fence); o != nil && o.at == waiting {
		o.saw = saw
	}
	return true
}
