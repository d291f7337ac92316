package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"refundlab/binaries"
	"refundlab/cmd/internal/children"
	"refundlab/cmd/internal/cmdline"
	"refundlab/refund"
	"refundlab/temporalserver"
	"refundlab/workflows"
)

// Names of the children, and of their logs.
const (
	providerName = "provider"
	temporalName = "temporal-1"
	journalName  = "journal-1"
)

// playground is everything that "lab up" runs, in one directory.
type playground struct {
	dir, profile    string
	temporalAddress string // of a server that is there already; empty: start one
	temporalCLI     string

	out, log io.Writer
	children children.Children
	workers  map[string]string      // those that live, each with the script that starts another one
	server   *temporalserver.Server // nil when it is not ours
	paths    binaries.Paths
	provider string // URL
}

func upCommand() *cobra.Command {
	var p playground
	c := &cobra.Command{
		Use:   "up",
		Short: "Start provider, Temporal server and a worker of each engine for playing by hand",
		Long: `Start the provider, a Temporal server and a worker of each engine, seed a few orders and print what to try. Ctrl-C ends
everything. All data is in one directory; started again on it, everything goes on where it was. orders.json there is written
once and then yours.

A worker may be killed: that is told, and the rest goes on. The scripts temporal-worker and journal-worker start another one.

The Temporal server is built on first use, which takes minutes, unless --temporal-cli names an installed Temporal CLI or
--temporal-address (or TEMPORAL_ADDRESS) a running server, which needs the search attributes RefundStatus and RefundDeadline.`,
		Example: `  go run ./cmd/lab up
  go run ./cmd/lab up --dir play --profile opaque`,
		Args:        cobra.NoArgs,
		Annotations: cmdline.Serves(),
		RunE: func(c *cobra.Command, _ []string) error {
			p.out, p.log = c.OutOrStdout(), c.ErrOrStderr()
			if err := p.check(c.Flags().Changed("temporal-address")); err != nil {
				return err
			}
			return p.run(c.Context())
		},
	}
	c.Flags().StringVar(&p.dir, "dir", "", "`DIRECTORY` for all data (default: a new one, which is named)")
	c.Flags().StringVar(&p.profile, "profile", string(refund.ProfileFull), "what the provider promises: full, retention, lenient, lookup, stale or opaque")
	c.Flags().StringVar(&p.temporalAddress, "temporal-address", "", "`HOST:PORT` of a running Temporal server")
	c.Flags().StringVar(&p.temporalCLI, "temporal-cli", "", "`PATH` of an installed Temporal CLI, whose server is used")
	c.MarkFlagsMutuallyExclusive("temporal-address", "temporal-cli")
	return c
}

func (p *playground) check(addressGiven bool) error {
	profile, err := refund.ProfileNamed(refund.ProfileName(p.profile))
	if err != nil {
		return err
	}
	if profile.Shared {
		return refund.Errorf(refund.CodeInvalidProfile, "profile %s has no provider of its own: ask for it with the starter on a journal", p.profile)
	}
	if !addressGiven && p.temporalCLI == "" {
		p.temporalAddress = os.Getenv("TEMPORAL_ADDRESS")
		addressGiven = p.temporalAddress != ""
	}
	if _, port, err := net.SplitHostPort(p.temporalAddress); addressGiven && (err != nil || port == "") {
		return refund.Errorf(refund.CodeInvalidFlag, "Temporal address %q is not HOST:PORT", p.temporalAddress)
	}
	return nil
}

func (p *playground) run(ctx context.Context) error {
	lock, err := p.prepareDirectory()
	if err != nil {
		return err
	}
	defer lock.Close() // which unlocks it
	err = p.start(ctx)
	if err == nil {
		p.printTour()
		err = p.awaitEnd(ctx)
	}
	if ctx.Err() != nil {
		err = nil // the end was asked for, whatever it interrupted
	}
	fmt.Fprintln(p.log, "stopping")
	if stopped := p.stop(); err == nil {
		err = stopped
	}
	fmt.Fprintf(p.log, "data and logs stay in %s: go on with --dir %s\n", p.dir, p.dir)
	return err
}

func (p *playground) start(ctx context.Context) error {
	names := []string{binaries.Provider, binaries.Worker, binaries.Starter}
	if p.temporalAddress == "" && p.temporalCLI == "" {
		names = append(names, binaries.DevServer)
	}
	var err error
	if p.paths, err = binaries.Build(ctx, p.log, names...); err != nil {
		return err
	}
	orders, err := p.orders()
	if err != nil {
		return err
	}
	if p.provider, err = p.child(ctx, providerName, p.paths[binaries.Provider], "serve", "--listen", "127.0.0.1:0",
		"--db", filepath.Join(p.dir, "provider.db"), "--profile", p.profile, "--orders", orders); err != nil {
		return err
	}
	if p.temporalAddress == "" {
		if err := p.startServer(ctx); err != nil {
			return err
		}
	}
	if err := p.writeScripts(); err != nil {
		return err
	}
	p.workers = map[string]string{}
	for _, worker := range []struct {
		name, script string
		engine       []string
	}{
		{temporalName, temporalWorker, p.temporalFlags()},
		{journalName, journalWorker, p.journalFlags()},
	} {
		args := append([]string{"--name", worker.name, "--provider", p.provider}, worker.engine...)
		if _, err := p.child(ctx, worker.name, p.paths[binaries.Worker], args...); err != nil {
			return err
		}
		p.workers[worker.name] = worker.script
	}
	return nil
}

// startServer starts the Temporal server on free ports.
func (p *playground) startServer(ctx context.Context) error {
	ui, err := freePort()
	if err != nil {
		return err
	}
	p.server, err = temporalserver.Start(ctx, temporalserver.Options{
		Binary: p.paths[binaries.DevServer], CLI: p.temporalCLI,
		DBFile: filepath.Join(p.dir, "temporal.db"), LogFile: p.serverLog(), UIPort: ui,
		SearchAttributes: workflows.SearchAttributes(),
	})
	return p.serverError(err)
}

func (p *playground) serverLog() string { return filepath.Join(p.dir, "temporal-server.log") }

// serverError puts the log's name where an error quotes the log of the server: many lines of JSON.
func (p *playground) serverError(err error) error {
	var quoting *refund.Error
	if errors.As(err, &quoting) && strings.ContainsAny(quoting.Text(), "\n{") {
		return refund.Errorf(quoting.Code, "the Temporal server did not start or end as it should: see its log %s", p.serverLog())
	}
	return err
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, refund.Wrap(refund.CodePortInUse, err, "no free port")
	}
	defer listener.Close()
	address, err := netip.ParseAddrPort(listener.Addr().String())
	return int(address.Port()), err
}

func (p *playground) address() string {
	if p.server != nil {
		return p.server.Address()
	}
	return p.temporalAddress
}

func (p *playground) journal() string { return filepath.Join(p.dir, "journal.db") }

func (p *playground) temporalFlags() []string {
	return []string{"--engine", "temporal", "--temporal-address", p.address()}
}

func (p *playground) journalFlags() []string {
	return []string{"--engine", "handrolled", "--journal", p.journal()}
}

// child starts one of our processes and waits until it is ready.
func (p *playground) child(ctx context.Context, name, path string, args ...string) (ready string, err error) {
	env := os.Environ()
	if p.server != nil { // settings of the user's shell point at another server
		env = append(withoutTemporal(env), "TEMPORAL_CONFIG_FILE="+os.DevNull)
	}
	return p.children.Start(ctx, name, filepath.Join(p.dir, name+".log"), env, path, args...)
}

func withoutTemporal(env []string) []string {
	var kept []string
	for _, variable := range env {
		if !strings.HasPrefix(variable, "TEMPORAL_") {
			kept = append(kept, variable)
		}
	}
	return kept
}

// awaitEnd returns nil when ctx ends, and an error when provider or server end before. The death of a worker is what both
// engines are made for: it is told, and the rest goes on.
func (p *playground) awaitEnd(ctx context.Context) error {
	var server <-chan struct{}
	if p.server != nil {
		server = p.server.Exited()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case dead := <-p.children.Dead():
			script, worker := p.workers[dead.Name]
			if !worker {
				return dead.Failure()
			}
			delete(p.workers, dead.Name)
			fmt.Fprintf(p.log, "%s: its log is %s, and %s starts another one\n", dead.Ended(), dead.Log, quoted(filepath.Join(p.dir, script)))
		case <-server:
			_ = p.server.Stop() // quotes the log
			return refund.Errorf(refund.CodeUnavailable, "the Temporal server (pid %d) ended: see its log %s", p.server.Pid(), p.serverLog())
		}
	}
}

// stop ends the workers first, so that they can finish what is in flight against servers that are still there.
func (p *playground) stop() error {
	const patience = 30 * time.Second // longer than a worker gives to what is in flight
	err := p.children.Stop(patience, slices.Collect(maps.Keys(p.workers))...)
	if p.server != nil {
		if stopped := p.serverError(p.server.Stop()); err == nil {
			err = stopped
		}
	}
	if stopped := p.children.Stop(patience, providerName); err == nil {
		err = stopped
	}
	return err
}
