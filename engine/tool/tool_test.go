package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/tool"
	"github.com/agentclash/agentclash/engine/tool/query"
	"github.com/agentclash/agentclash/pack/template"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
)

func box(t *testing.T) *sandboxtest.MemoryBox {
	t.Helper()
	boxes := sandboxtest.Memory()
	boxes.HandleExec(func(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
		if c.Argv[0] == "false" {
			return sandboxtest.Exited(1, "out", "err"), nil
		}
		return sandboxtest.Exited(0, strings.Join(c.Argv, "|"), ""), nil
	})
	s, err := boxes.Open(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	return s.(*sandboxtest.MemoryBox)
}

func call(t *testing.T, s *tool.Set, b sandbox.Session, name, args string) tool.Result {
	t.Helper()
	r, err := s.Call(t.Context(), b, provider.ToolCall{ID: "1", Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func set(t *testing.T, p tool.Policy) *tool.Set {
	t.Helper()
	s, err := tool.NewSet(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What an agent sees is what the policy unlocks and the tools block shows;
// a pack's own tools are always shown, and their delegates need not be.
func TestPolicy(t *testing.T) {
	t.Parallel()
	mine := func(primitive string) []template.CustomTool {
		tools, problems := template.ReadTools(map[string]any{"custom": []any{map[string]any{
			"name": "mine", "implementation": map[string]any{"primitive": primitive, "args": map[string]any{}}}}})
		if len(problems) > 0 && primitive != "gone" {
			t.Fatal(problems)
		}
		return tools.Custom
	}
	const files, data, builds = "list_files read_file search_files search_text", "query_json query_sql", "build run_tests"
	for _, row := range []struct {
		policy tool.Policy
		want   string
	}{
		{tool.Policy{}, files + " submit write_file http_request " + data + " " + builds},
		{tool.Policy{AllowShell: true}, "exec " + files + " submit write_file http_request " + data + " " + builds},
		{tool.Policy{Kinds: []string{" DATA "}}, "submit " + data},
		{tool.Policy{Kinds: []string{"build"}}, "submit " + builds},
		{tool.Policy{Kinds: []string{"browser"}}, "submit"},
		{tool.Policy{Allowed: []string{"read_file"}}, "read_file submit"},
		{tool.Policy{Allowed: []string{"exec", "nobody"}}, "submit"},
		{tool.Policy{AllowShell: true, Kinds: []string{"network"}}, "exec http_request submit"},
		{tool.Policy{Kinds: []string{"file"}, Denied: []string{"read_file", "write_file", "submit"}}, "list_files search_files search_text submit"},
		{tool.Policy{Allowed: []string{"read_file"}, Custom: mine("list_files")}, "mine read_file submit"},
		{tool.Policy{Kinds: []string{"data"}, Denied: []string{"query_sql", "query_json", "mine"}, Custom: mine("query_sql")}, "mine submit"},
		{tool.Policy{Kinds: []string{"data"}, Custom: mine("read_file")}, "submit " + data},
		{tool.Policy{Kinds: []string{"data"}, Custom: mine("exec")}, "submit " + data},
		{tool.Policy{Kinds: []string{"data"}, Custom: mine("gone")}, "submit " + data},
	} {
		var names []string
		for _, d := range set(t, row.policy).Definitions() {
			names = append(names, d.Name)
		}
		if !slices.IsSorted(names) {
			t.Errorf("%v are not sorted", names)
		}
		want := strings.Fields(row.want)
		slices.Sort(want)
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", row.policy, diff)
		}
	}
}

func TestReaches(t *testing.T) {
	t.Parallel()
	tools, _ := template.ReadTools(map[string]any{"custom": []any{
		map[string]any{"name": "a", "implementation": map[string]any{"primitive": "b", "args": map[string]any{}}},
		map[string]any{"name": "b", "implementation": map[string]any{"primitive": "exec", "args": map[string]any{}}},
	}})
	s := set(t, tool.Policy{Kinds: []string{"file"}, AllowShell: true, Denied: []string{"exec", "read_file"}, Custom: tools.Custom})
	if s.Has("exec") || !s.Reaches("exec") || s.Reaches("read_file", "run_tests") || !s.Reaches("gone", "write_file") {
		t.Error("what is reached is not what the agent has in its hands")
	}
}

// A pack that has come past its checks all the same is held by the guards of
// the call.
func TestGuards(t *testing.T) {
	t.Parallel()
	chain := func(names ...string) []template.CustomTool {
		var list []template.CustomTool
		for i := range len(names) - 1 {
			block := map[string]any{"custom": []any{map[string]any{"name": names[i], "implementation": map[string]any{"primitive": "exec", "args": map[string]any{}}}}}
			tools, _ := template.ReadTools(block)
			tools.Custom[0].Composed.Primitive = names[i+1]
			list = append(list, tools.Custom...)
		}
		return list
	}
	for _, row := range []struct {
		custom       []template.CustomTool
		origin, says string
		depth        int
	}{
		{chain("a", "b", "a"), tool.OriginCycle, "a failed: b failed: it comes to a again", 1},
		{chain("a", "b", "c", "b"), tool.OriginCycle, "a failed: b failed: c failed: it comes to b again", 2},
		{chain("a", "b", "c", "d", "e", "f", "g", "h", "i", "list_files"), tool.OriginDepth, "called through more than 8", 8},
		{chain("a", "b", "c", "d", "e", "f", "g", "h", "list_files"), "", "", -1},
	} {
		r := call(t, set(t, tool.Policy{Custom: row.custom}), box(t), "a", "")
		depth := -1
		if r.FailureDepth() != nil {
			depth = *r.FailureDepth()
		}
		if r.Origin != row.origin || !strings.Contains(r.Content, row.says) || depth != row.depth || r.IsError != (row.origin != "") {
			t.Errorf("got %+v at %d, want %s at %d", r, depth, row.origin, row.depth)
		}
	}
}

// Two tools of one name, and one that cannot work, are refused before a run.
func TestNewSetRefuses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		custom string
		kinds  []string
		want   string
	}{
		{`[{"name":"read_file","implementation":{"type":"mock","response":1}}]`, nil, "already"},
		{`[{"name":"a","implementation":{"type":"mock"}}]`, nil, "is required: what the mock answers"},
		{`[{"name":"a","implementation":{"primitive":"exec","args":{"command":["${secrets.K}"]}}}]`, nil, "holds a secret"},
		{`[{"name":"read_file","implementation":{"type":"mock","response":1}}]`, []string{"data"}, ""},
	} {
		var custom any
		if err := json.Unmarshal([]byte(row.custom), &custom); err != nil {
			t.Fatal(err)
		}
		tools, _ := template.ReadTools(map[string]any{"custom": custom})
		_, err := tool.NewSet(tool.Policy{Kinds: row.kinds, Custom: tools.Custom}, nil)
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", row.custom, err, row.want)
		}
	}
}

// What a project of each kind runs, found out by its files.
func TestConventions(t *testing.T) {
	t.Parallel()
	s := set(t, tool.Policy{})
	for _, row := range []struct {
		files       map[string]string
		test, build string
	}{
		{map[string]string{"go.mod": "", "Makefile": ""}, "go test ./...", "go build ./..."},
		{map[string]string{"package.json": `{"scripts":{"test":"jest","build":" "}}`, "Makefile": ""}, "npm run test", "make build"},
		{map[string]string{"package.json": `{`, "Cargo.toml": ""}, "cargo test", "cargo build"},
		{map[string]string{"package.json": `{"scripts":{"test":5}}`, "pyproject.toml": ""}, "python3 -m unittest discover", "python3 -m compileall ."},
		{map[string]string{"sub/go.mod": ""}, "", ""},
		{map[string]string{"go.mod/x": ""}, "", ""},
	} {
		b := box(t)
		for name, text := range row.files {
			if err := b.WriteFile(t.Context(), name, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		for name, want := range map[string]string{"run_tests": row.test, "build": row.build} {
			r := call(t, s, b, name, `{"working_directory":"sub"}`)
			if want == "" && !r.IsError || want != "" && !strings.Contains(r.Content, `"command":"`+want+`","working_directory":"sub"`) {
				t.Errorf("%v: %s gives %s, want %q", row.files, name, r.Content, want)
			}
		}
	}
}

// A box that runs no programs refuses by policy, and says so.
func TestNoPrograms(t *testing.T) {
	t.Parallel()
	b := box(t)
	b.HandleExec(nil)
	s := set(t, tool.Policy{AllowShell: true})
	for name, args := range map[string]string{"exec": `{"command":["x"]}`, "run_tests": `{"command":"x"}`, "build": `{"command":"x"}`} {
		if r := call(t, s, b, name, args); r.Origin != tool.OriginPolicy || !strings.Contains(r.Content, "runs no programs") {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

// However long names and answers are, what a model is told has an end.
func TestResultsAreBounded(t *testing.T) {
	t.Parallel()
	b := box(t)
	for i := range 2000 {
		if err := b.WriteFile(t.Context(), strings.Repeat(strings.Repeat("n", 200)+"/", 3)+strconv.Itoa(i), nil); err != nil {
			t.Fatal(err)
		}
	}
	tools, _ := template.ReadTools(map[string]any{"custom": []any{map[string]any{"name": "big", "implementation": map[string]any{"type": "mock", "response": strings.Repeat("x\n", 1<<20)}}}})
	s := set(t, tool.Policy{Custom: tools.Custom})
	for _, name := range []string{"list_files", "big"} {
		r := call(t, s, b, name, "")
		var out struct {
			Truncated  bool
			TotalBytes int `json:"total_bytes"`
		}
		if err := json.Unmarshal([]byte(r.Content), &out); err != nil || !out.Truncated || out.TotalBytes < 1<<20 || len(r.Content) > 20_000 {
			t.Errorf("%s: got %d bytes, %+v, %v", name, len(r.Content), out, err)
		}
	}
}

// A search that has enough reads no more files.
func TestSearchEndsWithEnough(t *testing.T) {
	t.Parallel()
	b := box(t)
	for i := range 100 {
		if err := b.WriteFile(t.Context(), fmt.Sprintf("%03d", i), []byte("one\none\none\n")); err != nil {
			t.Fatal(err)
		}
	}
	r := call(t, set(t, tool.Policy{}), b, "search_text", `{"pattern":"one","max_results":4}`)
	reads := 0
	for _, c := range b.Calls() {
		if c.Op == sandboxtest.OpRead {
			reads++
		}
	}
	if reads > 20 || strings.Count(r.Content, "line_number") != 4 || !strings.Contains(r.Content, "more than these 4") {
		t.Errorf("%d files were read for %s", reads, r.Content)
	}
}

// The box that is lost in the middle of a search ends the trial.
func TestSearchInALostBox(t *testing.T) {
	t.Parallel()
	b := box(t)
	for i := range 30 {
		if err := b.WriteFile(t.Context(), strconv.Itoa(i), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	b.Fail(sandboxtest.OpRead, 12, &sandbox.BoxError{Kind: sandbox.Lost, Detail: "gone"})
	_, err := set(t, tool.Policy{}).Call(t.Context(), b, provider.ToolCall{Name: "search_text", Arguments: json.RawMessage(`{"pattern":"y"}`)})
	var lost *sandbox.BoxError
	if !errors.As(err, &lost) {
		t.Errorf("got %v, want the box's error", err)
	}
}

// A result that does not fit into the workspace is shown as far as it goes.
func TestSpillWithoutRoom(t *testing.T) {
	t.Parallel()
	p := sandboxtest.Memory()
	b, err := p.Open(t.Context(), sandbox.Spec{Limits: sandbox.Limits{WorkspaceBytes: 100 << 10}})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.WriteFile(t.Context(), "a", []byte(strings.Repeat("found it, and more text\n", 3000))); err != nil {
		t.Fatal(err)
	}
	r := call(t, set(t, tool.Policy{}), b, "search_text", `{"pattern":"found","max_results":1000}`)
	if r.IsError || !strings.Contains(r.Content, "could not be kept") || strings.Contains(r.Content, "full_output_path") {
		t.Errorf("got %s", r.Content)
	}
}

// Without a process to answer, or with one that cannot start, the trial is not
// the agent's failure.
func TestQueriesThatCannotStart(t *testing.T) {
	t.Parallel()
	for _, runner := range []*query.Runner{nil, query.NewRunner("/nonexistent/agentclash")} {
		s, err := tool.NewSet(tool.Policy{}, runner)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Call(t.Context(), box(t), provider.ToolCall{Name: "query_json", Arguments: json.RawMessage(`{"query":".","json":"1"}`)})
		var lost *sandbox.BoxError
		if !errors.As(err, &lost) || lost.Kind != sandbox.Engine {
			t.Errorf("got %v, want this machine's failure", err)
		}
	}
}

func TestLongFilesAreReadInPieces(t *testing.T) {
	t.Parallel()
	b, s := box(t), set(t, tool.Policy{})
	long := strings.Repeat("0123456789", 20_000)
	if err := b.WriteFile(t.Context(), "long", []byte(long)); err != nil {
		t.Fatal(err)
	}
	var read strings.Builder
	for offset := "0"; ; {
		r := call(t, s, b, "read_file", `{"path":"long","offset":`+offset+`}`)
		var page struct {
			Content    string
			NextOffset json.Number `json:"next_offset"`
			TotalBytes int         `json:"total_bytes"`
		}
		if err := json.Unmarshal([]byte(r.Content), &page); err != nil {
			t.Fatal(err)
		}
		read.WriteString(page.Content)
		if page.NextOffset == "" {
			break
		}
		if len(r.Content) > 70_000 || page.TotalBytes != len(long) {
			t.Fatalf("a page of %d bytes of %d", len(r.Content), page.TotalBytes)
		}
		offset = page.NextOffset.String()
	}
	if read.String() != long {
		t.Errorf("the pieces make %d bytes, want the file's %d", read.Len(), len(long))
	}
}

func TestExec(t *testing.T) {
	t.Parallel()
	b, s := box(t), set(t, tool.Policy{AllowShell: true})
	if r := call(t, s, b, "exec", `{"command":["echo","a b",""]}`); r.IsError || !strings.Contains(r.Content, `"stdout":"echo|a b|"`) {
		t.Errorf("got %+v", r)
	}
	if r := call(t, s, b, "exec", `{"command":["false"]}`); !r.IsError || !strings.Contains(r.Content, `"exit_code":1`) || !strings.Contains(r.Content, `"stderr":"err"`) {
		t.Errorf("a failing command: got %+v", r)
	}
	for _, args := range []string{`{"command":"ls"}`, `{"command":[]}`, `{}`, `{"command":["x"],"timeout_seconds":0}`, `[]`, `"x"`} {
		if r := call(t, s, b, "exec", args); !r.IsError || !strings.Contains(r.Content, "do not fit") {
			t.Errorf("%s: got %+v, want a problem with the arguments", args, r)
		}
	}
}

func TestOnlyAGoneBoxIsAnError(t *testing.T) {
	t.Parallel()
	b, s := box(t), set(t, tool.Policy{})
	for _, args := range []string{`{"path":"../../etc/passwd","content":"x"}`, `{"path":"","content":"x"}`} {
		if r := call(t, s, b, "write_file", args); !r.IsError {
			t.Errorf("%s: got %+v, want something the model can read", args, r)
		}
	}
	b.Break(&sandbox.BoxError{Kind: sandbox.Lost, Detail: "gone"})
	_, err := s.Call(t.Context(), b, provider.ToolCall{Name: "list_files", Arguments: json.RawMessage(`{}`)})
	var lost *sandbox.BoxError
	if !errors.As(err, &lost) || lost.Kind != sandbox.Lost {
		t.Errorf("got %v, want the box's error", err)
	}
}
