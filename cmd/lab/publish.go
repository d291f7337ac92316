package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"refundlab/comparison"
	"refundlab/faults/scenarios"
	"refundlab/refund"
)

// Where a whole run leaves its report and what stands behind it; all of it is committed.
const (
	reportFile   = "REPORT.md"
	reportDir    = "report"
	evidencePack = "evidence.tar.gz" // in reportDir, beside the results of the instruments
	// The extended matrix has a report of its own beside its evidence.
	extendedReport = "EXTENDED.md"
	extendedPack   = "extended.tar.gz"
)

// pack packs the evidence below a directory into a file of the committed directory.
func pack(evidence, name string) error {
	if err := os.MkdirAll(reportDir, 0o755); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(reportDir, name))
	if err != nil {
		return err
	}
	_, err = comparison.Pack(evidence, file)
	return errors.Join(err, file.Close())
}

// publishInstrument keeps the result of an instrument beside the suite's evidence and writes the report anew.
func publishInstrument(name string, result any) error {
	text, err := json.MarshalIndent(result, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(reportDir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(reportDir, name+".json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	return writeReport()
}

// writeReport writes the report anew from what lies in the committed directory.
func writeReport() error {
	published, err := readPublished(reportDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the suite was not run here: there is no report to stand in
	}
	if err != nil {
		return err
	}
	return os.WriteFile(reportFile, published.report, 0o644)
}

// published is a committed run: the suite's verdicts, and the report over them and over the instruments.
type published struct {
	suite  comparison.Result
	report []byte
}

// readPublished judges the suite's evidence in a directory such as report/ again, and writes the report.
func readPublished(dir string) (published, error) {
	evidence, clean, err := unpacked(filepath.Join(dir, evidencePack))
	if err != nil {
		return published{}, err
	}
	defer clean()
	result, err := comparison.Judge(evidence, scenarios.Matrix())
	if err != nil {
		return published{}, refund.Wrap(refund.CodeInvalidFlag, err, "%s holds no evidence of a run", dir)
	}
	instruments, err := comparison.Instruments(dir)
	if err != nil {
		return published{}, refund.Wrap(refund.CodeInvalidFlag, err, "an instrument's result cannot be read")
	}
	return published{result, []byte(result.Report(instruments))}, nil
}
