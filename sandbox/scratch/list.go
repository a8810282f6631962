package scratch

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/agentclash/agentclash/sandbox"
)

// List walks a directory, as the port says. A limit keeps the first entries in
// the order of their paths. Links in it are reported and not followed; only
// regular files have a size.
func (b *box) List(ctx context.Context, dir string, recursive bool, limit int) (sandbox.Listing, error) {
	what := fmt.Sprintf("list %q", dir)
	leave, err := b.enter(ctx, what)
	if err != nil {
		return sandbox.Listing{}, err
	}
	defer leave()
	l, err := b.list(ctx, dir, recursive, limit)
	return l, b.explain(what, err)
}

func (b *box) list(ctx context.Context, dir string, recursive bool, limit int) (sandbox.Listing, error) {
	name, err := locate(dir)
	if err != nil {
		return sandbox.Listing{}, err
	}
	info, err := b.root.Stat(name)
	if err != nil {
		return sandbox.Listing{}, err
	}
	if !info.IsDir() {
		return sandbox.Listing{}, fmt.Errorf("not a directory: %w", sandbox.ErrNotFound)
	}
	w := walk{root: b.root, recursive: recursive, limit: limit}
	if err := w.enter(ctx, name); err != nil {
		return sandbox.Listing{}, err
	}
	return w.found, nil
}

type walk struct {
	root      *os.Root
	recursive bool
	limit     int
	found     sandbox.Listing
}

// stop is one thing a walk meets in a directory: an entry, or the content of
// one. They are two because other names may sort between "a" and "a/b".
type stop struct {
	key     string
	entry   fs.DirEntry
	content bool
}

// enter walks the content of a directory in the order of paths, so that it
// can end at the limit however much there is.
func (w *walk) enter(ctx context.Context, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	stops, err := w.stops(dir)
	if err != nil {
		return err
	}
	for _, s := range stops {
		if w.found.Truncated {
			return nil
		}
		name := filepath.Join(dir, s.entry.Name())
		if s.content {
			err = w.enter(ctx, name)
		} else {
			err = w.add(name, s.entry)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) stops(dir string) ([]stop, error) {
	f, err := w.root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	stops := make([]stop, 0, len(entries))
	for _, e := range entries {
		stops = append(stops, stop{key: e.Name(), entry: e})
		if w.recursive && e.IsDir() {
			stops = append(stops, stop{key: e.Name() + "/", entry: e, content: true})
		}
	}
	slices.SortFunc(stops, func(a, b stop) int { return cmp.Compare(a.key, b.key) })
	return stops, nil
}

func (w *walk) add(name string, e fs.DirEntry) error {
	if len(w.found.Entries) >= w.limit {
		w.found.Truncated = true
		return nil
	}
	entry := sandbox.Entry{
		Path:    path.Join(sandbox.Workspace, filepath.ToSlash(name)),
		Dir:     e.IsDir(),
		Symlink: e.Type()&fs.ModeSymlink != 0,
	}
	if e.Type().IsRegular() {
		info, err := w.root.Lstat(name)
		if err != nil {
			return err
		}
		entry.Size = info.Size()
	}
	w.found.Entries = append(w.found.Entries, entry)
	return nil
}
