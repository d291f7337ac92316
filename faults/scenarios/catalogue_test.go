package scenarios

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/faults"
	"refundlab/refund"
)

func everyCell() []faults.Expectation { return slices.Concat(Matrix().Cells, Extended().Cells) }

func TestMatrixStatesOnePermittedEndForEveryRunOfEveryCell(t *testing.T) {
	statuses := map[string]bool{}
	for _, s := range []refund.RunStatus{refund.StatusConfirmed, refund.StatusRejected, refund.StatusExpired, refund.StatusUnknown} {
		statuses[string(s)] = true
	}
	for _, e := range everyCell() {
		name := e.Scenario + "/" + e.Engine + "/" + e.Profile + "/" + e.Arm
		if e.NotApplicable != "" {
			require.Empty(t, e.Runs, name)
			continue
		}
		require.NotEmpty(t, e.Runs, name)
		plan, err := PlanOf(e.Scenario, e.Engine, e.Profile, e.Arm)
		require.NoError(t, err, name)
		requested := map[string]bool{}
		for _, s := range plan.Script {
			if s.Do == faults.DoRequest {
				requested[s.Run] = true
			}
		}
		require.Len(t, requested, len(e.Runs), "%s: each request has an end", name)
		for run, end := range e.Runs {
			require.True(t, requested[run], "%s: run %s", name, run)
			require.True(t, statuses[end.Status], "%s: status %q", name, end.Status)
			require.Equal(t, end.Status == string(refund.StatusUnknown), end.UnknownBecause != "", "%s: UNKNOWN has its reason, nothing else has", name)
			require.Equal(t, end.Status == string(refund.StatusRejected), end.Reason != "", "%s: REJECTED has its code, nothing else has", name)
			require.LessOrEqual(t, end.LeastSubmits, end.MostSubmits, name)
			if end.Status == string(refund.StatusRejected) || end.Status == string(refund.StatusExpired) {
				require.Equal(t, min(1, unrecognisedCopies(t, e)), end.Entries, "%s: I3", name)
			}
			if end.Status == string(refund.StatusConfirmed) {
				require.Equal(t, 1+unrecognisedCopies(t, e), end.Entries, "%s: I1 and I2", name)
			}
		}
	}
}

// unrecognisedCopies are those that the network of a cell makes of a send toward a provider that takes each for a refund of its own: the
// one thing beyond I1 and I3.
func unrecognisedCopies(t *testing.T, e faults.Expectation) (copies int) {
	profile, err := refund.ProfileNamed(refund.ProfileName(e.Profile))
	require.NoError(t, err)
	for _, rule := range e.Schedule {
		if rule.Action == faults.Duplicate && rule.Point.Boundary == faults.ProviderCall && !profile.Idempotent {
			copies++
		}
	}
	return copies
}

func TestEveryScriptCanBePlayedInBothArms(t *testing.T) {
	for _, e := range everyCell() {
		if e.NotApplicable != "" {
			continue
		}
		name := e.Scenario + "/" + e.Engine + "/" + e.Profile + "/" + e.Arm
		plan, err := PlanOf(e.Scenario, e.Engine, e.Profile, e.Arm)
		require.NoError(t, err, name)
		require.NoError(t, plan.Schedule.Validate(), name)
		rules := map[string]faults.Rule{}
		for _, r := range plan.Schedule {
			rules[r.Name] = r
		}
		released, frozen, clients := map[string]bool{}, map[string]bool{}, map[string]bool{}
		changed := len(plan.Schedule) > 0
		var last faults.Step
		for _, s := range plan.Script {
			changed = changed || s.Only == fault
			if s.Only != "" && s.Only != e.Arm {
				continue
			}
			last = s
			switch s.Do {
			case faults.DoFired, faults.DoRelease:
				require.Contains(t, rules, s.Rule, "%s: step %q", name, s)
				require.Equal(t, fault, s.Only, "%s: the clean arm has no rules: step %q", name, s)
				released[s.Rule] = released[s.Rule] || s.Do == faults.DoRelease
			case faults.DoThaw:
				frozen[s.Process] = true
			case faults.DoAwait:
				require.NoError(t, new(faults.Point).UnmarshalText([]byte(s.Point.String())), name)
			case faults.DoRequest, faults.DoApprove, faults.DoReject, faults.DoSettle, faults.DoCancel:
				require.False(t, clients[s.Process], "%s: client %s stands twice", name, s.Process)
				clients[s.Process] = true
			case faults.DoJoin:
				require.True(t, clients[s.Process], "%s: client %s is joined before it starts", name, s.Process)
			}
		}
		require.Equal(t, faults.DoRest, last.Do, "%s: the last step brings the trial to rest", name)
		require.True(t, changed, "%s: the fault arm differs from the clean one", name)
		if e.Arm == fault {
			for _, r := range plan.Schedule {
				require.Equal(t, r.Action == faults.Hold, released[r.Name], "%s: what rule %s holds is released", name, r.Name)
				require.Equal(t, r.Action == faults.Freeze, frozen[r.Process] && r.Action == faults.Freeze, "%s: what rule %s freezes is thawed", name, r.Name)
			}
		}
		for client := range e.Answers {
			require.True(t, clients[client], "%s: the expected answer of %s belongs to a client of the script", name, client)
		}
	}
}

func TestCatalogueNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range slices.Concat(Matrix().Scenarios, Extended().Scenarios) {
		require.False(t, seen[s.Name], s.Name)
		seen[s.Name] = true
		require.NotEmpty(t, s.Title, s.Name)
		require.NotEmpty(t, s.About, s.Name)
	}
	_, err := PlanOf("no-such-scenario", temporal, "full", clean)
	require.ErrorContains(t, err, "no scenario")
}
