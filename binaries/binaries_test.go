package binaries_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
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

// shelf returns what the cache holds for the command.
func shelf(t *testing.T, cache, command string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(cache, command))
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
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

func TestTheTwoVersionsUsedLastAndThoseThatMayBeRunningAreKept(t *testing.T) {
	module, cache := project(t)
	version := func(word string) string {
		write(t, filepath.Join(module, "word/word.txt"), word)
		path, _ := build(t, "alpha")
		return path
	}
	one, two, three, four := version("one"), version("two"), version("three"), version("four")
	require.FileExists(t, one, "a suite may still be running it")

	longAgo := time.Now().Add(-24 * time.Hour)
	for _, path := range []string{one, two} {
		require.NoError(t, os.Chtimes(filepath.Dir(path), longAgo, longAgo))
	}
	require.Equal(t, one, version("one"), "found, and so used again")
	five := version("five")
	require.NoFileExists(t, two, "nobody has used it for a day")
	for _, path := range []string{one, three, four, five} {
		require.FileExists(t, path)
	}
	require.Len(t, shelf(t, cache, "alpha"), 5, "four versions and the lock")
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
	require.Equal(t, []string{"lock"}, shelf(t, cache, "alpha"))
	require.NotContains(t, told.String(), "built")
}

func TestAnInterruptedBuildEndsItsCompilersAndLeavesNothing(t *testing.T) {
	_, cache := project(t)
	// In place of the compiler: tell the own pid, then hang.
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	hang := filepath.Join(t.TempDir(), "hang")
	write(t, hang, "#!/bin/sh\ncase \"$2\" in -V=full) exec \"$@\" ;; esac\necho $$ > "+fifo+"\nexec sleep 600\n")
	require.NoError(t, os.Chmod(hang, 0o755))
	t.Setenv("GOFLAGS", "-toolexec="+hang)

	ctx, cancel := context.WithCancel(t.Context())
	pid := make(chan string, 1)
	go func() {
		defer cancel()
		line, _ := os.ReadFile(fifo) // returns once a compiler runs
		pid <- strings.Fields(string(line) + " none")[0]
	}()
	_, err := binaries.Build(ctx, &bytes.Buffer{}, "alpha")
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{"lock"}, shelf(t, cache, "alpha"))
	compiler := <-pid
	require.Regexp(t, `^\d+$`, compiler)
	require.Eventually(t, func() bool { return !running(compiler) }, 10*time.Second, 20*time.Millisecond)
}

func TestTheNextBuildCleansUpAfterAKilledOne(t *testing.T) {
	_, cache := project(t)
	write(t, filepath.Join(cache, "alpha/unfinished-1/alpha"), "half of an executable")
	path, _ := build(t, "alpha")
	require.Equal(t, "one", output(t, path))
	require.Equal(t, []string{filepath.Base(filepath.Dir(path)), "lock"}, shelf(t, cache, "alpha"))
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

// running says whether the process runs, where there is a /proc to ask; one that init has yet to collect does not.
func running(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

type writerFunc func(line string)

func (f writerFunc) Write(p []byte) (int, error) {
	f(string(p))
	return len(p), nil
}

// savesWhileBuilding is a progress writer that saves another version of a file at its first line, before the compiler runs.
type savesWhileBuilding struct {
	once sync.Once
	save func()
}

func (w *savesWhileBuilding) Write(p []byte) (int, error) {
	w.once.Do(w.save)
	return len(p), nil
}

func TestSourcesThatChangeWhileTheyAreCompiledLeaveNothingInTheCache(t *testing.T) {
	module, cache := project(t)
	progress := &savesWhileBuilding{save: func() { write(t, filepath.Join(module, "word/word.txt"), "saved meanwhile") }}
	_, err := binaries.Build(t.Context(), progress, "alpha")
	require.ErrorContains(t, err, "the sources changed while they were compiled: build again")
	require.Len(t, shelf(t, cache, "alpha"), 1, "the lock")
	_, output := build(t, "alpha")
	require.Contains(t, output, "built alpha")
}
