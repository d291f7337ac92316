package model

import "refundlab/refund"

// Most owners and messages that a state can hold. The explorer uses fewer, see key; a trace may need all.
const (
	maxOwners = 8
	maxWire   = 8
)

// fence is refund.Fence in the size that a state can afford.
type fence struct{ term, seq uint16 }

// recounted marks the attempts after a reset of their activity: they are later than all before it, and nobody outside can tell.
const recounted = 1 << 15

// told is a fence as it is sent.
func (f fence) told() fence { return fence{f.term, f.seq &^ recounted} }

func (f fence) less(other fence) bool {
	return f.term < other.term || f.term == other.term && f.seq < other.seq
}

// action, seen and op are the words of package refund as small numbers.
type (
	action uint8
	seen   uint8
	op     uint8
)

const (
	noAction action = iota
	actSend
	actLookUp
	actClose
	actReject
	actHold
	actConfirm
	actPropose // the two steps of an owner before there is a decision
	actExpire
)

var actions = map[refund.Action]action{
	refund.ActSend: actSend, refund.ActLookUp: actLookUp, refund.ActClose: actClose,
	refund.ActReject: actReject, refund.ActHold: actHold, refund.ActConfirm: actConfirm,
}

var actionNames = [...]string{"", "SEND", "LOOK_UP", "CLOSE", "REJECT", "HOLD", "CONFIRM", "PROPOSE", "EXPIRE"}

func (a action) String() string { return actionNames[a] }

const (
	sawNothing seen = iota
	sawReceipt
	sawRefusal
	sawConflict
	sawAmbiguous
	sawNotFound
	sawStale
	sawUnsent
)

var observations = [...]refund.Observation{
	refund.ObservedNothing, refund.ObservedReceipt, refund.ObservedRefusal, refund.ObservedConflict,
	refund.ObservedAmbiguous, refund.ObservedNotFound, refund.ObservedStaleFence, refund.ObservedUnsent,
}

func (o seen) observation() refund.Observation { return observations[o] }

func seenAs(o refund.Observation) seen {
	for i, observation := range observations {
		if observation == o {
			return seen(i)
		}
	}
	return sawNothing
}

var states = [...]refund.OperationState{
	refund.StatePrepared, refund.StateSubmitted, refund.StateUnknown, refund.StateConfirmed, refund.StateRejected,
}

func (o op) state() refund.OperationState { return states[o] }

// opOf is the number of a state, false for one that is not listed here.
func opOf(state refund.OperationState) (op, bool) {
	for i, s := range states {
		if s == state {
			return op(i), true
		}
	}
	return 0, false
}

// Where an owner stands.
type stand uint8

const (
	free     stand = iota
	ready          // it holds the run, has read what is recorded and knows its next step
	intended       // its intent is recorded, nothing has left
	waiting        // its message has left
	answered       // it has an answer, or gave up, and has recorded nothing of it
)

// owner is one claim (or one attempt) of a run by somebody: what it believes is as old as its claim, however late it acts.
// A worker that claims its own lost run again is two of them.
type owner struct {
	fence      fence
	at         stand
	act        action
	saw        seen
	sentBefore bool // by what was recorded when it claimed
	coded      bool // its check before the send failed by a rule
	foreign    bool // the receipt that it saw is for something else
}

// message is a request on its way to the provider.
type message struct {
	fence        fence
	act          action // actSend, actLookUp or actClose; noAction where there is none
	unauthorised bool   // truth: it was sent without authority
	untimely     bool   // truth: it was sent when the provider might have forgotten
	doubled      bool   // a copy was delivered already
}

// What the provider has stored for the operation.
type stored uint8

const (
	storedNothing stored = iota
	storedReceipt
	storedRefusal
	storedTombstone
	storedForeign // something else under the same id
)

// trouble is what may be wrong with the order or the key besides: one kind in each world, so that kinds add up and do not
// multiply.
type trouble uint8

const (
	orderChanges trouble = iota // its version grows, between the proposal and the commit or earlier
	balanceMoves                // others use the balance up, and it comes back
	tightBalance                // it is enough for one refund, so our own success uses it up
	foreignKey                  // the provider has something else under this operation id
	equalTwin                   // another operation with equal parameters has its entry
)

// core is the part of a state that every key has. It has no padding, so that two keys compare as memory: the wide fields come
// first.
type core struct {
	// Instants are indexes of machine.instants, plus one where 0 means none.
	Now       uint16
	FirstSent uint16 // of the first intent that may have let something leave, plus one
	StoredAt  uint16 // of the provider's stored result
	First     uint16 // arrival of the first copy, plus one
	Fence     fence  // who may write
	StoredBy  fence
	Raised    fence // as the provider has it
	Newest    fence // truth: of the newest owner whose request it has processed

	// What the engine has recorded.
	Op       op
	Shown    uint8 // the order version of the proposal, 0 without one
	Choice   uint8 // of the accepted decision: 0 none, 1 approve, 2 reject
	Expired  bool
	Lapsed   bool
	Conflict bool
	Presumed bool
	Closing  bool
	Parked   bool // waits for a person
	Foreign  bool // CONFIRMED with a receipt for something else: never true under the real rules

	Held bool   // lease or attempt is running
	Open action // of the open round
	Left bool   // something may have left before the open round

	// The world.
	Version uint8 // of the order
	Trouble trouble
	Spent   bool  // others have used the balance up
	Entries uint8 // in the ledger, of this operation
	Replica uint8 // entries that the lagging replica has seen
	Stored  stored

	// What was used of the bounds; Sends is truth as well.
	Claims, Sends, Settlements uint8

	// Unfit: the accepted decision was none of another person, in time, on what was shown. Never true under the real rules.
	Unfit bool
	// Broken is an invariant that a step violated.
	Broken broken
}

// state is everything at one moment.
type state struct {
	core
	owners [maxOwners]owner
	wire   [maxWire]message
}

// Bounds of the explorer's arrays.
const (
	keyOwners = 2
	keyWire   = 3
)

// key is a state in the size of an exploration; it is comparable and canonical.
type key struct {
	core
	owners [keyOwners]owner
	wire   [keyWire]message
}

func (s *state) key() key {
	k := key{core: s.core}
	copy(k.owners[:], s.owners[:])
	copy(k.wire[:], s.wire[:])
	return k
}

func (k *key) state() state {
	s := state{core: k.core}
	copy(s.owners[:], k.owners[:])
	copy(s.wire[:], k.wire[:])
	return s
}

// ownerOf is the owner with a fence, nil when there is none.
func (s *state) ownerOf(f fence) *owner {
	for i := range s.owners {
		if s.owners[i].at != free && s.owners[i].fence == f {
			return &s.owners[i]
		}
	}
	return nil
}

// slot is the lowest free place among the first n, -1 when all are taken.
func (s *state) slot(n int) int {
	for i := range n {
		if s.owners[i].at == free {
			return i
		}
	}
	return -1
}

// post puts a message on the wire, ordered so that two states with the same messages are the same state.
func (s *state) post(msg message, n int) bool {
	for i := range n {
		if s.wire[i].act == noAction {
			s.wire[i] = msg
			s.sortWire()
			return true
		}
	}
	return false
}

func (s *state) unpost(i int) {
	copy(s.wire[i:], s.wire[i+1:])
	s.wire[maxWire-1] = message{}
}

func (s *state) sortWire() {
	for i := 1; i < maxWire; i++ {
		for j := i; j > 0 && s.wire[j].act != noAction && (s.wire[j-1].act == noAction || s.wire[j].before(s.wire[j-1])); j-- {
			s.wire[j], s.wire[j-1] = s.wire[j-1], s.wire[j]
		}
	}
}

func (m message) before(other message) bool {
	if m.fence != other.fence {
		return m.fence.less(other.fence)
	}
	return m.act < other.act
}
