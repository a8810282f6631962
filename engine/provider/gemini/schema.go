package gemini

import (
	"bytes"
	"encoding/json"
	"slices"
)

// maxSchemaDepth is how deep a schema is read; what is below may be anything.
const maxSchemaDepth = 64

// kept are the keywords of a schema that the vendor understands and that need no
// change.
var kept = []string{"title", "description", "nullable", "minItems", "maxItems", "minProperties", "maxProperties",
	"minLength", "maxLength", "pattern", "minimum", "maximum", "propertyOrdering"}

// formats are those it understands.
var formats = []string{"date-time", "enum", "float", "double", "int32", "int64"}

// parameters makes of a JSON Schema what the vendor takes; nil for a function
// without any. What it refuses is left out, so that it is told less than the
// schema says: tools check their arguments themselves.
func parameters(schema json.RawMessage) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var s map[string]any
	if dec.Decode(&s) != nil {
		return nil
	}
	out := adapt(s, 0)
	if properties, _ := out["properties"].(map[string]any); len(properties) == 0 {
		return nil
	}
	out["type"] = "object"
	raw, err := json.Marshal(out)
	if err != nil { // what JSON decoded always encodes
		return nil
	}
	return raw
}

func adapt(s map[string]any, depth int) map[string]any {
	out := map[string]any{}
	if depth > maxSchemaDepth {
		return out
	}
	for _, key := range kept {
		if v, ok := s[key]; ok {
			out[key] = v
		}
	}
	adaptType(s, out)
	if f, _ := s["format"].(string); slices.Contains(formats, f) {
		out["format"] = f
	}
	if items, ok := s["items"].(map[string]any); ok {
		out["items"] = adapt(items, depth+1)
	} else if out["type"] == "array" {
		out["items"] = map[string]any{"type": "string"} // it insists on knowing
	}
	for _, key := range []string{"anyOf", "oneOf"} { // of which it knows the first
		if list, ok := s[key].([]any); ok && out["anyOf"] == nil {
			out["anyOf"] = adaptAll(list, depth)
		}
	}
	adaptProperties(s, out, depth)
	return out
}

func adaptAll(list []any, depth int) []any {
	out := []any{}
	for _, one := range list {
		if s, ok := one.(map[string]any); ok {
			out = append(out, adapt(s, depth+1))
		}
	}
	return out
}

// adaptType writes a list of types as one that may be null, or as a choice, and
// keeps the values that are texts.
func adaptType(s, out map[string]any) {
	switch t := s["type"].(type) {
	case string:
		out["type"] = t
	case []any:
		var types []any
		for _, one := range t {
			if one == "null" {
				out["nullable"] = true
				continue
			}
			types = append(types, map[string]any{"type": one})
		}
		if len(types) == 1 {
			out["type"] = types[0].(map[string]any)["type"]
		} else if len(types) > 1 {
			out["anyOf"] = types
		}
	}
	values, _ := s["enum"].([]any)
	if c, ok := s["const"]; ok {
		values = []any{c}
	}
	isText := func(v any) bool { _, ok := v.(string); return ok }
	if len(values) > 0 && !slices.ContainsFunc(values, func(v any) bool { return !isText(v) }) {
		out["type"], out["enum"] = "string", values
	}
}

func adaptProperties(s, out map[string]any, depth int) {
	properties, ok := s["properties"].(map[string]any)
	if !ok {
		return
	}
	adapted := map[string]any{}
	for name, p := range properties {
		sub, _ := p.(map[string]any) // true and false say nothing
		adapted[name] = adapt(sub, depth+1)
	}
	if len(adapted) > 0 {
		out["properties"] = adapted
	}
	var required []any
	list, _ := s["required"].([]any)
	for _, name := range list {
		if text, _ := name.(string); adapted[text] != nil { // it refuses names of nothing
			required = append(required, name)
		}
	}
	if len(required) > 0 {
		out["required"] = required
	}
}
