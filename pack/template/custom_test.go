package template_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/pack/template"
)

// decode reads the JSON that a row is written in.
func decode(t testing.TB, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return m
}

// said checks problems against "field: part of the message", "~" before a
// warning, in order.
func said(t testing.TB, want []string, got []template.Problem) {
	t.Helper()
	lines := make([]string, len(got))
	for i, p := range got {
		if lines[i] = p.Field + ": " + p.Message; p.Warning {
			lines[i] = "~" + lines[i]
		}
	}
	ok := len(want) == len(lines)
	for i := 0; ok && i < len(want); i++ {
		field, part, _ := strings.Cut(want[i], ": ")
		ok = strings.HasPrefix(lines[i], field+": ") && strings.Contains(lines[i], part)
	}
	if !ok {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(lines, "\n  "), strings.Join(want, "\n  "))
	}
}

// Each row is a tools block and what must be said about it. Names beginning
// with "row" are agreed examples under their numbers.
func TestReadTools(t *testing.T) {
	t.Parallel()
	const (
		t0   = "tools.custom[0]"
		impl = t0 + ".implementation"
		args = impl + ".args"
	)
	for _, row := range []struct {
		name, block string
		want        []string
	}{
		{"nothing", `{}`, nil},
		{"row 56 null", `{"custom":null}`, nil},
		{"row 56 mapping", `{"custom":{}}`, []string{"tools: custom must be a list of tools, not a mapping"}},
		{"row 56 text", `{"custom":"x"}`, []string{`tools: custom must be a list of tools, not text "x"`}},
		{"an item that is no tool", `{"custom":[{"name":"a"},"x",3]}`, []string{"tools: custom[1] must be a tool", "tools: custom[2] must be a tool, not a number"}},
		{"a name that is no text stops everything", `{"custom":[{"name":"a"},{"name":5}]}`, []string{"tools: custom[1].name must be text, not a number"}},
		{"row 57", `{"custom":[{}]}`, []string{impl + ": is required", "~" + t0 + ".name: is required"}},
		{"a null tool is an empty one", `{"custom":[null]}`, []string{impl + ": is required", "~" + t0 + ".name: is required"}},
		{"row 58", `{"custom":[{"name":"a","implementation":null}]}`, []string{impl + ".primitive: is required", args + ": is required"}},
		{"implementation no mapping", `{"custom":[{"name":"a","implementation":[1]}]}`, []string{impl + ": must be a mapping, not a list"}},
		{"type and primitive no text", `{"custom":[{"name":"a","implementation":{"type":1,"primitive":[],"args":5}}]}`, []string{
			impl + ": type must be text, not a number", impl + ": primitive must be text, not a list"}},
		{"type null", `{"custom":[{"name":"a","implementation":{"type":null,"primitive":"exec","args":{}}}]}`, nil},
		{"row 59 null", `{"custom":[{"name":"a","implementation":{"primitive":"exec","args":null}}]}`, nil},
		{"row 59 empty", `{"custom":[{"name":"a","implementation":{"primitive":"exec","args":{}}}]}`, nil},
		{"row 59 list", `{"custom":[{"name":"a","implementation":{"primitive":"exec","args":[]}}]}`, []string{args + ": must be a mapping of arguments, not a list"}},
		{"row 59 text", `{"custom":[{"name":"a","implementation":{"primitive":"exec","args":"x"}}]}`, []string{args + `: must be a mapping of arguments, not text "x"`}},
		{"row 60 unknown delegate", `{"custom":[{"name":"a","implementation":{"primitive":"exce","args":{}}}]}`, []string{
			"~" + impl + `.primitive: there is no tool "exce", so that agents will not see this one; did you mean "exec"?`}},
		{"row 60 twice the same name", `{"custom":[{"name":"a","implementation":{"primitive":"exec","args":{}}},{"name":" a ","implementation":{"primitive":"exec","args":{}}}]}`, []string{
			`~tools.custom[1].name: must be unique: "a" is used above`}},
		{"row 60 name of a built-in tool", `{"custom":[{"name":"read_file","implementation":{"primitive":"exec","args":{}}}]}`, []string{
			"~" + t0 + ".name: is the name of a built-in tool"}},
		{"row 60 no name", `{"custom":[{"implementation":{"primitive":"exec","args":{}}}]}`, []string{"~" + t0 + ".name: is required; no run can use this tool"}},
		{"named as the answer", `{"custom":[{"name":"submit","implementation":{"type":"mock","response":1}}]}`, []string{"~" + t0 + ".name: hands in the answer"}},
		{"name that models refuse", `{"custom":[{"name":"look up","implementation":{"type":"mock","response":1}}]}`, []string{"~" + t0 + ".name: models may refuse"}},
		{"row 67 unknown type", `{"custom":[{"name":"a","parameters":{"type":"objct"},"implementation":{"primitive":"exec","args":{}}}]}`, []string{
			"~" + t0 + `.parameters.type: there is no type "objct": no value is of it; did you mean "object"?`}},
		{"row 67 properties", `{"custom":[{"name":"a","parameters":{"properties":"invalid"},"implementation":{"primitive":"exec","args":{"command":"${x}"}}}]}`, []string{
			t0 + ".parameters: is not a valid JSON Schema: at '/properties': got string, want object", args + `.command: "${x}" names no property of parameters, which has none`}},
		{"row 70", `{"custom":[{"name":"a","parameters":[],"implementation":{"type":" Mock ","strategy":"magic","args":"x"}}]}`, []string{
			"~" + impl + ".strategy: must be static, lookup or echo", "~" + impl + ".args: is ignored: the tool is a mock",
			"~" + impl + ".response: is required", "~" + t0 + ".parameters: must be a JSON Schema"}},
		{"row 71", `{"custom":[{"name":"a","implementation":{"primitive":" a ","args":{}}}]}`, []string{
			impl + ".primitive: must be another tool", `tools: the delegation of "a" is a cycle`}},
		{"row 72", `{"custom":[{"name":"a","implementation":{"primitive":"exec","args":{"command":["${secrets.K}"],"environment":{"X":"a${json:secrets.L}"}}}}]}`, []string{
			"~" + args + ".command[0]: holds a secret, which only the built-in http_request may be given; no run can use this tool",
			"~" + args + ".environment.X: holds a secret"}},
		{"type other than mock", `{"custom":[{"name":"a","implementation":{"type":"mok","primitive":"exec","args":{},"response":1}}]}`, []string{
			"~" + impl + `.type: is ignored: only mock means something here; did you mean "mock"?`, "~" + impl + ".response: only a mock"}},
		{"description no text", `{"custom":[{"name":"a","description":5,"implementation":{"primitive":"exec","args":{}}}]}`, []string{
			"~" + t0 + ".description: must be text"}},
		{"unknown keys", `{"costum":[],"x-anchors":1,"custom":[{"name":"a","desc":"","params":1,"implementation":{"primitive":"exec","argz":1,"args":{}}}]}`, []string{
			`~tools.costum: is not known and is ignored; did you mean "custom"?`,
			"~" + t0 + `.desc: is not known and is ignored; did you mean "description"?`,
			"~" + t0 + `.params: is not known and is ignored`,
			"~" + impl + `.argz: is not known and is ignored; did you mean "args"?`}},
		{"keys in any case", `{"Custom":[{"NAME":"a","Implementation":{"Primitive":"","Args":{"a b":"${}"}}}],"Allowed":["exce"]}`, []string{
			"tools.custom[0].implementation.primitive: is required", `tools.custom[0].implementation.args["a b"]: "${}" names nothing`,
			`~tools.allowed[0]: there is no tool "exce"`}},
		{"the same key twice", `{"Custom":[{}],"custom":[],"CUSTOM":5}`, []string{"~tools.CUSTOM: is not known", "~tools.Custom: is not known"}},
		{"allowed and denied", `{"allowed":["read_file","reed_file","mine","http_request",5],"denied":["submit","exec","mine"," exec","zzzzzz"],"custom":[{"name":"mine","implementation":{"type":"mock","response":1}}]}`, []string{
			`~tools.allowed[1]: there is no tool "reed_file"; did you mean "read_file"?`,
			"~tools.allowed[4]: must be the name of a tool, not a number, and is ignored",
			"~tools.denied[0]: cannot be denied",
			"~tools.denied[2]: denies nothing",
			`~tools.denied[3]: there is no tool " exec"; did you mean "exec"?`,
			`~tools.denied[4]: there is no tool "zzzzzz"; there are build, exec,`}},
		{"allowed and denied of other shapes", `{"allowed":{"a":1},"denied":"exec"}`, []string{
			"~tools.allowed: must be a list of tool names, not a mapping, and is ignored", "~tools.denied: it is read as one name"}},
		{"allowed and denied null", `{"allowed":null,"denied":[]}`, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, problems := template.ReadTools(decode(t, row.block))
			said(t, row.want, problems)
		})
	}
}

// Each row is the args of a tool with the parameters sku and order.
func TestPlaceholderProblems(t *testing.T) {
	t.Parallel()
	const at = "tools.custom[0].implementation.args"
	for _, row := range []struct {
		name, args string
		want       []string
	}{
		{"all that may be named", `{"a":"${sku} ${sku.any} ${order.0} ${order.} ${order..x} ${parameters}${json:sku}${query:order.id}${path:parameters}"}`, nil},
		{"row 61", `{"a":"${ sku }","b":"${SKU}","c":"${.order}","d":"${order[0]}"}`, []string{
			at + `.a: "${ sku }" names no property of parameters; did you mean "sku"?`, at + `.b: did you mean "sku"?`,
			at + `.c: there are "order", "sku"`, at + `.d: did you mean "order"?`}},
		{"row 62", `{"a":"\\${missing}","b":"$${missing}","c":"$sku {{sku}} } $"}`, []string{
			at + `.a: "${missing}" names no property of parameters; there are "order", "sku"`, at + `.b: "${missing}"`}},
		{"row 63, said once", `{"a":"${}"}`, []string{at + `.a: "${}" names nothing; write ${name}`}},
		{"row 64", `{"${missing}":{"${":"x"}}`, nil},
		{"row 65, all are said, by path", `{"b":["x","${two}",{"k":"${three"}],"a":"${one} ${ }","headers":{"Authorization":"${four}"}}`, []string{
			at + `.a: "${one}"`, at + `.a: "${ }" names nothing`, at + `.b[1]: "${two}"`, at + `.b[2].k: "${three" has no }`, at + `.headers.Authorization: "${four}"`}},
		{"no nesting", `{"a":"${${sku}}"}`, []string{at + `.a: "${${sku}" names no property`}},
		{"one encoding", `{"a":"${json:json:sku}","b":"${html:sku}","c":"${JSON:sku}","d":"${json:}"}`, []string{
			at + ".a: encodings are json:, query: and path:", at + ".b: encodings", at + ".c: encodings", at + ".d: names nothing"}},
		{"parameters and secrets are not mappings", `{"a":"${parameters.x}","b":"${secrets}","c":"${secrets.}","d":"${secrets. }"}`, []string{
			at + ".a: ${parameters} for all", at + ".b: a secret is ${secrets.NAME}", at + ".c: a secret is", at + ".d: a secret is"}},
		{"values that are no text", `{"a":5,"b":null,"c":true}`, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, problems := template.ReadTools(decode(t, `{"custom":[{"name":"a","parameters":{"properties":{" sku ":{},"order":{}}},"implementation":{"primitive":"exec","args":`+row.args+`}}]}`))
			said(t, row.want, problems)
		})
	}
	t.Run("row 66", func(t *testing.T) {
		t.Parallel()
		_, problems := template.ReadTools(decode(t, `{"custom":[{"name":"a","implementation":{"primitive":"exec","args":{"a":"${x}"}}}]}`))
		said(t, []string{at + ".a: which has none"}, problems)
	})
	t.Run("declared after all", func(t *testing.T) {
		t.Parallel()
		_, problems := template.ReadTools(decode(t, `{"custom":[{"name":"a","parameters":{"properties":{"parameters":{},"secrets":{},"a.b":{}}},
			"implementation":{"primitive":"exec","args":{"a":"${parameters.x} ${secrets} ${secrets.}","b":"${a.b}"}}}]}`))
		said(t, []string{at + `.b: "${a.b}" names no property`}, problems)
	})
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	const call = `{"name":"call","implementation":{"primitive":"http_request","args":{"url":"u","headers":{"A":"Bearer ${secrets.K} ${secrets.B}"}%s}}}`
	for _, row := range []struct {
		name, more, others string
		want               []string
	}{
		{"in a header", ``, ``, nil},
		{"with a file", `,"output_path":"${parameters}"`, ``, []string{
			"~tools.custom[0].implementation.args.output_path: cannot stand beside a secret"}},
		{"with no file", `,"output_path":" "`, ``, nil},
		{"through another tool", ``, `,{"name":"b","implementation":{"primitive":"call","args":{"x":"${secrets.K}"}}}`, []string{
			"~tools.custom[1].implementation.args.x: holds a secret"}},
		{"to a tool of the same name", ``, `,{"name":"http_request","implementation":{"primitive":"exec","args":{}}}`, []string{
			"~tools.custom[0].implementation.args.headers.A: only the built-in http_request",
			"~tools.custom[1].name: built-in"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			tools, problems := template.ReadTools(decode(t, `{"custom":[`+fmt.Sprintf(call, row.more)+row.others+`]}`))
			said(t, row.want, problems)
			if diff := cmp.Diff([]string{"B", "K"}, tools.Custom[0].Composed.Secrets); diff != "" {
				t.Errorf("secrets (-want +got):\n%s", diff)
			}
		})
	}
}

// chain is n composed tools, each calling the next, and the last calling end.
func chain(n int, end string) map[string]any {
	custom := make([]any, n)
	for i := range custom {
		next := fmt.Sprintf("t%02d", i+1)
		if i == n-1 {
			next = end
		}
		custom[i] = map[string]any{"name": fmt.Sprintf(" t%02d", i), "implementation": map[string]any{"primitive": next, "args": nil}}
	}
	slices.Reverse(custom) // the order of declaration does not matter
	return map[string]any{"custom": custom}
}

func TestDelegation(t *testing.T) {
	t.Parallel()
	mock := func(block map[string]any, name string) map[string]any {
		block["custom"] = append(block["custom"].([]any), map[string]any{"name": name, "implementation": map[string]any{"type": "mock", "response": "x"}})
		return block
	}
	var ring []string
	for i := range 9 {
		ring = append(ring, fmt.Sprintf(`tools: the delegation of "t%02d" is a cycle: it comes to "t%02d" again`, i, i))
	}
	for _, row := range []struct {
		name  string
		block map[string]any
		want  []string
	}{
		{"row 68 eight", chain(8, "exec"), nil},
		{"row 68 nine", chain(9, "exec"), []string{`tools: the delegation of "t00" is too deep: it passes 9 composed tools`}},
		{"ten", chain(10, "exec"), []string{`tools: the delegation of "t00" is too deep`, `tools: the delegation of "t01" is too deep`}},
		{"a ring of two", chain(2, "t00"), ring[:2]},
		{"row 69, a long cycle is a cycle", chain(9, "t00"), ring},
		{"into a cycle", chain(3, "t01"), []string{`tools: the delegation of "t00" is a cycle: it comes to "t01" again`, `tools: "t01" is a cycle`, `tools: "t02" is a cycle`}},
		{"far into a cycle", chain(12, "t10"), slices.Repeat([]string{"tools: is a cycle"}, 12)},
		{"a mock ends a chain", mock(chain(8, "m"), "m"), nil},
		{"a mock breaks a ring", decode(t, `{"custom":[{"name":"a","implementation":{"primitive":"b","args":{}}},{"name":"b","implementation":{"type":"mock","primitive":"a","response":1}}]}`),
			[]string{"~tools.custom[1].implementation.primitive: is ignored: the tool is a mock"}},
		{"of two with one name the last counts", decode(t, `{"custom":[{"name":"a","implementation":{"primitive":"b","args":{}}},{"name":"b","implementation":{"primitive":"a","args":{}}},{"name":"b","implementation":{"primitive":"exec","args":{}}}]}`),
			[]string{"~tools.custom[2].name: must be unique"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, problems := template.ReadTools(row.block)
			said(t, row.want, problems)
		})
	}
}

// What is read is what the pack says.
func TestTools(t *testing.T) {
	t.Parallel()
	tools, problems := template.ReadTools(map[string]any{
		"allowed": []any{"read_file", "mine"},
		"denied":  "exec",
		"custom": []any{
			map[string]any{
				"name": " mine ", "description": " As it is. ",
				"parameters":     map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"maximum": int64(7)}}},
				"implementation": map[string]any{"primitive": " exec ", "args": map[string]any{"command": []any{"${n}"}, "timeout_seconds": int64(5)}},
			},
			map[string]any{"name": "plain", "implementation": map[string]any{"primitive": "exec", "args": nil}},
			map[string]any{"name": "open", "parameters": nil, "implementation": map[string]any{"type": "MOCK", "responses": map[string]any{"*": "<x>"}, "lookup_key": "a.b"}},
		},
	})
	said(t, []string{"~tools.denied: must be a list"}, problems)
	if diff := cmp.Diff([][]string{{"read_file", "mine"}, {"exec"}}, [][]string{tools.Allowed, tools.Denied}); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	var got []string
	for _, c := range tools.Custom {
		got = append(got, c.Name, c.Description, string(c.Parameters), c.Unusable)
		if c.Schema == nil || (c.Composed == nil) == (c.Mock == nil) {
			t.Errorf("%s: no schema, or not one of composed and mock", c.Name)
		}
	}
	if diff := cmp.Diff([]string{
		"mine", " As it is. ", `{"properties":{"n":{"maximum":7}},"type":"object"}`, "",
		"plain", "", `{"additionalProperties":false,"type":"object"}`, "",
		"open", "", `{}`, "",
	}, got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	mine := tools.Custom[0]
	if mine.Composed.Primitive != "exec" || mine.Composed.Args["timeout_seconds"] != int64(5) {
		t.Errorf("composed: %+v", mine.Composed)
	}
	if mine.Schema.Validate(map[string]any{"n": 8}) == nil || mine.Schema.Validate(map[string]any{"n": 7}) != nil {
		t.Error("the schema is not the one that was written")
	}
	if diff := cmp.Diff(&template.Mock{Strategy: template.Lookup, LookupKey: "a.b", Responses: map[string]any{"*": "<x>"}}, tools.Custom[2].Mock); diff != "" {
		t.Errorf("mock (-want +got):\n%s", diff)
	}
}

// Unusable is the first reason why no run can have a tool.
func TestUnusable(t *testing.T) {
	t.Parallel()
	tools, _ := template.ReadTools(decode(t, `{"custom":[
		{"name":"a","implementation":{"type":"mock"}},
		{"name":"a","implementation":{"primitive":"exec","args":{"x":"${secrets.K}"}}},
		{"name":"b","implementation":{"primitive":"gone","args":{}}}]}`))
	want := []string{
		"tools.custom[0].implementation.response: is required: what the mock answers",
		`tools.custom[1].name: must be unique: "a" is used above`,
		"",
	}
	var got []string
	for _, c := range tools.Custom {
		got = append(got, c.Unusable)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A block out of all proportion is refused before it costs anything.
func TestBounds(t *testing.T) {
	t.Parallel()
	nest := func(n int) any {
		var v any = "x"
		for range n {
			v = []any{v}
		}
		return v
	}
	many := func(n int, item any) []any { return slices.Repeat([]any{item}, n) }
	tool := func(parameters, args any) map[string]any {
		return map[string]any{"custom": []any{map[string]any{
			"name": "a", "parameters": parameters, "implementation": map[string]any{"primitive": "exec", "args": map[string]any{"x": args}}}}}
	}
	flood := make([]string, 501)
	for i := range flood {
		flood[i] = "tools.custom[0].implementation.args.x: names nothing"
	}
	flood[500] = "tools: more than 500 problems"
	odd := map[string]any{"name": "odd"}
	oddities := []string{"tools: more than 500 problems"}
	for i := range 501 {
		key := fmt.Sprintf("%03d", i)
		odd[key] = nil
		oddities = append(oddities, `~tools.custom[0]["`+key+`"]: is not known`)
	}
	oddities = oddities[:501]
	for _, row := range []struct {
		name  string
		block map[string]any
		want  []string
	}{
		{"deep", tool(nil, nest(70)), []string{"tools: nested more than 64 levels deep"}},
		{"not too deep", tool(nil, nest(55)), nil},
		{"many values", tool(nil, many(50_001, nil)), []string{"tools: more than 50000 values"}},
		{"much text", tool(nil, strings.Repeat("x", 4<<20)), []string{"tools: more than 4 MiB of text"}},
		{"a large schema", tool(map[string]any{"examples": many(1001, nil)}, nil), []string{"tools.custom[0].parameters: has 1003 values; at most 1000"}},
		{"a long schema", tool(map[string]any{"title": strings.Repeat("x", 256<<10)}, nil), []string{"tools.custom[0].parameters: more than 256 KiB of text"}},
		{"a long path", tool(map[string]any{"$defs": map[string]any{strings.Repeat("x", 1000): nil}}, nil), []string{"tools.custom[0].parameters: longer than 1000 bytes"}},
		{"many tools", map[string]any{"custom": many(257, map[string]any{})}, []string{"tools: custom has 257 tools; at most 256"}},
		{"no number", tool(nil, math.NaN()), []string{"tools: cannot be written as JSON"}},
		{"endless", tool(nil, math.Inf(1)), []string{"tools: cannot be written as JSON"}},
		{"a foreign value", tool(nil, map[any]any{1: 2}), []string{"tools: cannot be written as JSON"}},
		{"a flood before something misshapen", map[string]any{"custom": []any{odd, "x"}}, oddities},
		{"a flood", tool(nil, strings.Repeat("${}", 1000)), flood},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, problems := template.ReadTools(row.block)
			said(t, row.want, problems)
		})
	}
}

// A stranger's text cannot break out of a message.
func TestProblemsAreQuoted(t *testing.T) {
	t.Parallel()
	_, problems := template.ReadTools(map[string]any{
		"\x1b[2J": 1, "allowed": []any{"\x1b]0;x\x07"},
		"custom": []any{map[string]any{"name": "a\n\x1b[1m", "parameters": map[string]any{"pattern": "(?<\x1b[2J" + strings.Repeat("é", 400)},
			"implementation": map[string]any{"primitive": "b\x00", "args": map[string]any{strings.Repeat("k", 300): "${\u009b2J" + strings.Repeat("y", 300)}}}},
	})
	if len(problems) < 5 {
		t.Fatalf("only %d problems", len(problems))
	}
	for _, p := range problems {
		line := p.Field + p.Message
		if strings.ContainsAny(line, "\x1b\x00\x07\n\u009b") || len(line) > 700 {
			t.Errorf("%q", line)
		}
	}
}
