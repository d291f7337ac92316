// Package engineflags are the flags by which worker and starter name an engine and reach it.
package engineflags

import (
	"net"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"refundlab/refund"
)

// The engines.
const (
	Temporal   = "temporal"
	Handrolled = "handrolled"
)

// DefaultTaskQueue is where workers and clients meet at the Temporal server.
const DefaultTaskQueue = "refunds"

// Flags are the values as they were typed.
type Flags struct {
	Engine    string
	Journal   string // file
	TaskQueue string

	address, namespace string
}

// Register declares the flags.
func (f *Flags) Register(flags *pflag.FlagSet) {
	flags.StringVar(&f.Engine, "engine", "", "temporal or handrolled")
	flags.StringVar(&f.address, "temporal-address", "", "`HOST:PORT` of the server (default: TEMPORAL_ADDRESS or Temporal's profile, else localhost:7233)")
	flags.StringVar(&f.namespace, "namespace", "", "namespace (default: as for the address, else default)")
	flags.StringVar(&f.TaskQueue, "task-queue", DefaultTaskQueue, "where clients and workers meet")
	flags.StringVar(&f.Journal, "journal", "", "`FILE` of the journal")
	Only(flags, Temporal, "temporal-address", "namespace", "task-queue")
	Only(flags, Handrolled, "journal")
}

const onlyFor = "refundlab/engine"

// Only ties flags to one engine: with the other they are refused, and the help says so.
func Only(flags *pflag.FlagSet, engine string, names ...string) {
	for _, name := range names {
		flag := flags.Lookup(name)
		flag.Annotations = map[string][]string{onlyFor: {engine}}
		flag.Usage = engine + ": " + flag.Usage
	}
}

// Check refuses what does not fit together, before anything is dialled or opened.
//
// Errors: INVALID_FLAG.
func (f *Flags) Check(flags *pflag.FlagSet) error {
	switch f.Engine {
	case Temporal:
	case Handrolled:
		if f.Journal == "" {
			return refund.Errorf(refund.CodeInvalidFlag, "--journal is missing: name the journal's file")
		}
	case "":
		return refund.Errorf(refund.CodeInvalidFlag, "--engine is missing: it is temporal or handrolled")
	default:
		return refund.Errorf(refund.CodeInvalidFlag, "--engine %q is unknown: it is temporal or handrolled", f.Engine)
	}
	var foreign []string
	flags.Visit(func(flag *pflag.Flag) {
		if of := flag.Annotations[onlyFor]; of != nil && !slices.Contains(of, f.Engine) {
			foreign = append(foreign, "--"+flag.Name)
		}
	})
	if len(foreign) > 0 {
		return refund.Errorf(refund.CodeInvalidFlag, "%s means nothing to --engine %s: leave it out", strings.Join(foreign, ", "), f.Engine)
	}
	if flags.Changed("temporal-address") {
		if _, port, err := net.SplitHostPort(f.address); err != nil || port == "" {
			return refund.Errorf(refund.CodeInvalidFlag, "--temporal-address %q is not HOST:PORT", f.address)
		}
	}
	if flags.Changed("namespace") && f.namespace == "" {
		return refund.Errorf(refund.CodeInvalidFlag, "--namespace is empty: name one, such as default")
	}
	if f.TaskQueue == "" {
		return refund.Errorf(refund.CodeInvalidFlag, "--task-queue is empty: name one, such as %s", DefaultTaskQueue)
	}
	return nil
}
