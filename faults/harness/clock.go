package harness

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"refundlab/faults"
)

// setsClocks tells whether a plan sets wall clocks; the processes of any other trial have the host's and nothing beside it.
func setsClocks(plan faults.Plan) bool {
	return slices.ContainsFunc(plan.Steps(), func(s faults.Step) bool { return s.Do == faults.DoClock && s.Kind != "" })
}

// clockOf is the file with the offset of a process's own wall clock, or of the host's for "".
func (p *processes) clockOf(name string) string {
	if name == "" {
		return filepath.Join(p.dir, "clock")
	}
	return filepath.Join(p.dir, "clock-of-"+name)
}

func (p *processes) setClock(s faults.Step) error {
	if (s.Kind == faults.ClockHost) != (s.Process == "") || s.Kind != faults.ClockHost && s.Kind != faults.ClockProcess {
		return fmt.Errorf("the clock is %q of process %q: it is %s, or %s and a process's name", s.Kind, s.Process, faults.ClockHost, faults.ClockProcess)
	}
	return faults.SetClock(p.clockOf(s.Process), time.Duration(s.OffsetMS)*time.Millisecond)
}
