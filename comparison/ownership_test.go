package comparison

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

func TestI6NoWriteOfAnOldOwner(t *testing.T) {
	judgeAll(t, []one{
		{name: "a fact of an old owner", change: func(s *scene) {
			s.fact("r1", refund.FactObservation, "", "AMBIGUOUS", refund.Fence{Term: 1, Seq: 1})
		}, verdict: Fail, checks: []string{"I6"}},
		{name: "facts without a fence are a client's", change: func(s *scene) {
			s.fact("r1", refund.FactSettlement, "s1", "", refund.Fence{})
		}, verdict: Pass},
		{name: "a write that began after the other's claim went through", change: func(s *scene) {
			s.cross("A", "outcome.before", s.id(), "1.1")
			s.cross("A", "outcome.after", s.id(), "1.1")
		}, verdict: Fail, checks: []string{"I6"}},
		{name: "the same write was refused", change: func(s *scene) {
			s.cross("A", "outcome.before", s.id(), "1.1")
			s.cross("A", "outcome.after", s.id(), "1.1").Detail = map[string]string{faults.DetailRefused: "LEASE_LOST: generation"}
		}, verdict: Pass},
		{name: "a write begun after the owner's lease was over", change: func(s *scene) {
			s.cross("B", "notified.before", s.id(), "2.1").At += 1600
			s.cross("B", "notified.after", s.id(), "2.1").At += 1600
		}, verdict: Fail, checks: []string{"I6"}},
		{name: "the lease had been renewed", change: func(s *scene) {
			s.cross("B", "renewal.after", s.id(), "2.1").At += 1000
			s.cross("B", "notified.before", s.id(), "2.1").At += 1600
			s.cross("B", "notified.after", s.id(), "2.1").At += 1600
		}, verdict: Pass},
		{name: "a renewal begun after the lease was over", change: func(s *scene) {
			s.cross("B", "renewal.before", s.id(), "2.1").At += 1600
			s.cross("B", "renewal.after", s.id(), "2.1").At += 1600
		}, verdict: Fail, checks: []string{"I6"}},
		{name: "a write held before it began until the lease was over", change: func(s *scene) {
			before := s.cross("B", "notified.before", s.id(), "2.1")
			before.DoneSeq = before.Seq + 15
			s.cross("A", "renewal.before", s.id(), "1.1").At += 1600
			s.cross("B", "notified.after", s.id(), "2.1").At += 1600
		}, verdict: Fail, checks: []string{"I6"}},
		{name: "a write of a worker that was frozen alone until its lease was over", change: func(s *scene) {
			before := s.cross("B", "outcome.before", s.id(), "2.1")
			s.Trial.Steps = append(s.Trial.Steps, evidence.Step{Text: "thaw B", StartSeq: before.Seq + 5, EndSeq: before.Seq + 6, StartedAt: before.At + 1600, EndedAt: before.At + 1600})
			before.DoneSeq = before.Seq + 7
			s.cross("B", "outcome.after", s.id(), "2.1").At += 1600
		}, verdict: Fail, checks: []string{"I6"}},
		{name: "a step that began after the write", change: func(s *scene) {
			before := s.cross("B", "outcome.before", s.id(), "2.1")
			before.DoneSeq = before.Seq + 7
			s.Trial.Steps = append(s.Trial.Steps, evidence.Step{Text: "thaw A", StartSeq: before.Seq + 8, EndSeq: before.Seq + 9, StartedAt: before.At + 1600, EndedAt: before.At + 1600})
			s.cross("B", "outcome.after", s.id(), "2.1").At += 1600
		}, verdict: Pass},
		{name: "the same write was refused by the lease", change: func(s *scene) {
			s.cross("B", "notified.before", s.id(), "2.1").At += 1600
			after := s.cross("B", "notified.after", s.id(), "2.1")
			after.At, after.Detail = after.At+1600, map[string]string{faults.DetailRefused: "LEASE_LOST: over"}
		}, verdict: Pass},
		{name: "the provider answered a lower fence", change: func(s *scene) {
			s.receive("close", s.id(), refund.Fence{Term: 1, Seq: 1}, "receipt")
			s.cross("A", "close-call.before", s.id(), "1.1")
		}, verdict: Fail, checks: []string{"I6"}},
		{name: "the provider refused a lower fence", change: func(s *scene) {
			s.receive("close", s.id(), refund.Fence{Term: 1, Seq: 1}, "stale-fence")
			s.cross("A", "close-call.before", s.id(), "1.1")
		}, verdict: Pass},
		{name: "a lower fence where the provider keeps none", profile: refund.ProfileLenient, change: func(s *scene) {
			s.receive("lookup", s.id(), refund.Fence{Term: 1, Seq: 1}, "receipt")
		}, verdict: Pass},
		{name: "a commit under a lower fence after one under a higher", change: func(s *scene) {
			s.cross("provider", "provider-commit.after", s.id(), "2.1").Detail = map[string]string{"outcome": "receipt"}
			s.cross("provider", "provider-commit.after", s.id(), "1.1").Detail = map[string]string{"outcome": "committed"}
		}, verdict: Fail, checks: []string{"I6"}},
	})
}

// A worker renews for several runs at a time. That one of them is kept waiting says nothing about the other.
func TestTheSidesOfAWriteArePairedByRunNotByCounting(t *testing.T) {
	renewed := func(s *scene, from refund.OperationID) {
		other := s.run("r2", "handrolled", refund.ProfileFull)
		if from == "" {
			from = other
		}
		s.cross("B", "claim.after", s.id(), "2.1")
		held := s.cross("B", "renewal.before", from, "2.1")
		done := held.Seq + 3_030
		held.DoneSeq = done
		if from == other {
			s.cross("B", "renewal.before", s.id(), "2.1")
			s.cross("B", "renewal.after", s.id(), "2.1")
		}
		s.seq += 3_000 // longer than the lease
		s.cross("B", "notice-call.before", other, "")
		if from != other {
			s.seq = done
			s.cross("B", "renewal.after", s.id(), "2.1")
		}
	}
	s := newScene("handrolled", refund.ProfileFull)
	renewed(s, "")
	require.Empty(t, noWriteOfOldOwner(newTrial(s.Record, s.expect)))
	s = newScene("handrolled", refund.ProfileFull)
	renewed(s, s.id())
	require.Len(t, noWriteOfOldOwner(newTrial(s.Record, s.expect)), 1, "its own waiting does")
}

// An engine that goes round at full speed until its trial is ended leaves a trace of ten thousands of crossings. The judge, which has the
// processors of the trials beside it, must not spoil those: its time grows with the square of the trace at most.
func TestI6OfManyHandOversIsJudgedInTime(t *testing.T) {
	s := newScene("handrolled", refund.ProfileFull)
	for round := range 300 {
		fence := fmt.Sprintf("%d.0", 3+(round*7)%11) // of a token without an order
		s.cross("A", "claim.after", s.id(), fence)
		s.cross("A", "observation.before", s.id(), fence)
		s.cross("A", "observation.after", s.id(), fence)
	}
	began := time.Now()
	require.NotEmpty(t, noWriteOfOldOwner(newTrial(s.Record, s.expect)))
	require.Less(t, time.Since(began), 3*time.Second, "it grew with the fourth power")
}
