//go:build !linux

package scratch_test

import (
	"os"
	"runtime"
	"testing"
)

// stick makes a directory that cannot be removed until it is freed.
func stick(t *testing.T, dir string) (free func()) {
	t.Helper()
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("nothing keeps this user from removing a directory")
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}
