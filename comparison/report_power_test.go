package comparison

import (
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
)

func TestThePowerSectionSaysWhatEachSettingShowed(t *testing.T) {
	trial := func(synchronous, verdict string, findings ...evidence.PowerFinding) evidence.PowerTrial {
		return evidence.PowerTrial{Name: "journal-outcome.after", Volume: "journal", Profile: "full", Point: "outcome.after", Moment: "the outcome is recorded",
			Synchronous: synchronous, Breaks: "I4", Verdict: verdict, Findings: findings}
	}
	text := PowerSection(evidence.Power{Command: "lab power", Seed: 7, Trials: []evidence.PowerTrial{
		trial("FULL", "pass"), trial("NORMAL", "fail", evidence.PowerFinding{Check: "I4", Text: "no intent"}), trial("OFF", "pass"),
	}})
	require.Contains(t, text, "| journal | FULL | 1 | 1 | 0 | 0 | 0 |")
	require.Contains(t, text, "| journal | NORMAL | 1 | 0 | 1 | 0 | 0 |")
	require.Contains(t, text, "| journal | OFF | 1 | 0 | 0 | 0 | 1 |")
	require.Contains(t, text, "| journal | `outcome.after` | full | the outcome is recorded | pass | - | caught: I4 | pass |")
	require.Contains(t, text, "- **journal-outcome.after, synchronous=OFF: pass, and not found by I4**", "what is not as it must be is told")
}

// A double refund at a point where nothing should be lost is no harmless loss.
func TestThePowerSectionCallsOnlyAPassHarmless(t *testing.T) {
	trial := func(synchronous, verdict string, findings ...evidence.PowerFinding) evidence.PowerTrial {
		return evidence.PowerTrial{Name: "ledger-provider-commit.after", Volume: "ledger", Profile: "full", Point: "provider-commit.after", Moment: "the provider has committed",
			Synchronous: synchronous, Why: "nobody had the receipt yet", Verdict: verdict, Findings: findings}
	}
	text := PowerSection(evidence.Power{Command: "lab power", Trials: []evidence.PowerTrial{
		trial("NORMAL", "pass"), trial("OFF", "fail", evidence.PowerFinding{Check: "I1", Text: "two entries"}),
	}})
	require.Contains(t, text, "| ledger | NORMAL | 1 | 0 | 0 | 1 | 0 |")
	require.Contains(t, text, "| ledger | OFF | 1 | 0 | 0 | 0 | 1 |")
	require.Contains(t, text, "| the provider has committed | - | - | harmless: nobody had the receipt yet | fail |")
	require.Contains(t, text, "- **ledger-provider-commit.after, synchronous=OFF: fail, and nothing should be found: nobody had the receipt yet**\n  - I1: two entries")
}

func TestThePowerSectionSaysWhereAndHowMuchWasDrawn(t *testing.T) {
	trial := evidence.PowerTrial{Name: "journal-outcome-written", Volume: "journal", Profile: "full", Point: "outcome, before its fsync", Synchronous: "FULL",
		Breaks: "I4", Verdict: "pass", Lot: true, Pending: 40, Survived: 19, Draws: 6}
	text := PowerSection(evidence.Power{
		Command: "lab power", Machine: evidence.Machine{OS: "linux", Arch: "arm64", CPUs: 3, Go: "go1.99"},
		Versions: []evidence.Version{{Part: "SQLite driver", Version: "v9"}}, Trials: []evidence.PowerTrial{trial},
	})
	require.Contains(t, text, "`lab power` on linux/arm64, 3 CPUs, go1.99, SQLite driver v9, ")
	require.Contains(t, text, "In 1 trials by lot the power fails inside a transaction and finds something that is not synced: 40 sectors and names, of which 19 survived where the trial went on. With further lots, 6 images were drawn there and read.")
}

func TestThePowerSectionNeverTakesNotRunForPassed(t *testing.T) {
	text := PowerSection(evidence.Power{NotRun: "this machine has no FUSE", Trials: []evidence.PowerTrial{{Verdict: evidence.NotRun}}})
	require.Contains(t, text, "**Not run:** this machine cannot play these 1 trials, so they show nothing: this machine has no FUSE.")
	require.NotContains(t, text, "pass")
}
