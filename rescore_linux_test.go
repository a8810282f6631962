package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// seal makes a directory that nobody can write to: by a mount where this process
// may mount, else by its permissions.
func seal(t *testing.T, dir string) {
	t.Helper()
	if syscall.Mount(dir, dir, "", syscall.MS_BIND, "") == nil {
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
		if err := syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err == nil {
			return
		}
	}
	if os.Geteuid() == 0 {
		t.Skip("nothing can be sealed from this user here")
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
}

// On a home that cannot be written a rescoring is refused before anything is
// scored; a dry run works.
func TestRescoreOnAReadOnlyHome(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	if out, err := p.command(t.Context(), "eval", "start", "--pack", "builtin:quickstart", "--model", "scripted/builtin:quickstart-good", "--quiet").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	seal(t, filepath.Join(p.dir, "home"))
	var d struct {
		Rescored, Flipped int
		RescoringID       *string `json:"rescoring_id"`
	}
	p.query(t, &d, "eval", "rescore", "latest", "--dry-run")
	if d.Rescored != 4 || d.Flipped != 0 || d.RescoringID != nil {
		t.Errorf("a dry run: got %+v", d)
	}
	var stderr bytes.Buffer
	c := p.command(t.Context(), "eval", "rescore", "latest", "--json")
	c.Stderr = &stderr
	out, err := c.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 77 || len(out) > 0 {
		t.Errorf("got %v and %q, want status 77 and silence", err, out)
	}
	var said struct {
		Error struct {
			Code string
			Next string `json:"next_step"`
		}
	}
	if err := json.Unmarshal(stderr.Bytes(), &said); err != nil || said.Error.Code != "permission_denied" || !strings.Contains(said.Error.Next, "AGENTCLASH_HOME") {
		t.Errorf("got %s (%v)", stderr.Bytes(), err)
	}
}
