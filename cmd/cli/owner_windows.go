package cli

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/windows"
)

// startTime is when a process started. There is no signal here that would tell
// whether it still runs; one that has ended can be looked at while others hold it.
func startTime(pid int) (string, error) {
	p, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return "", err
	}
	defer func() { _ = windows.CloseHandle(p) }()
	if over, err := windows.WaitForSingleObject(p, 0); err != nil || over != uint32(windows.WAIT_TIMEOUT) {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	var started, ended, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(p, &started, &ended, &kernel, &user); err != nil {
		return "", err
	}
	return strconv.FormatInt(started.Nanoseconds(), 10), nil
}
