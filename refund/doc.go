// Package refund is the vocabulary and the rules of one refund: what a request means, which money it moves,
// what a person may decide, what an answer of the provider allows next, and how a run's status follows from
// recorded facts. It does no I/O, reads no clock and draws no random number, so that both engines, the
// clients and the tests can run the same rule on the same facts and must get the same answer.
//
// The engines share these rules and nothing else: how a run is driven, stored and recovered is each engine's
// own. The judge of the fault suite uses the words of this package but none of its rules, because a mistake
// that both share could not be seen; one check apart, which walks what was recorded through these rules (package model).
//
// Invariants I1 to I12, which comments in this project cite by number, are written down in docs/invariants.md.
package refund
