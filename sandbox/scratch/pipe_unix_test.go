//go:build unix

package scratch_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/agentclash/agentclash/sandbox"
)

func makePipe() func(*testing.T, sandbox.Session, string) {
	return func(t *testing.T, box sandbox.Session, path string) {
		t.Helper()
		if err := syscall.Mkfifo(filepath.Join(box.ID(), path), 0o600); err != nil {
			t.Fatalf("make a pipe: %v", err)
		}
	}
}
