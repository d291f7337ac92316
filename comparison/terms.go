package comparison

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"refundlab/evidence"
	"refundlab/refund"
)

// The limits of a run stand in the engine's own record, and I1, I4, I5 and I12 are judged by them. So they must be those that
// somebody asked for: an engine that records longer ones would be in time whenever it is late.

// term is one of these limits: how it is asked for, and what it is where nobody says it.
type term struct {
	flag     string
	absent   func(evidence.Answer) int64
	recorded func(refund.Terms) int64
}

var (
	decideTerm = term{"decide-within", always(refund.DefaultDecide.Milliseconds()), func(t refund.Terms) int64 { return t.DecideWithin }}
	commitTerm = term{"commit-within", func(a evidence.Answer) int64 { asked, _ := decideTerm.asked(a); return asked }, func(t refund.Terms) int64 { return t.CommitWithin }}
	memoryTerm = term{"retention", always(refund.DefaultRetention.Milliseconds()), func(t refund.Terms) int64 { return t.Retention }}
	callTerm   = term{"call-timeout", always(refund.DefaultCallTimeout.Milliseconds()), func(t refund.Terms) int64 { return t.CallTimeout }}
	budgetTerm = term{"model-budget", always(refund.DefaultModelBudget), func(t refund.Terms) int64 { return int64(t.ModelBudget) }}
	allTerms   = []term{decideTerm, commitTerm, memoryTerm, callTerm, budgetTerm}
)

func always(n int64) func(evidence.Answer) int64 { return func(evidence.Answer) int64 { return n } }

// asked is what a request command asked for, false when it is not readable.
func (t term) asked(a evidence.Answer) (int64, bool) {
	text := flagValue(a.Args, t.flag)
	if text == "" {
		return t.absent(a), true
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	d, err := time.ParseDuration(text)
	return d.Milliseconds(), err == nil
}

// against names the terms that a run records otherwise than a request asked for them.
func (r run) against(a evidence.Answer) []term {
	return filter(allTerms, func(t term) bool {
		asked, readable := t.asked(a)
		return !readable || t.recorded(r.facts.Intake.Terms) != asked
	})
}

// termsAsAsked asks that the record of each run has these terms from its requests. Where several asked for it under different terms,
// one of them must have asked for all that is recorded: the one that came first.
func termsAsAsked(terms ...string) func(*trial) []string {
	return func(t *trial) []string {
		var violations []string
		for _, r := range t.present() {
			requests := filter(t.answers("request"), func(a evidence.Answer) bool { return a.Run == r.name && asksFor(a, r) })
			if len(requests) == 0 {
				continue
			}
			nearest := slices.MinFunc(requests, func(a, b evidence.Answer) int { return len(r.against(a)) - len(r.against(b)) })
			for _, term := range r.against(nearest) {
				if slices.Contains(terms, term.flag) {
					asked, _ := term.asked(nearest)
					violations = append(violations, fmt.Sprintf("run %s records %s %d, and %s asked for %d", r.name, term.flag, term.recorded(r.facts.Intake.Terms), nearest.Process, asked))
				}
			}
		}
		return violations
	}
}

// asksFor tells whether a request can be the one that a run was made from: under the same id somebody may ask for something else (I9).
func asksFor(a evidence.Answer, r run) bool {
	asked, known := digestOfRequest(a, r.id)
	return known && asked == digestOf(r)
}
