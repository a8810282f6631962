package cli

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// zombie is the kernel's SZOMB.
const zombie = 5

// startTime is when a process started. A zombie has ended.
func startTime(pid int) (string, error) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", err
	}
	if int(p.Proc.P_pid) != pid || p.Proc.P_stat == zombie {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	return fmt.Sprintf("%d.%06d", p.Proc.P_starttime.Sec, p.Proc.P_starttime.Usec), nil
}
