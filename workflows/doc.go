// Package workflows is the refund flow as a Temporal application: the workflow, the door through which decisions reach it,
// the worker that runs it, and the client that starts it, decides and reads.
//
// The workflow is one function that reads from top to bottom; waiting, retries, time-outs and recovery are Temporal's. What
// Temporal cannot know is written here: which decision was in time when a task holds several events (door.go), what an
// answer of the provider allows next (account.go, by the rules of package refund), and what a reader may say of a run while
// no worker is alive (fold.go: from the history, never by a query).
package workflows
