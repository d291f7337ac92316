package workflows_test

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"refundlab/refund"
	"refundlab/workflows"
)

// start is when every run of these tests begins; time jumps to the next timer whenever nothing else is to do. It is ahead of the
// host's clock, with which the environment stamps attempts: of the two the later one counts.
var start = time.Now().UTC().Truncate(time.Millisecond).Add(time.Hour)

// flow is one run of the workflow in the SDK's test environment, with real activities on a world in memory. The environment
// differs from a server in two points that matter here: an activity has ten attempts where its policy sets no limit, and a
// cancelled activity is not waited for. What needs either is tested on a real server.
type flow struct {
	*testsuite.TestWorkflowEnvironment
	t      *testing.T
	world  *world
	intake refund.Intake

	verdicts    []verdict
	settlements []settlement
	endings     []ending
	status      refund.RunStatus // as the search attribute shows it
}

// As they stand in the memo.
type (
	verdict struct {
		refund.RecordedVerdict
		Accepted *refund.Decision `json:"accepted"`
	}
	settlement struct {
		Settlement refund.Settlement `json:"settlement"`
		Hash       string            `json:"hash"`
		Refused    refund.Code       `json:"refused"`
		Detail     string            `json:"detail"`
	}
	ending struct {
		Expired  bool        `json:"expired"`
		Rejected refund.Code `json:"rejected"`
	}
)

func newFlow(t *testing.T, profile refund.ProfileName, terms ...func(*refund.Terms)) *flow {
	t.Helper()
	wanted := refund.Terms{Profile: profile, DecideWithin: time.Hour.Milliseconds(), CallTimeout: 1000}
	for _, change := range terms {
		change(&wanted)
	}
	wanted, err := refund.NewTerms(wanted)
	require.NoError(t, err)
	suite := testsuite.WorkflowTestSuite{}
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	f := &flow{
		TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), t: t, world: newWorld(profile),
		intake: refund.NewIntake(request("req-1"), wanted, 0),
	}
	f.SetStartTime(start)
	f.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: workflows.WorkflowID(f.intake.OperationID), TaskQueue: "q"})
	f.SetTestTimeout(10 * time.Second)
	f.SetWorkflowRunTimeout(10 * 365 * 24 * time.Hour) // the environment caps activities by it
	f.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{workflows.Door()}, DisableRegistrationAliasing: true})
	f.world.now = func() refund.Instant { return refund.At(f.Now()) }
	workflows.Register(f)
	f.world.activities().Register(f)
	f.OnUpsertMemo(mock.Anything).Run(func(args mock.Arguments) { f.recorded(args.Get(0).(map[string]any)) }).Return(nil)
	status := temporal.NewSearchAttributeKeyKeyword("RefundStatus")
	f.OnUpsertTypedSearchAttributes(mock.Anything).Run(func(args mock.Arguments) {
		if shown, ok := args.Get(0).(temporal.SearchAttributes).GetKeyword(status); ok {
			f.status = refund.RunStatus(shown)
		}
	}).Return(nil)
	return f
}

func (f *flow) recorded(memo map[string]any) {
	for field, value := range memo {
		text, err := json.Marshal(value)
		require.NoError(f.t, err)
		switch field {
		case "refund.verdict":
			f.verdicts = append(f.verdicts, decoded[verdict](f.t, text))
		case "refund.settlement":
			f.settlements = append(f.settlements, decoded[settlement](f.t, text))
		case "refund.ending":
			f.endings = append(f.endings, decoded[ending](f.t, text))
		default:
			f.t.Errorf("memo field %q is not known", field)
		}
	}
}

func decoded[T any](t *testing.T, text []byte) (value T) {
	require.NoError(t, json.Unmarshal(text, &value))
	return value
}

// after does something when the run is that old.
func (f *flow) after(d time.Duration, do func()) { f.RegisterDelayedCallback(do, d) }

// run runs the workflow to its end.
func (f *flow) run() workflows.Result {
	f.t.Helper()
	f.ExecuteWorkflow(workflows.WorkflowName, f.intake)
	require.True(f.t, f.IsWorkflowCompleted())
	require.NoError(f.t, f.GetWorkflowError())
	var result workflows.Result
	require.NoError(f.t, f.GetWorkflowResult(&result))
	return result
}

// codes are the verdicts in the order in which they were recorded.
func (f *flow) codes() (codes []refund.VerdictCode) {
	for _, v := range f.verdicts {
		codes = append(codes, v.Code)
	}
	return codes
}

func (f *flow) decision(id string, change ...func(*refund.Decision)) refund.Decision {
	d := refund.Decision{
		DecisionID: id, OperationID: f.intake.OperationID, Choice: refund.ChoiceApprove, Approver: "user-2",
		Digest: f.intake.Digest, OrderVersion: 7,
	}
	for _, c := range change {
		c(&d)
	}
	return d
}

func rejecting(d *refund.Decision) { d.Choice = refund.ChoiceReject }

// decide sends a decision at an age of the run, and approve approves.
func (f *flow) decide(at time.Duration, d any) {
	f.after(at, func() { f.SignalWorkflow(workflows.DecisionSignal, d) })
}

func (f *flow) approve(at time.Duration) { f.decide(at, f.decision("d-1")) }

func (f *flow) settle(at time.Duration, id string, kind refund.SettlementKind, change ...func(*refund.Settlement)) {
	s := refund.Settlement{SettlementID: id, OperationID: f.intake.OperationID, Kind: kind, By: "user-3", Reason: "asked the bank"}
	for _, c := range change {
		c(&s)
	}
	f.after(at, func() { f.SignalWorkflow(workflows.SettlementSignal, s) })
}

// answers are the codes of the settlements' answers in the order in which they were recorded; "" is "taken".
func (f *flow) answers() (codes []refund.Code) {
	for _, s := range f.settlements {
		codes = append(codes, s.Refused)
	}
	return codes
}

// runFor runs the workflow for that long and expects it to be open then.
func (f *flow) runFor(d time.Duration) {
	f.t.Helper()
	f.SetWorkflowRunTimeout(d)
	f.ExecuteWorkflow(workflows.WorkflowName, f.intake)
	var timeout *temporal.TimeoutError
	require.ErrorAs(f.t, f.GetWorkflowError(), &timeout)
}
