package refund_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

// promise is one row of the table of profiles as the documentation has it, stated apart from the code.
type promise struct {
	name                       refund.ProfileName
	idempotent, expires        bool
	otherDigest                refund.DigestRule
	lookup                     refund.LookupKind
	close, version, due, fence bool
	shared                     bool
}

var promises = []promise{
	{"full", true, false, "conflict", "strong", true, true, true, true, false},
	{"retention", true, true, "conflict", "strong", false, false, false, false, false},
	{"lenient", true, false, "old-answer", "strong", false, false, false, false, false},
	{"lookup", false, false, "unseen", "strong", false, false, false, false, false},
	{"stale", false, false, "unseen", "lagging", false, false, false, false, false},
	{"opaque", false, false, "unseen", "none", false, false, false, false, false},
	{"local", true, false, "conflict", "strong", true, true, true, true, true},
}

func TestProfilesPromiseWhatTheTableSays(t *testing.T) {
	all := refund.Profiles()
	require.Len(t, all, len(promises))
	for i, p := range promises {
		require.Equal(t, refund.Profile{
			Name: p.name, Idempotent: p.idempotent, Expires: p.expires, OtherDigest: p.otherDigest, Lookup: p.lookup,
			Close: p.close, OrderVersion: p.version, Deadline: p.due, Fence: p.fence, Shared: p.shared,
		}, all[i])
		named, err := refund.ProfileNamed(p.name)
		require.NoError(t, err)
		require.Equal(t, all[i], named)
	}
	all[0].Close = false
	require.True(t, refund.Profiles()[0].Close, "the table cannot be changed from outside")
	for _, name := range []refund.ProfileName{"", "Full", "none"} {
		_, err := refund.ProfileNamed(name)
		requireCode(t, err, refund.CodeInvalidProfile, "full, retention")
	}
}

var observations = []refund.Observation{
	refund.ObservedNothing, refund.ObservedReceipt, refund.ObservedRefusal, refund.ObservedConflict, refund.ObservedAmbiguous,
	refund.ObservedNotFound, refund.ObservedStaleFence, refund.ObservedUnsent,
}

// afterSend is what may be done once something may have left and nothing is proved. The columns are: authority valid and
// inside retention; valid and past retention; lapsed and inside; lapsed and past.
var afterSend = map[refund.ProfileName][4]refund.Action{
	"full":      {"SEND", "SEND", "CLOSE", "CLOSE"},
	"retention": {"SEND", "LOOK_UP", "LOOK_UP", "LOOK_UP"},
	"lenient":   {"SEND", "SEND", "LOOK_UP", "LOOK_UP"},
	"lookup":    {"LOOK_UP", "LOOK_UP", "LOOK_UP", "LOOK_UP"},
	"stale":     {"LOOK_UP", "LOOK_UP", "LOOK_UP", "LOOK_UP"},
	"opaque":    {"HOLD", "HOLD", "HOLD", "HOLD"},
	"local":     {"SEND", "SEND", "CLOSE", "CLOSE"},
}

func expectedNext(s refund.Situation) refund.Action {
	switch s.Observation {
	case "RECEIPT":
		return "CONFIRM"
	case "REFUSAL":
		return "REJECT"
	case "CONFLICT":
		return "HOLD"
	}
	column := 0
	if !s.Authorised {
		column += 2
	}
	if !s.Retained {
		column++
	}
	// An ambiguous answer answers something that was sent, and a stale fence tells of another owner who was ahead.
	if s.Sent || s.Observation == "AMBIGUOUS" || s.Observation == "STALE_FENCE" {
		return afterSend[s.Profile.Name][column]
	}
	if s.Authorised {
		return "SEND"
	}
	return "REJECT"
}

// situations calls try with every profile, observation, authority, sent and retained.
func situations(try func(p promise, s refund.Situation)) {
	for i, profile := range refund.Profiles() {
		for _, observation := range observations {
			for bits := range 8 {
				try(promises[i], refund.Situation{
					Profile: profile, Observation: observation, Authorised: bits&1 != 0, Sent: bits&2 != 0, Retained: bits&4 != 0,
				})
			}
		}
	}
}

func TestNextAgreesWithTheTableInEverySituation(t *testing.T) {
	tried := 0
	situations(func(_ promise, s refund.Situation) {
		tried++
		require.Equal(t, expectedNext(s), refund.Next(s), "%+v", s)
	})
	require.Equal(t, 7*8*2*2*2, tried)
}

// The same rule as single sentences, each of which must hold whatever the table above says.
func TestNextKeepsTheInvariantsInEverySituation(t *testing.T) {
	situations(func(p promise, s refund.Situation) {
		next, name := refund.Next(s), fmt.Sprintf("%s %+v", p.name, s)
		if next == refund.ActConfirm {
			require.Equal(t, refund.ObservedReceipt, s.Observation, "I2: CONFIRMED only by a receipt: %s", name)
		}
		if s.Observation == refund.ObservedConflict {
			require.Equal(t, refund.ActHold, next, "I9: a conflict is never touched again: %s", name)
		}
		if next == refund.ActReject && s.Observation != refund.ObservedRefusal {
			require.False(t, s.Sent, "I3: what may have been sent is only rejected by a refusal: %s", name)
			require.False(t, s.Authorised, "I3: a valid authority is not withdrawn: %s", name)
		}
		if next == refund.ActSend {
			require.True(t, s.Authorised, "I5: nothing is sent without authority: %s", name)
			if s.Sent {
				require.True(t, p.idempotent, "I1: looked up, not found, timed out: none allows a second send: %s", name)
				require.True(t, !p.expires || s.Retained, "I1: past retention a repeated key is a new refund: %s", name)
			}
		}
		if next == refund.ActClose {
			require.True(t, p.close, name)
		}
		if next == refund.ActLookUp {
			require.NotEqual(t, refund.LookupNone, p.lookup, name)
		}
		if next == refund.ActHold && s.Observation != refund.ObservedConflict {
			require.Equal(t, refund.ProfileOpaque, p.name, "I4: where something may be asked, it is: %s", name)
		}
	})
}

func TestAnUnknownObservationProvesNothing(t *testing.T) {
	for _, profile := range refund.Profiles() {
		s := refund.Situation{Profile: profile, Observation: "PAID", Sent: true}
		require.Equal(t, expectedNext(s), refund.Next(s))
	}
}

func TestRetentionCountsFromTheFirstSendAndLeavesTimeForTheAnswer(t *testing.T) {
	in := refund.Terms{Retention: 1000, CallTimeout: 100}
	for _, c := range []struct {
		firstSent, now refund.Instant
		want           bool
	}{
		{5000, 5000, true},
		{5000, 5899, true},
		{5000, 5900, false}, // its answer could come when the provider has just forgotten
		{5000, 6000, false},
		{0, 6000, true}, // nothing was sent: nothing can be forgotten
	} {
		require.Equal(t, c.want, refund.Retained(in, c.firstSent, c.now), "%+v", c)
	}
	longest := terms(t, refund.Terms{Retention: refund.MaxRetention.Milliseconds()})
	require.True(t, refund.Retained(longest, 1, 2))
}

func proof(in refund.Intake) refund.Receipt {
	return refund.Receipt{
		RefundID: "rf-1", OperationID: in.OperationID, Digest: in.Digest, Order: in.Request.Order, Amount: in.Request.Amount, At: 7000,
	}
}

func TestAReceiptIsCheckedBeforeItCounts(t *testing.T) {
	in := refund.NewIntake(asked(), terms(t, refund.Terms{}), 5000)
	other := refund.NewOperationID("acme", refund.Kind, "req-2")
	for _, c := range []struct {
		name   string
		change func(*refund.Receipt)
		want   refund.Observation
	}{
		{"the right one", func(*refund.Receipt) {}, refund.ObservedReceipt},
		{"another refund id", func(r *refund.Receipt) { r.RefundID = "rf-2" }, refund.ObservedReceipt},

		{"without refund id", func(r *refund.Receipt) { r.RefundID = "" }, refund.ObservedAmbiguous},
		{"without operation id", func(r *refund.Receipt) { r.OperationID = "" }, refund.ObservedAmbiguous},
		{"without digest", func(r *refund.Receipt) { r.Digest = "" }, refund.ObservedAmbiguous},
		{"without order", func(r *refund.Receipt) { r.Order = "" }, refund.ObservedAmbiguous},
		{"without amount", func(r *refund.Receipt) { r.Amount.Minor = 0 }, refund.ObservedAmbiguous},
		{"without currency", func(r *refund.Receipt) { r.Amount.Currency = "" }, refund.ObservedAmbiguous},
		{"without time", func(r *refund.Receipt) { r.At = 0 }, refund.ObservedAmbiguous},
		{"with a negative time", func(r *refund.Receipt) { r.At = -1 }, refund.ObservedAmbiguous},
		{"empty", func(r *refund.Receipt) { *r = refund.Receipt{} }, refund.ObservedAmbiguous},

		{"for another operation", func(r *refund.Receipt) { r.OperationID = other }, refund.ObservedConflict},
		{"with another digest", func(r *refund.Receipt) { r.Digest = "00" + in.Digest[2:] }, refund.ObservedConflict},
		{"for another order", func(r *refund.Receipt) { r.Order = "o2" }, refund.ObservedConflict},
		{"for another amount", func(r *refund.Receipt) { r.Amount.Minor++ }, refund.ObservedConflict},
		{"for a negative amount", func(r *refund.Receipt) { r.Amount.Minor = -4200 }, refund.ObservedConflict},
		{"in another currency", func(r *refund.Receipt) { r.Amount.Currency = "USD" }, refund.ObservedConflict},
	} {
		t.Run(c.name, func(t *testing.T) {
			receipt := proof(in)
			c.change(&receipt)
			require.Equal(t, c.want, refund.CheckReceipt(in, receipt))
		})
	}
}

func TestAnOrderIsCheckedRuleByRule(t *testing.T) {
	order := refund.Order{ID: "o1", Currency: "EUR", Captured: 10000, Version: 3}
	for _, c := range []struct {
		name   string
		change func(*refund.Order)
		shown  int64
		want   refund.Code
	}{
		{"fits", func(*refund.Order) {}, 3, ""},
		{"was shown to nobody yet", func(*refund.Order) {}, 0, ""},
		{"exactly the rest", func(o *refund.Order) { o.Refunded = 5800 }, 3, ""},
		{"another order", func(o *refund.Order) { o.ID = "o2" }, 3, refund.CodeOrderNotFound},
		{"no order", func(o *refund.Order) { *o = refund.Order{} }, 3, refund.CodeOrderNotFound},
		{"another currency", func(o *refund.Order) { o.Currency = "USD" }, 3, refund.CodeCurrencyMismatch},
		{"a newer version", func(o *refund.Order) { o.Version = 4 }, 3, refund.CodeOrderVersionChanged},
		{"an older version", func(o *refund.Order) { o.Version = 2 }, 3, refund.CodeOrderVersionChanged},
		{"one minor unit too few", func(o *refund.Order) { o.Refunded = 5801 }, 3, refund.CodeInsufficientBalance},
		{"nothing captured", func(o *refund.Order) { o.Captured = 0 }, 3, refund.CodeInsufficientBalance},
		{"refunded beyond the capture", func(o *refund.Order) { o.Refunded = 20000 }, 3, refund.CodeInsufficientBalance},
		{"currency before version", func(o *refund.Order) { o.Currency, o.Version = "USD", 4 }, 3, refund.CodeCurrencyMismatch},
		{"version before balance", func(o *refund.Order) { o.Version, o.Captured = 4, 0 }, 3, refund.CodeOrderVersionChanged},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := order
			c.change(&o)
			require.Equal(t, c.want, refund.CheckOrder(asked(), o, c.shown))
		})
	}
}
