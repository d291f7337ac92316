package faults_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/faults"
)

// around shows that a clock reads the host's time and offset, between two readings of the host's.
func around(t *testing.T, clock func() time.Time, offset time.Duration) {
	t.Helper()
	before := time.Now().Add(offset)
	now := clock()
	after := time.Now().Add(offset)
	require.False(t, now.Before(before.Round(0)), "%s before %s", now, before)
	require.False(t, now.After(after.Round(0)), "%s after %s", now, after)
}

func TestWithoutAHarnessTheClockIsTheHosts(t *testing.T) {
	t.Setenv(faults.EnvClock, "")
	around(t, faults.ClockFromEnvironment(), 0)
}

func TestAClockStepsForTheHostAndForOneProcessAlone(t *testing.T) {
	host, own := filepath.Join(t.TempDir(), "host"), filepath.Join(t.TempDir(), "own")
	t.Setenv(faults.EnvClock, host+string(os.PathListSeparator)+own)
	clock := faults.ClockFromEnvironment()
	around(t, clock, 0)
	require.NoError(t, faults.SetClock(host, -time.Hour))
	around(t, clock, -time.Hour)
	require.NoError(t, faults.SetClock(own, 10*time.Minute))
	around(t, clock, -50*time.Minute)
	require.NoError(t, faults.SetClock(host, 0))
	around(t, clock, 10*time.Minute)
}

func TestASteppedClockIsNoMonotonicClock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "host")
	t.Setenv(faults.EnvClock, file)
	clock := faults.ClockFromEnvironment()
	began := clock()
	require.NoError(t, faults.SetClock(file, -time.Hour))
	require.Less(t, clock().Sub(began), -59*time.Minute, "who measures with the wall clock sees the step")
}

func TestAClockThatCannotBeReadIsNoClock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "host")
	t.Setenv(faults.EnvClock, file)
	require.NoError(t, os.WriteFile(file, []byte("soon"), 0o600))
	require.Panics(t, func() { faults.ClockFromEnvironment()() })
	t.Setenv(faults.EnvClock, t.TempDir())
	require.Panics(t, func() { faults.ClockFromEnvironment()() })
}

func BenchmarkClock(b *testing.B) {
	host, own := filepath.Join(b.TempDir(), "host"), filepath.Join(b.TempDir(), "own")
	b.Setenv(faults.EnvClock, host+string(os.PathListSeparator)+own)
	require.NoError(b, faults.SetClock(host, time.Hour))
	clock := faults.ClockFromEnvironment()
	for b.Loop() {
		clock()
	}
}
