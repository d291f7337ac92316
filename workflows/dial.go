package workflows

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"refundlab/refund"
)

const (
	// reconnectWithin caps gRPC's pause between two attempts to connect, whose default of ten seconds would hide for that long
	// that a server is back.
	reconnectWithin = 500 * time.Millisecond
	dialTimeout     = 5 * time.Second
)

// Dial connects to a Temporal server. options are those of Temporal's own environment and profiles (address, namespace, TLS,
// API key); dial options of the caller come after the ones set here, and win.
//
// Errors: UNAVAILABLE when no server answers within five seconds, or one refuses the credentials.
func Dial(ctx context.Context, options client.Options) (client.Client, error) {
	if options.Logger == nil {
		options.Logger = log.NewStructuredLogger(slog.Default())
	}
	reconnect := grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: reconnectWithin / 5, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnectWithin},
		MinConnectTimeout: dialTimeout,
	})
	options.ConnectionOptions.DialOptions = slices.Concat([]grpc.DialOption{reconnect}, options.ConnectionOptions.DialOptions)
	if options.ConnectionOptions.GetSystemInfoTimeout == 0 {
		options.ConnectionOptions.GetSystemInfoTimeout = dialTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	connection, err := client.DialContext(ctx, options)
	if err != nil {
		address := options.HostPort
		if address == "" {
			address = client.DefaultHostPort
		}
		var denied *serviceerror.PermissionDenied
		if errors.As(err, &denied) || status.Code(err) == codes.Unauthenticated {
			return nil, refund.Wrap(refund.CodeUnavailable, err, "the Temporal server at %s refuses these credentials: check API key, certificate and namespace", address)
		}
		return nil, refund.Wrap(refund.CodeUnavailable, err, "no Temporal server answers at %s: start one, or name its address", address)
	}
	return connection, nil
}
