package template

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

const (
	// maxFilled bounds what a call's arguments may grow to: ${parameters}
	// can stand in them any number of times.
	maxFilled = 4 << 20
	// maxMissing bounds how many missing arguments an error names.
	maxMissing = 10
)

// Fill returns the arguments that the tool's delegate is called with when the
// tool is called with parameters. They may share structure with parameters,
// whose numbers are best json.Number, so that they are written as they came.
//
// A text that is one placeholder becomes its value, whatever its type; inside
// a longer text a value is written out, a string as it is and everything else
// as compact JSON. An encoding always makes text. What is filled in is not
// looked at again. The error says which parameters or secrets are missing, in
// words for the model that made the call, or that the result is too large.
func (c Composed) Fill(parameters map[string]any, secrets map[string]string) (map[string]any, error) {
	return fill(c.Args, &filler{
		parameters: parameters,
		declared:   func(name string) bool { return c.declared[name] },
		secret: func(name string) (string, bool, bool) {
			value, ok := secrets[name]
			return value, true, ok
		},
	})
}

// filler fills the texts of one call.
type filler struct {
	parameters map[string]any
	// declared says whether a name is a parameter; if not, its placeholder
	// is text.
	declared func(name string) bool
	// secret looks up a secret; when there are none to be had at all
	// (known is false), its placeholder is text.
	secret func(name string) (value string, known, ok bool)

	size    int
	missing []string
	err     error
}

func fill(args map[string]any, f *filler) (map[string]any, error) {
	if f.parameters == nil {
		f.parameters = map[string]any{}
	}
	filled := f.object(args)
	switch {
	case f.err != nil:
		return nil, f.err
	case len(f.missing) > 0:
		return nil, missing(f.missing)
	}
	return filled, nil
}

func missing(placeholders []string) error {
	slices.Sort(placeholders)
	placeholders = slices.Compact(placeholders)
	more := ""
	if n := len(placeholders) - maxMissing; n > 0 {
		placeholders, more = placeholders[:maxMissing], fmt.Sprintf(" and %d more", n)
	}
	for i, p := range placeholders {
		placeholders[i] = quote(p)
	}
	return errors.New("nothing was given for " + strings.Join(placeholders, ", ") + more)
}

// spend books what an output grows by and says whether there is room.
func (f *filler) spend(n int) bool {
	f.size += n
	if f.err == nil && f.size > maxFilled {
		f.err = fmt.Errorf("the filled arguments are longer than %d MiB", maxFilled>>20)
	}
	return f.err == nil
}

func (f *filler) object(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for key, value := range m {
		out[key] = f.value(value)
	}
	return out
}

func (f *filler) value(v any) any {
	if f.err != nil {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		return f.object(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = f.value(item)
		}
		return out
	case string:
		return f.text(v)
	}
	return v
}

func (f *filler) text(text string) any {
	parts := Parse(text)
	if len(parts) == 1 && parts[0].Encoding == "" {
		value, ok := f.resolve(parts[0])
		if !ok {
			value = text
		}
		f.spend(len(written(value)))
		return value
	}
	var b strings.Builder
	for _, p := range parts {
		piece := p.Text
		if value, ok := f.resolve(p); ok {
			piece = encode(value, p.Encoding)
		}
		if !f.spend(len(piece)) {
			return nil
		}
		b.WriteString(piece)
	}
	return b.String()
}

// resolve finds the value of a part; without one the part is text.
func (f *filler) resolve(p Part) (value any, ok bool) {
	switch p.Kind {
	case Parameters:
		return f.parameters, true
	case Secret:
		value, known, ok := f.secret(p.Name)
		if known && !ok {
			f.missing = append(f.missing, "secrets."+p.Name)
		}
		return value, ok
	case Parameter:
		if !f.declared(p.Path[0]) {
			return nil, false
		}
		value, ok := member(f.parameters, p.Path)
		if !ok {
			f.missing = append(f.missing, strings.Join(p.Path, "."))
		}
		return value, ok
	}
	return nil, false
}

// member walks down mappings only. A null at the end counts as a value.
func member(v any, path []string) (any, bool) {
	for _, key := range path {
		m, isMap := v.(map[string]any)
		if !isMap {
			return nil, false
		}
		var ok bool
		if v, ok = m[key]; !ok {
			return nil, false
		}
	}
	return v, true
}

func encode(value any, encoding string) string {
	switch encoding {
	case "json":
		return compact(value)
	case "query":
		return url.QueryEscape(written(value))
	case "path":
		return url.PathEscape(written(value))
	}
	return written(value)
}

// written is a value inside a text.
func written(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	return compact(value)
}

// compact is a value as JSON on one line, < and & as they are.
func compact(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return "" // neither a decoded pack nor a decoded call holds such a value
	}
	return strings.TrimSuffix(b.String(), "\n")
}
