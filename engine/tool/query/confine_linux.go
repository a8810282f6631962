package query

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// confine sets the bounds of this process, which it cannot raise again: memory,
// processor time, and no writing to any file.
func confine() error {
	for what, limit := range map[int]uint64{
		unix.RLIMIT_DATA:  maxMemory + 256<<20, // the runtime's own part included
		unix.RLIMIT_CPU:   4 * uint64(maxTime.Seconds()),
		unix.RLIMIT_FSIZE: 0,
		unix.RLIMIT_CORE:  0,
	} {
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("set resource limit %d: %w", what, err)
		}
	}
	return nil
}
