package sandbox_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/sandbox"
)

func TestRoots(t *testing.T) {
	t.Parallel()
	narrow := sandbox.Roots{Read: []string{"/workspace/src"}, Write: []string{"/workspace/out", "/workspace/src/gen"}}
	for path, want := range map[string]string{
		"/workspace":           "",
		"/workspace/out":       "rw",
		"/workspace/out/a/b":   "rw",
		"/workspace/outer":     "",
		"/workspace/src":       "r",
		"/workspace/src/a":     "r",
		"/workspace/src/gen":   "rw",
		"/workspace/src/gen/a": "rw",
		"/workspace/src/genes": "r",
		"/workspace/src.bak":   "",
		"/workspace/other/out": "",
		"/workspace/Out":       "",
	} {
		got := ""
		if err := narrow.Readable(path); err == nil {
			got += "r"
		} else if !errors.Is(err, sandbox.ErrRoots) || !strings.Contains(err.Error(), "/workspace/src, /workspace/out") {
			t.Errorf("read %q: got %v, want ErrRoots with the roots", path, err)
		}
		if err := narrow.Writable(path); err == nil {
			got += "w"
		} else if !errors.Is(err, sandbox.ErrRoots) || !strings.Contains(err.Error(), "/workspace/out, /workspace/src/gen") {
			t.Errorf("write %q: got %v, want ErrRoots with the roots", path, err)
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
	}
	for _, wide := range []sandbox.Roots{{}, {Read: []string{"/workspace/src"}}, {Write: []string{"/workspace"}}, {Dir: "/workspace/app"}} {
		if wide.Narrow() || wide.Readable("/workspace/x") != nil || wide.Writable("/workspace/x") != nil {
			t.Errorf("%+v: got narrow, want all of the workspace", wide)
		}
	}
}
