package refund

import (
	"math"
	"strconv"
	"strings"
)

// MaxMinor is the largest amount of one refund: 10^12 minor units. The limit keeps every sum of a hundred thousand
// refunds inside int64 and inside the integers that a JSON reader with doubles holds exactly (2^53).
const MaxMinor int64 = 1_000_000_000_000

// Money is an amount in whole minor units of an ISO 4217 currency. It is never held in a float: 145.05 times 100 is
// 14505.000000000002 there.
type Money struct {
	Minor    int64  `json:"minor"`
	Currency string `json:"currency"`
}

// ParseMoney reads a decimal amount such as "42", "42.5" or "42.00" exactly. It takes plain digits with at most one
// point and at most as many decimals as the currency has; it never rounds.
//
// Errors: INVALID_CURRENCY, INVALID_AMOUNT.
func ParseMoney(amount, currency string) (Money, error) {
	exponent, err := currencyExponent(currency)
	if err != nil {
		return Money{}, err
	}
	whole, fraction, point := strings.Cut(amount, ".")
	if !digits(whole) || (point && !digits(fraction)) {
		return Money{}, Errorf(CodeInvalidAmount, "amount %q is not a plain decimal number: write digits with at most one point, such as 42.00", clip(amount))
	}
	if len(fraction) > exponent {
		return Money{}, Errorf(CodeInvalidAmount, "amount %q is finer than the smallest unit of %s, which has %d decimals: it is refused, not rounded", clip(amount), currency, exponent)
	}
	minor, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", exponent-len(fraction)), 10, 64)
	if err != nil {
		minor = math.MaxInt64
	}
	return NewMoney(minor, currency)
}

// NewMoney checks an amount that is given in minor units already.
//
// Errors: INVALID_CURRENCY, INVALID_AMOUNT.
func NewMoney(minor int64, currency string) (Money, error) {
	if _, err := currencyExponent(currency); err != nil {
		return Money{}, err
	}
	switch {
	case minor <= 0:
		return Money{}, Errorf(CodeInvalidAmount, "amount must be more than zero: zero never means \"everything\"")
	case minor > MaxMinor:
		return Money{}, Errorf(CodeInvalidAmount, "amount is larger than the limit of %d minor units", MaxMinor)
	}
	return Money{Minor: minor, Currency: currency}, nil
}

// String prints the amount with all decimals of its currency, such as "42.00 EUR"; ParseMoney reads it back.
func (m Money) String() string {
	exponent, err := currencyExponent(m.Currency)
	if err != nil {
		return strconv.FormatInt(m.Minor, 10) + " minor units of " + m.Currency
	}
	sign, minor := "", strconv.FormatInt(m.Minor, 10)
	if m.Minor < 0 {
		sign, minor = "-", minor[1:]
	}
	if exponent == 0 {
		return sign + minor + " " + m.Currency
	}
	if pad := exponent + 1 - len(minor); pad > 0 {
		minor = strings.Repeat("0", pad) + minor
	}
	cut := len(minor) - exponent
	return sign + minor[:cut] + "." + minor[cut:] + " " + m.Currency
}

func digits(s string) bool {
	if s == "" {
		return false
	}
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// clip keeps error texts short when the value that was wrong is not.
func clip(s string) string {
	const limit = 80 // bytes; enough to recognise a value on one line
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "..."
}
