package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// startTimeout bounds the time from the start to the ready line; 1 s is usual, 10 s a machine under load.
const startTimeout = 90 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal during the stop ends the process at once; the file bears it.
	context.AfterFunc(ctx, stop)
	err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "devserver:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. It prints "ui URL" (unless headless) and then "ready ADDRESS" on out.
func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parseOptions(args, out)
	if err != nil {
		return err
	}
	s, err := newServer(o)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.start(); err != nil {
		return err
	}
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	err = s.waitReady(starting)
	cancel()
	if ctx.Err() != nil {
		return nil // asked to stop before it was ready
	}
	if err != nil {
		return failf(codeUnavailable, "not ready after %s: %w", startTimeout, err)
	}
	if s.ui != nil {
		fmt.Fprintln(out, "ui", "http://"+s.uiAddress)
	}
	fmt.Fprintln(out, "ready", s.address)
	<-ctx.Done()
	return nil
}
