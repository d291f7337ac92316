package refund_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"refundlab/refund"
)

// Whatever DecodeStrict takes, every reader reads in the same way: its keys are exact and stand once, so writing it and
// reading it again changes nothing.
func FuzzDecodeStrict(f *testing.F) {
	for _, seed := range []string{
		`{"reason":"a","minor":1}`, `{"nested":{"minor":1},"several":[{"reason":"b"}]}`, `{"reason":"a","Reason":"b"}`,
		`{"minor":1,"minor":2}`, `{"rea\u017fon":"b"}`, `{"reason":"\ud800"}`, `{"minor":1}{}`, `{"several":[[[]]]}`, "{\"reason\":\"\xff\"}", `{"minor":1e2`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got body
		if err := refund.DecodeStrict(text, &got); err != nil {
			requireCode(t, err, refund.CodeInvalidBody)
			return
		}
		require.True(t, json.Valid(text))
		var generic map[string]any
		require.NoError(t, json.Unmarshal(text, &generic))
		for key := range generic {
			require.Contains(t, []string{"reason", "minor", "nested", "several", "labels"}, key)
		}
		var again body
		written, err := json.Marshal(got)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(written, &again))
		// A map or list that was null or empty is the one difference that writing may make.
		rewritten, err := json.Marshal(again)
		require.NoError(t, err)
		require.JSONEq(t, string(written), string(rewritten))
	})
}

// No text of a model changes amount, order or currency, or brings a control character before a person.
func FuzzDecodeProposal(f *testing.F) {
	for _, seed := range []string{
		goodAnswer, `{}`, `null`, goodAnswer[:60], answer("4200", "4.2e3"), answer("4200", "4300"), answer(`"order"`, `"approved":true,"order"`),
		answer("photo", `\u001b[2J`), answer(`"order":"o1"`, `"order":"o1","order":"o2"`), "Sure! " + goodAnswer,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := refund.DecodeProposal(asked(), text)
		if err != nil {
			requireCode(t, err, refund.CodeInvalidBody)
			require.Zero(t, got)
			return
		}
		var said map[string]any
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&said))
		require.Len(t, said, 5)
		require.Equal(t, json.Number("4200"), said["amount_minor"])
		require.Equal(t, "EUR", said["currency"])
		require.Equal(t, "o1", said["order"])
		require.Equal(t, got.Recommendation, said["recommendation"])
		require.Contains(t, []string{"approve", "reject"}, got.Recommendation)
		require.NotEmpty(t, strings.TrimSpace(got.Rationale))
		require.NotContains(t, got.Rationale, "\x1b")
		require.Zero(t, got.OrderVersion, "the engine sets it, never the model")
		require.Empty(t, got.AnswerID)
	})
}

// An amount that is read is exactly the decimal that was written, and printing gives it back.
func FuzzParseMoney(f *testing.F) {
	for _, seed := range [][2]string{
		{"42.00", "EUR"}, {"0.001", "KWD"}, {"42", "JPY"}, {"42.0", "JPY"}, {"-1", "EUR"}, {"1e3", "EUR"}, {"0", "EUR"}, {"NaN", "EUR"},
		{"184467440737095516.17", "EUR"}, {"10000000000.00", "EUR"}, {"00042.1", "USD"}, {"42", "eur"}, {"٤٢", "EUR"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, amount, currency string) {
		money, err := refund.ParseMoney(amount, currency)
		if err != nil {
			require.Contains(t, []refund.Code{refund.CodeInvalidAmount, refund.CodeInvalidCurrency}, refund.CodeOf(err))
			require.Less(t, len(err.Error()), 1000)
			require.Zero(t, money)
			return
		}
		require.Positive(t, money.Minor)
		require.LessOrEqual(t, money.Minor, refund.MaxMinor)

		// The same decimal by text alone: no leading zeros before the point, no trailing ones behind it.
		plain := func(s string) string {
			whole, fraction, _ := strings.Cut(s, ".")
			return strings.TrimLeft(whole, "0") + "." + strings.TrimRight(fraction, "0")
		}
		printed, unit, found := strings.Cut(money.String(), " ")
		require.True(t, found)
		require.Equal(t, currency, unit)
		require.Equal(t, plain(amount), plain(printed))

		again, err := refund.ParseMoney(printed, unit)
		require.NoError(t, err)
		require.Equal(t, money, again)
	})
}

// An identity has one spelling, of few characters, that only case and surrounding blanks lead to.
func FuzzParseIdentity(f *testing.F) {
	for _, seed := range []string{"user-1", "User-1 ", "\tA.b_C@d+E-9", "", " ", "user 1", "user-1\n", "\u212aevin", "use\u0301r", "user\xff", strings.Repeat("x", 129)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		id, err := refund.ParseIdentity("approver", value)
		if err != nil {
			requireCode(t, err, refund.CodeInvalidIdentity, "approver")
			require.Empty(t, id)
			return
		}
		require.Regexp(t, `^[a-z0-9._@+-]{1,128}$`, id)
		trimmed := strings.Trim(value, " \t")
		require.True(t, strings.EqualFold(trimmed, id))
		require.Len(t, trimmed, len(id), "folding never changes the length of ASCII")
		again, err := refund.ParseIdentity("approver", id)
		require.NoError(t, err)
		require.Equal(t, id, again)
	})
}

// I9: two requests have one digest exactly when they mean the same, stated here by other means than hashing.
func FuzzDigest(f *testing.F) {
	for _, change := range []func(*refund.Request){
		func(*refund.Request) {},
		func(r *refund.Request) { r.Tenant, r.RequestID = "acm", "ereq-1" },
		func(r *refund.Request) { r.Order = "O1 " },
		func(r *refund.Request) { r.Order, r.Amount.Minor = "o142", 42 },
		func(r *refund.Request) { r.Amount.Currency = "USD" },
		func(r *refund.Request) { r.Reason = " damage\u0301d on arrival" },
		func(r *refund.Request) { r.Requester = "user-2" },
	} {
		a, b := asked(), asked()
		change(&b)
		f.Add(a.Tenant, a.RequestID, a.Order, a.Amount.Minor, a.Amount.Currency, a.Reason, a.Requester,
			b.Tenant, b.RequestID, b.Order, b.Amount.Minor, b.Amount.Currency, b.Reason, b.Requester)
	}
	f.Fuzz(func(t *testing.T,
		tenantA, idA, orderA string, minorA int64, currencyA, reasonA, requesterA string,
		tenantB, idB, orderB string, minorB int64, currencyB, reasonB, requesterB string,
	) {
		a, errA := refund.NewRequest(refund.Request{Tenant: tenantA, RequestID: idA, Order: orderA, Amount: refund.Money{Minor: minorA, Currency: currencyA}, Reason: reasonA, Requester: requesterA})
		b, errB := refund.NewRequest(refund.Request{Tenant: tenantB, RequestID: idB, Order: orderB, Amount: refund.Money{Minor: minorB, Currency: currencyB}, Reason: reasonB, Requester: requesterB})
		if errA != nil || errB != nil {
			return
		}
		identity := func(x, y string) bool { return strings.EqualFold(strings.Trim(x, " \t"), strings.Trim(y, " \t")) }
		text := func(x, y string) bool {
			return norm.NFD.String(strings.TrimSpace(x)) == norm.NFD.String(strings.TrimSpace(y))
		}
		sameKey := identity(tenantA, tenantB) && identity(idA, idB)
		same := sameKey && identity(orderA, orderB) && minorA == minorB && currencyA == currencyB && text(reasonA, reasonB)

		require.Equal(t, same, a.Digest() == b.Digest(), "%+v\n%+v", a, b)
		require.Equal(t, sameKey, refund.NewOperationID(a.Tenant, refund.Kind, a.RequestID) == refund.NewOperationID(b.Tenant, refund.Kind, b.RequestID))
		again, err := refund.NewRequest(a)
		require.NoError(t, err)
		require.Equal(t, a, again, "a checked request checks to itself")
		require.True(t, utf8.ValidString(a.Reason))
	})
}
