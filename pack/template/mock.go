package template

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The strategies of a mock.
const (
	Static = "static" // the same answer to every call
	Lookup = "lookup" // an answer for each value of one argument
	Echo   = "echo"   // an answer made of the call's own arguments
)

// anyValue is the key of a lookup's answer to what has none of its own.
const anyValue = "*"

// Mock is a tool that answers by itself and touches nothing.
type Mock struct {
	Strategy  string         // Static, Lookup or Echo
	Response  any            // of Static
	LookupKey string         // of Lookup: the dotted path of an argument
	Responses map[string]any // of Lookup
	Template  map[string]any // of Echo
}

// Answer returns what the mock says to a call with these arguments. The error
// is a lookup without an answer, in words for the model that made the call.
func (m Mock) Answer(arguments map[string]any) (any, error) {
	switch m.Strategy {
	case Lookup:
		return m.lookUp(arguments)
	case Echo:
		return m.echo(arguments), nil
	}
	return m.Response, nil
}

func (m Mock) lookUp(arguments map[string]any) (any, error) {
	key := ""
	if value, ok := member(arguments, strings.Split(m.LookupKey, ".")); ok {
		key = written(value)
	}
	if answer, ok := m.Responses[key]; ok {
		return answer, nil
	}
	if answer, ok := m.Responses[anyValue]; ok {
		return answer, nil
	}
	return nil, fmt.Errorf("there is no answer for %s %s", quote(m.LookupKey), quote(key))
}

// echo fills what it can: a placeholder of an argument that was not sent stays
// as it is, and so does the whole template when it cannot be filled.
func (m Mock) echo(arguments map[string]any) any {
	filled, err := fill(m.Template, &filler{
		parameters: arguments,
		declared:   func(name string) bool { _, sent := arguments[name]; return sent },
		secret:     func(string) (string, bool, bool) { return "", false, false },
	})
	if err != nil {
		return m.Template
	}
	return filled
}

// mockKeys are what an implementation may say beside `type` when it is a mock,
// with the strategy that reads it.
func mockKeys() map[string]string {
	return map[string]string{"strategy": "", "response": Static, "lookup_key": Lookup, "responses": Lookup, "template": Echo}
}

// mock reads a mock. The format accepts whatever is in it, so that everything
// is a warning; but a mock that cannot answer is of no use to a run.
func (r *reader) mock(d *draft, impl fields) *Mock {
	m := &Mock{Strategy: r.strategy(d, impl)}
	for _, key := range slices.Sorted(maps.Keys(impl.found)) {
		if of, ok := mockKeys()[key]; key != "type" && (!ok || of != "" && of != m.Strategy) {
			r.warn(impl.at(key), "is ignored: the tool is a mock of strategy %s", m.Strategy)
		}
	}
	switch m.Strategy {
	case Static:
		m.Response = impl.value("response")
		if !impl.has("response") {
			r.unusable(d, impl.at("response"), "is required: what the mock answers")
		}
	case Lookup:
		m.LookupKey = r.lookupKey(d, impl)
		m.Responses = r.mapping(d, impl, "responses", "an answer for each value, or for *")
	case Echo:
		m.Template = r.mapping(d, impl, "template", "the answer, with ${...} for arguments of the call")
		r.eachText(m.Template, impl.at("template"), func(p Part, at *spot) {
			if p.Kind == Malformed {
				r.unusable(d, at, "%s", malformed(p))
			}
		})
	}
	return m
}

// strategy is what the mock says it is, or what it looks like.
func (r *reader) strategy(d *draft, impl fields) string {
	text, isText := impl.value("strategy").(string)
	if !isText && impl.value("strategy") != nil {
		r.unusable(d, impl.at("strategy"), "must be %s, %s or %s", Static, Lookup, Echo)
	}
	known := []string{Static, Lookup, Echo}
	name := strings.ToLower(strings.TrimSpace(text))
	switch {
	case slices.Contains(known, name):
		return name
	case name != "":
		r.unusable(d, impl.at("strategy"), "must be %s, %s or %s%s", Static, Lookup, Echo, r.hint(name, known))
	}
	switch {
	case impl.has("lookup_key") || impl.has("responses"):
		return Lookup
	case impl.has("template"):
		return Echo
	}
	return Static
}

func (r *reader) lookupKey(d *draft, impl fields) string {
	key, isText := impl.value("lookup_key").(string)
	switch {
	case !isText && impl.value("lookup_key") != nil:
		r.unusable(d, impl.at("lookup_key"), "must be the name of an argument, not %s", what(impl.value("lookup_key")))
	case strings.TrimSpace(key) == "":
		r.unusable(d, impl.at("lookup_key"), "is required: the argument that decides the answer")
	}
	return key
}

func (r *reader) mapping(d *draft, impl fields, key, purpose string) map[string]any {
	value := impl.value(key)
	m, ok := value.(map[string]any)
	switch {
	case value == nil:
		r.unusable(d, impl.at(key), "is required: %s", purpose)
	case !ok:
		r.unusable(d, impl.at(key), "must be a mapping (%s), not %s", purpose, what(value))
	}
	return m
}
