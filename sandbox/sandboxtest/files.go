package sandboxtest

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/agentclash/agentclash/sandbox"
)

func readChecks() []check {
	return []check{
		{"F4", "ReadFile gives at most the limit", 0, readLimits},
		{"F5", "ReadFile of a missing file is ErrNotFound", 0, readMissing},
		{"F6", "ReadFile of a directory is ErrNotRegular", 0, readDirectory},
		{"F6", "ReadFile of a named pipe is ErrNotRegular", fifo, readPipe},
		{"F6", "ReadFile of a socket is ErrNotRegular", tools, readSocket},
		{"F6", "ReadFile of a device is ErrNotRegular", tools, readDevice},
		{"F7", "ReadFile of a link reads what it leads to", symlink, readLink},
		{"F5 F6", "ReadFile of a link that leads to no file", symlink, readBrokenLink},
	}
}

func writeChecks() []check {
	return []check{
		{"F4 F8", "what is written is read", 0, roundTrip},
		{"F8", "16 MiB of any bytes", 0, roundTripBig},
		{"F9", "names of all sorts", 0, oddNames},
		{"F10", "WriteFile replaces", 0, replaceFile},
		{"F10", "WriteFile replaces at once", 0, replaceAtOnce},
		{"F11", "WriteFile replaces a link, not what it leads to", symlink, replaceLink},
		{"F12", "WriteFile makes parents", 0, makeParents},
		{"F13", "WriteFile where no file can be", 0, writeImpossible},
		{"F14", "a full workspace is ErrNoSpace", 0, fullWorkspace},
		{"F8", "data belongs to its caller", 0, callersData},
		{"L5", "calls at the same time", 0, callsAtOnce},
	}
}

func readLimits(t *testing.T, k *contract) {
	box := k.box(t)
	const content = "0123456789"
	write(t, box, "ten.txt", content)
	for limit, want := range map[int64]string{0: "", 1: "0", 9: "012345678", 10: content, 11: content, 1 << 40: content} {
		f, err := box.ReadFile(during(t), "ten.txt", limit)
		if err != nil || string(f.Data) != want || f.Size != 10 {
			t.Errorf("read with limit %d: got %q of %d bytes, %v, want %q of 10", limit, f.Data, f.Size, err, want)
		}
	}
}

func readMissing(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "file.txt", "x")
	for _, path := range []string{"none.txt", "none/none.txt", "/workspace/none.txt", "file.txt/none.txt"} {
		_, err := box.ReadFile(during(t), path, 10)
		wantError(t, fmt.Sprintf("read %q", path), err, sandbox.ErrNotFound)
	}
}

func readDirectory(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "dir/file.txt", "x")
	for _, path := range []string{"dir", "dir/", "", "/workspace", "dir/.."} {
		_, err := box.ReadFile(during(t), path, 10)
		wantError(t, fmt.Sprintf("read %q", path), err, sandbox.ErrNotRegular)
	}
}

func readPipe(t *testing.T, k *contract) {
	box := k.box(t)
	k.FIFO(t, box, "pipe")
	_, err := box.ReadFile(during(t), "pipe", 10)
	wantError(t, "read a pipe nobody writes to", err, sandbox.ErrNotRegular)
	write(t, box, "pipe", "a file in its place")
	wantRead(t, box, "pipe", "a file in its place")
}

func readLink(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "dir/real.txt", "real")
	k.Symlink(t, box, "dir/real.txt", "to-file")
	k.Symlink(t, box, "to-file", "to-link")
	k.Symlink(t, box, "dir", "to-dir")
	for _, path := range []string{"to-file", "to-link", "to-dir/real.txt", "to-dir/../to-link"} {
		f, err := box.ReadFile(during(t), path, 100)
		if err != nil || string(f.Data) != "real" || f.Size != 4 {
			t.Errorf("read link %q: got %q of %d bytes, %v, want what it leads to", path, f.Data, f.Size, err)
		}
	}
	write(t, box, "to-dir/new.txt", "new")
	wantRead(t, box, "dir/new.txt", "new")
}

func readBrokenLink(t *testing.T, k *contract) {
	box := k.box(t)
	for link, row := range map[string]struct {
		target string
		want   error
	}{
		"to-nothing": {"none", sandbox.ErrNotFound},
		"to-dir":     {".", sandbox.ErrNotRegular},
	} {
		k.Symlink(t, box, row.target, link)
		_, err := box.ReadFile(during(t), link, 10)
		wantError(t, fmt.Sprintf("read link %q", link), err, row.want)
	}
	k.Symlink(t, box, "to-itself", "to-itself")
	_, err := box.ReadFile(during(t), "to-itself", 10)
	wantFileError(t, "read a link to itself", err)
	if k.FIFO != nil {
		k.FIFO(t, box, "pipe")
		k.Symlink(t, box, "pipe", "to-pipe")
		_, err = box.ReadFile(during(t), "to-pipe", 10)
		wantError(t, "read a link to a pipe nobody writes to", err, sandbox.ErrNotRegular)
	}
}

func roundTrip(t *testing.T, k *contract) {
	box := k.box(t)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for name, content := range map[string]string{
		"empty": "", "newline": "\n", "text": "line 1\r\nline 2", "nul": "a\x00b", "bytes": string(every), "utf8": "ünï → コード",
	} {
		write(t, box, name, content)
		f, err := box.ReadFile(during(t), name, 1<<20)
		if err != nil || string(f.Data) != content || f.Size != int64(len(content)) {
			t.Errorf("read %q: got %q of %d bytes, %v, want %q", name, f.Data, f.Size, err, content)
		}
		if f.Mode&0o600 != 0o600 || f.Mode&^0o7777 != 0 {
			t.Errorf("mode of %q: got %#o, want permissions, with its owner's to read and write", name, f.Mode)
		}
	}
}

func roundTripBig(t *testing.T, k *contract) {
	box := k.box(t)
	data := make([]byte, cmp.Or(k.BigBytes, 16<<20))
	rand.NewChaCha8([32]byte{}).Read(data)
	if err := box.WriteFile(during(t), "big.bin", data); err != nil {
		t.Fatalf("write %d bytes: %v", len(data), err)
	}
	f, err := box.ReadFile(during(t), "big.bin", 1<<30)
	if err != nil || f.Size != int64(len(data)) || !bytes.Equal(f.Data, data) {
		t.Fatalf("read it: got %d of %d bytes, %v, want all, unchanged", len(f.Data), f.Size, err)
	}
	part := len(data) / 3
	f, err = box.ReadFile(during(t), "big.bin", int64(part))
	if err != nil || f.Size != int64(len(data)) || !bytes.Equal(f.Data, data[:part]) {
		t.Errorf("read the first third: got %d of %d bytes, %v", len(f.Data), f.Size, err)
	}
}

func oddNames(t *testing.T, k *contract) {
	box := k.box(t)
	names := []string{
		"with space", "-rf", "--", "'single'", "ünï-コード", ".hidden", "...", "$HOME", "~", "#", "%s%n", strings.Repeat("n", sandbox.MaxNameBytes),
	}
	if k.Process { // a machine of any system may be beneath the others
		names = append(names, "new\nline", "tab\t", `"double"`, `back\slash`, "*", "?", "a:b", "\x01")
	}
	for _, name := range names {
		write(t, box, "odd/"+name, name)
	}
	for _, name := range names {
		wantRead(t, box, "odd/"+name, name)
	}
	l, err := box.List(during(t), "odd", false, 1000)
	if err != nil || len(l.Entries) != len(names) {
		t.Errorf("list odd names: got %d entries, %v, want %d", len(l.Entries), err, len(names))
	}
}

func replaceFile(t *testing.T, k *contract) {
	box := k.box(t)
	for _, content := range []string{"a first, long content", "short", "", "long again, longer than ever"} {
		write(t, box, "file.txt", content)
		wantRead(t, box, "file.txt", content)
	}
}

// replaceAtOnce reads while two contents of different lengths take turns.
func replaceAtOnce(t *testing.T, k *contract) {
	box := k.box(t)
	contents := []string{strings.Repeat("a", 100_000), strings.Repeat("b", 33_000)}
	write(t, box, "dir/turns.txt", contents[0])
	ctx, done := during(t), make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				f, err := box.ReadFile(ctx, "dir/turns.txt", 1<<20)
				if err != nil {
					t.Errorf("read while it is replaced: got %v, want no error", err)
					return
				}
				if got := string(f.Data); got != contents[0] && got != contents[1] {
					t.Errorf("read while it is replaced: got %d bytes that are neither content", len(got))
					return
				}
			}
		})
	}
	defer wg.Wait()
	defer close(done)
	for i := range 100 {
		write(t, box, "dir/turns.txt", contents[(i+1)%2])
	}
	wantListing(t, box, "dir", true, file("dir/turns.txt", len(contents[0]))) // and no leavings
}

func replaceLink(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "real.txt", "real")
	k.Symlink(t, box, "real.txt", "link.txt")
	write(t, box, "link.txt", "new")
	wantRead(t, box, "link.txt", "new")
	wantRead(t, box, "real.txt", "real")
	k.Symlink(t, box, "none.txt", "to-nothing.txt")
	write(t, box, "to-nothing.txt", "new")
	wantRead(t, box, "to-nothing.txt", "new")
	_, err := box.ReadFile(during(t), "none.txt", 1)
	wantError(t, "read what a replaced link led to", err, sandbox.ErrNotFound)
}

func makeParents(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "a/b/c/d/one.txt", "1")
	write(t, box, "/workspace/a/b/two.txt", "2")
	deep := strings.Repeat("d/", 100) + "deep.txt"
	write(t, box, deep, "3")
	wantRead(t, box, "a/b/c/d/one.txt", "1")
	wantRead(t, box, "a/b/two.txt", "2")
	wantRead(t, box, deep, "3")
}

func writeImpossible(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "dir/file.txt", "x")
	for _, path := range []string{"dir", "", "/workspace", "dir/file.txt/below", "dir/file.txt/far/below"} {
		wantFileError(t, fmt.Sprintf("write %q", path), box.WriteFile(during(t), path, []byte("y")))
	}
	wantRead(t, box, "dir/file.txt", "x")
}

func fullWorkspace(t *testing.T, k *contract) {
	box := k.boxOf(t, sandbox.Spec{Limits: sandbox.Limits{WorkspaceBytes: 4 << 20}})
	mib := bytes.Repeat([]byte("x"), 1<<20)
	write(t, box, "old.txt", "old")
	err := box.WriteFile(during(t), "old.txt", bytes.Repeat(mib, 6))
	wantError(t, "write 6 MiB where there are 4", err, sandbox.ErrNoSpace)
	wantRead(t, box, "old.txt", "old")

	err = nil
	n := 0
	for ; err == nil && n < 8; n++ {
		err = box.WriteFile(during(t), fmt.Sprintf("mib-%d", n), mib)
	}
	wantError(t, "write 8 MiB, one by one, where there are 4", err, sandbox.ErrNoSpace)
	if n < 3 {
		t.Errorf("MiB written before there was no space: got %d, want 2 at least", n-1)
	}
	_, err = box.ReadFile(during(t), fmt.Sprintf("mib-%d", n-1), 1)
	wantError(t, "read what found no space", err, sandbox.ErrNotFound)
	wantRead(t, box, "mib-0", string(mib))
}

func callersData(t *testing.T, k *contract) {
	box := k.box(t)
	data := []byte("data")
	if err := box.WriteFile(during(t), "x", data); err != nil {
		t.Fatalf("write: %v", err)
	}
	data[0] = '!'
	f, err := box.ReadFile(during(t), "x", 10)
	if err != nil || string(f.Data) != "data" {
		t.Fatalf("read after what was written has changed: got %q, %v, want %q", f.Data, err, "data")
	}
	f.Data[0] = '!'
	wantRead(t, box, "x", "data")
}

func callsAtOnce(t *testing.T, k *contract) {
	box := k.box(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 10 {
				path, content := fmt.Sprintf("%d/%d.txt", i, j), strings.Repeat(fmt.Sprint(i), 1000*j)
				if err := box.WriteFile(during(t), path, []byte(content)); err != nil {
					t.Errorf("write %q: got %v, want no error", path, err)
				}
				if f, err := box.ReadFile(during(t), path, 1<<20); err != nil || string(f.Data) != content {
					t.Errorf("read %q: got %d bytes, %v, want the %d written", path, len(f.Data), err, len(content))
				}
				if l, err := box.List(during(t), fmt.Sprint(i), false, 100); err != nil || len(l.Entries) != j+1 {
					t.Errorf("list %d: got %d entries, %v, want %d", i, len(l.Entries), err, j+1)
				}
			}
		})
	}
	wg.Wait()
}
