package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentclash/agentclash/sandbox"
)

// What a search may cost. The files are read through the port, so that it needs
// no program in the image.
const (
	maxSearchEntries = 20_000
	maxSearchFile    = 8 << 20   // what is read of one file
	maxSearchBytes   = 256 << 20 // of all files
	maxSearchTime    = 20 * time.Second
	maxSearchLine    = 64 << 10 // what is looked at of one line
	maxLineText      = 500      // what is shown of one
	maxPattern       = 1000
	maxProgram       = 5000 // of a compiled pattern, since the time goes with it
	maxResults       = 1000
	readsAhead       = 8
	binaryBytes      = 8000 // a NUL in the first of a file makes it binary
)

func searchFiles(ctx context.Context, at workplace, raw json.RawMessage) (Result, error) {
	var args struct {
		Pattern string `json:"pattern"`
		Path    string `json:"path"`
		Most    int    `json:"max_results"`
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return Result{}, err
	}
	matches, err := globber(args.Pattern)
	if err != nil {
		return Result{}, err
	}
	root, err := at.path(args.Path)
	if err != nil {
		return Result{}, err
	}
	listing, err := at.box.List(ctx, root, true, maxSearchEntries)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", args.Path, err)
	}
	out := struct {
		Pattern string   `json:"pattern"`
		Path    string   `json:"path"`
		Most    int      `json:"max_results"`
		Files   []string `json:"files"`
		Note    string   `json:"note,omitempty"`
	}{Pattern: args.Pattern, Path: root, Most: most(args.Most, 100), Files: []string{}}
	if listing.Truncated {
		out.Note = fmt.Sprintf("only the first %d entries were looked at: search a directory further down", maxSearchEntries)
	}
	for _, e := range listing.Entries {
		if e.Dir || e.Symlink || !matches(path.Base(e.Path)) {
			continue
		}
		if len(out.Files) == out.Most {
			out.Note = fmt.Sprintf("there are more than these %d: narrow the search or raise max_results", out.Most)
			break
		}
		out.Files = append(out.Files, e.Path)
	}
	return at.wrap(ctx, out)
}

// most is how many results are wanted, within reason.
func most(asked, otherwise int) int {
	if asked <= 0 {
		return otherwise
	}
	return min(asked, maxResults)
}

// globber makes a test of names from a pattern as shells write it.
func globber(pattern string) (func(string) bool, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("the pattern is longer than %d bytes", maxPattern)
	}
	if strings.Contains(pattern, "/") {
		return nil, errors.New("a pattern is matched with the last name of a path: put directories into path")
	}
	if strings.Count(pattern, "*") > 20 {
		return nil, errors.New("the pattern has more than 20 stars")
	}
	pattern = strings.ReplaceAll(pattern, "[!", "[^")
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("pattern %q: %w", clip(pattern, 100), err)
	}
	return func(name string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	}, nil
}

// textSearch is one call of search_text.
type textSearch struct {
	args struct {
		Pattern string `json:"pattern"`
		Path    string `json:"path"`
		Include string `json:"include"`
		Case    *bool  `json:"case_sensitive"`
		Most    int    `json:"max_results"`
	}
	re      *regexp.Regexp
	bytes   int64
	began   time.Time
	matches []match
	note    string
	done    bool
}

type match struct {
	Path string `json:"path"`
	Line int    `json:"line_number"`
	Text string `json:"line_text"`
}

func searchText(ctx context.Context, at workplace, raw json.RawMessage) (Result, error) {
	s := &textSearch{began: time.Now(), matches: []match{}}
	if err := json.Unmarshal(raw, &s.args); err != nil {
		return Result{}, err
	}
	s.args.Most = most(s.args.Most, 200)
	sensitive := s.args.Case == nil || *s.args.Case
	var err error
	if s.re, err = compilePattern(s.args.Pattern, sensitive); err != nil {
		return Result{}, err
	}
	root, err := at.path(s.args.Path)
	if err != nil {
		return Result{}, err
	}
	if err := s.search(ctx, at.box, root); err != nil {
		return Result{}, err
	}
	return at.wrap(ctx, struct {
		Pattern   string  `json:"pattern"`
		Path      string  `json:"path"`
		Include   string  `json:"include"`
		Sensitive bool    `json:"case_sensitive"`
		Most      int     `json:"max_results"`
		Matches   []match `json:"matches"`
		Note      string  `json:"note,omitempty"`
	}{s.args.Pattern, root, s.args.Include, sensitive, s.args.Most, s.matches, s.note})
}

func compilePattern(pattern string, sensitive bool) (*regexp.Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("the pattern is longer than %d bytes", maxPattern)
	}
	if !sensitive {
		pattern = "(?i:" + pattern + ")"
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if len(program.Inst) > maxProgram {
		return nil, errors.New("the pattern is too complicated: use smaller repetitions")
	}
	return regexp.Compile(pattern)
}

// search looks at a file, or at everything below a directory that is not
// hidden.
func (s *textSearch) search(ctx context.Context, box sandbox.Session, root string) error {
	include := func(string) bool { return true }
	if s.args.Include != "" {
		var err error
		if include, err = globber(s.args.Include); err != nil {
			return err
		}
	}
	listing, err := box.List(ctx, root, true, maxSearchEntries)
	if errors.Is(err, sandbox.ErrNotFound) {
		var f sandbox.File
		if f, err = box.ReadFile(ctx, root, maxSearchFile); err == nil {
			s.look(contents{path: root, data: f.Data})
			s.over()
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.args.Path, err)
	}
	if listing.Truncated {
		s.note = fmt.Sprintf("only the first %d entries were looked at: search a directory further down", maxSearchEntries)
	}
	listing.Entries = slices.DeleteFunc(listing.Entries, func(e sandbox.Entry) bool {
		return e.Dir || e.Symlink || e.Size == 0 || hidden(e.Path[len(root):]) || !include(path.Base(e.Path))
	})
	return s.files(ctx, box, listing.Entries)
}

// files looks at one file after the other, while the next ones are being read:
// a read waits for its box more than it works.
func (s *textSearch) files(ctx context.Context, box sandbox.Session, entries []sandbox.Entry) error {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	reads := make(chan chan contents, readsAhead)
	running.Go(func() {
		defer close(reads)
		for _, e := range entries {
			read := make(chan contents, 1)
			select {
			case reads <- read:
			case <-ctx.Done():
				return
			}
			running.Go(func() {
				f, err := box.ReadFile(ctx, e.Path, maxSearchFile)
				read <- contents{e.Path, f.Data, err}
			})
		}
	})
	for read := range reads {
		c := <-read
		if err := ended(ctx, c.err); err != nil {
			return err
		}
		if c.err == nil { // else it is no file that has text
			s.look(c)
		}
		if s.over() {
			return nil
		}
	}
	return context.Cause(ctx)
}

// contents is what a file holds, as far as it is looked at.
type contents struct {
	path string
	data []byte
	err  error
}

func hidden(below string) bool { return strings.Contains(below, "/.") }

// over says whether the search has found or cost enough, and notes why.
func (s *textSearch) over() bool {
	switch {
	case s.done:
		return true
	case len(s.matches) > s.args.Most:
		s.matches = s.matches[:s.args.Most]
		s.note = fmt.Sprintf("there are more than these %d: narrow the search or raise max_results", s.args.Most)
	case s.bytes > maxSearchBytes:
		s.note = fmt.Sprintf("the search ended after %d MiB: narrow it with path or include", maxSearchBytes>>20)
	case time.Since(s.began) > maxSearchTime:
		s.note = fmt.Sprintf("the search ended after %s: narrow it with path or include", maxSearchTime)
	default:
		return false
	}
	s.done = true
	return true
}

// look looks for the pattern in each line of a file that is no binary.
func (s *textSearch) look(c contents) {
	s.bytes += int64(len(c.data))
	if bytes.IndexByte(c.data[:min(len(c.data), binaryBytes)], 0) >= 0 {
		return
	}
	number := 0
	for line := range bytes.Lines(c.data) {
		number++
		line = bytes.TrimSuffix(line, []byte("\n"))
		if !s.re.Match(line[:min(len(line), maxSearchLine)]) {
			if number%1024 == 0 && s.over() {
				return
			}
			continue
		}
		s.matches = append(s.matches, match{c.path, number, strings.ToValidUTF8(clip(string(line), maxLineText), "\uFFFD")})
		if s.over() {
			return
		}
	}
}
