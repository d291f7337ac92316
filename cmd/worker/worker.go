package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"refundlab/cmd/internal/cmdline"
	"refundlab/cmd/internal/engineflags"
	"refundlab/faults"
	"refundlab/faults/inject"
	"refundlab/provider"
	"refundlab/refund"
	"refundlab/workflows"
)

// stopWithin ends a worker that has not stopped although whatever was in flight had its time: the longest attempt under the
// default terms, and some more.
const stopWithin = workflows.DefaultStopTimeout + 3*time.Second

// worker is the command's flags and what is made from them.
type worker struct {
	engine                   engineflags.Flags
	name                     string
	provider, model, notices string // URLs

	stickyTimeout time.Duration
	stickyCache   int
	lease         time.Duration
	localOrders   string // file

	logLevel, logFormat string
	healthListen        string
	announcer           *faults.Announcer // nil except under test
	clock               func() time.Time  // the host's except under test
}

// ports are the outside world as either engine is given it.
type ports struct {
	refunds provider.Refunds
	model   provider.Model
	notices provider.Notices
	logger  *slog.Logger // without the worker's name
}

// engine is one engine's worker.
type engine struct {
	// run calls ready once it takes work, and returns after ctx ended and what was in flight is done, or when it cannot go on.
	run func(ctx context.Context, ready func()) error
	// healthy tells whether it could take work now.
	healthy func(context.Context) error
	close   func() error
}

func (w *worker) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "worker",
		Short: "Run one worker of either engine",
		Long: `Run one worker of either engine until SIGTERM. It prints "ready NAME" once it takes work. The model is the provider's
simulator unless --model or OPENAI_BASE_URL names another; OPENAI_API_KEY and OPENAI_MODEL are used with those.`,
		Example: `  worker --engine handrolled --name A --journal journal.db --provider http://127.0.0.1:8080
  worker --engine temporal --name B --temporal-address 127.0.0.1:7233 --provider http://127.0.0.1:8080`,
		Args:        cobra.NoArgs,
		Annotations: cmdline.Serves(),
		RunE:        func(c *cobra.Command, _ []string) error { return w.serve(c) },
	}
	root.PersistentFlags().Bool("json", false, "print an error as JSON on standard output")
	flags := root.Flags()
	w.engine.Register(flags)
	flags.StringVar(&w.name, "name", "", "name in histories, journals and logs")
	flags.StringVar(&w.provider, "provider", "", "`URL` of the refund service")
	flags.StringVar(&w.model, "model", "", "base `URL` of an OpenAI-compatible model (default: OPENAI_BASE_URL, else the provider's simulator)")
	flags.StringVar(&w.notices, "notices", "", "`URL` of the receiver of notices (default: the provider's)")
	flags.DurationVar(&w.stickyTimeout, "sticky-timeout", 5*time.Second, "how long a workflow task waits for the worker that has its run in memory")
	flags.IntVar(&w.stickyCache, "sticky-cache", 1000, "runs kept in memory; with 0 every workflow task replays its run from the top")
	flags.DurationVar(&w.lease, "lease", 5*time.Second, "how long a claim holds without renewal")
	flags.StringVar(&w.localOrders, "local-orders", "", "JSON `FILE` of orders for the ledger in the journal (profile local); those that are there stay as they are")
	engineflags.Only(flags, engineflags.Temporal, "sticky-timeout", "sticky-cache")
	engineflags.Only(flags, engineflags.Handrolled, "lease", "local-orders")
	flags.StringVar(&w.logLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&w.logFormat, "log-format", "text", "text or json")
	flags.StringVar(&w.healthListen, "health-listen", "", "`HOST:PORT` on which /healthz tells whether it could take work")
	for _, name := range []string{"name", "provider"} {
		_ = root.MarkFlagRequired(name) // fails only for a flag that does not exist
	}
	root.AddCommand(healthCommand())
	return root
}

func (w *worker) serve(c *cobra.Command) (err error) {
	if err := w.check(c); err != nil {
		return err
	}
	world, err := w.connect(c.ErrOrStderr())
	if err != nil {
		return err
	}
	logger := world.logger.With("worker", w.name)
	e, err := w.open(c.Context(), world)
	if err != nil {
		return cmdline.Interrupted(c.Context(), err) // it did not serve yet
	}
	defer func() {
		if closed := e.close(); err == nil {
			err = closed
		}
	}()
	if w.healthListen != "" {
		stop, err := serveHealth(w.healthListen, e.healthy)
		if err != nil {
			return err
		}
		defer stop()
	}
	told := make(chan struct{})
	still := context.AfterFunc(c.Context(), func() {
		logger.Info("worker is stopping: it finishes what is in flight")
		close(told)
	})
	defer func() {
		if !still() {
			<-told // a worker that ends at once would end before its last word
		}
	}()
	return untilStopped(c.Context(), func(ctx context.Context) error {
		return e.run(ctx, func() {
			logger.Info("worker takes work", "engine", w.engine.Engine)
			fmt.Fprintf(c.OutOrStdout(), "ready %s\n", w.name)
		})
	})
}

// untilStopped runs work, and after the end of ctx gives it the time to finish.
func untilStopped(ctx context.Context, work func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(stopWithin)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return refund.Errorf(refund.CodeTimeout, "what is in flight did not end within %s: it is taken up again when its lease or attempt is over", stopWithin)
	}
}

func (w *worker) open(ctx context.Context, world ports) (engine, error) {
	if w.engine.Engine == engineflags.Temporal {
		return w.openTemporal(ctx, world)
	}
	return w.openJournal(ctx, world)
}

func (w *worker) check(c *cobra.Command) error {
	if err := w.engine.Check(c.Flags()); err != nil {
		return err
	}
	if _, err := refund.ParseIdentity("worker name", w.name); err != nil {
		return err
	}
	switch {
	case w.stickyTimeout < time.Millisecond:
		return refund.Errorf(refund.CodeInvalidFlag, "--sticky-timeout is %s: the least is 1ms", w.stickyTimeout)
	case w.stickyCache < 0:
		return refund.Errorf(refund.CodeInvalidFlag, "--sticky-cache is %d: it is a number of runs, and 0 switches it off", w.stickyCache)
	case w.lease < minLease || w.lease > maxLease:
		return refund.Errorf(refund.CodeInvalidFlag, "--lease is %s: it must be from %s to %s", w.lease, minLease, maxLease)
	}
	return nil
}

// Limits of the lease: below, its renewal at a third of it competes with the disk; above, a dead worker's runs stand still for
// longer than a person would wait.
const (
	minLease = 100 * time.Millisecond
	maxLease = time.Hour
)

// connect makes the clients of the outside world. None of them dials.
func (w *worker) connect(stderr io.Writer) (ports, error) {
	logger, err := newLogger(stderr, w.logLevel, w.logFormat)
	if err != nil {
		return ports{}, err
	}
	world := ports{logger: logger}
	client := &http.Client{Transport: inject.Transport(http.DefaultTransport, w.announcer)}
	if world.refunds, err = provider.NewClient(w.provider, client); err != nil {
		return ports{}, err
	}
	if world.model, err = provider.NewModel(provider.ModelFromEnvironment(w.model, w.provider+"/model/v1"), client); err != nil {
		return ports{}, err
	}
	notices := w.notices
	if notices == "" {
		notices = w.provider
	}
	if world.notices, err = provider.NewNoticeSender(notices, client); err != nil {
		return ports{}, err
	}
	return world, nil
}

func newLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, refund.Errorf(refund.CodeInvalidFlag, "--log-level %q is unknown: it is debug, info, warn or error", level)
	}
	options := &slog.HandlerOptions{Level: least}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, refund.Errorf(refund.CodeInvalidFlag, "--log-format %q is unknown: it is text or json", format)
}
