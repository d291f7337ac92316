package activities_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"refundlab/activities"
	"refundlab/provider"
	"refundlab/refund"
)

// ports answer as they are told and count what they were asked.
type ports struct {
	order    refund.Order
	orderErr error
	answer   provider.Answer
	proposal refund.Proposal
	err      error // of the model and the receiver of notices

	submits []provider.Submission
	fences  []refund.Fence // of look-ups and closes
	calls   int            // of the model and the receiver
	bounds  []time.Duration
	behind  time.Duration         // how far the clock is behind now
	over    bool                  // the server waits for another attempt
	asking  func(context.Context) // while the server is asked that
	silent  bool                  // and it says nothing within the time that it is given
	reading func()                // while the order is read
}

func (p *ports) bound(ctx context.Context) {
	deadline, ok := ctx.Deadline()
	if ok {
		p.bounds = append(p.bounds, time.Until(deadline))
	}
}

func (p *ports) Order(ctx context.Context, _, _ string) (refund.Order, error) {
	p.bound(ctx)
	if p.reading != nil {
		p.reading()
	}
	return p.order, p.orderErr
}

func (p *ports) Submit(ctx context.Context, _ refund.Intake, s provider.Submission) provider.Answer {
	p.bound(ctx)
	p.submits = append(p.submits, s)
	return p.answer
}

func (p *ports) LookUp(ctx context.Context, _ refund.Intake, fence *refund.Fence) provider.Answer {
	p.bound(ctx)
	p.fences = append(p.fences, *fence)
	return p.answer
}

func (p *ports) Close(ctx context.Context, _ refund.Intake, fence refund.Fence) provider.Answer {
	p.bound(ctx)
	p.fences = append(p.fences, fence)
	return p.answer
}

func (p *ports) Propose(ctx context.Context, _ refund.Intake, _ refund.Order) (refund.Proposal, error) {
	p.bound(ctx)
	p.calls++
	return p.proposal, p.err
}

func (p *ports) Send(ctx context.Context, _ refund.Notice) error {
	p.bound(ctx)
	p.calls++
	return p.err
}

// now is the clock of these tests. It is ahead of the host's, with which the environment stamps attempts: of the two the later one
// counts.
var now = refund.At(time.Now().Add(time.Hour))

func newPorts() *ports {
	return &ports{order: refund.Order{ID: "o1", Currency: "EUR", Captured: 10000, Version: 7}}
}

func (p *ports) environment(t *testing.T, options worker.Options) *testsuite.TestActivityEnvironment {
	t.Helper()
	suite := testsuite.WorkflowTestSuite{}
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	options.DisableRegistrationAliasing = true
	env.SetWorkerOptions(options)
	a := &activities.Activities{Refunds: p, Model: p, Notices: p, Now: func() refund.Instant { return now.Add(-p.behind) },
		Awaited: func(ctx context.Context) (bool, error) {
			if p.asking != nil {
				p.asking(ctx)
			}
			if p.silent {
				select {
				case <-ctx.Done():
					return false, ctx.Err()
				case <-time.After(2 * time.Second): // nobody stopped asking
				}
			}
			return !p.over, nil
		}}
	a.Register(env)
	return env
}

func execute[R any](t *testing.T, p *ports, name string, request any) (result R, err error) {
	t.Helper()
	value, err := p.environment(t, worker.Options{}).ExecuteActivity(name, request)
	if err == nil {
		require.NoError(t, value.Get(&result))
	}
	return result, err
}

func intake(t *testing.T, profile refund.ProfileName) refund.Intake {
	t.Helper()
	terms, err := refund.NewTerms(refund.Terms{Profile: profile, CallTimeout: 2000})
	require.NoError(t, err)
	return refund.NewIntake(refund.Request{
		Tenant: "shop", RequestID: "req-1", Order: "o1", Amount: refund.Money{Minor: 4200, Currency: "EUR"}, Reason: "came back", Requester: "user-1",
	}, terms, now)
}

func submission(t *testing.T, profile refund.ProfileName) activities.SubmitRequest {
	t.Helper()
	in := intake(t, profile)
	return activities.SubmitRequest{
		Intake: in, Round: 3, FirstSentAt: now,
		Decision: refund.Decision{DecisionID: "d-1", OperationID: in.OperationID, Choice: refund.ChoiceApprove, Approver: "user-2", Digest: in.Digest, OrderVersion: 7},
	}
}

// An ambiguous answer is Temporal's to repeat exactly where the provider recognises the repetition.
func TestSubmitLeavesTheRepetitionToTemporalOnlyWhereItIsHarmless(t *testing.T) {
	for _, profile := range refund.Profiles() {
		t.Run(string(profile.Name), func(t *testing.T) {
			p := newPorts()
			p.answer = provider.Answer{Observation: refund.ObservedAmbiguous, Detail: "cut"}
			result, err := execute[activities.SubmitResult](t, p, activities.Submit, submission(t, profile.Name))
			require.Len(t, p.submits, 1)
			if !profile.Idempotent {
				require.NoError(t, err)
				require.Equal(t, refund.ObservedAmbiguous, result.Answer.Observation)
				require.True(t, result.Sent)
				return
			}
			var failure *temporal.ApplicationError
			require.ErrorAs(t, err, &failure)
			require.False(t, failure.NonRetryable())
			require.Equal(t, string(refund.ObservedAmbiguous), failure.Type())
			require.Equal(t, temporal.ApplicationErrorCategoryBenign, failure.Category())
		})
	}
}

func TestSubmitReturnsWhatDecidesSomething(t *testing.T) {
	for _, answer := range []provider.Answer{
		{Observation: refund.ObservedReceipt, Receipt: &refund.Receipt{RefundID: "r-1"}},
		{Observation: refund.ObservedRefusal, Refusal: refund.CodeInsufficientBalance},
		{Observation: refund.ObservedConflict, Detail: "409"},
		{Observation: refund.ObservedStaleFence, Fence: refund.Fence{Term: 8, Seq: 1}},
	} {
		p := newPorts()
		p.answer = answer
		result, err := execute[activities.SubmitResult](t, p, activities.Submit, submission(t, refund.ProfileFull))
		require.NoError(t, err)
		require.Equal(t, activities.SubmitResult{Answer: answer, Sent: true}, result)
		require.Equal(t, refund.Fence{Term: 3, Seq: 1}, p.submits[0].Fence)
	}
}

func TestSubmitChecksBeforeItSends(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*ports, *activities.SubmitRequest)
		want   refund.Code
	}{
		"order version":  {func(p *ports, _ *activities.SubmitRequest) { p.order.Version = 8 }, refund.CodeOrderVersionChanged},
		"balance":        {func(p *ports, _ *activities.SubmitRequest) { p.order.Refunded = 9000 }, refund.CodeInsufficientBalance},
		"time to commit": {func(_ *ports, r *activities.SubmitRequest) { r.Intake.Terms.CommitWithin = 0 }, refund.CodeApprovalExpired},
		"order unreadable": {func(p *ports, _ *activities.SubmitRequest) {
			p.orderErr = refund.Errorf(refund.CodeUnavailable, "no answer")
		}, ""},
		"forgotten by the provider": {func(_ *ports, r *activities.SubmitRequest) {
			r.Sent, r.Intake.Terms.Profile, r.FirstSentAt = true, refund.ProfileRetention, now-refund.Instant(r.Intake.Terms.Retention)+4000
		}, ""},
		"forgotten since the intent, by a first attempt that stood still or was reset": {func(_ *ports, r *activities.SubmitRequest) {
			r.Intake.Terms.Profile, r.FirstSentAt = refund.ProfileRetention, now-refund.Instant(r.Intake.Terms.Retention)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, r := newPorts(), submission(t, refund.ProfileFull)
			p.answer = provider.Answer{Observation: refund.ObservedNotFound} // of the look-up
			c.change(p, &r)
			result, err := execute[activities.SubmitResult](t, p, activities.Submit, r)
			require.NoError(t, err)
			require.Equal(t, refund.ObservedUnsent, result.Answer.Observation)
			require.Equal(t, c.want, result.Answer.Refusal)
			forgotten := r.FirstSentAt < now // since then something may have left, whatever this attempt's number is (I1)
			require.Equal(t, forgotten, result.Sent)
			require.Empty(t, p.submits)
		})
	}
}

// A reset of the activity counts anew: a late first attempt may follow one whose request is on its way, which "not found" does not
// call back (I3). Where the provider recognises no repetition, there is no attempt but the first.
func TestFailedCheckOfALateFirstAttemptIsNoRefundThatWasNeverSent(t *testing.T) {
	for _, profile := range refund.Profiles() {
		t.Run(string(profile.Name), func(t *testing.T) {
			for late, want := range map[time.Duration]bool{0: false, 2 * time.Second: profile.Idempotent} {
				p, r := newPorts(), submission(t, profile.Name)
				r.FirstSentAt, p.order.Version = now.Add(-late), 8
				p.answer = provider.Answer{Observation: refund.ObservedNotFound} // of the look-up
				result, err := execute[activities.SubmitResult](t, p, activities.Submit, r)
				require.NoError(t, err)
				require.Equal(t, refund.CodeOrderVersionChanged, result.Answer.Refusal)
				require.Equal(t, want, result.Sent, "%s after the intent", late)
				require.Empty(t, p.submits)
			}
		})
	}
}

// The server stamped the attempt, and its time goes on: a worker's clock that was set back prolongs nothing.
func TestSubmitCountsFromTheServersStampWhereTheHostsClockWasSetBack(t *testing.T) {
	stamped := now.Add(-time.Hour)
	for name, c := range map[string]struct {
		change func(*activities.SubmitRequest)
		want   refund.Code
	}{
		"the provider's memory": {func(r *activities.SubmitRequest) {
			r.Sent, r.Intake.Terms.Profile, r.FirstSentAt = true, refund.ProfileRetention, stamped.Add(-time.Duration(r.Intake.Terms.Retention)*time.Millisecond)
		}, ""},
		"the time to commit": {func(r *activities.SubmitRequest) {
			r.Intake.At = stamped.Add(-time.Duration(r.Intake.Terms.CommitWithin) * time.Millisecond)
		}, refund.CodeApprovalExpired},
	} {
		t.Run(name, func(t *testing.T) {
			p, r := newPorts(), submission(t, refund.ProfileFull)
			p.behind, p.answer = 2*time.Hour, provider.Answer{Observation: refund.ObservedNotFound} // of the look-up
			c.change(&r)
			result, err := execute[activities.SubmitResult](t, p, activities.Submit, r)
			require.NoError(t, err)
			require.Equal(t, refund.ObservedUnsent, result.Answer.Observation)
			require.Equal(t, c.want, result.Answer.Refusal)
			require.Empty(t, p.submits)
		})
	}
}

// The look at the provider's memory is the last before the send, and nothing leaves later than it reckons with, however long the
// worker stands still (I1).
func TestNothingLeavesLaterThanTheProvidersMemoryWasReckonedWith(t *testing.T) {
	t.Run("while the server is asked", func(t *testing.T) {
		p, r := newPorts(), submission(t, refund.ProfileRetention)
		r.Sent, r.Intake.At, r.FirstSentAt = true, now.Add(-time.Minute), now.Add(-time.Minute)
		r.Intake.Terms.Retention, p.behind = 60_000, 30*time.Second
		p.asking = func(context.Context) { p.behind = 0 }
		result, err := execute[activities.SubmitResult](t, p, activities.Submit, r)
		require.NoError(t, err)
		require.Equal(t, refund.ObservedUnsent, result.Answer.Observation)
		require.Empty(t, p.submits)
	})
	t.Run("while the order is read", func(t *testing.T) {
		p, r := newPorts(), submission(t, refund.ProfileRetention)
		r.Sent, r.Intake.Terms.CallTimeout = true, 50
		p.reading = func() { <-time.After(2 * 50 * time.Millisecond) }
		result, err := execute[activities.SubmitResult](t, p, activities.Submit, r)
		require.NoError(t, err)
		require.Equal(t, refund.ObservedUnsent, result.Answer.Observation)
		require.Empty(t, p.submits)
	})
}

// A server that hangs when it is asked costs a part of the attempt's slack and not the attempt, which could leave an UNKNOWN with
// nothing sent where the provider is told nothing twice (I4).
func TestAServerThatDoesNotSayWhetherItWaitsKeepsNothingFromBeingSent(t *testing.T) {
	p, r := newPorts(), submission(t, refund.ProfileOpaque)
	p.answer = provider.Answer{Observation: refund.ObservedReceipt, Receipt: &refund.Receipt{RefundID: "r-1"}}
	p.silent, p.behind = true, time.Hour
	began := time.Now()
	result, err := execute[activities.SubmitResult](t, p, activities.Submit, r)
	require.NoError(t, err)
	require.Equal(t, refund.ObservedReceipt, result.Answer.Observation)
	require.Len(t, p.submits, 1)
	require.Less(t, time.Since(began), time.Second, "the slack of an attempt")
}

// A worker that was frozen past its attempts meets a server that is too busy to say so: the stamp of the attempt and the host's clock
// tell that it is over (I4, I12).
func TestAnAttemptThatIsOverByTheHostsClockIsNotBegunWhereTheServerIsSilent(t *testing.T) {
	p := newPorts()
	p.silent = true // and its time-out of ten minutes was over fifty minutes ago
	_, err := execute[activities.SubmitResult](t, p, activities.Submit, submission(t, refund.ProfileOpaque))
	require.ErrorContains(t, err, string(refund.CodeLeaseLost))
	_, err = execute[activities.ProposeResult](t, p, activities.Propose, activities.ProposeRequest{Intake: intake(t, refund.ProfileFull), Order: p.order})
	require.ErrorContains(t, err, string(refund.CodeLeaseLost))
	require.Empty(t, p.submits)
	require.Zero(t, p.calls)
}

// After a reset of the activity a first attempt may be a later one, whose check fails by the success of the earlier.
func TestFailedCheckOfAFirstAttemptIsLookedUpWhereTheAnswerIsStrong(t *testing.T) {
	receipt := provider.Answer{Observation: refund.ObservedReceipt, Receipt: &refund.Receipt{RefundID: "r-1"}}
	lapsed := provider.Answer{Observation: refund.ObservedUnsent, Refusal: refund.CodeOrderVersionChanged, Detail: "the order no longer allows it"}
	for name, c := range map[string]struct {
		profile refund.ProfileName
		known   provider.Answer
		want    activities.SubmitResult
		asked   int
	}{
		"it was sent":     {refund.ProfileLookup, receipt, activities.SubmitResult{Answer: receipt, Sent: true}, 1},
		"it was not sent": {refund.ProfileLookup, provider.Answer{Observation: refund.ObservedNotFound}, activities.SubmitResult{Answer: lapsed}, 1},
		"no answer": {
			refund.ProfileFull, provider.Answer{Observation: refund.ObservedAmbiguous, Detail: "cut"},
			activities.SubmitResult{Answer: provider.Answer{Observation: refund.ObservedUnsent, Detail: "cut"}}, 1,
		},
		"a look-up that lags proves nothing": {refund.ProfileStale, receipt, activities.SubmitResult{Answer: lapsed}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPorts()
			p.order.Version, p.answer = 8, c.known
			result, err := execute[activities.SubmitResult](t, p, activities.Submit, submission(t, c.profile))
			require.NoError(t, err)
			require.Equal(t, c.want, result)
			require.Len(t, p.fences, c.asked)
			require.Empty(t, p.submits)
		})
	}
}

// A reset hands an open round on to a new run, as a first attempt.
func TestRoundOfAnotherRunMayHaveSent(t *testing.T) {
	for _, profile := range []refund.ProfileName{refund.ProfileLookup, refund.ProfileStale, refund.ProfileOpaque} {
		p, r := newPorts(), submission(t, profile)
		r.RunID = "the run before the reset"
		result, err := execute[activities.SubmitResult](t, p, activities.Submit, r)
		require.NoError(t, err)
		require.Equal(t, refund.ObservedAmbiguous, result.Answer.Observation)
		require.True(t, result.Sent)
		require.Empty(t, p.submits)
	}
	p, r := newPorts(), submission(t, refund.ProfileFull)
	r.RunID, p.order.Refunded = "the run before the reset", p.order.Captured
	result, err := execute[activities.SubmitResult](t, p, activities.Submit, r)
	require.NoError(t, err)
	require.True(t, result.Sent, "a check that fails now is no refusal")
}

// A frozen worker may start an attempt whose time was over long ago.
func TestNothingLeavesUnderAContextThatIsOver(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	in := intake(t, refund.ProfileFull)
	for name, request := range map[string]any{
		activities.Propose: activities.ProposeRequest{Intake: in},
		activities.Submit:  submission(t, refund.ProfileFull),
		activities.LookUp:  activities.AskRequest{Intake: in, Round: 1},
		activities.Close:   activities.AskRequest{Intake: in, Round: 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPorts()
			_, _ = p.environment(t, worker.Options{BackgroundActivityContext: over}).ExecuteActivity(name, request)
			require.Empty(t, p.submits)
			require.Empty(t, p.fences)
			require.Zero(t, p.calls)
		})
	}
}

// Its context tells nothing: the SDK counts from when the attempt is begun. The server tells.
func TestNothingIsPaidForOrSentByAnAttemptThatTheServerDoesNotWaitFor(t *testing.T) {
	for name, request := range map[string]any{
		activities.Propose: activities.ProposeRequest{Intake: intake(t, refund.ProfileFull)},
		activities.Submit:  submission(t, refund.ProfileOpaque),
	} {
		t.Run(name, func(t *testing.T) {
			p := newPorts()
			p.over = true
			_, err := execute[any](t, p, name, request)
			var failure *temporal.ApplicationError
			require.ErrorAs(t, err, &failure)
			require.Equal(t, string(refund.CodeLeaseLost), failure.Type())
			require.Empty(t, p.submits)
			require.Zero(t, p.calls)
		})
	}
}

func TestLookUpAndCloseAskAgainUntilTheyKnow(t *testing.T) {
	in := intake(t, refund.ProfileFull)
	for name, c := range map[string]struct {
		request any
		again   map[refund.Observation]bool
	}{
		activities.LookUp: {activities.AskRequest{Intake: in, Round: 2}, map[refund.Observation]bool{
			refund.ObservedAmbiguous: true, refund.ObservedNotFound: true, refund.ObservedReceipt: false, refund.ObservedRefusal: false,
			refund.ObservedConflict: false, refund.ObservedStaleFence: false,
		}},
		activities.Close: {activities.AskRequest{Intake: in, Round: 2}, map[refund.Observation]bool{
			refund.ObservedAmbiguous: true, refund.ObservedReceipt: false, refund.ObservedRefusal: false,
			refund.ObservedConflict: false, refund.ObservedStaleFence: false,
		}},
	} {
		for observation, again := range c.again {
			t.Run(name+" "+string(observation), func(t *testing.T) {
				p := newPorts()
				p.answer = provider.Answer{Observation: observation}
				result, err := execute[activities.AskResult](t, p, name, c.request)
				require.Equal(t, again, err != nil, "%v", err)
				if !again {
					require.Equal(t, observation, result.Answer.Observation)
				}
				require.Equal(t, []refund.Fence{{Term: 2, Seq: 1}}, p.fences)
			})
		}
	}
}

func TestCheckOrderTellsARuleFromAnOutage(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*ports)
		want   refund.Code
		fails  bool
	}{
		"fine":        {func(*ports) {}, "", false},
		"no order":    {func(p *ports) { p.orderErr = refund.Errorf(refund.CodeOrderNotFound, "no order o1") }, refund.CodeOrderNotFound, false},
		"no balance":  {func(p *ports) { p.order.Captured = 1 }, refund.CodeInsufficientBalance, false},
		"no currency": {func(p *ports) { p.order.Currency = "USD" }, refund.CodeCurrencyMismatch, false},
		"no answer":   {func(p *ports) { p.orderErr = refund.Errorf(refund.CodeUnavailable, "cut") }, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPorts()
			c.change(p)
			result, err := execute[activities.CheckOrderResult](t, p, activities.CheckOrder, activities.CheckOrderRequest{Intake: intake(t, refund.ProfileFull)})
			require.Equal(t, c.fails, err != nil)
			require.Equal(t, c.want, result.Rejected)
		})
	}
}

func TestProposeMakesOneCall(t *testing.T) {
	p := newPorts()
	p.proposal = refund.Proposal{Recommendation: "approve", Rationale: "fine", OrderVersion: 7, AnswerID: "a-1"}
	result, err := execute[activities.ProposeResult](t, p, activities.Propose, activities.ProposeRequest{Intake: intake(t, refund.ProfileFull), Order: p.order})
	require.NoError(t, err)
	require.Equal(t, p.proposal, result.Proposal)
	require.Equal(t, 1, p.calls)

	p.err = refund.Errorf(refund.CodeInvalidBody, "cut off")
	_, err = execute[activities.ProposeResult](t, p, activities.Propose, activities.ProposeRequest{Intake: intake(t, refund.ProfileFull), Order: p.order})
	var failure *temporal.ApplicationError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, string(refund.CodeInvalidBody), failure.Type())
	require.False(t, failure.NonRetryable(), "the next call may be usable; the budget bounds it")
	require.Equal(t, 2, p.calls)
}

func TestEveryCallHasTheTimeOutOfTheTerms(t *testing.T) {
	in := intake(t, refund.ProfileFull)
	for name, request := range map[string]any{
		activities.CheckOrder: activities.CheckOrderRequest{Intake: in},
		activities.Propose:    activities.ProposeRequest{Intake: in},
		activities.Submit:     submission(t, refund.ProfileFull),
		activities.LookUp:     activities.AskRequest{Intake: in},
		activities.Close:      activities.AskRequest{Intake: in},
		activities.Notify:     activities.NotifyRequest{Timeout: in.Terms.CallTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPorts()
			p.answer = provider.Answer{Observation: refund.ObservedRefusal}
			_, err := p.environment(t, worker.Options{}).ExecuteActivity(name, request)
			require.NoError(t, err)
			require.NotEmpty(t, p.bounds)
			for _, bound := range p.bounds {
				require.LessOrEqual(t, bound, 2*time.Second)
			}
		})
	}
}

func TestWrongInputIsNotRetried(t *testing.T) {
	r := submission(t, refund.ProfileFull)
	r.Intake.Terms.Profile = "golden"
	_, err := execute[activities.SubmitResult](t, newPorts(), activities.Submit, r)
	var failure *temporal.ApplicationError
	require.ErrorAs(t, err, &failure)
	require.True(t, failure.NonRetryable())
	require.Contains(t, activities.Permanent, failure.Type())
}

func TestNotifyFailsUntilTheReceiverHasAcknowledged(t *testing.T) {
	p := newPorts()
	p.err = refund.Errorf(refund.CodeUnavailable, "receiver is down")
	_, err := execute[activities.NotifyResult](t, p, activities.Notify, activities.NotifyRequest{Timeout: 1000})
	require.Error(t, err)
	p.err = nil
	_, err = execute[activities.NotifyResult](t, p, activities.Notify, activities.NotifyRequest{Timeout: 1000})
	require.NoError(t, err)
}

func TestDecidesSeesReceiptsAndRefusals(t *testing.T) {
	for observation, want := range map[refund.Observation]bool{
		refund.ObservedReceipt: true, refund.ObservedRefusal: true, refund.ObservedAmbiguous: false, refund.ObservedConflict: false,
		refund.ObservedNotFound: false, refund.ObservedStaleFence: false, refund.ObservedUnsent: false,
	} {
		for _, result := range []any{
			activities.SubmitResult{Answer: provider.Answer{Observation: observation}},
			activities.AskResult{Answer: provider.Answer{Observation: observation}},
			activities.AskResult{Answer: provider.Answer{Observation: observation}},
		} {
			text, err := json.Marshal(result)
			require.NoError(t, err)
			require.Equal(t, want, activities.Decides(text), "%s", text)
		}
	}
	require.False(t, activities.Decides([]byte("not JSON")))
}

func TestThePauseThatTheFarSideAskedForIsKept(t *testing.T) {
	in := intake(t, refund.ProfileFull)
	pause := func(t *testing.T, after int64) time.Duration {
		p := newPorts()
		p.answer = provider.Answer{Observation: refund.ObservedAmbiguous, RetryAfterMS: after}
		_, err := execute[activities.AskResult](t, p, activities.LookUp, activities.AskRequest{Intake: in, Round: 1})
		var failed *temporal.ApplicationError
		require.ErrorAs(t, err, &failed)
		return failed.NextRetryDelay()
	}
	require.Zero(t, pause(t, 0), "the retry policy decides")
	require.Equal(t, time.Minute, pause(t, 60_000))
	require.Equal(t, in.Terms.Pause(1), pause(t, 1), "and never less than our own")
}
