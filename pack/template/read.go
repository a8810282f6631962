package template

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// reader decodes a tools block and says everything that is wrong with it.
type reader struct {
	report
	here []string // the built-in tools of this version
}

func newReader() *reader {
	r := &reader{}
	for _, p := range Primitives() {
		r.here = append(r.here, p.Name)
	}
	return r
}

// draft is a tool on its way, with the places that later checks speak about.
type draft struct {
	CustomTool
	at   *spot // its name
	impl fields
	// secrets are the places of ${secrets.NAME} in the args.
	secrets []*spot
}

// unusable warns of what the format accepts and no run can use.
func (r *reader) unusable(d *draft, at *spot, format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	r.block(at, "%s; no run can use this tool", why)
	if d.Unusable == "" {
		d.Unusable = at.String() + ": " + why
	}
}

// fields are the values of a mapping whose keys are known.
type fields struct {
	spot  *spot
	found map[string]field
}

type field struct {
	spot  *spot
	value any
}

func (f fields) has(key string) bool  { _, ok := f.found[key]; return ok }
func (f fields) value(key string) any { return f.found[key].value }

// at is where a key stands, or where it would.
func (f fields) at(key string) *spot {
	if found, ok := f.found[key]; ok {
		return found.spot
	}
	return f.spot.child(key)
}

// text is the text of a key, "" when there is none.
func (f fields) text(key string) string {
	text, _ := f.value(key).(string)
	return text
}

// fields sorts the keys of a mapping into those that are known and those that
// are ignored, which it warns of.
func (r *reader) fields(at *spot, m map[string]any, known ...string) fields {
	f := fields{at, make(map[string]field, len(known))}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		name := knownKey(key, m, known)
		switch {
		case name != "" && !f.has(name):
			f.found[name] = field{at.child(name), m[key]} // the format's own spelling
		case !strings.HasPrefix(key, "x-"): // the usual place for anchors
			r.warn(at.child(key), "is not known and is ignored%s", r.hint(key, known))
		}
	}
	return f
}

// knownKey is the known key that a written one stands for, "" for none.
func knownKey(key string, m map[string]any, known []string) string {
	if slices.Contains(known, key) {
		return key
	}
	for _, name := range known {
		if _, exact := m[name]; !exact && strings.EqualFold(name, key) {
			return name
		}
	}
	return ""
}

// bounded says whether a block is small enough to be looked at, and made of
// nothing but what JSON can hold.
func (r *reader) bounded(block map[string]any) bool {
	m := measured(block)
	switch {
	case m.deep:
		r.fail(root(), "is nested more than %d levels deep", maxDepth)
	case m.values > maxValues:
		r.fail(root(), "holds more than %d values", maxValues)
	case m.text > maxText:
		r.fail(root(), "holds more than %d MiB of text", maxText>>20)
	case m.foreign:
		r.fail(root(), "holds a value that cannot be written as JSON")
	}
	return len(r.problems) == 0
}

// measure counts what a value is made of, and stops when it is too much for
// any block.
type measure struct {
	values, text  int
	path          int // the most bytes of keys on the way to a value
	deep, foreign bool
}

func measured(v any) measure {
	m := measure{}
	m.value(v, 0, 0)
	return m
}

func (m *measure) value(v any, depth, path int) {
	m.values++
	m.path = max(m.path, path)
	m.deep = m.deep || depth > maxDepth
	if m.deep || m.values > maxValues || m.text > maxText {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			m.text += len(key)
			m.value(item, depth+1, path+len(key))
		}
	case []any:
		for _, item := range v {
			m.value(item, depth+1, path)
		}
	case string:
		m.text += len(v)
	case nil, bool, int, int64, uint64, json.Number:
	case float64:
		m.foreign = m.foreign || math.IsInf(v, 0) || math.IsNaN(v)
	default:
		m.foreign = true
	}
}

// what names the type of a value to the author of a pack.
func what(v any) string {
	switch v := v.(type) {
	case nil:
		return "empty"
	case string:
		return "text " + quote(v)
	case bool:
		return "true or false"
	case []any:
		return "a list"
	case map[string]any:
		return "a mapping"
	}
	return "a number"
}

// eachText visits the parts of every text in v, and of no key, by path.
func (r *reader) eachText(v any, at *spot, visit func(Part, *spot)) {
	switch v := v.(type) {
	case string:
		for _, p := range Parse(v) {
			visit(p, at)
		}
	case []any:
		for i, item := range v {
			r.eachText(item, at.at(i), visit)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			r.eachText(v[key], at.child(key), visit)
		}
	}
}
