package refund

import "strings"

// ProfileName names what a provider promises.
type ProfileName string

// The six profiles of a provider across a network, and the journal's own ledger in one file.
const (
	ProfileFull      ProfileName = "full"
	ProfileRetention ProfileName = "retention"
	ProfileLenient   ProfileName = "lenient"
	ProfileLookup    ProfileName = "lookup"
	ProfileStale     ProfileName = "stale"
	ProfileOpaque    ProfileName = "opaque"
	ProfileLocal     ProfileName = "local"
)

// LookupKind is how far a provider's look-up can be believed.
type LookupKind string

// The three kinds of look-up.
const (
	LookupStrong  LookupKind = "strong"  // sees every commit
	LookupLagging LookupKind = "lagging" // a replica that may not have seen it yet
	LookupNone    LookupKind = "none"
)

// DigestRule is what an idempotent provider answers to a known operation id with another digest.
type DigestRule string

// The three answers.
const (
	DigestConflict  DigestRule = "conflict"   // an error that names the conflict
	DigestOldAnswer DigestRule = "old-answer" // the stored result, as if nothing were wrong
	DigestUnseen    DigestRule = "unseen"     // not idempotent: the key is not looked at
)

// Profile is one row of the table of promises.
type Profile struct {
	Name         ProfileName
	Idempotent   bool
	Expires      bool // the promise ends with retention: then a reused key is a new refund
	OtherDigest  DigestRule
	Lookup       LookupKind
	Close        bool // get-or-tombstone, the only witness of absence
	OrderVersion bool // compared at the provider's commit
	Deadline     bool // commit_by is kept by the provider's clock
	Fence        bool // stale owners are refused at the provider
	Shared       bool // the ledger shares the journal's transaction: nothing can be in flight
}

var profiles = []Profile{
	{Name: ProfileFull, Idempotent: true, OtherDigest: DigestConflict, Lookup: LookupStrong, Close: true, OrderVersion: true, Deadline: true, Fence: true},
	{Name: ProfileRetention, Idempotent: true, Expires: true, OtherDigest: DigestConflict, Lookup: LookupStrong},
	{Name: ProfileLenient, Idempotent: true, OtherDigest: DigestOldAnswer, Lookup: LookupStrong},
	{Name: ProfileLookup, OtherDigest: DigestUnseen, Lookup: LookupStrong},
	{Name: ProfileStale, OtherDigest: DigestUnseen, Lookup: LookupLagging},
	{Name: ProfileOpaque, OtherDigest: DigestUnseen, Lookup: LookupNone},
	{Name: ProfileLocal, Idempotent: true, OtherDigest: DigestConflict, Lookup: LookupStrong, Close: true, OrderVersion: true, Deadline: true, Fence: true, Shared: true},
}

// Profiles returns the rows of the table in their order.
func Profiles() []Profile { return append([]Profile(nil), profiles...) }

// ProfileNamed returns the profile of that name.
//
// Errors: INVALID_PROFILE.
func ProfileNamed(name ProfileName) (Profile, error) {
	names := make([]string, 0, len(profiles))
	for _, p := range profiles {
		if p.Name == name {
			return p, nil
		}
		names = append(names, string(p.Name))
	}
	return Profile{}, Errorf(CodeInvalidProfile, "profile %q is unknown: the profiles are %s", clip(string(name)), strings.Join(names, ", "))
}
