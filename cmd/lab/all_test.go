package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// A slice lets the power failures end with 0 where they could not be played. Its table must not read like a pass.
func TestAStageThatWasNotRunDoesNotLookLikeAPass(t *testing.T) {
	can := func() error { return nil }
	cannot := func() error { return errors.New("this machine has no FUSE") }
	var power []string
	for _, list := range [][][]string{sliceStages(1), stages(1)} {
		for _, args := range list {
			if args[0] == "power" {
				power = args
				require.Equal(t, "not run (0): this machine has no FUSE", stageStatus(args, 0, cannot))
				continue
			}
			require.Equal(t, "0", stageStatus(args, 0, cannot), "it needs no FUSE")
		}
		require.NotNil(t, power)
	}
	require.Equal(t, "0", stageStatus(power, 0, can))
	require.Equal(t, "1", stageStatus(power, 1, can))
}
