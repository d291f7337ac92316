package comparison

import (
	"maps"

	"refundlab/refund"
)

// register is one operation as a sequence of calls sees it. What the engine does by itself, the proposal, the sends, the end,
// happens between calls at instants that nobody names: the register holds what must have happened by now, and an answer that
// needs more moves it on. It never moves back: that an intent was recorded says no more than that somebody has approved.
type register struct {
	content  string // what the request id stands for; "" where nothing is stored
	progress int
	decided  string // the decision that won
	rejected bool   // it was a rejection
	overdue  bool   // somebody was told that the deadline is over, so nothing can be accepted any more
	over     refund.RunStatus
	reason   refund.Code
	receipt  string // refund id of the receipt that a CONFIRMED run shows
	conflict bool   // the run is in a conflict, which nothing ends
	closing  bool   // a person has settled by close
	absent   string // settlement that presumed the refund absent last
	verdicts map[string]ruling
	settled  map[string]settling
}

// ruling is what a decision id stands for, and its one verdict.
type ruling struct {
	content string
	verdict refund.VerdictCode
}

// settling is what a settlement id stands for, and whether it was taken or refused.
type settling struct {
	content string
	taken   bool
}

// How far a run has come at least.
const (
	pending = iota
	proposed
	approved
	unknown
	ended
)

var progressOf = map[refund.RunStatus]int{
	refund.StatusPending: pending, refund.StatusApprovalRequired: proposed, refund.StatusRetryable: approved, refund.StatusUnknown: unknown,
	refund.StatusConfirmed: ended, refund.StatusRejected: ended, refund.StatusExpired: ended,
}

// step returns every register that a call may leave behind with this answer, none where it cannot be answered so.
func (r register) step(in question, out answer) []register {
	if in.verb == "request" {
		return r.request(in, out)
	}
	if r.content == "" { // the operation is named by its request: nobody can know it before
		if out.none || out.code == string(refund.CodeNotFound) {
			return []register{r}
		}
		return nil
	}
	if out.code == string(refund.CodeNotFound) {
		return nil
	}
	switch in.verb {
	case "decide":
		return r.decide(in, out)
	case "settle":
		return r.settle(in, out)
	}
	return r.read(out)
}

func (r register) request(in question, out answer) []register {
	stored := r
	stored.content = in.content
	switch {
	case out.none && r.content == "":
		return []register{r, stored}
	case out.none:
		return []register{r}
	case out.code != "": // KEY_CONFLICT
		return only(r, r.content != "" && r.content != in.content)
	case r.content == "":
		return []register{stored} // the network may have brought the request twice, so that it finds itself
	}
	return only(r, r.content == in.content && out.existing)
}

func (r register) decide(in question, out answer) []register {
	known, repeated := r.verdicts[in.id]
	if out.none {
		next := []register{r}
		if repeated {
			return next
		}
		for _, code := range verdictCodes {
			next = append(next, r.judge(in, told{verdict: code, recorded: true})...)
		}
		return next
	}
	switch {
	case out.code != "": // DECISION_CONFLICT
		return only(r, repeated && known.content != in.content)
	case repeated:
		return only(r, known.content == in.content && known.verdict == out.verdict)
	}
	return r.judge(in, out.told)
}

// verdictEffects tells for each verdict whether the run can give it to a new decision id, and what it then has come to.
var verdictEffects = map[refund.VerdictCode]func(r *register, in question) bool{
	refund.VerdictAccepted: func(r *register, in question) bool {
		if !r.undecided() || r.overdue || in.approves && in.self {
			return false
		}
		r.decided = in.id
		r.progress = max(r.progress, approved)
		if r.rejected = !in.approves; r.rejected {
			r.over, r.progress = refund.StatusRejected, ended
		}
		return true
	},
	refund.VerdictAlreadyDecided: func(r *register, _ question) bool { return r.decided != "" },
	refund.VerdictExpired: func(r *register, _ question) bool {
		r.overdue = true
		return r.decided == "" && (r.over == "" || r.over == refund.StatusExpired)
	},
	refund.VerdictRunClosed: func(r *register, _ question) bool {
		if r.decided != "" || r.over != "" && r.over != refund.StatusRejected || r.overdue {
			return false
		}
		r.over, r.progress = refund.StatusRejected, ended
		return true
	},
	refund.VerdictNotReady: func(r *register, _ question) bool { return r.undecided() && r.progress == pending && !r.overdue },
	refund.VerdictSelfApproval: func(r *register, in question) bool {
		r.progress = max(r.progress, proposed)
		return r.undecided() && !r.overdue && in.approves && in.self
	},
	refund.VerdictDigestMismatch: mismatch,
	refund.VerdictOrderMismatch:  mismatch,
}

var verdictCodes = sortedKeys(verdictEffects)

func mismatch(r *register, _ question) bool {
	r.progress = max(r.progress, proposed)
	return r.undecided() && !r.overdue
}

func (r register) undecided() bool { return r.decided == "" && r.over == "" }

func (r register) judge(in question, out told) []register {
	effect, known := verdictEffects[out.verdict]
	next := r
	if !known || !effect(&next, in) {
		return nil
	}
	if out.recorded {
		next.verdicts = maps.Clone(r.verdicts)
		if next.verdicts == nil {
			next.verdicts = map[string]ruling{}
		}
		next.verdicts[in.id] = ruling{in.content, out.verdict}
	}
	return []register{next}
}

// settle answers a person who settles. A refusal is permitted at any time, because whether somebody owns the run at this instant, or
// could still learn more, is the engine's own business. Whether its id then stands for what was refused, as on Temporal, or may
// be used again, as on the journal, is too. What was taken is never told as refused.
func (r register) settle(in question, out answer) []register {
	known, repeated := r.settled[in.id]
	same := known.content == in.content
	switch {
	case repeated && out.none:
		return []register{r}
	case out.none:
		return append(r.take(in), r, r.binds(in, false))
	case out.code == string(refund.CodeSettlementRefused) && !repeated:
		return []register{r, r.binds(in, false)}
	case out.code == string(refund.CodeSettlementRefused):
		return only(r, same && !known.taken)
	case out.code != "": // DECISION_CONFLICT
		return only(r, repeated && !same)
	case repeated:
		return only(r, same && known.taken)
	}
	return r.take(in)
}

func (r register) binds(in question, taken bool) register {
	r.settled = maps.Clone(r.settled)
	if r.settled == nil {
		r.settled = map[string]settling{}
	}
	r.settled[in.id] = settling{in.content, taken}
	return r
}

// take is what a settlement leaves that was taken, nothing where it must not be: only what was approved and is not over is settled.
// A receipt that proves this very refund confirms it. A close needs a provider that closes, and the run is never sent again. Absence
// is presumed where nobody can close, of a run that is UNKNOWN and stays so. A conflict can only be annotated.
func (r register) take(in question) []register {
	if r.decided == "" || r.rejected || r.over != "" {
		return nil
	}
	next := r.binds(in, true)
	switch {
	case in.kind == refund.SettlePresumedAbsent:
		next.absent = in.id
		next.conflict = r.conflict || in.closes // where there is a close it proves absence, and nothing but a conflict keeps a person from it
	case r.conflict:
		return nil
	case in.kind == refund.SettleReceipt && in.proves:
		next.over, next.receipt, next.progress = refund.StatusConfirmed, in.receipt, ended
	case in.kind == refund.SettleClose && in.closes:
		next.closing, next.progress = true, max(r.progress, unknown)
	default:
		return nil
	}
	return []register{next}
}

func (r register) read(out answer) []register {
	if out.none {
		return []register{r}
	}
	progress := progressOf[out.status]
	if out.intended {
		progress = max(approved, min(r.progress, unknown))
	}
	next := r
	next.progress = progress
	switch {
	case progress < r.progress, out.decision != r.decided, out.closing != r.closing, out.absent != r.absent:
		return nil
	case r.conflict && !out.conflict, out.conflict && out.status != refund.StatusUnknown:
		return nil
	case r.absent != "" && r.over == "" && out.status != refund.StatusUnknown:
		return nil // nobody sends it again or asks about it: only a receipt can tell
	case r.receipt != "" && out.receipt != r.receipt:
		return nil
	case r.over != "" && (out.status != r.over || r.reason != "" && out.reason != r.reason):
		return nil
	case r.overdue && out.status != refund.StatusApprovalRequired && out.status != refund.StatusExpired:
		return nil
	case (progress == approved || progress == unknown || out.status == refund.StatusConfirmed) && (r.decided == "" || r.rejected):
		return nil // only an approval leads there
	case out.status == refund.StatusExpired && r.decided != "":
		return nil
	}
	next.conflict = out.conflict
	if out.status.Terminal() {
		next.over, next.reason, next.receipt = out.status, out.reason, out.receipt
	}
	return []register{next}
}

func only(r register, holds bool) []register {
	if holds {
		return []register{r}
	}
	return nil
}
