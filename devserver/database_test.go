package main

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSchemaIsCreatedWholeOrNotAtAll(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "t.db"))
	require.NoError(t, err)
	defer db.Close()
	// The last statements of the schema meet a table of theirs: what a failure or a kill in the middle leaves.
	_, err = db.Exec(`CREATE TABLE executions_visibility (x TEXT)`)
	require.NoError(t, err)
	require.ErrorContains(t, createSchema(t.Context(), db), "executions_visibility")
	found, err := tables(t.Context(), db)
	require.NoError(t, err)
	require.Len(t, found, 1)

	_, err = db.Exec(`DROP TABLE executions_visibility`)
	require.NoError(t, err)
	require.NoError(t, createSchema(t.Context(), db))
	found, err = tables(t.Context(), db)
	require.NoError(t, err)
	require.Contains(t, found, "executions")
	require.Contains(t, found, "executions_visibility")
}

func TestDatabaseHasOneOwner(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.db")
	lock, err := lockDatabase(file)
	require.NoError(t, err)
	_, err = lockDatabase(file)
	require.ErrorContains(t, err, "STORE_LOCKED")
	require.NoError(t, lock.Close())
	lock, err = lockDatabase(file)
	require.NoError(t, err)
	require.NoError(t, lock.Close())
}
