package model

import "refundlab/refund"

// Control is a small change of the rules that must be found, and the invariant that it violates. A control that is not found
// means that the explorer is blind. One change is a control under each kind of ownership to which it applies.
type Control struct {
	Name      string
	Title     string // what is changed, for a person
	Profile   refund.ProfileName
	Rounds    bool
	Bounds    Bounds
	Invariant string
	Change    func(*Rules)
}

// Space is where the control is looked for.
func (c Control) Space() Space {
	rules := RealRules()
	c.Change(&rules)
	return Space{Profile: c.Profile, Rounds: c.Rounds, Bounds: c.Bounds, Rules: rules, Want: c.Invariant}
}

// Controls are the changes of the rules, in the order of the flow.
func Controls() []Control {
	var controls []Control
	for _, c := range changes {
		for _, rounds := range []bool{false, true} {
			if !rounds && c.under&leases != 0 || rounds && c.under&(inRounds|afterReset) != 0 {
				bounds := UsualBounds(rounds)
				if c.under&afterReset != 0 {
					bounds = ResetBounds()
				}
				controls = append(controls, Control{c.name, c.title, c.profile, rounds, bounds, c.invariant, c.apply})
			}
		}
	}
	return controls
}

// The kinds of ownership under which a change means something.
const (
	leases uint8 = 1 << iota
	inRounds
	afterReset // in rounds, and shown only by a reset of an activity
	both       = leases | inRounds
)

type change struct {
	name, title string
	profile     refund.ProfileName
	under       uint8
	invariant   string
	apply       func(*Rules)
}

// judge changes what a verdict is made from.
func judge(change func(*refund.Decision, *refund.Bench)) func(*Rules) {
	return func(r *Rules) {
		r.Judge = func(d refund.Decision, b refund.Bench) refund.VerdictCode {
			change(&d, &b)
			return refund.Judge(d, b)
		}
	}
}

// after returns rules in which Next answers an observation differently where the condition holds.
func after(observation refund.Observation, act refund.Action) func(*Rules) {
	return func(r *Rules) {
		r.Next = func(s refund.Situation) refund.Action {
			if s.Observation == observation {
				return act
			}
			return refund.Next(s)
		}
	}
}

var changes = []change{
	{"decision-after-deadline", "a decision is accepted after the deadline", refund.ProfileFull, both, "I5", judge(func(_ *refund.Decision, b *refund.Bench) {
		b.Overdue = false
	})},
	{"requester-approves", "the requester may approve", refund.ProfileFull, both, "I5", judge(func(_ *refund.Decision, b *refund.Bench) {
		b.Intake.Request.Requester = ""
	})},
	{"another-digest-approved", "the digest of an approval is not compared with the one that was shown", refund.ProfileFull, both, "I5", judge(func(d *refund.Decision, b *refund.Bench) {
		d.Digest = b.Intake.Digest
	})},
	{"another-version-approved", "the order version of an approval is not compared with the one that was shown", refund.ProfileFull, both, "I5", judge(func(d *refund.Decision, b *refund.Bench) {
		if b.Proposal != nil {
			d.OrderVersion = b.Proposal.OrderVersion
		}
	})},
	{"another-operation-approved", "the operation of an approval is not compared", refund.ProfileFull, both, "I5", judge(func(d *refund.Decision, b *refund.Bench) {
		d.OperationID = b.Intake.OperationID
	})},
	{"approved-before-shown", "an approval counts before a proposal is recorded", refund.ProfileFull, both, "I5", judge(func(d *refund.Decision, b *refund.Bench) {
		if b.Proposal == nil {
			b.Proposal = &refund.Proposal{OrderVersion: d.OrderVersion}
		}
	})},
	{"decision-overwritten", "a later decision takes the place of the accepted one", refund.ProfileFull, both, "I10", func(r *Rules) { r.FirstWins = false }},
	{"intent-after-call", "the intent is written after the call", refund.ProfileLookup, leases, "I1", func(r *Rules) { r.IntentFirst = false }},
	{"generation-does-not-grow", "a claim keeps the generation", refund.ProfileLookup, leases, "I1", func(r *Rules) { r.GenerationGrows = false }},
	{"generation-not-compared", "an owner's write does not name its generation", refund.ProfileLookup, leases, "I6", func(r *Rules) { r.GenerationCond = false }},
	{"attempt-not-compared", "an attempt's completion does not name its number", refund.ProfileLookup, inRounds, "I6", func(r *Rules) { r.GenerationCond = false }},
	{"lease-not-compared", "an owner's write does not look at its lease", refund.ProfileLookup, leases, "I6", func(r *Rules) { r.LeaseCond = false }},
	{"given-up-attempt-completes", "an attempt that the server gave up may complete", refund.ProfileLookup, inRounds, "I6", func(r *Rules) { r.LeaseCond = false }},
	{"not-checked-before-send", "order and authority are not read again before a send", refund.ProfileLookup, both, "I5", func(r *Rules) { r.CheckedAtSend = false }},
	{"version-not-compared", "the check before a send does not compare the order's version", refund.ProfileLookup, both, "I5", func(r *Rules) {
		r.Order = func(request refund.Request, order refund.Order, _ int64) refund.Code {
			return refund.CheckOrder(request, order, 0)
		}
	}},
	{"deadline-not-compared", "the check before a send does not look at the time to commit", refund.ProfileLookup, both, "I5", func(r *Rules) { r.DeadlineAtSend = false }},
	{"not-authorised-second-send", "authority is not looked at before a second send", refund.ProfileLenient, both, "I5", func(r *Rules) {
		r.Next = func(s refund.Situation) refund.Action {
			s.Authorised = s.Authorised || s.Sent
			return refund.Next(s)
		}
		r.CheckedAgain = false
	}},
	{"second-attempt", "a round to send has a second attempt where the provider recognises no repetition", refund.ProfileLookup, inRounds, "I1", func(r *Rules) { r.OneAttempt = false }},
	{"first-attempt-does-not-ask", "a first attempt whose check fails does not ask whether an earlier one has sent", refund.ProfileFull, afterReset, "I3", func(r *Rules) { r.AsksFirst = false }},
	{"late-attempt-is-first", "a first attempt that begins late takes it that nothing was sent before it", refund.ProfileLenient, afterReset, "I3", func(r *Rules) { r.LateIsAgain = false }},
	{"not-found-is-absence", "\"not found\" is taken for absence", refund.ProfileLookup, both, "I4", func(r *Rules) {
		after(refund.ObservedNotFound, refund.ActReject)(r)
		r.NotFoundRepeats = false
	}},
	{"second-send-after-look-up", "after \"not found\" the refund is sent again", refund.ProfileLookup, both, "I1", func(r *Rules) {
		r.Next = func(s refund.Situation) refund.Action {
			if next := refund.Next(s); next != refund.ActLookUp {
				return next
			}
			return refund.ActSend
		}
	}},
	{"time-out-is-failure", "a time-out is recorded as a failure", refund.ProfileLookup, both, "I4", func(r *Rules) {
		after(refund.ObservedAmbiguous, refund.ActReject)(r)
		r.After = func(s refund.OperationState, event refund.OperationEvent) (refund.OperationState, bool) {
			if s == refund.StateUnknown && event == refund.EventWithdrawn {
				return refund.StateRejected, true
			}
			return s.After(event)
		}
	}},
	{"unsent-is-refusal", "a check that fails when something was sent is taken for a refusal", refund.ProfileLookup, both, "I4", func(r *Rules) {
		r.Next = func(s refund.Situation) refund.Action {
			if s.Sent && !s.Authorised && s.Observation == refund.ObservedNothing {
				return refund.ActReject
			}
			return refund.Next(s)
		}
	}},
	{"unknown-for-everything", "every outcome that is not a receipt stays UNKNOWN", refund.ProfileFull, both, "I4", func(r *Rules) {
		r.Next = func(s refund.Situation) refund.Action {
			if next := refund.Next(s); s.Observation == refund.ObservedReceipt || !s.Sent {
				return next
			}
			return refund.ActHold
		}
	}},
	{"retention-ignored", "the operation is sent again however long ago it was sent first", refund.ProfileRetention, both, "I1", func(r *Rules) {
		r.Retained = func(refund.Terms, refund.Instant, refund.Instant) bool { return true }
	}},
	{"first-send-too-late", "only a second send looks at the retention, the first one never", refund.ProfileRetention, both, "I1", func(r *Rules) { r.FirstInTime = false }},
	{"digest-not-compared", "a receipt is not compared with what was asked", refund.ProfileLenient, both, "I9", func(r *Rules) {
		r.Receipt = func(refund.Intake, refund.Receipt) refund.Observation { return refund.ObservedReceipt }
	}},
	{"conflict-is-refusal", "a conflict is taken for a refusal", refund.ProfileFull, both, "I4", func(r *Rules) {
		after(refund.ObservedConflict, refund.ActReject)(r)
	}},
	{"key-from-attempt", "each attempt makes a key of its own", refund.ProfileFull, both, "I1", func(r *Rules) { r.OneKey = false }},
	{"equal-is-duplicate", "equal parameters are taken for a duplicate", refund.ProfileFull, both, "I8", func(r *Rules) { r.ByKeyAlone = false }},
	{"fence-not-compared", "the provider does not compare fences", refund.ProfileFull, both, "I6", func(r *Rules) { r.FenceCompared = false }},
	{"fence-not-in-close", "a close carries no fence", refund.ProfileFull, both, "I6", func(r *Rules) { r.FenceOfClose = false }},
	{"refusal-not-stored", "the provider does not store its refusal", refund.ProfileLenient, both, "I3", func(r *Rules) { r.RefusalStored = false }},
	{"tombstone-not-checked", "a request is accepted after a close, and fences are not compared: each alone hides that the other is missing", refund.ProfileFull, both, "I3", func(r *Rules) {
		r.TombstoneHolds = false
		r.FenceCompared = false
	}},
	{"balance-not-compared-at-commit", "the provider does not look at the balance", refund.ProfileLookup, both, "I7", func(r *Rules) { r.BalanceAtCommit = false }},
	{"version-not-compared-at-commit", "the provider does not compare the order's version", refund.ProfileFull, both, "I5", func(r *Rules) { r.VersionAtCommit = false }},
	{"deadline-not-compared-at-commit", "the provider does not look at the time to commit", refund.ProfileFull, both, "I5", func(r *Rules) { r.DeadlineAtCommit = false }},
}

// UsualBounds are large enough for every control that needs no reset, and small enough to be explored in a minute.
func UsualBounds(rounds bool) Bounds {
	if rounds {
		return Bounds{Claims: 2, Rounds: 2, Settlements: 1}
	}
	return Bounds{Claims: 3, Settlements: 1}
}

// ResetBounds are those of the spaces in which an operator resets the activity of a round: one attempt before and one after it.
func ResetBounds() Bounds { return Bounds{Claims: 2, Rounds: 1, Resets: 1} }
