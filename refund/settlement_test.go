package refund_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

// settlement is a well-formed word of a person about the run of facts.
func settlement(f refund.Facts, kind refund.SettlementKind) refund.Settlement {
	s := refund.Settlement{SettlementID: "set-1", OperationID: f.Intake.OperationID, Kind: kind, By: "ops-1", Reason: "called the bank"}
	if kind == refund.SettleReceipt {
		receipt := proof(f.Intake)
		s.Receipt = &receipt
	}
	return s
}

// Which way is open depends on what the provider can prove: a receipt always, a close where there is one, and the mere
// presumption only where there is none.
func TestWhatAPersonMaySettleDependsOnTheProfile(t *testing.T) {
	for profile, open := range map[refund.ProfileName][]refund.SettlementKind{
		"full":      {refund.SettleReceipt, refund.SettleClose},
		"retention": {refund.SettleReceipt, refund.SettlePresumedAbsent},
		"lenient":   {refund.SettleReceipt, refund.SettlePresumedAbsent},
		"lookup":    {refund.SettleReceipt, refund.SettlePresumedAbsent},
		"stale":     {refund.SettleReceipt, refund.SettlePresumedAbsent},
		"opaque":    {refund.SettleReceipt, refund.SettlePresumedAbsent},
		"local":     {refund.SettleReceipt, refund.SettleClose},
	} {
		for _, state := range []refund.OperationState{refund.StateSubmitted, refund.StateUnknown} {
			f, p := sent(t, profile, state), profileNamed(t, profile)
			allowed := []refund.SettlementKind{}
			for _, kind := range []refund.SettlementKind{refund.SettleReceipt, refund.SettleClose, refund.SettlePresumedAbsent} {
				s := settlement(f, kind)
				got, err := refund.CheckSettlement(s, f, p, commitBy)
				if err == nil {
					require.Equal(t, s, got)
					allowed = append(allowed, kind)
					continue
				}
				requireCode(t, err, refund.CodeSettlementRefused, string(profile))
			}
			require.Equal(t, open, allowed, profile)
		}
	}
}

// Who presumes makes the engine stop asking, so it is refused as long as the engine will still be told. The other two ways bring
// the outcome themselves.
func TestAbsenceIsNotPresumedWhileTheEngineMayStillSend(t *testing.T) {
	for _, profile := range []refund.ProfileName{refund.ProfileRetention, refund.ProfileLenient} {
		f, p := sent(t, profile, refund.StateUnknown), profileNamed(t, profile)
		require.Equal(t, refund.StatusRetryable, refund.StatusOf(f, p, sentAt), profile)
		_, err := refund.CheckSettlement(settlement(f, refund.SettlePresumedAbsent), f, p, sentAt)
		requireCode(t, err, refund.CodeSettlementRefused, "RETRYABLE", "may still send")
		_, err = refund.CheckSettlement(settlement(f, refund.SettlePresumedAbsent), f, p, commitBy)
		require.NoError(t, err, profile)
		_, err = refund.CheckSettlement(settlement(f, refund.SettleReceipt), f, p, sentAt)
		require.NoError(t, err, profile)
	}
}

func TestAConflictCanOnlyBeAnnotated(t *testing.T) {
	for _, p := range refund.Profiles() {
		f := sent(t, p.Name, refund.StateUnknown)
		f.Conflict = "409 key is bound to another digest"
		for _, kind := range []refund.SettlementKind{refund.SettleReceipt, refund.SettleClose} {
			_, err := refund.CheckSettlement(settlement(f, kind), f, p, sentAt)
			requireCode(t, err, refund.CodeSettlementRefused, "409 key", "only annotate")
		}
		_, err := refund.CheckSettlement(settlement(f, refund.SettlePresumedAbsent), f, p, sentAt)
		require.NoError(t, err, p.Name)
	}
}

func TestAPresumptionCanStillBeReplacedByAReceipt(t *testing.T) {
	f := sent(t, "opaque", refund.StateUnknown)
	f.PresumedAbsent = &refund.Settlement{}
	_, err := refund.CheckSettlement(settlement(f, refund.SettleReceipt), f, profileNamed(t, "opaque"), commitBy)
	require.NoError(t, err)
}

func TestOnlyARunWhoseOutcomeIsUnknownCanBeSettled(t *testing.T) {
	for name, change := range map[string]func(*refund.Facts){
		"PENDING":           func(f *refund.Facts) { f.State, f.Proposal, f.Decision = "PREPARED", nil, nil },
		"APPROVAL_REQUIRED": func(f *refund.Facts) { f.State, f.Decision = "PREPARED", nil },
		"RETRYABLE":         func(f *refund.Facts) { f.State = "PREPARED" }, // nothing was sent
		"CONFIRMED":         func(f *refund.Facts) { f.State = "CONFIRMED" },
		"REJECTED":          func(f *refund.Facts) { f.State = "REJECTED" },
		"EXPIRED":           func(f *refund.Facts) { f.State, f.Decision, f.Expired = "PREPARED", nil, true },
	} {
		t.Run(name, func(t *testing.T) {
			for _, p := range refund.Profiles() {
				for _, kind := range []refund.SettlementKind{refund.SettleReceipt, refund.SettleClose, refund.SettlePresumedAbsent} {
					f := sent(t, p.Name, refund.StateUnknown)
					change(&f)
					_, err := refund.CheckSettlement(settlement(f, kind), f, p, sentAt)
					requireCode(t, err, refund.CodeSettlementRefused, name)
				}
			}
		})
	}
}

func TestASettlementByAReceiptNeedsTheRightOne(t *testing.T) {
	for name, change := range map[string]func(*refund.Receipt){
		"another digest":    func(r *refund.Receipt) { r.Digest = refund.Digest(strings.Repeat("0", 64)) },
		"another operation": func(r *refund.Receipt) { r.OperationID = refund.NewOperationID("acme", refund.Kind, "req-2") },
		"another amount":    func(r *refund.Receipt) { r.Amount.Minor-- },
		"no refund id":      func(r *refund.Receipt) { r.RefundID = "" },
	} {
		t.Run(name, func(t *testing.T) {
			f := sent(t, "opaque", refund.StateUnknown)
			s := settlement(f, refund.SettleReceipt)
			change(s.Receipt)
			_, err := refund.CheckSettlement(s, f, profileNamed(t, "opaque"), commitBy)
			requireCode(t, err, refund.CodeSettlementRefused, "does not belong")
		})
	}
}

func TestNewSettlementRefusesEachWrongFieldByName(t *testing.T) {
	f := sent(t, "opaque", refund.StateUnknown)
	for _, c := range []struct {
		name  string
		kind  refund.SettlementKind
		wrong func(*refund.Settlement)
		code  refund.Code
		words string
	}{
		{"no id", "close", func(s *refund.Settlement) { s.SettlementID = "" }, refund.CodeInvalidIdentity, "settlement id is empty"},
		{"no person", "close", func(s *refund.Settlement) { s.By = " " }, refund.CodeInvalidIdentity, "person who settles is empty"},
		{"no operation", "close", func(s *refund.Settlement) { s.OperationID = "x" }, refund.CodeInvalidIdentity, `operation id "x"`},
		{"no reason", "close", func(s *refund.Settlement) { s.Reason = "" }, refund.CodeInvalidReason, "reason is empty"},
		{"reason with a control", "close", func(s *refund.Settlement) { s.Reason = "a\tb" }, refund.CodeInvalidReason, "U+0009"},
		{"no kind", "", func(*refund.Settlement) {}, refund.CodeInvalidDecision, `kind ""`},
		{"another kind", "paid", func(*refund.Settlement) {}, refund.CodeInvalidDecision, `kind "paid"`},
		{"receipt without one", "receipt", func(s *refund.Settlement) { s.Receipt = nil }, refund.CodeInvalidDecision, "has no receipt"},
		{"close with a receipt", "close", func(s *refund.Settlement) { s.Receipt = &refund.Receipt{} }, refund.CodeInvalidDecision, "carries a receipt"},
		{"presumption with a receipt", "presumed-absent", func(s *refund.Settlement) { s.Receipt = &refund.Receipt{} }, refund.CodeInvalidDecision, "carries a receipt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := settlement(f, c.kind)
			c.wrong(&s)
			got, err := refund.NewSettlement(s)
			requireCode(t, err, c.code, c.words)
			require.Zero(t, got)
			_, err = refund.CheckSettlement(s, f, profileNamed(t, "opaque"), commitBy)
			requireCode(t, err, c.code, c.words)
		})
	}
	s := settlement(f, refund.SettleClose)
	s.SettlementID, s.By, s.Reason = " SET-1", "Ops-1", " called the bank "
	got, err := refund.NewSettlement(s)
	require.NoError(t, err)
	require.Equal(t, settlement(f, refund.SettleClose), got)

	other := sent(t, "opaque", refund.StateUnknown)
	other.Intake.OperationID = refund.NewOperationID("acme", refund.Kind, "req-2")
	_, err = refund.CheckSettlement(settlement(f, refund.SettleReceipt), other, profileNamed(t, "opaque"), commitBy)
	requireCode(t, err, refund.CodeSettlementRefused, string(f.Intake.OperationID), string(other.Intake.OperationID))
}
