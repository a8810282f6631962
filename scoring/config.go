package scoring

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// The types of a config key.
const (
	KeyString  = "string"
	KeyBoolean = "boolean"
	KeyNumber  = "number"
	KeyInteger = "integer"
	KeyStrings = "strings" // a list of strings
	KeyObject  = "object"
	KeyAny     = "any" // null is a value
)

// ConfigKey describes one key of a validator's config. The bounds hold for
// numbers. What a rule across several keys asks for is not in it.
type ConfigKey struct {
	Name     string `json:"name"`
	Type     string `json:"type"` // one of the Key constants
	Doc      string `json:"doc"`
	Required bool   `json:"required,omitempty"`
	// Default is what an absent key stands for; nil is no value at all.
	Default any `json:"default,omitempty"`
	// Enum is what a string, or an item of a list, may be.
	Enum  []string `json:"enum,omitempty"`
	Min   *float64 `json:"minimum,omitempty"`
	Max   *float64 `json:"maximum,omitempty"`
	Above *float64 `json:"exclusive_minimum,omitempty"`
	// at is the key where a value out of bounds is reported, by default its
	// own: older forms are read as the newer ones.
	at string
}

// settings is a config that has been read, the defaults filled in.
type settings struct {
	values map[string]any // string, bool, float64, int64, []string or json.RawMessage
	given  map[string]bool
}

func (s settings) text(key string) string         { v, _ := s.values[key].(string); return v }
func (s settings) flag(key string) bool           { v, _ := s.values[key].(bool); return v }
func (s settings) list(key string) []string       { v, _ := s.values[key].([]string); return v }
func (s settings) raw(key string) json.RawMessage { v, _ := s.values[key].(json.RawMessage); return v }

// string is the text in a key that may hold anything, "" for another value.
func (s settings) string(key string) string {
	var v string
	_ = json.Unmarshal(s.raw(key), &v) // the config's own check wants a text
	return v
}

func (s settings) integer(key string) (int64, bool) { v, ok := s.values[key].(int64); return v, ok }
func (s settings) number(key string) (float64, bool) {
	v, ok := s.values[key].(float64)
	return v, ok
}

// has says that the config gives the key a value.
func (s settings) has(key string) bool { return s.given[key] }

// anyOf says that the config gives one of the keys a value.
func (s settings) anyOf(keys ...string) bool { return slices.ContainsFunc(keys, s.has) }

// configReader reads the config of one validator. What no strict reader could
// decode, unknown keys and values of the wrong type, is one problem of the
// config as a whole; a value out of bounds is a problem of its key.
type configReader struct {
	row   *validatorType
	field string
	*problems
	strict []string
	broken map[string]bool // keys whose value could not be decoded
}

// read returns what the config says; without problems ok is true. A config
// that is left out has the defaults.
func (r *configReader) read(raw json.RawMessage) (s settings, ok bool) {
	before := len(*r.problems)
	s = settings{values: map[string]any{}, given: map[string]bool{}}
	for _, k := range r.row.Config {
		if k.Default != nil {
			s.values[k.Name] = k.Default
		}
	}
	if isNull(raw) {
		r.absent()
		return s, !r.row.NeedsConfig
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(raw, &given) != nil {
		r.add(r.field, "must be an object")
		return s, false
	}
	r.broken = map[string]bool{}
	r.unknown(given)
	r.decode(given, s)
	if len(r.strict) > 0 {
		r.add(r.field, "%s", clipTo(strings.Join(r.strict, "; also "), maxReason))
	}
	r.bounds(s)
	if len(r.strict) == 0 && r.row.check != nil {
		r.row.check(s, r.problems, r.field)
	}
	return s, len((*r.problems)[before:].errors()) == 0
}

// absent speaks of a config that is left out. The format skips all checks
// then, but for types that mean nothing without one.
func (r *configReader) absent() {
	switch {
	case r.row.NeedsConfig:
		r.add(r.field, "is required: %s", r.row.bare)
	case r.row.bare != "":
		r.warn(r.field, "%s", r.row.bare)
	}
}

// maxUnknown is how many unknown keys of one config are named.
const maxUnknown = 10

func (r *configReader) unknown(given map[string]json.RawMessage) {
	names := make([]string, len(r.row.Config))
	for i, k := range r.row.Config {
		names[i] = k.Name
	}
	unknown := 0
	for _, name := range sortedKeys(given) {
		right, misnamed := r.row.misnamed[name]
		switch {
		case slices.Contains(names, name):
		case misnamed:
			r.warn(r.field+"."+name, "is not read: the key is %s", right)
		case unknown == maxUnknown:
			r.strict = append(r.strict, "more unknown keys")
			return
		default:
			unknown++
			r.strict = append(r.strict, fmt.Sprintf("unknown key %s%s", quoted(name), hintConfig(name, names)))
		}
	}
}

func hintConfig(name string, names []string) string {
	if len(names) == 0 {
		return "; this type takes no config"
	}
	return hint(name, names)
}

// decode fills in the keys that are given and have the right type. Null is the
// same as left out, but for keys that may hold anything.
func (r *configReader) decode(given map[string]json.RawMessage, s settings) {
	for _, k := range r.row.Config {
		raw, ok := given[k.Name]
		if !ok || isNull(raw) && k.Type != KeyAny {
			continue
		}
		v, wanted := k.decode(raw)
		if wanted != "" {
			r.strict = append(r.strict, k.Name+" must be "+wanted)
			r.broken[k.Name] = true
			continue
		}
		s.values[k.Name], s.given[k.Name] = v, true
	}
}

// decode reads a value; for one of the wrong type it says what is wanted.
func (k ConfigKey) decode(raw json.RawMessage) (v any, wanted string) {
	switch k.Type {
	case KeyString:
		return decodeAs[string](raw, "a text")
	case KeyBoolean:
		return decodeAs[bool](raw, "true or false")
	case KeyNumber:
		return decodeAs[float64](raw, "a number")
	case KeyInteger:
		return decodeInteger(raw)
	case KeyStrings:
		return decodeList(raw)
	case KeyObject:
		if raw[0] != '{' {
			return nil, "an object"
		}
	}
	return json.RawMessage(bytes.Clone(raw)), ""
}

func decodeAs[T any](raw json.RawMessage, name string) (any, string) {
	var v T
	if json.Unmarshal(raw, &v) != nil {
		return nil, name
	}
	return v, ""
}

func decodeInteger(raw json.RawMessage) (any, string) {
	var f float64
	if json.Unmarshal(raw, &f) != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return nil, "a whole number"
	}
	return int64(f), ""
}

func decodeList(raw json.RawMessage) (any, string) {
	var items []*string // a null is no text
	if json.Unmarshal(raw, &items) != nil || slices.Contains(items, nil) {
		return nil, "a list of texts"
	}
	list := make([]string, len(items))
	for i, item := range items {
		list[i] = *item
	}
	return list, ""
}

// bounds checks the values that could be decoded, and that none is lacking.
func (r *configReader) bounds(s settings) {
	for _, k := range r.row.Config {
		at := r.field + "." + k.Name
		if k.at != "" {
			at = r.field + "." + k.at
		}
		wrong := ""
		switch v := s.values[k.Name].(type) {
		case string:
			wrong = k.enumerated(v)
		case []string:
			r.items(k, at, v)
		case float64:
			wrong = k.bounded(v)
		case int64:
			wrong = k.bounded(float64(v))
		}
		switch {
		case wrong != "":
			r.add(at, "%s", wrong)
		case k.Required && !s.given[k.Name] && !r.broken[k.Name]:
			r.add(at, "is required")
		}
	}
}

// items checks a list item by item.
func (r *configReader) items(k ConfigKey, at string, list []string) {
	for i, item := range list {
		if wrong := k.enumerated(item); wrong != "" {
			r.add(fmt.Sprintf("%s[%d]", at, i), "%s", wrong)
		}
	}
}

func (k ConfigKey) enumerated(v string) string {
	if len(k.Enum) == 0 || slices.Contains(k.Enum, v) {
		return ""
	}
	return fmt.Sprintf("must be one of %s, not %s%s", strings.Join(k.Enum, ", "), quoted(v), meant(v, k.Enum))
}

func (k ConfigKey) bounded(v float64) string {
	name := ""
	if k.at != "" {
		name = k.Name + " "
	}
	switch {
	case k.Above != nil && v <= *k.Above:
		return fmt.Sprintf("%smust be greater than %v", name, *k.Above)
	case k.Min != nil && k.Max != nil && (v < *k.Min || v > *k.Max):
		return fmt.Sprintf("%smust be between %v and %v", name, *k.Min, *k.Max)
	case k.Min != nil && v < *k.Min:
		return fmt.Sprintf("%smust be at least %v", name, *k.Min)
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
