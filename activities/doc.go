// Package activities are the effects of the refund workflow: one each, thin, as methods on a struct whose ports are given
// from outside. What a call showed comes back as a value, because it is an observation that the workflow has to judge; an
// error is only what Temporal shall try again by the activity's retry policy.
package activities
