package comparison

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/faults"
)

var update = flag.Bool("update", false, "write the golden report anew")

func TestTheReportOfASmallRun(t *testing.T) {
	dir, matrix := played(t)
	got := reported(t, dir, matrix)
	require.Equal(t, got, reported(t, dir, matrix), "judging twice")

	golden := filepath.Join("testdata", "report.golden.md")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// reported is the report on the evidence below dir, without instruments.
func reported(t *testing.T, dir string, matrix faults.Matrix) string {
	t.Helper()
	result, err := Judge(dir, matrix)
	require.NoError(t, err)
	return result.Report("")
}

func archive(t *testing.T, name string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	files := tar.NewWriter(zip)
	require.NoError(t, files.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 1, Mode: 0o644}))
	_, err := files.Write([]byte("x"))
	require.NoError(t, err)
	require.NoError(t, files.Close())
	require.NoError(t, zip.Close())
	return &b
}
