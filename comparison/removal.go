package comparison

import (
	"fmt"
	"strings"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// Guarantor is who gave a guarantee.
type Guarantor string

// The three guarantors.
const (
	ByEngine      Guarantor = "engine"      // Temporal's server and SDK, or the executor and its SQLite journal
	ByApplication Guarantor = "application" // the flow's own code and the shared rules, alike on both engines
	ByProvider    Guarantor = "provider"    // provider and receiver of notices
)

// Removal is one check that kept a copy, a late message or a misused key from taking effect.
type Removal struct {
	Check string    // what it did
	Party string    // where it stands
	Means string    // what it works by
	By    Guarantor // who provides it
	Count int       // how often it was seen in the evidence
}

func (r Removal) String() string {
	return fmt.Sprintf("%s at %s ×%d", r.Check, r.Party, r.Count)
}

// removals lists what removed duplicates and misuse, each seen at the party that did it.
func removals(t *trial) []Removal {
	var list []Removal
	add := func(count int, by Guarantor, party, means, check string) {
		if count > 0 {
			list = append(list, Removal{Check: check, Party: party, Means: means, By: by, Count: count})
		}
	}
	received := func(verb, outcome string) int {
		return len(filter(t.Provider.Received, func(r evidence.Received) bool { return r.Verb == verb && r.Outcome == outcome }))
	}
	add(received("submit", "receipt"), ByProvider, "provider", "operation id", "stored receipt returned for a repeated submit")
	add(t.repeatedRefusals(), ByProvider, "provider", "operation id", "stored refusal returned for a repeated submit")
	add(received("submit", "tombstone"), ByProvider, "provider", "tombstone", "closed operation refused")
	for _, verb := range []string{"submit", "lookup", "close"} {
		add(received(verb, "stale-fence"), ByProvider, "provider", "fence", "lower fence refused on "+verb)
	}
	add(received("submit", "conflict"), ByProvider, "provider", "digest", "other digest under the same key refused")
	for _, code := range []refund.Code{refund.CodeOrderVersionChanged, refund.CodeApprovalExpired, refund.CodeInsufficientBalance} {
		refusals := filter(t.Provider.Operations, func(o evidence.Operation) bool {
			return o.Result == "refusal" && o.Code == code && t.isOwn(o.OperationID, o.Digest)
		})
		add(len(refusals), ByProvider, "provider", "check at the commit", string(code)+" at the commit")
	}
	add(t.foreignAnswers(), ByApplication, "submit step", "digest comparison", "answer about another digest recognised")
	add(received("lookup", "receipt"), ByApplication, "submit step", "look-up rule", "looked up instead of sending again")
	add(received("close", "receipt"), ByApplication, "submit step", "close rule", "closed instead of sending again")
	add(t.neverSentAgain(), ByApplication, "submit step", "profile rule", "no second send, outcome left UNKNOWN")
	add(len(filter(t.Provider.Notices, func(n evidence.NoticeArrival) bool { return n.Duplicate })), ByProvider, "notice receiver", "revision", "revision seen before")
	add(t.repeatedDecisions(), ByApplication, "decision rule", "decision id", "decision id seen before, its verdict returned")
	for _, code := range []refund.VerdictCode{
		refund.VerdictAlreadyDecided, refund.VerdictExpired, refund.VerdictDigestMismatch, refund.VerdictOrderMismatch,
		refund.VerdictSelfApproval, refund.VerdictNotReady, refund.VerdictRunClosed, refund.VerdictInvalid,
	} {
		n := 0
		for _, r := range t.present() {
			n += len(r.verdictsWith(code))
		}
		add(n, ByApplication, "decision rule", "decision rule", "verdict "+string(code))
	}
	answered := func(code refund.Code, verbs ...string) int {
		return len(filter(t.answers(verbs...), func(a evidence.Answer) bool { return codeOf(a) == string(code) }))
	}
	add(answered(refund.CodeDecisionConflict, "approve", "reject"), ByApplication, "decision rule", "decision id", "decision id with other content refused")
	add(answered(refund.CodeDecisionConflict, "reconcile"), ByApplication, "settlement rule", "settlement id", "settlement id with other content refused")
	add(answered(refund.CodeKeyConflict, "request"), ByApplication, "intake", "digest", "request id with other parameters refused")
	add(len(filter(t.answers("request"), func(a evidence.Answer) bool { return replyOf(a).Existing })), ByEngine, recordParty(t.Trial.Engine), intakeKey(t.Trial.Engine), "request id seen before")
	add(t.refusedWrites(), ByEngine, recordParty(t.Trial.Engine), recordKey(t.Trial.Engine), "write of a former owner refused")
	return list
}

func intakeKey(engine string) string   { return byEngine(engine, "workflow id", "key of runs") }
func recordParty(engine string) string { return byEngine(engine, "Temporal server", "journal") }
func recordKey(engine string) string   { return byEngine(engine, "task token", "generation and lease") }

func byEngine(engine, temporal, handrolled string) string {
	if engine == "temporal" {
		return temporal
	}
	return handrolled
}

// refusedWrites counts completions and writes of workers that the far side refused.
func (t *trial) refusedWrites() int {
	return len(filter(t.Trace, func(c evidence.Crossing) bool {
		return c.Point.When == faults.After && t.isWorker(c.Process) && turnedAway(c)
	}))
}

// turnedAway tells whether the far side refused what a worker brought because it was no longer the worker's. An answer that could
// not be had is not a refusal.
func turnedAway(c evidence.Crossing) bool {
	status := c.Detail[faults.DetailStatus]
	return status == "NotFound" && refused(c) || status == "" && strings.Contains(c.Detail[faults.DetailRefused], string(refund.CodeLeaseLost))
}

// isOwn tells whether a digest is the one of the run with that operation id, and not another caller's.
func (t *trial) isOwn(id refund.OperationID, d refund.Digest) bool {
	r, known := t.runOf(id)
	return known && d == digestOf(r)
}

// foreignAnswers counts runs that found a conflict which the provider does not name.
func (t *trial) foreignAnswers() int {
	return len(filter(t.present(), func(r run) bool { return r.facts.Conflict != "" && !t.promise.conflict }))
}

// repeatedRefusals counts refusals beyond the first of each operation.
func (t *trial) repeatedRefusals() int {
	n := 0
	for _, r := range t.present() {
		refusals := filter(t.received("submit", r.id), func(x evidence.Received) bool { return x.Outcome == "refusal" && x.Digest == digestOf(r) })
		n += max(0, len(refusals)-1)
	}
	return n
}

// repeatedDecisions counts acknowledged verdicts beyond the first of each decision id.
func (t *trial) repeatedDecisions() int {
	seen, n := map[string]bool{}, 0
	for _, answer := range t.answers("approve", "reject") {
		said := replyOf(answer)
		if said.Verdict == "" {
			continue
		}
		key := answer.Run + " " + said.DecisionID
		if seen[key] {
			n++
		}
		seen[key] = true
	}
	return n
}

// neverSentAgain counts runs that stay UNKNOWN after one send only. A worker that died at the point sent nothing, which nobody
// knew.
func (t *trial) neverSentAgain() int {
	return len(filter(t.present(), func(r run) bool {
		died := filter(t.crossings(faults.ProviderCall, faults.Before, r.id), func(c evidence.Crossing) bool { return c.Reply == "" })
		return r.export.View.Status == refund.StatusUnknown && t.sent(faults.ProviderCall, r.id)+len(died) == 1
	}))
}

// guarantors lists who gave what in a trial: the checks that removed something, and the records that were used again.
func guarantors(m Measures) []string {
	by := map[Guarantor][]string{}
	for _, result := range m.Reused {
		by[result.by] = append(by[result.by], result.means)
	}
	for _, removal := range m.Removed {
		by[removal.By] = append(by[removal.By], removal.Means)
	}
	var texts []string
	for _, who := range []Guarantor{ByEngine, ByApplication, ByProvider} {
		if len(by[who]) > 0 {
			texts = append(texts, fmt.Sprintf("%s: %s", who, strings.Join(unique(by[who]), ", ")))
		}
	}
	return texts
}

func unique(list []string) []string {
	seen := map[string]bool{}
	return filter(list, func(s string) bool {
		known := seen[s]
		seen[s] = true
		return !known
	})
}
