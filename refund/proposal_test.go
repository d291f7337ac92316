package refund_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

const goodAnswer = `{"recommendation":"approve","rationale":" photo shows\nthe damage ","order":"o1","amount_minor":4200,"currency":"EUR"}`

func TestAProposalIsReadFromAWholeAnswer(t *testing.T) {
	got, err := refund.DecodeProposal(asked(), goodAnswer)
	require.NoError(t, err)
	require.Equal(t, refund.Proposal{Recommendation: "approve", Rationale: "photo shows\nthe damage"}, got)

	got, err = refund.DecodeProposal(asked(), strings.Replace(goodAnswer, "approve", "reject", 1))
	require.NoError(t, err)
	require.Equal(t, "reject", got.Recommendation)
}

// answer is the good answer with one piece replaced.
func answer(piece, by string) string {
	before, after, found := strings.Cut(goodAnswer, piece)
	if !found {
		panic("the good answer has no " + piece)
	}
	return before + by + after
}

// Nothing is repaired: an answer that is not exactly right costs one call of the budget and does nothing else.
func TestAnAnswerThatIsNotExactlyRightIsRefused(t *testing.T) {
	for _, c := range []struct{ name, text, words string }{
		{"cut off in the amount", strings.TrimSuffix(goodAnswer, `00,"currency":"EUR"}`), "cut off"},
		{"cut off before the last bracket", strings.TrimSuffix(goodAnswer, "}"), "cut off"},
		{"an empty object", `{}`, "recommends"},
		{"a list", `[]`, "an object is expected"},
		{"a list around it", `[` + goodAnswer + `]`, "an object is expected"},
		{"null", `null`, "an object is expected"},
		{"nothing", ``, "cut off"},
		{"a comma as decimal point", answer(`4200`, `"42,00"`), "expected form"},
		{"the amount as a string", answer(`4200`, `"4200"`), "expected form"},
		{"the amount with an exponent", answer(`4200`, `4.2e3`), "expected form"},
		{"the amount as a fraction", answer(`4200`, `4200.0`), "expected form"},
		{"the amount twice", answer(`"amount_minor":4200`, `"amount_minor":4200,"amount_minor":4300`), "stands twice"},
		{"the amount twice, once in capitals", answer(`"amount_minor":4200`, `"amount_minor":4200,"AMOUNT_MINOR":4300`), "is unknown"},
		{"the amount left out", answer(`,"amount_minor":4200`, ``), "speaks of 0 EUR"},
		{"the amount null", answer(`4200`, `null`), "speaks of 0 EUR"},
		{"a larger amount", answer(`4200`, `4300`), "speaks of 4300 EUR"},
		{"a smaller amount", answer(`4200`, `4100`), "speaks of 4100 EUR"},
		{"a negative amount", answer(`4200`, `-4200`), "speaks of -4200 EUR"},
		{"everything", answer(`4200`, `9223372036854775807`), "speaks of 9223372036854775807 EUR"},
		{"past 64 bits", answer(`4200`, `18446744073709555816`), "expected form"},
		{"another order", answer(`"o1"`, `"o2"`), `order "o2"`},
		{"the order in capitals", answer(`"o1"`, `"O1"`), `order "O1"`},
		{"the order left out", answer(`"order":"o1",`, ``), `order ""`},
		{"another currency", answer(`"EUR"`, `"USD"`), "4200 USD"},
		{"an extra approval", answer(`"order"`, `"approved":true,"order"`), "approved"},
		{"an extra key of the request", answer(`"order"`, `"requester":"user-2","order"`), "requester"},
		{"an extra answer id", answer(`"order"`, `"answer_id":"x","order"`), "answer_id"},
		{"prose before it", "Sure! " + goodAnswer, "not acceptable"},
		{"prose behind it", goodAnswer + " Anything else?", "behind the object"},
		{"a code fence", "```json\n" + goodAnswer + "\n```", "not acceptable"},
		{"two answers", goodAnswer + goodAnswer, "behind the object"},
		{"another recommendation", answer("approve", "approve and wire"), "only approve or reject"},
		{"a recommendation in capitals", answer("approve", "APPROVE"), "only approve or reject"},
		{"a recommendation with a blank", answer("approve", "approve "), "only approve or reject"},
		{"a recommendation as a truth value", answer(`"approve"`, `true`), "expected form"},
		{"no rationale", answer(` photo shows\nthe damage `, ` \n `), "no rationale"},
		{"an escape for the person's terminal", answer(`photo`, `\u001b[2Jphoto`), "control character"},
		{"a carriage return over the text", answer(`photo`, `approved\rphoto`), "control character"},
		{"a C1 control", answer(`photo`, `\u009b2J`), "control character"},
		{"bytes that are not UTF-8", answer(`photo`, "\xff"), "UTF-8"},
		{"a megabyte", answer("photo", strings.Repeat("x", 1<<20)), "limit is 16384"},
		{"one byte past the limit", goodAnswer + strings.Repeat(" ", 16<<10-len(goodAnswer)+1), "16385 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := refund.DecodeProposal(asked(), c.text)
			requireCode(t, err, refund.CodeInvalidBody, c.words)
			require.Zero(t, got)
			require.Less(t, len(err.Error()), 500)
		})
	}
}

func TestAnAnswerOfExactlyTheLimitIsRead(t *testing.T) {
	_, err := refund.DecodeProposal(asked(), goodAnswer+strings.Repeat(" ", refund.MaxModelAnswer-len(goodAnswer)))
	require.NoError(t, err)
}
