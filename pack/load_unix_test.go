//go:build unix

package pack_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/agentclash/agentclash/pack"
)

func TestLoadFollowsLinksInsideTheDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "pack.yaml"), withAssets("link"))
	write(t, filepath.Join(dir, "data/a.txt"), "A")
	if err := os.Symlink("data/a.txt", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	p, problems, err := pack.Load(filepath.Join(dir, "pack.yaml"))
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	if got := string(p.Assets()["link"]); got != "A" {
		t.Errorf("got %q, want A", got)
	}
}

func TestLoadRefusesAssetsThatAreNotFilesOfThePack(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "secret.txt")
	write(t, outside, "secret")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "pack.yaml"), withAssets("link", "up", "dir", "pipe", "loop", "missing"))
	for name, target := range map[string]string{"link": outside, "up": "../" + filepath.Base(dir) + "/../x", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "dir/file"), "")
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, problems, err := pack.Load(filepath.Join(dir, "pack.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	checkProblems(t, problems, []string{
		"version.assets[0].path: a link leads out of it",
		"version.assets[1].path: a link leads out of it",
		"~version.assets[2].path: regular file",
		"~version.assets[3].path: regular file",
		"~version.assets[4].path: cannot be read",
		"~version.assets[5].path: does not exist",
	})
}

// Only a pipe that a shell has opened is read: to open any other waits for
// somebody to write.
func TestPipesAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "p.yaml")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pipe, "/dev/.." + pipe} {
		if _, _, err := pack.Load(name); !errors.Is(err, pack.ErrNotFile) {
			t.Errorf("%s: got %v, want ErrNotFile", name, err)
		}
	}
}
