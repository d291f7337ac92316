package refund_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

// asked is a request that is right; tests change one field at a time.
func asked() refund.Request {
	return refund.Request{
		Tenant: "acme", RequestID: "req-1", Order: "o1", Amount: refund.Money{Minor: 4200, Currency: "EUR"},
		Reason: "damaged on arrival", Requester: "user-1",
	}
}

func terms(t testing.TB, in refund.Terms) refund.Terms {
	t.Helper()
	out, err := refund.NewTerms(in)
	require.NoError(t, err)
	return out
}

func TestNewRequestBringsEveryFieldToItsOneSpelling(t *testing.T) {
	got, err := refund.NewRequest(refund.Request{
		Tenant: " Acme", RequestID: "REQ-1\t", Order: "O1 ", Amount: refund.Money{Minor: 4200, Currency: "EUR"},
		Reason: " \n damaged, cafe\u0301 \u00a0", Requester: "User-1",
	})
	require.NoError(t, err)
	want := asked()
	want.Reason = "damaged, caf\u00e9"
	require.Equal(t, want, got)

	again, err := refund.NewRequest(got)
	require.NoError(t, err)
	require.Equal(t, got, again)
}

func TestNewRequestRefusesEachWrongFieldByName(t *testing.T) {
	for _, c := range []struct {
		name  string
		wrong func(*refund.Request)
		code  refund.Code
		words string
	}{
		{"no tenant", func(r *refund.Request) { r.Tenant = "" }, refund.CodeInvalidIdentity, "tenant is empty"},
		{"tenant with a slash", func(r *refund.Request) { r.Tenant = "a/b" }, refund.CodeInvalidIdentity, `tenant "a/b"`},
		{"no request id", func(r *refund.Request) { r.RequestID = " " }, refund.CodeInvalidIdentity, "request id is empty"},
		{"long request id", func(r *refund.Request) { r.RequestID = strings.Repeat("x", 129) }, refund.CodeInvalidIdentity, "request id is 129 bytes"},
		{"no order", func(r *refund.Request) { r.Order = "" }, refund.CodeInvalidIdentity, "order is empty"},
		{"no requester", func(r *refund.Request) { r.Requester = "" }, refund.CodeInvalidIdentity, "requester is empty"},
		{"no amount", func(r *refund.Request) { r.Amount.Minor = 0 }, refund.CodeInvalidAmount, "more than zero"},
		{"negative amount", func(r *refund.Request) { r.Amount.Minor = -4200 }, refund.CodeInvalidAmount, "more than zero"},
		{"too much", func(r *refund.Request) { r.Amount.Minor = math.MaxInt64 }, refund.CodeInvalidAmount, "larger"},
		{"no currency", func(r *refund.Request) { r.Amount.Currency = "" }, refund.CodeInvalidCurrency, `""`},
		{"unknown currency", func(r *refund.Request) { r.Amount.Currency = "eur" }, refund.CodeInvalidCurrency, `"eur"`},
		{"no reason", func(r *refund.Request) { r.Reason = "" }, refund.CodeInvalidReason, "empty"},
		{"blank reason", func(r *refund.Request) { r.Reason = " \u2003\n" }, refund.CodeInvalidReason, "empty"},
		{"long reason", func(r *refund.Request) { r.Reason = strings.Repeat("x", 501) }, refund.CodeInvalidReason, "501 bytes"},
		{"reason too long in bytes", func(r *refund.Request) { r.Reason = strings.Repeat("é", 251) }, refund.CodeInvalidReason, "502 bytes"},
		{"line break in the reason", func(r *refund.Request) { r.Reason = "a\nb" }, refund.CodeInvalidReason, "U+000A"},
		{"escape in the reason", func(r *refund.Request) { r.Reason = "a\x1b[2Jb" }, refund.CodeInvalidReason, "U+001B"},
		{"null in the reason", func(r *refund.Request) { r.Reason = "a\x00b" }, refund.CodeInvalidReason, "U+0000"},
		{"C1 control in the reason", func(r *refund.Request) { r.Reason = "a\u009bb" }, refund.CodeInvalidReason, "U+009B"},
		{"reason that is not UTF-8", func(r *refund.Request) { r.Reason = "a\xffb" }, refund.CodeInvalidReason, "UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := asked()
			c.wrong(&in)
			out, err := refund.NewRequest(in)
			requireCode(t, err, c.code, c.words)
			require.Zero(t, out)
		})
	}
}

// The limit is that of the stored text: decomposed letters that compose below it are taken.
func TestTheLengthOfAReasonIsMeasuredAfterNormalisation(t *testing.T) {
	in := asked()
	in.Reason = strings.Repeat("e\u0301", 250) // 750 bytes as typed, 500 composed
	out, err := refund.NewRequest(in)
	require.NoError(t, err)
	require.Len(t, out.Reason, refund.MaxReason)
}

func TestTermsThatAreLeftOutHaveDefaults(t *testing.T) {
	day := (24 * time.Hour).Milliseconds()
	require.Equal(t, refund.Terms{
		Profile: refund.ProfileFull, DecideWithin: day, CommitWithin: day, Retention: day, ModelBudget: 3, CallTimeout: 10_000, Backoff: 1000,
	}, terms(t, refund.Terms{}))

	given := refund.Terms{Profile: refund.ProfileOpaque, DecideWithin: 1, CommitWithin: 2, Retention: 3, ModelBudget: 1, CallTimeout: 5, Backoff: 6}
	require.Equal(t, given, terms(t, given), "what is given stays")
	require.Equal(t, int64(60_000), terms(t, refund.Terms{DecideWithin: 60_000}).CommitWithin, "both deadlines are one instant by default")
}

func TestTermsHaveBounds(t *testing.T) {
	for _, p := range refund.Profiles() {
		require.Equal(t, p.Name, terms(t, refund.Terms{Profile: p.Name}).Profile)
	}
	quarter, year := (90 * 24 * time.Hour).Milliseconds(), (365 * 24 * time.Hour).Milliseconds()
	for _, c := range []struct {
		name        string
		field       func(*refund.Terms) *int64
		least, most int64
		code        refund.Code
		words       string
	}{
		{"decide", func(in *refund.Terms) *int64 { return &in.DecideWithin }, 1, quarter, refund.CodeInvalidDeadline, "time to decide"},
		{"commit", func(in *refund.Terms) *int64 { return &in.CommitWithin }, 1, quarter, refund.CodeInvalidDeadline, "time to commit"},
		{"retention", func(in *refund.Terms) *int64 { return &in.Retention }, 1, 10 * year, refund.CodeInvalidDeadline, "retention"},
		{"call time-out", func(in *refund.Terms) *int64 { return &in.CallTimeout }, 1, 300_000, refund.CodeInvalidFlag, "call time-out"},
		{"backoff", func(in *refund.Terms) *int64 { return &in.Backoff }, 1, 3_600_000, refund.CodeInvalidFlag, "backoff"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, value := range []int64{c.least, c.most} {
				var in refund.Terms
				*c.field(&in) = value
				_, err := refund.NewTerms(in)
				require.NoError(t, err)
			}
			for _, value := range []int64{-1, math.MinInt64, c.most + 1, math.MaxInt64} {
				var in refund.Terms
				*c.field(&in) = value
				_, err := refund.NewTerms(in)
				requireCode(t, err, c.code, c.words)
			}
		})
	}
	for _, budget := range []int{-1, 11} {
		_, err := refund.NewTerms(refund.Terms{ModelBudget: budget})
		requireCode(t, err, refund.CodeInvalidFlag, "model budget")
	}
	require.Equal(t, 10, terms(t, refund.Terms{ModelBudget: 10}).ModelBudget)

	_, err := refund.NewTerms(refund.Terms{Profile: "best"})
	requireCode(t, err, refund.CodeInvalidProfile, `"best"`, "full, retention, lenient, lookup, stale, opaque, local")
}

func TestPausesDoubleUpToAnHour(t *testing.T) {
	in := refund.Terms{Backoff: 1000}
	for n, want := range map[int]time.Duration{
		0: time.Second, 1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 12: 2048 * time.Second, 13: time.Hour, 14: time.Hour, math.MaxInt: time.Hour,
	} {
		require.Equal(t, want, in.Pause(n), n)
	}
	require.Equal(t, time.Hour, refund.Terms{Backoff: time.Hour.Milliseconds()}.Pause(1))
}

func TestDeadlinesAreCountedFromTheIntake(t *testing.T) {
	in := refund.NewIntake(asked(), terms(t, refund.Terms{DecideWithin: 1000, CommitWithin: 1500}), 5000)
	require.Equal(t, refund.NewOperationID("acme", "refund", "req-1"), in.OperationID)
	require.Equal(t, asked().Digest(), in.Digest)
	require.Equal(t, refund.Instant(6000), in.DecideBy())
	require.Equal(t, refund.Instant(6500), in.CommitBy())
	require.True(t, refund.Instant(5999).Before(in.DecideBy()))
	require.False(t, refund.Instant(6000).Before(in.DecideBy()), "at the deadline it is too late")
}

func TestInstantsAreWholeMillisecondsInUTC(t *testing.T) {
	at := time.Date(2026, 3, 29, 2, 30, 0, 1_999_999, time.FixedZone("CET", 3600))
	i := refund.At(at)
	require.Equal(t, "2026-03-29T01:30:00.001Z", i.String())
	require.Equal(t, at.Truncate(time.Millisecond).UTC(), i.Time())
	require.Equal(t, 1500*time.Millisecond, i.Add(1500*time.Millisecond).Sub(i))
	require.Equal(t, "-", refund.Instant(0).String())
}
