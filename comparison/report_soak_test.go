package comparison

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
	"refundlab/refund"
)

// soaked is the sum over two rounds: the scene's own, and one in which the refund was lost.
func soaked() evidence.SoakEngine {
	sum := evidence.SoakEngine{Engine: "handrolled", ElapsedMS: 90_000}
	good := newScene("handrolled", refund.ProfileFull)
	AddRound(&sum, good.Record, good.judge(), "plans/1.json")
	bad := newScene("handrolled", refund.ProfileFull)
	bad.erase()
	bad.Trial.Steps = append(bad.Trial.Steps, evidence.Step{Text: "kill server"})
	bad.told(behind, behind+1, "status", "late", nil, -9, nil)
	AddRound(&sum, bad.Record, bad.judge(), "plans/2.json")
	return sum
}

func TestASoakCountsWhatItsRoundsShowed(t *testing.T) {
	sum := soaked()
	require.Equal(t, 2, sum.Rounds)
	require.Equal(t, evidence.Counts{{What: "fail", N: 1}, {What: "pass", N: 1}}, sum.Verdicts)
	require.Equal(t, evidence.Counts{{What: "CONFIRMED", N: 2}}, sum.Ends)
	require.Equal(t, evidence.Counts{{What: "approve", N: 2}, {What: "request", N: 2}, {What: "status", N: 1}}, sum.Commands)
	require.Equal(t, 1, sum.Silent)
	require.Equal(t, evidence.Counts{{What: "kill", N: 2}}, sum.Hit)
	require.Equal(t, evidence.Counts{{What: "server", N: 1}, {What: "worker", N: 2}}, sum.Kills)
	require.Equal(t, evidence.Counts{{What: "submit", N: 4}}, sum.Received)
	require.Equal(t, []evidence.SoakRemoval{{By: "provider", Party: "provider", Check: "stored receipt returned for a repeated submit", Count: 2}}, sum.Removed)
	require.Len(t, sum.Open, 1)
	require.Equal(t, "plans/2.json", sum.Open[0].Plan)
	require.Contains(t, sum.Open[0].Findings[0], "I2: run r1 is CONFIRMED and the ledger holds no entry of it")
}

func TestTheSectionOfASoakFollowsFromItsFile(t *testing.T) {
	other := soaked()
	other.Engine, other.Removed = "temporal", nil
	soak := evidence.Soak{Command: "lab soak --seed 7", Seed: 7, Refunds: 40, Faults: 24, Jobs: 3, Engines: []evidence.SoakEngine{soaked(), other}}
	text, err := json.Marshal(soak)
	require.NoError(t, err)
	section, err := shown(SoakSection)(text)
	require.NoError(t, err)
	for _, line := range []string{
		"`lab soak --seed 7`, seed 7,", ": 4 refunds in all, in rounds that follow each other, 3 at a time on\neach engine. Each round is a trial of its own: 40 refunds over", "| figure | handrolled | temporal |", "| time | 1.5 min | 1.5 min |", "| their verdicts | 1 fail, 1 pass | 1 fail, 1 pass |",
		"| faults that hit | 2 of 2 drawn: 2 kill |", "| processes killed | 3: 2 worker, 1 server |", "| provider | provider | stored receipt returned for a repeated submit | 2 | - |",
		"- **fail** crash on handrolled under full: I2: ",
	} {
		require.Contains(t, section, line)
	}
	_, err = shown(SoakSection)([]byte(`{"rounds":3}`))
	require.Error(t, err, "a result of another shape is not shown in part")
}
