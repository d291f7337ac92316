package binaries_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/binaries"
	"refundlab/refund"
)

func TestReplacedSourcesAreBuiltWithoutTouchingTheTree(t *testing.T) {
	module, cache := project(t)
	ordinary, _ := build(t, "alpha")
	for name, c := range map[string]struct{ file, text, prints string }{
		"code":               {"word/word.go", "package word\n\nvar Word = \"code\"\n", "code"},
		"a file it embeds":   {"word/word.txt", "embedded", "embedded"},
		"the same once more": {"word/word.txt", "one", "one"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			before, err := os.ReadFile(filepath.Join(module, c.file))
			require.NoError(t, err)
			paths, err := binaries.BuildOverlaid(t.Context(), dir, map[string]string{c.file: c.text}, "alpha", "beta")
			require.NoError(t, err)
			require.Equal(t, c.prints, output(t, paths["alpha"]))
			require.Equal(t, "beta", output(t, paths["beta"]))
			require.Equal(t, dir, filepath.Dir(paths["alpha"]), "it goes with the directory")
			after, err := os.ReadFile(filepath.Join(module, c.file))
			require.NoError(t, err)
			require.Equal(t, before, after)
		})
	}
	require.Equal(t, "one", output(t, ordinary))
	require.Len(t, shelf(t, cache, "alpha"), 2, "the ordinary version and its lock: none with replaced sources is kept")
}

func TestWhatCannotBeBuiltWithReplacedSourcesIsTold(t *testing.T) {
	project(t)
	_, err := binaries.BuildOverlaid(t.Context(), t.TempDir(), map[string]string{"word/word.go": "package word\n\nvar Word = none\n"}, "alpha")
	require.Equal(t, refund.CodeUnavailable, refund.CodeOf(err))
	require.ErrorContains(t, err, "undefined: none")
	for _, name := range []string{"", "gamma", "../beta", binaries.DevServer} {
		_, err := binaries.BuildOverlaid(t.Context(), t.TempDir(), nil, name)
		require.Equal(t, refund.CodeInvalidFlag, refund.CodeOf(err), name)
	}
	t.Chdir(t.TempDir())
	_, err = binaries.ModuleDirectory(t.Context())
	require.Equal(t, refund.CodeUnavailable, refund.CodeOf(err))
}
