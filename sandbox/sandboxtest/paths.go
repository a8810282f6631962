package sandboxtest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/sandbox"
)

func pathChecks() []check {
	return []check{
		{"F1", "paths that mean the same file", 0, samePaths},
		{"F2", "paths outside the workspace are ErrOutside", 0, outsidePaths},
		{"F3", "no link leads out of the box", symlink, linksLeadOut},
		{"F3", "an absolute link within the workspace is followed by calls as by programs", tools, absoluteLink},
	}
}

func samePaths(t *testing.T, k *contract) {
	box := k.box(t)
	for i, path := range []string{
		"dir/main.go", "/workspace/dir/main.go", "./dir//main.go", "dir/../dir/main.go", "/workspace/./dir/main.go", "../workspace/dir/main.go",
	} {
		content := strconv.Itoa(i)
		write(t, box, path, content)
		wantRead(t, box, "dir/main.go", content)
		wantRead(t, box, path, content)
	}
}

func outsidePaths(t *testing.T, k *contract) {
	box := k.box(t)
	for _, path := range []string{
		"/workspace/../../etc/passwd", "../../etc/passwd", "/workspace/../other/x", "/etc/passwd",
		"/workspace/..", "/workspace/foo/../../bar", "/workspacefoo/x", "/", "..", "/proc/version",
		"nul\x00byte", strings.Repeat("long", 20_000), strings.Repeat("n", sandbox.MaxNameBytes+1),
	} {
		_, err := box.ReadFile(during(t), path, 10)
		wantError(t, fmt.Sprintf("read %.60q", path), err, sandbox.ErrOutside)
		err = box.WriteFile(during(t), path, []byte("x"))
		wantError(t, fmt.Sprintf("write %.60q", path), err, sandbox.ErrOutside)
		_, err = box.List(during(t), path, true, 10)
		wantError(t, fmt.Sprintf("list %.60q", path), err, sandbox.ErrOutside)
		if err != nil && len(path) < 100 && !strings.Contains(err.Error(), strconv.Quote(path)) {
			t.Errorf("list %q: got %q, want an error that names the path as given", path, err)
		}
	}
}

// linksLeadOut follows links that point out of the workspace. A box that runs
// programs has a root of its own, and what else is in it is no secret from
// them: there a call may follow, as long as the box survives it. Any other box
// is its workspace, and what lies beyond is the machine.
func linksLeadOut(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "dir/kept.txt", "kept")
	try := func(what string, err error) {
		t.Helper()
		if err != nil || !k.Process {
			wantFileError(t, what, err)
		}
	}
	for link, target := range map[string]string{"out": "/proc", "up": "../../../../../../../../proc", "dir/root": "/"} {
		k.Symlink(t, box, target, link)
		below := link + "/version"
		if target == "/" {
			below = link + "/proc/version"
		}
		f, err := box.ReadFile(during(t), below, 100)
		try(fmt.Sprintf("read %q (got %q)", below, f.Data), err)
		l, err := box.List(during(t), link, false, 100)
		try(fmt.Sprintf("list %q (got %d entries)", link, len(l.Entries)), err)
	}
	k.Symlink(t, box, "/proc/version", "file")
	f, err := box.ReadFile(during(t), "file", 100)
	try(fmt.Sprintf("read a link to %q (got %q)", "/proc/version", f.Data), err)
	k.Symlink(t, box, "/tmp", "tmp")
	k.Symlink(t, box, "none", "nothing")
	wantFileError(t, "write below a link to nothing", box.WriteFile(during(t), "nothing/probe", []byte("x")))
	try("write below a link to /tmp", box.WriteFile(during(t), "tmp/agentclash-sandboxtest/probe", []byte("x")))
	wantListing(t, box, "dir", true, file("dir/kept.txt", 4), sandbox.Entry{Path: "/workspace/dir/root", Symlink: true})
}
