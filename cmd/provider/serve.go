package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"refundlab/cmd/internal/cmdline"
	"refundlab/cmd/internal/orderfile"
	"refundlab/faults"
	"refundlab/provider/ledger"
	"refundlab/provider/server"
	"refundlab/refund"
)

const (
	// headerTimeout bounds the time in which a client must have sent its headers; the rest of a request has no bound, because
	// being held is what a harness wants.
	headerTimeout = 5 * time.Second
	// stopTimeout bounds the clean stop: requests that are still held then are cut.
	stopTimeout = 2 * time.Second
	// defaultLag lets somebody who plays by hand see the replica lag.
	defaultLag = "2s"
)

type serveFlags struct {
	listen, db, profile, lag, orders, record string
	retention                                time.Duration
	control                                  bool
}

func serveCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the outside world until SIGTERM",
		Long: `Serve the refund service (/v1/...), a simulated model (OPENAI_BASE_URL=http://HOST:PORT/model/v1), a receiver of notices
(/notices) and /healthz in one process.

Profiles: full, retention, lenient, lookup, stale, opaque. A file keeps the profile under which it was first used.`,
		Example: `  provider serve --listen 127.0.0.1:8080 --db provider.db --profile full --orders orders.json
  provider serve --listen 127.0.0.1:0 --db p.db --profile stale --lag 5s
  provider serve --listen 127.0.0.1:0 --db p.db --profile retention --retention 1h --control`,
		Args:        cobra.NoArgs,
		Annotations: cmdline.Serves(),
		RunE:        func(c *cobra.Command, _ []string) error { return serve(c, f) },
	}
	c.Flags().StringVar(&f.listen, "listen", "127.0.0.1:0", "`ADDRESS` to serve on; port 0 takes a free one")
	c.Flags().StringVar(&f.db, "db", "", "the ledger's SQLite `FILE`, made when it is missing")
	c.Flags().StringVar(&f.profile, "profile", string(refund.ProfileFull), "what the provider promises")
	c.Flags().DurationVar(&f.retention, "retention", refund.DefaultRetention, "how long profile retention remembers an operation")
	c.Flags().StringVar(&f.lag, "lag", defaultLag, "how far profile stale's replica is behind: a duration, or manual until the control surface says so")
	c.Flags().StringVar(&f.orders, "orders", "", "JSON `FILE` with the orders to add where they are missing")
	c.Flags().BoolVar(&f.control, "control", false, "open /control, by which anybody who reaches this address can change everything")
	c.Flags().StringVar(&f.record, "record", "", "with --control: `FILE` that keeps what is not in the ledger (received, billed, delivered, set) beyond this process, even one that was killed")
	_ = c.MarkFlagRequired("db")
	return c
}

func serve(c *cobra.Command, f serveFlags) error {
	options, err := f.options()
	if err != nil {
		return err
	}
	options.Log = slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
	// The port comes first: a second provider by mistake must not touch the first one's file.
	listener, err := net.Listen("tcp", f.listen)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return refund.Wrap(refund.CodePortInUse, err, "--listen %q: give another port, or 0 for a free one", f.listen)
	case err != nil:
		return refund.Wrap(refund.CodeInvalidFlag, err, "--listen %q cannot be listened on", f.listen)
	}
	defer listener.Close()
	world, err := server.New(c.Context(), options)
	if err != nil {
		return err
	}
	service := &http.Server{
		Handler: world.Handler(), ReadHeaderTimeout: headerTimeout,
		ErrorLog: slog.NewLogLogger(options.Log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- service.Serve(listener) }()
	fmt.Fprintf(c.OutOrStdout(), "ready http://%s\n", listener.Addr())

	select {
	case err = <-served:
	case <-c.Context().Done():
		stopping, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), stopTimeout)
		defer cancel()
		if service.Shutdown(stopping) != nil {
			_ = service.Close() // a request is held, or a client never ends
		}
		err = nil
	}
	if closeErr := world.Close(); err == nil {
		err = closeErr
	}
	return err
}

func (f serveFlags) options() (server.Options, error) {
	o := server.Options{Database: f.db, Control: f.control, Record: f.record, Announcer: faults.FromEnvironment(), Now: faults.ClockFromEnvironment()}
	if f.record != "" && !f.control {
		return o, refund.Errorf(refund.CodeInvalidFlag, "--record without --control: what it keeps could be read by nobody")
	}
	profile, err := refund.ProfileNamed(refund.ProfileName(f.profile))
	if err != nil {
		return o, err
	}
	if profile.Shared {
		return o, refund.Errorf(refund.CodeInvalidProfile, "profile %q is the journal's own ledger in one file: it is not served", f.profile)
	}
	if f.db == "" {
		return o, refund.Errorf(refund.CodeInvalidFlag, "--db is empty: give the ledger's file")
	}
	if f.retention < time.Millisecond {
		return o, refund.Errorf(refund.CodeInvalidFlag, "--retention is %s: it must be at least 1ms", f.retention)
	}
	lag := ledger.LagManual
	if f.lag != "manual" {
		if lag, err = time.ParseDuration(f.lag); err != nil || lag < 0 {
			return o, refund.Errorf(refund.CodeInvalidFlag, "--lag %q is neither manual nor a duration such as 5s", f.lag)
		}
	}
	o.Promise = ledger.Promise{Profile: profile, Retention: f.retention, Lag: lag}
	if f.orders != "" {
		o.Orders, err = orderfile.Read("--orders", f.orders)
	}
	return o, err
}
