package comparison

import (
	"strings"
	"testing"

	"refundlab/evidence"
	"refundlab/faults"
)

// ordered lets a rule hold each of the two workers at its call, and asks for an order of their requests. A's arrived first.
func ordered(rules ...string) func(*scene) {
	return func(s *scene) {
		for _, c := range s.Trace {
			if c.Point == point("provider-call.before") {
				worker := c.Process
				rule := "held-" + strings.ToLower(worker)
				s.expect.Schedule = append(s.expect.Schedule, faults.Rule{Name: rule, Point: c.Point, Nth: 1, Process: worker, Action: faults.Hold})
				s.Trial.Fired = append(s.Trial.Fired, evidence.Fired{Rule: rule, Point: c.Point, Action: faults.Hold, Victim: worker, Seq: c.Seq, DoneSeq: c.Seq + 1, Proof: "released"})
			}
		}
		s.Trial.Schedule = s.expect.Schedule
		s.expect.InOrder = rules
	}
}

func TestRequestsMustArriveInTheOrderOfTheCell(t *testing.T) {
	// edit changes the crossings of worker B at its call, or the provider's about its request.
	edit := func(at string, change func(*evidence.Crossing)) func(*scene) {
		return func(s *scene) {
			ordered("held-a", "held-b")(s)
			for i, c := range s.Trace {
				if c.Point == point(at) && c.Fence == "2.1" {
					change(&s.Trace[i])
				}
			}
		}
	}
	judgeAll(t, []one{
		{name: "as they arrived", change: ordered("held-a", "held-b"), verdict: Pass},
		{name: "the other way round", change: ordered("held-b", "held-a"), verdict: Invalid, checks: []string{"EVIDENCE"}},
		{name: "a rule that no schedule has", change: ordered("held-a", "held-c"), verdict: Invalid, checks: []string{"EVIDENCE"}},
		{name: "one never arrived", change: edit("provider-received.before", func(c *evidence.Crossing) { c.Fence = "9.1" }), verdict: Invalid, checks: []string{"EVIDENCE"}},
		{name: "another run's request arrived", change: edit("provider-received.before", func(c *evidence.Crossing) { c.Operation = "another" }), verdict: Invalid, checks: []string{"EVIDENCE"}},
	})
}
