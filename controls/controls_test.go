package controls_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/controls"
	"refundlab/faults/scenarios"
)

func TestEveryReplacementAppliesToThePresentSources(t *testing.T) {
	for _, c := range controls.All() {
		t.Run(c.Name, func(t *testing.T) {
			sources, err := c.Sources("..")
			require.NoError(t, err)
			require.NotEmpty(t, sources)
		})
	}
}

func TestATextThatIsNotThereOnceIsAnError(t *testing.T) {
	for what, replacement := range map[string]controls.Replacement{
		"gone":          {File: "refund/observation.go", Old: "no such text", New: "x"},
		"twice":         {File: "refund/observation.go", Old: "return Act", New: "return"},
		"unchanged":     {File: "refund/observation.go", Old: "package refund", New: "package refund"},
		"no Go anymore": {File: "refund/observation.go", Old: "package refund", New: "package {"},
		"no such file":  {File: "refund/none.go", Old: "a", New: "b"},
	} {
		_, err := controls.Control{Name: "c", Replacements: []controls.Replacement{replacement}}.Sources("..")
		require.Error(t, err, what)
	}
}

func TestEveryControlSaysWhatItIsAndWhereItMustShow(t *testing.T) {
	cells := map[string]bool{}
	for _, e := range scenarios.All().Cells {
		if e.NotApplicable == "" {
			cells[e.Scenario+"/"+e.Engine+"/"+e.Profile] = true
		}
	}
	names := map[string]bool{}
	for _, c := range controls.All() {
		require.False(t, names[c.Name], "%s stands twice", c.Name)
		names[c.Name] = true
		require.NotEmpty(t, c.Design, c.Name)
		require.True(t, strings.HasSuffix(c.Breaks, "."), "%s: %q is a sentence", c.Name, c.Breaks)
		require.NotEmpty(t, c.Finds, c.Name)
		for _, e := range c.Executables {
			require.Contains(t, []string{"worker", "starter", "provider"}, e, c.Name)
		}
		require.NotEmpty(t, c.Executables, c.Name)
		for _, cell := range c.Finds {
			require.True(t, cells[cell.Scenario+"/"+cell.Engine+"/"+cell.Profile], "%s: the catalogue has no cell %v", c.Name, cell)
			require.NotEmpty(t, cell.Checks, c.Name)
			for _, check := range cell.Checks {
				require.Equal(t, c.Harmless != "", check == "MODEL", "%s: an invariant needs what it breaks, or none does, and it is harmless", c.Name)
				require.True(t, check == "END" || check == "MODEL" || strings.HasPrefix(check, "I"), "%s: %s is no invariant", c.Name, check)
			}
		}
		engineOf := map[string]string{"handrolled": "handrolled", "workflows": "temporal", "activities": "temporal"}
		for _, r := range c.Replacements {
			dir, _, _ := strings.Cut(r.File, "/")
			if engine := engineOf[dir]; engine != "" {
				require.True(t, slices.Contains(c.Engines(), engine), "%s breaks %s and must be found on %s", c.Name, r.File, engine)
			}
		}
	}
	require.GreaterOrEqual(t, len(names), 36)
}
