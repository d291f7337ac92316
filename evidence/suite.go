package evidence

import "refundlab/refund"

// SuiteFile lies in the root of a run's evidence and is written last: it lists every trial with the hash of its trial.json,
// which in turn lists the hashes of the trial's other files. What is missing or cut off can therefore be seen.
const SuiteFile = "suite.json"

// Suite is what the harness knows of a whole run.
type Suite struct {
	Format   int       `json:"format"`
	Command  string    `json:"command"` // as the user typed it
	Filter   Filter    `json:"filter"`
	Machine  Machine   `json:"machine"`
	Versions []Version `json:"versions"` // of engines and SDKs, in the order of the report
	Budget   Budget    `json:"budget"`
	// PeakMemoryMB is the most that all processes of the run held at one time, 0 where nobody looked.
	PeakMemoryMB int64          `json:"peak_memory_mb,omitempty"`
	Census       []Lines        `json:"census"` // of the source tree that was built
	StartedAt    refund.Instant `json:"started_at"`
	EndedAt      refund.Instant `json:"ended_at"`
	// Trials maps a trial's directory, relative and with slashes, to the SHA-256 of its trial.json.
	Trials map[string]string `json:"trials"`
}

// Filter says which part of the matrix was asked for. Empty lists ask for everything.
type Filter struct {
	// Extended tells that it was a part of the extended matrix, which no run of the suite plays by itself.
	Extended  bool     `json:"extended,omitempty"`
	Scenarios []string `json:"scenarios,omitempty"`
	Engines   []string `json:"engines,omitempty"`
	Profiles  []string `json:"profiles,omitempty"`
}

// Machine is where the run took place.
type Machine struct {
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	CPUs     int    `json:"cpus"`
	MemoryMB int64  `json:"memory_mb,omitempty"`
	Kernel   string `json:"kernel,omitempty"`
	Go       string `json:"go"`
}

// Version is a part that was measured, and which one it was.
type Version struct {
	Part    string `json:"part"`
	Version string `json:"version"`
}

// Lines counts the source of one package, see CountLines.
type Lines struct {
	Package string `json:"package"` // relative path
	Duty    string `json:"duty"`    // what it is there for
	Owner   string `json:"owner"`   // "temporal", "handrolled", "shared" or "apparatus"
	Files   int    `json:"files"`
	Code    int    `json:"code"`    // lines with code, tests left out
	Comment int    `json:"comment"` // lines with nothing but comment
	Test    int    `json:"test"`    // lines with code in tests
}
