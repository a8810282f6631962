package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
	"github.com/agentclash/agentclash/scoring"
)

const rootsBlock = "filesystem: {working_directory: app, readable_roots: [/workspace/app, data], writable_roots: [out, app/gen]}"

// narrow is a pack of roots whose case brings files into them and beside them.
func narrow(t *testing.T, src, more string, calls ...string) *harness {
	t.Helper()
	src = strings.Replace(src, `payload: {word: hello}`,
		`payload: {workspace_files: [{path: secret.json, content: '{"a":"SECRET"}'}, {path: data/d.json, content: '{"a":"from data"}'}, {path: app/main.txt, content: "the program"}]}`, 1)
	src = strings.Replace(src, "  evaluation_spec:", "  "+rootsBlock+"\n  "+more+"\n  evaluation_spec:", 1)
	src = strings.Replace(src, "path: /workspace/out.txt", "path: /workspace/out/out.txt", 1)
	return newHarness(parse(t, src), "default:\n  - tool_calls:\n      - "+strings.Join(calls, "\n      - ")+
		"\n  - tool_calls: [{name: submit, arguments: {answer: done}}]\n")
}

// The tools that need no program, and what each is to answer.
var rootedCalls = []struct{ call, want string }{
	{`{name: read_file, arguments: {path: main.txt}}`, "the program"},
	{`{name: read_file, arguments: {path: ../data/d.json}}`, "from data"},
	{`{name: read_file, arguments: {path: /workspace/secret.json}}`, "!outside the directories that may be read: /workspace/app, /workspace/data, /workspace/out"},
	{`{name: read_file, arguments: {path: ../secret.json}}`, "!outside the directories"},
	{`{name: read_file, arguments: {path: ../../etc/passwd}}`, "!outside the workspace"},
	{`{name: write_file, arguments: {path: gen/x, content: x}}`, `"written":true`},
	{`{name: write_file, arguments: {path: /workspace/out/out.txt, content: EXPECTED-MARKER}}`, `"written":true`},
	{`{name: write_file, arguments: {path: main.txt, content: x}}`, "!outside the directories that may be written: /workspace/app/gen, /workspace/out"},
	{`{name: write_file, arguments: {path: /workspace/outer/x, content: x}}`, "!that may be written"},
	{`{name: list_files, arguments: {}}`, "/workspace/app/main.txt"},
	{`{name: list_files, arguments: {prefix: /workspace}}`, "!that may be read"},
	{`{name: search_files, arguments: {pattern: "*.json", path: ..}}`, "!that may be read"},
	{`{name: search_text, arguments: {pattern: program}}`, "main.txt"},
	{`{name: search_text, arguments: {pattern: SECRET, path: /workspace/secret.json}}`, "!that may be read"},
	{`{name: query_json, arguments: {query: .a, file_path: ../secret.json}}`, "!that may be read"},
	{`{name: query_json, arguments: {query: "1", json: "1", output_path: main.txt}}`, "!that may be written"},
	{`{name: query_json, arguments: {query: .a, file_path: ../data/d.json, output_path: gen/q.json}}`, `"written":true`},
	{`{name: query_sql, arguments: {engine: sqlite, query: "SELECT 1", database_path: ../secret.json}}`, "!that may be read"},
	{`{name: http_request, arguments: {method: GET, url: "http://127.0.0.1:9/", output_path: main.txt}}`, "!"},
}

func wantAnswers(t *testing.T, h *harness, want []string) {
	t.Helper()
	calls := h.toolEvents(t)
	if len(calls) != len(want) {
		t.Fatalf("got %d calls, want %d", len(calls), len(want))
	}
	for i, c := range calls {
		text, failed := strings.CutPrefix(want[i], "!")
		if c.Result.IsError != failed || !strings.Contains(c.Result.Content, text) || strings.Contains(c.Result.Content, "SECRET") {
			t.Errorf("%s %s: got %s, want %q", c.ToolName, c.Arguments, c.Result.Content, want[i])
		}
	}
}

func TestRootsWithoutPrograms(t *testing.T) {
	t.Parallel()
	var calls, want []string
	for _, c := range rootedCalls {
		calls, want = append(calls, c.call), append(want, c.want)
	}
	src := strings.Replace(nativePack, "{allowed_tool_kinds: [file], allow_shell: true}", "{allowed_tool_kinds: [file, data, network], allow_network: true}", 1)
	h := narrow(t, src, "", calls...)
	h.boxes, h.queries = sandboxtest.Memory(), queries(t)
	h.run(t)
	wantAnswers(t, h, want)
	if got := h.only(t); got.Outcome != scoring.OutcomePassed {
		t.Errorf("got %s: %s", got.Outcome, got.Reason)
	}
}

func TestRootsWithPrograms(t *testing.T) {
	t.Parallel()
	h := narrow(t, nativePack, "",
		`{name: exec, arguments: {command: [sh, -c, "pwd; cat main.txt ../data/d.json; echo $HOME; echo x > gen/f; cat ../secret.json || echo hidden"]}}`,
		`{name: exec, arguments: {command: [pwd], working_directory: gen}}`,
		`{name: exec, arguments: {command: [pwd], working_directory: /tmp}}`,
		`{name: exec, arguments: {command: [ls], working_directory: /workspace}}`,
		`{name: exec, arguments: {command: [sh, -c, "ln -s /workspace gen/all; ln -s /workspace/secret.json gen/one"]}}`,
		`{name: read_file, arguments: {path: gen/one}}`,
		`{name: read_file, arguments: {path: gen/all/secret.json}}`,
		`{name: write_file, arguments: {path: gen/all/app/main.txt, content: x}}`,
		`{name: write_file, arguments: {path: /workspace/out/out.txt, content: EXPECTED-MARKER}}`,
		python("print('x' * 40000)"),
	)
	h.boxes = containers(t)
	h.run(t)
	wantAnswers(t, h, []string{
		`"stdout":"/workspace/app\nthe program{\"a\":\"from data\"}/tmp\nhidden\n"`, `/workspace/app/gen\n`, `/tmp\n`, "!that may be read",
		`"exit_code":0`, "!outside the directories that the task permits", "!outside the directories that the task permits", "!outside the directories that the task permits",
		`"written":true`, `"exit_code":0`,
	})
	if got := h.only(t); got.Outcome != scoring.OutcomePassed {
		t.Errorf("the graders: got %s: %s", got.Outcome, got.Reason)
	}
}

// A box that cannot keep programs to roots is not one for such a pack.
func TestRootsThatCannotBeKept(t *testing.T) {
	t.Parallel()
	h := narrow(t, nativePack, "", `{name: exec, arguments: {command: [cat, /workspace/secret.json]}}`)
	boxes := sandboxtest.Memory()
	boxes.HandleExec(func(context.Context, sandbox.Command) (sandbox.Result, error) {
		return sandbox.Result{}, errors.New("it ran")
	})
	h.boxes = boxes
	h.run(t)
	if got := h.only(t); got.Outcome != scoring.OutcomeInvalid || !strings.Contains(got.Reason, sandbox.ErrUnbound.Error()) {
		t.Errorf("got %s: %s, want it not to be run", got.Outcome, got.Reason)
	}
	for _, e := range h.facts {
		if e.Type == event.ToolStarted {
			t.Error("a tool was called")
		}
	}
}

// What is too long to be shown goes where the agent can read it.
func TestLongResultsWithinRoots(t *testing.T) {
	t.Parallel()
	boxes := sandboxtest.Memory()
	boxes.OnOpen(func(b *sandboxtest.MemoryBox) {
		if err := b.WriteFile(t.Context(), "app/long", []byte(strings.Repeat("x and more text\n", 5000))); err != nil {
			t.Error(err)
		}
	})
	src := strings.Replace(nativePack, ", allow_shell: true}", "}", 1)
	h := narrow(t, src, "", `{name: search_text, arguments: {pattern: x, max_results: 1000}}`)
	h.boxes = boxes
	h.run(t)
	wantAnswers(t, h, []string{`"full_output_path":"/workspace/app/gen/.agentclash/spill/`})
}

// unbindable are boxes whose kernel keeps no program to directories.
type unbindable struct{ sandbox.Provider }

func (p unbindable) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Session, error) {
	box, err := p.Provider.Open(ctx, spec)
	return unbindableBox{box}, err
}

type unbindableBox struct{ sandbox.Session }

func (b unbindableBox) Bind(_ context.Context, roots sandbox.Roots) (sandbox.Session, error) {
	if roots.Narrow() {
		return nil, sandbox.ErrUnbound
	}
	return b, nil
}

// Where programs cannot be kept to roots, agents without any run all the same,
// and the others not at all, nor again.
func TestRootsWhereProgramsCannotBeBound(t *testing.T) {
	t.Parallel()
	call := `{name: read_file, arguments: {path: ../secret.json}}`
	written := `{name: write_file, arguments: {path: /workspace/out/out.txt, content: EXPECTED-MARKER}}`
	h := narrow(t, strings.Replace(nativePack, ", allow_shell: true}", "}", 1), "", call, written)
	h.boxes = unbindable{sandboxtest.Memory()}
	h.run(t)
	wantAnswers(t, h, []string{"!outside the directories", `"written":true`})
	if got := h.only(t); got.Outcome != scoring.OutcomePassed {
		t.Errorf("without programs: got %s: %s", got.Outcome, got.Reason)
	}
	h = narrow(t, nativePack, "", call)
	boxes := sandboxtest.Memory()
	boxes.HandleExec(func(context.Context, sandbox.Command) (sandbox.Result, error) { return sandbox.Result{}, nil })
	h.boxes = unbindable{boxes}
	h.run(t)
	if got := h.only(t); got.Outcome != scoring.OutcomeInvalid || got.Attempt != 1 || !strings.Contains(got.Reason, sandbox.ErrUnbound.Error()) {
		t.Errorf("with programs: got %s in attempt %d: %s, want it to end at once", got.Outcome, got.Attempt, got.Reason)
	}
	if n := len(boxes.Boxes()); n != 1 {
		t.Errorf("got %d boxes, want no second attempt", n)
	}
}
