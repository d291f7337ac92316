package engineflags

import (
	"context"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"
	"google.golang.org/grpc"

	"refundlab/activities"
	"refundlab/faults"
	"refundlab/faults/inject"
	"refundlab/refund"
	"refundlab/workflows"
)

// Dial connects to the Temporal server of Temporal's own environment variables and profile file (address, namespace, TLS, API
// key), with the flags on top. identity is this process's name in histories.
//
// Errors: INVALID_FLAG, UNAVAILABLE.
func (f *Flags) Dial(ctx context.Context, identity string, logger *slog.Logger, announcer *faults.Announcer) (client.Client, error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, refund.Wrap(refund.CodeInvalidFlag, err, "Temporal's environment or profile cannot be used")
	}
	if f.address != "" {
		options.HostPort = f.address
	}
	if f.namespace != "" {
		options.Namespace = f.namespace
	}
	options.Identity = identity
	options.Logger = log.NewStructuredLogger(logger)
	if announcer != nil {
		names := inject.Names{
			WorkflowPrefix: workflows.WorkflowPrefix, DecisionSignal: workflows.DecisionSignal,
			Propose: activities.Propose, Submit: activities.Submit, LookUp: activities.LookUp, Close: activities.Close, Notify: activities.Notify,
			Decides: activities.Decides,
		}
		options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions,
			grpc.WithChainUnaryInterceptor(inject.Interceptor(names, announcer)))
	}
	return workflows.Dial(ctx, options)
}
