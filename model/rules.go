package model

import "refundlab/refund"

// Rules are the rules that a machine runs under. The functions are package refund's, and each of the others is a protection
// that stands around them in the engines or at the provider; all of them are true there. A control takes one away.
type Rules struct {
	Next     func(refund.Situation) refund.Action
	Judge    func(refund.Decision, refund.Bench) refund.VerdictCode
	Receipt  func(refund.Intake, refund.Receipt) refund.Observation
	Order    func(refund.Request, refund.Order, int64) refund.Code
	Retained func(refund.Terms, refund.Instant, refund.Instant) bool
	After    func(refund.OperationState, refund.OperationEvent) (refund.OperationState, bool)

	// Of an engine.
	IntentFirst     bool // the intent is durable before anything is sent
	GenerationGrows bool // with every claim
	GenerationCond  bool // an owner's write names its generation
	LeaseCond       bool // an owner's write needs a lease that is not over
	CheckedAtSend   bool // order and authority are read again before a send
	CheckedAgain    bool // also before a second one
	DeadlineAtSend  bool // so is the time to commit
	FirstInTime     bool // under a profile that forgets, also the first send must find the intent young enough
	FirstWins       bool // a decision that was accepted stands

	// Of an engine under rounds.
	OneAttempt      bool // where the provider recognises no repetition, a round to send has one attempt
	NotFoundRepeats bool // "not found" ends no round to look up
	AsksFirst       bool // a first attempt whose check fails asks the provider whether anything was sent before
	LateIsAgain     bool // a first attempt that begins late takes it that another was before it

	// Of the provider, where its profile has them.
	OneKey         bool // every attempt bears the operation's own key
	ByKeyAlone     bool // equal parameters under another key are another refund
	FenceCompared  bool
	FenceOfClose   bool // a close carries its owner's fence
	RefusalStored  bool
	TombstoneHolds bool
	// What it compares at its commit, by its own reading of the rules.
	BalanceAtCommit  bool
	VersionAtCommit  bool
	DeadlineAtCommit bool
}

// RealRules are the rules as they are.
func RealRules() Rules {
	return Rules{
		Next: refund.Next, Judge: refund.Judge, Receipt: refund.CheckReceipt, Order: refund.CheckOrder, Retained: refund.Retained,
		After: refund.OperationState.After,

		IntentFirst: true, GenerationGrows: true, GenerationCond: true, LeaseCond: true, CheckedAtSend: true, CheckedAgain: true,
		DeadlineAtSend: true, FirstInTime: true, FirstWins: true,
		OneAttempt: true, NotFoundRepeats: true, AsksFirst: true, LateIsAgain: true,
		OneKey: true, ByKeyAlone: true, FenceCompared: true, FenceOfClose: true, RefusalStored: true, TombstoneHolds: true,
		BalanceAtCommit: true, VersionAtCommit: true, DeadlineAtCommit: true,
	}
}
