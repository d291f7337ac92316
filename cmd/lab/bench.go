package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"refundlab/binaries"
	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/faults/harness"
	"refundlab/refund"
	"refundlab/temporalserver"
	"refundlab/workflows"
)

// The engines by name.
const (
	temporalEngine   = "temporal"
	handrolledEngine = "handrolled"
)

var engineNames = []string{temporalEngine, handrolledEngine}

// budget is the one set of time-outs of all trials, short on purpose: with real ones a run would wait for hours. It is not
// shorter, because a call that merely stands in a queue on a busy machine must not look like a fault.
var budget = evidence.Budget{
	CallTimeoutMS:         1_500,
	LeaseMS:               1_500,
	StartToCloseMS:        4_000, // two calls and a second to report, as the workflow has it
	WorkflowTaskTimeoutMS: 2_000,
	StickyTimeoutMS:       0,
	BackoffMS:             100,
	BoundMS:               45_000,
}

// trialDeadline ends a trial that hangs. It is far above the longest, which waits for several time-outs in a row.
const trialDeadline = 90 * time.Second

// serverFlags say where the Temporal server comes from.
type serverFlags struct{ address, cli string }

func (f *serverFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.address, "temporal-address", "", "`HOST:PORT` of a running Temporal server (default: TEMPORAL_ADDRESS, else one is started)")
	c.Flags().StringVar(&f.cli, "temporal-cli", "", "`PATH` of an installed Temporal CLI, whose server is used")
	c.MarkFlagsMutuallyExclusive("temporal-address", "temporal-cli")
}

// bench is everything that trials are played with: the executables, the servers that they share, and their directories.
type bench struct {
	lab    harness.Lab
	paths  binaries.Paths
	server *temporalserver.Server // nil when it is not ours, or not needed
	built  time.Time              // when everything was built and running
}

// openBench builds what the engines need and starts what their trials share.
func openBench(ctx context.Context, log io.Writer, engines []string, from serverFlags, keep bool) (*bench, error) {
	usesTemporal := slices.Contains(engines, temporalEngine)
	if from.address == "" && from.cli == "" {
		from.address = os.Getenv("TEMPORAL_ADDRESS")
	}
	if usesTemporal && from.address != "" {
		if err := reachable(ctx, from.address); err != nil {
			return nil, err
		}
	}
	names := []string{binaries.Provider, binaries.Worker, binaries.Starter}
	if usesTemporal && from.address == "" && from.cli == "" {
		names = append(names, binaries.DevServer)
	}
	paths, err := binaries.Build(ctx, log, names...)
	if err != nil {
		return nil, err
	}
	b := &bench{built: time.Now(), paths: paths}
	scratch, err := os.MkdirTemp("", "lab-") // short, because the path of a Unix socket is
	if err != nil {
		return nil, refund.Wrap(refund.CodeStoreUnreadable, err, "no directory for the trials")
	}
	b.lab = harness.Lab{
		Provider:  []string{paths[binaries.Provider], "serve", "--listen", "127.0.0.1:0", "--db", "{ledger}/provider.db", "--profile", "{profile}", "--lag", "manual", "--orders", "{orders}", "--control", "--record", "{dir}/provider.record"},
		DumpLocal: []string{paths[binaries.Provider], "dump", "--db", "{journal}/journal.db", "--profile", "local"},
		Budget:    budget, Deadline: trialDeadline, Scratch: scratch, Nonce: rand.Text(), Keep: keep,
	}
	if usesTemporal && from.address == "" {
		b.server, err = temporalserver.Start(ctx, temporalserver.Options{
			Binary: paths[binaries.DevServer], CLI: from.cli,
			DBFile: filepath.Join(scratch, "temporal.db"), LogFile: filepath.Join(scratch, "temporal-server.log"),
			SearchAttributes: workflows.SearchAttributes(),
		})
		if err != nil {
			return nil, errors.Join(err, b.close())
		}
		from.address = b.server.Address()
	}
	b.lab.Engines = map[string]harness.Engine{temporalEngine: temporalLines(paths, from.address), handrolledEngine: journalLines(paths)}
	return b, nil
}

// reachable refuses an address at which no trial could find a server, before anything is played or written over.
func reachable(ctx context.Context, address string) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return refund.Wrap(refund.CodeInvalidFlag, err, "Temporal's address %q is not HOST:PORT", address)
	}
	connection, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return refund.Wrap(refund.CodeUnavailable, err, "no Temporal server answers at %s, the address of --temporal-address or TEMPORAL_ADDRESS", address)
	}
	return connection.Close()
}

// close ends what the trials shared. A server that had ended by itself is an error: its trials measured something else.
func (b *bench) close() error {
	var err error
	if b.server != nil {
		err = b.server.Stop()
	}
	if !b.lab.Keep {
		err = errors.Join(err, os.RemoveAll(b.lab.Scratch))
	}
	return err
}

// temporalLines are the command lines of the Temporal engine. Without a sticky cache a run of a dead worker waits for the
// time-outs of the budget and for nothing else.
func temporalLines(paths binaries.Paths, address string) harness.Engine {
	reach := []string{"--engine", temporalEngine, "--temporal-address", "{server}", "--namespace", "default", "--task-queue", "{queue}"}
	return harness.Engine{
		Worker:  slices.Concat([]string{paths[binaries.Worker], "--name", "{name}", "--provider", "{provider}", "--model", "{model}/model/v1"}, reach, []string{"--sticky-cache", "0"}),
		Starter: slices.Concat([]string{paths[binaries.Starter]}, reach, []string{"--workflow-task-timeout", span(budget.WorkflowTaskTimeoutMS)}),
		Env:     []string{"TEMPORAL_CONFIG_FILE=" + os.DevNull}, // a profile of the user's would point elsewhere
		Over:    faults.Finish,
		Address: address,
		Server:  ownServer(paths),
	}
}

// ownServer is the command line of a trial's own server: devserver's alone, because another one announces nothing. It is told
// apart from the shared one by its file.
func ownServer(paths binaries.Paths) []string {
	if paths[binaries.DevServer] == "" {
		return nil
	}
	return temporalserver.CommandLine(temporalserver.Options{
		Binary: paths[binaries.DevServer], DBFile: "{history}/temporal.db", SearchAttributes: workflows.SearchAttributes(),
	})
}

func journalLines(paths binaries.Paths) harness.Engine {
	reach := []string{"--engine", handrolledEngine, "--journal", "{journal}/journal.db"}
	return harness.Engine{
		Worker:    slices.Concat([]string{paths[binaries.Worker], "--name", "{name}", "--provider", "{provider}", "--model", "{model}/model/v1"}, reach, []string{"--lease", span(budget.LeaseMS)}),
		Starter:   slices.Concat([]string{paths[binaries.Starter]}, reach),
		WorkerFor: map[string][]string{string(refund.ProfileLocal): {"--local-orders", "{orders}"}},
		Over:      faults.Notified,
	}
}

func span(ms int64) string { return strconv.FormatInt(ms, 10) + "ms" }
