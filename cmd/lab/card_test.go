package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

const (
	refundCardFile = "testdata/refund-card.json"
	leaseCardFile  = "testdata/lease-card.json"
)

// altered is a card with one text in the place of another.
func altered(t *testing.T, card, old, text string) string {
	t.Helper()
	content, err := os.ReadFile(card)
	require.NoError(t, err)
	require.Contains(t, string(content), old)
	path := filepath.Join(t.TempDir(), "card.json")
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(content), old, text, 1)), 0o600))
	return path
}

func TestLeaseCardHolds(t *testing.T) {
	status, out, log := lab(t, "card", leaseCardFile)
	require.Equal(t, 0, status, log)
	require.Equal(t, 3, strings.Count(out, "ok     token "))
}

func TestLeaseCardWithAnotherExpectationFails(t *testing.T) {
	for _, c := range []struct{ old, text string }{
		{`{"allowed": true}`, `{"allowed": false}`},
		{`{"allowed": false}`, `{"allowed": true}`},
		{`"now": 20, "lease_until": 20}, "expect": {"allowed": false}`, `"now": 20, "lease_until": 20}, "expect": {"allowed": true}`},
		{`"now": 20, "lease_until": 20`, `"now": 19, "lease_until": 20`},
	} {
		status, out, log := lab(t, "card", altered(t, leaseCardFile, c.old, c.text))
		require.Equal(t, refund.ExitInternal, status, c.text)
		require.Contains(t, out, "DIFFER token ")
		require.Contains(t, log, "1 expectations of the card are not what was measured")
	}
}

func TestCardThatCannotBePlayedIsRefused(t *testing.T) {
	for _, c := range []struct{ name, card, old, text, said string }{
		{"an unknown action", refundCardFile, `["submit"]`, `["submitt"]`, `script 3 of the card: action "submitt" is unknown`},
		{"an action that cannot come there", refundCardFile, `["submit"]`, `["retry"]`, `action "retry" cannot follow ""`},
		{"no action", refundCardFile, `["submit"]`, `[]`, "it has no action"},
		{"a misspelt key", refundCardFile, `"ledger_count": 1`, `"ledger_cuont": 1`, "unknown field"},
		{"a misspelt key of a check", leaseCardFile, `"allowed": true`, `"permitted": true`, "unknown field"},
		{"a token that nobody had", leaseCardFile, `"token": 1, "current": 2`, `"token": 3, "current": 2`, "INVALID_BODY: check 1 of the card: nobody ever had token 3"},
		{"a lease that is over before it begins", leaseCardFile, `"now": 11, "lease_until": 20`, `"now": 11, "lease_until": 9`, "ends before it begins"},
		{"neither scripts nor checks", leaseCardFile, `"checks"`, `"about2"`, "neither scripts nor checks"},
		{"no JSON", leaseCardFile, `{`, ``, "is not JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out, log := lab(t, "card", altered(t, c.card, c.old, c.text))
			require.Equal(t, refund.ExitInvalidInput, status, log)
			require.Empty(t, out)
			require.Contains(t, log, c.said)
		})
	}
	status, _, log := lab(t, "card", "testdata/nothing.json")
	require.Equal(t, refund.ExitInvalidInput, status)
	require.Contains(t, log, "INVALID_FLAG: no card")
}

func TestRefundCardHoldsOnBothEngines(t *testing.T) {
	status, out, log := lab(t, "card", refundCardFile)
	require.Equal(t, 0, status, out+log)
	for _, engine := range engineNames {
		require.Equal(t, 6, strings.Count(out, "ok     "+engine), "three scripts, each with its beginning and end")
	}
}

func TestRefundCardWithAnotherExpectationFails(t *testing.T) {
	path := altered(t, refundCardFile, `"ledger_count": 0, "status": "RETRYABLE"`, `"ledger_count": 1, "status": "RETRYABLE"`)
	status, out, log := lab(t, "card", path)
	require.Equal(t, refund.ExitInternal, status, log)
	require.Equal(t, len(engineNames), strings.Count(out, "DIFFER"), out)
	require.Contains(t, log, "2 expectations of the card are not what was measured")
}
