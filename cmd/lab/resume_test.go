package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/binaries"
	"refundlab/evidence"
	"refundlab/refund"
)

// Harness, catalogue, controls and judge are in lab itself, and Temporal's server decides too what a trial shows.
func TestWhatPlayedIsEveryExecutableAndThisProgram(t *testing.T) {
	code, err := playedBy(binaries.Paths{"worker": "/cache/worker/0f/worker", "devserver": "/cache/devserver/1e/devserver"})
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	sum, err := fileHash(self)
	require.NoError(t, err)
	require.Equal(t, []string{"devserver 1e", "worker 0f", "lab " + sum}, code)

	file := filepath.Join(t.TempDir(), "lab")
	require.NoError(t, os.WriteFile(file, []byte("another judge"), 0o600))
	other, err := fileHash(file)
	require.NoError(t, err)
	require.NotEqual(t, sum, other)
}

func TestResultsOfOtherCodeAreNotGoneOnWith(t *testing.T) {
	for _, c := range []struct {
		name      string
		then, now []string
		text      string
	}{
		{"another engine", []string{"worker 0", "lab 0"}, []string{"worker 1", "lab 0"}, "with another worker"},
		{"another judge", []string{"worker 0", "lab 0"}, []string{"worker 0", "lab 1"}, "with another lab"},
		{"a server where there was none", []string{"worker 0", "lab 0"}, []string{"devserver 0", "worker 0", "lab 0"}, "with another devserver"},
		{"no server where there was one", []string{"devserver 0", "worker 0", "lab 0"}, []string{"worker 0", "lab 0"}, "without what was played with then"},
		{"nothing is said", nil, []string{"worker 0", "lab 0"}, "with another worker, another lab"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := sameCode("a/run", c.then, c.now)
			require.Equal(t, refund.CodeInvalidFlag, refund.CodeOf(err))
			require.ErrorContains(t, err, "--resume a/run holds results of other code (this would go on "+c.text+"): begin a new run")
			require.NoError(t, sameCode("a/run", c.now, c.now))
		})
	}
}

func TestControlsKeptByAnotherLabAreNotTaken(t *testing.T) {
	path, asked := filepath.Join(t.TempDir(), "kept.jsonl"), evidence.ControlsAsked{Engines: []string{handrolledEngine}}
	b := &bench{paths: binaries.Paths{"worker": "/cache/worker/0f/worker"}}
	for range 2 { // written, and gone on with
		k, err := keepControls(path, b, asked)
		require.NoError(t, err)
		k.close()
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	before, after, found := bytes.Cut(text, []byte(`"lab `))
	require.True(t, found, string(text))
	require.NoError(t, os.WriteFile(path, bytes.Join([][]byte{before, after}, []byte(`"lab 0`)), 0o600))
	_, err = keepControls(path, b, asked)
	require.Equal(t, refund.CodeInvalidFlag, refund.CodeOf(err))
	require.ErrorContains(t, err, "with another lab): begin a new run")
}
