package scratch_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
	"github.com/agentclash/agentclash/sandbox/scratch"
)

func TestScratchKeepsTheContract(t *testing.T) {
	t.Parallel()
	sandboxtest.Run(t, func(t *testing.T) sandbox.Provider { return provider(t, scratch.Options{}) }, sandboxtest.Capabilities{
		Symlink: func(t *testing.T, box sandbox.Session, target, path string) { link(t, box, target, path) },
		FIFO:    makePipe(),
	})
}

// provider makes one that has what the options leave out.
func provider(t *testing.T, o scratch.Options) *scratch.Provider {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Owner == "" {
		o.Owner = "test/1/1"
	}
	p, err := scratch.New(o)
	if err != nil {
		t.Fatalf("new provider: %v", err)
	}
	return p
}

func open(t *testing.T, p *scratch.Provider, spec sandbox.Spec) sandbox.Session {
	t.Helper()
	box, err := p.Open(t.Context(), spec)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := box.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return box
}

func link(t *testing.T, box sandbox.Session, target, path string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(box.ID(), path)); err != nil {
		t.Fatalf("make a link: %v", err)
	}
}

// entries are the names in a directory; a missing one has none.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("list: %v", err)
	}
	names := []string{}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	got, err := provider(t, scratch.Options{}).Describe(t.Context(), sandbox.Spec{})
	if want := (sandbox.Description{Kind: "scratch"}); err != nil || got != want {
		t.Errorf("describe: got %+v, %v, want %+v", got, err, want)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]scratch.Options{
		"no directory":     {Owner: "me"},
		"no owner":         {Dir: "x"},
		"a long owner":     {Dir: "x", Owner: strings.Repeat("o", scratch.MaxOwnerBytes+1)},
		"a negative bound": {Dir: "x", Owner: "me", FileBytes: -1},
	} {
		if _, err := scratch.New(o); err == nil {
			t.Errorf("new with %s: got no error, want one", name)
		}
	}
}

func TestOpenRefusesANegativeWorkspace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := provider(t, scratch.Options{Dir: dir})
	if _, err := p.Open(t.Context(), sandbox.Spec{Limits: sandbox.Limits{WorkspaceBytes: -1}}); err == nil {
		t.Error("open: got no error, want one")
	}
	if got := entries(t, dir); len(got) != 0 {
		t.Errorf("directory after a refused open: got %v, want it empty", got)
	}
}

func TestOpenWhereNoDirectoryCanBe(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := provider(t, scratch.Options{Dir: filepath.Join(file, "boxes")})
	_, err := p.Open(t.Context(), sandbox.Spec{})
	var box *sandbox.BoxError
	if !errors.As(err, &box) || box.Kind != sandbox.Engine {
		t.Errorf("open below a file: got %v, want a BoxError of the engine", err)
	}
}

func TestCloseRemovesTheDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "on", "demand")
	p := provider(t, scratch.Options{Dir: dir})
	a, b := open(t, p, sandbox.Spec{}), open(t, p, sandbox.Spec{})
	for _, box := range []sandbox.Session{a, b} {
		if err := box.WriteFile(t.Context(), "deep/er/file.txt", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatalf("close: %v", err)
	}
	if d := cmp.Diff([]string{filepath.Base(b.ID())}, entries(t, dir)); d != "" {
		t.Errorf("directory after one of two is closed (-want +got):\n%s", d)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatalf("close the provider: %v", err)
	}
	if got := entries(t, dir); len(got) != 0 {
		t.Errorf("directory after the provider is closed: got %v, want it empty", got)
	}
}

func TestCloseThatFailsMayBeCalledAgain(t *testing.T) {
	t.Parallel()
	box := open(t, provider(t, scratch.Options{}), sandbox.Spec{})
	if err := box.WriteFile(t.Context(), "stuck/file.txt", nil); err != nil {
		t.Fatal(err)
	}
	free := stick(t, filepath.Join(box.ID(), "stuck"))
	if err := box.Close(t.Context()); err == nil {
		t.Error("close of what cannot be removed: got no error, want one")
	}
	if _, err := box.ReadFile(t.Context(), "stuck/file.txt", 1); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("read afterwards: got %v, want ErrClosed", err)
	}
	free()
	if err := box.Close(t.Context()); err != nil {
		t.Errorf("close again: got %v, want no error", err)
	}
	if _, err := os.Lstat(box.ID()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("directory: got %v, want it gone", err)
	}
}

func TestLifetimeRemovesTheDirectory(t *testing.T) {
	t.Parallel()
	box := open(t, provider(t, scratch.Options{}), sandbox.Spec{Lifetime: time.Millisecond})
	tick, hung := time.NewTicker(time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for gone := false; !gone; {
		select {
		case <-tick.C:
			_, err := os.Lstat(box.ID())
			gone = errors.Is(err, fs.ErrNotExist)
		case <-hung:
			t.Fatal("the directory outlives its box's lifetime")
		}
	}
	_, err := box.ReadFile(t.Context(), "x", 1)
	var lost *sandbox.BoxError
	if !errors.As(err, &lost) || lost.Kind != sandbox.Lost || !strings.Contains(err.Error(), "lifetime") {
		t.Errorf("read: got %v, want a lost box that says why", err)
	}
}

// The account is a tmpfs's: pages of content, nothing for directories and names.
func TestWorkspaceIsAccountedFor(t *testing.T) {
	t.Parallel()
	const page = 4 << 10
	box := open(t, provider(t, scratch.Options{}), sandbox.Spec{Limits: sandbox.Limits{WorkspaceBytes: 10 * page}})
	for _, step := range []struct {
		path string
		size int
		want error
	}{
		{"a/b/one", 4 * page, nil},                // 4: directories are free
		{"two", 6*page + 1, sandbox.ErrNoSpace},   // would be 11
		{"c/d/two", 3*page + 1, nil},              // 8
		{"a/b/one", 3 * page, sandbox.ErrNoSpace}, // old and new would be 11
		{"a/b/one", 2 * page, nil},                // 10, and 6 when the old is gone
		{"e", 4 * page, nil},                      // 10
		{"f", 1, sandbox.ErrNoSpace},
		{"f", 0, nil}, // an empty file has no page
		{"g/h/i/j/k/empty", 0, nil},
	} {
		if err := box.WriteFile(t.Context(), step.path, make([]byte, step.size)); !errors.Is(err, step.want) {
			t.Fatalf("write %d bytes to %q: got %v, want %v", step.size, step.path, err, step.want)
		}
	}
	l, err := box.List(t.Context(), "", true, 100)
	if err != nil || len(l.Entries) != 14 {
		t.Errorf("list: got %v, %v, want 5 files and 9 directories", l.Entries, err)
	}
}

// What costs nothing is counted: a path makes as many directories as it has names.
func TestEntriesAreBounded(t *testing.T) {
	t.Parallel()
	box := open(t, provider(t, scratch.Options{}), sandbox.Spec{Limits: sandbox.Limits{WorkspaceBytes: 1 << 10}})
	deep := strings.Repeat("d/", 98)
	for _, name := range []string{"a/", "b/"} { // 100 entries each
		if err := box.WriteFile(t.Context(), name+deep+"empty", nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := box.WriteFile(t.Context(), "c/"+deep+"empty", nil); !errors.Is(err, sandbox.ErrNoSpace) {
		t.Errorf("300 entries: got %v, want ErrNoSpace of 256", err)
	}
	if err := box.WriteFile(t.Context(), "one", nil); err != nil {
		t.Errorf("a file where there is room: %v", err)
	}
}

func TestOneFileIsBounded(t *testing.T) {
	t.Parallel()
	box := open(t, provider(t, scratch.Options{FileBytes: 1000}), sandbox.Spec{})
	if err := box.WriteFile(t.Context(), "x", make([]byte, 1000)); err != nil {
		t.Errorf("write 1000 bytes: got %v, want no error", err)
	}
	if err := box.WriteFile(t.Context(), "new/y", make([]byte, 1001)); !errors.Is(err, sandbox.ErrFileSize) || !errors.Is(err, sandbox.ErrNoSpace) {
		t.Errorf("write 1001 bytes: got %v, want ErrFileSize, which is ErrNoSpace", err)
	}
	if d := cmp.Diff([]string{"x"}, entries(t, box.ID())); d != "" {
		t.Errorf("workspace (-want +got):\n%s", d)
	}
}

// A link planted in a box must not become a way to this machine's files.
func TestLinksDoNotReachTheMachine(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret.txt")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	box := open(t, provider(t, scratch.Options{}), sandbox.Spec{})
	up, err := filepath.Rel(box.ID(), outside)
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"absolute": outside, "relative": up} {
		link(t, box, target, name)
		f, err := box.ReadFile(t.Context(), name+"/secret.txt", 100)
		if !errors.Is(err, sandbox.ErrOutside) {
			t.Errorf("read through a link, %s: got %q, %v, want ErrOutside", name, f.Data, err)
		}
		if err := box.WriteFile(t.Context(), name+"/secret.txt", []byte("changed")); !errors.Is(err, sandbox.ErrOutside) {
			t.Errorf("write through a link, %s: got %v, want ErrOutside", name, err)
		}
		if err := box.WriteFile(t.Context(), name+"/new/file.txt", nil); !errors.Is(err, sandbox.ErrOutside) {
			t.Errorf("make directories through a link, %s: got %v, want ErrOutside", name, err)
		}
	}
	link(t, box, secret, "file")
	if f, err := box.ReadFile(t.Context(), "file", 100); !errors.Is(err, sandbox.ErrOutside) {
		t.Errorf("read a link: got %q, %v, want ErrOutside", f.Data, err)
	}
	if err := box.WriteFile(t.Context(), "file", []byte("mine")); err != nil {
		t.Errorf("write over a link: got %v, want it replaced", err)
	}
	if got, err := os.ReadFile(secret); err != nil || string(got) != "secret" {
		t.Errorf("file outside: got %q, %v, want it untouched", got, err)
	}
	if err := box.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"secret.txt"}, entries(t, outside)); d != "" {
		t.Errorf("directory outside after close (-want +got):\n%s", d)
	}
}
