// Command starter is the client of both engines: it asks for refunds, decides, shows what is known, and settles what
// cannot be known. Its command line and its JSON are the same for both engines.
package main

import (
	"context"
	"io"
	"os"

	"refundlab/cmd/internal/cmdline"
	"refundlab/faults"
	"refundlab/faults/inject"
)

func main() {
	ctx, _ := cmdline.UntilSignal(context.Background()) // for the life of the process
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole command, with its exit status as the result.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	s := &starter{announcer: faults.FromEnvironment(), clock: faults.ClockFromEnvironment()}
	// A kill at the near side of the reply is the caller that never heard although the record is durable.
	stdout = inject.Reply(stdout, s.announcer)
	return cmdline.Execute(ctx, s.command(), args, cmdline.Streams{In: stdin, Out: stdout, Err: stderr})
}
