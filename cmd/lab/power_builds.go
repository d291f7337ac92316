package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"refundlab/binaries"
	"refundlab/faults/harness"
	"refundlab/refund"
)

// The settings of synchronous: the product's, and those that a build has in its place.
const (
	syncFull   = "FULL"
	syncNormal = "NORMAL"
	syncOff    = "OFF"
)

var brokenSettings = []string{syncNormal, syncOff}

// powerBench has one lab for each setting.
type powerBench struct {
	*bench
	labs   map[string]*harness.Lab
	builds string // directory of the broken builds
}

// synchronousIn is where a store asks for the setting, and where it reads back that it has it.
var synchronousIn = []struct {
	file string
	full string
	with func(number, name string) string
}{
	{"handrolled/store.go", `{"synchronous", "2"}`, func(number, _ string) string { return `{"synchronous", "` + number + `"}` }},
	{"provider/server/store.go", `synchronous(FULL)`, func(_, name string) string { return `synchronous(` + name + `)` }},
	{"provider/server/store.go", `synchronous != 2`, func(number, _ string) string { return `synchronous != ` + number }},
}

func openPowerBench(ctx context.Context, log io.Writer, engines []string, keep bool) (*powerBench, error) {
	own, err := openBench(ctx, log, engines, serverFlags{}, keep)
	if err != nil {
		return nil, err
	}
	b := &powerBench{bench: own, labs: map[string]*harness.Lab{syncFull: &own.lab}}
	if b.builds, err = os.MkdirTemp("", "power-"); err != nil {
		return nil, closing(err, b)
	}
	for _, setting := range brokenSettings {
		fmt.Fprintf(log, "building with synchronous=%s\n", setting)
		if b.labs[setting], err = b.without(ctx, setting, engines); err != nil {
			return nil, closing(err, b)
		}
	}
	return b, nil
}

func closing(err error, b *powerBench) error {
	_ = b.close() // the error that counts is told
	return err
}

func (b *powerBench) close() error {
	err := b.bench.close()
	if b.builds != "" {
		if removed := os.RemoveAll(b.builds); err == nil {
			err = removed
		}
	}
	return err
}

// without is the lab whose stores do not sync their commits. The tree is not touched. The Temporal server takes the setting as
// a flag.
func (b *powerBench) without(ctx context.Context, setting string, engines []string) (*harness.Lab, error) {
	lab := b.lab
	lab.Engines = maps.Clone(b.lab.Engines)
	if slices.Contains(engines, temporalEngine) {
		engine := lab.Engines[temporalEngine]
		engine.Server = unsynced(engine.Server, setting)
		lab.Engines[temporalEngine] = engine
	}
	if !slices.Contains(engines, handrolledEngine) {
		return &lab, nil
	}
	number := map[string]string{syncNormal: "1", syncOff: "0"}[setting]
	sources := map[string]string{}
	for _, place := range synchronousIn {
		text, replaced := sources[place.file]
		if !replaced {
			original, err := os.ReadFile(filepath.FromSlash(place.file))
			if err != nil {
				return nil, refund.Wrap(refund.CodeUnavailable, err, "the sources are read in the module's root")
			}
			text = string(original)
		}
		// A text that is not there, or twice, would leave a build that is not the one that it is taken for.
		if n := strings.Count(text, place.full); n != 1 {
			return nil, refund.Errorf(refund.CodeInternal, "%s has %q %d times: the control no longer fits its source", place.file, place.full, n)
		}
		sources[place.file] = strings.Replace(text, place.full, place.with(number, setting), 1)
	}
	dir := filepath.Join(b.builds, setting)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	paths, err := binaries.BuildOverlaid(ctx, dir, sources, binaries.Worker, binaries.Starter, binaries.Provider)
	if err != nil {
		return nil, err
	}
	lab.Engines[handrolledEngine] = journalLines(paths)
	lab.Provider = append([]string{paths[binaries.Provider]}, b.lab.Provider[1:]...)
	lab.DumpLocal = append([]string{paths[binaries.Provider]}, b.lab.DumpLocal[1:]...)
	return &lab, nil
}

// unsynced is a server's command line with another setting of synchronous.
func unsynced(line []string, setting string) []string {
	line = slices.Clone(line)
	for i, argument := range line {
		if argument == "synchronous=full" {
			line[i] = "synchronous=" + strings.ToLower(setting)
		}
	}
	return line
}
