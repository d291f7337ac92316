package binaries

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"refundlab/refund"
)

// module is the Go module of the working directory, and all that decides beside the sources how it is compiled.
type module struct {
	dir       string
	toolchain string
}

func findModule(ctx context.Context) (module, error) {
	const variables = 8
	out, err := goOutput(ctx, ".", "env", "GOMOD", "GOVERSION", "GOOS", "GOARCH", "GOFLAGS", "CGO_ENABLED", "GOEXPERIMENT", "GOAMD64")
	if err != nil {
		return module{}, refund.Wrap(refund.CodeUnavailable, err, "the go command is needed to build the executables")
	}
	lines := strings.SplitN(string(out), "\n", variables)
	if gomod := lines[0]; gomod != "" && gomod != os.DevNull {
		return module{dir: filepath.Dir(gomod), toolchain: strings.Join(lines[1:], "\n")}, nil
	}
	return module{}, refund.Errorf(refund.CodeUnavailable,
		"the working directory is in no Go module: run this inside a clone of the project")
}

// targets finds the executables and the keys of their sources.
func (m module) targets(ctx context.Context, names []string) ([]target, error) {
	var targets []target
	var commands []string
	for _, name := range names {
		t := target{name: name, in: m, module: m.dir, pkg: "./" + filepath.ToSlash(filepath.Join("cmd", name))}
		if name == DevServer {
			// Symbols and debug information are a third of its size, and nobody debugs Temporal here.
			t.module, t.pkg, t.ldflags = filepath.Join(m.dir, DevServer), ".", "-s -w"
		} else {
			commands = append(commands, t.pkg)
		}
		if info, err := os.Stat(filepath.Join(t.module, t.pkg)); name == "" || strings.ContainsAny(name, `/\.`) || err != nil || !info.IsDir() {
			return nil, refund.Errorf(refund.CodeInvalidFlag, "no executable %q: the module in %s has no such command", name, m.dir)
		}
		targets = append(targets, t)
	}
	packages, err := m.list(ctx, commands)
	if err != nil {
		return nil, refund.Wrap(refund.CodeUnavailable, err, "cannot list the sources of %s", strings.Join(names, ", "))
	}
	for i := range targets {
		t := &targets[i]
		var files []string
		if t.name == DevServer {
			files, err = devServerSources(t.module)
		} else {
			files, t.packages = packages.sources(filepath.Join(m.dir, t.pkg))
		}
		if err == nil {
			t.key, err = m.key(*t, files)
		}
		if err != nil {
			return nil, refund.Wrap(refund.CodeUnavailable, err, "cannot read the sources of %s", t.name)
		}
	}
	return targets, nil
}

// devServerSources is every file of its folder but the tests: a complete cache then needs neither the network nor
// the 230 MB of modules that `go list` would load.
func devServerSources(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasSuffix(e.Name(), "_test.go") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, nil
}

// listed is what `go list` tells about one package.
type listed struct {
	ImportPath string
	Dir        string
	Module     *struct{ Main bool }
	GoFiles    []string
	EmbedFiles []string
	Deps       []string
}

type packageList map[string]listed // by import path

func (m module) list(ctx context.Context, patterns []string) (packageList, error) {
	packages := packageList{}
	if len(patterns) == 0 {
		return packages, nil
	}
	out, err := goOutput(ctx, m.dir, append([]string{
		"list", "-deps", "-json=ImportPath,Dir,Module,GoFiles,EmbedFiles,Deps", "--"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages, nil
		}
		if err != nil {
			return nil, err
		}
		packages[p.ImportPath] = p
	}
}

// sources returns the files of this module that go into the command in dir, and the number of all its packages.
func (l packageList) sources(dir string) (files []string, packages int) {
	for _, command := range l {
		if command.Dir != dir {
			continue
		}
		for _, path := range append(command.Deps, command.ImportPath) {
			p := l[path]
			if p.Module == nil || !p.Module.Main {
				continue // go.sum stands for the files of other modules, the toolchain's version for its own
			}
			for _, name := range append(p.GoFiles, p.EmbedFiles...) {
				files = append(files, filepath.Join(p.Dir, name))
			}
		}
		return files, len(command.Deps) + 1
	}
	return nil, 0
}

// key is the hash of everything that decides what the executable does.
func (m module) key(t target, files []string) (string, error) {
	files = append(files, filepath.Join(t.module, "go.mod"), filepath.Join(t.module, "go.sum"))
	slices.Sort(files)
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", m.toolchain, t.ldflags)
	for _, path := range slices.Compact(files) {
		if err := hashFile(h, t.module, path); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

func hashFile(h hash.Hash, root, path string) error {
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && filepath.Base(path) == "go.sum" {
		return nil // a module without dependencies has none
	}
	if err != nil {
		return err
	}
	name, err := filepath.Rel(root, path)
	if err != nil {
		return err
	}
	fmt.Fprintf(h, "%s %d\n", filepath.ToSlash(name), len(content))
	h.Write(content)
	return nil
}

func goOutput(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = goEnvironment()
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, bytes.TrimSpace(failed.Stderr))
	}
	return out, err
}

// goEnvironment keeps a workspace of the user out: devserver and the main module cannot be in one build.
func goEnvironment() []string { return append(os.Environ(), "GOWORK=off") }
