package comparison

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// atDisk lets the rule of the scene look at the journal's disk, where it finds the run as it is at the end of the trial.
func atDisk(s *scene) *evidence.Image {
	hit := &s.Trial.Fired[0]
	for i := range s.Trace {
		if s.Trace[i].Seq < hit.Seq {
			s.Trace[i].Reply = faults.Continue
		}
	}
	s.Trial.Images = []evidence.Image{{Rule: hit.Rule, Volume: faults.VolumeJournal, Exports: evidence.Exports{"r1": s.Exports["r1"]}}}
	return &s.Trial.Images[0]
}

func TestAGenerationIsGivenOnce(t *testing.T) {
	s := newScene("handrolled", refund.ProfileFull)
	require.NotContains(t, checksOf(JudgeRecord(s.Record, s.expect).Findings), "I6")
	s.cross("C", "claim.after", s.Exports["r1"].View.OperationID, "2.1") // as B was given before
	require.Contains(t, checksOf(JudgeRecord(s.Record, s.expect).Findings), "I6")
}

func checksOf(findings []Finding) (checks []string) {
	for _, f := range findings {
		checks = append(checks, f.Check)
	}
	return checks
}

// heard lets a client hear its answer as soon as something was stored.
func heard(s *scene, stored, client string) {
	i := slices.IndexFunc(s.Trace, func(c evidence.Crossing) bool { return c.Point == point(stored) })
	c := evidence.Crossing{Seq: s.Trace[i].Seq + 1, At: s.Trace[i].At, Nth: 1}
	c.Process, c.Point = client, point("reply.after")
	s.Trace = slices.Insert(s.Trace, i+1, c)
}

// The disk that holds everything shows nothing against anyone; one fact less does, by the invariant that rests on it.
func TestWhatWasActedOnIsOnTheDisk(t *testing.T) {
	without := func(kind refund.FactKind) func(*evidence.Image) {
		return func(i *evidence.Image) {
			export := i.Exports["r1"]
			export.Facts = filter(export.Facts, func(f refund.Fact) bool { return f.Kind != kind })
			i.Exports = evidence.Exports{"r1": export}
		}
	}
	for _, c := range []struct {
		name   string
		change func(*evidence.Image)
		check  string
		words  string
	}{
		{name: "everything", change: func(*evidence.Image) {}},
		{"no intent", without(refund.FactIntent), "I4", "does not hold the intent to send it"},
		{"no verdict", func(i *evidence.Image) {
			export := i.Exports["r1"]
			export.View.Facts.Verdicts = nil
			i.Exports = evidence.Exports{"r1": export}
		}, "I10", "that verdict"},
		{"no reservation of a model call", without(refund.FactModelCall), "I12", "the reservation"},
		{"no run", func(i *evidence.Image) { i.Exports = nil }, "I11", "holds no such run"},
		{"no store that can be read", func(i *evidence.Image) {
			i.Exports, i.Failed = nil, map[string]string{"r1": "malformed"}
		}, "I11", "malformed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene("handrolled", refund.ProfileFull)
			s.fact("r1", refund.FactModelCall, "", "", refund.Fence{Term: 2, Seq: 1})
			heard(s, "intake.after", "alice-r1")
			heard(s, "decision.after", "bob")
			c.change(atDisk(s))
			findings := JudgeRecord(s.Record, s.expect).Findings
			found := filter(findings, func(f Finding) bool { return f.Check == c.check })
			if c.check == "" {
				require.Empty(t, filter(findings, func(f Finding) bool { return f.Check != "EVIDENCE" }))
				return
			}
			require.NotEmpty(t, found, findings)
			require.Contains(t, found[0].Text, c.words)
		})
	}
}
