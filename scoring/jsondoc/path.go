package jsondoc

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// maxPath is how long a path may be.
const maxPath = 64 << 10

// Path is a parsed path: $ for the document, then steps. The dialect is small
// on purpose: .name, [0], ["any name"], ['any name'] and [bare name]; no
// wildcards, slices, filters or recursion.
type Path struct {
	text  string
	steps []pathStep
}

// pathStep is a property's name or, when index is true, a position in a list.
type pathStep struct {
	name  string
	at    int
	index bool
}

var (
	dotName     = regexp.MustCompile(`^\.([A-Za-z0-9_-]+)`)
	listIndex   = regexp.MustCompile(`^\[(-?[0-9]+)\]`)
	doubleQuote = regexp.MustCompile(`^\["((?:[^"\\]|\\.)*)"\]`)
	singleQuote = regexp.MustCompile(`^\['((?:[^'\\]|\\.)*)'\]`)
	bareName    = regexp.MustCompile(`^\[([^\]"'][^\]]*)\]`)
)

// String is the path as it was written.
func (p Path) String() string { return p.text }

// ParsePath reads a path; its error says what is wrong with it, and where.
func ParsePath(text string) (Path, error) {
	text = strings.TrimSpace(text)
	rest, ok := strings.CutPrefix(text, "$")
	if !ok {
		return Path{}, fmt.Errorf("the path %.100q does not begin with $", text)
	}
	if len(text) > maxPath {
		return Path{}, fmt.Errorf("the path has %d bytes; at most %d are read", len(text), maxPath)
	}
	p := Path{text: text}
	for rest != "" {
		step, n, err := parseStep(rest)
		if err != nil {
			return p, fmt.Errorf("the path %.100q: at %.100q: %w", text, rest, err)
		}
		p.steps = append(p.steps, step)
		rest = rest[n:]
	}
	return p, nil
}

// parseStep reads the step that rest begins with and its length.
func parseStep(rest string) (pathStep, int, error) {
	if m := dotName.FindStringSubmatch(rest); m != nil {
		return pathStep{name: m[1]}, len(m[0]), nil
	}
	if m := listIndex.FindStringSubmatch(rest); m != nil {
		i, err := strconv.Atoi(m[1])
		if err != nil {
			i = -1 // past any list: never found
		}
		return pathStep{at: i, index: true}, len(m[0]), nil
	}
	if m := doubleQuote.FindStringSubmatch(rest); m != nil {
		name, err := unquote(m[1])
		return pathStep{name: name}, len(m[0]), err
	}
	if m := singleQuote.FindStringSubmatch(rest); m != nil {
		inner := strings.ReplaceAll(m[1], `\'`, `'`)
		name, err := unquote(escapeQuotes(inner))
		return pathStep{name: name}, len(m[0]), err
	}
	if m := bareName.FindStringSubmatch(rest); m != nil {
		return pathStep{name: m[1]}, len(m[0]), nil
	}
	return pathStep{}, 0, errors.New(`expected .name, [0] or ["name"]`)
}

// unquote reads the inside of a JSON string.
func unquote(inner string) (string, error) {
	var s string
	if err := json.Unmarshal([]byte(`"`+inner+`"`), &s); err != nil {
		return "", errors.New("the quoted name has a bad escape")
	}
	return s, nil
}

// escapeQuotes puts a backslash before each double quote that has none, so
// that the inside of a single-quoted name reads as a JSON string.
func escapeQuotes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '"' {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
		if s[i] == '\\' && i+1 < len(s) {
			i++
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// Find follows the path into a decoded document; false means that there is nothing there. A null is
// something.
func (p Path) Find(v any) (any, bool) {
	for _, step := range p.steps {
		if step.index {
			list, ok := v.([]any)
			if !ok || step.at < 0 || step.at >= len(list) {
				return nil, false
			}
			v = list[step.at]
			continue
		}
		object, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = object[step.name]; !ok {
			return nil, false
		}
	}
	return v, true
}
