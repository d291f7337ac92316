package comparison

import (
	"encoding/json"
	"strings"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// seenView is a view of a run that a client showed.
type seenView struct {
	refund.View
	process          string
	startSeq, endSeq int64
}

// viewsOf are the views of one operation that clients showed, in the order in which their commands ended.
func (t *trial) viewsOf(id refund.OperationID) []seenView {
	var views []seenView
	for _, answer := range t.Answers {
		for _, view := range viewsIn(answer.Output) {
			if view.OperationID == id && view.Facts.Intake.OperationID == id {
				views = append(views, seenView{view, answer.Process, answer.StartSeq, answer.EndSeq})
			}
		}
	}
	return views
}

// viewsIn reads what status, watch and reconcile print, or what list and export print around it.
func viewsIn(output json.RawMessage) []refund.View {
	var shape struct {
		Runs []json.RawMessage `json:"runs"`
		View *refund.View      `json:"view"`
	}
	if len(output) == 0 || json.Unmarshal(output, &shape) != nil {
		return nil
	}
	if shape.View != nil {
		return []refund.View{*shape.View}
	}
	var views []refund.View
	for _, text := range append(shape.Runs, output) {
		var listed struct {
			View *refund.View `json:"view"`
		}
		var view refund.View
		if json.Unmarshal(text, &listed) == nil && listed.View != nil {
			views = append(views, *listed.View)
		} else if json.Unmarshal(text, &view) == nil && view.OperationID != "" {
			views = append(views, view)
		}
	}
	return views
}

// reply is what request, approve and reject print, and the error of any command.
type reply struct {
	OperationID refund.OperationID `json:"operation_id"`
	RequestID   string             `json:"request_id"`
	Digest      refund.Digest      `json:"digest"`
	Existing    bool               `json:"existing"`
	DecisionID  string             `json:"decision_id"`
	Verdict     refund.VerdictCode `json:"verdict"`
	At          refund.Instant     `json:"at"`
	Error       *struct {
		Code refund.Code `json:"code"`
	} `json:"error"`
}

func replyOf(a evidence.Answer) reply {
	var r reply
	if len(a.Output) > 0 {
		_ = json.Unmarshal(a.Output, &r) // a command that printed something else has no such fields
	}
	return r
}

// codeOf is the code with which a command ended: "" for success, faults.Killed, the code of its error, or the verdict.
func codeOf(a evidence.Answer) string {
	r := replyOf(a)
	switch {
	case a.Exit == -9:
		return faults.Killed
	case r.Error != nil:
		return string(r.Error.Code)
	case a.Exit == 0:
		return ""
	case r.Verdict != "":
		return string(r.Verdict)
	}
	code, _, found := strings.Cut(a.Stderr, ":")
	if i := strings.LastIndex(code, "\n"); found && i >= 0 {
		code = code[i+1:]
	}
	return code
}

// flagValue reads the value of a flag from a command's arguments, "" when it is not there. Of a flag that is given twice the last one
// counts, as for the command.
func flagValue(args []string, name string) (last string) {
	for i, arg := range args {
		if value, found := strings.CutPrefix(arg, "--"+name+"="); found {
			last = value
		}
		if arg == "--"+name && i+1 < len(args) {
			last = args[i+1]
		}
	}
	return last
}

func (t *trial) answers(verbs ...string) []evidence.Answer {
	return filter(t.Answers, func(a evidence.Answer) bool {
		for _, verb := range verbs {
			if a.Verb == verb {
				return true
			}
		}
		return false
	})
}

// present are the runs that have an export.
func (t *trial) present() []run {
	return filter(t.runs, func(r run) bool { return !r.absent })
}
