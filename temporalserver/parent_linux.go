package temporalserver

import "syscall"

// endWithParent has the kernel kill the process when its parent dies, however it dies.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
