package refund_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

type inner struct {
	Reason string `json:"reason"`
	Minor  int64  `json:"minor"`
}

type body struct {
	inner
	Nested  inner             `json:"nested"`
	Several []inner           `json:"several"`
	Labels  map[string]string `json:"labels"`
}

func TestDecodeStrictReadsWhatItIsGiven(t *testing.T) {
	var got body
	require.NoError(t, refund.DecodeStrict([]byte(" {\"reason\":\"a\\u0062\",\"minor\":9007199254740993,\n\"nested\":{\"reason\":\"c\"},"+
		"\"several\":[{\"minor\":1},{\"minor\":2}],\"labels\":{\"reason\":\"in another object\"}}\n"), &got))
	require.Equal(t, body{
		inner: inner{Reason: "ab", Minor: 9007199254740993}, Nested: inner{Reason: "c"}, Several: []inner{{Minor: 1}, {Minor: 2}},
		Labels: map[string]string{"reason": "in another object"},
	}, got)
}

func TestDecodeStrictRefusesWhatTwoReadersCouldReadInTwoWays(t *testing.T) {
	for _, c := range []struct{ name, text, words string }{
		{"the same key twice", `{"reason":"a","reason":"b"}`, `"reason" stands twice`},
		{"the same key twice with the same value", `{"minor":1,"minor":1}`, `"minor" stands twice`},
		{"the same key with an escape", `{"reason":"a","re\u0061son":"b"}`, `"reason" stands twice`},
		{"the same key in another case", `{"reason":"a","Reason":"b"}`, `"Reason" is unknown`},
		{"a key in another case alone", `{"REASON":"a"}`, `"REASON" is unknown`},
		{"a key with a long s", `{"reaſon":"a"}`, "is unknown"},
		{"a key with an escaped long s beside the plain one", `{"reason":"a","rea\u017fon":"b"}`, "is unknown"},
		{"a key with a Kelvin sign", "{\"\u212aey\":1}", "is unknown"},
		{"twice in a nested object", `{"nested":{"minor":1,"minor":2}}`, `"minor" stands twice`},
		{"another case in a nested object", `{"nested":{"Minor":1}}`, `"Minor" is unknown`},
		{"twice in a list", `{"several":[{"minor":1},{"minor":1,"minor":2}]}`, `"minor" stands twice`},
		{"an unknown key", `{"reason":"a","approved":true}`, `"approved"`},
		{"an unknown key in a nested object", `{"nested":{"approved":true}}`, `"approved"`},
		{"an empty key", `{"":1}`, `""`},
		{"the name of an embedded struct", `{"inner":{"minor":1}}`, `"inner"`},
		{"something behind it", `{"reason":"a"} {"reason":"b"}`, "behind the object"},
		{"a bracket behind it", `{"reason":"a"}}`, "behind the object"},
		{"prose behind it", `{"reason":"a"} as you asked`, "behind the object"},
		{"prose before it", `Here: {"reason":"a"}`, "not acceptable"},
		{"a fence around it", "```json\n{\"reason\":\"a\"}\n```", "not acceptable"},
		{"a byte order mark before it", "\ufeff{\"reason\":\"a\"}", "not acceptable"},
		{"a null byte behind it", "{\"reason\":\"a\"}\x00", "behind the object"},
		{"nothing", "", "cut off"},
		{"blanks", " \n", "cut off"},
		{"cut off after the bracket", `{`, "cut off"},
		{"cut off in a key", `{"rea`, "cut off"},
		{"cut off after a key", `{"reason"`, "cut off"},
		{"cut off in a value", `{"reason":"a`, "cut off"},
		{"cut off after a value", `{"reason":"a"`, "cut off"},
		{"cut off after a comma", `{"reason":"a",`, "cut off"},
		{"cut off in a nested object", `{"nested":{"minor":1`, "cut off"},
		{"cut off in a list", `{"several":[{"minor":1},`, "cut off"},
		{"a list", `[{"reason":"a"}]`, "an object is expected"},
		{"null", `null`, "an object is expected"},
		{"a string", `"reason"`, "an object is expected"},
		{"a number", `42`, "an object is expected"},
		{"a comma too many", `{"reason":"a",}`, "JSON"},
		{"no comma", `{"reason":"a" "minor":1}`, "JSON"},
		{"single quotes", `{'reason':'a'}`, "JSON"},
		{"a comment", `{"reason":"a"/* why */}`, "JSON"},
		{"the wrong bracket", `{"reason":"a"]`, "JSON"},
		{"a string for a number", `{"minor":"1"}`, "expected form"},
		{"a fraction for an integer", `{"minor":1.5}`, "expected form"},
		{"an exponent for an integer", `{"minor":1e3}`, "expected form"},
		{"an integer past 64 bits", `{"minor":9223372036854775808}`, "expected form"},
		{"NaN", `{"minor":NaN}`, "JSON"},
		{"a leading zero", `{"minor":042}`, "JSON"},
		{"bytes that are not UTF-8", "{\"reason\":\"a\xff\"}", "UTF-8"},
		{"very deep lists", `{"several":` + strings.Repeat("[", 1_000_000), "nests deeper"},
		{"very deep objects", strings.Repeat(`{"nested":`, 1_000_000), "nests deeper"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got body
			requireCode(t, refund.DecodeStrict([]byte(c.text), &got), refund.CodeInvalidBody, c.words)
		})
	}
}

func TestDecodeStrictKeepsErrorsShort(t *testing.T) {
	var got body
	err := refund.DecodeStrict([]byte(`{"`+strings.Repeat("K", 100_000)+`":1}`), &got)
	requireCode(t, err, refund.CodeInvalidBody)
	require.Less(t, len(err.Error()), 300)
}
