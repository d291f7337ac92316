package refund

import (
	"errors"
	"fmt"
)

// Code is the stable name of an error, a refusal or a verdict. Codes are part of the public contract: scripts
// read them, the report counts them, and a code never changes its meaning.
type Code string

// Bad input: nothing was stored and nothing was sent.
const (
	CodeInvalidAmount   Code = "INVALID_AMOUNT"
	CodeInvalidCurrency Code = "INVALID_CURRENCY"
	CodeInvalidIdentity Code = "INVALID_IDENTITY"
	CodeInvalidReason   Code = "INVALID_REASON"
	CodeInvalidDeadline Code = "INVALID_DEADLINE"
	CodeInvalidProfile  Code = "INVALID_PROFILE"
	CodeInvalidDecision Code = "INVALID_DECISION"
	CodeInvalidBody     Code = "INVALID_BODY"
	CodeInvalidFlag     Code = "INVALID_FLAG"
)

// The same name for two different things.
const (
	// CodeKeyConflict: the request id or operation id is already bound to other parameters (I9).
	CodeKeyConflict Code = "KEY_CONFLICT"
	// CodeDecisionConflict: the decision id is already bound to other content.
	CodeDecisionConflict Code = "DECISION_CONFLICT"
	// CodeAlreadyExists: the thing to create is there already.
	CodeAlreadyExists Code = "ALREADY_EXISTS"
)

// Why an operation ended REJECTED. The first group is decided by a rule or a person, the second by the provider
// at its commit; a check of the engine's own right before the first send uses the provider's codes.
const (
	CodeProposalFailed   Code = "PROPOSAL_FAILED"
	CodeApprovalRejected Code = "APPROVAL_REJECTED"

	CodeOrderNotFound       Code = "ORDER_NOT_FOUND"
	CodeOrderVersionChanged Code = "ORDER_VERSION_CHANGED"
	CodeInsufficientBalance Code = "INSUFFICIENT_BALANCE"
	CodeCurrencyMismatch    Code = "CURRENCY_MISMATCH"
	CodeApprovalExpired     Code = "APPROVAL_EXPIRED"
	CodeClosed              Code = "CLOSED"
	// CodeCancelled: an operator cancelled the run before anything was approved.
	CodeCancelled Code = "CANCELLED"
)

// States of the machinery, never facts about the refund.
const (
	CodeNotFound          Code = "NOT_FOUND"
	CodeStaleFence        Code = "STALE_FENCE"
	CodeLeaseLost         Code = "LEASE_LOST"
	CodeSettlementRefused Code = "SETTLEMENT_REFUSED"
	CodeProfileMismatch   Code = "PROFILE_MISMATCH"
	CodeVerdictPending    Code = "VERDICT_PENDING"
	CodeUnavailable       Code = "UNAVAILABLE"
	CodeTimeout           Code = "TIMEOUT"
	CodeStoreLocked       Code = "STORE_LOCKED"
	CodeStoreUnreadable   Code = "STORE_UNREADABLE"
	CodePortInUse         Code = "PORT_IN_USE"
	// CodeInterrupted: a signal ended the command before it was done.
	CodeInterrupted Code = "INTERRUPTED"
	// CodeNotPassed: a suite or a card did not pass.
	CodeNotPassed Code = "NOT_PASSED"
	CodeInternal  Code = "INTERNAL"
)

// Error is an error with a stable code. Message says what was wrong with which value and what to do.
type Error struct {
	Code    Code
	Message string
	Err     error // the cause, or nil
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Text() }

// Text is the error without its code. A cause keeps its own code, unless it is the same one.
func (e *Error) Text() string {
	cause, ok := e.Err.(*Error) //nolint:errorlint // the direct cause is what is printed here; one further in prints itself
	switch {
	case ok && cause.Code == e.Code:
		return e.Message + ": " + cause.Text()
	case e.Err != nil:
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// Is matches any Error of the same code, whatever its message.
func (e *Error) Is(target error) bool {
	var other *Error
	return errors.As(target, &other) && other.Code == e.Code
}

// Errorf makes an Error without a cause; Wrap keeps one.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap gives err a code and a message; the cause stays reachable through errors.Is and errors.As.
func Wrap(code Code, err error, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Err: err}
}

// CodeOf returns the code of the outermost Error in err's chain, CodeInternal for any other error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// Exit statuses of every command of this project.
const (
	ExitOK             = 0
	ExitInternal       = 1 // also: a suite that did not pass
	ExitInvalidInput   = 2
	ExitConflict       = 3 // the same key or decision id with other content
	ExitNotFound       = 4
	ExitRefused        = 5 // a verdict or a refusal: the answer is known and it is no
	ExitVerdictPending = 6 // the decision is stored, its verdict is not made yet: ask again with the same id
	ExitUnavailable    = 7 // a store, a server or a port could not be had, or a signal came first; nothing is known
)

// ExitStatus maps a code to the exit status of a command that ends with it.
func ExitStatus(code Code) int {
	switch code {
	case "", Code(VerdictAccepted):
		return ExitOK
	case CodeInvalidAmount, CodeInvalidCurrency, CodeInvalidIdentity, CodeInvalidReason, CodeInvalidDeadline,
		CodeInvalidProfile, CodeInvalidDecision, CodeInvalidBody, CodeInvalidFlag:
		return ExitInvalidInput
	case CodeKeyConflict, CodeDecisionConflict, CodeAlreadyExists:
		return ExitConflict
	case CodeNotFound:
		return ExitNotFound
	case CodeVerdictPending:
		return ExitVerdictPending
	case CodeUnavailable, CodeTimeout, CodeStoreLocked, CodeStoreUnreadable, CodePortInUse, CodeInterrupted:
		return ExitUnavailable
	case CodeInternal, CodeNotPassed:
		return ExitInternal
	default:
		return ExitRefused
	}
}
