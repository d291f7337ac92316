package comparison

import (
	"testing"

	"refundlab/refund"
)

func TestEachNoticeIsTakenOnce(t *testing.T) {
	again := func(s *scene) { s.notice(s.id(), refund.StatusConfirmed, "rf-1") }
	judgeAll(t, []one{
		{name: "taken twice", change: again, verdict: Fail, checks: []string{"END"}},
		{name: "delivered twice and taken once", change: func(s *scene) {
			again(s)
			s.Provider.Notices[1].Duplicate = true
		}, verdict: Pass},
		{name: "a later revision", change: func(s *scene) {
			again(s)
			s.Provider.Notices[1].Revision = 2
		}, verdict: Pass},
		{name: "taken twice in a trial that was not as planned", change: func(s *scene) {
			again(s)
			s.Trial.Fired = nil
		}, verdict: Invalid, checks: []string{"EVIDENCE"}},
	})
}
