package faults_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/faults"
)

const whole = `[
 {"name":"kill-a","point":"provider-commit.before","nth":2,"process":"provider","action":"kill","victim":"A"},
 {"name":"lose","point":"provider-call.after","nth":1,"action":"lose"}
]`

func TestAScheduleIsReadAsItWasWritten(t *testing.T) {
	got, err := faults.ParseSchedule([]byte(whole))
	require.NoError(t, err)
	want := faults.Schedule{
		{Name: "kill-a", Point: faults.Point{Boundary: faults.ProviderCommit, When: faults.Before}, Nth: 2, Process: "provider", Action: faults.Kill, Victim: "A"},
		{Name: "lose", Point: faults.Point{Boundary: faults.ProviderCall, When: faults.After}, Nth: 1, Action: faults.Lose},
	}
	require.Equal(t, want, got)

	written, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, whole, string(written))

	for _, none := range []string{`[]`, `null`} {
		got, err = faults.ParseSchedule([]byte(none))
		require.NoError(t, err, "a clean arm has no rules")
		require.Empty(t, got)
	}
}

func TestARuleThatCouldNeverFireIsRefused(t *testing.T) {
	for _, c := range []struct{ name, text, words string }{
		{"no name", `[{"point":"intent.after","nth":1,"action":"kill"}]`, `rule 1: name ""`},
		{"a name twice", `[{"name":"a","point":"intent.after","nth":1,"action":"kill"},{"name":"a","point":"intent.after","nth":2,"action":"kill"}]`, `rule 2: name "a"`},
		{"no occurrence", `[{"name":"a","point":"intent.after","action":"kill"}]`, `rule "a": occurrence 0`},
		{"a negative occurrence", `[{"name":"a","point":"intent.after","nth":-1,"action":"kill"}]`, `rule "a": occurrence -1`},
		{"no point", `[{"name":"a","nth":1,"action":"kill"}]`, `rule "a": point "."`},
		{"an unknown boundary", `[{"name":"a","point":"payout.after","nth":1,"action":"kill"}]`, `"payout.after" is unknown`},
		{"no side", `[{"name":"a","point":"intent","nth":1,"action":"kill"}]`, `"intent" is unknown`},
		{"an unknown side", `[{"name":"a","point":"intent.during","nth":1,"action":"kill"}]`, `"intent.during" is unknown`},
		{"two sides", `[{"name":"a","point":"intent.after.before","nth":1,"action":"kill"}]`, `"intent.after.before" is unknown`},
		{"no action", `[{"name":"a","point":"intent.after","nth":1}]`, `rule "a": action ""`},
		{"an unknown action", `[{"name":"a","point":"intent.after","nth":1,"action":"explode"}]`, `action "explode"`},
		{"an action that does nothing", `[{"name":"a","point":"intent.after","nth":1,"action":"continue"}]`, `action "continue"`},
		{"a delay without its time", `[{"name":"a","point":"intent.after","nth":1,"action":"delay"}]`, `delay needs more than zero`},
		{"a time that is no delay's", `[{"name":"a","point":"intent.after","nth":1,"action":"hold","delay_ms":5}]`, `nothing else has one`},
		{"a message that is lost behind its boundary", `[{"name":"a","point":"intent.after","nth":1,"action":"drop"}]`, `write lose`},
		{"a power cut of no volume", `[{"name":"a","point":"intent.after","nth":1,"action":"power-cut"}]`, `power-cut with volume ""`},
		{"an inspection of no volume", `[{"name":"a","point":"intent.after","nth":1,"action":"inspect"}]`, `inspect with volume ""`},
		{"a volume that is not cut", `[{"name":"a","point":"intent.after","nth":1,"action":"kill","volume":"journal"}]`, `nothing else has one`},
		{"a kill at an fsync", `[{"name":"a","point":"intent.before","nth":1,"action":"kill","sync":"before"}]`, `only power-cut`},
		{"an fsync behind its transaction", `[{"name":"a","point":"intent.after","nth":1,"action":"power-cut","volume":"journal","sync":"after"}]`, `ahead of a boundary`},
		{"no side of an fsync", `[{"name":"a","point":"intent.before","nth":1,"action":"power-cut","volume":"journal","sync":"during"}]`, `sync "during"`},
		{"a misspelt key", `[{"name":"a","point":"intent.after","nth":1,"action":"kill","vicitm":"A"}]`, `"vicitm"`},
		{"an object", `{"name":"a"}`, "not a JSON list"},
		{"cut off", `[{"name":"a"`, "not a JSON list"},
		{"nothing", ``, "not a JSON list"},
		{"two lists", `[][]`, "behind the list"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := faults.ParseSchedule([]byte(c.text))
			require.ErrorContains(t, err, c.words)
			require.Nil(t, got)
		})
	}
	err := faults.Schedule{{Name: "a", Point: faults.Point{Boundary: faults.Intent}, Nth: 1, Action: faults.Kill}}.Validate()
	require.ErrorContains(t, err, `point "intent." is unknown`, "also where no text was read")
}

func TestTheListOfBoundariesIsClosedAndDescribed(t *testing.T) {
	seen := map[faults.Boundary]bool{}
	for _, m := range faults.Boundaries() {
		require.False(t, seen[m.Boundary], m.Boundary)
		seen[m.Boundary] = true
		require.Contains(t, []string{"client", "worker", "provider"}, m.Where, m.Boundary)
		require.NotEmpty(t, m.What, m.Boundary)
		require.NotEmpty(t, m.Temporal+m.Handrolled, "%s is a boundary of no engine", m.Boundary)
		for _, when := range []faults.When{faults.Before, faults.After} {
			point := faults.Point{Boundary: m.Boundary, When: when}
			text, err := point.MarshalText()
			require.NoError(t, err)
			require.Equal(t, string(m.Boundary)+"."+string(when), string(text))
			var again faults.Point
			require.NoError(t, again.UnmarshalText(text))
			require.Equal(t, point, again)
		}
	}
	faults.Boundaries()[0].What = "changed"
	require.NotEqual(t, "changed", faults.Boundaries()[0].What, "the list cannot be changed from outside")
}

// A schedule that is taken is valid, and saving and playing it again is the same schedule.
func FuzzParseSchedule(f *testing.F) {
	for _, seed := range []string{
		whole, `[]`, `null`, `[{"name":"a","point":"intent.after","nth":1,"action":"hold"}]`, `[{"name":"a"}]`, `[{"NAME":"a","point":"intent.before","nth":9,"action":"abort"}]`, `[][]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		schedule, err := faults.ParseSchedule(text)
		if err != nil {
			require.Nil(t, schedule)
			return
		}
		require.NoError(t, schedule.Validate())
		saved, err := json.Marshal(schedule)
		require.NoError(t, err)
		again, err := faults.ParseSchedule(saved)
		require.NoError(t, err)
		require.Equal(t, schedule, again)
	})
}
