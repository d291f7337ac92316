package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/model"
	"refundlab/refund"
)

// A first attempt that began late tells that something may have been sent, and the run looks the refund up. Where the provider
// recognises no repetition there is no other attempt, and no such answer.
func TestALateFirstAttemptThatSentNothingIsAPath(t *testing.T) {
	for profile, path := range map[refund.ProfileName]bool{refund.ProfileLenient: true, refund.ProfileRetention: true, refund.ProfileLookup: false} {
		terms, err := refund.NewTerms(refund.Terms{Profile: profile})
		require.NoError(t, err)
		in := refund.NewIntake(refund.Request{
			Tenant: "shop", RequestID: "r1", Order: "o1", Amount: refund.Money{Minor: 4200, Currency: "EUR"}, Reason: "broken", Requester: "rita",
		}, terms, 1_750_000_000_000)
		decision := refund.Decision{DecisionID: "d-1", OperationID: in.OperationID, Choice: refund.ChoiceApprove, Approver: "bob", Digest: in.Digest, OrderVersion: 1}
		trace := model.Trace{Profile: profile, Rounds: true, Events: []model.Event{{At: in.At + 1}}, Facts: refund.Facts{Intake: in, Proposal: &refund.Proposal{OrderVersion: 1}, Decision: &decision}}
		for _, fact := range []refund.Fact{
			{Kind: refund.FactIntake},
			{Kind: refund.FactProposal},
			{Kind: refund.FactVerdict, Ref: "d-1", Code: string(refund.VerdictAccepted)},
			{Kind: refund.FactIntent, Ref: string(refund.ActSend), Fence: refund.Fence{Term: 1}},
			{Kind: refund.FactObservation, Code: string(refund.ObservedUnsent), Fence: refund.Fence{Term: 1, Seq: 1}},
			{Kind: refund.FactIntent, Ref: string(refund.ActLookUp), Fence: refund.Fence{Term: 2}},
		} {
			fact.Seq, fact.At = int64(len(trace.Records)), in.At+1
			trace.Records = append(trace.Records, model.Record{Fact: fact, Begun: -1, Done: -1})
		}
		trace.Records[0].At = in.At
		walk, err := model.Check(trace)
		require.NoError(t, err)
		require.Empty(t, walk.NotFollowed)
		require.Equal(t, path, walk.Against == "", "%s: %s", profile, walk.Against)
	}
}

// The records of a run of which no event was traced may be no path, and are no reason to panic.
func TestATraceWithoutEventsIsJudgedByItsRecords(t *testing.T) {
	terms, err := refund.NewTerms(refund.Terms{Profile: refund.ProfileFull})
	require.NoError(t, err)
	in := refund.NewIntake(refund.Request{
		Tenant: "shop", RequestID: "r1", Order: "o1", Amount: refund.Money{Minor: 4200, Currency: "EUR"}, Reason: "broken", Requester: "rita",
	}, terms, 1_750_000_000_000)
	trace := model.Trace{Profile: refund.ProfileFull, Facts: refund.Facts{Intake: in}}
	for seq, kind := range []refund.FactKind{refund.FactIntake, refund.FactExpiry, refund.FactOutcome} {
		trace.Records = append(trace.Records, model.Record{Fact: refund.Fact{Seq: int64(seq), At: in.At, Kind: kind}, Begun: -1, Done: -1})
	}
	walk, err := model.Check(trace)
	require.NoError(t, err)
	require.NotEmpty(t, walk.Against)
}
