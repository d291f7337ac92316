package refund_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

func TestIdentitiesHaveOneSpelling(t *testing.T) {
	for _, spelling := range [][2]string{
		{"user-1", "user-1"},
		{"User-1", "user-1"},
		{" USER-1\t", "user-1"},
		{"a", "a"},
		{"A.b_C@d+E-9", "a.b_c@d+e-9"},
		{strings.Repeat("X", 128), strings.Repeat("x", 128)},
		{"  " + longIdentity + "  ", longIdentity},
		{"9007199254740993", "9007199254740993"}, // above 2^53: never a number here
		{"00042", "00042"},
		{"user-1+refunds@shop.test", "user-1+refunds@shop.test"},
	} {
		in, want := spelling[0], spelling[1]
		got, err := refund.ParseIdentity("approver", in)
		require.NoError(t, err, in)
		require.Equal(t, want, got)
		again, err := refund.ParseIdentity("approver", got)
		require.NoError(t, err)
		require.Equal(t, got, again)
	}
}

var longIdentity = strings.Repeat("long.name+", 12) + "12345678"

// An alias of an e-mail address is another identity: who may stand for whom is the directory's knowledge, not ours.
func TestAliasFormsStayDistinct(t *testing.T) {
	forms := []string{"user@shop.test", "user+1@shop.test", "us.er@shop.test", "user@shop.test.", "user", "user-", "user_", "0042", "42"}
	seen := map[string]bool{}
	for _, form := range forms {
		id, err := refund.ParseIdentity("approver", form)
		require.NoError(t, err)
		require.False(t, seen[id], id)
		seen[id] = true
	}
}

func TestTextThatIsNoIdentityIsRefused(t *testing.T) {
	for name, in := range map[string]string{
		"empty":                    "",
		"blanks":                   " \t ",
		"one byte too long":        strings.Repeat("x", 129),
		"a blank inside":           "user 1",
		"a line break behind":      "user-1\n",
		"a line break inside":      "user\n1",
		"a null byte":              "user\x00",
		"an escape":                "user\x1b[0m",
		"a slash":                  "../user",
		"a colon":                  "user:1",
		"a quote":                  "user'--",
		"a non-breaking blank":     "\u00a0user-1",
		"a zero-width blank":       "user\u200b-1",
		"a Cyrillic letter":        "\u0443ser-1", // looks like a y
		"a Kelvin sign":            "\u212aevin",  // lower-cases to k
		"a dotted capital I":       "\u0130d",
		"a long s":                 "u\u017fer",
		"a fullwidth letter":       "\uff55ser-1",
		"a combining accent":       "use\u0301r",
		"bytes that are not UTF-8": "user\xff",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := refund.ParseIdentity("approver", in)
			requireCode(t, err, refund.CodeInvalidIdentity, "approver")
		})
	}
}
