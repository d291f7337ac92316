package activities

import (
	"context"
	"encoding/json"

	"go.temporal.io/sdk/activity"

	"refundlab/provider"
	"refundlab/refund"
)

// SubmitRequest is one round of sending.
type SubmitRequest struct {
	Intake   refund.Intake   `json:"intake"`
	Decision refund.Decision `json:"decision"`
	Round    int64           `json:"round"`
	// Sent tells whether an earlier round may have sent something; the attempts of this round are counted by Temporal.
	Sent bool `json:"sent"`
	// RunID is the run that scheduled the round. A reset hands an open round on to a new run, with attempts counted anew.
	RunID string `json:"run_id,omitempty"`
	// FirstSentAt is when the first round was scheduled: from then on something may have left.
	FirstSentAt refund.Instant `json:"first_sent_at"`
}

// SubmitResult is what the round showed.
type SubmitResult struct {
	Answer provider.Answer `json:"answer"`
	// Sent tells whether something may have left under this operation, in this or an earlier attempt.
	Sent bool `json:"sent"`
}

// Submit reads the order, checks rules and authority, and sends the operation, in every attempt. Where the provider
// recognises a repeated operation, an ambiguous answer is an error: Temporal sends the same operation again. Elsewhere it is
// a result, because a second send could be a second refund (I1); there the workflow allows one attempt only.
func (a *Activities) Submit(ctx context.Context, request SubmitRequest) (SubmitResult, error) {
	info, now := activity.GetInfo(ctx), a.clock(ctx)
	in, attempt := request.Intake, int64(info.Attempt)
	profile, err := refund.ProfileNamed(in.Terms.Profile)
	if err != nil {
		return SubmitResult{}, failure(err, 0)
	}
	handedOn := attempt > 1 || request.RunID != "" && request.RunID != info.WorkflowExecution.RunID
	sent := request.Sent || handedOn
	// I1: a limit of one attempt does not bind the server where an operator pauses the activity, gives it another limit or resets the run.
	if handedOn && !profile.Idempotent {
		return SubmitResult{Answer: provider.Answer{
			Observation: refund.ObservedAmbiguous,
			Detail:      "this round was begun before: sending it again could be a second refund",
		}, Sent: true}, nil
	}
	if err := a.awaited(ctx); err != nil {
		return SubmitResult{}, err
	}
	// I1: taken before the look at the provider's memory, and as long as that reckons with, so that a worker that stands still between
	// them sends nothing later than reckoned: reading the order and sending have one time-out each.
	ctx, cancel := context.WithTimeout(ctx, 2*callTimeout(in.Terms))
	defer cancel()
	// A first attempt that begins long after its intent need not be the first to send: it stood still, or a reset of the activity
	// counts anew. Within one time-out of the intent nothing tells such a reset; what is sent then is still early for any memory that
	// is longer than three time-outs.
	again := sent || now() >= request.FirstSentAt+refund.Instant(in.Terms.CallTimeout)
	if again && profile.Expires && !refund.Retained(in.Terms, request.FirstSentAt, now()+refund.Instant(in.Terms.CallTimeout)) {
		return SubmitResult{Answer: provider.Answer{
			Observation: refund.ObservedUnsent,
			Detail:      "the provider may have forgotten the operation: sending it again could be a second refund",
		}, Sent: true}, nil // also of a first attempt: "never sent" would start the count of that memory anew (I1)
	}
	// What passes that look all the same meets the fence of a later round or attempt (I6).
	fence := refund.Fence{Term: request.Round, Seq: attempt}
	answer := provider.CheckAndSubmit(ctx, a.bounded(in), in, request.Decision, fence, now)
	if !sent && answer.Refusal != "" && answer.Observation == refund.ObservedUnsent && profile.Lookup == refund.LookupStrong {
		// The first attempt need not be the first: a reset of the activity counts anew. The check may have failed by our own success,
		// so "nothing was ever sent" is said only when the provider says so too (I3).
		switch known := a.bounded(in).LookUp(ctx, in, &fence); known.Observation {
		case refund.ObservedNotFound:
		case refund.ObservedAmbiguous:
			answer = provider.Answer{Observation: refund.ObservedUnsent, Detail: known.Detail}
		default:
			answer = known
		}
	}
	if answer.Observation == refund.ObservedAmbiguous && profile.Idempotent {
		return SubmitResult{}, unanswered(answer, asked(ctx, in.Terms, answer.Later()))
	}
	// Where the activity may be reset, a late first attempt may follow one whose request is still on its way, and "not found" does not
	// call that back: what is not sent now is no refund that was never sent (I3).
	return SubmitResult{Answer: answer, Sent: sent || again && profile.Idempotent || answer.Observation != refund.ObservedUnsent}, nil
}

// AskRequest is one round of looking up or closing.
type AskRequest struct {
	Intake refund.Intake `json:"intake"`
	Round  int64         `json:"round"`
}

// AskResult is an answer that decides something: of a close, the stored result or the refusal that the tombstone is.
type AskResult struct {
	Answer provider.Answer `json:"answer"`
}

// LookUp asks for the operation's result as its owner. "Not found" and no answer decide nothing and are errors: Temporal
// asks again with growing pauses, which costs no history however long it takes.
func (a *Activities) LookUp(ctx context.Context, request AskRequest) (AskResult, error) {
	if ctx.Err() != nil {
		return AskResult{}, ctx.Err()
	}
	fence := fenceOf(ctx, request.Round)
	answer := a.bounded(request.Intake).LookUp(ctx, request.Intake, &fence)
	if answer.Observation == refund.ObservedNotFound || answer.Observation == refund.ObservedAmbiguous {
		return AskResult{}, unanswered(answer, asked(ctx, request.Intake.Terms, answer.Later()))
	}
	return AskResult{Answer: answer}, nil
}

// Close is get-or-tombstone at the provider. It may be repeated, so no answer is an error.
func (a *Activities) Close(ctx context.Context, request AskRequest) (AskResult, error) {
	if ctx.Err() != nil {
		return AskResult{}, ctx.Err()
	}
	answer := a.bounded(request.Intake).Close(ctx, request.Intake, fenceOf(ctx, request.Round))
	if answer.Observation == refund.ObservedAmbiguous {
		return AskResult{}, unanswered(answer, asked(ctx, request.Intake.Terms, answer.Later()))
	}
	return AskResult{Answer: answer}, nil
}

func fenceOf(ctx context.Context, round int64) refund.Fence {
	return refund.Fence{Term: round, Seq: int64(activity.GetInfo(ctx).Attempt)}
}

// Decides tells whether the JSON of a result of Submit, LookUp or Close carries a receipt or a refusal.
func Decides(result []byte) bool {
	var asked struct {
		Answer provider.Answer `json:"answer"`
	}
	if json.Unmarshal(result, &asked) != nil {
		return false
	}
	return asked.Answer.Observation == refund.ObservedReceipt || asked.Answer.Observation == refund.ObservedRefusal
}
