package workflows

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"refundlab/refund"
)

const engineName = "temporal"

// WorkflowPrefix and an operation id make a workflow id.
const WorkflowPrefix = "refund/"

// WorkflowID is the workflow id of an operation.
func WorkflowID(id refund.OperationID) string { return WorkflowPrefix + string(id) }

// ClientOptions are what a Client needs beside its connection.
type ClientOptions struct {
	TaskQueue string // where workers and clients meet
	// WorkflowTaskTimeout bounds one workflow task of the runs that this client starts, and so how long a worker that died in one
	// is waited for. Zero is Temporal's default of ten seconds.
	WorkflowTaskTimeout time.Duration
	// DataConverter is the connection's, where it is not the default: the histories are read with it.
	DataConverter converter.DataConverter
	// Now is this reader's own wall clock, the host's when nil. It moves a shown RETRYABLE to UNKNOWN and decides nothing.
	Now func() time.Time
}

// Client starts refunds on Temporal, decides on them and reads them. Everything that it reads comes from histories, so it
// works while no worker is alive.
type Client struct {
	temporal client.Client
	options  ClientOptions
}

// NewClient uses a connection, which Close closes.
func NewClient(connection client.Client, options ClientOptions) *Client {
	if options.DataConverter == nil {
		options.DataConverter = converter.GetDefaultDataConverter()
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Client{temporal: connection, options: options}
}

// Close closes the connection.
func (c *Client) Close() error {
	c.temporal.Close()
	return nil
}

// Request starts a run, or finds the one that the same request started before, also when that one is closed. existing tells
// which of the two. The recorded terms stay what they were.
//
// Errors: KEY_CONFLICT when the key stands for other parameters (I9), INVALID_*, UNAVAILABLE.
func (c *Client) Request(ctx context.Context, request refund.Request, terms refund.Terms) (view refund.View, existing bool, err error) {
	if request, err = refund.NewRequest(request); err != nil {
		return refund.View{}, false, err
	}
	if terms, err = refund.NewTerms(terms); err != nil {
		return refund.View{}, false, err
	}
	if terms.Profile == refund.ProfileLocal {
		return refund.View{}, false, refund.Errorf(refund.CodeInvalidProfile, "profile %q needs a ledger in the engine's own transaction, which Temporal does not have: choose another", terms.Profile)
	}
	in := refund.NewIntake(request, terms, 0) // its instant is the server's: see begin
	call := uuid.NewString()
	_, err = c.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:        WorkflowID(in.OperationID),
		TaskQueue: c.options.TaskQueue,
		// One run per operation id, open or closed, until the namespace's retention ends (I9). It is no guard of the money: that
		// is the provider's.
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowTaskTimeout:      c.options.WorkflowTaskTimeout,
		// No retry policy and no schedule: a second run of a refund that failed would be a second refund.
		StaticSummary: "refund " + request.Amount.String() + " of order " + request.Order,
		// Both that the run will set: a namespace that lacks one refuses the request, and takes no run that cannot get on (I11).
		TypedSearchAttributes: temporal.NewSearchAttributes(statusAttribute.ValueSet(string(refund.StatusPending)),
			deadlineAttribute.ValueSet(c.options.Now().Add(time.Duration(terms.DecideWithin)*time.Millisecond))),
		// An existing run is answered like a new one. Whose call it was stands in its first event.
		Memo: map[string]any{memoCall: call},
	}, WorkflowName, in)
	if err != nil {
		return refund.View{}, false, startError(err)
	}
	recorded, err := c.read(ctx, in.OperationID)
	if err != nil {
		return refund.View{}, false, err
	}
	if recorded.Intake.Digest != in.Digest {
		return refund.View{}, false, refund.Errorf(refund.CodeKeyConflict, "request id %q of tenant %q already stands for another refund (digest %s): use a new id for a new refund",
			request.RequestID, request.Tenant, recorded.Intake.Digest)
	}
	view, err = recorded.view(c.clock())
	return view, recorded.call != call, err
}

// View reads one run.
//
// Errors: NOT_FOUND, UNAVAILABLE.
func (c *Client) View(ctx context.Context, id refund.OperationID) (refund.View, error) {
	f, err := c.read(ctx, id)
	if err != nil {
		return refund.View{}, err
	}
	return f.view(c.clock())
}

func (c *Client) clock() refund.Instant { return refund.At(c.options.Now()) }

func startError(err error) error {
	var invalid *serviceerror.InvalidArgument
	if errors.As(err, &invalid) {
		return refund.Wrap(refund.CodeUnavailable, err, "the Temporal server does not take the run; the namespace needs the search attributes %v", SearchAttributes())
	}
	return unavailable(err, "the run could not be started, and whether it was is not known: ask again with the same request id")
}
