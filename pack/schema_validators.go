package pack

import "github.com/agentclash/agentclash/scoring"

// validatorRules says for each type of validator what the other keys may hold.
func validatorRules(types []scoring.ValidatorType) []any {
	rules := make([]any, 0, len(types))
	for _, t := range types {
		rules = append(rules, object{
			{"if", object{
				{"properties", object{{"type", object{{"const", t.Name}}}}},
				{"required", []any{"type"}},
			}},
			{"then", validatorOf(t)},
		})
	}
	return rules
}

func validatorOf(t scoring.ValidatorType) object {
	var then, properties object
	if t.NeedsExpected {
		then.set("required", []any{"expected_from"})
		properties.set("expected_from", object{{"$ref", "#/$defs/Reference"}})
	}
	if t.FileTarget {
		properties.set("target", object{{"pattern", `^\s*file:\s*\S`}})
	}
	properties.set("config", configOf(t))
	then.set("properties", properties)
	return then
}

// configOf describes the config of a type. A config that is left out, or null,
// has all defaults; what it requires, it requires once it is there.
func configOf(t scoring.ValidatorType) object {
	var required []any
	properties := object{}
	for _, k := range t.Config {
		if k.Required {
			required = append(required, k.Name)
		}
		properties.set(k.Name, configKey(k))
	}
	if t.Name == scoring.FileContentMatch {
		// Packs in the wild have it; it never meant anything.
		properties.set("mode", object{{"description", "Not read: the key is match_mode."}, {"deprecated", true}})
	}
	def := object{{"type", nullable("object")}, {"additionalProperties", false}, {"properties", properties}}
	if required != nil {
		def.set("required", required)
	}
	return def
}

// configKey describes a key of a config. A type that is not known here is
// anything: the schema refuses nothing that it does not know.
func configKey(k scoring.ConfigKey) object {
	out := object{{"description", sentence(k.Doc)}}
	s := site{required: k.Required, strict: true}
	var enum object
	if len(k.Enum) > 0 {
		list := make([]any, len(k.Enum))
		for i, v := range k.Enum {
			list[i] = v
		}
		enum = object{{"enum", list}}
	}
	switch k.Type {
	case "string", "boolean", "number", "integer", "object":
		out = append(out, s.typed(k.Type)...)
		switch {
		case enum != nil:
			out.set("anyOf", []any{enum, object{{"type", "null"}}})
		case k.Type == "string" && k.Required:
			out.set("pattern", `\S`)
		}
	case "strings", "list":
		out = append(out, s.typed("array")...)
		out.set("items", append(object{{"type", "string"}}, enum...))
	}
	if k.Default != nil {
		out.set("default", k.Default)
	}
	for _, b := range []struct {
		key   string
		value *float64
	}{{"minimum", k.Min}, {"maximum", k.Max}, {"exclusiveMinimum", k.Above}} {
		if b.value != nil {
			out.set(b.key, *b.value)
		}
	}
	return out
}
