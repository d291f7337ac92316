package model

import (
	"fmt"
	"slices"
)

// story tells the way to a state, one sentence a step.
func (e *explorer) story(v *visits, at int32, violation broken) []string {
	var way []int32
	for i := at; i >= 0; i = v.from[i] {
		way = append(way, i)
	}
	slices.Reverse(way)
	var lines []string
	if text := opening(&v.keys[way[0]].core); text != "" {
		lines = append(lines, text)
	}
	for n := 1; n < len(way); n++ {
		before, after := v.keys[way[n-1]].state(), v.keys[way[n]].state()
		lines = append(lines, e.tell(v.by[way[n]], &before, &after))
	}
	return append(lines, violations[violation].text+": "+violations[violation].id)
}

func opening(c *core) string {
	switch c.Trouble {
	case foreignKey:
		return "the provider has a refund with another digest under this very operation id"
	case equalTwin:
		return "another operation with equal parameters was refunded before"
	case tightBalance:
		return "the order's balance is enough for one refund and not for two"
	}
	return ""
}

func name(i uint8) string { return "worker " + string(rune('A'+i)) }

// tell is one step as a sentence.
func (e *explorer) tell(by step, before, after *state) string {
	who := name(by.who)
	dropped := func(text string) string {
		if probe := *before; !e.writes(&probe, before.owners[by.who]) {
			return fmt.Sprintf("%s %s and is refused: its generation or its lease is not valid any more", who, text)
		}
		return who + " " + text
	}
	switch by.kind {
	case passTime:
		return e.tellTime(before, after)
	case changeOrder:
		return "the order is changed: it has a new version"
	case spendBalance:
		return "other refunds use up the order's balance"
	case restoreBalance:
		return "the order has balance again"
	case catchUp:
		return "the provider's replica catches up"
	case claimRun:
		return fmt.Sprintf("%s claims the run under generation %d; by what is recorded its next step is %s", who, after.Fence.term, after.owners[by.who].act)
	case startAttempt:
		return fmt.Sprintf("%s starts attempt %d of round %d (%s)", who, after.Fence.told().seq, after.Fence.term, after.Open)
	case endLease:
		if e.rounds {
			return "the server gives the running attempt up: its time is over"
		}
		return "the lease is over; its owner does not know"
	case crash:
		return who + " is killed"
	case recordProposal:
		if e.rounds {
			return "the proposal is recorded"
		}
		return dropped("records the proposal and leaves the run to a person")
	case recordExpiry:
		if e.rounds {
			return "the workflow records that nobody decided in time: EXPIRED"
		}
		return dropped("records the end for want of a decision")
	case recordIntent:
		return dropped(fmt.Sprintf("records the intent to %s", before.owners[by.who].act))
	case recordEnd:
		return dropped(fmt.Sprintf("records %s without a call", before.owners[by.who].act))
	case commitLocally:
		return dropped("commits intent, money and outcome in one transaction")
	}
	return e.tellCall(by, before, after, who, dropped)
}

func (e *explorer) tellCall(by step, before, after *state, who string, dropped func(string) string) string {
	switch by.kind {
	case checkAndSend:
		if after.owners[by.who].at == waiting {
			return who + " sends the refund"
		}
		return who + " checks before the send and must not send: " + string(after.owners[by.who].saw.observation())
	case readNothing:
		return who + " cannot read the order and sends nothing"
	case lookItUp:
		return fmt.Sprintf("%s looks the operation up and sees %s", who, after.owners[by.who].saw.observation())
	case sendClose:
		return who + " sends a close"
	case waitOver:
		return who + " gives up waiting: the answer is AMBIGUOUS"
	case recordAnswer:
		text := fmt.Sprintf("records what it saw, %s: the operation is %s", before.owners[by.who].saw.observation(), after.Op.state())
		return dropped(text)
	case openNext:
		if after.Open == noAction {
			return "the workflow withdraws the refund: REJECTED"
		}
		return fmt.Sprintf("the workflow opens round %d to %s", after.Fence.term, after.Open)
	case closeRound:
		return "the workflow records that the round brought no answer: AMBIGUOUS"
	case resetActivity:
		return "an operator resets the activity: its attempts are counted from one again"
	case takeDecision:
		return e.decisions[by.who].text + decided(before, after)
	case takeSettlement:
		return fmt.Sprintf("a person settles with %s", settlements[by.who])
	case arrive:
		return e.tellArrival(by, before, after)
	}
	return "?"
}

func decided(before, after *state) string {
	switch {
	case after.Expired && !before.Expired:
		return ", too late: EXPIRED"
	case after.Choice != before.Choice || after.Broken != before.Broken:
		return ": ACCEPTED"
	}
	return ""
}

func (e *explorer) tellTime(before, after *state) string {
	text := "time passes"
	was, is := e.now(before), e.now(after)
	if was.Before(e.intake.DecideBy()) && !is.Before(e.intake.DecideBy()) {
		text += ", the deadline for a decision with it"
	}
	if was.Before(e.intake.CommitBy()) && !is.Before(e.intake.CommitBy()) {
		text += ", and the time to commit is over"
	}
	if e.recall(before) != e.recall(after) {
		text += ", and the provider has forgotten the operation"
	}
	return text
}

func (e *explorer) tellArrival(by step, before, after *state) string {
	msg := before.wire[by.who]
	what := "refund"
	if msg.act == actClose {
		what = "close"
	}
	sender := fmt.Sprintf("the %s sent under fence %d.%d arrives", what, msg.fence.term, msg.fence.told().seq)
	if by.arg&argStays != 0 {
		sender += ", and a copy of it is still on its way"
	}
	probe := *before
	saw, _ := e.process(&probe, msg)
	answer := string(saw.observation())
	switch {
	case after.Entries > before.Entries:
		answer = fmt.Sprintf("the provider commits entry %d", after.Entries)
	case after.Stored == storedTombstone && before.Stored != storedTombstone:
		answer = "the provider writes a tombstone"
	default:
		answer = "the provider answers " + answer
	}
	if by.arg&argLost != 0 {
		return sender + "; " + answer + ", and nobody learns of it"
	}
	return sender + "; " + answer
}
