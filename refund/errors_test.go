package refund_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

// requireCode demands an error with a code whose text contains each of words.
func requireCode(t *testing.T, err error, code refund.Code, words ...string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, refund.CodeOf(err), err.Error())
	require.True(t, strings.HasPrefix(err.Error(), string(code)+": "), err.Error())
	for _, word := range words {
		require.Contains(t, err.Error(), word)
	}
}

// exits is the documented exit status of every code and verdict.
var exits = map[refund.Code]int{
	"":         0,
	"ACCEPTED": 0,

	"INTERNAL": 1, "NOT_PASSED": 1,

	"INVALID_AMOUNT": 2, "INVALID_CURRENCY": 2, "INVALID_IDENTITY": 2, "INVALID_REASON": 2, "INVALID_DEADLINE": 2,
	"INVALID_PROFILE": 2, "INVALID_DECISION": 2, "INVALID_BODY": 2, "INVALID_FLAG": 2,

	"KEY_CONFLICT": 3, "DECISION_CONFLICT": 3, "ALREADY_EXISTS": 3,

	"NOT_FOUND": 4,

	"PROPOSAL_FAILED": 5, "APPROVAL_REJECTED": 5, "ORDER_NOT_FOUND": 5, "ORDER_VERSION_CHANGED": 5, "INSUFFICIENT_BALANCE": 5,
	"CURRENCY_MISMATCH": 5, "APPROVAL_EXPIRED": 5, "CLOSED": 5, "STALE_FENCE": 5, "LEASE_LOST": 5, "SETTLEMENT_REFUSED": 5,
	"PROFILE_MISMATCH": 5, "CANCELLED": 5,
	"INVALID": 5, "RUN_CLOSED": 5, "NOT_READY": 5, "ALREADY_DECIDED": 5, "EXPIRED": 5, "DIGEST_MISMATCH": 5,
	"ORDER_MISMATCH": 5, "SELF_APPROVAL": 5,

	"VERDICT_PENDING": 6,

	"UNAVAILABLE": 7, "TIMEOUT": 7, "STORE_LOCKED": 7, "STORE_UNREADABLE": 7, "PORT_IN_USE": 7, "INTERRUPTED": 7,
}

func TestEveryCodeHasItsDocumentedExitStatus(t *testing.T) {
	for code, status := range exits {
		require.Equal(t, status, refund.ExitStatus(code), code)
	}
}

// A code that is declared but stands in no row above would silently get the exit status of a refusal.
func TestNoCodeIsDeclaredWithoutAnExitStatus(t *testing.T) {
	known := map[refund.Code]bool{"": true}
	for name, value := range declaredConstants(t, "Code", "VerdictCode") {
		code := refund.Code(value)
		known[code] = true
		if _, documented := exits[code]; !documented {
			t.Errorf("%s has no documented exit status: give it a row in exits and see that ExitStatus agrees", name)
		}
	}
	for code := range exits {
		require.True(t, known[code], "%s is documented and not declared", code)
	}
}

// declaredConstants returns every constant of the package whose declared type is one of types.
func declaredConstants(t *testing.T, types ...string) map[string]string {
	t.Helper()
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	found := map[string]string{}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(parsed, func(node ast.Node) bool {
			spec, ok := node.(*ast.ValueSpec)
			if !ok {
				return true
			}
			kind, ok := spec.Type.(*ast.Ident)
			if !ok || !slices.Contains(types, kind.Name) || len(spec.Values) != len(spec.Names) {
				return true
			}
			for i, name := range spec.Names {
				literal, ok := spec.Values[i].(*ast.BasicLit)
				require.True(t, ok, "%s is not a literal", name.Name)
				value, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				found[name.Name] = value
			}
			return true
		})
	}
	return found
}

func TestErrorsAreMatchedByCodeThroughWrapping(t *testing.T) {
	cause := io.ErrUnexpectedEOF
	inner := refund.Wrap(refund.CodeUnavailable, cause, "provider at %q cannot be reached", "x")
	outer := fmt.Errorf("submit: %w", inner)

	require.ErrorIs(t, outer, cause)
	require.ErrorIs(t, outer, refund.Errorf(refund.CodeUnavailable, "other words"))
	require.NotErrorIs(t, outer, refund.Errorf(refund.CodeTimeout, "provider at \"x\" cannot be reached"))
	require.Equal(t, refund.CodeUnavailable, refund.CodeOf(outer))
	require.Equal(t, `UNAVAILABLE: provider at "x" cannot be reached: unexpected EOF`, inner.Error())

	require.Equal(t, refund.CodeTimeout, refund.CodeOf(refund.Wrap(refund.CodeTimeout, inner, "gave up")), "the outermost code counts")
	require.Equal(t, refund.CodeInternal, refund.CodeOf(errors.New("plain")))
	require.Empty(t, refund.CodeOf(nil))
}

// A code stands once for what it speaks of, and a cause of another kind keeps its own.
func TestACodeIsNotSaidTwice(t *testing.T) {
	locked := refund.Errorf(refund.CodeStoreLocked, "held by another")
	waiting := refund.Wrap(refund.CodeStoreUnreadable, io.ErrUnexpectedEOF, "waiting")
	for _, test := range []struct {
		err  error
		text string
	}{
		{refund.Wrap(refund.CodeStoreUnreadable, waiting, "journal"), "STORE_UNREADABLE: journal: waiting: unexpected EOF"},
		{refund.Wrap(refund.CodeStoreUnreadable, refund.Wrap(refund.CodeStoreUnreadable, waiting, "file"), "journal"), "STORE_UNREADABLE: journal: file: waiting: unexpected EOF"},
		{refund.Wrap(refund.CodeUnavailable, locked, "worker"), "UNAVAILABLE: worker: STORE_LOCKED: held by another"},
		{refund.Wrap(refund.CodeUnavailable, refund.Wrap(refund.CodeStoreLocked, locked, "journal"), "worker"), "UNAVAILABLE: worker: STORE_LOCKED: journal: held by another"},
	} {
		require.EqualError(t, test.err, test.text)
		var outermost *refund.Error
		require.ErrorAs(t, test.err, &outermost)
		require.Equal(t, test.text, string(outermost.Code)+": "+outermost.Text())
	}
}
