// Command provider is the outside world as a process: the refund service under one profile, a simulated model with its bill,
// and a receiver of notices, on one SQLite file. It prints "ready URL" once it serves, and on SIGTERM ends with status 0.
package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"refundlab/cmd/internal/cmdline"
)

func main() {
	ctx, _ := cmdline.UntilSignal(context.Background()) // for the life of the process
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole command, with its exit status as the result.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:   "provider",
		Short: "The refund service, the simulated model and the receiver of notices",
	}
	root.PersistentFlags().Bool("json", false, "print errors as JSON on standard output")
	root.AddCommand(serveCommand(), dumpCommand(), healthCommand())
	return cmdline.Execute(ctx, root, args, cmdline.Streams{In: stdin, Out: stdout, Err: stderr})
}
