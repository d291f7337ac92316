package server

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"refundlab/provider"
	"refundlab/refund"
)

// Kinds of answers to a submit that say something else than what happened; "status-500" and its like are the others.
const (
	malformedReceipt = "malformed-receipt" // a 200 whose body is cut off
	foreignReceipt   = "foreign-receipt"   // a 200 with a whole receipt for another operation
	// A 200 with the operation's own receipt, but for other parameters: of all that is compared, only the digest tells.
	otherDigestReceipt = "other-digest-receipt"
)

// Kinds that stand in the place of the submit itself: nothing is processed.
const (
	inProgress = "in-progress" // a 409 of a provider that is still at work on an earlier request
	busy       = "busy"        // a 429 that says when to come back
)

// unprocessed is one of them.
type unprocessed struct {
	Kind         string `json:"kind"`
	RetryAfterMS int64  `json:"retry_after_ms,omitempty"` // told in whole seconds, rounded up
}

// faultyAnswers are two queues. Of the kinds that come after the submit, the effect stands whatever is answered.
type faultyAnswers struct {
	mu      sync.Mutex
	book    *book
	kinds   []string
	instead []unprocessed
}

// addInstead queues n answers in the place of processing.
//
// Errors: INVALID_BODY.
func (f *faultyAnswers) addInstead(u unprocessed, n int) error {
	if u.RetryAfterMS < 0 || (u.RetryAfterMS > 0) != (u.Kind == busy) {
		return refund.Errorf(refund.CodeInvalidBody, "kind %q with retry_after_ms %d: %s needs one, and nothing else has one", u.Kind, u.RetryAfterMS, busy)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for range n {
		f.instead = append(f.instead, u)
	}
	f.book.note(bookEntry{Instead: &f.instead})
	return nil
}

// replaces answers a submit before it is processed, or returns false.
func (f *faultyAnswers) replaces(w http.ResponseWriter, ref provider.Ref) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.instead) == 0 {
		return false
	}
	next := f.instead[0]
	f.instead = f.instead[1:]
	f.book.note(bookEntry{Instead: &f.instead})
	problem := provider.Problem{Code: refund.CodeUnavailable, OperationID: ref.OperationID, Message: "an earlier request under this operation id is still in progress"}
	status := http.StatusConflict
	if next.Kind == busy {
		status, problem.Message = http.StatusTooManyRequests, "too many requests"
		w.Header().Set("Retry-After", wholeSeconds(next.RetryAfterMS))
	}
	writeJSON(w, status, problem)
	return true
}

func wholeSeconds(ms int64) string { return strconv.FormatInt((ms+999)/1000, 10) }

// add queues n answers of a kind, those in the place of processing among them; retryAfterMS is of busy alone.
//
// Errors: INVALID_BODY.
func (f *faultyAnswers) add(kind string, n int, retryAfterMS int64) error {
	if n < 1 || n > 1000 {
		return refund.Errorf(refund.CodeInvalidBody, "count is %d: it must be from 1 to 1000", n)
	}
	if kind == inProgress || kind == busy || retryAfterMS != 0 {
		return f.addInstead(unprocessed{kind, retryAfterMS}, n)
	}
	if kind != malformedReceipt && kind != foreignReceipt && kind != otherDigestReceipt && errorStatus(kind) == 0 {
		return refund.Errorf(refund.CodeInvalidBody, "kind %q is unknown: it is %s, %s, %s, %s, %s, or status- and a number from 400 to 599", kind, inProgress, busy, malformedReceipt, foreignReceipt, otherDigestReceipt)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for range n {
		f.kinds = append(f.kinds, kind)
	}
	f.book.note(bookEntry{Answers: &f.kinds})
	return nil
}

// answer writes the next queued answer in the place of a, or returns false.
func (f *faultyAnswers) answer(w http.ResponseWriter, a answer, now refund.Instant) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.kinds) == 0 {
		return false
	}
	kind, ref := f.kinds[0], a.ref
	f.kinds = f.kinds[1:]
	f.book.note(bookEntry{Answers: &f.kinds})
	other := refund.NewOperationID(ref.Tenant, ref.Kind, string(ref.OperationID)+"-foreign")
	receipt := refund.Receipt{RefundID: "re-foreign", OperationID: other, Digest: refund.Digest(refund.ContentHash(string(other))),
		Order: "foreign", Amount: refund.Money{Minor: 1, Currency: "EUR"}, At: now}
	switch kind {
	case foreignReceipt:
		writeJSON(w, http.StatusOK, receipt)
	case otherDigestReceipt:
		if own := a.result.Receipt; own != nil {
			receipt.RefundID, receipt.OperationID, receipt.Order, receipt.Amount, receipt.At = own.RefundID, own.OperationID, own.Order, own.Amount, own.At
		}
		writeJSON(w, http.StatusOK, receipt)
	case malformedReceipt:
		text, _ := json.Marshal(receipt) // a struct of strings and numbers always encodes
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(text[:len(text)/2])
	default:
		http.Error(w, "faulty answer "+kind, errorStatus(kind))
	}
	return true
}

// errorStatus reads "status-503", or returns 0.
func errorStatus(kind string) int {
	number, ok := strings.CutPrefix(kind, "status-")
	status, err := strconv.Atoi(number)
	if !ok || err != nil || status < 400 || status > 599 {
		return 0
	}
	return status
}
