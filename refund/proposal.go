package refund

import (
	"strings"
	"unicode"
)

// Proposal is the recorded answer of the model together with the order version it was made for. It is evidence for the
// person who decides; nothing in it can change what is refunded (amount and order come from the request alone).
type Proposal struct {
	Recommendation string `json:"recommendation"` // "approve" or "reject"
	Rationale      string `json:"rationale"`
	OrderVersion   int64  `json:"order_version"`
	// AnswerID is the model's own id of the answer: two calls never share one, so a repeated call can be seen (I12).
	AnswerID string `json:"answer_id"`
}

// MaxModelAnswer bounds the text that is read from a model, in bytes.
const MaxModelAnswer = 16 << 10

type modelAnswer struct {
	Recommendation string `json:"recommendation"`
	Rationale      string `json:"rationale"`
	Order          string `json:"order"`
	AmountMinor    int64  `json:"amount_minor"`
	Currency       string `json:"currency"`
}

// DecodeProposal reads the model's answer by one strict rule: a single JSON object with exactly the known keys, each at
// most once, which repeats the request's order, amount and currency. Anything else, prose around the object, a number
// such as 4.2e3, a larger amount, another order or an extra "approved", is not repaired but refused: it costs a call of the
// budget and nothing more.
//
// Errors: INVALID_BODY.
func DecodeProposal(r Request, text string) (Proposal, error) {
	if len(text) > MaxModelAnswer {
		return Proposal{}, Errorf(CodeInvalidBody, "model answered %d bytes: the limit is %d", len(text), MaxModelAnswer)
	}
	var answer modelAnswer
	if err := DecodeStrict([]byte(text), &answer); err != nil {
		return Proposal{}, Wrap(CodeInvalidBody, err, "model answer is not usable")
	}
	rationale := strings.TrimSpace(answer.Rationale)
	switch {
	case answer.Recommendation != "approve" && answer.Recommendation != "reject":
		return Proposal{}, Errorf(CodeInvalidBody, "model recommends %q: only approve or reject count", clip(answer.Recommendation))
	case rationale == "":
		return Proposal{}, Errorf(CodeInvalidBody, "model gave no rationale for the person to read")
	case strings.ContainsFunc(rationale, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		// A terminal would obey it and could show the person something else than what is recorded.
		return Proposal{}, Errorf(CodeInvalidBody, "model's rationale has a control character: only plain text is shown to a person")
	case answer.Order != r.Order || answer.AmountMinor != r.Amount.Minor || answer.Currency != r.Amount.Currency:
		return Proposal{}, Errorf(CodeInvalidBody, "model speaks of %d %s of order %q, the request of %s of order %q: a model cannot change either",
			answer.AmountMinor, clip(answer.Currency), clip(answer.Order), r.Amount, r.Order)
	}
	return Proposal{Recommendation: answer.Recommendation, Rationale: rationale}, nil
}
