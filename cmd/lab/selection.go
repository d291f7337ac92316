package main

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"refundlab/refund"
)

// checkEngines refuses a name of --engine that is none.
//
// Errors: INVALID_FLAG.
func checkEngines(engines ...string) error {
	for _, engine := range engines {
		if !slices.Contains(engineNames, engine) {
			return refund.Errorf(refund.CodeInvalidFlag, "--engine %q is unknown: it is %s", engine, strings.Join(engineNames, " or "))
		}
	}
	return nil
}

// checkProfiles refuses a name of --profile that is none.
//
// Errors: INVALID_PROFILE.
func checkProfiles(profiles []string) error {
	for _, profile := range profiles {
		if _, err := refund.ProfileNamed(refund.ProfileName(profile)); err != nil {
			return err
		}
	}
	return nil
}

// maxJobs is how many trials a command plays at a time at most, where it does not say otherwise.
const maxJobs = 64

// checkJobs refuses a number of trials at a time that no machine plays.
//
// Errors: INVALID_FLAG.
func checkJobs(jobs, most int) error {
	if jobs < 1 || jobs > most {
		return refund.Errorf(refund.CodeInvalidFlag, "--jobs is %d: it must be from 1 to %d", jobs, most)
	}
	return nil
}

// newRunDir is where a run leaves its evidence unless --out says otherwise.
func newRunDir(instrument string) string { return filepath.Join("runs", instrument+"-"+stamp()) }

// stamp tells the directories of runs apart, in the order of their beginning.
func stamp() string { return time.Now().UTC().Format("20060102-150405.000") }
