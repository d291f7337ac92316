package harness

import (
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/faults"
)

// The fake provider's ledger is empty.
func TestWhoHasNoReceiptSettlesNothingWhereTheScriptSaysSo(t *testing.T) {
	request := faults.Step{Do: faults.DoRequest, Run: "r1", Order: "o-1", Amount: 700}
	settle := faults.Step{Do: faults.DoSettle, Process: "dora", Run: "r1", By: "dora", Kind: "receipt", Decision: "s1"}
	require.Contains(t, play(t, nil, request, settle).Trial.Broken, "no entry to settle with")
	settle.IfAny = true
	r := play(t, nil, request, settle)
	require.Empty(t, r.Trial.Broken)
	require.Len(t, r.Answers, 1, "the request's alone")
	settle.Receipt = "r2"
	require.Contains(t, play(t, nil, request, settle).Trial.Broken, `has requested no run "r2"`)
}
