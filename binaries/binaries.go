// Package binaries builds the project's executables into the user's cache directory, each once for its sources,
// so that everything which starts real processes starts the same ones and none is compiled twice.
package binaries

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"refundlab/refund"
)

// The executables of this project. DevServer is a module of its own in the folder of that name; the others are the
// commands under cmd.
const (
	DevServer = "devserver"
	Worker    = "worker"
	Starter   = "starter"
	Provider  = "provider"
)

// cacheVariable names the environment variable that replaces the cache directory.
const cacheVariable = "REFUNDLAB_CACHE"

// Paths maps the name of an executable to its absolute path. A file never changes its content.
type Paths map[string]string

// Build returns the executables with these names, building those that the cache lacks; without names, all of them.
// The module is the one of the working directory. Processes that build the same executable wait for one of them.
//
// While it builds or waits it tells progress about it: a first build of devserver takes minutes. A complete cache
// is silent. When ctx ends, the build is interrupted and the cache is as before.
//
// Errors: INVALID_FLAG for an unknown name, UNAVAILABLE with the compiler's output if a build fails.
func Build(ctx context.Context, progress io.Writer, names ...string) (Paths, error) {
	if len(names) == 0 {
		names = []string{DevServer, Worker, Starter, Provider}
	}
	module, err := findModule(ctx)
	if err != nil {
		return nil, err
	}
	cache, err := cacheDirectory()
	if err != nil {
		return nil, err
	}
	targets, err := module.targets(ctx, names)
	if err != nil {
		return nil, err
	}
	paths := Paths{}
	for _, t := range targets {
		path, err := t.provide(ctx, filepath.Join(cache, t.name), progress)
		if err != nil {
			return nil, refund.Wrap(refund.CodeUnavailable, err, "cannot build %s", t.name)
		}
		paths[t.name] = path
	}
	return paths, nil
}

func cacheDirectory() (string, error) {
	dir := os.Getenv(cacheVariable)
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", refund.Wrap(refund.CodeUnavailable, err, "no cache directory: set %s", cacheVariable)
		}
		dir = filepath.Join(base, "refundlab")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", refund.Wrap(refund.CodeUnavailable, err, "cache directory %q", dir)
	}
	return dir, nil
}

// target is one executable to be had: where its package is, and the key of its present sources.
type target struct {
	name     string
	in       module // that was asked for it
	module   string // directory of its go.mod
	pkg      string // import path or pattern, in that module
	ldflags  string
	key      string
	packages int // how many packages it consists of; 0 if not counted yet
}

// provide returns the path of the executable in shelf, the directory of all versions of this name.
func (t target) provide(ctx context.Context, shelf string, progress io.Writer) (string, error) {
	path := filepath.Join(shelf, t.key, t.name)
	if present(path) {
		return path, nil
	}
	if err := os.MkdirAll(shelf, 0o755); err != nil {
		return "", err
	}
	r := report(progress, t.name)
	defer r.close()
	unlock, err := lock(ctx, filepath.Join(shelf, "lock"), func() { r.phase("waiting for another process that builds it") })
	if err != nil {
		return "", err
	}
	defer unlock()
	if present(path) {
		return path, nil // the other process built it
	}
	if err := t.build(ctx, shelf, r); err != nil {
		return "", err
	}
	return path, prune(shelf)
}

// present also marks the version as used, which decides what prune keeps.
func present(path string) bool {
	if _, err := os.Stat(path); err != nil {
		return false
	}
	touch(filepath.Dir(path))
	return true
}

// build compiles into a directory beside the final one and renames it into place, so that a version is there
// completely or not at all. The caller holds the lock, so whatever bears the prefix was left by a killed build.
func (t target) build(ctx context.Context, shelf string, r *reporter) error {
	const unfinished = "unfinished-"
	entries, err := os.ReadDir(shelf)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), unfinished) {
			if err := os.RemoveAll(filepath.Join(shelf, e.Name())); err != nil {
				return err
			}
		}
	}
	dir, err := os.MkdirTemp(shelf, unfinished)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	if err := t.compile(ctx, filepath.Join(dir, t.name), r); err != nil {
		return err
	}
	// A file that was saved while the compiler ran would leave an executable under a key that is not its own, for ever.
	if present, err := t.in.targets(ctx, []string{t.name}); err != nil {
		return err
	} else if present[0].key != t.key {
		return errors.New("the sources changed while they were compiled: build again")
	}
	final := filepath.Join(shelf, t.key)
	if err := os.RemoveAll(final); err != nil { // a version without its file: somebody cleaned up by hand
		return err
	}
	if err := os.Rename(dir, final); err != nil {
		return err
	}
	touch(final)
	return nil
}

// prune keeps the two versions used last, so that going back and forth between two branches builds nothing, and every
// version that somebody asked for lately: a run of the suite starts processes from the one it was given until its end, and
// another checkout may build meanwhile.
func prune(shelf string) error {
	const (
		keep  = 2
		inUse = 3 * time.Hour // longer than any run
	)
	entries, err := os.ReadDir(shelf)
	if err != nil {
		return err
	}
	type version struct {
		path string
		used time.Time
	}
	var versions []version
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			continue
		}
		if err != nil {
			return err
		}
		versions = append(versions, version{filepath.Join(shelf, e.Name()), info.ModTime()})
	}
	slices.SortFunc(versions, func(a, b version) int { return b.used.Compare(a.used) })
	for _, v := range versions[min(keep, len(versions)):] {
		if time.Since(v.used) < inUse {
			continue
		}
		if err := os.RemoveAll(v.path); err != nil {
			return err
		}
	}
	return nil
}
