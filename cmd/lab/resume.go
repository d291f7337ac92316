package main

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"refundlab/binaries"
	"refundlab/refund"
)

// keptRun is what results must share to stand in one report: the code that played them, and the question.
type keptRun[Asked any] struct {
	Built []string `json:"built"`
	Asked Asked    `json:"asked"`
}

// playedBy names the code that plays: each executable that was built for it, by the key of its sources, and this program, which
// holds harness, catalogue, controls and judge. Of this one the bytes count and not the sources that lie here now, because
// nothing says that it was built from these. A server that the user brought along is not among them.
func playedBy(built binaries.Paths) ([]string, error) {
	var code []string
	for name, path := range built {
		code = append(code, name+" "+filepath.Base(filepath.Dir(path)))
	}
	slices.Sort(code)
	self, err := os.Executable()
	if err != nil {
		return nil, refund.Wrap(refund.CodeUnavailable, err, "this program's own file cannot be found, so nothing tells whether its results may be gone on with")
	}
	sum, err := fileHash(self)
	if err != nil {
		return nil, refund.Wrap(refund.CodeUnavailable, err, "this program's own file cannot be read, so nothing tells whether its results may be gone on with")
	}
	return append(code, "lab "+sum), nil
}

func fileHash(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// sameCode refuses to go on with results of other code: what they show need not be so any more.
//
// Errors: INVALID_FLAG.
func sameCode(path string, then, now []string) error {
	if slices.Equal(then, now) {
		return nil
	}
	var other []string
	for _, code := range now {
		if !slices.Contains(then, code) {
			name, _, _ := strings.Cut(code, " ")
			other = append(other, name)
		}
	}
	what := "without what was played with then"
	if len(other) > 0 {
		what = "with another " + strings.Join(other, ", another ")
	}
	return refund.Errorf(refund.CodeInvalidFlag,
		"--resume %s holds results of other code (this would go on %s): begin a new run", path, what)
}
