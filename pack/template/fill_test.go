package template_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/pack/template"
)

func TestParse(t *testing.T) {
	t.Parallel()
	literal := func(text string) template.Part { return template.Part{Text: text} }
	parameter := func(text, encoding string, path ...string) template.Part {
		return template.Part{Kind: template.Parameter, Text: text, Encoding: encoding, Path: path}
	}
	for _, row := range []struct {
		text string
		want []template.Part
	}{
		{"", nil},
		{"$x } {{x}} $", []template.Part{literal("$x } {{x}} $")}},
		{"a${x}b", []template.Part{literal("a"), parameter("${x}", "", "x"), literal("b")}},
		{`\${x}$${y}`, []template.Part{literal(`\`), parameter("${x}", "", "x"), literal("$"), parameter("${y}", "", "y")}},
		{"${${a}}", []template.Part{parameter("${${a}", "", "${a"), literal("}")}},
		{"${a.b..c.}", []template.Part{parameter("${a.b..c.}", "", "a", "b", "", "c", "")}},
		{"${parameters}${json:parameters}", []template.Part{
			{Kind: template.Parameters, Text: "${parameters}"}, {Kind: template.Parameters, Text: "${json:parameters}", Encoding: "json"}}},
		{"${parameters.x}${ parameters}", []template.Part{parameter("${parameters.x}", "", "parameters", "x"), parameter("${ parameters}", "", " parameters")}},
		{"${secrets.A.b}${path:secrets.A}", []template.Part{
			{Kind: template.Secret, Text: "${secrets.A.b}", Name: "A.b"}, {Kind: template.Secret, Text: "${path:secrets.A}", Name: "A", Encoding: "path"}}},
		{"${secrets}${secrets. }", []template.Part{parameter("${secrets}", "", "secrets"), parameter("${secrets. }", "", "secrets", " ")}},
		{"${json:json:x}${html:x}${JSON:x}", []template.Part{
			parameter("${json:json:x}", "json", "json:x"), parameter("${html:x}", "", "html:x"), parameter("${JSON:x}", "", "JSON:x")}},
		{"${}${ \t}${query: }${", []template.Part{
			{Kind: template.Malformed, Text: "${}"}, {Kind: template.Malformed, Text: "${ \t}"},
			{Kind: template.Malformed, Text: "${query: }", Encoding: "query"}, {Kind: template.Malformed, Text: "${"}}},
	} {
		if diff := cmp.Diff(row.want, template.Parse(row.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.text, diff)
		}
	}
}

// exact decodes as an engine does, with numbers as they are written.
func exact(t testing.TB, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return m
}

// composed is the only tool of a pack, with the given args.
func composed(t testing.TB, args map[string]any) template.Composed {
	t.Helper()
	tools, _ := template.ReadTools(map[string]any{"custom": []any{map[string]any{
		"name": "a",
		"parameters": map[string]any{"properties": map[string]any{
			"s": nil, "n": true, "m": true, "l": true, "z": true, "t": true, "q": true, "secrets": true, "gone": true, "also": true}},
		"implementation": map[string]any{"primitive": "http_request", "args": args},
	}}})
	return *tools.Custom[0].Composed
}

func TestFillArgs(t *testing.T) {
	t.Parallel()
	const call = `{"s":"a b&<\"/é","n":12345678901234567890,"m":{"k":{"deep":1.50},"x.y":2,"":3},"l":[1,"<"],"z":null,"t":true,"q":"${s} ${secrets.K}","extra":1,"secrets":"mine"}`
	for _, row := range []struct{ name, args, want, fault string }{
		{"texts", `{"a":"<${s}>","b":["${s}",{"c":"${s}${s}"}]}`, `{"a":"<a b&<\"/é>","b":["a b&<\"/é",{"c":"a b&<\"/éa b&<\"/é"}]}`, ""},
		{"a whole text keeps its type", `{"a":"${n}","b":"${m}","c":"${l}","d":"${z}","e":"${t}","f":"${m.k.deep}","g":"${m.}"}`,
			`{"a":12345678901234567890,"b":{"k":{"deep":1.50},"x.y":2,"":3},"c":[1,"<"],"d":null,"e":true,"f":1.50,"g":3}`, ""},
		{"inside a text values are JSON", `{"a":"n ${n} ${l} ${z} ${t} ${m.k}"}`, `{"a":"n 12345678901234567890 [1,\"<\"] null true {\"deep\":1.50}"}`, ""},
		{"encodings", `{"a":"${json:s}","b":"${query:s}","c":"${path:s}","d":"${json:n}","e":"${query:l}"}`,
			`{"a":"\"a b&<\\\"/é\"","b":"a+b%26%3C%22%2F%C3%A9","c":"a%20b&%3C%22%2F%C3%A9","d":"12345678901234567890","e":"%5B1%2C%22%3C%22%5D"}`, ""},
		{"all parameters, whole and inside", `{"a":"${parameters}","b":"${json:parameters}","c":"is ${parameters}"}`,
			`{"a":` + call + `,"b":` + quoted(t, call) + `,"c":` + quoted(t, "is ", call) + `}`, ""},
		{"secrets", `{"a":"Bearer ${secrets.K}","b":"${query:secrets.K}","c":"${secrets.K}","d":"${secrets}"}`, `{"a":"Bearer p q","b":"p+q","c":"p q","d":"mine"}`, ""},
		{"nothing is looked at twice", `{"a":"${q}","b":"x${q}"}`, `{"a":"${s} ${secrets.K}","b":"x${s} ${secrets.K}"}`, ""},
		{"what is not declared is text", `{"a":"${extra}","b":"x ${nope.x} ${} ${ s }","c":"${","${s}":1}`, `{"a":"${extra}","b":"x ${nope.x} ${} ${ s }","c":"${","${s}":1}`, ""},
		{"what is no text stays", `{"a":5,"b":[true,null],"c":{}}`, `{"a":5,"b":[true,null],"c":{}}`, ""},
		{"missing", `{"a":"${gone}","b":"x ${also} ${gone}","c":"${m.k.no}","d":"${s.x}${l.0}","e":"${secrets.NO}"}`, "",
			`nothing was given for "also", "gone", "l.0", "m.k.no", "s.x", "secrets.NO"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := composed(t, exact(t, row.args)).Fill(exact(t, call), map[string]string{"K": "p q"})
			if row.fault != "" {
				if err == nil || err.Error() != row.fault || got != nil {
					t.Errorf("got %v, %v; want %s", got, err, row.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(exact(t, row.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// quoted is JSON as it stands inside a text: keys sorted, on one line.
func quoted(t testing.TB, parts ...string) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(exact(t, parts[len(parts)-1])); err != nil {
		t.Fatal(err)
	}
	parts[len(parts)-1] = strings.TrimSpace(b.String())
	text, err := json.Marshal(strings.Join(parts, ""))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFillFromNothing(t *testing.T) {
	t.Parallel()
	c := composed(t, map[string]any{"a": "${parameters}", "b": "x${parameters}"})
	got, err := c.Fill(nil, nil) // a call with null for its arguments
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"a": map[string]any{}, "b": "x{}"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An agreed example: what models put into an address and into a JSON body.
func TestFillAddress(t *testing.T) {
	t.Parallel()
	c := composed(t, map[string]any{"url": "https://x/${path:s}?q=${query:q}", "body": `{"message":${json:m}}`})
	got, err := c.Fill(map[string]any{"s": "a/b c", "q": "a&b c", "m": "say \"hi\"\nnow"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"url": "https://x/a%2Fb%20c?q=a%26b+c", "body": `{"message":"say \"hi\"\nnow"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A few bytes of a pack and of a call cannot become gigabytes.
func TestFillIsBounded(t *testing.T) {
	t.Parallel()
	large := map[string]any{"s": strings.Repeat("x", 1<<20)}
	for _, text := range []string{strings.Repeat("${parameters}", 1000), strings.Repeat("${s}", 5)} {
		if _, err := composed(t, map[string]any{"a": text}).Fill(large, nil); err == nil || !strings.Contains(err.Error(), "longer than 4 MiB") {
			t.Errorf("%.20s: %v", text, err)
		}
	}
	list := make([]any, 1000)
	for i := range list {
		list[i] = "${parameters}"
	}
	if _, err := composed(t, map[string]any{"a": list}).Fill(large, nil); err == nil {
		t.Error("a thousand times the parameters were filled in")
	}
	many := make([]any, 1000)
	for i := range many {
		many[i] = "${s." + strings.Repeat("k", i) + "}"
	}
	if _, err := composed(t, map[string]any{"a": many}).Fill(large, nil); err == nil || len(err.Error()) > 1000 || !strings.HasSuffix(err.Error(), "and 990 more") {
		t.Errorf("missing: %v", err)
	}
}

func TestMockAnswer(t *testing.T) {
	t.Parallel()
	const lookup = `"lookup_key":"user.city","responses":{"Graz":{"t":20},"":"none sent",` // and what else there is
	for _, row := range []struct{ name, mock, call, want string }{
		{"static", `"response":{"ok":true}`, `{"x":1}`, `{"ok":true}`},
		{"static null", `"strategy":"static","response":null`, `{}`, `null`},
		{"looked up", lookup + `"*":"else"}`, `{"user":{"city":"Graz"}}`, `{"t":20}`},
		{"looked up, missing", lookup + `"*":"else"}`, `{"user":"x"}`, `"none sent"`},
		{"looked up, any other", lookup + `"*":"else"}`, `{"user":{"city":"Linz"}}`, `"else"`},
		{"looked up, no answer", lookup + `"x":1}`, `{"user":{"city":"Linz"}}`, `there is no answer for "user.city" "Linz"`},
		{"looked up, no text", `"lookup_key":"k","responses":{"5":"five","{\"a\":[1,\"<\"]}":"object","true":"yes","null":"nothing"}`, `{"k":{"a":[1,"<"]}}`, `"object"`},
		{"looked up, a number", `"lookup_key":"k","responses":{"5":"five"}`, `{"k":5}`, `"five"`},
		{"looked up, null", `"lookup_key":"k","responses":{"null":"nothing"}`, `{"k":null}`, `"nothing"`},
		{"echo", `"template":{"a":"${x}","b":"got ${json:y.z}","c":"${nope} ${secrets.K} ${","d":"${parameters}","e":"x${"}`, `{"x":5,"y":{"z":"q"}}`,
			`{"a":5,"b":"got \"q\"","c":"${nope} ${secrets.K} ${","d":{"x":5,"y":{"z":"q"}},"e":"x${"}`},
		{"echo that cannot be filled", `"template":{"a":"${x}","b":"${y.z}"}`, `{"x":5,"y":{}}`, `{"a":"${x}","b":"${y.z}"}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			tools, _ := template.ReadTools(exact(t, `{"custom":[{"name":"m","implementation":{"type":"mock",`+row.mock+`}}]}`))
			answer, err := tools.Custom[0].Mock.Answer(exact(t, row.call))
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				b, err := json.Marshal(answer)
				if err != nil {
					t.Fatal(err)
				}
				got = string(b)
			}
			if got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

// What a mock lacks is a warning, since the format looks at none of it.
func TestMockProblems(t *testing.T) {
	t.Parallel()
	const at = "~tools.custom[0].implementation"
	for _, row := range []struct {
		mock string
		want []string
	}{
		{``, []string{at + ".response: is required"}},
		{`,"strategy":" STATIC ","response":0`, nil},
		{`,"strategy":"lokup","response":0`, []string{at + `.strategy: must be static, lookup or echo; did you mean "lookup"?; no run`}},
		{`,"strategy":5,"response":0`, []string{at + ".strategy: must be static"}},
		{`,"strategy":"lookup"`, []string{at + ".lookup_key: is required", at + ".responses: is required"}},
		{`,"lookup_key":"a"`, []string{at + ".responses: is required"}},
		{`,"responses":[]`, []string{at + ".lookup_key: is required", at + ".responses: must be a mapping"}},
		{`,"lookup_key":["a"],"responses":{}`, []string{at + ".lookup_key: must be the name of an argument, not a list"}},
		{`,"lookup_key":" ","responses":{}`, []string{at + ".lookup_key: is required"}},
		{`,"template":"x"`, []string{at + ".template: must be a mapping"}},
		{`,"strategy":"echo"`, []string{at + ".template: is required"}},
		{`,"template":{"b":"${ }","a":["${any}","${","${json:x}"]}`, []string{at + `.template.a[1]: "${" has no }`, at + `.template.b: "${ }" names nothing`}},
		{`,"strategy":"static","response":0,"template":{"a":"${"}`, []string{at + ".template: is ignored: the tool is a mock of strategy static"}},
		{`,"response":0,"primitive":"exec","args":5`, []string{at + ".args: is ignored", at + ".primitive: is ignored"}},
	} {
		t.Run(row.mock, func(t *testing.T) {
			t.Parallel()
			tools, problems := template.ReadTools(decode(t, `{"custom":[{"name":"m","implementation":{"type":"mock"`+row.mock+`}}]}`))
			said(t, row.want, problems)
			ignored := len(row.want) > 0 && strings.Contains(row.want[0], "is ignored")
			if unusable := tools.Custom[0].Unusable != ""; unusable != (len(row.want) > 0 && !ignored) {
				t.Errorf("unusable: %q", tools.Custom[0].Unusable)
			}
		})
	}
}

// Parts add up to the text; what is filled in is what Parse found and nothing
// else, whatever the values look like.
func FuzzFillArgs(f *testing.F) {
	f.Add("a ${s} ${json:q} ${m.k}", "${s}", "k")
	f.Add("${${s}}${", "}", "")
	f.Add("${parameters}", "${parameters}", "s")
	f.Add("${path:secrets.K}${ }", "x", "..")
	f.Fuzz(func(t *testing.T, text, value, key string) {
		whole, want, plain := "", "", true
		for _, p := range template.Parse(text) {
			whole += p.Text
			switch {
			case p.Text == "${s}":
				want += value
			case p.Kind == template.Literal, p.Kind == template.Malformed:
				want += p.Text
			default:
				plain = false
			}
		}
		if whole != text {
			t.Fatalf("parts of %q add up to %q", text, whole)
		}
		parameters := map[string]any{"s": value, "q": value, "m": map[string]any{key: value}, "l": []any{value}}
		filled, err := composed(t, map[string]any{"a": text, "b": []any{text}}).Fill(parameters, map[string]string{"K": value})
		if err != nil {
			return
		}
		if plain && filled["a"] != want {
			t.Errorf("%q became %q, want %q", text, filled["a"], want)
		}
		if _, err := json.Marshal(filled); err != nil {
			t.Errorf("%q cannot be handed on: %v", text, err)
		}
		if diff := cmp.Diff(filled["a"], filled["b"].([]any)[0]); diff != "" {
			t.Errorf("%q becomes two things:\n%s", text, diff)
		}
	})
}

// Whatever a tools block holds: no panic, an answer that can be marshalled, and
// the same problems every time.
func FuzzReadTools(f *testing.F) {
	f.Add([]byte(`{"custom":[{"name":"a","parameters":{"properties":{"x":{"type":"bogus"}}},"implementation":{"primitive":"exec","args":{"c":"${x} ${y}"}}}]}`))
	f.Add([]byte(`{"custom":[{"name":"m","implementation":{"type":"mock","template":{"a":"${"}}}],"allowed":["x"],"denied":"y"}`))
	f.Add([]byte(`{"Custom":[{"parameters":{"$ref":"#/$defs/a","$defs":{"a":{"type":["x",1],"not":{}}},"pattern":"(?="}}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var block map[string]any
		if json.Unmarshal(doc, &block) != nil {
			return
		}
		tools, problems := template.ReadTools(block)
		_, again := template.ReadTools(block)
		if diff := cmp.Diff(problems, again); diff != "" {
			t.Errorf("not the same twice:\n%s", diff)
		}
		for _, p := range problems {
			if !strings.HasPrefix(p.Field, "tools") || p.Message == "" {
				t.Errorf("%+v", p)
			}
		}
		for _, c := range tools.Custom {
			if len(c.Parameters) > 0 && !json.Valid(c.Parameters) {
				t.Errorf("parameters %q", c.Parameters)
			}
			if c.Mock != nil {
				_, _ = c.Mock.Answer(block)
			}
			if c.Composed != nil {
				_, _ = c.Composed.Fill(block, nil)
			}
		}
	})
}
