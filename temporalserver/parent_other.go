//go:build !linux

package temporalserver

import "syscall"

// endWithParent does nothing: only Linux ends a process with its parent. Elsewhere a killed caller leaves its
// server running.
func endWithParent(*syscall.SysProcAttr) {}
