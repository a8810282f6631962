package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// farByte is past what a lock file holds: others may read who has it.
const farByte = 1 << 30

// Try locks a file for this process, alone or with other readers. It does not
// wait: ErrHeld says that another process has it. The system lets go of it when
// the process ends, however it ends.
func Try(f *os.File, alone bool) error {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if alone {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{Offset: farByte})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrHeld
	}
	return err
}
