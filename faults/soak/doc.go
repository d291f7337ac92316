// Package soak draws trials by lot: many refunds over few orders, several workers and people, impatient clients, and faults from
// everything that the harness can do, all from one seed. It also makes a trial that failed smaller. It is data only: it plays
// nothing and judges nothing, and the same seed draws the same trial.
package soak
