// Package ledger is the one writer of orders, operations and the ledger, on SQLite. Every operation works inside a
// transaction that the caller gives, so that the provider can serve it over a network and the journal can make it a part of
// its own transaction (profile "local").
//
// The caller begins an immediate transaction, calls one operation, and commits when the operation returned no error; after
// an error it must roll back. A Result is not an error: a refusal, a conflict or a stale fence is what the ledger decided,
// and what it stored with that decision is only there after the commit.
package ledger
