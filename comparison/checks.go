package comparison

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"refundlab/refund"
)

// check is one invariant as the judge sees it. run returns a sentence for each violation.
type check struct {
	id    string
	needs need
	run   func(*trial) []string
}

// need is what a trial must have come to before a check may speak.
type need int

const (
	anything  need = iota // violated by what happened, whatever would have come later: counts in a trial that broke off, too
	atRest                // nothing moves any more and the evidence is whole, whether or not the faults hit as planned
	asPlanned             // compares with what the matrix, or a provider that answers, makes of exactly this trial
)

// checks in the order of the findings.
var checks = []check{
	{"I1", anything, oneEntry},
	{"I1", anything, sentWithinMemory},
	{"I1", atRest, termsAsAsked("retention")},
	{"I2", atRest, confirmedHasItsEntry},
	{"I2", anything, entryWithItsOutcome},
	{"I2", atRest, termsAsAsked("tenant", "order", "amount")},
	{"I3", atRest, endedWithoutEntry},
	{"I4", asPlanned, unknownOnlyWherePermitted},
	{"I4", anything, neverToldOtherwise},
	{"I4", anything, sentOnlyAsIntended},
	{"I4", atRest, termsAsAsked("call-timeout")},
	{"I5", atRest, entriesAuthorised},
	{"I5", atRest, termsAsAsked("requester", "reason", "decide-within", "commit-within")},
	{"I6", anything, noWriteOfOldOwner},
	{"I7", anything, withinCapture},
	{"I8", atRest, equalIsNotSame},
	{"I9", anything, conflictsNamed},
	{"I10", atRest, oneVerdictEach},
	{"I11", anything, endedInTime},
	{"I11", anything, endsAreTold},
	{"I12", anything, modelNotAskedAgain},
	{"I12", atRest, proposalReused},
	{"I12", atRest, termsAsAsked("model-budget")},
	{"I4", anything, knowledgeOnDisk},
	{"I6", anything, eachGenerationOnce},
	{"I10", anything, verdictOnDisk},
	{"I11", anything, requestOnDisk},
	{"I12", anything, budgetOnDisk},
	{"END", asPlanned, permittedEnd},
	{"END", asPlanned, noticesTakenOnce},
	{"TRACE", anything, nothingUntraced},
	{"MODEL", asPlanned, pathOfModel},
	{"HISTORY", anything, oneHistory},
}

// digest is the digest of a request, written here a second time from docs/invariants.md: the provider and both engines use
// refund's, and the judge must see it if theirs stopped covering a field.
func digest(tenant string, id refund.OperationID, order string, amount refund.Money, reason string) refund.Digest {
	hash := sha256.New()
	for _, part := range []string{
		"refundlab.digest.v1", tenant, "refund", string(id), order,
		strconv.FormatInt(amount.Minor, 10), amount.Currency, reason,
	} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		hash.Write(length[:])
		hash.Write([]byte(part))
	}
	return refund.Digest(hex.EncodeToString(hash.Sum(nil)))
}

func digestOf(r run) refund.Digest {
	q := r.facts.Intake.Request
	return digest(q.Tenant, r.id, q.Order, q.Amount, q.Reason)
}
