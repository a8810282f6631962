package guest_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/sandbox/guest"
)

func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			name := filepath.Join(dir, strconv.Itoa(i))
			if err := c.WriteFile(t.Context(), name, []byte(name), 0o600); err != nil {
				t.Error(err)
			}
			r := run(t, c, guest.Command{Argv: []string{"cat", name}})
			f, err := c.ReadFile(t.Context(), name, 1<<20)
			if text(r.Stdout) != name || string(f.Data) != name || err != nil {
				t.Errorf("file %d: got %q, %q, %v; want its name", i, text(r.Stdout), f.Data, err)
			}
		})
	}
	wg.Wait()
}

func TestFilesComeThroughUnchanged(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	data := make([]byte, 16<<20)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(data)
	name := filepath.Join(t.TempDir(), "deep", "er", "data.bin")
	if err := c.WriteFile(t.Context(), name, data, 0o640); err != nil {
		t.Fatal(err)
	}
	f, err := c.ReadFile(t.Context(), name, 1<<30)
	if err != nil || !bytes.Equal(f.Data, data) || f.Size != int64(len(data)) || f.Mode != 0o640 {
		t.Errorf("got %d of %d bytes, equal %v, mode %o, %v", len(f.Data), f.Size, bytes.Equal(f.Data, data), f.Mode, err)
	}
	f, err = c.ReadFile(t.Context(), name, 1000)
	if err != nil || !bytes.Equal(f.Data, data[:1000]) || f.Size != int64(len(data)) {
		t.Errorf("limited: got %d of %d bytes, %v", len(f.Data), f.Size, err)
	}
	r := run(t, c, guest.Command{Argv: []string{"cat"}, Stdin: data[:guest.MaxStdin], Head: guest.MaxKeep, Tail: 0})
	if !bytes.Equal(r.Stdout.Head, data[:guest.MaxStdin]) {
		t.Errorf("through a program: got %d bytes, not what was sent", len(r.Stdout.Head))
	}
}

func TestWriteReplaces(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	dir := t.TempDir()
	script, other, link := filepath.Join(dir, "script"), filepath.Join(dir, "other"), filepath.Join(dir, "link")
	write(t, script, "old", 0o755)
	write(t, other, "other", 0o644)
	if err := os.Symlink("other", link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{script, link} {
		if err := c.WriteFile(t.Context(), name, []byte("new"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if st, err := os.Stat(script); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("got mode %v, want the old one kept (%v)", st.Mode(), err)
	}
	if b, _ := os.ReadFile(other); string(b) != "other" {
		t.Errorf("the link's target became %q", b)
	}
	if st, err := os.Lstat(link); err != nil || !st.Mode().IsRegular() {
		t.Errorf("got %v, want a file in the link's place (%v)", st.Mode(), err)
	}
	if err := c.WriteFile(t.Context(), filepath.Join(dir, "empty"), nil, 0o644); err != nil {
		t.Error(err)
	}
	if err := c.WriteFile(t.Context(), dir, []byte("x"), 0o644); !errors.Is(err, guest.ErrNotRegular) {
		t.Errorf("onto a directory: got %v, want ErrNotRegular", err)
	}
	if err := c.WriteFile(t.Context(), filepath.Join(script, "below"), []byte("x"), 0o644); !errors.Is(err, guest.ErrNoParent) {
		t.Errorf("below a file: got %v, want ErrNoParent", err)
	}
	if names := names(t, dir); !cmp.Equal(names, []string{"empty", "link", "other", "script"}) {
		t.Errorf("got %q, want nothing left over", names)
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	if err := c.WriteFile(t.Context(), "/dev/full/x", nil, 0o644); !errors.Is(err, guest.ErrNoParent) {
		t.Errorf("below a device: got %v, want ErrNoParent", err)
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	err := c.WriteFile(t.Context(), filepath.Join(dir, "big"), make([]byte, 4<<20), 0o644)
	if !errors.Is(err, guest.ErrNoSpace) {
		t.Errorf("got %v, want ErrNoSpace", err)
	}
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
	if err := c.WriteFile(t.Context(), filepath.Join(dir, "small"), []byte("fits"), 0o644); err != nil {
		t.Error(err)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	dir := t.TempDir()
	fifo, loop, file := filepath.Join(dir, "fifo"), filepath.Join(dir, "loop"), filepath.Join(dir, "file")
	if err := syscall.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	write(t, file, "x", 0o644)
	for name, want := range map[string]error{
		filepath.Join(dir, "none"): guest.ErrNotFound,
		filepath.Join(file, "sub"): guest.ErrNotFound,
		dir:                        guest.ErrNotRegular,
		fifo:                       guest.ErrNotRegular,
		loop:                       guest.ErrNotRegular,
		"/dev/zero":                guest.ErrNotRegular,
		"/proc/self/environ":       guest.ErrNotRegular,
	} {
		if _, err := c.ReadFile(t.Context(), name, 100); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
	if _, err := c.ReadFile(t.Context(), "relative", 100); err == nil {
		t.Error("a relative path: got no error")
	}
	if f, err := c.ReadFile(t.Context(), file, 0); err != nil || len(f.Data) != 0 || f.Size != 1 {
		t.Errorf("no bytes asked for: got %q of %d, %v", f.Data, f.Size, err)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	dir := t.TempDir()
	for _, d := range []string{"a/b", "z"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	odd := "odd\n\xff name"
	for _, f := range []string{"a/b/deep", "a.txt", odd} {
		write(t, filepath.Join(dir, f), "12345", 0o644)
	}
	if err := os.Symlink(".", filepath.Join(dir, "z", "loop")); err != nil {
		t.Fatal(err)
	}
	all := []string{"a/", "a.txt 5", "a/b/", "a/b/deep 5", odd + " 5", "z/", "z/loop@"}
	for _, tc := range []struct {
		recursive bool
		limit     int
		want      []string
		truncated bool
	}{
		{true, 100, all, false},
		{true, 7, all, false},
		{false, 100, []string{"a/", "a.txt 5", odd + " 5", "z/"}, false},
		{false, 2, []string{"a/", "a.txt 5"}, true},
	} {
		l, err := c.List(t.Context(), dir, tc.recursive, tc.limit)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range l.Entries {
			s := strings.TrimPrefix(e.Path, dir+"/")
			switch {
			case e.Dir:
				s += "/"
			case e.Symlink:
				s += "@"
			case e.Regular:
				s += fmt.Sprint(" ", e.Size)
			}
			got = append(got, s)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" || l.Truncated != tc.truncated {
			t.Errorf("recursive %v, limit %d: truncated %v, want %v, and (-want +got):\n%s", tc.recursive, tc.limit, l.Truncated, tc.truncated, diff)
		}
	}
	for _, name := range []string{filepath.Join(dir, "none"), filepath.Join(dir, "a.txt")} {
		if _, err := c.List(t.Context(), name, false, 10); !errors.Is(err, guest.ErrNotFound) {
			t.Errorf("list %s: got %v, want ErrNotFound", name, err)
		}
	}
	f, err := c.ReadFile(t.Context(), filepath.Join(dir, odd), 10)
	if err != nil || string(f.Data) != "12345" {
		t.Errorf("read the odd name: got %q, %v", f.Data, err)
	}
}
