package pack

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
)

// MaxBytes is how long a pack file may be.
const MaxBytes = 16 << 20

// ErrNotFile is the error for a path that is a directory, a pipe or a device.
var ErrNotFile = errors.New("not a file that can be read")

// Load reads the pack file at a path, and its assets from the file's
// directory, out of which no asset may lead. The pack is nil when the problems
// hold an error. The error is for a file that cannot be read at all.
func Load(name string) (*Pack, Problems, error) {
	src, err := readFile(name)
	if err != nil {
		return nil, nil, fmt.Errorf("read pack: %w", err)
	}
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return nil, nil, fmt.Errorf("read pack: open its directory: %w", err)
	}
	defer func() { _ = root.Close() }()
	p, problems := parse(name, src, root.FS())
	return p, problems, nil
}

// LoadFS is [Load] for a file system, such as an embedded one.
func LoadFS(fsys fs.FS, name string) (*Pack, Problems, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, nil, fmt.Errorf("read pack: %w", err)
	}
	defer func() { _ = f.Close() }()
	src, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, nil, fmt.Errorf("read pack: %w", err)
	}
	dir, err := fs.Sub(fsys, path.Dir(name))
	if err != nil {
		return nil, nil, fmt.Errorf("read pack: open its directory: %w", err)
	}
	p, problems := parse(name, src, dir)
	return p, problems, nil
}

// Parse reads a pack from memory. Name stands for the file in problems. There
// is no directory to read assets from, so that declaring one is a problem.
func Parse(name string, src []byte) (*Pack, Problems) {
	return parse(name, src, nil)
}

// readFile reads at most one byte more than a pack may have.
func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	// opening a pipe that nobody writes to would wait for ever; a shell's own
	// pipes (/dev/stdin, /dev/fd) have a writer
	if !info.Mode().IsRegular() && !strings.HasPrefix(name, "/dev/") {
		what := "is a pipe or a device"
		if info.IsDir() {
			what = "is a directory"
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%s, %w", what, ErrNotFile)}
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, MaxBytes+1))
}

// parse goes through every step: tree, decode, normalize, check.
func parse(name string, src []byte, files fs.FS) (*Pack, Problems) {
	rep := newReport(name)
	p := decodePack(src, rep)
	if p == nil {
		return nil, rep.sorted()
	}
	warnLegacyItems(p, rep)
	p.normalize()
	p.index = newIndex(p)
	runChecks(p, rep, files)
	problems := rep.sorted()
	if problems.Err() != nil {
		return nil, problems
	}
	return p, problems
}

// decodePack returns nil when the file as a whole cannot be decoded.
func decodePack(src []byte, rep *report) *Pack {
	if len(src) > MaxBytes {
		rep.undecodable(position{1, 1}, bundleField, fmt.Sprintf("is longer than %d MiB", MaxBytes>>20))
		return nil
	}
	if blank(src) {
		rep.undecodable(position{1, 1}, bundleField, "is empty: a pack is required")
		return nil
	}
	root, ok := parseTree(src, rep)
	if !ok {
		return nil
	}
	p := &Pack{}
	rep.root = root
	d := decoder{rep: rep, shapes: map[reflect.Type]*shape{}}
	d.decode(root, reflect.ValueOf(p).Elem(), nil)
	if rep.broken[bundleField] {
		return nil
	}
	return p
}

func blank(src []byte) bool {
	for _, b := range src {
		if b != ' ' && b != '\t' && b != '\n' && b != '\r' {
			return false
		}
	}
	return true
}

// warnLegacyItems speaks while items are still there to be seen.
func warnLegacyItems(p *Pack, rep *report) {
	for i, set := range p.InputSets {
		if len(set.Items) > 0 && len(set.Cases) > 0 {
			rep.check(Problem{Field: fmt.Sprintf("input_sets[%d].items", i), Warning: true,
				Message: "is the old form of cases and is ignored beside them"})
		}
	}
}
