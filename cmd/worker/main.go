// Command worker is one worker of either engine. It prints "ready NAME" once it takes work, and on SIGTERM finishes what is
// in flight, within a bound, and ends with exit status 0; a second signal ends it at once.
package main

import (
	"context"
	"io"
	"os"

	"refundlab/cmd/internal/cmdline"
	"refundlab/faults"
)

func main() {
	ctx, _ := cmdline.UntilSignal(context.Background()) // for the life of the process
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole command, with its exit status as the result.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	w := &worker{announcer: faults.FromEnvironment(), clock: faults.ClockFromEnvironment()}
	return cmdline.Execute(ctx, w.command(), args, cmdline.Streams{In: stdin, Out: stdout, Err: stderr})
}
