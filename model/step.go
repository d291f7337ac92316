package model

// kind is what a step does; who and arg say by whom or with what.
type kind uint8

const (
	begin kind = iota
	passTime
	changeOrder
	spendBalance
	restoreBalance
	catchUp
	claimRun
	endLease
	crash
	recordProposal
	recordExpiry
	recordIntent
	recordEnd
	commitLocally
	checkAndSend
	readNothing
	lookItUp
	sendClose
	arrive
	waitOver
	recordAnswer
	startAttempt
	openNext
	closeRound
	takeDecision
	takeSettlement
	resetActivity
)

// step is one transition, small because an exploration keeps one for each state.
type step struct {
	kind kind
	who  uint8 // an owner's place, or a message's
	arg  uint8
}

// Arguments of arrive and lookItUp.
const (
	argLost  uint8 = 1 // the answer does not come back
	argStays uint8 = 2 // the message is doubled: a copy is still on its way
)

// Bounds limit an exploration: within them it visits everything.
type Bounds struct {
	Claims      int `json:"claims"` // claims by owners, or attempts
	Rounds      int `json:"rounds"` // rounds that a workflow opens
	Settlements int `json:"settlements"`
	Resets      int `json:"resets"` // of the activity of a round, by an operator: 0 or 1
}

// explorer enumerates the steps of a machine within bounds.
type explorer struct {
	*machine
	bounds Bounds
	last   uint16 // the last phase of time
	want   string // see Space
	next   state  // what a step leads to; one place for all, because there are millions
}

// steps calls visit with every state that one step leads to.
func (e *explorer) steps(from *state, visit func(step, *state)) {
	if e.over(from) && from.wire[0].act == noAction && from.owners == [maxOwners]owner{} {
		return // nobody is left who could do anything about this operation
	}
	try := func(k kind, who, arg uint8, apply func(*state) bool) {
		e.next = *from
		if apply(&e.next) {
			visit(step{k, who, arg}, &e.next)
		}
	}
	e.world(try, from)
	e.people(try, from)
	if e.rounds {
		e.workflow(try, from)
	}
	e.ownership(try, from)
	for i := range uint8(keyOwners) {
		if from.owners[i].at != free {
			e.owner(try, int(i))
		}
	}
	for i := range uint8(keyWire) {
		for _, arg := range [...]uint8{0, argLost, argStays, argStays | argLost} {
			if from.wire[i].act != noAction {
				try(arrive, i, arg, func(s *state) bool { return e.deliver(s, int(i), arg&argStays != 0, arg&argLost != 0) })
			}
		}
	}
}

type tried func(k kind, who, arg uint8, apply func(*state) bool)

func (e *explorer) world(try tried, from *state) {
	if from.Now < e.last {
		try(passTime, 0, 0, func(s *state) bool { s.Now++; return true })
	}
	if from.Trouble == orderChanges && from.Version == 1 {
		try(changeOrder, 0, 0, func(s *state) bool { s.Version++; return true })
	}
	if from.Trouble == balanceMoves && from.Spent {
		try(restoreBalance, 0, 0, func(s *state) bool { s.Spent = false; return true })
	} else if from.Trouble == balanceMoves {
		try(spendBalance, 0, 0, func(s *state) bool { s.Spent = true; return true })
	}
	if e.profile.Lookup == "lagging" && from.Replica < from.Entries {
		try(catchUp, 0, 0, func(s *state) bool { s.Replica = s.Entries; return true })
	}
}

func (e *explorer) people(try tried, from *state) {
	for n := range uint8(len(e.decisions)) {
		try(takeDecision, n, 0, func(s *state) bool { e.decide(s, int(n)); return s.core != from.core })
	}
	if int(from.Settlements) < e.bounds.Settlements {
		for n, kind := range settlements {
			try(takeSettlement, uint8(n), 0, func(s *state) bool { return e.settle(s, kind) })
		}
	}
}

// workflow is what the workflow itself does under rounds; the server lets one worker at a time do it.
func (e *explorer) workflow(try tried, from *state) {
	if from.Shown == 0 {
		try(recordProposal, 0, 0, func(s *state) bool { s.Shown = s.Version; return !e.over(s) })
	}
	try(recordExpiry, 0, 0, e.lateEnd)
	// A withdrawal opens no round, so no bound hides it.
	try(openNext, 0, 0, func(s *state) bool { return e.openRound(s) && int(s.Fence.term) <= e.bounds.Rounds })
	try(closeRound, 0, 0, e.endRound)
	if e.bounds.Resets > 0 {
		try(resetActivity, 0, 0, e.recount)
	}
}

func (e *explorer) ownership(try tried, from *state) {
	try(endLease, 0, 0, e.lapse)
	if int(from.Claims) < e.bounds.Claims {
		i := from.slot(keyOwners)
		if i < 0 {
			// An owner that never acts again is dead or frozen for ever: only its place matters.
			for i := range uint8(keyOwners) {
				try(crash, i, 0, func(s *state) bool { s.drop(int(i)); return true })
			}
			return
		}
		claim, k := e.claim, claimRun
		if e.rounds {
			claim, k = e.attempt, startAttempt
		}
		try(k, uint8(i), 0, func(s *state) bool { s.Claims++; return claim(s, i) })
	}
}

func (e *explorer) owner(try tried, i int) {
	who := uint8(i)
	try(recordProposal, who, 0, func(s *state) bool { return e.propose(s, i) })
	try(recordExpiry, who, 0, func(s *state) bool { return e.expire(s, i) })
	try(recordIntent, who, 0, func(s *state) bool { return e.intend(s, i) })
	try(recordEnd, who, 0, func(s *state) bool { return e.conclude(s, i) })
	try(commitLocally, who, 0, func(s *state) bool { return e.submitLocally(s, i) })
	try(checkAndSend, who, 0, func(s *state) bool { return e.send(s, i) })
	try(readNothing, who, 0, func(s *state) bool { return e.unreadable(s, i) })
	try(lookItUp, who, 0, func(s *state) bool { return e.ask(s, i, false) })
	try(lookItUp, who, argLost, func(s *state) bool { return e.ask(s, i, true) })
	try(sendClose, who, 0, func(s *state) bool { return e.callClose(s, i) })
	try(waitOver, who, 0, func(s *state) bool { return e.giveUp(s, i) })
	try(recordAnswer, who, 0, func(s *state) bool { return e.record(s, i) })
}
