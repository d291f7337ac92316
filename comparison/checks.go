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
	id string
	// early checks are violated by what happened, whatever would have come later, so they also count in a trial that broke off.
	early bool
	run   func(*trial) []string
}

// checks in the order of the findings.
var checks = []check{
	{"I1", true, oneEntry},
	{"I1", true, sentWithinMemory},
	{"I2", false, confirmedHasItsEntry},
	{"I3", false, endedWithoutEntry},
	{"I4", false, unknownOnlyWherePermitted},
	{"I4", true, neverToldOtherwise},
	{"I4", true, sentOnlyAsIntended},
	{"I5", false, entriesAuthorised},
	{"I6", true, noWriteOfOldOwner},
	{"I7", true, withinCapture},
	{"I8", false, equalIsNotSame},
	{"I9", true, conflictsNamed},
	{"I10", false, oneVerdictEach},
	{"I11", true, endedInTime},
	{"I11", true, endsAreTold},
	{"I12", true, modelNotAskedAgain},
	{"I12", false, proposalReused},
	{"I4", true, knowledgeOnDisk},
	{"I6", true, eachGenerationOnce},
	{"I10", true, verdictOnDisk},
	{"I11", true, requestOnDisk},
	{"I12", true, budgetOnDisk},
	{"END", false, permittedEnd},
	{"TRACE", true, nothingUntraced},
	{"MODEL", false, pathOfModel},
	{"HISTORY", true, oneHistory},
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
