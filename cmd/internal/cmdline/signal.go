package cmdline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"refundlab/refund"
)

// interruption is the cause of a context that a signal ended.
type interruption struct{ signal os.Signal }

func (i interruption) Error() string { return fmt.Sprintf("signal %s", i.signal) }

// UntilSignal returns a context that ends at the first SIGINT or SIGTERM. By then a further signal has its usual effect: it ends
// a process whose clean stop takes too long. Unlike signal.NotifyContext with a deferred stop, there is no moment in
// between in which a second signal would be swallowed.
func UntilSignal(parent context.Context) (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		var cause error
		select {
		case received := <-signals:
			cause = interruption{received}
		case <-ctx.Done():
		}
		signal.Stop(signals)
		cancel(cause)
	}()
	return ctx, func() { cancel(nil) }
}

// servesKey marks commands in their annotations.
const servesKey = "refundlab/serves"

// Serves are the annotations of a command that runs until a signal: for it the signal is no interruption, and an error of
// its end is its own.
func Serves() map[string]string { return map[string]string{servesKey: ""} }

// Interrupted is the error of a command whose context, from UntilSignal, was ended by a signal: what the signal broke off
// has a text that speaks of anything but the signal. An answer that was got before it stays: a conflict, a refusal, or a
// decision that is stored and has no verdict yet.
func Interrupted(ctx context.Context, err error) error {
	var by interruption
	if err == nil || !errors.As(context.Cause(ctx), &by) {
		return err
	}
	switch refund.ExitStatus(refund.CodeOf(err)) {
	case refund.ExitInternal, refund.ExitUnavailable:
		return refund.Errorf(refund.CodeInterrupted, "interrupted by a signal (%s) before it was done", by.signal)
	}
	return err
}
