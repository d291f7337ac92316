package binaries

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"

	"refundlab/refund"
)

// BuildOverlaid builds executables from this module's sources with some files replaced, and from nothing that is written into
// the tree. sources maps a file's path, relative to the module's root and with slashes, to the text that takes its place; dir
// is an existing directory for the executables and for those texts, which the caller removes.
//
// Packages are compiled as Build compiles them, so all that does not reach a replaced file comes from the go command's own
// cache; only symbols and debug information are left out, which belongs to the link alone and halves its time.
//
// Errors: INVALID_FLAG for an unknown name, UNAVAILABLE with the compiler's output if the build fails.
func BuildOverlaid(ctx context.Context, dir string, sources map[string]string, names ...string) (Paths, error) {
	in, err := findModule(ctx)
	if err != nil {
		return nil, err
	}
	overlay, err := in.overlay(dir, sources)
	if err != nil {
		return nil, refund.Wrap(refund.CodeUnavailable, err, "cannot write what replaces the sources")
	}
	paths := Paths{}
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(in.dir, "cmd", name)); name == "" || strings.ContainsAny(name, `/\.`) || err != nil || !info.IsDir() {
			return nil, refund.Errorf(refund.CodeInvalidFlag, "no executable %q: the module in %s has no such command", name, in.dir)
		}
		t := target{name: name, in: in, module: in.dir, pkg: "./cmd/" + name}
		paths[name] = filepath.Join(dir, name)
		r := report(io.Discard, name)
		err := t.goCommand(ctx, nil, r, "build", "-buildvcs=false", "-ldflags=-s -w", "-overlay="+overlay, "-o", paths[name], "--", t.pkg)
		r.close()
		if err != nil {
			return nil, refund.Wrap(refund.CodeUnavailable, err, "cannot build %s", name)
		}
	}
	return paths, nil
}

// ModuleDirectory is the directory of the module of the working directory, which the paths of replaced sources begin in.
//
// Errors: UNAVAILABLE where there is none, or no go command.
func ModuleDirectory(ctx context.Context) (string, error) {
	in, err := findModule(ctx)
	return in.dir, err
}

// overlay writes the replacing texts and the file that names them to the go command.
func (m module) overlay(dir string, sources map[string]string) (string, error) {
	replace := map[string]string{}
	for file, text := range sources {
		copied := filepath.Join(dir, "sources", filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(copied), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(copied, []byte(text), 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(m.dir, filepath.FromSlash(file))] = copied
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o644)
}
