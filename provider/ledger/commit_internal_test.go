package ledger

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"refundlab/provider"
	"refundlab/refund"
)

// The balance's condition holds by itself, whatever an earlier read of the order said (I7). It is reached from outside only
// where a transaction is not immediate, which SQLite does not let happen silently: hence from inside.
func TestABalanceReadBeforeSomebodyElseRefundedMovesNoMoney(t *testing.T) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "ledger.db")+"?_txlock=immediate")
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, Schema(t.Context(), db, refund.ProfileFull))
	read := refund.Order{ID: "o1", Currency: "EUR", Captured: 100, Refunded: 0, Version: 1}
	now := read
	now.Refunded = 60
	require.NoError(t, PutOrder(t.Context(), db, Order{Tenant: "shop", Order: now}))

	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer tx.Rollback()
	profile, err := refund.ProfileNamed(refund.ProfileFull)
	require.NoError(t, err)
	s := provider.Submission{Ref: provider.Ref{Tenant: "shop", Kind: refund.Kind}, Order: "o1", Amount: refund.Money{Minor: 41, Currency: "EUR"}}
	_, err = commit(t.Context(), tx, Promise{Profile: profile}, s, read, s.Digest(), 1)
	require.Equal(t, refund.CodeInternal, refund.CodeOf(err))
	require.ErrorContains(t, err, "not an immediate one")

	s.Amount.Minor = 40
	_, err = commit(t.Context(), tx, Promise{Profile: profile}, s, read, s.Digest(), 1)
	require.NoError(t, err)
}
