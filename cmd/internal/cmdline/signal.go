package cmdline

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// UntilSignal returns a context that ends at the first SIGINT or SIGTERM. By then a further signal has its usual effect: it ends
// a process whose clean stop takes too long. Unlike signal.NotifyContext with a deferred stop, there is no moment in
// between in which a second signal would be swallowed.
func UntilSignal(parent context.Context) (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
		case <-ctx.Done():
		}
		signal.Stop(signals)
		cancel()
	}()
	return ctx, cancel
}
