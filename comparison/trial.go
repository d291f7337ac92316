package comparison

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/model"
	"refundlab/refund"
)

// trial is one trial's evidence, indexed for the checks.
type trial struct {
	evidence.Record
	expect  faults.Expectation
	promise promise
	runs    []run // sorted by name
	// outside holds why I1 was promised to nobody, by operation; empty where it was.
	outside map[refund.OperationID]string
	walks   map[string]model.Walk // by the run's name, see walk
}

// run is one request of the script with its export and its permitted end.
type run struct {
	name   string
	id     refund.OperationID
	export refund.Export
	facts  refund.Facts
	end    faults.End
	absent bool // the script expects that nothing was stored, and nothing was
}

func newTrial(record evidence.Record, expectation faults.Expectation) *trial {
	t := &trial{Record: record, expect: expectation, promise: promises[record.Trial.Profile], outside: map[refund.OperationID]string{}, walks: map[string]model.Walk{}}
	names := map[string]bool{}
	for name := range record.Exports {
		names[name] = true
	}
	for name := range expectation.Runs {
		names[name] = true
	}
	for _, name := range sortedKeys(names) {
		export, exported := record.Exports[name]
		t.runs = append(t.runs, run{
			name: name, id: export.View.OperationID, export: export, facts: export.View.Facts,
			end: expectation.Runs[name], absent: !exported,
		})
	}
	for _, run := range t.runs {
		t.outside[run.id] = t.scopeOfI1(run)
	}
	for i, run := range t.runs {
		t.runs[i].end = t.reached(run)
	}
	return t
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}

// unscoped says why the ledger may hold more than one entry of an operation, or "" where it may not.
func (t *trial) unscoped(id refund.OperationID) string {
	if len(t.entries(id)) < 2 {
		return ""
	}
	return t.outside[id]
}

// excused says why what the ledger holds of a run is not held against anybody although it is not what the run tells, or "" where nothing
// was excused: more than one entry (I1), or any of a run that ended without one (I3).
func (t *trial) excused(r run) string {
	status := r.export.View.Status
	if (status == refund.StatusRejected || status == refund.StatusExpired) && len(t.entries(r.id)) > 0 {
		return t.outside[r.id]
	}
	return t.unscoped(r.id)
}

// scopeOfI1 says why nobody promised at most one entry for this run: its copies arrived beyond the provider's retention, or the
// network doubled its send toward a provider that is not idempotent. A copy bears the fence of what was doubled; an entry under another
// one is of a send that the engine made itself, which nothing excuses.
func (t *trial) scopeOfI1(r run) string {
	switch {
	case t.promise.expires:
		submits := t.received("submit", r.id)
		if len(submits) > 1 {
			first, last := submits[0].At, submits[len(submits)-1].At
			if retention := refund.Instant(r.facts.Intake.Terms.Retention); last-first >= retention {
				return fmt.Sprintf("provider: a copy of run %s arrived %d ms after the first, beyond the retention of %d ms", r.name, last-first, retention)
			}
		}
	case !t.promise.idempotent:
		for _, fired := range t.Trial.Fired {
			sent, found := t.crossingAt(fired.Seq)
			toProvider := fired.Point.Boundary == faults.ProviderCall || fired.Point.Boundary == faults.ProviderRecv
			if fired.Action != faults.Duplicate || !toProvider || !found || sent.Operation != string(r.id) {
				continue
			}
			if !slices.ContainsFunc(t.entries(r.id), func(e evidence.Entry) bool { return fenceText(e.Fence) != sent.Fence }) {
				return fmt.Sprintf("provider: the network delivered a send twice (rule %s), and profile %s takes each delivery for a refund of its own", fired.Rule, t.Trial.Profile)
			}
		}
	}
	return ""
}

func (t *trial) runOf(id refund.OperationID) (run, bool) {
	for _, r := range t.runs {
		if r.id == id && !r.absent {
			return r, true
		}
	}
	return run{}, false
}

func (t *trial) entries(id refund.OperationID) []evidence.Entry {
	return filter(t.Provider.Ledger, func(e evidence.Entry) bool { return e.OperationID == id })
}

func (t *trial) received(verb string, id refund.OperationID) []evidence.Received {
	return filter(t.Provider.Received, func(r evidence.Received) bool { return r.Verb == verb && r.OperationID == id })
}

func (t *trial) bill(id refund.OperationID) []evidence.ModelRequest {
	return filter(t.Provider.Bill, func(m evidence.ModelRequest) bool { return m.OperationID == id })
}

func (r run) factsOf(kind refund.FactKind) []refund.Fact {
	return filter(r.export.Facts, func(f refund.Fact) bool { return f.Kind == kind })
}

// crossings are those at one side of a boundary; id "" takes every operation.
func (t *trial) crossings(b faults.Boundary, w faults.When, id refund.OperationID) []evidence.Crossing {
	return filter(t.Trace, func(c evidence.Crossing) bool {
		return c.Point == faults.Point{Boundary: b, When: w} && (id == "" || c.Operation == string(id))
	})
}

func (t *trial) process(name string) (evidence.Process, bool) {
	i := slices.IndexFunc(t.Trial.Processes, func(p evidence.Process) bool { return p.Name == name })
	if i < 0 {
		return evidence.Process{}, false
	}
	return t.Trial.Processes[i], true
}

// crossingAt is the one with a sequence number.
func (t *trial) crossingAt(seq int64) (evidence.Crossing, bool) {
	i := slices.IndexFunc(t.Trace, func(c evidence.Crossing) bool { return c.Seq == seq })
	if i < 0 {
		return evidence.Crossing{}, false
	}
	return t.Trace[i], true
}

func (t *trial) fired(rule string) (evidence.Fired, bool) {
	i := slices.IndexFunc(t.Trial.Fired, func(f evidence.Fired) bool { return f.Rule == rule })
	if i < 0 {
		return evidence.Fired{}, false
	}
	return t.Trial.Fired[i], true
}

// timeOf is the latest moment at which something can have happened that has a sequence number and no time of its own: not after the
// next crossing, nor after the next step of the script began or ended. Where nothing was announced for long, these are much nearer.
func (t *trial) timeOf(seq int64) refund.Instant {
	var at refund.Instant
	consider := func(later int64, when refund.Instant) {
		if later >= seq && when != 0 && (at == 0 || when < at) {
			at = when
		}
	}
	for _, c := range t.Trace {
		if c.Seq >= seq {
			consider(c.Seq, c.At)
			break // in the order of their numbers
		}
	}
	for _, s := range t.Trial.Steps {
		consider(s.StartSeq, s.StartedAt)
		consider(s.EndSeq, s.EndedAt)
	}
	return cmp.Or(at, t.Trial.EndedAt)
}

func filter[T any](list []T, keep func(T) bool) []T {
	var kept []T
	for _, item := range list {
		if keep(item) {
			kept = append(kept, item)
		}
	}
	return kept
}

func refused(c evidence.Crossing) bool { return c.Detail[faults.DetailRefused] != "" }

func parseFence(text string) (refund.Fence, bool) {
	var f refund.Fence
	n, err := fmt.Sscanf(text, "%d.%d", &f.Term, &f.Seq)
	return f, err == nil && n == 2
}
