package packtest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/engine/packtest"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
)

func solved(p parts) exam { return exam{pack: p.prompt(), reference: solvesSums} }

func TestMutants(t *testing.T) {
	t.Parallel()
	two := func(second, threshold string) exam {
		return solved(parts{scorecard: `{pass_threshold: ` + threshold + `, dimensions: [correctness]}`, validators: `
- {key: right, type: exact_match, target: final_output, expected_from: case.expectations.sum}
- ` + second})
	}
	const also = `{key: also, type: contains, target: final_output, expected_from: case.expectations.sum}`
	number := func(config, gate string) exam {
		return solved(parts{scorecard: `{pass_threshold: 1, dimensions: [correctness]}`, validators: `
- {key: near, type: numeric_match, target: final_output, expected_from: case.expectations.sum` + config + `}` + gate})
	}
	exact := "\n- {key: right, type: exact_match, target: final_output, expected_from: case.expectations.sum}"
	run(t, []row{
		{"one that another implies", two(also, "1"), packtest.CodeUnnoticedMutant, []string{"warning validators[1]"}, solved(parts{})},
		{"one that cannot tip the scale", two(also, "0.5"), packtest.CodeUnnoticedMutant, []string{"warning validators[0]"}, solved(parts{})},
		{"a tolerance that another rules out", number(", config: {absolute_tolerance: 2}", exact), packtest.CodeUnnoticedMutant,
			[]string{"warning validators[0]"}, number(", config: {absolute_tolerance: 2}", "")},
		{"a narrow tolerance", number(", config: {absolute_tolerance: 0.5}", exact), packtest.CodeUnnoticedMutant,
			[]string{"warning validators[0]"}, number(", config: {absolute_tolerance: 0.5}", "")},
		{"a relative tolerance", number(", config: {tolerance: 0.01}", exact), packtest.CodeUnnoticedMutant,
			[]string{"warning validators[0]"}, number(", config: {tolerance: 0.01}", "")},
		{"an exact number", number("", exact), packtest.CodeUnnoticedMutant, []string{"warning validators[0]"}, number("", "")},
	})
}

// graded is a pack whose tests run a program; the memory box plays it.
func graded(t *testing.T, config, scorecard string) exam {
	t.Helper()
	boxes := sandboxtest.Memory()
	boxes.OnOpen(func(b *sandboxtest.MemoryBox) {
		b.HandleExec(func(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
			want := map[string]string{"test hot": "cold", "test tall": "short"}[c.Argv[len(c.Argv)-1]]
			if b.Files()["/workspace/out.txt"] == want {
				return sandboxtest.Exited(0, "2 passed", ""), nil
			}
			return sandboxtest.Exited(1, "1 passed, 1 failed", ""), nil
		})
	})
	return exam{reference: solvesWords, boxes: boxes, pack: parts{scorecard: scorecard, validators: `
- {key: tests, type: code_execution, target: "file:out", config: {test_command: "test {{word}}"` + config + `}}`}.native()}
}

func TestMutantsOfTests(t *testing.T) {
	t.Parallel()
	const strict = "{pass_threshold: 1, dimensions: [correctness]}"
	run(t, []row{
		{"a pass_threshold that no dimension reads", graded(t, ", pass_threshold: 0.5", strict), packtest.CodeUnnoticedMutant,
			[]string{"warning validators[0]"}, graded(t, "", strict)},
		{"half of the tests are enough", graded(t, "", "{pass_threshold: 0.5, dimensions: [correctness]}"), packtest.CodeCheatPassed,
			[]string{"error hot echo", "error tall echo", "error tall hardcoded"}, graded(t, "", strict)},
	})
}

// What an agent called, and what it left in a directory, is spoiled as well:
// validators of them are noticed where they decide something.
func TestMutantsOfTraces(t *testing.T) {
	t.Parallel()
	on := func(validator string) exam {
		return exam{reference: solvesWords, boxes: sandboxtest.Memory(), pack: parts{
			spec: `post_execution_checks: [{key: out, type: file_capture, path: /workspace/out.txt}, {key: dir, type: directory_listing, path: /workspace}]`,
			validators: `
- {key: right, type: file_content_match, target: "file:out", expected_from: case.expectations.word, config: {match_mode: exact}}
- ` + validator}.native()}
	}
	const unnoticed = packtest.CodeUnnoticedMutant
	listed := func(config string) exam {
		return on(`{key: also, type: directory_structure, target: "file:dir", config: ` + config + `}`)
	}
	called := func(config string) exam {
		return on(`{key: also, type: tool_call_assertion, target: tool_calls, config: ` + config + `}`)
	}
	run(t, []row{
		{"a listing that is always right", listed(`{}`), unnoticed, []string{"warning validators[1]"}, listed(`{forbidden_files: [notes.txt]}`)},
		{"a listing that must have something", listed(`{}`), unnoticed, []string{"warning validators[1]"}, listed(`{required_files: [out.txt]}`)},
		{"a tool that may be called or not", called(`{tool_name: exec, min_count: 0}`), unnoticed, []string{"warning validators[1]"},
			called(`{tool_name: exec, must_call: false}`)},
		{"a tool that must be called", called(`{max_count: 1000}`), unnoticed, []string{"warning validators[1]"}, called(`{tool_name: write_file}`)},
		{"a tool that must be called once", called(`{min_count: 0}`), unnoticed, []string{"warning validators[1]"}, called(`{tool_name: write_file, count: 1}`)},
	})
}

func TestMutantsAreNamed(t *testing.T) {
	t.Parallel()
	for threshold, want := range map[string]string{
		"1":   `no case notices when the validator "also" always passes: what it would stop is stopped by something else too, or no case tests it`,
		"0.4": `no case notices when the validator "also" always passes, or always fails: it decides no trial`,
	} {
		e := solved(parts{scorecard: `{pass_threshold: ` + threshold + `, dimensions: [{key: right, source: validators, validators: [right], gate: true, pass_threshold: 1}, {key: also, source: validators, validators: [also]}]}`,
			validators: `
- {key: right, type: exact_match, target: final_output, expected_from: case.expectations.sum}
- {key: also, type: contains, target: final_output, expected_from: case.expectations.sum}`})
		got := message(t, e.report(t), packtest.CodeUnnoticedMutant)
		if got != want {
			t.Errorf("threshold %s:\ngot  %s\nwant %s", threshold, got, want)
		}
	}
}

// A validator earns its place by what only it sees: here each is alone in
// looking at one file, or at one key of a reply.
func TestMutantsAreJudgedOnSpoiledAnswers(t *testing.T) {
	t.Parallel()
	files := exam{boxes: sandboxtest.Memory(), pack: parts{
		spec: `post_execution_checks: [{key: a, type: file_capture, path: a.txt}, {key: b, type: file_capture, path: b.txt}, {key: all, type: directory_listing, path: /workspace}]`,
		validators: `
- {key: a, type: file_exists, target: "file:a"}
- {key: b, type: file_content_match, target: "file:b", expected_from: case.expectations.word}
- {key: c, type: contains, target: "file:all", expected_from: "literal:a.txt"}`}.native(), reference: `
default:
  - tool_calls: [{name: write_file, arguments: {path: a.txt, content: a}}, {name: write_file, arguments: {path: b.txt, content: cold and short}}]
  - tool_calls: [{name: submit, arguments: {answer: done}}]`}
	if got := found(files.report(t), packtest.CodeUnnoticedMutant); len(got) > 0 {
		t.Errorf("two files and a listing: got %q", got)
	}
	object := exam{pack: parts{validators: `
- {key: form, type: json_schema, target: final_output, expected_from: 'literal:{"type": "object", "additionalProperties": false, "required": ["sum", "why"], "properties": {"sum": {}, "why": {}}}'}
- {key: sum, type: json_path_match, target: final_output, expected_from: case.expectations.sum}
- {key: why, type: json_path_match, target: final_output, expected_from: 'literal:{"path": "$.why", "comparator": "equals", "value": "adding"}'}`,
		cases: strings.NewReplacer(`"3"`, `'{"path": "$.sum", "comparator": "equals", "value": 3}'`, `"42"`, `'{"path": "$.sum", "comparator": "equals", "value": 42}'`).Replace(`
- {challenge_key: do, case_key: small, payload: {a: 1, b: 2}, expectations: [{key: sum, kind: json, value: "3"}]}
- {challenge_key: do, case_key: large, payload: {a: 20, b: 22}, expectations: [{key: sum, kind: json, value: "42"}]}`)}.prompt(),
		reference: `cases: {small: [{text: '{"sum": 3, "why": "adding"}'}], large: [{text: '{"sum": 42, "why": "adding"}'}]}`}
	r := object.report(t)
	if got := found(r, packtest.CodeUnnoticedMutant); len(got) > 0 || r.Mutants.Judged < 7 {
		t.Errorf("keys of an object: got %q, %+v", got, r.Mutants)
	}
}

// What is right for another case is the wrong answer that is most alike: only
// it tells a form from a value.
func TestMutantsAreJudgedOnAnswersOfOtherCases(t *testing.T) {
	t.Parallel()
	label := exam{boxes: sandboxtest.Memory(), pack: parts{
		validators: `
- {key: file, type: file_content_match, target: "file:out", expected_from: case.expectations.word, config: {match_mode: exact}}
- {key: form, type: regex_match, target: final_output, expected_from: "literal:^(cold|short)$"}
- {key: label, type: contains, target: final_output, expected_from: case.expectations.word}`}.native(),
		reference: strings.NewReplacer("answer: done}}]}]\n  tall", "answer: cold}}]}]\n  tall", "short}}]}, {tool_calls: [{name: submit, arguments: {answer: done", "short}}]}, {tool_calls: [{name: submit, arguments: {answer: short").Replace(solvesWords)}
	if r := label.report(t); len(r.Findings) > 0 {
		t.Errorf("a label beside a file: got %+v", r.Findings)
	}
	key := exam{pack: parts{validators: `
- {key: form, type: json_schema, target: final_output, expected_from: 'literal:{"additionalProperties": false, "required": ["kind", "by"], "properties": {"kind": {"enum": ["odd", "even"]}, "by": {"enum": ["me", "you"]}}}'}
- {key: kind, type: json_path_match, target: final_output, expected_from: case.expectations.sum}
- {key: by, type: json_path_match, target: final_output, expected_from: case.expectations.by}`,
		cases: `
- {challenge_key: do, case_key: one, payload: {a: 1, b: 2}, expectations: [{key: sum, kind: json, value: '{"path": "$.kind", "comparator": "equals", "value": "odd"}'}, {key: by, kind: json, value: '{"path": "$.by", "comparator": "equals", "value": "me"}'}]}
- {challenge_key: do, case_key: two, payload: {a: 2, b: 2}, expectations: [{key: sum, kind: json, value: '{"path": "$.kind", "comparator": "equals", "value": "even"}'}, {key: by, kind: json, value: '{"path": "$.by", "comparator": "equals", "value": "you"}'}]}`}.prompt(),
		reference: `cases: {one: [{text: '{"kind": "odd", "by": "me"}'}], two: [{text: '{"kind": "even", "by": "you"}'}]}`}
	if r := key.report(t); len(r.Findings) > 0 {
		t.Errorf("one key of an object: got %+v", r.Findings)
	}
}

// A trial that the agent failed to end is no evidence of what should pass.
func TestUnfinishedTrialsAreNoMeasure(t *testing.T) {
	t.Parallel()
	e := exam{boxes: sandboxtest.Memory(), pack: parts{validators: `- {key: right, type: file_content_match, target: "file:out", expected_from: case.expectations.word, config: {match_mode: regex}}`}.native(),
		reference: `
cases:
  hot: [{tool_calls: [{name: write_file, arguments: {path: out.txt, content: cold}}]}, {text: done}]
  tall: [{tool_calls: [{name: write_file, arguments: {path: out.txt, content: short}}]}, {text: done}]`}
	r := e.report(t)
	if got := found(r, packtest.CodeReferenceFailed); len(got) != 2 || r.Mutants.Judged != 0 {
		t.Errorf("got %q, %+v; want two failures and no mutants", got, r.Mutants)
	}
}

func TestDeadValidatorsAreNotMutated(t *testing.T) {
	t.Parallel()
	e := solved(parts{scorecard: `{pass_threshold: 1, dimensions: [{key: right, source: validators, validators: [right]}]}`, validators: `
- {key: right, type: exact_match, target: final_output, expected_from: case.expectations.sum}
- {key: spare, type: contains, target: final_output, expected_from: case.expectations.sum}`})
	if got := found(e.report(t), packtest.CodeUnnoticedMutant); len(got) > 0 {
		t.Errorf("got %q: it is said to be dead already", got)
	}
}
