package scratch_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/scratch"
)

// mount puts a disk of 1 MiB over a directory.
func mount(t *testing.T, dir string) error {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		return err
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }) // it may be unmounted already
	return nil
}

// stick makes a directory that cannot be removed until it is freed: by a mount
// where this process may mount, else by its permissions.
func stick(t *testing.T, dir string) (free func()) {
	t.Helper()
	undo := func() error { return syscall.Unmount(dir, 0) }
	if mount(t, dir) != nil {
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		undo = func() error { return os.Chmod(dir, 0o700) }
	}
	return func() {
		if err := undo(); err != nil {
			t.Fatalf("free %q: %v", dir, err)
		}
	}
}

// A full disk of this machine is nobody's mistake in the box: it must not look
// like the workspace's limit.
func TestFullDiskIsTheMachinesFailure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := mount(t, dir); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	box := open(t, provider(t, scratch.Options{Dir: dir}), sandbox.Spec{})
	if err := box.WriteFile(t.Context(), "x", []byte("fits")); err != nil {
		t.Fatalf("write: %v", err)
	}
	err := box.WriteFile(t.Context(), "x", make([]byte, 2<<20))
	var engine *sandbox.BoxError
	if !errors.As(err, &engine) || engine.Kind != sandbox.Engine || !errors.Is(err, syscall.ENOSPC) || errors.Is(err, sandbox.ErrNoSpace) {
		t.Errorf("write to a full disk: got %v, want a BoxError of the engine that is not ErrNoSpace", err)
	}
	if err := box.Quiesce(t.Context()); !errors.As(err, &engine) {
		t.Errorf("quiesce afterwards: got %v, want the same", err)
	}
	if got := entries(t, box.ID()); len(got) != 1 || got[0] != "x" {
		t.Errorf("workspace: got %v, want the old file alone", got)
	}
}
