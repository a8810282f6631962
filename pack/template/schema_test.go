package template_test

import (
	"strings"
	"testing"

	"github.com/agentclash/agentclash/pack/template"
)

// JSON Schema is what the library santhosh-tekuri/jsonschema says. Where an
// older reading of the format differs the library wins; these are the rows:
//
//	refused here, accepted there   `type: []`, an empty allOf, anyOf or oneOf, a negative minLength and its like
//	accepted here, refused there   a relative $id, an $id that ends in a bare #, $vocabulary, a $ref to a published
//	                               meta-schema (which the library carries), a list of items under an older $schema
//
// Names of types that do not exist are accepted with a warning: nothing fits
// them.
func TestParameters(t *testing.T) {
	t.Parallel()
	const at = "tools.custom[0].parameters"
	const invalid = at + ": is not a valid JSON Schema: "
	for _, row := range []struct {
		schema string
		want   []string
	}{
		{`null`, nil},
		{`{}`, nil},
		{`"x"`, []string{at + `: must be a JSON Schema, which is a mapping, not text "x"`}},
		{`[]`, []string{at + ": not a list"}},
		{`true`, []string{at + ": not true or false"}},
		{`{"properties":[]}`, []string{invalid + "at '/properties': got array, want object"}},
		{`{"properties":{"a":null}}`, []string{invalid + "at '/properties/a': got null"}},
		{`{"required":"a"}`, []string{invalid + "at '/required'"}},
		{`{"required":[1]}`, []string{invalid + "at '/required/0'"}},
		{`{"enum":"a"}`, []string{invalid + "at '/enum'"}},
		{`{"minimum":"3"}`, []string{invalid + "at '/minimum'"}},
		{`{"minLength":1.5}`, []string{invalid + "at '/minLength'"}},
		{`{"title":5}`, []string{invalid + "at '/title'"}},
		{`{"type":5}`, []string{invalid + "at '/type'"}},
		{`{"type":[1]}`, []string{invalid + "at '/type"}},
		{`{"items":[{}]}`, []string{invalid + "at '/items'"}},
		{`{"pattern":"(?=x)"}`, []string{invalid + "at '/pattern'"}},
		{`{"patternProperties":{"(?=x)":{}}}`, []string{invalid}},
		{`{"$ref":"#/$defs/no"}`, []string{at + `: json-pointer in "parameters#/$defs/no" not found`}},
		{`{"$ref":"http://x/y"}`, []string{at + ": nothing is loaded from outside"}},
		{`{"$ref":"other.json"}`, []string{at + ": nothing is loaded from outside"}},
		{`{"$ref":"file:///etc/passwd"}`, []string{at + ": nothing is loaded from outside"}},
		{`{"$schema":"http://bogus/x"}`, []string{at + ": nothing is loaded from outside"}},
		{`{"$id":"http://x/y#frag"}`, []string{invalid + "at '/$id'"}},
		{`{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`, []string{at + `: anchor "x" stands twice`}},
		{`{"minimum":"3","title":5,"required":1,"enum":1,"minLength":-1,"maxLength":"x","pattern":5}`, []string{at + ": ; and 2 more"}},
		// Accepted.
		{`{"unknown":1,"type":"array"}`, nil},
		{`{"properties":{"a":true,"b":false},"definitions":{"a":{}},"$defs":{"b":{}},"enum":[]}`, nil},
		{`{"$schema":"http://json-schema.org/draft-04/schema#"}`, nil},
		{`{"$schema":"http://json-schema.org/draft-07/schema#"}`, nil},
		// Names of types.
		{`{"type":"bogus"}`, []string{"~" + at + `.type: there is no type "bogus": no value is of it`}},
		{`{"properties":{"a":{"items":{"type":["strng","null"]}},"type":{"type":"string"}},"allOf":[{"type":"Integer"}]}`, []string{
			"~" + at + `.allOf[0].type: there is no type "Integer": no value is of it; did you mean "integer"?`,
			"~" + at + `.properties.a.items.type: there is no type "strng": no value is of it; did you mean "string"?`}},
		{`{"enum":[{"type":"bogus"}],"default":{"type":"bogus"},"const":{"type":"bogus"}}`, nil},
		{`{"type":"bogus","$schema":"http://json-schema.org/draft-04/schema#"}`, []string{"~" + at + ".type: there is no type"}},
		// Where the library decides.
		{`{"type":[]}`, []string{invalid + "at '/type': minItems"}},
		{`{"allOf":[]}`, []string{invalid + "at '/allOf': minItems"}},
		{`{"minProperties":-1}`, []string{invalid + "at '/minProperties': minimum"}},
		{`{"$id":"relative"}`, nil},
		{`{"$id":"http://x/y#"}`, nil},
		{`{"$vocabulary":{"http://x":true}}`, nil},
		{`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, nil},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{}]}`, nil},
	} {
		t.Run(row.schema, func(t *testing.T) {
			t.Parallel()
			tools, problems := template.ReadTools(decode(t, `{"custom":[{"name":"a","parameters":`+row.schema+`,"implementation":{"primitive":"exec","args":{}}}]}`))
			said(t, row.want, problems)
			refused := len(row.want) > 0 && !strings.HasPrefix(row.want[0], "~")
			if (tools.Custom[0].Schema == nil) != refused {
				t.Errorf("schema: %v", tools.Custom[0].Schema)
			}
		})
	}
}

// What a schema says is what calls are held to.
func TestSchemaOfCalls(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		schema, call string
		fits         bool
	}{
		{`{"properties":{"a":{"type":"integer"}}}`, `{"a":1}`, true},
		{`{"properties":{"a":{"type":"integer"}}}`, `{"a":"1"}`, false},
		{`{"properties":{"a":{"type":"bogus"}}}`, `{"a":1}`, false},
		{`{"properties":{"a":{"type":"bogus","not":{"type":"string"}}}}`, `{"a":1}`, false},
		{`{"properties":{"a":{"type":"bogus"}}}`, `{}`, true},
		{`{"properties":{"a":{"type":["bogus","null"]}}}`, `{"a":null}`, true},
		{`{"properties":{"a":{"type":["bogus","null"]}}}`, `{"a":1}`, false},
		{`{"properties":{"a":{"pattern":"^x+$"}}}`, `{"a":"xx"}`, true},
		{`{"properties":{"a":{"pattern":"^x+$"}}}`, `{"a":"xy"}`, false},
		{`{"patternProperties":{"^x":{"type":"number"}}}`, `{"x1":1,"y":"z"}`, true},
		{`{"patternProperties":{"^x":{"type":"number"}}}`, `{"x1":"1"}`, false},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"format":"email"}}}`, `{"a":"none"}`, true},
	} {
		tools, problems := template.ReadTools(decode(t, `{"custom":[{"name":"a","parameters":`+row.schema+`,"implementation":{"primitive":"exec","args":{}}}]}`))
		if tools.Custom[0].Schema == nil {
			t.Errorf("%s: %v", row.schema, problems)
			continue
		}
		if err := tools.Custom[0].Schema.Validate(decode(t, row.call)); (err == nil) != row.fits {
			t.Errorf("%s of %s: %v", row.call, row.schema, err)
		}
		if got := string(tools.Custom[0].Parameters); strings.Contains(row.schema, "bogus") && !strings.Contains(got, "bogus") {
			t.Errorf("models would see %s", got)
		}
	}
}
