package soak

import (
	"fmt"
	"strings"

	"refundlab/faults"
)

// Story tells a trial as a numbered sequence that a person can read.
func Story(trial faults.Saved) string {
	var b strings.Builder
	p := trial.Plan
	fmt.Fprintf(&b, "%s on %s under profile %s", trial.Name, trial.Engine, p.Profile)
	if trial.About != "" {
		fmt.Fprintf(&b, " (%s)", trial.About)
	}
	b.WriteString("\n")
	for _, o := range p.World.Orders {
		fmt.Fprintf(&b, "  order %s bears %d minor units of %s\n", o.ID, o.Captured-o.Refunded, o.Currency)
	}
	if p.World.RetentionMS != 0 {
		fmt.Fprintf(&b, "  the provider remembers for %d ms\n", p.World.RetentionMS)
	}
	for i, s := range p.Script {
		fmt.Fprintf(&b, "%3d. %s\n", i+1, sentence(s))
	}
	for i, r := range p.Schedule {
		if i == 0 {
			b.WriteString("meanwhile\n")
		}
		fmt.Fprintf(&b, "  %s: %s", r.Name, hit(r))
		for j, s := range p.Reactions[r.Name] {
			b.WriteString([]string{"; then ", ", "}[min(j, 1)])
			b.WriteString(sentence(s))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func hit(r faults.Rule) string {
	who := r.Process
	if who == "" {
		who = "anybody"
	}
	times := map[int]string{1: "the first time", 2: "the second time", 3: "the third time"}[r.Nth]
	if times == "" {
		times = fmt.Sprintf("the %dth time", r.Nth)
	}
	what := map[faults.Action]string{
		faults.Kill: "it is killed", faults.Freeze: "it is frozen", faults.Hold: "it is held there", faults.Lose: "the answer is lost",
		faults.Duplicate: "the message goes out twice", faults.Refuse: "the message is refused with a 503", faults.Drop: "the message is lost", faults.Abort: "the provider rolls back and answers nobody",
	}[r.Action]
	switch {
	case r.Victim != "" && r.Victim != r.Process && r.Action == faults.Kill:
		what = r.Victim + " is killed"
	case r.Victim != "" && r.Victim != r.Process && r.Action == faults.Freeze:
		what = r.Victim + " is frozen"
	case r.Action == faults.Delay:
		what = fmt.Sprintf("it waits there for %d ms, its message goes on later", r.DelayMS)
	case what == "":
		what = string(r.Action)
	}
	return fmt.Sprintf("when %s stands %s %s %s, %s", who, times, r.Point.When, r.Point.Boundary, what)
}

func sentence(s faults.Step) string {
	switch s.Do {
	case faults.DoStart:
		return "worker " + s.Process + " starts"
	case faults.DoKill:
		return s.Process + " is killed"
	case faults.DoRestart:
		return s.Process + " starts again"
	case faults.DoFired:
		return "until " + s.Rule + " has hit"
	case faults.DoRelease:
		return "what " + s.Rule + " holds is let go on"
	case faults.DoThaw:
		return s.Process + " is let go on"
	case faults.DoLand:
		return "until nothing comes from " + s.Process + " any more"
	case faults.DoLull:
		return "when everything else is at rest"
	case faults.DoRequest:
		return fmt.Sprintf("%s asks for refund %s: %d minor units of order %s%s%s", s.Process, s.Run, s.Amount, s.Order,
			within(", to be decided within %d ms", s.DecideMS), within(", to be committed within %d ms", s.CommitMS))
	case faults.DoApprove, faults.DoReject:
		return fmt.Sprintf("%s %ss %s as %s, by %s", s.By, s.Do, s.Run, s.Decision, s.Process)
	case faults.DoStatus:
		return fmt.Sprintf("%s reads the status of %s", s.Process, s.Run)
	case faults.DoSettle:
		text := fmt.Sprintf("%s settles %s by %s as %s", s.By, s.Run, s.Kind, s.Decision)
		if s.Receipt != "" {
			text += ", with the receipt of " + s.Receipt
		}
		if s.IfAny {
			text += ", if there is one"
		}
		return strings.Join(append([]string{text}, s.Args...), " ")
	case faults.DoCancel:
		return fmt.Sprintf("%s asks to cancel %s", s.Process, s.Run)
	case faults.DoJoin:
		return "until " + s.Process + " has ended"
	case faults.DoAwait:
		return strings.Join(strings.Fields(fmt.Sprintf("until %s %s has come %s %s (%d)", s.Process, s.Run, s.Point.When, s.Point.Boundary, max(s.Nth, 1))), " ")
	case faults.DoPass:
		if s.Kind == "" {
			return fmt.Sprintf("for %d ms nothing is done", s.OffsetMS)
		}
		return strings.TrimSpace(fmt.Sprintf("until the time of %s %s is over", s.Kind, s.Run))
	case faults.DoRest:
		return "until everything is at rest"
	case faults.DoOrderVersion:
		return "the merchant changes order " + s.Order
	case faults.DoCut, faults.DoSilence, faults.DoRestore:
		verb := map[faults.Verb]string{faults.DoCut: "is cut", faults.DoSilence: "falls silent", faults.DoRestore: "carries again"}[s.Do]
		return strings.Join(strings.Fields(fmt.Sprintf("the line of %s to the %s %s", s.Process, s.Kind, verb)), " ")
	case faults.DoModel, faults.DoProvider:
		return fmt.Sprintf("the %s's next answer is %s", s.Do, strings.Join(s.Answers, ", "))
	case faults.DoCatchUp:
		return "the provider's replica catches up"
	}
	return s.String()
}

func within(format string, ms int64) string {
	if ms == 0 {
		return ""
	}
	return fmt.Sprintf(format, ms)
}
