package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"refundlab/refund"
)

// Text that a caller or a model wrote is printed quoted: it cannot move the cursor or forge a line.

// printView shows the three facts apart.
func printView(w io.Writer, v refund.View, now refund.Instant) {
	in, facts := v.Facts.Intake, v.Facts
	line := func(label, format string, args ...any) {
		fmt.Fprintf(w, "%-9s %s\n", label, fmt.Sprintf(format, args...))
	}
	line("refund", "%s on %s", v.OperationID, v.Engine)
	line("asked", "%s of order %s by %s: %q", in.Request.Amount, in.Request.Order, in.Request.Requester, in.Request.Reason)
	line("", "tenant %s, request id %s, at %s, profile %s", in.Request.Tenant, in.Request.RequestID, in.At, in.Terms.Profile)
	line("", "digest %s", in.Digest)
	line("status", "%s", statusText(v))
	fmt.Fprintln(w)
	line("world", "%s", worldText(in.Terms.Profile, v.World))
	line("knows", "operation %s, first sent at %s", facts.State, facts.FirstSentAt)
	if p := facts.Proposal; p == nil {
		line("", "no proposal after %d of %d model calls", facts.ModelCalls, in.Terms.ModelBudget)
	} else {
		line("", "proposal %s on order version %d: %q", p.Recommendation, p.OrderVersion, p.Rationale)
	}
	if d := facts.Decision; d == nil {
		line("", "no accepted decision")
	} else {
		line("", "%s by %s, decision %s", d.Choice, d.Approver, d.DecisionID)
	}
	if facts.Receipt != nil {
		line("", "%s", receiptText(*facts.Receipt))
	}
	if facts.Conflict != "" {
		line("", "conflict: %q", facts.Conflict)
	}
	if facts.Lapsed != "" {
		line("", "authority to send has lapsed: %s", facts.Lapsed)
	}
	if facts.Last != "" {
		line("", "last answer %q", facts.Last)
	}
	if p := facts.PresumedAbsent; p != nil {
		line("", "presumed absent by %s: %q", p.By, p.Reason)
	}
	line("may", "%s", v.May.Next)
	line("", "decide by %s, commit by %s", v.May.DecideBy, v.May.CommitBy)
	line("", "fence %d.%d%s", v.May.Fence.Term, v.May.Fence.Seq, ownerText(v.May, now))
}

// statusText is the status with the reason of a REJECTED run.
func statusText(v refund.View) string {
	if v.Reason == "" {
		return string(v.Status)
	}
	return fmt.Sprintf("%s (%s)", v.Status, v.Reason)
}

// ownerText says who holds the run, where the engine knows.
func ownerText(may refund.May, now refund.Instant) string {
	switch {
	case may.Owner == "":
		return ""
	case now.Before(may.Until):
		return fmt.Sprintf(", held by %s until %s", may.Owner, may.Until)
	}
	return fmt.Sprintf(", held by nobody (last by %s until %s)", may.Owner, may.Until)
}

func worldText(name refund.ProfileName, world *refund.World) string {
	profile, err := refund.ProfileNamed(name)
	switch {
	case err == nil && profile.Shared:
		return "the ledger is in the journal: what is known is what happened"
	case err == nil && profile.Lookup == refund.LookupNone:
		return "not asked: this provider has no look-up"
	case world == nil:
		return "not asked (give --provider)"
	case world.Receipt != nil:
		return receiptText(*world.Receipt)
	case world.Refusal != "":
		return fmt.Sprintf("refused: %s", world.Refusal)
	case world.Observation == refund.ObservedAmbiguous:
		return fmt.Sprintf("not known: %q", world.Detail)
	case world.Observation == refund.ObservedNotFound:
		return "the provider shows nothing now, which proves nothing"
	}
	return fmt.Sprintf("%s: %q", world.Observation, world.Detail)
}

func receiptText(r refund.Receipt) string {
	return fmt.Sprintf("refunded %s at %s, receipt %q", r.Amount, r.At, r.RefundID)
}

func printRuns(w io.Writer, runs []refund.Listed) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "REQUEST\tOPERATION\tSTATUS\tAMOUNT\tORDER\tREQUESTER\tSINCE\tNEXT")
	for _, run := range runs {
		v, request := run.View, run.View.Facts.Intake.Request
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", request.RequestID, v.OperationID, statusText(v), request.Amount, request.Order, request.Requester, run.Since, v.May.Next)
	}
	_ = table.Flush() // fails only as w does
}

// changeText is one line of watch.
func changeText(v refund.View) string {
	return fmt.Sprintf("%s  operation %s  fence %d.%d  next: %s", statusText(v), v.Facts.State, v.May.Fence.Term, v.May.Fence.Seq, v.May.Next)
}

func printFacts(w io.Writer, facts []refund.Fact) {
	const shown = 12 // digits of a hash; enough to compare two lines by eye
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SEQ\tAT\tKIND\tCODE\tREF\tPARTY\tFENCE\tHASH")
	for _, f := range facts {
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%d.%d\t%.*s\n", f.Seq, f.At, f.Kind, f.Code, f.Ref, f.Party, f.Fence.Term, f.Fence.Seq, shown, f.Hash)
	}
	_ = table.Flush()
}
