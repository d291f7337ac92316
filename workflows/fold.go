package workflows

import (
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"refundlab/activities"
	"refundlab/refund"
)

// fold reads a run's history into the facts that it records, with or without a worker alive: a query would need one.
type fold struct {
	*account
	converter converter.DataConverter

	call        string // of the client that started the run; see memoCall
	settlements []settlementRecord
	facts       []refund.Fact
	since       refund.Instant // nothing but the engine could move the run since then
	fence       refund.Fence   // of the last provider activity
	closed      bool
	stopped     string // why Temporal ended the run from outside; empty otherwise

	scheduled map[int64]scheduled // by event id
	started   map[int64]started   // by the scheduling event's id
	task      string              // identity of the worker whose workflow task completed last
}

type scheduled struct {
	name  string
	round int64
}

type started struct {
	attempt  int64
	identity string
}

func newFold(c converter.DataConverter) *fold {
	return &fold{converter: c, scheduled: map[int64]scheduled{}, started: map[int64]started{}}
}

// apply reads one event; they come in the order of the history.
//
// Errors: INTERNAL for a history that is not one of this workflow's.
func (f *fold) apply(event *historypb.HistoryEvent) error {
	at := refund.At(event.GetEventTime().AsTime())
	if f.account == nil {
		return f.begin(event, at)
	}
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
		f.task = event.GetWorkflowTaskCompletedEventAttributes().GetIdentity()
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
		return f.signaled(event, at)
	case enumspb.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED:
		return f.recorded(event, at)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		return f.activityScheduled(event, at)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		f.activityStarted(event, at)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		a := event.GetActivityTaskCompletedEventAttributes()
		return f.activityCompleted(event, at, a.GetScheduledEventId(), a.GetResult())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		a := event.GetActivityTaskFailedEventAttributes()
		f.activityUnanswered(event, at, a.GetScheduledEventId(), a.GetFailure().GetMessage())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		a := event.GetActivityTaskTimedOutEventAttributes()
		f.activityUnanswered(event, at, a.GetScheduledEventId(), a.GetFailure().GetMessage())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		f.activityUnanswered(event, at, event.GetActivityTaskCanceledEventAttributes().GetScheduledEventId(), "cancelled")
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
		f.close(event, at, "")
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
		f.close(event, at, "failed")
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
		f.close(event, at, "was terminated by an operator")
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
		f.close(event, at, "was timed out by Temporal")
	}
	return nil
}

func (f *fold) begin(event *historypb.HistoryEvent, at refund.Instant) error {
	a := event.GetWorkflowExecutionStartedEventAttributes()
	var in refund.Intake
	if a.GetWorkflowType().GetName() != WorkflowName || f.converter.FromPayloads(a.GetInput(), &in) != nil {
		return refund.Errorf(refund.CodeInternal, "history does not begin with the intake of a refund but with %q", a.GetWorkflowType().GetName())
	}
	in.At = at // as the workflow does: the server's clock when it stored the request
	account, err := newAccount(in)
	if err != nil {
		return err
	}
	f.account, f.since = account, at
	if payload, ok := a.GetMemo().GetFields()[memoCall]; ok {
		if err := f.converter.FromPayload(payload, &f.call); err != nil {
			return refund.Wrap(refund.CodeInternal, err, "memo %s cannot be read", memoCall)
		}
	}
	f.fact(event, at, refund.Fact{Kind: refund.FactIntake, Hash: refund.ContentHash("intake", string(in.Digest), refund.Decimal(int64(at))), Party: a.GetIdentity()})
	return nil
}

func (f *fold) signaled(event *historypb.HistoryEvent, at refund.Instant) error {
	a := event.GetWorkflowExecutionSignaledEventAttributes()
	if a.GetSignalName() != DecisionSignal {
		return nil
	}
	var raw converter.RawValue
	if err := f.converter.FromPayloads(a.GetInput(), &raw); err != nil {
		return refund.Wrap(refund.CodeInternal, err, "signal %s cannot be decoded", DecisionSignal)
	}
	decision, hash, _ := readDecision(raw)
	f.fact(event, at, refund.Fact{Kind: refund.FactDecision, Hash: hash, Party: a.GetIdentity(), Ref: decision.DecisionID})
	return nil
}

// recorded reads the records that the workflow wrote itself.
func (f *fold) recorded(event *historypb.HistoryEvent, at refund.Instant) error {
	for field, payload := range event.GetWorkflowPropertiesModifiedEventAttributes().GetUpsertedMemo().GetFields() {
		if err := f.record(event, at, field, payload); err != nil {
			return err
		}
	}
	return nil
}

func (f *fold) record(event *historypb.HistoryEvent, at refund.Instant, field string, payload *commonpb.Payload) error {
	var err error
	switch field {
	case memoVerdict:
		var v verdictRecord
		if err = f.converter.FromPayload(payload, &v); err != nil {
			break
		}
		f.recordVerdict(v.RecordedVerdict, v.Accepted)
		if v.Accepted != nil {
			f.since = at
		}
		f.fact(event, at, refund.Fact{Kind: refund.FactVerdict, Hash: v.Hash, Party: f.task, Ref: v.DecisionID, Code: string(v.Code)})
	case memoSettlement:
		var s settlementRecord
		if err = f.converter.FromPayload(payload, &s); err != nil {
			break
		}
		f.settlements = append(f.settlements, s)
		if s.Refused == "" {
			f.recordSettlement(s.Settlement)
		}
		f.fact(event, at, refund.Fact{Kind: refund.FactSettlement, Hash: s.Hash, Party: f.task, Ref: s.Settlement.SettlementID, Code: string(s.Refused)})
	case memoReset:
		f.recordReset()
	case memoEnding:
		var e ending
		if err = f.converter.FromPayload(payload, &e); err != nil {
			break
		}
		f.recordEnding(e)
		fact := refund.Fact{Kind: refund.FactOutcome, Party: f.task, Code: string(e.Rejected)}
		if e.Expired {
			fact.Kind, fact.Code = refund.FactExpiry, string(refund.StatusExpired)
		}
		fact.Hash = refund.ContentHash("ending", fact.Code)
		f.fact(event, at, fact)
	}
	if err != nil {
		return refund.Wrap(refund.CodeInternal, err, "memo %s cannot be read", field)
	}
	return nil
}

// actions names what each provider activity does.
var actions = map[string]refund.Action{
	activities.Submit: refund.ActSend,
	activities.LookUp: refund.ActLookUp,
	activities.Close:  refund.ActClose,
}

func (f *fold) activityScheduled(event *historypb.HistoryEvent, at refund.Instant) error {
	a := event.GetActivityTaskScheduledEventAttributes()
	name := a.GetActivityType().GetName()
	action, asks := actions[name]
	if !asks {
		f.scheduled[event.GetEventId()] = scheduled{name: name}
		return nil
	}
	var request activities.SubmitRequest // a look-up's and a close's request is a part of it
	if err := f.converter.FromPayloads(a.GetInput(), &request); err != nil {
		return refund.Wrap(refund.CodeInternal, err, "input of activity %s cannot be read", name)
	}
	f.scheduled[event.GetEventId()] = scheduled{name: name, round: request.Round}
	f.intent(action, request.Round, request.FirstSentAt)
	f.fence = refund.Fence{Term: request.Round}
	f.fact(event, at, refund.Fact{
		Kind: refund.FactIntent, Hash: refund.ContentHash("intent", string(action), refund.Decimal(request.Round)),
		Party: f.task, Ref: string(action), Fence: f.fence,
	})
	return nil
}

// activityStarted sees the last attempt alone: Temporal writes the event when the activity is over.
func (f *fold) activityStarted(event *historypb.HistoryEvent, at refund.Instant) {
	a := event.GetActivityTaskStartedEventAttributes()
	activity, attempt := f.scheduled[a.GetScheduledEventId()], int64(a.GetAttempt())
	f.started[a.GetScheduledEventId()] = started{attempt: attempt, identity: a.GetIdentity()}
	switch {
	case activity.name == activities.Propose:
		attempt = min(attempt, int64(f.Intake.Terms.ModelBudget)) // one beyond it asks nothing
		f.ModelCalls = int(attempt)
		f.fact(event, at, refund.Fact{
			Kind: refund.FactModelCall, Hash: refund.ContentHash("model call", refund.Decimal(attempt)),
			Party: a.GetIdentity(), Ref: refund.Decimal(attempt),
		})
	case activity.round > 0:
		f.fence = refund.Fence{Term: activity.round, Seq: attempt}
	}
}

func (f *fold) activityCompleted(event *historypb.HistoryEvent, at refund.Instant, id int64, result *commonpb.Payloads) error {
	activity, by := f.scheduled[id], f.started[id].identity
	switch {
	case activity.name == activities.Propose && f.over():
		// It came after the end, and the run took no notice of it.
	case activity.name == activities.Propose:
		var r activities.ProposeResult
		if err := f.converter.FromPayloads(result, &r); err != nil {
			return refund.Wrap(refund.CodeInternal, err, "result of activity %s cannot be read", activity.name)
		}
		f.Proposal = &r.Proposal
		f.fact(event, at, refund.Fact{
			Kind: refund.FactProposal, Party: by, Ref: r.Proposal.AnswerID,
			Hash: refund.ContentHash("proposal", r.Proposal.Recommendation, r.Proposal.Rationale, refund.Decimal(r.Proposal.OrderVersion), r.Proposal.AnswerID),
		})
	case activity.name == activities.Notify:
		f.fact(event, at, refund.Fact{Kind: refund.FactNotice, Hash: refund.ContentHash("notice", refund.Decimal(refund.NoticeRevision)), Party: by})
	case activity.round > 0:
		var r activities.SubmitResult
		if err := f.converter.FromPayloads(result, &r); err != nil {
			return refund.Wrap(refund.CodeInternal, err, "result of activity %s cannot be read", activity.name)
		}
		f.observe(r.Answer, r.Sent || activity.name != activities.Submit)
		fact := refund.Fact{Kind: refund.FactObservation, Party: by, Code: string(r.Answer.Observation), Fence: f.fence}
		if r.Answer.Observation == refund.ObservedReceipt || r.Answer.Observation == refund.ObservedRefusal {
			fact.Kind, fact.Code = refund.FactOutcome, string(f.State)
		}
		if r.Answer.Receipt != nil {
			fact.Ref = r.Answer.Receipt.RefundID
		}
		fact.Hash = refund.ContentHash("answer", string(r.Answer.Observation), string(r.Answer.Refusal), fact.Ref)
		f.fact(event, at, fact)
	}
	return nil
}

func (f *fold) activityUnanswered(event *historypb.HistoryEvent, at refund.Instant, id int64, detail string) {
	if f.scheduled[id].round == 0 {
		return
	}
	f.unanswered(detail)
	f.fact(event, at, refund.Fact{
		Kind: refund.FactObservation, Hash: refund.ContentHash("answer", string(refund.ObservedAmbiguous), detail),
		Party: f.started[id].identity, Code: string(refund.ObservedAmbiguous), Fence: f.fence,
	})
}

func (f *fold) close(event *historypb.HistoryEvent, at refund.Instant, stopped string) {
	f.closed, f.stopped = true, stopped
	status := refund.StatusOf(f.Facts, f.profile, at)
	f.fact(event, at, refund.Fact{Kind: refund.FactClosed, Hash: refund.ContentHash("closed", string(status), stopped), Party: f.task, Code: string(status)})
}

func (f *fold) fact(event *historypb.HistoryEvent, at refund.Instant, fact refund.Fact) {
	fact.Seq, fact.At = event.GetEventId(), at
	f.facts = append(f.facts, fact)
}

// view is what a client shows of the run.
func (f *fold) view(now refund.Instant) (refund.View, error) {
	view, err := refund.NewView(engineName, f.Facts, f.fence, now)
	switch {
	case f.stopped == "":
	case view.Status.Terminal():
		view.May.Next += "; the run " + f.stopped + " before its notice was acknowledged"
	default:
		view.May.Next = "nothing: the run " + f.stopped + ", and this is what it had recorded"
	}
	return view, err
}

// settlement returns what is recorded for a settlement id.
func (f *fold) settlement(id string) (settlementRecord, bool) {
	for _, s := range f.settlements {
		if s.Settlement.SettlementID == id {
			return s, true
		}
	}
	return settlementRecord{}, false
}
