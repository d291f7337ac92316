package scenarios_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/faults"
	"refundlab/faults/scenarios"
)

func TestThePowerIsCutBeforeAndAfterEachBoundaryOfTheJournal(t *testing.T) {
	for _, m := range faults.Boundaries() {
		nothing := m.Handrolled == "" || m.Handrolled == "nothing"
		elsewhere := m.Boundary == faults.ProviderCommit || m.Boundary == faults.ProviderCall || m.Boundary == faults.CloseCall || m.Boundary == faults.ModelCall
		if nothing || elsewhere {
			continue
		}
		cut := func(w, sync faults.When) bool {
			return slices.ContainsFunc(scenarios.Power(), func(p scenarios.PowerTrial) bool {
				return p.Volume == faults.VolumeJournal && p.Point == faults.Point{Boundary: m.Boundary, When: w} && p.Sync == sync
			})
		}
		require.True(t, cut(faults.Before, ""), "%s is durable behind %s", m.Handrolled, m.Boundary)
		if m.Boundary == faults.StoreCommit {
			continue // it stands inside the others, whose fsync is its own, and is announced before it alone
		}
		require.True(t, cut(faults.After, ""), "%s is durable behind %s", m.Handrolled, m.Boundary)
		require.True(t, cut(faults.Before, faults.Before), "%s is made durable by an fsync behind %s", m.Handrolled, m.Boundary)
		require.True(t, cut(faults.Before, faults.After), "%s is made durable by an fsync behind %s", m.Handrolled, m.Boundary)
	}
}

func TestEveryTrialWithAPowerFailureIsWellFormed(t *testing.T) {
	names := map[string]bool{}
	broken := map[string][]string{} // checks by volume
	for _, p := range scenarios.Power() {
		require.False(t, names[p.Name], p.Name)
		names[p.Name] = true
		require.NoError(t, p.Plan.Schedule.Validate(), p.Name)
		require.NotEmpty(t, p.Moment, p.Name)
		require.NotEqual(t, p.Breaks == "", p.Why == "", "%s: either something is broken without syncs, or it is said why not", p.Name)
		require.Equal(t, p.Plan.Schedule, p.Expect.Schedule, p.Name)
		require.Equal(t, []string{p.Volume}, p.Plan.World.Volumes, p.Name)
		require.Equal(t, p.Volume == faults.VolumeHistory, p.Plan.World.OwnServer, p.Name)
		if p.Breaks != "" && !slices.Contains(broken[p.Volume], p.Breaks) {
			broken[p.Volume] = append(broken[p.Volume], p.Breaks)
		}
	}
	require.Subset(t, broken[faults.VolumeJournal], []string{"I1", "I4", "I6", "I10", "I11", "I12"})
	require.Subset(t, broken[faults.VolumeLedger], []string{"I2", "I3", "MODEL"})
	require.Subset(t, broken[faults.VolumeHistory], []string{"I1", "I10"})
}
