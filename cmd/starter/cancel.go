package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"refundlab/cmd/internal/engineflags"
	"refundlab/refund"
)

// canceller is an engine whose runs can be cancelled.
type canceller interface {
	// Cancel asks a run to end, and shows it as it is then.
	Cancel(context.Context, refund.OperationID) (refund.View, error)
}

func (s *starter) cancelCommand() *cobra.Command {
	var f operation
	c := &cobra.Command{
		Use:   "cancel" + operationUse,
		Short: "Ask Temporal to cancel a run that nobody has approved",
		Long: `Ask Temporal to cancel a run. Before an approval it ends REJECTED with CANCELLED once a worker runs. After an approval it
has no effect, because the refund may be on its way. A run of the journal ends by a decision or by its deadline: reject it.`,
		Example: `  starter --engine temporal --temporal-address 127.0.0.1:7233 cancel --tenant shop --request-id r-1`,
		RunE:    s.checked(func(c *cobra.Command, args []string) error { return s.cancel(c, args, f) }),
	}
	f.register(c)
	return c
}

func (s *starter) cancel(c *cobra.Command, args []string, f operation) error {
	id, err := f.id(c, args)
	if err != nil {
		return err
	}
	if s.engine.Engine != engineflags.Temporal {
		return refund.Errorf(refund.CodeInvalidFlag, "engine %q has no cancellation: reject the refund, or let its time to decide end", s.engine.Engine)
	}
	return s.call(c, callBound, func(ctx context.Context, engine client) error {
		cancels, can := engine.(canceller)
		if !can {
			return refund.Errorf(refund.CodeInternal, "engine %q has no cancellation", s.engine.Engine)
		}
		view, err := cancels.Cancel(ctx, id)
		if err != nil {
			return err
		}
		return s.reply(c, view, func(w io.Writer) { printView(w, view, refund.At(s.clock())) })
	})
}
