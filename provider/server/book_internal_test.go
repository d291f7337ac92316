package server

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

func TestARecordThatCannotBeWrittenIsNoEvidence(t *testing.T) {
	profile, err := refund.ProfileNamed(refund.ProfileFull)
	require.NoError(t, err)
	dir := t.TempDir()
	options := Options{Database: filepath.Join(dir, "p.db"), Record: filepath.Join(dir, "p.record"), Control: true}
	options.Promise.Profile = profile
	s, err := New(t.Context(), options)
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Evidence(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.book.file.Close()) // stands for a disk that takes nothing more
	s.simulator.charge("", 1, s.clock())
	_, err = s.Evidence(t.Context())
	require.Equal(t, refund.CodeStoreUnreadable, refund.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "is not complete")
}
