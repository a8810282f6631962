package filelock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/agentclash/agentclash/engine/filelock"
)

// Many that change a file at once lose none of their changes: each holder has a
// file handle of its own, as processes have.
func TestHoldersTakeTurns(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			release, err := filelock.Hold(t.Context(), file)
			if err != nil {
				t.Error(err)
				return
			}
			defer release()
			was, err := os.ReadFile(file)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
			if err := os.WriteFile(file, append(was, 'x'), 0o600); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got, err := os.ReadFile(file)
	if err != nil || len(got) != 20 {
		t.Errorf("%q, %v", got, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 1 {
		t.Errorf("something was left behind: %v", left)
	}
}

// A lock file that a killed process has left is taken over, and what is no file
// is not followed.
func TestHoldOfWhatIsThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, lock := filepath.Join(dir, "f"), filepath.Join(dir, ".f.lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	release, err := filelock.Hold(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := filelock.Hold(ended, file); !errors.Is(err, filelock.ErrHeld) || !errors.Is(err, context.Canceled) {
		t.Errorf("held by another: %v", err)
	}
	release()
	if err := os.Symlink(filepath.Join(t.TempDir(), "elsewhere"), lock); err != nil {
		t.Skip(err)
	}
	if _, err := filelock.Hold(t.Context(), file); err == nil || errors.Is(err, filelock.ErrHeld) {
		t.Errorf("a link in its place: %v", err)
	}
}
