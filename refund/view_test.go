package refund_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

func TestAViewSaysWhatTheRunMayDoNext(t *testing.T) {
	for _, c := range []struct {
		name    string
		profile refund.ProfileName
		change  func(*refund.Facts)
		now     refund.Instant
		status  refund.RunStatus
		next    string
	}{
		{"waiting for the model", "full", func(f *refund.Facts) { f.Proposal, f.Decision = nil, nil }, 5000, "PENDING", "ask the model for a proposal"},
		{"waiting for a person", "full", func(f *refund.Facts) { f.Decision = nil }, 5000, "APPROVAL_REQUIRED", "a person other than the requester may decide until 1970-01-01T00:00:09.000Z"},
		{"approved", "full", func(*refund.Facts) {}, 5000, "RETRYABLE", "send the operation for the first time"},
		{"sent under full", "full", unknown, sentAt, "RETRYABLE", "send the same operation again"},
		{"lapsed under full", "full", unknown, commitBy, "UNKNOWN", "close the operation at the provider"},
		{"lapsed under lenient", "lenient", unknown, commitBy, "UNKNOWN", "look the operation up; a second send is not allowed"},
		{"sent under lookup", "lookup", unknown, sentAt, "UNKNOWN", "look the operation up; a second send is not allowed"},
		{"sent under stale", "stale", unknown, sentAt, "UNKNOWN", "look the operation up; a second send is not allowed"},
		{"sent under opaque", "opaque", unknown, sentAt, "UNKNOWN", "nothing: a person must settle"},
		{"in conflict", "full", func(f *refund.Facts) { unknown(f); f.Conflict = "409" }, sentAt, "UNKNOWN", "nothing: a person can only annotate a conflict"},
		{"presumed absent", "opaque", func(f *refund.Facts) { unknown(f); f.PresumedAbsent = &refund.Settlement{By: "ops-1"} }, sentAt, "UNKNOWN", "nothing: presumed absent by ops-1"},
		{"confirmed", "full", func(f *refund.Facts) { f.State = "CONFIRMED" }, sentAt, "CONFIRMED", "nothing: the answer is final for its request id"},
		{"rejected", "full", func(f *refund.Facts) { f.State, f.Rejected = "REJECTED", "CLOSED" }, sentAt, "REJECTED", "nothing: the answer is final for its request id"},
		{"expired", "full", func(f *refund.Facts) { f.Decision, f.Expired = nil, true }, commitBy, "EXPIRED", "nothing: the answer is final for its request id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := facts(t, c.profile)
			c.change(&f)
			fence := refund.Fence{Term: 2, Seq: 1}
			view, err := refund.NewView("handrolled", f, fence, c.now)
			require.NoError(t, err)
			require.Equal(t, refund.View{
				Engine: "handrolled", OperationID: f.Intake.OperationID, Status: c.status, Reason: f.Rejected, Facts: f,
				May: refund.May{Next: c.next, DecideBy: 9000, CommitBy: commitBy, Fence: fence},
			}, view)
		})
	}
	f := facts(t, "full")
	f.Intake.Terms.Profile = "gone"
	_, err := refund.NewView("handrolled", f, refund.Fence{}, 5000)
	requireCode(t, err, refund.CodeInvalidProfile, `"gone"`)
}

func unknown(f *refund.Facts) { f.State, f.FirstSentAt = refund.StateUnknown, sentAt }

func TestListingsHoldTheRunsThatAPersonHasToLookAt(t *testing.T) {
	const since, bound = 5000, 1000
	absent := &refund.Settlement{}
	for _, c := range []struct {
		status refund.RunStatus
		absent *refund.Settlement
		now    refund.Instant
		in     []refund.Listing
	}{
		{"PENDING", nil, 6000, []refund.Listing{"all"}},
		{"PENDING", nil, 6001, []refund.Listing{"overdue", "all"}},
		{"APPROVAL_REQUIRED", nil, 99999, []refund.Listing{"waiting", "all"}}, // a person's time is not the engine's
		{"RETRYABLE", nil, 6000, []refund.Listing{"all"}},
		{"RETRYABLE", nil, 6001, []refund.Listing{"overdue", "all"}},
		{"UNKNOWN", nil, 6000, []refund.Listing{"unknown", "all"}},
		{"UNKNOWN", nil, 6001, []refund.Listing{"unknown", "overdue", "all"}},
		{"UNKNOWN", absent, 99999, []refund.Listing{"all"}},
		{"CONFIRMED", nil, 99999, []refund.Listing{"all"}},
		{"REJECTED", nil, 99999, []refund.Listing{"all"}},
		{"EXPIRED", nil, 99999, []refund.Listing{"all"}},
	} {
		view, in := refund.View{Status: c.status, Facts: refund.Facts{PresumedAbsent: c.absent}}, []refund.Listing{}
		for _, listing := range []refund.Listing{refund.ListWaiting, refund.ListUnknown, refund.ListOverdue, refund.ListAll, "others"} {
			if view.Lists(listing, since, bound, c.now) {
				in = append(in, listing)
			}
		}
		require.Equal(t, c.in, in, "%s at %d", c.status, c.now)
	}
}
