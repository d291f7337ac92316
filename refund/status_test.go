package refund_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

// Times of the run in these tests: intake at 5000, deadline at 9000, first send at 6000, retention up to 8000.
const (
	sentAt    refund.Instant = 6000
	forgotten refund.Instant = 8000
	commitBy  refund.Instant = 9000
)

// facts are those of an approved run of a profile with nothing sent.
func facts(t testing.TB, profile refund.ProfileName) refund.Facts {
	in := refund.NewIntake(asked(), terms(t, refund.Terms{Profile: profile, DecideWithin: 4000, Retention: 2000, CallTimeout: 100}), 5000)
	d := approval(in)
	return refund.Facts{Intake: in, State: refund.StatePrepared, Proposal: &refund.Proposal{OrderVersion: 3}, Decision: &d}
}

// sent are the facts of a run whose submit may have left.
func sent(t testing.TB, profile refund.ProfileName, state refund.OperationState) refund.Facts {
	f := facts(t, profile)
	f.State, f.FirstSentAt = state, sentAt
	return f
}

func profileNamed(t testing.TB, name refund.ProfileName) refund.Profile {
	t.Helper()
	p, err := refund.ProfileNamed(name)
	require.NoError(t, err)
	return p
}

func TestTheStatusOfARunBeforeAnythingWasSentIsThatOfItsFacts(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*refund.Facts)
		want   refund.RunStatus
	}{
		{"intake alone", func(f *refund.Facts) { f.Proposal, f.Decision = nil, nil }, "PENDING"},
		{"model called", func(f *refund.Facts) { f.Proposal, f.Decision, f.ModelCalls = nil, nil, 2 }, "PENDING"},
		{"proposed", func(f *refund.Facts) { f.Decision = nil }, "APPROVAL_REQUIRED"},
		{"proposed, decisions refused", func(f *refund.Facts) {
			f.Decision, f.Verdicts = nil, []refund.RecordedVerdict{{DecisionID: "dec-1", Code: "SELF_APPROVAL"}}
		}, "APPROVAL_REQUIRED"},
		{"approved", func(*refund.Facts) {}, "RETRYABLE"},
		{"rejected by a person, before the operation says so", func(f *refund.Facts) { f.Decision.Choice = "reject" }, "REJECTED"},
		{"rejected by a person", func(f *refund.Facts) {
			f.Decision.Choice, f.State, f.Rejected = "reject", "REJECTED", "APPROVAL_REJECTED"
		}, "REJECTED"},
		{"budget spent", func(f *refund.Facts) {
			f.Proposal, f.Decision, f.State, f.Rejected = nil, nil, "REJECTED", "PROPOSAL_FAILED"
		}, "REJECTED"},
		{"withdrawn before the first send", func(f *refund.Facts) { f.State, f.Rejected = "REJECTED", "ORDER_VERSION_CHANGED" }, "REJECTED"},
		{"expired without proposal", func(f *refund.Facts) { f.Proposal, f.Decision, f.Expired = nil, nil, true }, "EXPIRED"},
		{"expired without decision", func(f *refund.Facts) { f.Decision, f.Expired = nil, true }, "EXPIRED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, p := range refund.Profiles() {
				f := facts(t, p.Name)
				c.change(&f)
				// Expiry is what the engine recorded: no time makes it so, and none takes it back.
				for _, now := range []refund.Instant{5000, commitBy - 1, commitBy, math.MaxInt64 / 2} {
					require.Equal(t, c.want, refund.StatusOf(f, p, now), "%s at %s", p.Name, now)
				}
			}
		})
	}
}

func TestTheStatusOfASentRunSaysWhetherItMayBeSentAgain(t *testing.T) {
	const R, U = refund.StatusRetryable, refund.StatusUnknown
	times := []refund.Instant{sentAt, forgotten - 101, forgotten - 100, commitBy - 1, commitBy}
	for profile, want := range map[refund.ProfileName][]refund.RunStatus{
		"full":      {R, R, R, R, U},
		"retention": {R, R, U, U, U}, // a request sent later could be answered after the provider forgot
		"lenient":   {R, R, R, R, U},
		"lookup":    {U, U, U, U, U},
		"stale":     {U, U, U, U, U},
		"opaque":    {U, U, U, U, U},
		"local":     {R, R, R, R, U},
	} {
		for _, state := range []refund.OperationState{refund.StateSubmitted, refund.StateUnknown} {
			f := sent(t, profile, state)
			for i, now := range times {
				require.Equal(t, want[i], refund.StatusOf(f, profileNamed(t, profile), now), "%s %s at %d", profile, state, now)
			}
		}
	}
}

// The first intent may have led to nothing: a check failed before the call, or the order could not be read.
func TestAnIntentUnderWhichNothingLeftMayBeSent(t *testing.T) {
	for _, p := range refund.Profiles() {
		for _, state := range []refund.OperationState{refund.StateSubmitted, refund.StateUnknown} {
			f := sent(t, p.Name, state)
			f.FirstSentAt = 0
			require.Equal(t, refund.StatusRetryable, refund.StatusOf(f, p, commitBy), p.Name)
		}
	}
}

func TestAuthorityThatLapsedIsGoneForGood(t *testing.T) {
	for _, p := range refund.Profiles() {
		for _, state := range []refund.OperationState{refund.StateSubmitted, refund.StateUnknown} {
			f := sent(t, p.Name, state)
			f.Lapsed = refund.CodeInsufficientBalance // perhaps used up by our own success
			require.Equal(t, refund.StatusUnknown, refund.StatusOf(f, p, sentAt), "I5: %s", p.Name)
		}
	}
}

func TestWhatIsProvedOutweighsEverything(t *testing.T) {
	for _, p := range refund.Profiles() {
		for state, want := range map[refund.OperationState]refund.RunStatus{"CONFIRMED": "CONFIRMED", "REJECTED": "REJECTED"} {
			f := sent(t, p.Name, state)
			f.Conflict, f.PresumedAbsent = "409", &refund.Settlement{}
			require.Equal(t, want, refund.StatusOf(f, p, commitBy))
		}
	}
}

func TestAConflictOrAPresumedAbsenceIsUnknownUnderEveryProfile(t *testing.T) {
	for _, p := range refund.Profiles() {
		for _, state := range []refund.OperationState{refund.StatePrepared, refund.StateSubmitted, refund.StateUnknown} {
			conflict, absent := sent(t, p.Name, state), sent(t, p.Name, state)
			conflict.Conflict, absent.PresumedAbsent = "409", &refund.Settlement{}
			require.Equal(t, refund.StatusUnknown, refund.StatusOf(conflict, p, sentAt), "I9: never sent again: %s", p.Name)
			require.Equal(t, refund.StatusUnknown, refund.StatusOf(absent, p, sentAt), "a person's word is no proof: %s", p.Name)
		}
	}
}

// Every combination of facts that can be told apart, legal or not, over time: now moves RETRYABLE to UNKNOWN and nothing
// else, and a terminal status always stands on something recorded.
func TestTimeOnlyMovesRetryableToUnknown(t *testing.T) {
	for _, p := range refund.Profiles() {
		for _, state := range states {
			for bits := range 1 << 6 {
				f := sent(t, p.Name, state)
				f.Expired = bits&1 != 0
				if bits&2 != 0 {
					f.Proposal = nil
				}
				if bits&4 != 0 {
					f.Decision = nil
				} else if bits&8 != 0 {
					f.Decision.Choice = refund.ChoiceReject
				}
				if bits&16 != 0 {
					f.Conflict = "409"
				}
				if bits&32 != 0 {
					f.FirstSentAt = 0
				}
				last, name := refund.RunStatus(""), fmt.Sprintf("%s %+v", p.Name, f)
				for now := sentAt; now <= commitBy+200; now += 100 {
					status := refund.StatusOf(f, p, now)
					if last != "" && status != last {
						require.Equal(t, "RETRYABLE UNKNOWN", string(last+" "+status), name)
					}
					last = status
					switch status {
					case refund.StatusConfirmed:
						require.Equal(t, refund.StateConfirmed, state, name)
					case refund.StatusRejected:
						require.True(t, state == refund.StateRejected || f.Decision != nil && f.Decision.Choice == refund.ChoiceReject, name)
					case refund.StatusExpired:
						require.True(t, f.Expired, name)
					case refund.StatusRetryable:
						require.True(t, f.Decision != nil && f.Decision.Choice == refund.ChoiceApprove, "I5: %s", name)
						require.False(t, state.Final(), name)
					}
				}
			}
		}
	}
}

func TestTerminalStatusesAreThree(t *testing.T) {
	for status, want := range map[refund.RunStatus]bool{
		"PENDING": false, "APPROVAL_REQUIRED": false, "RETRYABLE": false, "UNKNOWN": false, "CONFIRMED": true, "REJECTED": true, "EXPIRED": true,
	} {
		require.Equal(t, want, status.Terminal(), status)
	}
}
