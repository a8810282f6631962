package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/scripted"
)

func TestLoadProblems(t *testing.T) {
	for name, test := range map[string]struct{ src, want string }{
		"empty":       {"", "s.yaml: the script is empty; it needs default or cases"},
		"comment":     {"# nothing\n", "s.yaml: the script is empty; it needs default or cases"},
		"null":        {"~", "s.yaml:1:1: a script is nothing; it must be a mapping"},
		"no replies":  {"end: error", "s.yaml:1:1: the script has no replies; it needs default or cases"},
		"a list":      {"- text: x", "s.yaml:1:1: a script is a list; it must be a mapping"},
		"syntax":      {"default:\n  - text: \"x\n", "s.yaml:2:1: not YAML: found unexpected end of stream"},
		"two":         {"default: [{text: x}]\n---\ndefault: [{text: y}]\n", "s.yaml:2:1: a second document begins here; a script is one"},
		"top key":     {"defualt: [{text: x}]", `s.yaml:1:1: unknown key "defualt" in a script; did you mean "default"?`},
		"reply key":   {"default:\n  - txt: x\n    text: y", `s.yaml:2:5: unknown key "txt" in a reply; did you mean "text"?`},
		"no near":     {"default:\n  - draw: 3\n    text: y", `s.yaml:2:5: unknown key "draw" in a reply`},
		"draw sum":    {"draw:\n  - {p: 0.5, replies: [{text: x}]}\n  - {p: 0.4, replies: [{text: y}]}", "s.yaml:2:3: the chances p of draw come to 0.9, and have to come to 1"},
		"draw chance": {"draw:\n  - {p: 1.5, replies: [{text: x}]}", `s.yaml:2:9: p is a chance above 0 and up to 1, not "1.5"`},
		"draw what":   {"draw:\n  - {p: 1}", "s.yaml:2:5: a branch of draw needs p and replies"},
		"draw twice":  {"default: [{text: x}]\ndraw: [{p: 1, replies: [{text: x}]}]", "s.yaml:2:7: draw stands in the place of default: leave one out"},
		"draw beside": {"cases:\n  a: {replies: [{text: x}], draw: [{p: 1, replies: [{text: x}]}]}", `s.yaml:2:35: case "a" has either replies or draw`},
		"draw end":    {"cases:\n  a: {end: error, draw: [{p: 1, replies: [{text: x}]}]}", "s.yaml:2:12: end stands in a branch of draw, beside its replies"},
		"twice":       {"default:\n  - text: x\n    text: y", `s.yaml:3:5: key "text" stands here twice`},
		"case twice":  {"cases:\n  a: [{text: x}]\n  a: [{text: y}]", `s.yaml:3:3: key "a" stands here twice`},
		"entry twice": {"cases:\n  - {case: a, replies: [{text: x}]}\n  - {case: a, replies: [{text: x}]}", `s.yaml:3:12: case "a" has an entry above, which is always used first`},
		"no list":     {"default: hello", `s.yaml:1:10: default is "hello"; it must be a list of replies`},
		"empty list":  {"default: []", "s.yaml:1:10: default has no replies"},
		"only end":    {"default: [{end: error}]", "s.yaml:1:10: default has no replies"},
		"early end":   {"default: [{end: error}, {text: x}]", "s.yaml:1:11: end stands with the last reply, or after it"},
		"end word":    {"end: loop\ndefault: [{text: x}]", `s.yaml:1:6: end is "loop"; it is error, or repeat (the last reply)`},
		"says nothing": {"default: [{delay_ms: 5}]",
			"s.yaml:1:11: a reply says something: give text, tool_calls, echo or error"},
		"echo false": {"default: [{echo: false}]", "s.yaml:1:11: a reply says something: give text, tool_calls, echo or error"},
		"text list":  {"default: [{text: [x]}]", "s.yaml:1:18: text is a list; it must be a text"},
		"text null":  {"default: [{text: }]", "s.yaml:1:18: text is nothing; it must be a text"},
		"echo text":  {"default: [{text: x, echo: true}]", "s.yaml:1:27: echo does not go with text: the reply is one or the other"},
		"echo word":  {"default: [{echo: yes please}]", "s.yaml:1:18: echo is \"yes please\"; it must be true or false\ns.yaml:1:11: a reply says something: give text, tool_calls, echo or error"},
		"delay":      {"default: [{text: x, delay_ms: -1}]", "s.yaml:1:31: delay_ms is -1; it must be within 0 and 86400000"},
		"delay text": {"default: [{text: x, delay_ms: 20ms}]", `s.yaml:1:31: delay_ms is "20ms"; it must be a whole number`},
		"usage key":  {"default: [{text: x, usage: {input: 1}}]", `s.yaml:1:29: unknown key "input" in usage`},
		"usage half": {"default: [{text: x, usage: {input_tokens: 1.5}}]", `s.yaml:1:43: input_tokens is "1.5"; it must be a whole number`},
		"finish":     {"default: [{text: x, finish_reason: stops}]", `s.yaml:1:36: unknown finish_reason "stops"; it is one of stop, tool_calls, max_tokens, content_filter, other; did you mean "stop"?`},
		"code": {"default: [{error: {code: ratelimit}}]",
			`s.yaml:1:26: unknown code "ratelimit"; it is one of auth, rate_limit, timeout, unavailable, invalid_request, unknown_model, context_length, content_filter, malformed_response; did you mean "rate_limit"?`},
		"cancelled": {"default: [{error: {code: cancelled}}]",
			`s.yaml:1:26: unknown code "cancelled"; it is one of auth, rate_limit, timeout, unavailable, invalid_request, unknown_model, context_length, content_filter, malformed_response`},
		"no code":      {"default: [{error: {message: x}}]", "s.yaml:1:19: error needs a code: auth, rate_limit, timeout, unavailable, invalid_request, unknown_model, context_length, content_filter, malformed_response"},
		"error, text":  {"default: [{error: {code: auth}, text: x}]", "s.yaml:1:39: text does not go with error: a failed call has no reply"},
		"calls":        {"default: [{tool_calls: []}]", "s.yaml:1:24: tool_calls is an empty list; it must be a list with at least one {name, arguments}"},
		"call name":    {"default: [{tool_calls: [{arguments: {}}]}]", "s.yaml:1:25: a tool call needs a name"},
		"call key":     {"default: [{tool_calls: [{name: x, args: {}}]}]", `s.yaml:1:35: unknown key "args" in a tool call`},
		"arguments":    {"default: [{tool_calls: [{name: x, arguments: [1]}]}]", "s.yaml:1:46: arguments is a list; it must be a mapping, or the text a model sends"},
		"not a number": {"default: [{tool_calls: [{name: x, arguments: {a: .nan}}]}]", "s.yaml:1:50: .nan cannot be sent: JSON has no such number"},
		"alias":        {"default: &d [{text: x}]\ncases: {a: *d}", "s.yaml:2:12: aliases (*d) are not supported in scripts"},
		"alias inside": {"default: [{tool_calls: [{name: x, arguments: {a: &a 1, b: *a}}]}]", "s.yaml:1:59: aliases (*a) are not supported in scripts"},
		"when empty":   {"cases: [{when: {}, replies: [{text: x}]}]", "s.yaml:1:16: when asks for nothing; give system, user or tool"},
		"when key":     {"cases: [{when: {usr: x}, replies: [{text: x}]}]", `s.yaml:1:17: unknown key "usr" in when; did you mean "user"?` + "\ns.yaml:1:16: when asks for nothing; give system, user or tool"},
		"when blank":   {"cases: [{when: {user: ''}, replies: [{text: x}]}]", "s.yaml:1:23: user is empty and would match nothing in particular"},
		"both":         {"cases: [{case: a, when: {user: x}, replies: [{text: x}]}]", "s.yaml:1:9: an entry has either case or when"},
		"neither":      {"cases: [{replies: [{text: x}]}]", "s.yaml:1:9: an entry has either case or when"},
		"entry bare":   {"cases: [{case: a}]", "s.yaml:1:9: an entry needs a list of replies, or draw"},
		"cases text":   {"cases: all", `s.yaml:1:8: cases is "all"; it must be a mapping of case keys, or a list of entries`},
		"judges":       {"default: [{text: x}]\njudges: [{verdict: 5}]", "s.yaml:2:11: unknown key \"verdict\" in a reply\ns.yaml:2:10: a reply says something: give text, tool_calls, echo or error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := scripted.Load("s.yaml", []byte(test.src))
			if err == nil {
				t.Fatalf("loaded, want:\n%s", test.want)
			}
			if diff := cmp.Diff(sortedLines(test.want), sortedLines(err.Error())); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// sortedLines lets the table above state problems in the order one thinks of
// them; that they come by place is tested below.
func sortedLines(s string) []string {
	return slices.Sorted(strings.SplitSeq(s, "\n"))
}

func TestLoadTellsEverythingInOrder(t *testing.T) {
	_, err := scripted.Load("s.yaml", []byte(`
cases:
  a:
    - texte: hello
  b:
    - error: {code: oops}
default:
  - usage: {input_tokens: many}
    text: x
colour: red
`))
	var problems *scripted.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("got %v, want *Problems", err)
	}
	var lines []int
	for _, p := range problems.List {
		lines = append(lines, p.Line)
	}
	if diff := cmp.Diff([]int{4, 4, 6, 8, 10}, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s\n%v", diff, err)
	}
}

func TestLoadBoundsItsError(t *testing.T) {
	src := "default: [{text: x}]\n"
	for i := range 500 {
		src += strings.Repeat("k", i+1) + ": 1\n"
	}
	_, err := scripted.Load("s.yaml", []byte(src))
	if err == nil {
		t.Fatal("loaded a script full of unknown keys")
	}
	if got := strings.Count(err.Error(), "\n"); got != 50 || !strings.HasSuffix(err.Error(), "and 450 more problems") {
		t.Errorf("got %d lines, ending %q", got+1, err.Error()[len(err.Error())-40:])
	}
}

func TestLoadRefusesHugeScripts(t *testing.T) {
	_, err := scripted.Load("s.yaml", []byte("default: [{text: x}]\n#"+strings.Repeat("x", 16<<20)))
	if err == nil || !strings.Contains(err.Error(), "at most 16777216 are read") {
		t.Errorf("got %v", err)
	}
}

// What YAML guesses types for stays what the author sees, or becomes what JSON
// has for it.
func TestArguments(t *testing.T) {
	for src, want := range map[string]string{
		`{b: 1, a: 2}`:                  `{"b":1,"a":2}`,
		`{n: 12345678901234567890}`:     `{"n":12345678901234567890}`,
		`{f: 1.50, e: 1e3}`:             `{"f":1.5,"e":1000}`,
		`{d: 2020-01-02, t: "yes"}`:     `{"d":"2020-01-02","t":"yes"}`,
		`{x: null, y: ~, z: , b: true}`: `{"x":null,"y":null,"z":null,"b":true}`,
		`{s: "a\"b\\c\n<&>", u: "é🙂"}`:  `{"s":"a\"b\\c\n<&>","u":"é🙂"}`,
		`{l: [1, [2, {k: v}], []]}`:     `{"l":[1,[2,{"k":"v"}],[]]}`,
		`{1: one, true: two}`:           `{"1":"one","true":"two"}`,
		`{}`:                            `{}`,
		`'{"path":'`:                    `"{\"path\":"`,
		`'{"path": "x"}'`:               `{"path": "x"}`,
		`''`:                            `{}`,
		`not json at all`:               `"not json at all"`,
	} {
		s := load(t, "default: [{tool_calls: [{name: x, arguments: "+src+"}]}]")
		res, err := scripted.New(s).Complete(t.Context(), provider.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(res.ToolCalls[0].Arguments); got != want {
			t.Errorf("arguments %s: got %s, want %s", src, got, want)
		}
	}
}

func TestUnquotedTextIsText(t *testing.T) {
	for src, want := range map[string]string{"4": "4", "4.50": "4.50", "true": "true", `""`: "", "0x10": "0x10"} {
		res, err := scripted.New(load(t, "default: [{text: "+src+"}]")).Complete(t.Context(), provider.Request{}, nil)
		if err != nil || res.Text != want {
			t.Errorf("text %s: got %q, %v; want %q", src, res.Text, err, want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(issueScript)
	f.Add("cases: [{when: {tool: x}, replies: [{echo: true}, {end: error}]}]\njudges: [{text: x}]")
	f.Add("default: [{error: {code: auth}, text: x}]\n---\n")
	f.Add("a: &a [*a]")
	f.Add("default: [{tool_calls: [{name: x, arguments: {a: [1, .inf, 0x1F, 2001-01-01, !!binary aGk=]}}]}]")
	f.Fuzz(func(t *testing.T, src string) {
		s, err := scripted.Load("f.yaml", []byte(src))
		if err != nil {
			var problems *scripted.Problems
			if !errors.As(err, &problems) || len(problems.List) == 0 || err.Error() == "" {
				t.Fatalf("an error without problems: %#v", err)
			}
			return
		}
		for _, c := range []*scripted.Client{scripted.New(s), scripted.NewJudge(s), scripted.NewSimulator(s)} {
			checkReply(t, c)
		}
	})
}

func checkReply(t *testing.T, c *scripted.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond) // for the delays that fuzzing comes up with
	defer cancel()
	res, err := c.Complete(ctx, provider.Request{}, func(provider.Delta) {})
	if err != nil {
		if provider.CodeOf(err) == "" {
			t.Fatalf("an error outside the taxonomy: %v", err)
		}
		return
	}
	for _, call := range res.ToolCalls {
		if !json.Valid(call.Arguments) || call.Name == "" || call.ID == "" {
			t.Fatalf("a tool call that is none: %+v", call)
		}
	}
}
