package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"refundlab/comparison"
	"refundlab/evidence"
	"refundlab/refund"
)

func reportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "report DIR|FILE",
		Short: "Judge stored evidence again and print the report",
		Long: `Judge the evidence in a directory, or packed in a file, and print the report on standard output; the evidence's hash goes to
standard error. The same evidence gives the same report byte for byte. The committed directory report/ holds the results of the
instruments too, and gives the whole of REPORT.md.

Exit status 1 where the evidence does not pass.`,
		Example: `  go run ./cmd/lab report report | diff - REPORT.md
  go run ./cmd/lab report runs/20261129-171500.000/evidence`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			result, report, err := reportOf(args[0])
			if err != nil {
				return err
			}
			fmt.Fprintf(c.ErrOrStderr(), "evidence SHA-256 %s\n", result.Hash)
			if _, err := c.OutOrStdout().Write(report); err != nil {
				return err
			}
			if !result.Passed() {
				return refund.Errorf(refund.CodeNotPassed, "the evidence does not pass")
			}
			return nil
		},
	}
}

// reportOf judges what lies at a path: the committed directory with the suite's evidence and the instruments' results, or the
// evidence of one run, packed or not.
func reportOf(path string) (comparison.Result, []byte, error) {
	if _, err := os.Stat(filepath.Join(path, evidencePack)); err == nil {
		whole, err := readPublished(path)
		return whole.suite, whole.report, err
	}
	dir, clean, err := unpacked(path)
	if err != nil {
		return comparison.Result{}, nil, err
	}
	defer clean()
	suite, err := evidence.LoadSuite(dir)
	var result comparison.Result
	if err == nil {
		result, err = comparison.Judge(dir, matrixFor(suite.Filter))
	}
	if err != nil {
		return result, nil, refund.Wrap(refund.CodeInvalidFlag, err, "%s holds no evidence of a run", path)
	}
	return result, []byte(result.Report("")), nil
}

// unpacked returns the directory with the evidence: path itself, or where the pack at path was unpacked.
func unpacked(path string) (dir string, clean func(), err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", nil, refund.Wrap(refund.CodeInvalidFlag, err, "no evidence")
	}
	if info.IsDir() {
		return path, func() {}, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return "", nil, refund.Wrap(refund.CodeInvalidFlag, err, "no evidence")
	}
	defer file.Close()
	if dir, err = os.MkdirTemp("", "evidence-"); err != nil {
		return "", nil, err
	}
	clean = func() { _ = os.RemoveAll(dir) }
	if err := comparison.Unpack(file, dir); err != nil {
		clean()
		return "", nil, refund.Wrap(refund.CodeInvalidFlag, err, "%s is not packed evidence", path)
	}
	return dir, clean, nil
}

// summarise prints how many cells of each scenario and engine have which verdict.
func summarise(out io.Writer, result comparison.Result) {
	columns := []comparison.Verdict{comparison.Pass, comparison.NotApplicable, comparison.Fail, comparison.Invalid, comparison.Inconclusive}
	type row struct{ scenario, engine string }
	counts := map[row]map[comparison.Verdict]int{}
	var rows []row
	for _, trial := range result.Trials {
		r := row{trial.Scenario, trial.Engine}
		if counts[r] == nil {
			counts[r] = map[comparison.Verdict]int{}
			rows = append(rows, r)
		}
		counts[r][trial.Verdict]++
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "\nSCENARIO\tENGINE")
	for _, column := range columns {
		fmt.Fprintf(table, "\t%s", column)
	}
	fmt.Fprintln(table)
	for _, r := range rows {
		fmt.Fprintf(table, "%s\t%s", r.scenario, r.engine)
		for _, column := range columns {
			if n := counts[r][column]; n > 0 {
				fmt.Fprintf(table, "\t%d", n)
			} else {
				fmt.Fprint(table, "\t.")
			}
		}
		fmt.Fprintln(table)
	}
	_ = table.Flush() // fails only as out does
	for _, trial := range result.Trials {
		if trial.Verdict == comparison.Pass || trial.Verdict == comparison.NotApplicable {
			continue
		}
		fmt.Fprintf(out, "%s %s\n", trial.Verdict, trial.Dir())
		for _, finding := range trial.Findings {
			fmt.Fprintf(out, "  %s: %s\n", finding.Check, finding.Text)
		}
	}
}
