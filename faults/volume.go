package faults

// The stores of a trial that can lie on a lossy volume each: a file system that loses what was not synced when its power is
// cut.
const (
	VolumeJournal = "journal" // the journal's file; whoever uses it is on one machine
	VolumeLedger  = "ledger"  // the provider's file
	VolumeHistory = "history" // the file of the trial's own engine server
)

// Survival says what survives a power cut beside what was synced. The zero value: nothing.
type Survival struct {
	Percent int    `json:"percent,omitempty"` // probability of each change by itself, each sector of a write being one
	Seed    uint64 `json:"seed,omitempty"`    // of the lot
}
