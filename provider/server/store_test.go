package server_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/provider/ledger"
	"refundlab/provider/server"
	"refundlab/refund"
)

func full(t *testing.T, database string) server.Options {
	t.Helper()
	profile, err := refund.ProfileNamed(refund.ProfileFull)
	require.NoError(t, err)
	return server.Options{Database: database, Promise: ledger.Promise{Profile: profile}}
}

func TestAFileThatCannotBeUsedIsReportedAtOnce(t *testing.T) {
	dir := t.TempDir()
	noise := filepath.Join(dir, "noise.db")
	require.NoError(t, os.WriteFile(noise, []byte("this is no database, and it is longer than a header of one hundred bytes would be, to be sure of it"), 0o600))
	for name, path := range map[string]string{
		"a directory":          dir,
		"no such directory":    filepath.Join(dir, "none", "p.db"),
		"not a database":       noise,
		"below something else": filepath.Join(noise, "p.db"),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := server.New(t.Context(), full(t, path))
			require.Equal(t, refund.CodeStoreUnreadable, refund.CodeOf(err), err)
			require.ErrorContains(t, err, path)
			_, err = server.Dump(t.Context(), path, refund.ProfileFull)
			require.Equal(t, refund.CodeStoreUnreadable, refund.CodeOf(err), err)
		})
	}
	t.Run("nothing to dump", func(t *testing.T) {
		path := filepath.Join(dir, "absent.db")
		_, err := server.Dump(t.Context(), path, refund.ProfileFull)
		require.Equal(t, refund.CodeStoreUnreadable, refund.CodeOf(err), err)
		require.NoFileExists(t, path, "reading makes no file")
	})
}

func TestALockedFileIsReportedAtOnceAndWorksOnceItIsFree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "provider.db")
	first, err := server.New(t.Context(), full(t, path))
	require.NoError(t, err)
	require.NoError(t, first.Close())

	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate")
	require.NoError(t, err)
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	started := time.Now()
	_, err = server.New(t.Context(), full(t, path))
	require.Equal(t, refund.CodeStoreLocked, refund.CodeOf(err), err)
	require.ErrorContains(t, err, "leave its -wal and -shm files alone")
	require.Less(t, time.Since(started), 10*time.Second)
	require.NoError(t, tx.Rollback())

	second, err := server.New(t.Context(), full(t, path))
	require.NoError(t, err)
	require.NoError(t, second.Close())
}

func TestALedgerOutlivesItsProcess(t *testing.T) {
	w := serve(t, refund.ProfileFull)
	receipt := w.submit(w.intake("r1"), refund.Fence{Term: 1})
	w.control("orders/version", `{"tenant":"shop","id":"o1"}`)
	require.NoError(t, w.server.Close())

	// Seeding the same orders again leaves balance and version alone.
	again := serve(t, refund.ProfileFull, func(o *server.Options) { o.Database = w.database })
	require.Equal(t, receipt, again.submit(again.intake("r1"), refund.Fence{Term: 1}))
	order, err := again.client.Order(t.Context(), "shop", "o1")
	require.NoError(t, err)
	require.Equal(t, int64(4200), order.Refunded)
	require.Equal(t, int64(2), order.Version)

	_, err = server.New(t.Context(), func() server.Options {
		o := full(t, w.database)
		o.Promise.Name = refund.ProfileLenient
		return o
	}())
	require.Equal(t, refund.CodeProfileMismatch, refund.CodeOf(err))
}
