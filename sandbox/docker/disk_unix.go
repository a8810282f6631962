//go:build linux || darwin

package docker

import "golang.org/x/sys/unix"

// space tells how many bytes are free for anyone on the disk of a directory, and
// how many it has.
func space(dir string) (free, all int64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), int64(s.Blocks) * int64(s.Bsize), nil
}
