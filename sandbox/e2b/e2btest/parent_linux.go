package e2btest

import (
	"os/exec"
	"syscall"
)

// endWithParent has a program killed when the test process dies.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
