package comparison

import "refundlab/refund"

// promise is what the judge knows of a profile. It is written here a second time, from docs/provider-profiles.md, because the
// engines act by refund's table: a mistake there must not become the judge's.
type promise struct {
	idempotent   bool
	expires      bool
	conflict     bool // another digest under a known key is refused
	strongLookup bool
	close        bool
	commitChecks bool // order version and deadline are checked at the provider's commit
	fence        bool
	shared       bool // no network between executor and ledger
}

var promises = map[refund.ProfileName]promise{
	refund.ProfileFull:      {idempotent: true, conflict: true, strongLookup: true, close: true, commitChecks: true, fence: true},
	refund.ProfileRetention: {idempotent: true, expires: true, conflict: true, strongLookup: true},
	refund.ProfileLenient:   {idempotent: true, strongLookup: true},
	refund.ProfileLookup:    {strongLookup: true},
	refund.ProfileStale:     {},
	refund.ProfileOpaque:    {},
	refund.ProfileLocal:     {idempotent: true, conflict: true, strongLookup: true, close: true, commitChecks: true, fence: true, shared: true},
}

func profileName(name string) refund.ProfileName { return refund.ProfileName(name) }
