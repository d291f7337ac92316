package refund

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Kind is the one kind of operation that this project performs. It is part of operation id and digest, so that another
// kind could share a key space without ever meeting a refund.
const Kind = "refund"

// MaxReason is the longest reason in bytes, after normalisation.
const MaxReason = 500

// Request is what a caller asks for. Only NewRequest makes one, so its fields are checked and in their one spelling.
type Request struct {
	Tenant    string `json:"tenant"`
	RequestID string `json:"request_id"`
	Order     string `json:"order"`
	Amount    Money  `json:"amount"`
	Reason    string `json:"reason"`
	Requester string `json:"requester"`
}

// NewRequest checks a request and brings it to its one spelling: identities by ParseIdentity, the reason trimmed and in
// Unicode's composed form (NFC), so that the same text typed on two keyboards has one digest.
//
// Errors: INVALID_IDENTITY, INVALID_AMOUNT, INVALID_CURRENCY, INVALID_REASON.
func NewRequest(in Request) (Request, error) {
	out := in
	for _, field := range []struct {
		what  string
		value *string
	}{
		{"tenant", &out.Tenant}, {"request id", &out.RequestID}, {"order", &out.Order}, {"requester", &out.Requester},
	} {
		id, err := ParseIdentity(field.what, *field.value)
		if err != nil {
			return Request{}, err
		}
		*field.value = id
	}
	if _, err := NewMoney(in.Amount.Minor, in.Amount.Currency); err != nil {
		return Request{}, err
	}
	reason, err := parseText("reason", in.Reason)
	if err != nil {
		return Request{}, err
	}
	out.Reason = reason
	return out, nil
}

func parseText(what, value string) (string, error) {
	if !utf8.ValidString(value) {
		return "", Errorf(CodeInvalidReason, "%s is not valid UTF-8", what)
	}
	text := norm.NFC.String(strings.TrimSpace(value))
	if text == "" {
		return "", Errorf(CodeInvalidReason, "%s is empty: say in a few words why", what)
	}
	if len(text) > MaxReason {
		return "", Errorf(CodeInvalidReason, "%s is %d bytes long: the limit is %d", what, len(text), MaxReason)
	}
	for _, r := range text {
		if unicode.IsControl(r) {
			return "", Errorf(CodeInvalidReason, "%s has the control character %U: write it as one line of plain text", what, r)
		}
	}
	return text, nil
}

// Intake is everything that is durable before anything else happens: the request, the names made from it, and the terms
// under which it runs. A recovery reads these and never its own configuration.
type Intake struct {
	Request     Request     `json:"request"`
	OperationID OperationID `json:"operation_id"`
	Digest      Digest      `json:"digest"`
	Terms       Terms       `json:"terms"`
	At          Instant     `json:"at"`
}

// Terms are what one run may rely on and how long it may take.
type Terms struct {
	Profile ProfileName `json:"profile"`
	// DecideWithin is the time from intake to the deadline of the decision, CommitWithin the time from intake to the
	// provider's deadline for the commit. Both in milliseconds; zero CommitWithin means the same instant.
	DecideWithin int64 `json:"decide_within_ms"`
	CommitWithin int64 `json:"commit_within_ms"`
	// Retention is how long the provider remembers an operation under the profile "retention", in milliseconds.
	Retention int64 `json:"retention_ms,omitempty"`
	// ModelBudget is the most model requests that this run may cause (I12).
	ModelBudget int `json:"model_budget"`
	// CallTimeout bounds each call to the provider or the model, in milliseconds.
	CallTimeout int64 `json:"call_timeout_ms"`
	// Backoff is the first pause between two asks, in milliseconds; see Pause.
	Backoff int64 `json:"backoff_ms"`
}

// Limits of Terms.
const (
	MaxDecideWithin    = 90 * 24 * time.Hour
	MaxModelBudget     = 10
	DefaultModelBudget = 3
	DefaultDecide      = 24 * time.Hour
	DefaultRetention   = 24 * time.Hour
	MaxRetention       = 10 * 365 * 24 * time.Hour
	DefaultCallTimeout = 10 * time.Second
	MaxCallTimeout     = 5 * time.Minute
	DefaultBackoff     = time.Second
	// MaxPause caps the pause between two asks. A run that stays UNKNOWN is asked about once an hour, for as long as it
	// takes. The workflow leaves a day of these asks to the retries of one activity, which cost no history, so that years of them
	// stay far below the 51,200 events that a Temporal history may have.
	MaxPause = time.Hour
)

// NewTerms fills in the defaults of what is zero and checks the rest.
//
// Errors: INVALID_PROFILE, INVALID_DEADLINE, INVALID_FLAG.
func NewTerms(in Terms) (Terms, error) {
	out := in
	if out.Profile == "" {
		out.Profile = ProfileFull
	}
	if _, err := ProfileNamed(out.Profile); err != nil {
		return Terms{}, err
	}
	if out.DecideWithin == 0 {
		out.DecideWithin = DefaultDecide.Milliseconds()
	}
	if out.CommitWithin == 0 {
		out.CommitWithin = out.DecideWithin
	}
	if out.Retention == 0 {
		out.Retention = DefaultRetention.Milliseconds()
	}
	if out.ModelBudget == 0 {
		out.ModelBudget = DefaultModelBudget
	}
	if out.CallTimeout == 0 {
		out.CallTimeout = DefaultCallTimeout.Milliseconds()
	}
	if out.Backoff == 0 {
		out.Backoff = DefaultBackoff.Milliseconds()
	}
	limit := MaxDecideWithin.Milliseconds()
	switch {
	case out.DecideWithin < 0 || out.DecideWithin > limit:
		return Terms{}, Errorf(CodeInvalidDeadline, "time to decide is %d ms: it must be more than zero and at most %s", out.DecideWithin, MaxDecideWithin)
	case out.CommitWithin < 0 || out.CommitWithin > limit:
		return Terms{}, Errorf(CodeInvalidDeadline, "time to commit is %d ms: it must be more than zero and at most %s", out.CommitWithin, MaxDecideWithin)
	case out.Retention < 0 || out.Retention > MaxRetention.Milliseconds():
		return Terms{}, Errorf(CodeInvalidDeadline, "retention is %d ms: it must be more than zero and at most %s", out.Retention, MaxRetention)
	case out.ModelBudget < 0 || out.ModelBudget > MaxModelBudget:
		return Terms{}, Errorf(CodeInvalidFlag, "model budget is %d: it must be from 1 to %d requests", out.ModelBudget, MaxModelBudget)
	case out.CallTimeout < 0 || out.CallTimeout > MaxCallTimeout.Milliseconds():
		return Terms{}, Errorf(CodeInvalidFlag, "call time-out is %d ms: it must be more than zero and at most %s", out.CallTimeout, MaxCallTimeout)
	case out.Backoff < 0 || out.Backoff > MaxPause.Milliseconds():
		return Terms{}, Errorf(CodeInvalidFlag, "backoff is %d ms: it must be more than zero and at most %s", out.Backoff, MaxPause)
	}
	return out, nil
}

// Pause is the time to wait before ask number n+1, n counted from 1: it doubles from Backoff up to MaxPause.
func (t Terms) Pause(n int) time.Duration {
	pause := time.Duration(t.Backoff) * time.Millisecond
	for ; n > 1 && pause < MaxPause; n-- {
		pause *= 2
	}
	return min(pause, MaxPause)
}

// NewIntake names a checked request. at is the engine's own clock, read where the intake is made durable.
func NewIntake(request Request, terms Terms, at Instant) Intake {
	id := NewOperationID(request.Tenant, Kind, request.RequestID)
	return Intake{Request: request, OperationID: id, Digest: request.Digest(), Terms: terms, At: at}
}

// DecideBy is the instant from which a decision is too late.
func (in Intake) DecideBy() Instant { return in.At + Instant(in.Terms.DecideWithin) }

// CommitBy is the instant from which the provider refuses to commit.
func (in Intake) CommitBy() Instant { return in.At + Instant(in.Terms.CommitWithin) }
