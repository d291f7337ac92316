package model

import "refundlab/refund"

// Control is a small change of the rules that must be found, and the invariant that it violates. A control that is not found
// means that the explorer is blind.
type Control struct {
	Name      string
	Title     string // what is changed, for a person
	Profile   refund.ProfileName
	Rounds    bool
	Invariant string
	Change    func(*Rules)
}

// Space is where the control is looked for.
func (c Control) Space() Space {
	rules := RealRules()
	c.Change(&rules)
	return Space{Profile: c.Profile, Rounds: c.Rounds, Bounds: UsualBounds(c.Rounds), Rules: rules, Want: c.Invariant}
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

// Controls are the changes of the rules, in the order of the flow.
func Controls() []Control {
	return []Control{
		{"decision-after-deadline", "a decision is accepted after the deadline", refund.ProfileFull, false, "I5", func(r *Rules) {
			r.Judge = func(d refund.Decision, b refund.Bench) refund.VerdictCode {
				b.Overdue = false
				return refund.Judge(d, b)
			}
		}},
		{"requester-approves", "the requester may approve", refund.ProfileFull, false, "I5", func(r *Rules) {
			r.Judge = func(d refund.Decision, b refund.Bench) refund.VerdictCode {
				b.Intake.Request.Requester = ""
				return refund.Judge(d, b)
			}
		}},
		{"another-digest-approved", "an approval counts whatever was shown", refund.ProfileFull, false, "I5", func(r *Rules) {
			r.Judge = func(d refund.Decision, b refund.Bench) refund.VerdictCode {
				d.Digest = b.Intake.Digest
				return refund.Judge(d, b)
			}
		}},
		{"decision-overwritten", "a later decision takes the place of the accepted one", refund.ProfileFull, false, "I10", func(r *Rules) { r.FirstWins = false }},
		{"intent-after-call", "the intent is written after the call", refund.ProfileLookup, false, "I1", func(r *Rules) { r.IntentFirst = false }},
		{"generation-does-not-grow", "a claim keeps the generation", refund.ProfileLookup, false, "I1", func(r *Rules) { r.GenerationGrows = false }},
		{"generation-not-compared", "an owner's write does not name its generation", refund.ProfileLookup, false, "I6", func(r *Rules) { r.GenerationCond = false }},
		{"lease-not-compared", "an owner's write does not look at its lease", refund.ProfileLookup, false, "I6", func(r *Rules) { r.LeaseCond = false }},
		{"not-checked-before-send", "order and authority are not read again before a send", refund.ProfileLookup, false, "I5", func(r *Rules) { r.CheckedAtSend = false }},
		{"not-authorised-second-send", "authority is not looked at before a second send", refund.ProfileLenient, false, "I5", func(r *Rules) {
			r.Next = func(s refund.Situation) refund.Action {
				s.Authorised = s.Authorised || s.Sent
				return refund.Next(s)
			}
			r.CheckedAgain = false
		}},
		{"not-found-is-absence", "\"not found\" is taken for absence", refund.ProfileLookup, false, "I4", after(refund.ObservedNotFound, refund.ActReject)},
		{"second-send-after-look-up", "after \"not found\" the refund is sent again", refund.ProfileLookup, false, "I1", func(r *Rules) {
			r.Next = func(s refund.Situation) refund.Action {
				if next := refund.Next(s); next != refund.ActLookUp {
					return next
				}
				return refund.ActSend
			}
		}},
		{"time-out-is-failure", "a time-out is recorded as a failure", refund.ProfileLookup, false, "I4", func(r *Rules) {
			after(refund.ObservedAmbiguous, refund.ActReject)(r)
			r.After = func(s refund.OperationState, event refund.OperationEvent) (refund.OperationState, bool) {
				if s == refund.StateUnknown && event == refund.EventWithdrawn {
					return refund.StateRejected, true
				}
				return s.After(event)
			}
		}},
		{"unsent-is-refusal", "a check that fails when something was sent is taken for a refusal", refund.ProfileLookup, false, "I4", func(r *Rules) {
			r.Next = func(s refund.Situation) refund.Action {
				if s.Sent && !s.Authorised && s.Observation == refund.ObservedNothing {
					return refund.ActReject
				}
				return refund.Next(s)
			}
		}},
		{"unknown-for-everything", "every outcome that is not a receipt stays UNKNOWN", refund.ProfileFull, false, "I4", func(r *Rules) {
			r.Next = func(s refund.Situation) refund.Action {
				if next := refund.Next(s); s.Observation == refund.ObservedReceipt || !s.Sent {
					return next
				}
				return refund.ActHold
			}
		}},
		{"retention-ignored", "the operation is sent again however long ago it was sent first", refund.ProfileRetention, false, "I1", func(r *Rules) {
			r.Retained = func(refund.Terms, refund.Instant, refund.Instant) bool { return true }
		}},
		{"first-send-too-late", "only a second send looks at the retention, the first one never", refund.ProfileRetention, false, "I1", func(r *Rules) { r.FirstInTime = false }},
		{"digest-not-compared", "a receipt is not compared with what was asked", refund.ProfileLenient, false, "I9", func(r *Rules) {
			r.Receipt = func(refund.Intake, refund.Receipt) refund.Observation { return refund.ObservedReceipt }
		}},
		{"conflict-is-refusal", "a conflict is taken for a refusal", refund.ProfileFull, false, "I4", func(r *Rules) {
			after(refund.ObservedConflict, refund.ActReject)(r)
		}},
		{"key-from-attempt", "each attempt makes a key of its own", refund.ProfileFull, false, "I1", func(r *Rules) { r.OneKey = false }},
		{"equal-is-duplicate", "equal parameters are taken for a duplicate", refund.ProfileFull, false, "I8", func(r *Rules) { r.ByKeyAlone = false }},
		{"fence-not-compared", "the provider does not compare fences", refund.ProfileFull, false, "I6", func(r *Rules) { r.FenceCompared = false }},
		{"fence-not-in-close", "a close carries no fence", refund.ProfileFull, false, "I6", func(r *Rules) { r.FenceOfClose = false }},
		{"refusal-not-stored", "the provider does not store its refusal", refund.ProfileLenient, false, "I3", func(r *Rules) { r.RefusalStored = false }},
		{"tombstone-not-checked", "a request is accepted after a close, and fences are not compared: each alone hides that the other is missing", refund.ProfileFull, false, "I3", func(r *Rules) {
			r.TombstoneHolds = false
			r.FenceCompared = false
		}},
	}
}

// UsualBounds are large enough for every control, and small enough to be explored in a minute.
func UsualBounds(rounds bool) Bounds {
	if rounds {
		return Bounds{Claims: 2, Rounds: 2, Settlements: 1}
	}
	return Bounds{Claims: 3, Settlements: 1}
}
