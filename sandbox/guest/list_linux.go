package guest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxNames bounds the names a walk holds.
const maxNames = MaxEntries

// list sends the entries of a directory, sorted by path. Links are named, never
// followed; what goes away meanwhile is left out.
func (s *server) list(c *call, req listRequest) done {
	s.bulk <- struct{}{}
	defer func() { <-s.bulk }()
	limit := min(max(req.Limit, 0), maxNames)
	root := filepath.Clean(string(req.Path))
	if !filepath.IsAbs(root) {
		return done{Err: toWire(errors.New("the path is not absolute"))}
	}
	w := &walk{limit: limit, recursive: req.Recursive, cancelled: c.cancelled}
	var err error
	if e := s.on(req.Bound, func() { err = w.run(root) }); e != nil {
		err = e
	}
	if err != nil {
		return done{Err: toWire(err).bounded(req.Bound, root, unix.R_OK)}
	}
	slices.SortFunc(w.entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	var buf []byte
	for _, e := range w.entries {
		if len(buf)+len(e.Path)+entryHeader > maxChunk {
			if s.out.send(kindBulk, c.id, buf) != nil {
				break
			}
			buf = buf[:0]
		}
		buf = appendEntry(buf, e)
	}
	if len(buf) > 0 {
		_ = s.out.send(kindBulk, c.id, buf)
	}
	return done{Truncated: w.truncated}
}

// walk visits a tree directory by directory, each in the order of its names,
// until it has limit entries, or has used what memory it may.
type walk struct {
	limit     int
	recursive bool
	cancelled func() bool
	entries   []Entry
	truncated bool
	held      int // names read and not visited yet
	bytes     int // of the entries' paths
}

type directory struct {
	path  string
	names []string // not visited yet, sorted
}

// run walks depth first without recursion, so that a deep tree costs no stack.
func (w *walk) run(root string) error {
	names, err := w.names(root, 0)
	if err != nil {
		return err
	}
	stack := []directory{{root, names}}
	for len(stack) > 0 && !w.cancelled() {
		top := &stack[len(stack)-1]
		if len(top.names) == 0 {
			stack = stack[:len(stack)-1]
			continue
		}
		path := filepath.Join(top.path, top.names[0])
		top.names = top.names[1:]
		w.held--
		e, ok := w.stat(path)
		if !ok {
			continue
		}
		if len(w.entries) == w.limit || w.bytes > maxListBytes {
			w.truncated = true
			return nil
		}
		w.entries = append(w.entries, e)
		w.bytes += len(path)
		if e.Dir && w.recursive {
			if names, err := w.names(path, unix.O_NOFOLLOW); err == nil {
				stack = append(stack, directory{path, names})
			}
		}
	}
	return nil
}

// names reads a directory's names, sorted; at most as many as may be held.
func (w *walk) names(dir string, flags int) ([]string, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK|flags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	room := maxNames - w.held
	if room == 0 {
		w.truncated = true
		return nil, nil
	}
	names, _ := f.Readdirnames(room)
	w.held += len(names)
	w.truncated = w.truncated || len(names) == room
	slices.Sort(names)
	return names, nil
}

// stat describes a path; false for one that is gone, or too long to name.
func (w *walk) stat(path string) (Entry, bool) {
	st, err := os.Lstat(path)
	if err != nil {
		w.truncated = w.truncated || errors.Is(err, syscall.ENAMETOOLONG)
		return Entry{}, false
	}
	return entryOf(path, st), true
}
