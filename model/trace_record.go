package model

import "refundlab/refund"

// write is the next fact of the record: the states in which it can have become durable.
func (w *walker) write(n node, r Record) []node {
	switch r.Kind {
	case refund.FactIntake:
		if n.written != 0 {
			return w.no("a second intake")
		}
	case refund.FactVerdict:
		return w.judged(n, r)
	case refund.FactProposal:
		return w.proposed(n, r)
	case refund.FactIntent:
		return w.intended(n, r)
	case refund.FactObservation:
		return w.observed(n, r)
	case refund.FactOutcome:
		return w.concluded(n, r)
	case refund.FactExpiry:
		return w.expired(n, r)
	case refund.FactSettlement:
		return w.settledBy(n, r)
	case refund.FactNotice, refund.FactClosed:
		if n.Now = w.moment(r.At); !w.status(&n.state).Terminal() {
			return w.no("fact %d tells of an end, and there is none", r.Seq)
		}
	case refund.FactModelCall:
		if _, held := w.holder(&n.state, r); !w.rounds && !held {
			return w.no("fact %d (%s): %d.%d does not hold the run", r.Seq, r.Kind, r.Fence.Term, r.Fence.Seq)
		}
	}
	return []node{n}
}

// holder is the place of the owner who wrote a fact, false when it may not write.
func (w *walker) holder(s *state, r Record) (int, bool) {
	f := small(r.Fence)
	for i := range s.owners {
		if s.owners[i].at != free && s.owners[i].fence == f {
			probe := *s
			return i, w.writes(&probe, s.owners[i])
		}
	}
	return 0, false
}

// as tries a step at every moment at which it can have been decided.
func (w *walker) as(n node, at refund.Instant, step func(*state) bool) []node {
	var after []node
	for _, moment := range w.moments(at) {
		m := n
		m.Now = moment
		if step(&m.state) && m.Broken == unbroken {
			after = append(after, m)
		}
	}
	return after
}

func (w *walker) proposed(n node, r Record) []node {
	if n.Shown != 0 {
		return w.no("fact %d is a second proposal", r.Seq)
	}
	if w.rounds {
		n.Shown = 1
		return []node{n}
	}
	i, held := w.holder(&n.state, r)
	if !held || !w.propose(&n.state, i) {
		return w.no("fact %d (%s): %d.%d does not hold the run, or proposing is not its step", r.Seq, r.Kind, r.Fence.Term, r.Fence.Seq)
	}
	return []node{n}
}

// judged is a verdict: that of the decision that the run holds when it was accepted, else one that some decision could get.
func (w *walker) judged(n node, r Record) []node {
	code, accepted := refund.VerdictCode(r.Code), w.trace.Facts.Decision
	after := w.as(n, w.arrival(r), func(s *state) bool {
		if code != refund.VerdictAccepted {
			return w.anyVerdict(s, code)
		}
		if accepted == nil || accepted.DecisionID != r.Ref || w.verdict(s, w.restated(*accepted)) != refund.VerdictAccepted {
			return false
		}
		s.Choice = 1
		if accepted.Choice == refund.ChoiceReject {
			s.Choice = 2
			w.withdraw(s)
		}
		return true
	})
	if len(after) == 0 {
		return w.no("fact %d gives decision %s the verdict %s, and the rule does not", r.Seq, r.Ref, r.Code)
	}
	return after
}

// arrival is when a decision arrived. Its verdict may be much later, where it waited for a worker; where arriving and judging
// are one transaction there is the verdict's time alone.
func (w *walker) arrival(verdict Record) refund.Instant {
	for _, r := range w.trace.Records {
		if r.Kind == refund.FactDecision && r.Ref == verdict.Ref {
			return r.At
		}
	}
	return verdict.At
}

// restated is a real decision in the words of the model, whose order has version 1 when a proposal is recorded.
func (w *walker) restated(d refund.Decision) refund.Decision {
	if p := w.trace.Facts.Proposal; p != nil && d.OrderVersion == p.OrderVersion {
		d.OrderVersion = 1
	} else {
		d.OrderVersion = 2
	}
	return d
}

// anyVerdict tells whether some decision would get this verdict.
func (w *walker) anyVerdict(s *state, code refund.VerdictCode) bool {
	if code == refund.VerdictInvalid || code == refund.VerdictRunClosed && w.cancelled() {
		return true // the second one although the end is not recorded yet
	}
	for n := range w.decisions {
		for version := range int64(2) {
			d := w.decisions[n].decision
			d.OrderVersion = version + int64(s.Shown)
			if w.verdict(s, d) == code {
				if code == refund.VerdictExpired && !w.rounds {
					s.Expired = true
				}
				return true
			}
		}
	}
	return false
}

// cancelled tells whether an operator cancelled the run before it was approved.
func (w *walker) cancelled() bool {
	return w.trace.Facts.Rejected == refund.CodeCancelled
}

func (w *walker) intended(n node, r Record) []node {
	want := actions[refund.Action(r.Ref)]
	if w.rounds {
		after := w.as(n, r.At, func(s *state) bool {
			if small(r.Fence).term <= s.Fence.term || !w.openRound(s) || s.Open != want {
				return false
			}
			s.Fence.term = small(r.Fence).term
			return true
		})
		if len(after) == 0 {
			n.Now = w.moment(r.At)
			return w.no("fact %d opens round %d to %s, and the rule allows %s", r.Seq, r.Fence.Term, want, w.legal(&n.state))
		}
		return after
	}
	i, held := w.holder(&n.state, r)
	if !held {
		return w.no("fact %d (%s): %d.%d does not hold the run", r.Seq, r.Kind, r.Fence.Term, r.Fence.Seq)
	}
	o := &n.owners[i]
	if o.at != ready || o.act != want {
		return w.no("fact %d intends %s, and the step of %d.%d is %s", r.Seq, want, r.Fence.Term, r.Fence.Seq, o.act)
	}
	n.Now = w.moment(r.At)
	w.noteIntent(&n.state, want)
	o.at = intended
	return []node{n}
}

// observed is an answer, or the want of one, that decides nothing.
func (w *walker) observed(n node, r Record) []node {
	f := small(r.Fence)
	i, held := w.holder(&n.state, r)
	if w.rounds && !held {
		if n.Open == noAction || n.Fence.term != f.term || f.seq != 0 && f.seq < n.Fence.seq {
			return w.no("fact %d: round %d is over, or a later attempt has begun", r.Seq, f.term)
		}
		if seenAs(refund.Observation(r.Code)) == sawAmbiguous { // its attempts ended without a word
			n.Fence.seq, n.Held = max(n.Fence.seq, f.seq), false // 0: given up between two attempts
			return w.as(n, r.At, w.endRound)
		}
		o := w.attemptOf(&n.state, f)
		if o == nil {
			return nil
		}
		i, held = w.holder(&n.state, r)
	}
	if !held {
		return w.no("fact %d (%s %s): %d.%d does not hold the run", r.Seq, r.Kind, r.Code, f.term, f.seq)
	}
	if r.Ref == "PROPOSE" {
		n.yield(i)
		return []node{n}
	}
	if n.owners[i].at == ready && n.owners[i].act == actHold {
		return w.as(n, r.At, func(s *state) bool { return w.conclude(s, i) })
	}
	after := w.learns(n, r, i, seenAs(refund.Observation(r.Code)))
	after = keep(after, func(m node) bool { return !m.Op.state().Final() })
	if len(after) == 0 {
		return w.no("fact %d says that %d.%d saw %s, and it can have seen no such answer", r.Seq, f.term, f.seq, r.Code)
	}
	return after
}

// learns lets owner i record an observation, where it can have made it.
func (w *walker) learns(n node, r Record, i int, saw seen) []node {
	o := n.owners[i]
	switch saw {
	case sawUnsent:
		if o.act != actSend || o.at != intended && !(o.at == waiting && o.coded) {
			return nil
		}
	case sawAmbiguous: // nothing has to arrive for that
	case sawConflict: // a receipt that is not ours is one too
		if o.at != waiting || o.saw != sawConflict && o.saw != sawReceipt {
			return nil
		}
	default:
		if o.at != waiting || o.saw != saw {
			return nil
		}
	}
	before := []bool{o.sentBefore}
	if saw == sawUnsent && w.rounds && w.profile.Idempotent && !o.sentBefore {
		before = append(before, true) // an attempt that begins late takes it that another was before it, whatever its number
	}
	var after []node
	for _, sent := range before {
		for _, coded := range []bool{false, true} {
			m := n
			p := &m.owners[i]
			p.at, p.saw, p.coded, p.sentBefore = answered, saw, coded && saw == sawUnsent, sent
			after = append(after, w.as(m, r.At, func(s *state) bool { w.learn(s, i); return true })...)
		}
	}
	return after
}

// concluded is an outcome: by an answer, by a rule or by a person.
func (w *walker) concluded(n node, r Record) []node {
	if n.Op.state().Final() { // recorded together with what decided it
		if r.Code == string(refund.CodeApprovalRejected) && n.Choice == 2 || n.Settlements > 0 && n.Op.state() == refund.StateConfirmed {
			return []node{n}
		}
		return w.no("fact %d is a second outcome", r.Seq)
	}
	confirmed := r.Code == string(refund.StateConfirmed)
	i, held := w.holder(&n.state, r)
	if w.rounds && !held && r.Fence != (refund.Fence{}) {
		return w.no("fact %d: attempt %d.%d is over, or has called nobody", r.Seq, r.Fence.Term, r.Fence.Seq)
	}
	var after []node
	switch {
	case w.rounds && !held:
		after = w.endsItself(n, r)
	case !held:
		return w.no("fact %d (%s): %d.%d does not hold the run", r.Seq, r.Kind, r.Fence.Term, r.Fence.Seq)
	case confirmed && w.profile.Shared:
		after = w.commitsLocally(n, r, i)
	case confirmed:
		after = w.learns(n, r, i, sawReceipt)
	default:
		after = append(after, w.learns(n, r, i, sawRefusal)...)
		after = append(after, w.learns(n, r, i, sawUnsent)...)
		if n.owners[i].act == actPropose {
			after = append(after, w.as(n, r.At, func(s *state) bool { w.withdraw(s); s.yield(i); return true })...)
		}
		if n.owners[i].act == actReject {
			after = append(after, w.as(n, r.At, func(s *state) bool { return w.conclude(s, i) })...)
		}
		if w.profile.Shared && n.owners[i].at == intended {
			after = append(after, w.as(n, r.At, func(s *state) bool { w.move(s, refund.EventRefusal); s.yield(i); return true })...)
		}
	}
	after = keep(after, func(m node) bool { return m.Op.state().Final() && (m.Op.state() == refund.StateConfirmed) == confirmed })
	if len(after) == 0 {
		return w.no("fact %d ends the run with %s, and nothing that %d.%d can have seen allows it", r.Seq, r.Code, r.Fence.Term, r.Fence.Seq)
	}
	return after
}

// commitsLocally is the outcome that stands in one transaction with its intent and the ledger's entry.
func (w *walker) commitsLocally(n node, r Record, i int) []node {
	if n.owners[i].at != intended {
		return nil
	}
	return w.as(n, r.At, func(s *state) bool {
		saw, _ := w.accept(s, message{act: actSend, fence: s.owners[i].fence})
		s.owners[i].at, s.owners[i].saw = answered, saw
		w.learn(s, i)
		return true
	})
}

// endsItself is an end that the workflow decides: without a proposal, by a person, or by a rule before anything was sent.
func (w *walker) endsItself(n node, r Record) []node {
	if n.Shown == 0 || r.Code == string(refund.CodeCancelled) {
		return w.as(n, r.At, func(s *state) bool { w.withdraw(s); return s.Choice == 0 })
	}
	return w.as(n, r.At, func(s *state) bool { return w.openRound(s) && s.Open == noAction })
}

func (w *walker) expired(n node, r Record) []node {
	if n.Expired && !w.rounds {
		return []node{n} // by a late decision's transaction
	}
	var after []node
	if w.rounds {
		after = w.as(n, r.At, w.lateEnd)
	} else if i, held := w.holder(&n.state, r); held {
		after = keep(w.as(n, r.At, func(s *state) bool { return w.expire(s, i) }), func(m node) bool { return m.Expired })
	}
	if len(after) == 0 {
		return w.no("fact %d ends the run for want of a decision, and it has one, or the time was not over", r.Seq)
	}
	return after
}

// settledBy is a person's word. Under rounds the fact does not say of what kind it was.
func (w *walker) settledBy(n node, r Record) []node {
	if w.rounds && r.Code != "" {
		return []node{n} // refused
	}
	var after []node
	for _, kind := range settlements {
		if !w.rounds && string(kind) != r.Code {
			continue
		}
		m := n
		m.Held = false
		m.Entries = max(m.Entries, 1) // the person's receipt is checked by itself
		after = append(after, w.as(m, r.At, func(s *state) bool { return w.settle(s, kind) })...)
	}
	for i := range after {
		after[i].Entries = n.Entries
		after[i].Settlements = 1
		if w.rounds {
			continue
		}
		after[i].Fence = small(r.Fence)
		if after[i].Closing {
			place := after[i].slot(w.owners)
			if place < 0 {
				w.lost = true
				return nil
			}
			after[i].Held = true
			after[i].owners[place] = owner{fence: small(r.Fence), at: ready, act: actClose, sentBefore: true}
		}
	}
	if len(after) == 0 {
		return w.no("fact %d settles the run, and the rule refuses that", r.Seq)
	}
	return after
}

func keep(nodes []node, fits func(node) bool) []node {
	kept := nodes[:0]
	for _, n := range nodes {
		if fits(n) {
			kept = append(kept, n)
		}
	}
	return kept
}
