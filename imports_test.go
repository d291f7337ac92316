// Package refundlab_test holds what is true of the whole module: who may know whom, and how errors are told apart.
package refundlab_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "refundlab"

// packages is every package of the module. A new one must be entered here, and its place in the rules below thought about,
// before the tests pass again; one that is gone must be taken out.
var packages = []string{
	"activities",
	"binaries",
	"cmd/internal/children", "cmd/internal/cmdline", "cmd/internal/engineflags", "cmd/internal/orderfile",
	"cmd/lab", "cmd/provider", "cmd/starter", "cmd/worker",
	"comparison",
	"controls",
	"evidence",
	"faults", "faults/exploration", "faults/harness", "faults/inject", "faults/lossfs", "faults/scenarios", "faults/soak",
	"handrolled",
	"model",
	"provider", "provider/ledger", "provider/server",
	"refund",
	"temporalserver",
	"workflows",
}

// In patterns "x/..." is x and everything below it; paths of the module are written without the module's name, and "std" is
// the whole standard library.
var (
	engines  = []string{"handrolled", "workflows", "activities"}
	temporal = []string{"go.temporal.io/..."}
)

// reaches limits what packages reach through any number of imports, tests apart.
var reaches = []struct {
	from   []string
	only   []string // if set, everything else is banned
	never  []string
	reason string
}{
	{
		from: []string{"refund"}, only: []string{"std", "golang.org/x/text/..."},
		reason: "the vocabulary and the rules must give everyone the same answer: no I/O libraries, no clock, nobody's types",
	},
	{
		from: []string{"controls"}, only: []string{"std"},
		reason: "a control is data about sources: it neither builds nor plays anything",
	},
	{
		from: []string{"faults"}, only: []string{"std"},
		reason: "hooks stand in every process under test: what they import, every process would carry",
	},
	{
		from: []string{"faults/scenarios", "faults/soak"}, only: []string{"std", "golang.org/x/text/...", "refund", "faults"},
		reason: "a scenario, and a trial drawn by lot, is data: it runs on any engine because it can name none",
	},
	{
		from: []string{"faults/exploration"}, only: []string{"std", "golang.org/x/text/...", "refund", "faults", "evidence"},
		reason: "what is explored is made from traces alone, and neither played nor judged there",
	},
	{
		from: []string{"model"}, only: []string{"std", "golang.org/x/text/...", "refund"},
		reason: "the model explores the shared rules and nothing else: what it knew of an engine it could not check in one",
	},
	{
		from: []string{"evidence"}, only: []string{"std", "golang.org/x/text/...", "refund", "faults"},
		reason: "stored evidence is read by later judges: its schema depends on nothing that will change with an engine",
	},
	{
		from: []string{"provider", "provider/ledger", "provider/server"}, never: slices.Concat(engines, temporal, []string{"cmd/..."}),
		reason: "the outside world does not know who calls it",
	},
	{
		from: []string{"handrolled"}, never: slices.Concat([]string{"workflows", "activities", "provider/server", "faults/..."}, temporal),
		reason: "the executor stands alone: it shares rules with the other engine, never control flow, and holds no fault hook",
	},
	{
		from: []string{"workflows", "activities"}, never: []string{"handrolled", "provider/ledger", "provider/server", "faults/...", "modernc.org/..."},
		reason: "the Temporal application stands alone: it shares rules with the other engine, never control flow or a store, and holds no fault hook",
	},
	{
		from: []string{"faults/harness"}, never: slices.Concat(engines, temporal, []string{"cmd/...", "faults/inject", "comparison", "provider/ledger", "provider/server"}),
		reason: "the harness knows an engine only by how its processes are started and what they print, so a further engine is a new command line; and it does not judge what it did",
	},
	{
		from: []string{"comparison"}, never: slices.Concat(engines, temporal, []string{"cmd/...", "faults/inject", "faults/harness", "provider/..."}),
		reason: "the judge sees evidence files only: a mistake that it shared with an engine or the harness could not be seen",
	},
	{
		from: []string{"temporalserver", "binaries"}, never: slices.Concat(engines, temporal, []string{"cmd/...", "faults/...", "provider/..."}),
		reason: "starting a server and building executables are not the flow's business; server and SDK cannot share a module either",
	},
}

// importers names everyone who may import a package directly, tests apart.
var importers = []struct {
	of     string
	by     []string
	reason string
}{
	{"faults/inject", []string{"cmd/worker", "cmd/starter", "cmd/internal/engineflags"}, "faults enter at the ports where processes are put together, never in business code"},
	{"cmd/internal/engineflags", []string{"cmd/worker", "cmd/starter"}, "it brings the fault hooks, which belong into these two processes alone"},
	{"provider/ledger", []string{"provider/server", "handrolled", "cmd/provider", "cmd/worker", "cmd/internal/orderfile"}, "one writer of orders, operations and ledger: the provider, or the journal under the profile local; commands only seed it"},
	{"provider/server", []string{"cmd/provider"}, "the outside world is a process of its own, reached over HTTP"},
	{"faults/lossfs", []string{"faults/harness", "cmd/lab"}, "a file system that loses data is the harness's: no program under test knows what its files lie on"},
	{"github.com/hanwen/go-fuse/...", []string{"faults/lossfs"}, "one place serves FUSE"},
	{"testing", nil, "test code does not belong into the executables"},
	{"github.com/stretchr/testify/...", nil, "test code does not belong into the executables"},
	{"cmd/...", []string{"cmd/..."}, "commands put parts together: nothing below depends on them"},
	{"modernc.org/sqlite/...", []string{"provider/ledger", "provider/server", "handrolled", "faults/inject"}, "two stores, each behind its owner; the decorators hook its commits"},
}

// listed is one package as the go command describes it, its tests left out.
type listed struct {
	ImportPath string
	Standard   bool
	Imports    []string
}

// graph is every package that the module reaches, with paths of the module shortened.
type graph map[string]listed

func loadGraph(t *testing.T) graph {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Standard,Imports", "./...")
	command.Env = append(os.Environ(), "CGO_ENABLED=0") // as the executables are built; else package C comes in through net
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	require.NoError(t, err, stderr.String())
	g := graph{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return g
		}
		require.NoError(t, err)
		p.ImportPath = short(p.ImportPath)
		for i := range p.Imports {
			p.Imports[i] = short(p.Imports[i])
		}
		g[p.ImportPath] = p
	}
}

func short(path string) string { return strings.TrimPrefix(path, module+"/") }

// own returns the packages of this module.
func (g graph) own(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "./...").Output()
	require.NoError(t, err)
	var own []string
	for line := range strings.Lines(string(out)) {
		if path := short(strings.TrimSpace(line)); path != module { // the root has tests alone
			own = append(own, path)
		}
	}
	return own
}

// matches tells whether path is meant by one of patterns.
func (g graph) matches(path string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		below, all := strings.CutSuffix(pattern, "/...")
		switch {
		case pattern == "std":
			return g[path].Standard
		case all:
			return path == below || strings.HasPrefix(path, below+"/")
		}
		return path == pattern
	})
}

// chains returns, for everything that from reaches, the shortest chain of imports that leads there.
func (g graph) chains(from string) map[string][]string {
	chains := map[string][]string{from: {from}}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, next := range g[queue[0]].Imports {
			if _, seen := chains[next]; !seen {
				chains[next] = append(slices.Clone(chains[queue[0]]), next)
				queue = append(queue, next)
			}
		}
	}
	return chains
}

func TestEveryPackageHasItsPlaceInTheRules(t *testing.T) {
	require.ElementsMatch(t, packages, loadGraph(t).own(t), "enter a new package into packages and into the rules that it is under; take out one that is gone")
	for _, rule := range reaches {
		require.Subset(t, packages, rule.from)
		require.NotEmpty(t, rule.reason)
	}
	for _, rule := range importers {
		require.NotEmpty(t, rule.reason)
	}
}

func TestPackagesReachOnlyWhatTheyMayKnow(t *testing.T) {
	g := loadGraph(t)
	for _, rule := range reaches {
		for _, from := range rule.from {
			t.Run(from, func(t *testing.T) {
				require.Contains(t, g, from, "the rule's package is missing")
				chains := g.chains(from)
				require.Greater(t, len(chains), 1)
				banned := func(path string) bool {
					return rule.only != nil && !g.matches(path, rule.only) || g.matches(path, rule.never)
				}
				for path, chain := range chains {
					// What a banned package reaches in its turn is not told as well.
					if path != from && banned(path) && !slices.ContainsFunc(chain[1:len(chain)-1], banned) {
						t.Errorf("%s\n%s may not: %s", strings.Join(chain, " -> "), from, rule.reason)
					}
				}
			})
		}
	}
}

func TestPackagesAreImportedOnlyByTheirOwnUsers(t *testing.T) {
	g := loadGraph(t)
	for _, rule := range importers {
		t.Run(rule.of, func(t *testing.T) {
			for _, from := range packages {
				for _, path := range g[from].Imports {
					if g.matches(path, []string{rule.of}) && !g.matches(from, rule.by) {
						t.Errorf("%s imports %s: %s", from, path, rule.reason)
					}
				}
			}
		})
	}
}

func TestOnlyCommandsReachBothEngines(t *testing.T) {
	g := loadGraph(t)
	for _, from := range packages {
		chains := g.chains(from)
		if chains["handrolled"] != nil && (chains["workflows"] != nil || chains["activities"] != nil) && !g.matches(from, []string{"cmd/..."}) {
			t.Errorf("%s reaches both engines: only a command may put them side by side", from)
		}
	}
}
