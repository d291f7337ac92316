package scenarios

import (
	"refundlab/faults"
	"refundlab/refund"
)

// decisions meet each other. In the fault arm both commands are held before either is stored.
var decisions = []scenario{
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-4a-same-decision-twice",
			Title: "The same decision twice",
			About: "The same approval is sent by two commands at once, as after a double click. Both are told the one verdict, and there is one refund.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			first, second := approve("bob", "d1", "r1"), decide(faults.DoApprove, "bob-again", "bob", "d1", "r1")
			t := crossing(first, second, bothAccepted)
			t.expect = c.ends(confirmed(1, 1))
			t.expect.Answers["bob-again"] = ""
			return t.racing(c)
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-4b-second-approval",
			Title: "A second approval with an id of its own",
			About: "Two people approve at once. The first decision wins, the second is told that it was not needed, and there is one refund.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			t := crossing(approve("bob", "d1", "r1"), approve("carol", "d2", "r1"), firstWins)
			t.expect = c.ends(confirmed(1, 1))
			t.expect.Answers["carol"] = string(refund.VerdictAlreadyDecided)
			return t.racing(c)
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-4c-reject-crosses-approval",
			Title: "A rejection crosses an approval",
			About: "One person approves while another rejects, and the approval is stored first. It stands; the rejection changes nothing.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			t := crossing(approve("bob", "d1", "r1"), reject("carol", "d2", "r1"), firstWins)
			t.expect = c.ends(confirmed(1, 1))
			t.expect.Answers["carol"] = string(refund.VerdictAlreadyDecided)
			return t.racing(c)
		},
	},
	{
		ScenarioText: faults.ScenarioText{
			Name:  "l06-4d-approval-crosses-rejection",
			Title: "An approval crosses a rejection",
			About: "One person rejects while another approves, and the rejection is stored first. Nothing is sent, now or later.",
		},
		profiles: onlyFull,
		build: func(c cell) trial {
			t := crossing(reject("bob", "d1", "r1"), approve("carol", "d2", "r1"), firstWins)
			t.expect = c.ends(rejected(refund.CodeApprovalRejected, 0, 0))
			t.expect.Runs["r1"] = rejected(refund.CodeApprovalRejected, 0, 0)
			t.expect.Answers["carol"] = string(refund.VerdictAlreadyDecided)
			return t.racing(c)
		},
	},
}

const (
	bothAccepted = false
	firstWins    = true
)

// crossing is the script of two decisions: one after the other in the clean arm, both held before they are stored in the
// fault arm. Where the order decides, the first is let go first and is stored before the second.
func crossing(first, second faults.Step, ordered bool) trial {
	between := []faults.Step{release("held-1")}
	if ordered {
		between = append(between, await(faults.Decision, faults.After, first.Process, "r1"))
	}
	return trial{
		script: script(
			start("a"), request("r1"), proposed("r1"),
			first, only(clean, join(first.Process)), second,
			only(fault, fired("held-1"), fired("held-2")), only(fault, between...), only(fault, release("held-2")),
			join(first.Process), join(second.Process), rest,
		),
		schedule: faults.Schedule{
			rule("held-1", faults.Decision, faults.Before, 1, first.Process, faults.Hold),
			rule("held-2", faults.Decision, faults.Before, 1, second.Process, faults.Hold),
		},
	}
}

func (t trial) racing(c cell) trial {
	if c.fault {
		t.expect.Race = []string{"held-1", "held-2"}
	}
	return t
}
