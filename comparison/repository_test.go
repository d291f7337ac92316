package comparison

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/faults"
	"refundlab/faults/scenarios"
)

// REPORT.md is what the evidence that lies beside it says: judged again, by this judge, against this catalogue, it gives
// the same bytes, and it passes. A report whose evidence is missing proves nothing.
func TestTheCommittedReportFollowsFromTheCommittedEvidence(t *testing.T) {
	require.NoError(t, checkReport(t.TempDir(), "..", scenarios.Matrix()))
}

func TestTheCommittedReportOfTheExtendedMatrixFollowsFromItsEvidence(t *testing.T) {
	require.NoError(t, checkPair(t.TempDir(), filepath.Join("..", "report", "EXTENDED.md"), filepath.Join("..", "report", "extended.tar.gz"), scenarios.Extended(), ""))
}

func checkReport(scratch, root string, matrix faults.Matrix) error {
	sections, err := Instruments(filepath.Join(root, "report"))
	if err != nil {
		return err
	}
	return checkPair(scratch, filepath.Join(root, "REPORT.md"), filepath.Join(root, "report", "evidence.tar.gz"), matrix, sections)
}

func checkPair(scratch, reportFile, packFile string, matrix faults.Matrix, sections string) error {
	report, noReport := os.ReadFile(reportFile)
	pack, noPack := os.Open(packFile)
	switch {
	case errors.Is(noReport, fs.ErrNotExist) && errors.Is(noPack, fs.ErrNotExist):
		return nil // nothing is claimed
	case noReport != nil || noPack != nil:
		return fmt.Errorf("a report and its evidence belong together: %w", errors.Join(noReport, noPack))
	}
	defer pack.Close()
	if err := Unpack(pack, scratch); err != nil {
		return err
	}
	result, err := Judge(scratch, matrix)
	if err != nil {
		return err
	}
	if !result.Passed() {
		return errors.New("the committed evidence does not pass")
	}
	if result.Report(sections) != string(report) {
		return fmt.Errorf("%s is not what its evidence gives: print it again with \"lab report\" and look at the difference", reportFile)
	}
	return nil
}

func TestAReportWithoutItsEvidenceIsRefused(t *testing.T) {
	dir, matrix := played(t)
	result, err := Judge(dir, matrix)
	require.NoError(t, err)
	sections, err := Instruments(t.TempDir()) // it says which are missing
	require.NoError(t, err)
	report := []byte(result.Report(sections))
	commit := func(t *testing.T, withReport, withPack bool) string {
		root := t.TempDir()
		if withReport {
			require.NoError(t, os.WriteFile(filepath.Join(root, "REPORT.md"), report, 0o644))
		}
		if withPack {
			require.NoError(t, os.Mkdir(filepath.Join(root, "report"), 0o755))
			file, err := os.Create(filepath.Join(root, "report", "evidence.tar.gz"))
			require.NoError(t, err)
			_, err = Pack(dir, file)
			require.NoError(t, err)
			require.NoError(t, file.Close())
		}
		return root
	}
	require.NoError(t, checkReport(t.TempDir(), commit(t, true, true), matrix))
	require.ErrorContains(t, checkReport(t.TempDir(), commit(t, true, false), matrix), "belong together")
	require.ErrorContains(t, checkReport(t.TempDir(), commit(t, false, true), matrix), "belong together")

	altered := commit(t, true, true)
	require.NoError(t, os.WriteFile(filepath.Join(altered, "REPORT.md"), append(report, '\n'), 0o644))
	require.ErrorContains(t, checkReport(t.TempDir(), altered, matrix), "not what its evidence gives")
	require.ErrorContains(t, checkReport(t.TempDir(), commit(t, true, true), faults.Matrix{}), "does not pass")
}
