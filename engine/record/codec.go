package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/agentclash/agentclash/engine/provider"
)

// fields is a value of the model port as it is recorded: all that is exported and
// not zero, by its JSON key or its name in snake_case, durations in milliseconds.
// What the port gains later is recorded without a change here.
type fields map[string]json.RawMessage

// encode takes a pointer to a struct.
func encode(v any) (fields, error) {
	out := fields{}
	s := reflect.ValueOf(v).Elem()
	for i := range s.NumField() {
		key, of := keyOf(s.Type().Field(i)), s.Field(i)
		if key == "" || of.IsZero() {
			continue
		}
		value := of.Interface()
		if d, ok := value.(time.Duration); ok {
			value = d.Milliseconds()
		}
		raw, err := compact(value)
		if err != nil {
			return nil, err
		}
		out[key] = raw
	}
	return out, nil
}

// maxDuration is the longest that a call, or a wait that a provider asks for, is
// believed to be. A clock can go on by it without running over.
const maxDuration = 50 * 365 * 24 * time.Hour

// decode fills in what v points to.
func (f fields) decode(v any) error {
	s := reflect.ValueOf(v).Elem()
	for i := range s.NumField() {
		key, of := keyOf(s.Type().Field(i)), s.Field(i)
		raw, ok := f[key]
		if key == "" || !ok {
			continue
		}
		if err := json.Unmarshal(raw, of.Addr().Interface()); err != nil {
			return errors.New(key + ": " + err.Error())
		}
		if of.Type() == reflect.TypeFor[time.Duration]() {
			if of.Int() < 0 || of.Int() > maxDuration.Milliseconds() {
				return errors.New(key + ": it is no duration")
			}
			of.SetInt(of.Int() * int64(time.Millisecond))
		}
	}
	return nil
}

// keyOf is the key of a field, "" for one that is not recorded: an error, or on
// whose behalf a call is made.
func keyOf(f reflect.StructField) string {
	tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case !f.IsExported() || tag == "-" || f.Type == reflect.TypeFor[provider.Ref]() || f.Type.Implements(reflect.TypeFor[error]()):
		return ""
	case tag == "":
		tag = snake(f.Name)
	}
	if f.Type == reflect.TypeFor[time.Duration]() {
		tag += "_ms"
	}
	return tag
}

// snake is a Go name in snake_case: ToolCalls is tool_calls, TTFT is ttft.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		starts := i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if starts {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// compact is a value as JSON on one line, < and & as they are.
func compact(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
