package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"refundlab/binaries"
	"refundlab/controls"
	"refundlab/evidence"
	"refundlab/faults/harness"
)

// brokenSettings of synchronous stand in the place of the product's in the controls.
var brokenSettings = []string{controls.SynchronousNormal, controls.SynchronousOff}

// powerBench has one laboratory for each setting of synchronous.
type powerBench struct {
	*bench
	labs map[string]*harness.Lab
}

// openPowerBench builds what has another setting below the scratch directory of the bench, which goes with it.
func openPowerBench(ctx context.Context, log io.Writer, engines []string, keep bool) (*powerBench, error) {
	root, err := binaries.ModuleDirectory(ctx)
	if err != nil {
		return nil, err
	}
	own, err := openBench(ctx, log, engines, serverFlags{}, keep)
	if err != nil {
		return nil, err
	}
	b := &powerBench{bench: own, labs: map[string]*harness.Lab{evidence.SynchronousFull: &own.lab}}
	for _, setting := range brokenSettings {
		fmt.Fprintf(log, "building with synchronous=%s\n", setting)
		if b.labs[setting], err = b.without(ctx, root, setting); err != nil {
			return nil, errors.Join(err, b.close())
		}
	}
	return b, nil
}

// without is the laboratory whose stores do not sync their commits. The Temporal server takes the setting as a flag.
func (b *powerBench) without(ctx context.Context, root, setting string) (*harness.Lab, error) {
	control := controls.Synchronous(setting)
	sources, err := control.Sources(root)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(b.lab.Scratch, control.Name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	paths, err := binaries.BuildOverlaid(ctx, dir, sources, control.Executables...)
	if err != nil {
		return nil, err
	}
	lab := b.with(paths)
	engine := lab.Engines[temporalEngine]
	engine.Server = unsynced(engine.Server, setting)
	lab.Engines[temporalEngine] = engine
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
