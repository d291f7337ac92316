// Package controls holds single broken protections as data: what is taken away, from which file, and which scenario must then
// show which invariant. They are the fault suite's third arm: a protection that can be removed without a finding is one that
// the suite cannot see. Nothing here is built or played; the tree is never touched.
package controls

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Control is one broken protection.
type Control struct {
	Name   string
	Breaks string // what is taken away: one sentence
	Design string // the design that it stands for, as its authors would call it
	// Layers says why more than one protection had to go: what hides the first when it alone is missing. Empty for one.
	Layers string
	// Harmless says why no invariant is violated where it is missing. Empty for those that some invariant needs.
	Harmless     string
	Executables  []string // that are rebuilt: "worker", "starter", "provider"
	Replacements []Replacement
	Finds        []Cell // each of them must show it
}

// Replacement takes a text out of a file of the module. Old stands in it exactly once.
type Replacement struct {
	File     string // path from the module's root, with slashes
	Old, New string
}

// Cell is a trial that must show a control, and the checks of which at least one must be among what the judge reports there.
// "END", the permitted end of a cell, stands only where no invariant speaks, and "MODEL", that what was recorded is no path of the rules,
// only for a control that is harmless.
type Cell struct {
	Scenario string
	Engine   string
	Profile  string
	Checks   []string
}

// All are the controls, by the part of the system that they break.
func All() []Control {
	return slices.Concat(knowledge, sending, ownership, identity, decisions, model, books)
}

// Sources are the replaced files as they would be built, by path. root is the module's directory.
// Errors: a text that a file does not hold exactly once, so that the control would break nothing or something else; a Go file
// that cannot be parsed any more.
func (c Control) Sources(root string) (map[string]string, error) {
	sources := map[string]string{}
	for _, r := range c.Replacements {
		text, read := sources[r.File]
		if !read {
			content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(r.File)))
			if err != nil {
				return nil, fmt.Errorf("control %s: %w", c.Name, err)
			}
			text = string(content)
		}
		if n := strings.Count(text, r.Old); n != 1 || r.Old == r.New {
			return nil, fmt.Errorf("control %s: %s holds %d times what is to be replaced, it must be once:\n%s", c.Name, r.File, n, r.Old)
		}
		sources[r.File] = strings.Replace(text, r.Old, r.New, 1)
	}
	for file, text := range sources {
		if _, err := format.Source([]byte(text)); strings.HasSuffix(file, ".go") && err != nil {
			return nil, fmt.Errorf("control %s: %s is no Go any more: %w", c.Name, file, err)
		}
	}
	return sources, nil
}

// Engines are those on which the control is to be found.
func (c Control) Engines() []string {
	var engines []string
	for _, cell := range c.Finds {
		if !slices.Contains(engines, cell.Engine) {
			engines = append(engines, cell.Engine)
		}
	}
	return engines
}

// Names of engines and executables, as the laboratory has them.
const (
	temporal   = "temporal"
	handrolled = "handrolled"

	worker   = "worker"
	starter  = "starter"
	outside  = "provider"
	full     = "full"
	lookup   = "lookup"
	opaque   = "opaque"
	lenient  = "lenient"
	retained = "retention"
	stale    = "stale"
)

// on is a cell of one engine.
func on(engine, scenario, profile string, checks ...string) []Cell {
	return []Cell{{Scenario: scenario, Engine: engine, Profile: profile, Checks: checks}}
}

// both are the cells of a scenario on both engines.
func both(scenario, profile string, checks ...string) []Cell {
	return append(on(temporal, scenario, profile, checks...), on(handrolled, scenario, profile, checks...)...)
}

func join(cells ...[]Cell) []Cell { return slices.Concat(cells...) }
