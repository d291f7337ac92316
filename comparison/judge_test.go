package comparison

import (
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

func TestASoundTrialPassesOnBothEnginesUnderEveryIdempotentProfile(t *testing.T) {
	for _, engine := range []string{"temporal", "handrolled"} {
		for _, profile := range []refund.ProfileName{refund.ProfileFull, refund.ProfileRetention, refund.ProfileLenient} {
			requireChecks(t, newScene(engine, profile).judge(), Pass)
		}
	}
}

// The judge's own table of promises and its own digest are written a second time on purpose. They must say the same as the
// documents that both come from, and a difference is a mistake in one of the two.
func TestTheJudgesSecondWritingsAgreeWithTheVocabulary(t *testing.T) {
	require.Len(t, promises, len(refund.Profiles()))
	for _, p := range refund.Profiles() {
		require.Equal(t, promise{
			idempotent: p.Idempotent, expires: p.Expires, conflict: p.OtherDigest == refund.DigestConflict, strongLookup: p.Lookup == refund.LookupStrong,
			close: p.Close, commitChecks: p.OrderVersion && p.Deadline, fence: p.Fence, shared: p.Shared,
		}, promises[p.Name], p.Name)
	}
	q := asked("r1")
	id := refund.NewOperationID(q.Tenant, refund.Kind, q.RequestID)
	require.Equal(t, q.Digest(), digest(q.Tenant, id, q.Order, q.Amount, q.Reason))
}

func TestOnlyPassAndNotApplicableLetARunSucceed(t *testing.T) {
	for _, tt := range []struct {
		verdicts []Verdict
		passed   bool
	}{
		{nil, false},
		{[]Verdict{NotApplicable}, false},
		{[]Verdict{Pass, NotApplicable}, true},
		{[]Verdict{Pass, Fail}, false},
		{[]Verdict{Pass, Invalid}, false},
		{[]Verdict{Pass, Inconclusive}, false},
		{[]Verdict{Pass, ""}, false},
	} {
		var r Result
		for _, v := range tt.verdicts {
			r.Trials = append(r.Trials, Judged{Verdict: v})
		}
		require.Equal(t, tt.passed, r.Passed(), "%v", tt.verdicts)
	}
}
