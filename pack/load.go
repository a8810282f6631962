package pack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxBytes is how long a pack file may be.
const MaxBytes = 16 << 20

// MaxMarks bounds the values in a file, by what separates them: each takes a few
// hundred bytes of memory while the file is read, however short it is.
const MaxMarks = 2_000_000

// MaxReferenceBytes is how long the script of a reference agent may be.
const MaxReferenceBytes = 4 << 20

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
	p, problems := parseBeside(name, src, root.FS())
	return p, problems, nil
}

// LoadFS is [Load] for a file system, such as an embedded one.
func LoadFS(fsys fs.FS, name string) (*Pack, Problems, error) {
	src, err := readRegular(fsys, name, MaxBytes+1)
	if err != nil {
		return nil, nil, fmt.Errorf("read pack: %w", err)
	}
	dir, err := fs.Sub(fsys, path.Dir(name))
	if err != nil {
		return nil, nil, fmt.Errorf("read pack: open its directory: %w", err)
	}
	p, problems := parseBeside(name, src, dir)
	return p, problems, nil
}

// parseBeside parses a pack and takes along the script of its reference agent,
// where there is one beside it.
func parseBeside(name string, src []byte, dir fs.FS) (*Pack, Problems) {
	p, problems := Parse(name, src, dir)
	if p == nil {
		return nil, problems
	}
	script := filepath.Base(ReferencePath(name))
	text, err := readRegular(dir, script, MaxReferenceBytes+1)
	switch {
	case err != nil:
	case len(text) > MaxReferenceBytes:
		err = fmt.Errorf("it is longer than %d MiB", MaxReferenceBytes>>20)
	case blank(text):
		err = errors.New("it is empty")
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		problems = append(problems, Problem{File: name, Line: 1, Column: 1, Field: bundleField, Warning: true,
			Message: "has a reference agent that cannot be used: " + script + " " + unreadable(err)})
	default:
		p.reference = text
	}
	return p, problems
}

// ReferencePath is where a pack's reference agent lies: beside the pack, with
// .reference.yaml in place of its extension.
func ReferencePath(file string) string {
	return strings.TrimSuffix(file, filepath.Ext(file)) + ".reference.yaml"
}

// Source is the file as its author wrote it; nil for a pack from a manifest. It
// must not be changed.
func (p *Pack) Source() []byte { return p.source }

// Reference is the script of an agent that passes every case; nil when the
// pack has none. It must not be changed.
func (p *Pack) Reference() []byte { return p.reference }

// Parse reads a pack from memory. Name stands for the file in problems, dir is
// where its assets are; without one they are missing.
func Parse(name string, src []byte, dir fs.FS) (*Pack, Problems) {
	rep := newReport(name)
	p := decodePack(src, rep)
	if p == nil {
		return nil, rep.sorted()
	}
	legacyItems(p, rep)
	p.normalize()
	p.index = newIndex(p)
	runChecks(p, rep, dir)
	p.source = src
	problems := rep.sorted()
	if problems.Err() != nil {
		return nil, problems
	}
	return p, problems
}

// readFile reads at most one byte more than a pack may have.
func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	// opening a pipe that nobody writes to would wait for ever; a shell's own
	// pipes (/dev/stdin, /dev/fd) have a writer
	if !info.Mode().IsRegular() && !shellPipe.MatchString(filepath.Clean(name)) {
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

// decodePack returns nil when the file as a whole cannot be decoded.
func decodePack(src []byte, rep *report) *Pack {
	if len(src) > MaxBytes {
		rep.undecodable(position{1, 1}, bundleField, fmt.Sprintf("is longer than %d MiB", MaxBytes>>20))
		return nil
	}
	if n := bytes.Count(src, []byte("\n")) + bytes.Count(src, []byte(",")) + bytes.Count(src, []byte(":")); n > MaxMarks {
		rep.undecodable(position{1, 1}, bundleField, fmt.Sprintf("is too large: it has more than %d lines, commas and colons", MaxMarks))
		return nil
	}
	if blank(src) {
		rep.undecodable(position{1, 1}, bundleField, "is empty: a pack is required")
		return nil
	}
	rep.lines = countLines(src)
	root, ok := parseTree(src, rep)
	if !ok {
		return nil
	}
	if isScript(root) {
		rep.undecodable(position{1, 1}, bundleField, "is a script, the replies of a scripted model, and no pack: it is given as --model scripted/FILE")
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

// isScript says that a file has keys of scripted models alone: they lie beside packs, and
// are named in their place by mistake.
func isScript(root *node) bool {
	return root != nil && len(root.pairs) > 0 && !slices.ContainsFunc(root.pairs, func(p pair) bool {
		return !slices.Contains([]string{"default", "draw", "cases", "end", "judges", "simulators"}, p.key.text)
	})
}

// shellPipe is how a shell names a pipe that it has opened itself.
var shellPipe = regexp.MustCompile(`^/dev/(?:stdin|fd/\d+)$|^/proc/[^/]+/fd/\d+$`)

// packKey is a key that only packs have, in any style of writing YAML.
var packKey = regexp.MustCompile(`(?:^|[\s{,"'])(?:challenges|input_sets)["']?\s*:`)

// Looks says whether a file looks like a pack, however broken: for telling the
// packs in a directory from the other YAML files there. A file that cannot be
// read looks like one, so that somebody says why.
func Looks(name string) bool {
	src, err := readFile(name)
	return err != nil || packKey.Match(src)
}

// countLines counts the lines of a text as YAML does, 0 when it is not UTF-8.
func countLines(src []byte) int {
	if !utf8.Valid(src) {
		return 0
	}
	n := 1 - bytes.Count(src, []byte("\r\n"))
	for _, end := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
		n += bytes.Count(src, []byte(end))
	}
	return n
}

func blank(src []byte) bool {
	for _, b := range src {
		if b != ' ' && b != '\t' && b != '\n' && b != '\r' {
			return false
		}
	}
	return true
}

// legacyItems speaks while items are still there to be seen, and takes over
// what could not be read of those that become cases.
func legacyItems(p *Pack, rep *report) {
	for i, set := range p.InputSets {
		if len(set.Items) > 0 && len(set.Cases) > 0 {
			rep.check(Problem{Field: fmt.Sprintf("input_sets[%d].items", i), Warning: true,
				Message: "is the old form of cases and is ignored beside them"})
		}
	}
	for _, field := range sortedKeys(rep.broken) {
		set, item, _ := strings.Cut(strings.TrimPrefix(field, "input_sets["), "].items")
		i, err := strconv.Atoi(set)
		if err == nil && i >= 0 && i < len(p.InputSets) && len(p.InputSets[i].Cases) == 0 {
			rep.unknown(fmt.Sprintf("input_sets[%d].cases%s", i, item))
		}
	}
}
