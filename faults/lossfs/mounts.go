package lossfs

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// kind is how the table of mounts names volumes of this package.
const kind = "lossfs"

// device is that of FUSE.
const device = "/dev/fuse"

// owner names the process that serves a volume, so that a later one can tell whether it is gone: its id, which is given again,
// and when it began, which is not.
func owner() string {
	pid := os.Getpid()
	began, _ := beginning(pid) // its own entry can be read, or there is no table of processes and no mount either
	return fmt.Sprintf("%s-%d-%s", kind, pid, began)
}

// beginning is when a process began, in ticks since the machine did; false when there is no such process.
func beginning(pid int) (ticks string, alive bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	// The fields are counted behind the name, which may hold anything and ends at the last parenthesis: this one is the 22nd.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const behindName = 22 - 3
	if len(fields) <= behindName {
		return "", false
	}
	return fields[behindName], true
}

// keepFromChildren lets no program that is started from now on inherit the device by which this process serves: a program that
// held it would keep its own volume alive, and wait for ever for an answer that nobody gives any more.
func keepFromChildren() error {
	const table = "/proc/self/fd"
	entries, err := os.ReadDir(table)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		target, err := os.Readlink(table + "/" + entry.Name())
		if fd, number := strconv.Atoi(entry.Name()); err == nil && number == nil && target == device {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}

// mounted lists the mount points of volumes of this package, by the process that serves each.
func mounted() (points map[string]string, err error) {
	table, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer table.Close()
	points = map[string]string{}
	for lines := bufio.NewScanner(table); lines.Scan(); {
		head, tail, _ := strings.Cut(lines.Text(), " - ")
		before, after := strings.Fields(head), strings.Fields(tail)
		if len(before) > 4 && len(after) > 1 && after[0] == "fuse."+kind {
			points[unescape(before[4])] = after[1]
		}
	}
	return points, nil
}

// unescape reads a path of the table of mounts, in which blanks and backslashes are octal numbers.
func unescape(text string) string {
	var path strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				path.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		path.WriteByte(text[i])
	}
	return path.String()
}

// Sweep detaches volumes whose process is gone: a process that was killed leaves its mounts behind, and whatever looks at one
// hears "transport endpoint is not connected". It returns their mount points.
func Sweep() ([]string, error) {
	points, err := mounted()
	if err != nil {
		return nil, err
	}
	var gone []string
	var failed []error
	for point, served := range points {
		var pid int
		var began string
		if _, err := fmt.Sscanf(strings.TrimPrefix(served, kind+"-"), "%d-%s", &pid, &began); err != nil {
			continue // not ours to judge
		}
		if now, alive := beginning(pid); alive && now == began {
			continue
		}
		if err := syscall.Unmount(point, syscall.MNT_DETACH); err != nil {
			failed = append(failed, fmt.Errorf("a dead volume on %s cannot be detached: %w", point, err))
			continue
		}
		gone = append(gone, point)
	}
	return gone, errors.Join(failed...)
}

// Probe says why this machine cannot have a lossy volume; nil when it can. It finds out by mounting one.
func Probe() error {
	if _, err := os.Stat(device); err != nil {
		return fmt.Errorf("this machine has no FUSE: %w", err)
	}
	dir, err := os.MkdirTemp("", kind+"-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(dir) }() // an empty directory that stays is no answer to the question
	v, err := Mount(dir, Hooks{})
	if err != nil {
		return fmt.Errorf("%w (mounting needs root and the right to mount)", err)
	}
	return v.Unmount()
}
