package refund_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

func TestAmountsAreReadExactly(t *testing.T) {
	for _, c := range []struct {
		amount, currency string
		minor            int64
		printed          string
	}{
		{"42", "EUR", 4200, "42.00 EUR"},
		{"42.5", "EUR", 4250, "42.50 EUR"},
		{"42.00", "EUR", 4200, "42.00 EUR"},
		{"0.01", "EUR", 1, "0.01 EUR"},
		{"00042.00", "EUR", 4200, "42.00 EUR"},
		// Amounts that binary fractions cannot hold: 145.05 * 100, 11.85 + 18.35, a third of 100.
		{"145.05", "EUR", 14505, "145.05 EUR"},
		{"11.85", "EUR", 1185, "11.85 EUR"},
		{"18.35", "EUR", 1835, "18.35 EUR"},
		{"33.33", "EUR", 3333, "33.33 EUR"},
		{"1.005", "KWD", 1005, "1.005 KWD"},
		{"0.001", "BHD", 1, "0.001 BHD"},
		{"7", "TND", 7000, "7.000 TND"},
		{"42", "JPY", 42, "42 JPY"},
		{"1", "KRW", 1, "1 KRW"},
		{"10000000000.00", "EUR", refund.MaxMinor, "10000000000.00 EUR"},
		{"1000000000.000", "KWD", refund.MaxMinor, "1000000000.000 KWD"},
		{"1000000000000", "JPY", refund.MaxMinor, "1000000000000 JPY"},
	} {
		t.Run(c.amount+" "+c.currency, func(t *testing.T) {
			money, err := refund.ParseMoney(c.amount, c.currency)
			require.NoError(t, err)
			require.Equal(t, refund.Money{Minor: c.minor, Currency: c.currency}, money)
			require.Equal(t, c.printed, money.String())
		})
	}
}

func TestPartsOfACaptureAddUpToTheWhole(t *testing.T) {
	sum := func(amounts ...string) (total int64) {
		for _, amount := range amounts {
			money, err := refund.ParseMoney(amount, "EUR")
			require.NoError(t, err)
			total += money.Minor
		}
		return total
	}
	require.Equal(t, sum("30.20"), sum("11.85", "18.35"))
	require.Equal(t, sum("100.00"), sum("33.33", "33.33", "33.33", "0.01"))
}

func TestAmountsThatAreNotOneAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, amount, currency string
		words                  []string
	}{
		{"zero", "0", "EUR", []string{"more than zero"}},
		{"zero with decimals", "0.00", "EUR", []string{"more than zero"}},
		{"negative", "-1", "EUR", []string{`"-1"`, "plain decimal"}},
		{"negative cents", "-4200", "EUR", []string{`"-4200"`}},
		{"signed", "+42.00", "EUR", []string{`"+42.00"`}},
		{"nothing", "", "EUR", []string{`""`}},
		{"null", "null", "EUR", []string{`"null"`}},
		{"not a number", "NaN", "EUR", []string{`"NaN"`}},
		{"infinite", "Inf", "EUR", []string{`"Inf"`}},
		{"with an exponent", "1e3", "EUR", []string{`"1e3"`}},
		{"with a fraction and an exponent", "4.2e3", "EUR", []string{`"4.2e3"`}},
		{"hexadecimal", "0x10", "EUR", []string{`"0x10"`}},
		{"with a comma", "42,00", "EUR", []string{`"42,00"`}},
		{"with separators", "1_000", "EUR", []string{`"1_000"`}},
		{"with a blank", " 42", "EUR", []string{`" 42"`}},
		{"with its currency", "42 EUR", "EUR", []string{`"42 EUR"`}},
		{"digits of another script", "٤٢", "EUR", []string{"plain decimal"}},
		{"fullwidth digits", "４２", "EUR", []string{"plain decimal"}},
		{"point without decimals", "42.", "EUR", []string{`"42."`}},
		{"point without digits before", ".42", "EUR", []string{`".42"`}},
		{"two points", "4.2.0", "EUR", []string{`"4.2.0"`}},
		{"only a point", ".", "EUR", []string{`"."`}},
		{"finer than a cent", "0.001", "EUR", []string{"finer", "2 decimals", "not rounded"}},
		{"a third", "33.333", "EUR", []string{"finer"}},
		{"finer by zeros", "42.000", "EUR", []string{"finer"}},
		{"finer than a yen", "42.0", "JPY", []string{"finer", "0 decimals"}},
		{"finer than a fils", "0.0001", "KWD", []string{"finer", "3 decimals"}},
		{"one more than the limit", "10000000000.01", "EUR", []string{"larger than the limit"}},
		{"largest integer", "9223372036854775807", "JPY", []string{"larger than the limit"}},
		{"largest integer in euros", "9223372036854775807", "EUR", []string{"larger than the limit"}},
		{"wraps around at 64 bits", "184467440737095516.17", "EUR", []string{"larger than the limit"}},
		{"a thousand digits", strings.Repeat("9", 1000), "EUR", []string{"larger than the limit"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := refund.ParseMoney(c.amount, c.currency)
			requireCode(t, err, refund.CodeInvalidAmount, c.words...)
			require.Less(t, len(err.Error()), 300, "an error stays readable whatever was typed")
		})
	}
}

func TestMinorUnitsAreCheckedLikeDecimals(t *testing.T) {
	for _, minor := range []int64{0, -1, -4200, math.MinInt64} {
		_, err := refund.NewMoney(minor, "EUR")
		requireCode(t, err, refund.CodeInvalidAmount, "more than zero")
	}
	for _, minor := range []int64{refund.MaxMinor + 1, math.MaxInt64} {
		_, err := refund.NewMoney(minor, "EUR")
		requireCode(t, err, refund.CodeInvalidAmount, "larger than the limit")
	}
}

func TestCurrenciesOutsideTheStandardAreRefused(t *testing.T) {
	for _, currency := range []string{"", "eur", "EURO", "EU", " EUR", "EUR ", "XXX", "XAU", "XTS", "DEM", "BTC", "€", "ZZZ", strings.Repeat("E", 500)} {
		_, err := refund.ParseMoney("42", currency)
		requireCode(t, err, refund.CodeInvalidCurrency, "ISO 4217")
		_, err = refund.NewMoney(4200, currency)
		requireCode(t, err, refund.CodeInvalidCurrency, "ISO 4217")
	}
}

func TestMoneyPrintsWhatParseMoneyReads(t *testing.T) {
	for _, currency := range []string{"JPY", "CLP", "EUR", "USD", "CHF", "KWD", "BHD", "JOD"} {
		for _, minor := range []int64{1, 9, 10, 99, 100, 101, 999, 1000, 1001, 123456789, refund.MaxMinor - 1, refund.MaxMinor} {
			money := refund.Money{Minor: minor, Currency: currency}
			amount, printed, _ := strings.Cut(money.String(), " ")
			again, err := refund.ParseMoney(amount, printed)
			require.NoError(t, err)
			require.Equal(t, money, again)
		}
	}
}

// Differences and balances may be negative, and evidence may name a currency that nobody knows.
func TestMoneyThatIsNoAmountStillPrints(t *testing.T) {
	require.Equal(t, "-0.05 EUR", refund.Money{Minor: -5, Currency: "EUR"}.String())
	require.Equal(t, "-42 JPY", refund.Money{Minor: -42, Currency: "JPY"}.String())
	require.Equal(t, "0.00 EUR", refund.Money{Currency: "EUR"}.String())
	require.Equal(t, "-92233720368547758.08 EUR", refund.Money{Minor: math.MinInt64, Currency: "EUR"}.String())
	require.Equal(t, "42 minor units of DEM", refund.Money{Minor: 42, Currency: "DEM"}.String())
}
