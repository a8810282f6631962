package sandbox_test

import (
	"errors"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/sandbox"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"main.go":             "/workspace/main.go",
		"/workspace":          "/workspace",
		"/workspace/":         "/workspace",
		"":                    "/workspace",
		".":                   "/workspace",
		"/workspace/main.go":  "/workspace/main.go",
		"//workspace//a///b":  "/workspace/a/b",
		"a/./b/../c":          "/workspace/a/c",
		"a/..":                "/workspace",
		"../workspace/x":      "/workspace/x",
		"/etc/../workspace/x": "/workspace/x",
		"workspace/x":         "/workspace/workspace/x",
		"..a/...":             "/workspace/..a/...",
		"~/x":                 "/workspace/~/x",
		" x ":                 "/workspace/ x ",
		"-rf":                 "/workspace/-rf",
		`..\..\etc\passwd`:    `/workspace/..\..\etc\passwd`,
		"line\nbreak":         "/workspace/line\nbreak",
		"no\xffutf8":          "/workspace/no\xffutf8",
		"ünï/コード":             "/workspace/ünï/コード",
	} {
		got, err := sandbox.Resolve(given)
		if err != nil || got != want {
			t.Errorf("Resolve(%q): got %q, %v, want %q", given, got, err, want)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	for _, given := range []string{
		"/workspace/../../etc/passwd",
		"../../etc/passwd",
		"/workspace/../other/x",
		"/etc/passwd",
		"/workspace/..",
		"/workspace/foo/../../bar",
		"/workspacefoo/x",
		"/workspacefoo",
		"..",
		"/",
		"/.",
		"/Workspace/x",
		"a/../../workspacefoo",
		"a\x00b",
		"\x00",
		"/workspace/a\x00/../b",
	} {
		got, err := sandbox.Resolve(given)
		if got != "" || !errors.Is(err, sandbox.ErrOutside) {
			t.Errorf("Resolve(%q): got %q, %v, want ErrOutside", given, got, err)
			continue
		}
		if !strings.Contains(err.Error(), strconv.Quote(given)) {
			t.Errorf("Resolve(%q): got %q, want an error that names the path as given", given, err)
		}
	}
}

func TestResolveBoundsLengths(t *testing.T) {
	t.Parallel()
	longest := sandbox.Workspace // to be as long as a path may be, of names that are short
	for len(longest) < sandbox.MaxPathBytes {
		longest += "/" + strings.Repeat("n", min(100, sandbox.MaxPathBytes-len(longest)-1))
	}
	for _, given := range []string{
		longest,
		strings.TrimPrefix(longest, sandbox.Workspace+"/"),
		strings.Repeat("n", sandbox.MaxNameBytes),
		"a/" + strings.Repeat("n", sandbox.MaxNameBytes) + "/b",
	} {
		if _, err := sandbox.Resolve(given); err != nil {
			t.Errorf("Resolve of %d bytes: got %v, want no error", len(given), err)
		}
	}
	for _, given := range []string{
		longest + "n",
		strings.TrimPrefix(longest, sandbox.Workspace+"/") + "n",
		strings.Repeat("./", 1<<20),
		strings.Repeat("n", sandbox.MaxNameBytes+1),
		"a/" + strings.Repeat("n", sandbox.MaxNameBytes+1) + "/b",
	} {
		_, err := sandbox.Resolve(given)
		if !errors.Is(err, sandbox.ErrOutside) {
			t.Errorf("Resolve of %d bytes: got %v, want ErrOutside", len(given), err)
			continue
		}
		if len(err.Error()) > 500 {
			t.Errorf("Resolve of %d bytes: got an error of %d bytes, want a short one", len(given), len(err.Error()))
		}
	}
}

// FuzzResolve holds Resolve against a walk of the path's names, one by one,
// that shares nothing with it.
func FuzzResolve(f *testing.F) {
	for _, seed := range []string{
		"", "main.go", "/workspace", "/workspace/../../etc/passwd", "/workspace/foo/../../bar", "/workspacefoo/x",
		"../workspace/x", "a/./b//../c/", "a\x00b", "//", "/..", "....//....//etc", "\xff/\xfe",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		got, err := sandbox.Resolve(given)
		if err != nil {
			if got != "" || !errors.Is(err, sandbox.ErrOutside) {
				t.Fatalf("Resolve(%q): got %q, %v, want ErrOutside alone", given, got, err)
			}
			return
		}
		if want := walked(given); got != want {
			t.Fatalf("Resolve(%q): got %q, want %q", given, got, want)
		}
		if got != sandbox.Workspace && !strings.HasPrefix(got, sandbox.Workspace+"/") {
			t.Fatalf("Resolve(%q): got %q, which is outside", given, got)
		}
		if strings.ContainsRune(got, 0) || len(got) > sandbox.MaxPathBytes || path.Clean(got) != got {
			t.Fatalf("Resolve(%q): got %q, which is no clean path", given, got)
		}
		if again, err := sandbox.Resolve(got); err != nil || again != got {
			t.Fatalf("Resolve(%q) a second time: got %q, %v, want it unchanged", got, again, err)
		}
	})
}

func walked(given string) string {
	var at []string
	if !strings.HasPrefix(given, "/") {
		at = append(at, "workspace")
	}
	for _, name := range strings.Split(given, "/") {
		switch name {
		case "", ".":
		case "..":
			at = at[:max(0, len(at)-1)]
		default:
			at = append(at, name)
		}
	}
	return "/" + strings.Join(at, "/")
}
