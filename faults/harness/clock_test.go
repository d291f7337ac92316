package harness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/faults"
)

func set(kind, process string, offset time.Duration) faults.Step {
	return faults.Step{Do: faults.DoClock, Kind: kind, Process: process, OffsetMS: offset.Milliseconds()}
}

func TestAClockIsSetForTheHostOrForOneProcessAlone(t *testing.T) {
	// A fake worker tells at each point how far its clock is from the real one.
	r := play(t, nil, worker("a", "intent.before"), crossed("intent.before", "a"), set(faults.ClockHost, "", -time.Hour), set(faults.ClockProcess, "b", 10*time.Minute),
		worker("b", "intent.before"), worker("c", "intent.before"), crossed("intent.before", "b"), crossed("intent.before", "c"))
	require.Empty(t, r.Trial.Broken)
	require.Equal(t, "0s", crossing(t, r, "a", "intent.before").Detail["clock"])
	require.Equal(t, "-50m0s", crossing(t, r, "b", "intent.before").Detail["clock"])
	require.Equal(t, "-1h0m0s", crossing(t, r, "c", "intent.before").Detail["clock"])
}

func TestClocksAreOnlyThereWhereAPlanSetsThem(t *testing.T) {
	require.False(t, setsClocks(faults.Plan{Script: []faults.Step{{Do: faults.DoClock, OffsetMS: 1}}}), "that is the provider's own")
	require.True(t, setsClocks(faults.Plan{Reactions: map[string][]faults.Step{"hit": {set(faults.ClockHost, "", time.Hour)}}}))
	for _, step := range []faults.Step{set(faults.ClockHost, "a", 1), set(faults.ClockProcess, "", 1), set("sun", "", 1)} {
		require.Contains(t, play(t, nil, step).Trial.Broken, "the clock is")
	}
}
