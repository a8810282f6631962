package scoring

import (
	"fmt"
	"slices"
	"strings"
)

func directoryConfig() []ConfigKey {
	return []ConfigKey{
		{Name: "required_files", Type: KeyStrings, Doc: "paths that must be there, absolute or relative to the listed directory"},
		{Name: "forbidden_files", Type: KeyStrings, Doc: "paths that must not be there"},
		{Name: "required_directories", Type: KeyStrings, Doc: "directories that must be there"},
	}
}

// directoryEvidence is the evidence of a directory_structure.
type directoryEvidence struct {
	Kind               string   `json:"kind"`
	Path               string   `json:"path"`
	Exists             bool     `json:"exists"`
	Entries            int      `json:"entries"`
	Truncated          bool     `json:"truncated,omitempty"`
	MissingFiles       []string `json:"missing_files,omitempty"`
	ForbiddenFiles     []string `json:"forbidden_files,omitempty"`
	MissingDirectories []string `json:"missing_directories,omitempty"`
}

func directoryStructure(s settings) inspector {
	files, directories, forbidden := s.list("required_files"), s.list("required_directories"), s.list("forbidden_files")
	return func(t *trial, v *validator) finding {
		d, ok := t.ev.Directories[v.target.key]
		if _, file := t.ev.Files[v.target.key]; !ok && file {
			return authors(senseless(fmt.Sprintf("%s is a captured file: there is no listing to look at", v.target)))
		}
		if !ok {
			return gone(t.file(v.target))
		}
		if d.Unread != "" { // who locks a directory does not rule out what is in it
			return gone(t.file(v.target))
		}
		tree := newTree(d)
		if len(directories) > fewDirectories {
			tree.sort()
		}
		e := directoryEvidence{Kind: DirectoryStructure, Path: clip(d.Path), Exists: d.Exists, Entries: len(d.Entries), Truncated: d.Truncated}
		e.MissingFiles = without(files, tree.hasFile)
		e.MissingDirectories = without(directories, tree.hasDirectory)
		e.ForbiddenFiles = without(forbidden, func(name string) bool { return !tree.has(name) })
		f := e.judge(d.Truncated && len(forbidden) > 0)
		f.settled = len(e.ForbiddenFiles) > 0
		if !d.Exists {
			f.absent = fmt.Sprintf("the directory %s", quoted(d.Path))
		}
		e.bound()
		return f.with(e)
	}
}

// judge says whether every list holds. A listing that was cut cannot rule out
// what is forbidden.
func (e *directoryEvidence) judge(unknown bool) finding {
	var wrong []string
	for _, list := range [...]struct {
		what  string
		names []string
	}{{"missing files", e.MissingFiles}, {"forbidden files", e.ForbiddenFiles}, {"missing directories", e.MissingDirectories}} {
		if len(list.names) > 0 {
			wrong = append(wrong, list.what+": "+clipTo(strings.Join(list.names, ", "), maxListed))
		}
	}
	if e.Truncated && (len(wrong) > 0 || unknown) {
		wrong = append(wrong, fmt.Sprintf("only the first %d entries were listed", e.Entries))
	}
	return judged(len(wrong) == 0, strings.Join(wrong, "; "))
}

// maxNamed is how many names of each kind a result keeps.
const maxNamed = 20

func (e *directoryEvidence) bound() {
	e.MissingFiles, e.ForbiddenFiles, e.MissingDirectories = named(e.MissingFiles), named(e.ForbiddenFiles), named(e.MissingDirectories)
}

// named cuts a list of names that is kept in a result.
func named(names []string) []string {
	more := len(names) - maxNamed
	out := make([]string, 0, min(len(names), maxNamed)+1)
	for _, name := range names[:len(names)-max(more, 0)] {
		out = append(out, clipTo(name, maxViolation))
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return out
}

// without are the names that do not hold, in order.
func without(names []string, holds func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(names), holds)
}

// tree is a listing by name. An entry has its own path and the path relative
// to the listed directory.
type tree struct {
	names map[string]bool // true: a directory
	// all has both paths of every entry, without the slash of a directory.
	all    []string
	sorted bool
}

func newTree(d CapturedDirectory) tree {
	root := strings.TrimSuffix(d.Path, "/") + "/"
	t := tree{names: make(map[string]bool, 2*len(d.Entries))}
	for _, e := range d.Entries {
		path, slash := strings.CutSuffix(e.Path, "/")
		t.add(path, e.IsDir || slash)
		if relative, ok := strings.CutPrefix(path, root); ok {
			t.add(relative, e.IsDir || slash)
		} else if !strings.HasPrefix(path, "/") {
			t.add(root+path, e.IsDir || slash)
		}
	}
	return t
}

func (t *tree) add(path string, dir bool) {
	t.names[path] = dir
	t.all = append(t.all, path)
}

// fewDirectories are looked for without sorting the listing first.
const fewDirectories = 16

func (t *tree) sort() {
	slices.Sort(t.all)
	t.sorted = true
}

func (t *tree) has(name string) bool {
	_, ok := t.names[strings.TrimSuffix(name, "/")]
	return ok
}

// hasFile: a directory of that name is no file.
func (t *tree) hasFile(name string) bool {
	dir, ok := t.names[name]
	return ok && !dir
}

// hasDirectory: an entry of that name stands for it, and so does anything that
// lies beneath it.
func (t *tree) hasDirectory(name string) bool {
	name = strings.TrimSuffix(name, "/")
	if t.has(name) {
		return true
	}
	beneath := name + "/"
	if !t.sorted {
		return slices.ContainsFunc(t.all, func(path string) bool { return strings.HasPrefix(path, beneath) })
	}
	i, _ := slices.BinarySearch(t.all, beneath)
	return i < len(t.all) && strings.HasPrefix(t.all[i], beneath)
}
