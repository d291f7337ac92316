// Command lab runs the fault suite on both engines and reports what it measured; it also starts everything for playing by
// hand, and plays single scripts.
package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"refundlab/binaries"
	"refundlab/cmd/internal/cmdline"
)

func main() {
	ctx, _ := cmdline.UntilSignal(context.Background()) // for the life of the process
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole command, with its exit status as the result.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:   "lab",
		Short: "One refund flow on two durable executors, broken at every boundary",
		Long: `One refund flow on two durable executors, broken at every boundary.

Exit status: 0 done and everything passed, 1 the suite or a card did not pass, 2 bad input, 7 something could not be
built or started.`,
		Example: `  go run ./cmd/lab run
  go run ./cmd/lab run --scenario l06-1 --engine handrolled
  go run ./cmd/lab up`,
	}
	root.AddCommand(buildCommand(), upCommand(), allCommand(), runCommand(), powerCommand(), cardCommand(), reportCommand(), modelCommand(), soakCommand(), replayCommand(), exploreCommand(), controlsCommand())
	return cmdline.Execute(ctx, root, args, cmdline.Streams{In: stdin, Out: stdout, Err: stderr})
}

func buildCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Build the executables into the cache; the Temporal server takes minutes the first time",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := binaries.Build(c.Context(), c.ErrOrStderr())
			return err
		},
	}
}
