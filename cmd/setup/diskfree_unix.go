//go:build linux || darwin

package setup

import "golang.org/x/sys/unix"

// diskFree is how many bytes are free for anyone on the disk of a directory; ok is
// false where that cannot be known.
func diskFree(dir string) (bytes int64, ok bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
