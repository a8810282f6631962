package engine_test

import (
	"testing"

	"github.com/agentclash/agentclash/sandbox/sandboxtest"
	"github.com/agentclash/agentclash/scoring"
)

const absentPack = `
pack: {slug: absent, name: Absent, family: code}
version:
  number: 1
  execution_mode: native
  tool_policy: {allowed_tool_kinds: [file]}
  evaluation_spec:
    name: absent
    version_number: 1
    judge_mode: deterministic
    post_execution_checks:
      - {key: env, type: file_capture, path: a/.env}
      - {key: dir, type: directory_listing, path: b}
    validators:
      - {key: no file, type: file_exists, target: "file:env", config: {must_exist: false}}
      - {key: no directory, type: postcondition, target: "file:dir", config: {condition: not_exists}}
    scorecard: {dimensions: [correctness], pass_threshold: 1}
challenges: [{key: c, title: C, category: code, difficulty: easy, instructions: Write nothing.}]
input_sets:
  - key: default
    name: Default
    cases:
      - {challenge_key: c, case_key: nothing, payload: {}}
      - {challenge_key: c, case_key: neighbours, payload: {}}
      - {challenge_key: c, case_key: a directory, payload: {}}
      - {challenge_key: c, case_key: a file, payload: {}}
`

// What must not exist exists also when it is not what was to be captured.
func TestWhatCannotBeCapturedExists(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, absentPack), `
cases:
  nothing: [{tool_calls: [{name: submit, arguments: {answer: x}}]}]
  neighbours:
    - {tool_calls: [{name: write_file, arguments: {path: a/env, content: x}}, {name: write_file, arguments: {path: bb/c, content: x}}]}
    - {tool_calls: [{name: submit, arguments: {answer: x}}]}
  a directory:
    - {tool_calls: [{name: write_file, arguments: {path: a/.env/x, content: x}}]}
    - {tool_calls: [{name: submit, arguments: {answer: x}}]}
  a file:
    - {tool_calls: [{name: write_file, arguments: {path: b, content: x}}]}
    - {tool_calls: [{name: submit, arguments: {answer: x}}]}
`)
	h.boxes = sandboxtest.Memory()
	h.run(t)
	want := map[string]scoring.Outcome{
		"nothing": scoring.OutcomePassed, "neighbours": scoring.OutcomePassed,
		"a directory": scoring.OutcomeFailed, "a file": scoring.OutcomeFailed,
	}
	for _, got := range h.trials(t) {
		if got.Outcome != want[got.CaseKey] {
			t.Errorf("%s: got %s %q (%s), want %s", got.CaseKey, got.Outcome, got.Code, got.Reason, want[got.CaseKey])
		}
	}
}
