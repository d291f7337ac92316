// Package evidence is the schema of what a trial leaves behind: files in one directory, written by the harness while the
// trial runs and read by the judge afterwards. It holds no opinion: what a record means is the judge's business, so that
// stored evidence can be judged again by a newer judge.
//
// Order, not time, connects the files: every record that came through the harness carries the one sequence number that the
// harness gave it. Times are the host's, for a person to read and for durations.
package evidence

import (
	"encoding/json"

	"refundlab/faults"
	"refundlab/refund"
)

// Format is the version of this schema. A reader refuses any other.
const Format = 1

// Names of the files of one trial.
const (
	TrialFile    = "trial.json"    // one Trial
	TraceFile    = "trace.jsonl"   // Crossing, one a line, in the order of Seq; the last line of a .jsonl counts those before it
	AnswersFile  = "answers.jsonl" // Answer, one a line, in the order in which they ended
	ProviderFile = "provider.json" // one Provider
	ExportsFile  = "exports.json"  // Exports, by the name that the script gave each request
)

// Arm tells whether a trial ran with its fault.
type Arm string

// The arms.
const (
	ArmClean Arm = "clean" // the same script without the schedule
	ArmFault Arm = "fault"
)

// Cell names one trial in the expected matrix.
type Cell struct {
	Scenario string             `json:"scenario"`
	Engine   string             `json:"engine"` // "temporal" or "handrolled"
	Profile  refund.ProfileName `json:"profile"`
	Arm      Arm                `json:"arm"`
}

// Trial is what the harness knows of one trial.
type Trial struct {
	Format int `json:"format"`
	Cell
	Schedule  faults.Schedule `json:"schedule"` // that was played; empty in the clean arm
	Fired     []Fired         `json:"fired"`
	Processes []Process       `json:"processes"`
	Steps     []Step          `json:"steps"`
	Budget    Budget          `json:"budget"`
	StartedAt refund.Instant  `json:"started_at"`
	EndedAt   refund.Instant  `json:"ended_at"`
	// RestSeq is the sequence number at which the trial was at rest: nothing was held, and an ask was sent later than the last
	// submit arrived, or every run was over. 0 means that rest was never reached.
	RestSeq int64 `json:"rest_seq"`
	// Files maps the other files of the trial to their SHA-256; Save fills it in.
	Files map[string]string `json:"files"`
	// Broken says why the harness could not play the script to its end; empty when it could. A broken trial is invalid.
	Broken string `json:"broken,omitempty"`
	// Images are what lay on the disk of a volume where a rule cut its power or inspected it.
	Images []Image `json:"images,omitempty"`
}

// TooLate tells whether a rule hit only when everything was at rest already, and the trial was over before its effect was complete:
// then it is no fault of the trial.
func (t Trial) TooLate(f Fired) bool { return f.DoneSeq == 0 && t.RestSeq != 0 && f.Seq > t.RestSeq }

// Image is what a client finds in a store on the disk as it was at one moment, without what was not synced.
type Image struct {
	Rule    string            `json:"rule"`
	Volume  string            `json:"volume"`
	Exports Exports           `json:"exports"`          // of the runs that are there
	Failed  map[string]string `json:"failed,omitempty"` // by run: why it could not be read
	// Pending is what had not been synced, in sectors and names, and Survived how much of it the lot left in the image.
	Pending  int `json:"pending,omitempty"`
	Survived int `json:"survived,omitempty"`
}

// Budget is the one set of time-outs under which both engines of a suite run, in milliseconds; a latency without it means
// nothing.
type Budget struct {
	CallTimeoutMS         int64 `json:"call_timeout_ms"`
	LeaseMS               int64 `json:"lease_ms"`                 // journal
	StartToCloseMS        int64 `json:"start_to_close_ms"`        // Temporal, submit
	WorkflowTaskTimeoutMS int64 `json:"workflow_task_timeout_ms"` // Temporal
	StickyTimeoutMS       int64 `json:"sticky_timeout_ms"`        // Temporal; 0: no sticky cache
	BackoffMS             int64 `json:"backoff_ms"`               // first pause between asks
	BoundMS               int64 `json:"bound_ms"`                 // within which every run must end (I11)
}

// Process is one process of a trial. WaitStatus is what the operating system said: "signal 9", "exit 0", or "" when the
// process outlived the trial and was ended by the harness.
type Process struct {
	Name       string   `json:"name"` // "A", "B", "provider", "client-1"
	Role       string   `json:"role"` // "worker", "provider", "client"
	PID        int      `json:"pid"`
	Args       []string `json:"args"`
	StartSeq   int64    `json:"start_seq"`
	EndSeq     int64    `json:"end_seq,omitempty"`
	WaitStatus string   `json:"wait_status,omitempty"`
	// What the operating system charged, known once the process has ended: CPU time of both kinds and the largest resident set.
	CPUMS    int64 `json:"cpu_ms,omitempty"`
	MaxRSSKB int64 `json:"max_rss_kb,omitempty"`
}

// Fired is a rule of the schedule that hit.
type Fired struct {
	Rule   string         `json:"rule"`
	Point  faults.Point   `json:"point"`
	Action faults.Action  `json:"action"`
	Victim string         `json:"victim"` // the process that was killed, frozen or held
	Seq    int64          `json:"seq"`    // of the announcement that it hit
	At     refund.Instant `json:"at"`
	// DoneSeq is when its effect was complete: the victim's end after a kill, the state "stopped" after a freeze, the release
	// after a hold; 0 when that never came.
	DoneSeq int64  `json:"done_seq"`
	Proof   string `json:"proof"` // "signal 9", "state T", "released", "answered", "power lost"
	// Unsynced tells that a power cut that belongs at an fsync came where the process told of its commit: nothing had been synced.
	Unsynced bool `json:"unsynced,omitempty"`
}

// Step is one step of the script as it was played.
type Step struct {
	Text      string         `json:"text"`            // as the scenario's script says it, beginning with the verb
	Waits     bool           `json:"waits,omitempty"` // it does nothing: it waits for what the processes do
	StartSeq  int64          `json:"start_seq"`
	EndSeq    int64          `json:"end_seq"`
	StartedAt refund.Instant `json:"started_at,omitempty"`
	EndedAt   refund.Instant `json:"ended_at,omitempty"`
}

// Crossing is one announcement at one point and the harness's answer to it.
type Crossing struct {
	Seq     int64          `json:"seq"`
	At      refund.Instant `json:"at"`
	DoneSeq int64          `json:"done_seq,omitempty"` // when it was answered, where that was later than the next record
	Nth     int            `json:"nth"`                // per process and point, from 1
	faults.Announcement
	Reply faults.Action `json:"reply"` // "" when it was never answered: the process died there
}

// Answer is one run of a client command: what the caller saw.
type Answer struct {
	StartSeq int64           `json:"start_seq"`
	EndSeq   int64           `json:"end_seq"`
	Process  string          `json:"process"`
	Run      string          `json:"run"`  // the name that the script gave the request
	Verb     string          `json:"verb"` // request, approve, reject, status, reconcile ...
	Args     []string        `json:"args"`
	Exit     int             `json:"exit"`             // -9 when it was killed
	Output   json.RawMessage `json:"output,omitempty"` // its JSON, absent when it printed none
	Stderr   string          `json:"stderr,omitempty"`
}

// Exports holds the export of each run by the name that the script gave its request.
type Exports map[string]refund.Export
