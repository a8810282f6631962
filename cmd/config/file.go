package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// File is one of the two files, as it was read.
type File struct {
	Path   string
	Source Source // Project or User
	lines  map[string]line
}

// line is a value and where it stands, from 1.
type line struct {
	value string
	at    int
}

// Parse reads a file. Its errors name the file and the line. Nothing in it is
// checked but its form and its keys: a value is checked where it is used, so that
// one bad line does not stand in the way of what does not need it.
func Parse(path string, source Source, src []byte) (*File, error) {
	f := &File{Path: path, Source: source, lines: map[string]line{}}
	top, err := mapping(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i := 0; top != nil && i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		if err := f.add(key, value); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, key.Line, err)
		}
	}
	return f, nil
}

func (f *File) add(key, value *yaml.Node) error {
	if Hosted(key.Value) {
		return nil
	}
	s, known := Find(key.Value)
	if !known || f.name(s) != key.Value {
		return f.unknown(key.Value, s, known)
	}
	if _, twice := f.lines[s.Key]; twice {
		return fmt.Errorf("%s stands there twice", key.Value)
	}
	if value.Kind != yaml.ScalarNode {
		return fmt.Errorf("%s must be %s", key.Value, s.Want)
	}
	if value.Tag != "!!null" {
		f.lines[s.Key] = line{value.Value, key.Line}
	}
	return nil
}

func (f *File) unknown(key string, s Setting, known bool) error {
	if known && f.Source == Project && s.Project == "" {
		return fmt.Errorf("%s is for a user's own configuration, not for a project: agentclash config set %s VALUE", key, s.Key)
	}
	var names []string
	for _, s := range Settings() {
		if n := f.name(s); n != "" {
			names = append(names, n)
		}
	}
	near := Nearest(key, names)
	if known {
		near = f.name(s)
	}
	if near != "" {
		return fmt.Errorf("there is no setting %q: did you mean %s?", key, near)
	}
	return fmt.Errorf("there is no setting %q: there are %s", key, strings.Join(names, ", "))
}

// name is what the file calls a setting, "" when it may not have it.
func (f *File) name(s Setting) string {
	if f.Source == Project {
		return s.Project
	}
	return s.Key
}

// Has says whether the file sets a setting.
func (f *File) Has(key string) bool {
	_, ok := f.lines[key]
	return ok
}

// mapping is the mapping at the top of a document, nil for an empty one.
func mapping(src []byte) (*yaml.Node, error) {
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(src))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := dec.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("it must be one YAML document")
	}
	top := doc.Content[0]
	if top.Kind == yaml.ScalarNode && top.Tag == "!!null" {
		return nil, nil
	}
	if top.Kind != yaml.MappingNode {
		return nil, errors.New("it must be a mapping: lines such as  output: json")
	}
	return top, nil
}

// errByHand is an edit that would have to guess how a file was laid out.
var errByHand = errors.New("it is laid out in a way that cannot be changed without losing it: change it with an editor")

// Set returns a file's content with a key set. All else stays as it was, to the
// byte. The key must be the one that this kind of file uses.
func Set(src []byte, key, value string) ([]byte, error) {
	text, err := scalar(value)
	if err != nil {
		return nil, err
	}
	return edit(src, key, func(lines []string, at int, comment string) []string {
		is := key + ": " + text
		if at >= 0 {
			if comment != "" {
				is += " " + comment
			}
			lines[at] = is + "\n"
			return lines
		}
		if n := len(lines); n > 0 && !strings.HasSuffix(lines[n-1], "\n") {
			lines[n-1] += "\n"
		}
		return append(lines, is+"\n")
	}, &value)
}

// Unset returns a file's content without a key, and all else as it was.
func Unset(src []byte, key string) ([]byte, error) {
	return edit(src, key, func(lines []string, at int, _ string) []string {
		if at < 0 {
			return lines
		}
		return slices.Delete(lines, at, at+1)
	}, nil)
}

// edit changes lines, and then looks whether what came of it says what it should.
func edit(src []byte, key string, change func(lines []string, at int, comment string) []string, want *string) ([]byte, error) {
	top, err := mapping(src)
	if err != nil {
		return nil, err
	}
	at, comment := -1, ""
	expected := map[string]string{}
	for i := 0; top != nil && i+1 < len(top.Content); i += 2 {
		k, v := top.Content[i], top.Content[i+1]
		if k.Value != key {
			expected[k.Value] = flat(v)
			continue
		}
		at, comment = k.Line-1, v.LineComment
	}
	if want != nil {
		expected[key] = *want
	}
	lines := slices.Collect(strings.Lines(string(src)))
	if at >= len(lines) { // YAML knows other ends of lines, too
		return nil, errByHand
	}
	out := []byte(strings.Join(change(lines, at, comment), ""))
	if !says(out, expected) {
		return nil, errByHand
	}
	return out, nil
}

// says compares the top of a document with what it should be.
func says(src []byte, expected map[string]string) bool {
	top, err := mapping(src)
	if err != nil {
		return false
	}
	n := 0
	for i := 0; top != nil && i+1 < len(top.Content); i += 2 {
		if want, ok := expected[top.Content[i].Value]; !ok || want != flat(top.Content[i+1]) {
			return false
		}
		n++
	}
	return n == len(expected)
}

// flat is a value as one text, whatever it holds.
func flat(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return n.Value
	}
	parts := []string{fmt.Sprint(n.Kind, n.Value)}
	for _, c := range n.Content {
		parts = append(parts, fmt.Sprintf("%q", flat(c)))
	}
	return strings.Join(parts, " ")
}

// scalar writes a value on one line, in quotes where it needs them.
func scalar(value string) (string, error) {
	if strings.Trim(value, "0123456789") == "" && value != "" {
		return value, nil
	}
	out, err := yaml.Marshal(value)
	if err != nil {
		return "", err
	}
	text := strings.TrimSuffix(string(out), "\n")
	if strings.Contains(text, "\n") {
		return "", fmt.Errorf("%q does not fit on one line", value)
	}
	return text, nil
}
