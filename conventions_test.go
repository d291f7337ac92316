package refundlab_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// eachFile parses every Go file below root that is no test, in this module and the nested ones.
func eachFile(t *testing.T, root string, look func(fset *token.FileSet, file *ast.File)) {
	t.Helper()
	fset, seen := token.NewFileSet(), 0
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		seen++
		look(fset, file)
		return nil
	}))
	require.Positive(t, seen, "no file was looked at")
}

// The text of an error is for people and changes without notice; codes and errors.Is are the contract.
func TestNoDecisionIsMadeByTheTextOfAnError(t *testing.T) {
	eachFile(t, ".", func(fset *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(node ast.Node) bool {
			if tested := decidesByText(node); tested != nil {
				t.Errorf("%s: match the error by its code or errors.Is, never by its text", fset.Position(tested.Pos()))
			}
			return true
		})
	})
}

// decidesByText returns the call of Error that node compares, switches on or searches, or nil.
func decidesByText(node ast.Node) ast.Node {
	var operands []ast.Expr
	switch n := node.(type) {
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			operands = []ast.Expr{n.X, n.Y}
		}
	case *ast.SwitchStmt:
		operands = []ast.Expr{n.Tag}
	case *ast.CallExpr:
		if called, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains(searches, called.Sel.Name) {
			operands = n.Args
		}
	}
	for _, operand := range operands {
		if call, ok := operand.(*ast.CallExpr); ok && len(call.Args) == 0 {
			if method, ok := call.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Error" {
				return call
			}
		}
	}
	return nil
}

var searches = []string{
	"Contains", "ContainsAny", "HasPrefix", "HasSuffix", "EqualFold", "Index", "Cut", "CutPrefix", "CutSuffix", "Split", "Fields", "MatchString", "FindString", "FindStringSubmatch",
}

// The judge uses the words of refund and none of its rules: a mistake in a rule that engines and judge shared could not be
// seen by anyone.
func TestTheJudgeUsesNoRuleOfTheEngines(t *testing.T) {
	rules := []string{
		"Next", "Judge", "Repeat", "StatusOf", "Retained", "CheckReceipt", "CheckOrder", "CheckSettlement", "NewSettlement", "NewView",
		"DecodeProposal", "NewDecision", "NewRequest", "NewTerms",
	}
	eachFile(t, "comparison", func(fset *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok || !slices.Contains(rules, selector.Sel.Name) {
				return true
			}
			if of, ok := selector.X.(*ast.Ident); ok && of.Name == "refund" {
				t.Errorf("%s: refund.%s is a rule of the engines: state what is expected from the evidence alone", fset.Position(selector.Pos()), selector.Sel.Name)
			}
			return true
		})
	})
}
