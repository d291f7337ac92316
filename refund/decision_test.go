package refund_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

func intake(t testing.TB) refund.Intake {
	return refund.NewIntake(asked(), terms(t, refund.Terms{}), 5000)
}

// approval is a decision that is right for intake and a proposal of order version 3.
func approval(in refund.Intake) refund.Decision {
	return refund.Decision{
		DecisionID: "dec-1", OperationID: in.OperationID, Choice: refund.ChoiceApprove, Approver: "appr-1", Digest: in.Digest, OrderVersion: 3,
	}
}

func TestNewDecisionBringsADecisionToItsOneSpelling(t *testing.T) {
	want := approval(intake(t))
	in := want
	in.DecisionID, in.Approver = " DEC-1", "Appr-1\t"
	got, err := refund.NewDecision(in)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestNewDecisionRefusesEachWrongFieldByName(t *testing.T) {
	for _, c := range []struct {
		name  string
		wrong func(*refund.Decision)
		code  refund.Code
		words string
	}{
		{"no decision id", func(d *refund.Decision) { d.DecisionID = "" }, refund.CodeInvalidIdentity, "decision id is empty"},
		{"long decision id", func(d *refund.Decision) { d.DecisionID = strings.Repeat("x", 129) }, refund.CodeInvalidIdentity, "decision id is 129"},
		{"no approver", func(d *refund.Decision) { d.Approver = "" }, refund.CodeInvalidIdentity, "approver is empty"},
		{"approver with a control", func(d *refund.Decision) { d.Approver = "a\x00" }, refund.CodeInvalidIdentity, "approver"},
		{"no operation", func(d *refund.Decision) { d.OperationID = "" }, refund.CodeInvalidIdentity, "operation id"},
		{"no choice", func(d *refund.Decision) { d.Choice = "" }, refund.CodeInvalidDecision, `choice ""`},
		{"another choice", func(d *refund.Decision) { d.Choice = "Approve" }, refund.CodeInvalidDecision, `choice "Approve"`},
		{"no digest", func(d *refund.Decision) { d.Digest = "" }, refund.CodeInvalidDecision, "64 hex digits"},
		{"short digest", func(d *refund.Decision) { d.Digest = d.Digest[:63] }, refund.CodeInvalidDecision, "64 hex digits"},
		{"digest in capitals", func(d *refund.Decision) { d.Digest = refund.Digest(strings.ToUpper(string(d.Digest))) }, refund.CodeInvalidDecision, "64 hex digits"},
		{"digest that is not hex", func(d *refund.Decision) { d.Digest = "g" + d.Digest[1:] }, refund.CodeInvalidDecision, "64 hex digits"},
		{"no order version", func(d *refund.Decision) { d.OrderVersion = 0 }, refund.CodeInvalidDecision, "order version 0"},
		{"negative order version", func(d *refund.Decision) { d.OrderVersion = -1 }, refund.CodeInvalidDecision, "order version -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := approval(intake(t))
			c.wrong(&d)
			got, err := refund.NewDecision(d)
			requireCode(t, err, c.code, c.words)
			require.Zero(t, got)
		})
	}
}

// flaw is one thing that can be wrong with a decision or its moment, in the order in which the first one found is told.
type flaw struct {
	name    string
	make    func(*refund.Decision, *refund.Bench)
	verdict refund.VerdictCode
}

var flaws = []flaw{
	{"for another operation", func(d *refund.Decision, _ *refund.Bench) {
		d.OperationID = refund.NewOperationID("acme", refund.Kind, "req-2")
	}, "INVALID"},
	{"after another decision", func(_ *refund.Decision, b *refund.Bench) { b.Accepted = &refund.Decision{DecisionID: "dec-0"} }, "ALREADY_DECIDED"},
	{"after the run expired", func(_ *refund.Decision, b *refund.Bench) { b.Expired = true }, "EXPIRED"},
	{"after the run ended", func(_ *refund.Decision, b *refund.Bench) { b.Closed = true }, "RUN_CLOSED"},
	{"before the proposal", func(_ *refund.Decision, b *refund.Bench) { b.Proposal = nil }, "NOT_READY"},
	{"past the deadline", func(_ *refund.Decision, b *refund.Bench) { b.Overdue = true }, "EXPIRED"},
	{"for another digest", func(d *refund.Decision, _ *refund.Bench) { d.Digest = refund.Digest(strings.Repeat("0", 64)) }, "DIGEST_MISMATCH"},
	{"for another order version", func(d *refund.Decision, _ *refund.Bench) { d.OrderVersion = 4 }, "ORDER_MISMATCH"},
	{"by the requester", func(d *refund.Decision, b *refund.Bench) { d.Approver = b.Intake.Request.Requester }, "SELF_APPROVAL"},
}

// Every combination of flaws gets the verdict of its first one: 2^9 decisions to approve, and as many to reject.
func TestTheFirstFlawOfADecisionIsItsVerdict(t *testing.T) {
	for set := range 1 << len(flaws) {
		in := intake(t)
		d, b := approval(in), refund.Bench{Intake: in, Proposal: &refund.Proposal{OrderVersion: 3}}
		want, names := refund.VerdictAccepted, []string{}
		for i, f := range flaws {
			if set&(1<<i) == 0 {
				continue
			}
			f.make(&d, &b)
			names = append(names, f.name)
			if want == refund.VerdictAccepted {
				want = f.verdict
			}
		}
		require.Equal(t, want, refund.Judge(d, b), "approve %v", names)

		d.Choice = refund.ChoiceReject
		if want == refund.VerdictSelfApproval {
			want = refund.VerdictAccepted // the requester may reject
		}
		require.Equal(t, want, refund.Judge(d, b), "reject %v", names)
	}
}

// I5: the spelling of an identity cannot make the requester another person.
func TestNoSpellingLetsTheRequesterApprove(t *testing.T) {
	in := intake(t)
	for _, spelling := range []string{"user-1", "User-1", " USER-1 ", "\tuser-1"} {
		d := approval(in)
		d.Approver = spelling
		d, err := refund.NewDecision(d)
		require.NoError(t, err)
		require.Equal(t, refund.VerdictSelfApproval, refund.Judge(d, refund.Bench{Intake: in, Proposal: &refund.Proposal{OrderVersion: 3}}))
	}
}

func TestARepeatedDecisionGetsItsRecordedVerdict(t *testing.T) {
	d := approval(intake(t))
	for code := range verdicts {
		recorded := refund.RecordedVerdict{DecisionID: d.DecisionID, Hash: d.Hash(), Code: code, At: 6000}
		got, err := refund.Repeat(d, recorded)
		require.NoError(t, err)
		require.Equal(t, recorded, got)
	}
}

func TestTheSameDecisionIDWithOtherContentIsAConflict(t *testing.T) {
	for name, change := range map[string]func(*refund.Decision){
		"choice":        func(d *refund.Decision) { d.Choice = refund.ChoiceReject },
		"approver":      func(d *refund.Decision) { d.Approver = "appr-2" },
		"digest":        func(d *refund.Decision) { d.Digest = refund.Digest(strings.Repeat("0", 64)) },
		"order version": func(d *refund.Decision) { d.OrderVersion++ },
		"operation":     func(d *refund.Decision) { d.OperationID = refund.NewOperationID("acme", refund.Kind, "req-2") },
	} {
		t.Run(name, func(t *testing.T) {
			d := approval(intake(t))
			recorded := refund.RecordedVerdict{DecisionID: d.DecisionID, Hash: d.Hash(), Code: refund.VerdictAccepted}
			change(&d)
			got, err := refund.Repeat(d, recorded)
			requireCode(t, err, refund.CodeDecisionConflict, `"dec-1"`, "ACCEPTED")
			require.Zero(t, got)
		})
	}
}

// verdicts is every verdict with a word that its text must tell the person.
var verdicts = map[refund.VerdictCode]string{
	"ACCEPTED": "", "INVALID": "could not be read", "RUN_CLOSED": "is over", "NOT_READY": "not recorded yet", "ALREADY_DECIDED": "was first",
	"EXPIRED": "deadline", "DIGEST_MISMATCH": "digest", "ORDER_MISMATCH": "order version", "SELF_APPROVAL": "another person",
}

func TestEveryVerdictButAcceptedIsAnErrorThatSaysWhatToDo(t *testing.T) {
	require.Len(t, declaredConstants(t, "VerdictCode"), len(verdicts))
	for code, words := range verdicts {
		err := refund.VerdictError(refund.RecordedVerdict{DecisionID: "dec-1", Code: code})
		if code == refund.VerdictAccepted {
			require.NoError(t, err)
			continue
		}
		requireCode(t, err, refund.Code(code), fmt.Sprintf("%q", "dec-1"), words)
	}
}
