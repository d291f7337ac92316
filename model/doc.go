// Package model explores the rules of one refund to the end: two owners, one operation, a provider of each profile, requests
// that are lost, late or doubled, decisions, deadlines and hand-overs, in every order that the stated bounds allow. It does
// no I/O and reads no clock. What may be done next, what a decision is worth, what a receipt proves and what a status says
// it asks package refund, so that a rule that is changed there is explored as it was changed.
//
// The same steps check traces: what a real trial recorded must be a path of the model (see Check). A model that nobody
// compares with the code proves something about the model.
package model
