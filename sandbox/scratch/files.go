package scratch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/agentclash/agentclash/sandbox"
)

// The account is that of the file systems in memory which other boxes' workspaces
// are, so that a limit means the same everywhere: the content of a file is charged
// whole pages, and directories and names nothing. Of these there is one for each
// page of the limit, and not less than fewEntries.
const (
	pageBytes  = 4 << 10
	fewEntries = 256
)

func charge(size int64) int64 { return (size + pageBytes - 1) / pageBytes * pageBytes }

// ReadFile reads a regular file, as the port says, through links that stay in
// the box. It cannot hang: what is not regular is not opened, and should it
// become a named pipe in between, it is opened without waiting.
func (b *box) ReadFile(ctx context.Context, path string, limit int64) (sandbox.File, error) {
	what := fmt.Sprintf("read %q", path)
	leave, err := b.enter(ctx, what)
	if err != nil {
		return sandbox.File{}, err
	}
	defer leave()
	f, err := b.read(path, limit)
	return f, b.explain(what, err)
}

func (b *box) read(path string, limit int64) (sandbox.File, error) {
	name, err := locate(path)
	if err != nil {
		return sandbox.File{}, err
	}
	if err := wantRegular(b.root.Stat(name)); err != nil {
		return sandbox.File{}, err
	}
	f, err := b.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return sandbox.File{}, err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err := wantRegular(info, err); err != nil {
		return sandbox.File{}, err
	}
	data := make([]byte, max(0, min(limit, info.Size())))
	n, err := io.ReadFull(f, data)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return sandbox.File{}, err
	}
	return sandbox.File{Data: data[:n], Size: info.Size(), Mode: uint32(info.Mode().Perm())}, nil
}

func wantRegular(info fs.FileInfo, err error) error {
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return sandbox.ErrNotRegular
	}
	return nil
}

// WriteFile creates or replaces a file, as the port says. While a new content
// replaces an old one both are charged, because both are on the disk.
func (b *box) WriteFile(ctx context.Context, path string, data []byte) error {
	what := fmt.Sprintf("write %q", path)
	leave, err := b.enter(ctx, what)
	if err != nil {
		return err
	}
	defer leave()
	return b.explain(what, b.write(path, data))
}

func (b *box) write(path string, data []byte) error {
	name, err := locate(path)
	if err != nil {
		return err
	}
	freed, fresh, err := b.replaceable(name)
	if err != nil {
		return err
	}
	parent := filepath.Dir(name)
	missing, err := b.missingDirs(parent)
	if err != nil {
		return err
	}
	if int64(len(data)) > b.fileBytes {
		return fmt.Errorf("a file of %d bytes, at most %d: %w", len(data), b.fileBytes, sandbox.ErrFileSize)
	}
	cost := charge(int64(len(data)))
	if b.used+cost > b.workspaceBytes {
		return fmt.Errorf("the workspace holds at most %d bytes: %w", b.workspaceBytes, sandbox.ErrNoSpace)
	}
	if most := max(b.workspaceBytes/pageBytes, fewEntries); b.entries+missing+fresh > most {
		return fmt.Errorf("the workspace holds at most %d files and directories: %w", most, sandbox.ErrNoSpace)
	}
	if err := b.root.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	b.entries += missing
	if err := b.replace(name, data); err != nil {
		return err
	}
	b.used, b.entries = b.used+cost-freed, b.entries+fresh
	return nil
}

// replaceable returns what a name's present content is charged and how many
// entries it would be anew, 0 or 1, and refuses a directory. Whatever else is
// there is replaced itself: a link, not what it leads to.
func (b *box) replaceable(name string) (freed, fresh int64, err error) {
	info, err := b.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, 1, nil
	case err != nil:
		return 0, 0, err
	case info.IsDir():
		return 0, 0, sandbox.ErrNotRegular
	case info.Mode().IsRegular():
		return charge(info.Size()), 0, nil
	}
	return 0, 0, nil
}

// missingDirs counts the directories that have to be made for dir to exist.
func (b *box) missingDirs(dir string) (int64, error) {
	for n := int64(0); ; n++ {
		info, err := b.root.Stat(dir)
		switch {
		case err == nil && info.IsDir():
			return n, nil
		case err == nil:
			return 0, errParent
		case !errors.Is(err, fs.ErrNotExist):
			return 0, err
		}
		dir = filepath.Dir(dir)
	}
}

// replace puts data at name with one rename, so that a crash or a full disk
// leaves the old content whole.
func (b *box) replace(name string, data []byte) (err error) {
	temp := filepath.Join(filepath.Dir(name), ".agentclash-"+rand.Text())
	f, err := b.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.root.Remove(temp))
		}
	}()
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return b.root.Rename(temp, name)
}
