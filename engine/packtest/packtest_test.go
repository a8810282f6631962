package packtest_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/packtest"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/scripted"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/sandbox"
)

// parts are what the tests' packs differ in; empty ones take a good pack's.
type parts struct {
	version      string // keys of version, one a line
	validators   string // a list, one a line
	spec         string // keys of evaluation_spec
	scorecard    string
	instructions string
	cases        string // a list, one a line
}

// prompt is a pack of single questions: sums, whose answers are not in them.
func (p parts) prompt() string {
	return p.text("prompt_eval", parts{
		validators:   `- {key: right, type: exact_match, target: final_output, expected_from: case.expectations.sum}`,
		instructions: "What is {{a}} + {{b}}?",
		cases: `
- {challenge_key: do, case_key: small, payload: {a: 1, b: 2}, expectations: [{key: sum, kind: text, value: "3"}]}
- {challenge_key: do, case_key: large, payload: {a: 20, b: 22}, expectations: [{key: sum, kind: text, value: "42"}]}`,
	})
}

// native is a pack whose agents leave a file.
func (p parts) native() string {
	return p.text("native", parts{
		version:      `tool_policy: {allowed_tool_kinds: [file]}`,
		spec:         `post_execution_checks: [{key: out, type: file_capture, path: /workspace/out.txt}]`,
		validators:   `- {key: right, type: file_content_match, target: "file:out", expected_from: case.expectations.word, config: {match_mode: exact}}`,
		instructions: "Write the opposite of the word into out.txt.",
		cases: `
- {challenge_key: do, case_key: hot, payload: {word: hot}, expectations: [{key: word, kind: text, value: cold}]}
- {challenge_key: do, case_key: tall, payload: {word: tall}, expectations: [{key: word, kind: text, value: short}]}`,
	})
}

func (p parts) text(mode string, good parts) string {
	return fmt.Sprintf(`
pack: {slug: tested, name: Tested, family: test}
version:
  number: 1
  execution_mode: %s%s
  evaluation_spec:
    name: tested
    version_number: 1
    judge_mode: deterministic
    validators:%s
    scorecard: %s%s
challenges:
  - {key: do, title: Do, category: test, difficulty: easy, instructions: %q}
input_sets:
  - key: default
    name: Default
    cases:%s
`, mode, indent(2, cmp.Or(p.version, good.version)), indent(6, cmp.Or(p.validators, good.validators)),
		cmp.Or(p.scorecard, "{dimensions: [correctness], pass_threshold: 1}"), indent(4, cmp.Or(p.spec, good.spec)),
		cmp.Or(p.instructions, good.instructions), indent(6, cmp.Or(p.cases, good.cases)))
}

func indent(n int, text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		b.WriteString("\n" + strings.Repeat(" ", n) + strings.TrimRight(line, "\n"))
	}
	return b.String()
}

const (
	solvesSums  = `cases: {small: [{text: "3"}], large: [{text: "42"}]}`
	solvesWords = `
cases:
  hot: [{tool_calls: [{name: write_file, arguments: {path: out.txt, content: cold}}]}, {tool_calls: [{name: submit, arguments: {answer: done}}]}]
  tall: [{tool_calls: [{name: write_file, arguments: {path: out.txt, content: short}}]}, {tool_calls: [{name: submit, arguments: {answer: done}}]}]`
)

// exam is an examination to be made.
type exam struct {
	progress  func(packtest.Step)
	pack      string
	reference string // a script; "" for none
	files     map[string]string
	inputSet  string
	boxes     sandbox.Provider
}

func (e exam) options(t *testing.T) packtest.Options {
	t.Helper()
	files := fstest.MapFS{"pack.yaml": {Data: []byte(e.pack)}}
	for name, text := range e.files {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	p, problems, err := pack.LoadFS(files, "pack.yaml")
	if err != nil || problems.Err() != nil {
		t.Fatalf("the test's pack: %v\n%v\n%s", err, problems, e.pack)
	}
	var n atomic.Int64
	o := packtest.Options{
		Pack: p, InputSet: e.inputSet, Boxes: e.boxes, Concurrency: 8, Progress: e.progress,
		Now:   func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		NewID: func() string { return fmt.Sprintf("id-%04d", n.Add(1)) },
	}
	if e.reference != "" {
		o.Reference = client(t, e.reference)
	}
	return o
}

func client(t *testing.T, script string) provider.Client {
	t.Helper()
	s, err := scripted.Load("reference.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return scripted.New(s)
}

func (e exam) report(t *testing.T) *packtest.Report {
	t.Helper()
	r, err := packtest.Examine(t.Context(), e.options(t))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// found are the findings of a code, in short.
func found(r *packtest.Report, code string) []string {
	list := []string{}
	for _, f := range r.Findings {
		if f.Code != code {
			continue
		}
		field := strings.TrimPrefix(f.Field, "version.evaluation_spec.")
		list = append(list, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s", f.Severity, field, f.Case, f.Agent)), " "))
	}
	return list
}

// message is that of the only finding of a code.
func message(t *testing.T, r *packtest.Report, code string) string {
	t.Helper()
	list := []string{}
	for _, f := range r.Findings {
		if f.Code == code {
			list = append(list, f.Message)
		}
	}
	if len(list) != 1 {
		t.Fatalf("got %d findings %s, want one: %q", len(list), code, list)
	}
	return list[0]
}

func outcomes(r *packtest.Report, agent string) string {
	var list []string
	for _, o := range r.Trials {
		if o.Agent == agent {
			list = append(list, o.Case+" "+string(o.Outcome))
		}
	}
	return strings.Join(list, ", ")
}

func interrupted(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(engine.ErrInterrupted)
	return ctx
}
