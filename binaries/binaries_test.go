package binaries_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/binaries"
	"refundlab/refund"
)

// project makes a module with the commands alpha and beta the working directory, and returns it and an empty cache.
func project(t *testing.T) (module, cache string) {
	t.Helper()
	module, cache = t.TempDir(), t.TempDir()
	for name, content := range map[string]string{
		"go.mod":              "module tiny\n\ngo 1.26\n",
		"cmd/alpha/main.go":   "package main\n\nimport \"tiny/word\"\n\nfunc main() { print(word.Word) }\n",
		"cmd/alpha/a_test.go": "package main\n",
		"cmd/beta/main.go":    "package main\n\nfunc main() { print(\"beta\") }\n",
		"word/word.go":        "package word\n\nimport _ \"embed\"\n\n//go:embed word.txt\nvar Word string\n",
		"word/word.txt":       "one",
		"devserver/go.mod":    "module tiny/devserver\n\ngo 1.26\n",
		"devserver/main.go":   "package main\n\nfunc main() { print(\"server\") }\n",
	} {
		write(t, filepath.Join(module, name), content)
	}
	t.Chdir(module)
	t.Setenv("REFUNDLAB_CACHE", cache)
	return module, cache
}

func write(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
}

// build returns the path of the executable and what was told about building it.
func build(t *testing.T, name string) (path, progress string) {
	t.Helper()
	var told bytes.Buffer
	paths, err := binaries.Build(t.Context(), &told, name)
	require.NoError(t, err)
	require.Len(t, paths, 1)
	return paths[name], told.String()
}

func output(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.Command(path).CombinedOutput()
	require.NoError(t, err)
	return string(out)
}

func files(t *testing.T, dir string) (found []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			found = append(found, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	}))
	return found
}

func TestTheSameSourcesAreBuiltOnce(t *testing.T) {
	module, _ := project(t)
	first, told := build(t, "alpha")
	require.Equal(t, "one", output(t, first))
	require.Contains(t, told, "built alpha in ")
	before, err := os.Stat(first)
	require.NoError(t, err)

	write(t, filepath.Join(module, "cmd/alpha/a_test.go"), "package main // changed\n")
	write(t, filepath.Join(module, "cmd/beta/main.go"), "package main\n\nfunc main() { print(\"changed\") }\n")
	t.Chdir(filepath.Join(module, "word")) // any directory of the module will do
	second, told := build(t, "alpha")
	after, err := os.Stat(second)
	require.NoError(t, err)
	require.Equal(t, first, second, "neither tests nor other commands are its sources")
	require.True(t, os.SameFile(before, after))
	require.Empty(t, told, "a complete cache is silent")
}

func TestChangedSourcesAreAnotherExecutable(t *testing.T) {
	module, _ := project(t)
	for name, c := range map[string]struct{ command, file, content, prints string }{
		"a package it imports":  {"alpha", "word/word.go", "package word\n\nvar Word = \"two\"\n", "two"},
		"a file that it embeds": {"beta", "cmd/beta/main.go", "package main\n\nimport _ \"embed\"\n\n//go:embed b.txt\nvar b string\n\nfunc main() { print(b) }\n", "embedded"},
		"the server's module":   {binaries.DevServer, "devserver/main.go", "package main\n\nfunc main() { print(\"other\") }\n", "other"},
	} {
		t.Run(name, func(t *testing.T) {
			first, _ := build(t, c.command)
			write(t, filepath.Join(module, "cmd/beta/b.txt"), "embedded")
			write(t, filepath.Join(module, c.file), c.content)
			second, told := build(t, c.command)
			require.NotEqual(t, first, second)
			require.Contains(t, told, "built "+c.command)
			require.Equal(t, c.prints, output(t, second))
			require.FileExists(t, first, "whoever runs the former one is not disturbed")
		})
	}
	first, _ := build(t, "beta")
	write(t, filepath.Join(module, "cmd/beta/b.txt"), "embedded again")
	second, _ := build(t, "beta")
	require.NotEqual(t, first, second)
	require.Equal(t, "embedded again", output(t, second))
}

func TestOnlyTheTwoVersionsUsedLastAreKept(t *testing.T) {
	module, cache := project(t)
	var paths []string
	version := func(word string) string {
		write(t, filepath.Join(module, "word/word.txt"), word)
		path, _ := build(t, "alpha")
		return path
	}
	for _, word := range []string{"one", "two", "one", "three"} {
		paths = append(paths, version(word))
	}
	require.Equal(t, paths[0], paths[2])
	require.FileExists(t, paths[0])
	require.NoFileExists(t, paths[1], "two was used before one and three")
	require.FileExists(t, paths[3])
	require.Len(t, files(t, cache), 3, "two versions and the lock")
}

func TestConcurrentCallersShareOneBuild(t *testing.T) {
	project(t)
	const callers = 4
	var wait sync.WaitGroup
	told := make([]bytes.Buffer, callers)
	paths := make([]string, callers)
	errs := make([]error, callers)
	for i := range callers {
		wait.Go(func() {
			found, err := binaries.Build(t.Context(), &told[i], "alpha")
			paths[i], errs[i] = found["alpha"], err
		})
	}
	wait.Wait()
	built := 0
	for i := range callers {
		require.NoError(t, errs[i])
		require.Equal(t, paths[0], paths[i])
		built += strings.Count(told[i].String(), "built alpha")
	}
	require.Equal(t, 1, built)
}

func TestAFailedBuildLeavesNothing(t *testing.T) {
	module, cache := project(t)
	write(t, filepath.Join(module, "cmd/alpha/main.go"), "package main\n\nfunc main() { undefinedThing() }\n")
	var told bytes.Buffer
	_, err := binaries.Build(t.Context(), &told, "alpha")
	require.Equal(t, refund.CodeUnavailable, refund.CodeOf(err))
	require.ErrorContains(t, err, "cannot build alpha")
	require.ErrorContains(t, err, "main.go:3:15: undefined: undefinedThing")
	require.Equal(t, []string{"alpha/lock"}, files(t, cache))
	require.NotContains(t, told.String(), "built")
}

func TestAnInterruptedBuildLeavesNothingAndTheNextOneCleansUp(t *testing.T) {
	_, cache := project(t)
	write(t, filepath.Join(cache, "alpha/unfinished-1/alpha"), "half of an executable") // of a killed process

	ctx, cancel := context.WithCancel(t.Context())
	_, err := binaries.Build(ctx, writerFunc(func(line string) {
		if strings.Contains(line, "compiling") {
			cancel()
		}
	}), "alpha")
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{"alpha/lock"}, files(t, cache))

	path, _ := build(t, "alpha")
	require.Equal(t, "one", output(t, path))
}

func TestACallerThatWaitsForAnotherBuildCanGiveUp(t *testing.T) {
	_, cache := project(t)
	lock := holdLock(t, filepath.Join(cache, "alpha", "lock"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := binaries.Build(ctx, writerFunc(func(line string) {
		if strings.Contains(line, "waiting for another process") {
			cancel()
		}
	}), "alpha")
	require.ErrorIs(t, err, context.Canceled)

	require.NoError(t, lock.Close())
	path, _ := build(t, "alpha")
	require.Equal(t, "one", output(t, path))
}

func TestWhatCannotBeBuiltIsRefused(t *testing.T) {
	module, _ := project(t)
	for name, command := range map[string]string{
		"unknown":        "gamma",
		"empty":          "",
		"outside":        "../word",
		"another folder": "alpha/x",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := binaries.Build(t.Context(), &bytes.Buffer{}, command)
			require.Equal(t, refund.CodeInvalidFlag, refund.CodeOf(err))
			require.ErrorContains(t, err, module)
		})
	}
	t.Run("outside of a module", func(t *testing.T) {
		t.Chdir(t.TempDir())
		_, err := binaries.Build(t.Context(), &bytes.Buffer{}, "alpha")
		require.ErrorContains(t, err, "in no Go module")
	})
}

type writerFunc func(line string)

func (f writerFunc) Write(p []byte) (int, error) {
	f(string(p))
	return len(p), nil
}
