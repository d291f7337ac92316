package comparison

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"refundlab/evidence"
	"refundlab/refund"
)

// historyWithin bounds the search for one operation's order; what clients do to one operation needs a small part of it.
const historyWithin = 5 * time.Second

// HISTORY: what clients were answered about one operation could have been answered one call after the other, each at an instant
// between its beginning and its end, by the sequential specification in register.go. A call that was never answered may have
// taken effect at any instant after its beginning, or never.
func oneHistory(t *trial) []string {
	var violations []string
	for _, r := range t.runs {
		calls := t.callsOf(r)
		if ruleOf(calls, historyWithin) == porcupine.Illegal {
			violations = append(violations, fmt.Sprintf("run %s: no order of its %d calls explains their answers; %s", r.name, len(calls), blame(calls)))
		}
	}
	return violations
}

// undecidedHistories names runs for whose calls the search ended by its time.
func undecidedHistories(t *trial) []string {
	var names []string
	for _, r := range t.runs {
		if ruleOf(t.callsOf(r), historyWithin) == porcupine.Unknown {
			names = append(names, r.name)
		}
	}
	return names
}

func ruleOf(calls []call, within time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(specification.ToModel(), operations(calls), within)
}

// blame names the first call without which, and without everything that ended after it, the answers can be explained.
func blame(calls []call) string {
	ended := slices.Clone(calls)
	slices.SortStableFunc(ended, func(a, b call) int { return int(a.end - b.end) })
	for i := range ended {
		if !ended[i].open && ruleOf(ended[:i+1], historyWithin) == porcupine.Illegal {
			return fmt.Sprintf("the first that does not fit is %s (%d to %d)", ended[i], ended[i].begin, ended[i].end)
		}
	}
	return "it takes all of them to see it"
}

// call is one call to one operation as its client saw it.
type call struct {
	process    string
	begin, end int64
	open       bool // never answered: it may still take effect, and end is behind everything
	input      question
	output     told
}

func (c call) String() string {
	return fmt.Sprintf("%s of %s, answered %s", c.input, c.process, c.output)
}

// question is what a client asks of an operation.
type question struct {
	verb     string // "request", "decide", "settle" or "read"
	id       string // of a decision or settlement
	content  string // what the key or id is to stand for
	approves bool
	self     bool // the one who asked for the refund decides
	kind     refund.SettlementKind
	closes   bool   // the provider can close
	proves   bool   // the settlement's receipt is one for this very refund
	receipt  string // its refund id
}

func (a question) String() string {
	return strings.TrimSpace(a.verb + " " + a.id)
}

// told is the answer.
type told struct {
	code     string // "" for success
	verdict  refund.VerdictCode
	recorded bool // the verdict stands in the run's record, and is what the id will always get
	existing bool
	status   refund.RunStatus // of a read
	reason   refund.Code
	intended bool // it is UNKNOWN by a recorded intent alone: its owner may find out that nothing left, and it may be RETRYABLE again
	// As a read shows them:
	decision string // accepted
	receipt  string // refund id
	conflict bool
	closing  bool
	absent   string // settlement id
}

func (o told) String() string {
	for _, word := range []string{o.code, string(o.verdict)} {
		if word != "" {
			return word
		}
	}
	if o.status != "" {
		return strings.TrimSpace(fmt.Sprintf("%s %s", o.status, o.reason))
	}
	return "done"
}

// callsOf are the calls about one run, with the export as the last read.
func (t *trial) callsOf(r run) []call {
	var last int64
	for _, answer := range t.Answers {
		last = max(last, answer.EndSeq)
	}
	var calls []call
	for _, answer := range t.Answers {
		if answer.Run == r.name {
			calls = append(calls, t.callsIn(answer, r, last+3)...)
		}
	}
	if !slices.ContainsFunc(calls, func(c call) bool { return c.input.verb == "request" }) {
		return nil // who asked for it is not in the evidence, so neither is its history
	}
	calls = slices.DeleteFunc(calls, func(c call) bool { return c.open && !mentioned(c, calls, r) })
	if r.absent && t.Trial.Broken != "" {
		return calls // what a trial that broke off did not read is no answer
	}
	export := call{process: "the export", begin: last + 1, end: last + 2, input: question{verb: "read"}, output: readOf(r.export.View)}
	if r.absent {
		export.output = told{code: string(refund.CodeNotFound)}
	}
	return append(calls, export)
}

// mentioned tells whether anything else speaks of an unanswered decision or settlement. One of which nobody speaks may as well never
// have arrived: had it been taken, the export would show it, except for a receipt, which matters only where absence was presumed
// before. Leaving it out keeps the search small.
func mentioned(c call, calls []call, r run) bool {
	var shows func(told) bool
	switch c.input.verb {
	case "decide":
		shows = func(o told) bool { return o.decision == c.input.id }
	case "settle":
		shows = func(o told) bool {
			return o.absent != "" && (o.absent == c.input.id || c.input.kind == refund.SettleReceipt) || o.closing && c.input.kind == refund.SettleClose
		}
	default:
		return true
	}
	return shows(readOf(r.export.View)) || slices.ContainsFunc(calls, func(other call) bool {
		return !other.open && (other.input.verb == c.input.verb && other.input.id == c.input.id || shows(other.output))
	})
}

// callsIn are the calls in one command: one that acts and then shows the run reads it at a second instant.
func (t *trial) callsIn(a evidence.Answer, r run, never int64) []call {
	c := call{process: a.Process, begin: a.StartSeq, end: a.EndSeq}
	said := replyOf(a)
	code := codeOf(a)
	unanswered := func() []call {
		c.open, c.end = true, never
		return []call{c}
	}
	var calls []call
	for _, view := range viewsIn(a.Output) {
		if view.OperationID == r.id && view.Facts.Intake.OperationID == r.id { // request and decide print less than a view
			read := c
			read.input, read.output = question{verb: "read"}, readOf(view)
			calls = append(calls, read)
		}
	}
	switch a.Verb {
	case "request":
		c.input = question{verb: "request", content: strings.Join([]string{flagValue(a.Args, "order"), flagValue(a.Args, "amount"), flagValue(a.Args, "currency"), flagValue(a.Args, "reason")}, " ")}
		switch {
		case said.OperationID != "" && said.Error == nil:
			c.output.existing = said.Existing
		case code == string(refund.CodeKeyConflict):
			c.output.code = code
		default:
			return unanswered()
		}
		return append(calls, c)
	case "approve", "reject":
		c.input = question{
			verb: "decide", id: cmp.Or(said.DecisionID, flagValue(a.Args, "decision-id")), approves: a.Verb == "approve", self: flagValue(a.Args, "as") == r.facts.Intake.Request.Requester,
			content: strings.Join([]string{a.Verb, flagValue(a.Args, "as"), flagValue(a.Args, "digest"), flagValue(a.Args, "order-version")}, " "),
		}
		_, named := verdictEffects[refund.VerdictCode(code)]
		switch {
		case said.Verdict != "":
			c.output = told{verdict: said.Verdict, recorded: said.At != 0}
		case named: // the client itself said so from what it had read, and sent nothing
			c.output.verdict = refund.VerdictCode(code)
		case code == string(refund.CodeDecisionConflict), code == string(refund.CodeNotFound):
			c.output.code = code
		default:
			return unanswered()
		}
		return []call{c}
	case "status":
		if code == string(refund.CodeNotFound) {
			c.input, c.output = question{verb: "read"}, told{code: code}
			return []call{c}
		}
	case "reconcile":
		c.input = t.settlementIn(a, r)
		switch code {
		case "":
		case string(refund.CodeSettlementRefused), string(refund.CodeDecisionConflict), string(refund.CodeNotFound):
			c.output.code = code
		default:
			return unanswered()
		}
		return append(calls, c)
	}
	return calls
}

// settlementIn is the question of a reconcile. Its content is what its id stands for: kind, person, reason and the whole receipt.
func (t *trial) settlementIn(a evidence.Answer, r run) question {
	in := question{verb: "settle", id: flagValue(a.Args, "settlement-id"), kind: refund.SettlementKind(flagValue(a.Args, "kind")), closes: t.promise.close}
	parts := []string{string(in.kind), flagValue(a.Args, "by"), flagValue(a.Args, "reason")}
	var receipt refund.Receipt
	if text := flagValue(a.Args, "receipt"); text != "" && json.Unmarshal([]byte(text), &receipt) == nil {
		in.receipt, in.proves = receipt.RefundID, provesRun(receipt, r)
		parts = append(parts, fmt.Sprintf("%+v", receipt))
	}
	in.content = strings.Join(parts, "\n")
	return in
}

// provesRun tells whether a receipt is whole and one for this very refund.
func provesRun(receipt refund.Receipt, r run) bool {
	return receipt.RefundID != "" && receipt.At > 0 && receipt.OperationID == r.id && receipt.Digest == digestOf(r) &&
		receipt.Order == r.facts.Intake.Request.Order && receipt.Amount == r.facts.Intake.Request.Amount
}

func readOf(v refund.View) told {
	f := v.Facts
	o := told{status: v.Status, reason: v.Reason, conflict: f.Conflict != "", closing: f.Closing}
	o.intended = v.Status == refund.StatusUnknown && f.State == refund.StateSubmitted
	if f.Decision != nil {
		o.decision = f.Decision.DecisionID
	}
	if f.Receipt != nil {
		o.receipt = f.Receipt.RefundID
	}
	if f.PresumedAbsent != nil {
		o.absent = f.PresumedAbsent.SettlementID
	}
	return o
}

func operations(calls []call) []porcupine.Operation {
	list := make([]porcupine.Operation, 0, len(calls))
	for i, c := range calls {
		list = append(list, porcupine.Operation{ClientId: i, Input: c.input, Call: c.begin, Output: answer{c.output, c.open}, Return: c.end})
	}
	return list
}

// answer is what the specification is given: the answer, or that none came.
type answer struct {
	told
	none bool
}

var specification = porcupine.NondeterministicModel{
	Init: func() []any { return []any{register{}} },
	Step: func(state, input, output any) []any {
		var next []any
		for _, r := range state.(register).step(input.(question), output.(answer)) { //nolint:errcheck // porcupine hands back what it was given
			next = append(next, r)
		}
		return next
	},
	Equal: func(a, b any) bool { return a.(register).equal(b.(register)) }, //nolint:errcheck // the same
}

func (r register) equal(o register) bool {
	return r.content == o.content && r.progress == o.progress && r.decided == o.decided && r.rejected == o.rejected && r.overdue == o.overdue &&
		r.over == o.over && r.reason == o.reason && r.receipt == o.receipt && r.conflict == o.conflict && r.closing == o.closing && r.absent == o.absent &&
		maps.Equal(r.verdicts, o.verdicts) && maps.Equal(r.settled, o.settled)
}
