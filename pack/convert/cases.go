package convert

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentclash/agentclash/pack"
)

// Options say what becomes of rows.
type Options struct {
	Mapping   Mapping // empty: by the names of the columns
	Challenge string  // key of the challenge that the cases are of
	// Proposed marks cases whose answer nobody has confirmed: read off what an
	// agent once did.
	Proposed bool
	// Expectations and Payload are the keys that the pack's scoring reads, and
	// that each case must have therefore.
	Expectations, Payload []string
	// Once takes rows without a key that have the same content for one case, which
	// otherwise are refused: nobody has chosen them.
	Once bool
}

// Case is a case with the line about it that its file shall have.
type Case struct {
	pack.Case
	Comment string // on one line, "" for none
	Row     Row
}

// Report says what was made of a file.
type Report struct {
	Format string   `json:"format"`
	Rows   int      `json:"rows"`
	Unused []string `json:"unused_columns"`
	// Derived counts the cases whose key was made of their content.
	Derived int `json:"derived_keys"`
	// Repeated counts the rows that say what another one says.
	Repeated int `json:"repeated"`
}

const (
	maxKey     = 200
	maxComment = 4 << 10
)

// Cases makes a case of each row. Every row that does not fit is a [Problem] of
// the error, and then there are no cases.
func Cases(rows []Row, o Options) ([]Case, Report, error) {
	columns := columnsOf(rows)
	m, err := o.Mapping.resolve(columns)
	if err != nil {
		return nil, Report{}, err
	}
	r := Report{Rows: len(rows), Unused: m.unused(columns)}
	cases := make([]Case, 0, len(rows))
	var problems Problems
	seen := map[string]int{}
	for _, row := range rows {
		c, derived, wrong := o.build(row, m)
		first, twice := seen[c.CaseKey]
		if twice && len(wrong) == 0 && derived && o.Once {
			r.Repeated++
			continue
		}
		if twice && len(wrong) == 0 {
			message := fmt.Sprintf("the key %q is that of row %d, too", c.CaseKey, first)
			if derived {
				message = fmt.Sprintf("it is the same as row %d", first)
			}
			wrong = Problems{{Row: row.N, Line: row.Line, Message: message}}
		}
		if derived {
			r.Derived++
		}
		seen[c.CaseKey] = row.N
		problems = append(problems, wrong...)
		cases = append(cases, c)
	}
	if err := problems.err(); err != nil {
		return nil, r, err
	}
	return cases, r, nil
}

// building is a case while its columns are read.
type building struct {
	row      Row
	payload  map[string]any
	expected map[string]any
	comment  map[string]any
	id       string
	problems Problems
}

func (b *building) wrong(column, format string, args ...any) {
	b.problems = append(b.problems, Problem{Row: b.row.N, Line: b.row.Line, Column: column, Message: fmt.Sprintf(format, args...)})
}

func (o Options) build(row Row, m Mapping) (c Case, derived bool, problems Problems) {
	b := &building{row: row, payload: map[string]any{}, expected: map[string]any{}, comment: map[string]any{}}
	for _, t := range m {
		b.take(t, row.Fields[t.Column])
	}
	for _, key := range o.Expectations {
		if _, ok := b.expected[key]; !ok {
			b.wrong("", "has no expectation %q, which the pack's scoring reads: --map expected.%s=COLUMN", key, key)
		}
	}
	for _, key := range o.Payload {
		if _, ok := b.payload[key]; !ok {
			b.wrong("", "has no input %q, which the pack's scoring reads: --map input.%s=COLUMN", key, key)
		}
	}
	if len(b.payload) == 0 {
		b.wrong("", "has no input")
	}
	c = Case{Row: row, Case: pack.Case{ChallengeKey: o.Challenge, CaseKey: b.id, Payload: b.payload}}
	if b.id == "" {
		c.CaseKey, derived = contentKey(b.payload, b.expected), true
	}
	for _, key := range slices.Sorted(maps.Keys(b.expected)) {
		kind := "json"
		if _, isText := b.expected[key].(string); isText {
			kind = "text"
		}
		c.Expectations = append(c.Expectations, pack.Expectation{Key: key, Kind: kind, Value: b.expected[key]})
	}
	c.Comment = commentOf(b.comment, o.Proposed)
	return c, derived, b.problems
}

// contentKey is the key of a case that has no other: the same for the same
// content, in whatever file and place it stands.
func contentKey(payload, expected map[string]any) string {
	raw, err := json.Marshal([]any{payload, expected}) // with sorted keys
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return "case-" + hex.EncodeToString(sum[:6])
}

func (b *building) take(t Target, v any) {
	if v == nil || v == "" && t.Role != toInput {
		return
	}
	if why := b.unfit(v, 0); why != "" {
		b.wrong(t.Column, "%s", why)
		return
	}
	switch t.Role {
	case toInput:
		b.put(b.payload, t, v)
	case toExpected:
		b.put(b.expected, t, v)
	case toID:
		b.key(t.Column, v)
	case toMetadata:
		b.comment[t.Column] = v
	case toTags:
		b.comment[toTags] = v
	}
}

// put sets a key, or those of an object that has no name of its own.
func (b *building) put(into map[string]any, t Target, v any) {
	fields := map[string]any{t.Column: v}
	if t.Name != "" {
		fields = map[string]any{t.Name: v}
	} else if object, ok := v.(map[string]any); ok && len(object) > 0 {
		fields = object
	} else if _, name, dotted := strings.Cut(t.Column, "."); dotted {
		fields = map[string]any{name: v}
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		switch _, taken := into[key]; {
		case taken:
			b.wrong(t.Column, "there are two values for %q: give one a name of its own with --map", clip(key))
		case strings.TrimSpace(key) != key || key == "":
			b.wrong(t.Column, "the key %q begins or ends with a space, or is empty", clip(key))
		default:
			into[key] = number(fields[key])
		}
	}
}

func (b *building) key(column string, v any) {
	switch v := v.(type) {
	case string:
		b.id = strings.TrimSpace(v)
	case json.Number:
		b.id = v.String()
	default:
		b.wrong(column, "is %s, and can be no key of a case", kindOf(v))
		return
	}
	switch {
	case len(b.id) > maxKey:
		b.wrong(column, "is longer than %d bytes, and can be no key of a case", maxKey)
	case strings.ContainsFunc(b.id, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }):
		b.wrong(column, "has control characters, and can be no key of a case")
	}
}

// unfit says why a value can be none of a case's.
func (b *building) unfit(v any, depth int) string {
	if depth > maxDepth {
		return fmt.Sprintf("is nested deeper than %d levels", maxDepth)
	}
	switch v := v.(type) {
	case string:
		switch {
		case len(v) > MaxValueBytes:
			return fmt.Sprintf("is longer than %d MiB", MaxValueBytes>>20)
		case !utf8.ValidString(v):
			return "is not UTF-8"
		case strings.ContainsRune(v, 0):
			return "holds a zero byte"
		}
	case json.Number:
		_, inexact := v.Int64()
		if _, err := v.Float64(); err != nil || inexact != nil && !strings.ContainsAny(v.String(), ".eE") {
			return "is a number that cannot be kept exactly: write it as a text"
		}
	case []any:
		for _, item := range v {
			if why := b.unfit(item, depth+1); why != "" {
				return why
			}
		}
	case map[string]any:
		for key, item := range v {
			if why := b.unfit(item, depth+1); why != "" {
				return why
			}
			if !utf8.ValidString(key) || strings.ContainsRune(key, 0) {
				return "has a key that is no text"
			}
		}
	}
	return ""
}

// number is a value with the numbers of Go in it.
func number(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // it was looked at
		return f
	case []any:
		for i := range v {
			v[i] = number(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = number(v[key])
		}
	}
	return v
}

// commentOf is what is known of a case and has no place in it, on one line.
func commentOf(notes map[string]any, proposed bool) string {
	var parts []string
	if proposed {
		parts = append(parts, "proposed: nobody has confirmed the expectation")
	}
	for _, key := range slices.Sorted(maps.Keys(notes)) {
		raw, err := json.Marshal(notes[key])
		if err != nil {
			continue
		}
		text := string(raw)
		if s, ok := notes[key].(string); ok {
			text = s
		}
		parts = append(parts, key+": "+text)
	}
	line := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\ufeff' || !unicode.IsPrint(r) && r != ' ' {
			return ' '
		}
		return r
	}, strings.Join(parts, "; "))
	if len(line) > maxComment {
		line = strings.ToValidUTF8(line[:maxComment], "") + "…"
	}
	return strings.TrimSpace(line)
}
