package faults

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// EnvClock names the files, as a list of paths, whose offsets are added to the host's time.
const EnvClock = "REFUNDLAB_CLOCK"

// ClockFromEnvironment is the wall clock of this process: the host's, and under test the host's with every offset of the files
// in EnvClock added, each a number of milliseconds; a file that is missing adds nothing. They are read at every call, so that a
// step takes effect at once in every process that shares a file. It is the wall clock alone that steps: timers, time-outs and
// the monotonic clock go on as they do when a host's clock is set. Temporal's server, and so its timers and its times in
// histories and workflows, keep the host's real clock.
func ClockFromEnvironment() func() time.Time {
	files := filepath.SplitList(os.Getenv(EnvClock))
	if len(files) == 0 {
		return time.Now
	}
	return func() time.Time {
		now := time.Now()
		for _, file := range files {
			offset, err := readOffset(file)
			if err != nil {
				panic(err) //nolint:forbidigo // no caller of a clock can be told, and the host's time would be another clock than the one that was asked for
			}
			now = now.Add(offset)
		}
		return now.Round(0) // without the monotonic reading, which must not step
	}
}

func readOffset(file string) (time.Duration, error) {
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", EnvClock, err)
	}
	ms, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %s is not a number of milliseconds: %w", EnvClock, file, err)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// SetClock writes the offset into a clock's file, in the place of what was there: no reader sees half of it.
func SetClock(file string, offset time.Duration) error {
	next := file + ".next"
	if err := os.WriteFile(next, strconv.AppendInt(nil, offset.Milliseconds(), 10), 0o644); err != nil {
		return err
	}
	return os.Rename(next, file)
}
