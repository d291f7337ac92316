package cmdline_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"refundlab/cmd/internal/cmdline"
	"refundlab/refund"
)

// A command that a signal broke off says so, whatever the broken call said; an answer that it got stays, and so does the
// error of a server, which is meant to run until a signal.
func TestWhatASignalBrokeOffIsInterrupted(t *testing.T) {
	for _, test := range []struct {
		name   string
		err    error
		serves bool
		code   refund.Code
		exit   int
	}{
		{"done", nil, false, "", refund.ExitOK},
		{"a plain error", context.Canceled, false, refund.CodeInterrupted, refund.ExitUnavailable},
		{"a broken call", refund.Errorf(refund.CodeUnavailable, "the server does not answer"), false, refund.CodeInterrupted, refund.ExitUnavailable},
		{"a wait", refund.Errorf(refund.CodeTimeout, "not in time"), false, refund.CodeInterrupted, refund.ExitUnavailable},
		{"a suite", refund.Errorf(refund.CodeNotPassed, "2 of 3"), false, refund.CodeInterrupted, refund.ExitUnavailable},
		{"a conflict", refund.Errorf(refund.CodeKeyConflict, "other amount"), false, refund.CodeKeyConflict, refund.ExitConflict},
		{"a stored decision", refund.Wrap(refund.CodeVerdictPending, context.Canceled, "ask again"), false, refund.CodeVerdictPending, refund.ExitVerdictPending},
		{"a server", refund.Errorf(refund.CodeTimeout, "in flight"), true, refund.CodeTimeout, refund.ExitUnavailable},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, release := cmdline.UntilSignal(t.Context())
			defer release()
			exit, stderr := execute(ctx, test.serves, func(ctx context.Context) error {
				require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGINT))
				<-ctx.Done()
				return test.err
			})
			require.Equal(t, test.exit, exit, stderr)
			if test.code == "" {
				require.Empty(t, stderr)
				return
			}
			require.True(t, strings.HasPrefix(stderr, string(test.code)+": "), stderr)
			if test.code == refund.CodeInterrupted {
				require.Equal(t, "INTERRUPTED: interrupted by a signal (interrupt) before it was done\n", stderr)
			}
		})
	}
}

// Only a signal interrupts: a context that ended for another reason changes no error.
func TestAnEndedContextAloneIsNoInterruption(t *testing.T) {
	ctx, release := cmdline.UntilSignal(t.Context())
	release()
	exit, stderr := execute(ctx, false, func(context.Context) error { return errors.New("broken") })
	require.Equal(t, refund.ExitInternal, exit)
	require.Equal(t, "INTERNAL: broken\n", stderr)
}

func execute(ctx context.Context, serves bool, work func(context.Context) error) (exit int, stderr string) {
	root := &cobra.Command{Use: "test", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error { return work(c.Context()) }}
	if serves {
		root.Annotations = cmdline.Serves()
	}
	var errs bytes.Buffer
	exit = cmdline.Execute(ctx, root, []string{}, cmdline.Streams{Err: &errs})
	return exit, errs.String()
}
