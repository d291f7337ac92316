package comparison

import (
	"fmt"
	"slices"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// diskAt is what the journal's disk held of one run at the moment at which a rule cut its power or looked at it. The trace says
// that a process went on after its transaction; only the disk says that the transaction was durable.
type diskAt struct {
	run  run
	rule string
	seq  int64 // of the crossing
	refund.Export
	absent bool
	failed string // why the store could not be read
}

// disks are all of a trial, run by run.
func (t *trial) disks() []diskAt {
	var disks []diskAt
	for _, image := range t.Trial.Images {
		fired, hit := t.fired(image.Rule)
		if !hit || image.Volume != faults.VolumeJournal {
			continue
		}
		about := filter(t.Trace, func(c evidence.Crossing) bool { return c.Seq == fired.Seq })
		for _, r := range t.present() {
			if len(about) == 1 && about[0].Operation != "" && about[0].Operation != string(r.id) {
				continue // the image was asked about another run
			}
			export, found := image.Exports[r.name]
			disks = append(disks, diskAt{run: r, rule: image.Rule, seq: fired.Seq, Export: export, absent: !found, failed: image.Failed[r.name]})
		}
	}
	return disks
}

// lacks says what the disk has in the place of something.
func (d diskAt) lacks(what string) string {
	switch {
	case d.failed != "":
		return fmt.Sprintf("%s is lost with the disk at rule %s, which cannot be read: %s", what, d.rule, d.failed)
	case d.absent:
		return fmt.Sprintf("the disk at rule %s holds no such run, so not %s", d.rule, what)
	}
	return fmt.Sprintf("the disk at rule %s does not hold %s", d.rule, what)
}

// left tells whether a message that was announced did leave, before the disk was looked at.
func (d diskAt) left(c evidence.Crossing) bool {
	return c.Seq < d.seq && c.Operation == string(d.run.id) && left(c)
}

// I4, on the disk: before a request leaves, the intent to send it is durable, and before anybody is told that a run is over,
// its end is.
func knowledgeOnDisk(t *trial) []string {
	var violations []string
	for _, d := range t.disks() {
		for _, call := range t.crossings(faults.ProviderCall, faults.Before, d.run.id) {
			fence, ok := parseFence(call.Fence)
			if !ok || !t.isWorker(call.Process) || !d.left(call) {
				continue
			}
			if !slices.ContainsFunc(d.Facts, func(f refund.Fact) bool { return f.Kind == refund.FactIntent && f.Fence == fence }) {
				violations = append(violations, fmt.Sprintf("run %s: %s had sent a submit with fence %s, and %s", d.run.name, call.Process, call.Fence, d.lacks("the intent to send it")))
			}
		}
		for _, call := range t.crossings(faults.NoticeCall, faults.Before, d.run.id) {
			if d.left(call) && !d.View.Status.Terminal() {
				violations = append(violations, fmt.Sprintf("run %s: %s had sent its notice, and %s", d.run.name, call.Process, d.lacks("the end that it tells")))
			}
		}
	}
	return violations
}

// I10, on the disk: a verdict that was told stays.
func verdictOnDisk(t *trial) []string {
	var violations []string
	for _, d := range t.disks() {
		for _, answer := range t.answers("approve", "reject") {
			said := replyOf(answer)
			if said.Verdict == "" || answer.Run != d.run.name || !t.toldBy(answer, d.seq) {
				continue
			}
			kept := slices.ContainsFunc(d.View.Facts.Verdicts, func(v refund.RecordedVerdict) bool {
				return v.DecisionID == said.DecisionID && v.Code == said.Verdict
			})
			if !kept {
				violations = append(violations, fmt.Sprintf("run %s: %s had been told %s on decision %s, and %s", d.run.name, answer.Process, said.Verdict, said.DecisionID, d.lacks("that verdict")))
			}
		}
	}
	return violations
}

// I11, on the disk: a request that was answered is there, or it never comes to an end.
func requestOnDisk(t *trial) []string {
	var violations []string
	for _, d := range t.disks() {
		for _, answer := range t.answers("request") {
			if answer.Run == d.run.name && replyOf(answer).OperationID == d.run.id && t.toldBy(answer, d.seq) && (d.absent || d.failed != "") {
				violations = append(violations, fmt.Sprintf("run %s: %s had been told that it is taken, and %s", d.run.name, answer.Process, d.lacks("the request")))
			}
		}
	}
	return violations
}

// I12, on the disk: a call to the model is taken from the budget before it is made.
func budgetOnDisk(t *trial) []string {
	var violations []string
	for _, d := range t.disks() {
		calls := len(filter(t.crossings(faults.ModelCall, faults.Before, d.run.id), d.left))
		reserved := len(filter(d.Facts, func(f refund.Fact) bool { return f.Kind == refund.FactModelCall }))
		if calls > reserved {
			violations = append(violations, fmt.Sprintf("run %s: %d calls to the model had left, %d had been taken from the budget: %s", d.run.name, calls, reserved, d.lacks("the reservation")))
		}
	}
	return violations
}

// I6, where it begins: a generation is given once. An owner that was given one and lost it with its store could not be told
// apart from the next, neither by the journal nor by the provider.
func eachGenerationOnce(t *trial) []string {
	var violations []string
	for _, r := range t.present() {
		given := map[string]string{} // by fence, to whom
		for _, c := range t.crossings(faults.Claim, faults.After, r.id) {
			if former, again := given[c.Fence]; again {
				violations = append(violations, fmt.Sprintf("run %s: generation %s was given to %s, and then to %s", r.name, c.Fence, former, c.Process))
			}
			given[c.Fence] = c.Process
		}
	}
	return violations
}

// toldBy tells whether a client's answer had reached its caller at a moment of the trial.
func (t *trial) toldBy(answer evidence.Answer, seq int64) bool {
	return slices.ContainsFunc(t.crossings(faults.CallerReply, faults.After, ""), func(c evidence.Crossing) bool {
		return c.Process == answer.Process && c.Seq <= seq
	})
}
