package refund

import "strings"

// exponents lists the active currencies of ISO 4217 by their number of decimals. Funds codes, metals and test codes
// (XAU, XXX, CHE, UYI ...) are left out: no order is paid in them.
var exponents = func() map[string]int {
	table := map[string]int{}
	for exponent, codes := range map[int]string{
		0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF",
		2: "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC CUP CVE CZK " +
			"DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT " +
			"LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN " +
			"QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS " +
			"VED VES WST XCD XCG YER ZAR ZMW ZWG",
		3: "BHD IQD JOD KWD LYD OMR TND",
	} {
		for _, code := range strings.Fields(codes) {
			table[code] = exponent
		}
	}
	return table
}()

func currencyExponent(currency string) (int, error) {
	exponent, ok := exponents[currency]
	if !ok {
		return 0, Errorf(CodeInvalidCurrency, "currency %q is not an active ISO 4217 code: write three upper-case letters such as EUR", clip(currency))
	}
	return exponent, nil
}
