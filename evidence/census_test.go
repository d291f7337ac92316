package evidence

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCountLines(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"refund/a.go":             "// Package refund.\npackage refund\n\n/* two\nlines */\nvar x = `one\ntwo` // code\n",
		"refund/a_test.go":        "package refund\n\nvar y = 1\n",
		"refund/testdata/b.go":    "package b\n",
		"handrolled/schema.sql":   "-- why\nCREATE TABLE t (\n  a INTEGER\n);\n",
		"handrolled/notes.md":     "no code\n",
		"tools/lint.go":           "package tools\n",
		"provider/ledger/c.go":    "package ledger\n",
		"provider/d.go":           "package provider\n",
		".hidden/refund/other.go": "package other\n",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	lines, err := CountLines(root)
	require.NoError(t, err)
	require.Equal(t, []Lines{
		{Package: "refund", Duty: "vocabulary and rules", Owner: "shared", Files: 1, Code: 3, Comment: 3, Test: 2},
		{Package: "provider", Duty: "calls to the outside world", Owner: "shared", Files: 1, Code: 1},
		{Package: "handrolled", Duty: "recording facts", Owner: "handrolled", Files: 1, Code: 3, Comment: 1},
		{Package: "provider/ledger", Duty: "the outside world, simulated", Owner: "apparatus", Files: 1, Code: 1},
	}, lines)
}

// A duty without a place in the order would be sorted among the first, and an entry for a file that was renamed would count
// it under its package's duty.
func TestEveryEntryOfTheCensusHasItsPlaceAndItsFile(t *testing.T) {
	for prefix, entry := range owned {
		require.Contains(t, dutyOrder, entry.duty, prefix)
		_, err := os.Stat(filepath.Join("..", filepath.FromSlash(prefix)))
		require.NoError(t, err)
	}
}
