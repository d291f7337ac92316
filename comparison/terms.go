package comparison

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// What a run is about, who asked for it and its limits stand in the engine's own record, and I1 to I5 and I12 are judged by them. So
// they must be those that somebody asked for: an engine that records a larger amount pays what it recorded, one that records another
// requester may let the real one approve, and one that records longer limits is in time whenever it is late.

// term is one thing that a request asks for: what its command says, or what it is where the command does not say it, and what the
// record says, in one spelling. What cannot be read is no record's.
type term struct {
	flag     string
	asked    func(evidence.Answer) string
	recorded func(refund.Intake) string
}

var (
	decideTerm = limit("decide-within", always(refund.DefaultDecide.Milliseconds()), func(t refund.Terms) int64 { return t.DecideWithin })
	allTerms   = []term{
		identity("tenant", func(q refund.Request) string { return q.Tenant }),
		identity("order", func(q refund.Request) string { return q.Order }),
		{"amount", amountAsked, func(in refund.Intake) string { return in.Request.Amount.String() }},
		{"reason", func(a evidence.Answer) string { return strings.TrimSpace(flagValue(a.Args, "reason")) }, func(in refund.Intake) string { return in.Request.Reason }},
		identity("requester", func(q refund.Request) string { return q.Requester }),
		decideTerm,
		limit("commit-within", decideTerm.asked, func(t refund.Terms) int64 { return t.CommitWithin }),
		limit("retention", always(refund.DefaultRetention.Milliseconds()), func(t refund.Terms) int64 { return t.Retention }),
		limit("call-timeout", always(refund.DefaultCallTimeout.Milliseconds()), func(t refund.Terms) int64 { return t.CallTimeout }),
		limit("model-budget", always(refund.DefaultModelBudget), func(t refund.Terms) int64 { return int64(t.ModelBudget) }),
	}
)

// identity is a term that is a name, which the command brings into its one spelling.
func identity(flag string, recorded func(refund.Request) string) term {
	return term{flag, func(a evidence.Answer) string { return identityIn(a, flag) }, func(in refund.Intake) string { return recorded(in.Request) }}
}

func identityIn(a evidence.Answer, flag string) string {
	return strings.ToLower(strings.TrimSpace(flagValue(a.Args, flag)))
}

func amountAsked(a evidence.Answer) string {
	amount, err := refund.ParseMoney(flagValue(a.Args, "amount"), flagValue(a.Args, "currency"))
	if err != nil {
		return "nothing that can be read"
	}
	return amount.String()
}

// limit is a term that is a number: a time in milliseconds, or a count.
func limit(flag string, absent func(evidence.Answer) string, recorded func(refund.Terms) int64) term {
	asked := func(a evidence.Answer) string {
		text := flagValue(a.Args, flag)
		if text == "" {
			return absent(a)
		}
		if d, err := time.ParseDuration(text); err == nil {
			return strconv.FormatInt(d.Milliseconds(), 10)
		}
		return text
	}
	return term{flag, asked, func(in refund.Intake) string { return strconv.FormatInt(recorded(in.Terms), 10) }}
}

func always(n int64) func(evidence.Answer) string {
	return func(evidence.Answer) string { return strconv.FormatInt(n, 10) }
}

// against names the terms that a run records otherwise than a request asked for them.
func (r run) against(a evidence.Answer) []term {
	return filter(allTerms, func(t term) bool { return t.recorded(r.facts.Intake) != t.asked(a) })
}

// termsAsAsked asks that the record of each run has these terms from the request that made it. Where several can have made it,
// one of them must have asked for all that is recorded.
func termsAsAsked(terms ...string) func(*trial) []string {
	return func(t *trial) []string {
		var violations []string
		for _, r := range t.present() {
			makers := t.makers(r)
			if len(makers) == 0 {
				continue // who asked for it is not in the evidence
			}
			nearest := slices.MinFunc(makers, func(a, b evidence.Answer) int { return cmp.Compare(len(r.against(a)), len(r.against(b))) })
			for _, term := range r.against(nearest) {
				if slices.Contains(terms, term.flag) {
					violations = append(violations, fmt.Sprintf("run %s records %s %s, and %s asked for %s", r.name, term.flag, term.recorded(r.facts.Intake), nearest.Process, term.asked(nearest)))
				}
			}
		}
		return violations
	}
}

// makers are the requests of which each can be the one that a run was made from. One that was told so is, and the others found what
// it had made. Where nobody was told, it is one that came first, and neither one that was told of a conflict (I9) nor one that
// began when the run was there. Where that leaves none, HISTORY finds it, and any is compared.
func (t *trial) makers(r run) []evidence.Answer {
	asked := filter(t.answers("request"), func(a evidence.Answer) bool { return a.Run == r.name })
	made := filter(asked, func(a evidence.Answer) bool { return taken(a, r) && !replyOf(a).Existing })
	there := t.thereFrom(r)
	first := filter(asked, func(a evidence.Answer) bool { return codeOf(a) != string(refund.CodeKeyConflict) && a.StartSeq < there })
	for _, makers := range [][]evidence.Answer{made, first} {
		if len(makers) > 0 {
			return makers
		}
	}
	return asked
}

// taken tells whether a request was given the run.
func taken(a evidence.Answer, r run) bool {
	said := replyOf(a)
	return said.OperationID == r.id && said.Error == nil
}

// thereFrom is the earliest moment at which a run is known to have been stored.
func (t *trial) thereFrom(r run) int64 {
	there := int64(math.MaxInt64)
	for _, a := range t.answers("request") {
		if a.Run == r.name && (taken(a, r) || codeOf(a) == string(refund.CodeKeyConflict)) {
			there = min(there, a.EndSeq)
		}
	}
	for _, view := range t.viewsOf(r.id) {
		there = min(there, view.endSeq)
	}
	for _, c := range t.crossings(faults.Intake, faults.After, r.id) {
		if !refused(c) {
			there = min(there, c.Seq)
		}
	}
	return there
}
