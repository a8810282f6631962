package scoring

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// ConfigKey describes one key of a validator's config. The bounds hold for
// numbers.
type ConfigKey struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"` // string, boolean, number or integer
	Doc      string   `json:"doc"`
	Required bool     `json:"required,omitempty"`
	Default  any      `json:"default,omitempty"`
	Enum     []string `json:"enum,omitempty"`
	Min      *float64 `json:"minimum,omitempty"`
	Max      *float64 `json:"maximum,omitempty"`
	Above    *float64 `json:"exclusive_minimum,omitempty"`
	// later are values the format knows and this version does not have.
	later []string
}

// settings is a config that has been checked: string, bool, float64 and int64
// values by key, defaults filled in. A key that is absent or null has none.
type settings map[string]any

func (s settings) text(key string) string { v, _ := s[key].(string); return v }
func (s settings) flag(key string) bool   { v, _ := s[key].(bool); return v }
func (s settings) has(key string) bool    { _, ok := s[key]; return ok }
func (s settings) number(key string) (float64, bool) {
	v, ok := s[key].(float64)
	return v, ok
}
func (s settings) integer(key string) (int64, bool) {
	v, ok := s[key].(int64)
	return v, ok
}

// readSettings decodes a config strictly: only known keys, of the right type,
// within their bounds. Problems are added at field.
func readSettings(raw json.RawMessage, keys []ConfigKey, field string, p *problems) settings {
	s := settings{}
	var given map[string]json.RawMessage
	if !isNull(raw) {
		if err := json.Unmarshal(raw, &given); err != nil {
			p.add(field, "must be an object")
			return s
		}
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Name
	}
	for _, name := range sortedKeys(given) {
		if !slices.Contains(names, name) {
			p.add(field, "unknown key %s%s", quoted(name), hintConfig(name, names))
		}
	}
	for _, k := range keys {
		value, ok := given[k.Name]
		if ok && !isNull(value) {
			if v := k.read(value, field, p); v != nil {
				s[k.Name] = v
			}
			continue
		}
		if k.Required {
			p.add(field+"."+k.Name, "is required")
		}
		if k.Default != nil {
			s[k.Name] = k.Default
		}
	}
	return s
}

func hintConfig(name string, names []string) string {
	if len(names) == 0 {
		return "; this type takes no config"
	}
	return hint(name, names)
}

func (k ConfigKey) read(raw json.RawMessage, field string, p *problems) any {
	switch k.Type {
	case "string":
		var v string
		if json.Unmarshal(raw, &v) == nil {
			return k.readEnum(v, field, p)
		}
	case "boolean":
		var v bool
		if json.Unmarshal(raw, &v) == nil {
			return v
		}
	default:
		var v float64
		if json.Unmarshal(raw, &v) == nil && raw[0] != '"' {
			return k.readNumber(v, field, p)
		}
	}
	p.add(field, "%s must be a %s", k.Name, k.Type)
	return nil
}

func (k ConfigKey) readEnum(v, field string, p *problems) any {
	switch {
	case len(k.Enum) == 0 || slices.Contains(k.Enum, v):
		return v
	case slices.Contains(k.later, v):
		p.add(field+"."+k.Name, "%s", notYet(k.Name, v))
	default:
		p.add(field+"."+k.Name, "must be one of %s, not %s", strings.Join(k.Enum, ", "), quoted(v))
	}
	return nil
}

func (k ConfigKey) readNumber(v float64, field string, p *problems) any {
	at := field + "." + k.Name
	switch {
	case k.Above != nil && v <= *k.Above:
		p.add(at, "must be greater than %v", *k.Above)
	case k.Min != nil && k.Max != nil && (v < *k.Min || v > *k.Max):
		p.add(at, "must be between %v and %v", *k.Min, *k.Max)
	case k.Min != nil && v < *k.Min:
		p.add(at, "must be at least %v", *k.Min)
	case k.Type != "integer":
		return v
	case v != math.Trunc(v) || math.Abs(v) > 1<<53:
		p.add(field, "%s must be a whole number", k.Name)
	default:
		return int64(v)
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
