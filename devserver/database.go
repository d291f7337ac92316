package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	schema "go.temporal.io/server/schema/sqlite"
)

// memoryDatabase is the name of the database without a file; the process has only one.
const memoryDatabase = "devserver"

// sqlConfig describes the one database of all services. MaxConns stays at the plugin's default of 1: with more
// connections there is no busy timeout, and writers fail with SQLITE_BUSY instead of waiting.
func sqlConfig(o options) (*config.SQL, error) {
	c := &config.SQL{PluginName: sqlite.PluginName}
	if o.dbFilename == "" {
		c.DatabaseName = memoryDatabase
		c.ConnectAttributes = map[string]string{"mode": "memory", "cache": "shared"}
		return c, nil
	}
	path, err := filepath.Abs(o.dbFilename)
	if err != nil {
		return nil, err
	}
	// The plugin pastes the name into a URI, in which '?', '#' and '%' have a meaning.
	c.DatabaseName = (&url.URL{Path: path}).EscapedPath()
	c.ConnectAttributes = map[string]string{"mode": "rwc"}
	maps.Copy(c.ConnectAttributes, o.pragmas)
	return c, nil
}

// lockDatabase keeps a second server off the file for the life of the process. SQLite's own locks do not: they are
// held for one transaction, and two servers would take turns in undoing each other.
func lockDatabase(path string) (*os.File, error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, failf(codeStoreUnreadable, "cannot create the lock file of the database: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, failf(codeStoreLocked, "database %s is in use by another server: stop it or use another file", path)
		}
		return nil, failf(codeStoreUnreadable, "cannot lock %s.lock: %w", path, err)
	}
	return f, nil
}

// prepareSchema creates Temporal's schema in an empty or missing file, and refuses a file with any other.
func prepareSchema(ctx context.Context, c *config.SQL) error {
	db, err := sql.Open("sqlite", "file:"+c.DatabaseName+"?mode=rwc")
	if err != nil {
		return err
	}
	defer db.Close()
	found, err := tables(ctx, db)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return createSchema(ctx, db)
	}

	reference, err := sql.Open("sqlite", "file:reference?mode=memory")
	if err != nil {
		return err
	}
	defer reference.Close()
	reference.SetMaxOpenConns(1) // each connection would have a memory of its own
	if err := createSchema(ctx, reference); err != nil {
		return err
	}
	wanted, err := tables(ctx, reference)
	if err != nil {
		return err
	}
	for name, definition := range wanted {
		if found[name] != definition {
			return fmt.Errorf("it holds no Temporal database of this server's version (table %s): use another file", name)
		}
	}
	return nil
}

func tables(ctx context.Context, db *sql.DB) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, `SELECT name, sql FROM sqlite_master WHERE type = 'table'`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[string]string{}
	for rows.Next() {
		var name, definition string
		if err := rows.Scan(&name, &definition); err != nil {
			return nil, err
		}
		found[name] = definition
	}
	return found, rows.Err()
}

// createSchema is one transaction: a kill in the middle leaves an empty file, which the next start fills.
func createSchema(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := schema.SetupSchemaOnDB(schemaWriter{ctx: ctx, tx: tx}); err != nil {
		return err
	}
	return tx.Commit()
}

// schemaWriter is the part of an AdminDB that the schema's setup uses.
type schemaWriter struct {
	sqlplugin.AdminDB
	ctx context.Context
	tx  *sql.Tx
}

func (w schemaWriter) Exec(statement string, args ...any) error {
	_, err := w.tx.ExecContext(w.ctx, statement, args...)
	return err
}

// prepareDatabase leaves a database with schema, namespaces and search attributes, whatever a former start left.
func prepareDatabase(ctx context.Context, c *config.SQL, o options) error {
	if o.dbFilename != "" { // in memory the plugin creates the schema itself
		if err := prepareSchema(ctx, c); err != nil {
			return failf(codeStoreUnreadable, "cannot use database %s: %w", o.dbFilename, err)
		}
	}
	if err := prepareNamespaces(ctx, c, o.namespaces, o.searchAttributes); err != nil {
		return failf(codeStoreUnreadable, "cannot prepare the namespaces: %w", err)
	}
	return nil
}
