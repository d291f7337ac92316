package server

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

// Settings belong to a connection. One that the pool replaces has them because they stand in the DSN.
func TestEveryConnectionHasTheSettings(t *testing.T) {
	s, err := openStore(t.Context(), filepath.Join(t.TempDir(), "a b?&.db"), refund.ProfileFull)
	require.NoError(t, err)
	defer s.close()
	for name, db := range map[string]*sql.DB{"writer": s.writer, "reader": s.reader} {
		for range 5 {
			require.NoError(t, checkSettings(t.Context(), db), name)
			db.SetConnMaxLifetime(time.Nanosecond) // the next use gets a new connection
		}
	}
	_, err = s.reader.Exec(`DELETE FROM ledger_orders`)
	require.ErrorContains(t, err, "readonly", "a reader writes nothing")

	unset, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "plain.db"))
	require.NoError(t, err)
	defer unset.Close()
	require.ErrorContains(t, checkSettings(t.Context(), unset), "synchronous=", "a connection without them is noticed")
}
