package refund_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

// vector is one golden vector of testdata/digest.json. Operation ids and digests there were computed by another program
// in another language (SHA-1, SHA-256 and NFC of Python's standard library) from the description of the encoding.
type vector struct {
	Name        string             `json:"name"`
	Request     refund.Request     `json:"request"`
	OperationID refund.OperationID `json:"operation_id"`
	Digest      refund.Digest      `json:"digest"`
}

func vectors(t testing.TB) []vector {
	t.Helper()
	text, err := os.ReadFile("testdata/digest.json")
	require.NoError(t, err)
	var all []vector
	require.NoError(t, json.Unmarshal(text, &all))
	require.Len(t, all, 33)
	return all
}

func TestOperationIDAndDigestAgreeWithTheGoldenVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			request, err := refund.NewRequest(v.Request)
			require.NoError(t, err)
			require.Equal(t, v.OperationID, refund.NewOperationID(request.Tenant, refund.Kind, request.RequestID))
			require.Equal(t, v.Digest, request.Digest())
		})
	}
}

// The vectors themselves must show what the digest keeps together and what it keeps apart (I9).
func TestGoldenVectorsShareADigestExactlyWhereTheMeaningIsTheSame(t *testing.T) {
	same := [][]string{
		{"the base request", "another requester asks for the same", "identities in capitals and with blanks", "reason with blanks around it"},
		{"composed e with acute", "decomposed e with acute"},
		{"angstrom sign", "a with ring"},
		{"hangul syllable", "hangul letters"},
		{"two combining marks in canonical order", "two combining marks in the other order"},
	}
	class := map[string]int{}
	for i, names := range same {
		for _, name := range names {
			class[name] = i + 1
		}
	}
	all := vectors(t)
	for i, a := range all {
		for _, b := range all[:i] {
			together := class[a.Name] != 0 && class[a.Name] == class[b.Name]
			require.Equal(t, together, a.Digest == b.Digest, "%s / %s", a.Name, b.Name)
		}
	}
}

func TestOperationIDIsAUUIDOfVersionFive(t *testing.T) {
	id, err := uuid.Parse(string(refund.NewOperationID("acme", refund.Kind, "req-1")))
	require.NoError(t, err)
	require.Equal(t, uuid.Version(5), id.Version())
	require.Equal(t, uuid.RFC4122, id.Variant())
}

func TestNoTextCanBeMovedBetweenHashedParts(t *testing.T) {
	const text = "abcabc"
	ids, hashes := map[refund.OperationID]string{}, map[string]string{}
	for i := 0; i <= len(text); i++ {
		for j := i; j <= len(text); j++ {
			parts := []string{text[:i], text[i:j], text[j:]}
			name := strings.Join(parts, "|")
			id, hash := refund.NewOperationID(parts[0], parts[1], parts[2]), refund.ContentHash(parts...)
			require.Empty(t, ids[id], name)
			require.Empty(t, hashes[hash], name)
			ids[id], hashes[hash] = name, name
		}
	}
	require.NotEqual(t, refund.ContentHash("a"), refund.ContentHash("a", ""), "an empty part counts")
	require.NotEqual(t, refund.ContentHash(), refund.ContentHash(""))
	require.NotEqual(t, refund.ContentHash("ab\x00\x00\x00\x00\x00\x00\x00\x01c"), refund.ContentHash("ab", "c"), "a part may contain what looks like a length")
}

func TestParseOperationIDTakesOnlyTheFormThatIsPrinted(t *testing.T) {
	id := refund.NewOperationID("acme", refund.Kind, "req-1")
	parsed, err := refund.ParseOperationID(string(id))
	require.NoError(t, err)
	require.Equal(t, id, parsed)

	for _, wrong := range []string{
		"", "req-1", strings.ToUpper(string(id)), string(id)[:35], string(id) + "0", " " + string(id)[1:], "{" + string(id)[1:],
		strings.ReplaceAll(string(id), "-", "0"), strings.Replace(string(id), "1", "g", 1), "refund/" + string(id),
		string(id)[:8] + string(id)[9:] + "-",
	} {
		_, err := refund.ParseOperationID(wrong)
		requireCode(t, err, refund.CodeInvalidIdentity, "request")
	}
}

// legal is every move that DESIGN allows, stated apart from the code: an operation is sent any number of times, ends by
// proof alone once something may have been sent, and never changes after that.
var legal = map[string]refund.OperationState{
	"PREPARED INTENT":     refund.StateSubmitted,
	"PREPARED WITHDRAWN":  refund.StateRejected,
	"SUBMITTED INTENT":    refund.StateSubmitted,
	"SUBMITTED AMBIGUOUS": refund.StateUnknown,
	"SUBMITTED RECEIPT":   refund.StateConfirmed,
	"SUBMITTED REFUSAL":   refund.StateRejected,
	"SUBMITTED WITHDRAWN": refund.StateRejected,
	"UNKNOWN INTENT":      refund.StateUnknown,
	"UNKNOWN AMBIGUOUS":   refund.StateUnknown,
	"UNKNOWN RECEIPT":     refund.StateConfirmed,
	"UNKNOWN REFUSAL":     refund.StateRejected,
	"CONFIRMED RECEIPT":   refund.StateConfirmed,
	"REJECTED REFUSAL":    refund.StateRejected,
}

var (
	states = []refund.OperationState{refund.StatePrepared, refund.StateSubmitted, refund.StateUnknown, refund.StateConfirmed, refund.StateRejected}
	events = []refund.OperationEvent{refund.EventIntent, refund.EventAmbiguous, refund.EventReceipt, refund.EventRefusal, refund.EventWithdrawn}
)

func TestOnlyTheLegalMovesOfAnOperationAreTaken(t *testing.T) {
	seen := 0
	for _, state := range append(states, "", "PAID") {
		for _, event := range append(events, "", "PAID") {
			name := fmt.Sprintf("%s %s", state, event)
			t.Run(name, func(t *testing.T) {
				next, ok := state.After(event)
				want, allowed := legal[name]
				require.Equal(t, allowed, ok)
				require.Equal(t, want, next)
				if state.Final() && ok {
					require.Equal(t, state, next, "a final state never changes (I2, I3)")
				}
			})
			if _, ok := legal[name]; ok {
				seen++
			}
		}
	}
	require.Equal(t, len(legal), seen, "every legal move was tried")
}

func TestFinalStatesAreTheTwoThatAreProved(t *testing.T) {
	for _, state := range states {
		require.Equal(t, state == refund.StateConfirmed || state == refund.StateRejected, state.Final(), state)
	}
}

func TestFencesAreComparedAsPairs(t *testing.T) {
	ascending := []refund.Fence{{}, {Term: 0, Seq: 9}, {Term: 1}, {Term: 1, Seq: 1}, {Term: 1, Seq: 10}, {Term: 2}, {Term: 10, Seq: 1}}
	for i, a := range ascending {
		for j, b := range ascending {
			require.Equal(t, i < j, a.Less(b), "%v < %v", a, b)
		}
	}
}
