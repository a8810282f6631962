package sandboxtest

import (
	"fmt"
	"path"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/sandbox"
)

func listChecks() []check {
	return []check{
		{"D1", "List of one directory", 0, listOne},
		{"D1", "List walks", 0, listTree},
		{"D2", "List keeps at most the limit", 0, listLimits},
		{"F1", "List of an empty path is the workspace", 0, listWorkspace},
		{"F5 D4", "List of a missing directory is ErrNotFound", 0, listMissing},
		{"D3", "List reports links and does not follow them", symlink, listLinks},
		{"D4", "List passes by a named pipe", fifo, listPipe},
	}
}

// plantTree writes files whose paths sort otherwise than a walk meets them:
// "-", "." and "/" follow each other.
func plantTree(t *testing.T, box sandbox.Session) {
	t.Helper()
	for i, path := range []string{"a/b/z.txt", "a/b.txt", "a.txt", "a-b/c", "a/b-", "Z", "a/a/a", "ä"} {
		write(t, box, "tree/"+path, "0123456789"[:i])
	}
}

func wholeTree() []sandbox.Entry {
	return []sandbox.Entry{
		file("tree/Z", 5), dir("tree/a"), dir("tree/a-b"), file("tree/a-b/c", 3), file("tree/a.txt", 2),
		dir("tree/a/a"), file("tree/a/a/a", 6), dir("tree/a/b"), file("tree/a/b-", 4), file("tree/a/b.txt", 1), file("tree/a/b/z.txt", 0),
		file("tree/ä", 7),
	}
}

func listOne(t *testing.T, k *contract) {
	box := k.box(t)
	plantTree(t, box)
	wantListing(t, box, "tree", false, file("tree/Z", 5), dir("tree/a"), dir("tree/a-b"), file("tree/a.txt", 2), file("tree/ä", 7))
	wantListing(t, box, "/workspace/tree/a/", false, dir("tree/a/a"), dir("tree/a/b"), file("tree/a/b-", 4), file("tree/a/b.txt", 1))
}

func listTree(t *testing.T, k *contract) {
	box := k.box(t)
	plantTree(t, box)
	wantListing(t, box, "tree", true, wholeTree()...)
	wantListing(t, box, "tree/a/a", true, file("tree/a/a/a", 6))
}

// listLimits does not ask which entries a limit keeps, but that they are the
// same each time.
func listLimits(t *testing.T, k *contract) {
	box := k.box(t)
	plantTree(t, box)
	whole := wholeTree()
	for limit := range len(whole) + 2 {
		want := min(limit, len(whole))
		l, err := box.List(during(t), "tree", true, limit)
		if err != nil || len(l.Entries) != want || l.Truncated != (limit < len(whole)) {
			t.Errorf("list with limit %d of %d: got %d, truncated %v, %v", limit, len(whole), len(l.Entries), l.Truncated, err)
		}
		kept := slices.DeleteFunc(slices.Clone(whole), func(e sandbox.Entry) bool {
			return !slices.ContainsFunc(l.Entries, func(got sandbox.Entry) bool { return got.Path == e.Path })
		})
		diffEntries(t, fmt.Sprintf("list with limit %d: some of the entries, sorted", limit), l.Entries, kept)
		again, err := box.List(during(t), "tree", true, limit)
		if err != nil || !slices.Equal(again.Entries, l.Entries) {
			t.Errorf("list with limit %d again: got %v, %v, want the same: %v", limit, again.Entries, err, l.Entries)
		}
	}
}

func listWorkspace(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "dir/file.txt", "x")
	want, err := box.List(during(t), sandbox.Workspace, true, 1000)
	if err != nil {
		t.Fatalf("list %q: %v", sandbox.Workspace, err)
	}
	seen := map[string]bool{}
	for _, e := range want.Entries {
		seen[e.Path] = true
	}
	if !seen["/workspace/dir"] || !seen["/workspace/dir/file.txt"] || seen[sandbox.Workspace] {
		t.Errorf("list %q: got %v, want what is in it and not itself", sandbox.Workspace, want.Entries)
	}
	for _, path := range []string{"", ".", "/workspace/", "dir/.."} {
		got, err := box.List(during(t), path, true, 1000)
		if err != nil {
			t.Errorf("list %q: got %v, want no error", path, err)
		}
		diffEntries(t, fmt.Sprintf("list %q", path), got.Entries, want.Entries)
	}
}

func listMissing(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "file.txt", "x")
	for _, path := range []string{"none", "none/none", "file.txt/none"} {
		_, err := box.List(during(t), path, true, 10)
		wantError(t, fmt.Sprintf("list %q", path), err, sandbox.ErrNotFound)
	}
	_, err := box.List(during(t), "file.txt", true, 10)
	wantFileError(t, "list a file", err)
}

func listLinks(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "dir/real/file.txt", "x")
	k.Symlink(t, box, "real", "dir/dir-link")
	k.Symlink(t, box, "real/file.txt", "dir/file-link")
	k.Symlink(t, box, ".", "dir/loop")
	k.Symlink(t, box, "none", "dir/nothing")
	k.Symlink(t, box, "/proc", "dir/out")
	link := func(p string) sandbox.Entry {
		return sandbox.Entry{Path: path.Join(sandbox.Workspace, p), Symlink: true}
	}
	wantListing(t, box, "dir", true,
		link("dir/dir-link"), link("dir/file-link"), link("dir/loop"), link("dir/nothing"), link("dir/out"),
		dir("dir/real"), file("dir/real/file.txt", 1))
	wantListing(t, box, "dir/dir-link", true, file("dir/dir-link/file.txt", 1))
	_, err := box.List(during(t), "dir/nothing", true, 10)
	wantError(t, "list a link to nothing", err, sandbox.ErrNotFound)
	_, err = box.List(during(t), "dir/file-link", true, 10)
	wantFileError(t, "list a link to a file", err)
}

func listPipe(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "dir/before.txt", "x")
	write(t, box, "dir/z/after.txt", "x")
	k.FIFO(t, box, "dir/pipe")
	wantListing(t, box, "dir", true, file("dir/before.txt", 1), file("dir/pipe", 0), dir("dir/z"), file("dir/z/after.txt", 1))
	_, err := box.List(during(t), "dir/pipe", true, 10)
	wantFileError(t, "list a pipe", err)
}

// file and dir are entries as a listing must have them, at a path relative to
// the workspace. What size a provider gives a directory or a link is its own
// affair.
func file(p string, size int) sandbox.Entry {
	return sandbox.Entry{Path: path.Join(sandbox.Workspace, p), Size: int64(size)}
}

func dir(p string) sandbox.Entry {
	return sandbox.Entry{Path: path.Join(sandbox.Workspace, p), Dir: true}
}

func wantListing(t *testing.T, box sandbox.Session, of string, recursive bool, want ...sandbox.Entry) {
	t.Helper()
	l, err := box.List(during(t), of, recursive, 1000)
	if err != nil || l.Truncated {
		t.Errorf("list %q: got truncated %v, %v, want neither", of, l.Truncated, err)
	}
	diffEntries(t, fmt.Sprintf("list %q", of), l.Entries, want)
}

func diffEntries(t *testing.T, what string, got, want []sandbox.Entry) {
	t.Helper()
	sized := func(list []sandbox.Entry) []sandbox.Entry {
		out := make([]sandbox.Entry, len(list))
		for i, e := range list {
			if e.Dir || e.Symlink {
				e.Size = 0
			}
			out[i] = e
		}
		return out
	}
	if d := cmp.Diff(sized(want), sized(got)); d != "" {
		t.Errorf("%s: got other entries than wanted (-want +got):\n%s", what, d)
	}
}
