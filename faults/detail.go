package faults

// Keys of Announcement.Detail that the judge reads. Other keys are for a person.
const (
	// DetailReplay is set to ReplayTop on a workflow task's crossing when the worker was given the history from its first
	// event although an earlier task of the run had been completed: the workflow function ran again from the top.
	DetailReplay = "replay"
	// DetailAttempt is the engine's own counter on an activity's crossing, from 1.
	DetailAttempt = "attempt"
	// DetailRefused says, on the after side, that the far side refused the message, and why: "task not found" by the
	// Temporal server, "generation", "lease" or another condition by the journal. Nothing of the message became durable.
	DetailRefused = "refused"
	// DetailStatus is the far side's status on the after side: of HTTP, or a gRPC code's name.
	DetailStatus = "status"
)

// ReplayTop is the value of DetailReplay.
const ReplayTop = "top"
