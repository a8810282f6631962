package docker_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/agentclash/agentclash/sandbox"
)

// disk mounts one of a size.
func disk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func TestDiskIsLookedAtFirst(t *testing.T) {
	t.Parallel()
	here, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		host, size    string
		refused, said string
	}{
		"room":              {here, "2g", "", ""},
		"nearly full":       {here, "512m", "", "note: the engine's disk is nearly full: 512 of 512 MiB are free at "},
		"full":              {here, "64m", "the engine's disk is full: 64 of 64 MiB are free at ", ""},
		"another machine's": {"elsewhere", "64m", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := onDisk(t, c.host, disk(t, c.size))
			var said notes
			o.Progress = said.add
			p := open(t, o)
			for range 2 {
				_, err := p.Describe(t.Context(), sandbox.Spec{})
				if c.refused == "" && err != nil {
					t.Error(err)
				}
				if c.refused != "" {
					wantBoxError(t, err, sandbox.BoxError{Kind: sandbox.Engine})
					if err == nil || !strings.Contains(err.Error(), c.refused) {
						t.Errorf("got %v, want %q", err, c.refused)
					}
				}
			}
			lines := said.all()
			if c.said == "" && len(lines) > 0 || c.said != "" && (len(lines) != 1 || !strings.HasPrefix(lines[0], c.said)) {
				t.Errorf("said %q, want %q once", lines, c.said)
			}
		})
	}
}
