package pack_test

import (
	"strings"
	"testing"

	"github.com/agentclash/agentclash/pack"
)

// edgeBase is valid and has something of everything that the rows below bend.
const edgeBase = `pack:
  slug: edge
  name: Edge
  family: tests
version:
  number: 1
  execution_mode: native
  evaluation_spec:
    name: edge-v1
    version_number: 1
    judge_mode: deterministic
    validators:
      - {key: same, type: exact_match, target: final_output, expected_from: "literal:ok"}
    scorecard: {dimensions: [correctness]}
challenges:
  - key: c1
    title: C1
    category: general
    difficulty: easy
  - key: c2
    title: C2
    category: general
    difficulty: hard
input_sets:
  - key: set
    name: Set
    cases:
      - {challenge_key: c1, case_key: k1}
      - {challenge_key: c1, case_key: k2}
`

// Each row replaces text in edgeBase and names what must then be said, in the
// order of the file: "field: part of the message", "~" before a warning.
// Nothing means that the pack is fine.
func TestEdges(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name, old, with string
		want            []string
	}{
		// Decoding.
		{"number as text", "number: 1\n", "number: \"1\"\n", []string{"version.number: whole number"}},
		{"number cut to zero", "number: 1\n", "number: 0.5\n", []string{"~version.number: cut to the whole number 0", "version.number: greater than 0"}},
		{"number too large", "number: 1\n", "number: 2147483648\n", []string{"version.number: too large"}},
		{"number far too large", "number: 1\n", "number: 1e300\n", []string{"version.number: too large"}},
		{"number beyond all integers", "number: 1\n", "number: 18446744073709551615\n", []string{"version.number: too large"}},
		{"number in hex", "number: 1\n", "number: 0x10\n", nil},
		{"number in octal", "number: 1\n", "number: 010\n", nil},
		{"number with exponent", "number: 1\n", "number: 1e3\n", nil},
		{"number with underscore", "number: 1\n", "number: 1_000\n", nil},
		{"number as a time", "number: 1\n", "number: 1:30\n", []string{"version.number: whole number"}},
		{"number infinite", "number: 1\n", "number: .inf\n", []string{"version.number: whole number"}},
		{"number empty", "number: 1\n", "number:\n", []string{"version.number: greater than 0"}},
		{"slug a number", "slug: edge", "slug: 12", nil},
		{"slug a boolean", "slug: edge", "slug: true", nil},
		{"slug with spaces", "slug: edge", "slug: \"a b / c\"", []string{"~pack.slug: hard to name in a command"}},
		{"slug blank", "slug: edge", "slug: \"  \"", []string{"pack.slug: is required"}},
		{"slug null", "slug: edge", "slug: ~", []string{"pack.slug: is required"}},
		{"key in capitals", "slug: edge", "Slug: edge", []string{"~pack.Slug: did you mean \"slug\"?", "pack.slug: is required"}},
		{"local tag", "slug: edge", "slug: !local edge", nil},
		{"bad explicit tag", "number: 1\n", "number: !!int abc\n", []string{"version.number: whole number"}},
		{"keys of others", "family: tests", "family: tests\n  homepage: x", []string{"~pack.homepage: ignored"}},
		{"extension key", "pack:\n", "x-mine: [1]\npack:\n", nil},
		{"cases with a hole", "      - {challenge_key: c1, case_key: k2}", "      -\n      - {challenge_key: c1, case_key: k1}", []string{"input_sets[0].cases[1].case_key: unique"}},
		{"payload a text", "case_key: k1}", "case_key: k1, payload: hello}", []string{"input_sets[0].cases[0].payload: must be a mapping"}},
		{"payload a list", "case_key: k1}", "case_key: k1, payload: [1]}", []string{"input_sets[0].cases[0].payload: must be a mapping"}},
		{"payload null", "case_key: k1}", "case_key: k1, payload: null}", nil},
		{"payload not finite", "case_key: k1}", "case_key: k1, payload: {a: [.nan]}}", []string{"input_sets[0].cases[0].payload.a[0]: finite"}},
		{"payload with number keys", "case_key: k1}", "case_key: k1, payload: {a: {1: x}}}", nil},
		{"payload with a list as key", "case_key: k1}", "case_key: k1, payload: {[a]: x}}", []string{"input_sets[0].cases[0].payload: key that is not text"}},
		{"payload binary", "case_key: k1}", "case_key: k1, payload: {a: !!binary aGk=}}", nil},
		{"payload broken binary", "case_key: k1}", "case_key: k1, payload: {a: !!binary '*'}}", []string{"input_sets[0].cases[0].payload.a: base64"}},
		{"artifacts as text", "case_key: k1}", "case_key: k1, artifacts: [w]}", []string{"input_sets[0].cases[0].artifacts[0]: must be a mapping"}},
		{"merge of a text", "case_key: k1}", "case_key: k1, <<: text}", []string{"input_sets[0].cases[0]: can only merge"}},
		{"merge of nothing", "case_key: k1}", "case_key: k1, <<: []}", nil},
		{"merge of null", "case_key: k1}", "case_key: k1, <<: }", nil},
		{"merge of a list of texts", "case_key: k1}", "case_key: k1, <<: [text]}", []string{"input_sets[0].cases[0]: can only merge"}},
		{"alias as a key", "case_key: k1}", "case_key: k1, payload: {&a x: 1, y: {*a : 2}}}", nil},
		{"aliases too deep", "case_key: k1}", "case_key: k1, payload: {a: &a " + nested(60) + ", b: &b " + nested(30, "*a") + ", c: " + nested(30, "*b") + "}}", []string{"input_sets[0].cases[0].payload.c" + strings.Repeat("[0]", 30) + ": nested more than 100"}},
		{"long text in a message", "number: 1\n", "number: \"" + strings.Repeat("é", 500) + "\"\n", []string{"version.number: " + strings.Repeat("é", 40) + "...\""}},
		{"misplaced in version", "  number: 1\n", "  number: 1\n  security: 1\n  challenges: 1\n  validators: 1\n", []string{
			"~version.security: top level", "~version.challenges: top level", "~version.validators: evaluation_spec"}},
		{"misplaced at the top", "pack:\n", "slug: x\ncases: []\nsandbox: {}\npack:\n", []string{
			"~slug: belongs in pack", "~cases: input_sets[].cases", "~sandbox: belongs in version"}},
		{"misplaced in a challenge", "difficulty: easy\n", "difficulty: easy\n    input_set_keys: [a]\n    expectations: []\n    cases: []\n", []string{
			"~challenges[0].input_set_keys: cases[].challenge_key", "~challenges[0].expectations: input_sets[].cases[]", "~challenges[0].cases: input_sets[].cases"}},
		{"misplaced in an input set", "    name: Set\n", "    name: Set\n    challenge_key: c1\n", []string{"~input_sets[0].challenge_key: each case"}},
		// Inside evaluation_spec JSON's rules hold.
		{"spec missing", "  evaluation_spec:\n", "  x-spec:\n", []string{
			"version.evaluation_spec.name: required", "version.evaluation_spec.version_number: ", "version.evaluation_spec.judge_mode: required",
			"version.evaluation_spec.validators: at least one", "version.evaluation_spec.scorecard.dimensions: at least one"}},
		{"spec a text", "  evaluation_spec:\n", "  evaluation_spec: text\n  x-spec:\n", []string{"version.evaluation_spec: must be a mapping"}},
		{"spec name a number", "name: edge-v1", "name: 12", []string{"version.evaluation_spec.name: must be text"}},
		{"spec name a date", "name: edge-v1", "name: 2024-01-02", nil},
		{"spec version as a float", "version_number: 1\n", "version_number: 1.0\n", nil},
		{"spec version with a fraction", "version_number: 1\n", "version_number: 1.5\n", []string{"version.evaluation_spec.version_number: whole number"}},
		{"spec version as text", "version_number: 1\n", "version_number: \"1\"\n", []string{"version.evaluation_spec.version_number: whole number"}},
		{"spec boolean as a word", "dimensions: [correctness]", "dimensions: [{key: correctness, gate: yes}]", []string{"version.evaluation_spec.scorecard.dimensions[0].gate: true or false"}},
		{"spec unknown key deep down", "dimensions: [correctness]", "dimensions: [{key: correctness, wieght: 1}]", []string{"version.evaluation_spec.scorecard.dimensions[0].wieght: did you mean \"weight\"?"}},
		{"spec key in another case", "judge_mode:", "JUDGE_MODE:", []string{"~version.evaluation_spec.JUDGE_MODE: is written judge_mode"}},
		{"spec with a warning", "type: exact_match, target: final_output, expected_from: \"literal:ok\"", "type: regex_match, target: final_output, expected_from: \"literal:(\"", []string{
			"~version.evaluation_spec.validators[0].expected_from: no RE2 expression"}},
		{"spec not scored yet", "dimensions: [correctness]", "dimensions: [correctness, {key: liked, source: human_preference}]", []string{
			"~version.evaluation_spec.scorecard.dimensions[1].source: does not have the dimension source"}},
		{"spec null in a list", "dimensions: [correctness]", "dimensions: [correctness, null]", []string{"version.evaluation_spec.scorecard.dimensions[1].key: required"}},
		// Header and mode.
		{"mode in capitals", "mode: native", "mode: NATIVE", []string{"version.execution_mode: did you mean \"native\"?"}},
		{"mode with spaces", "mode: native", "mode: \"  native \"", nil},
		{"mode empty", "mode: native", "mode: \"\"", nil},
		{"responses without instructions", "mode: native", "mode: responses", []string{"~challenges[0].instructions: required"}},
		{"prompt_eval without instructions", "mode: native", "mode: prompt_eval", []string{"~challenges[0].instructions: required"}},
		{"family in capitals", "family: tests", "family: SECURITY", []string{"security: is required when pack.family is security"}},
		{"security null", "pack:\n", "security:\npack:\n", nil},
		{"modality blank", "pack:\n", "modality: \" \"\npack:\n", nil},
		{"deployment defaults empty", "  number: 1\n", "  number: 1\n  deployment_defaults: {}\n", nil},
		// Challenges and cases.
		{"difficulty with spaces", "difficulty: easy", "difficulty: \" easy \"", nil},
		{"difficulty missing", "    difficulty: easy\n", "", []string{"challenges[0].difficulty: must be one of easy, medium, hard, expert"}},
		{"no input sets", "input_sets:\n", "x-sets:\n", []string{"input_sets: at least one"}},
		{"input sets empty", "input_sets:\n", "input_sets: []\nx-sets:\n", []string{"input_sets: at least one"}},
		{"two challenges in a set", "{challenge_key: c1, case_key: k2}", "{challenge_key: c2, case_key: k2}", []string{"input_sets[0].cases[1].challenge_key: must be \"c1\""}},
		{"first case without challenge", "{challenge_key: c1, case_key: k1}", "{case_key: k1}", []string{"input_sets[0].cases[0].challenge_key: required"}},
		{"first challenge unknown", "{challenge_key: c1, case_key: k1}", "{challenge_key: zz, case_key: k1}", []string{"input_sets[0].cases[0].challenge_key: not the key", "input_sets[0].cases[1].challenge_key: must be \"zz\""}},
		{"case key against item key", "case_key: k2}", "item_key: k1}", []string{"input_sets[0].cases[1].case_key: unique"}},
		{"two cases without challenge", "      - {challenge_key: c1, case_key: k1}\n      - {challenge_key: c1, case_key: k2}", "      - {case_key: k}\n      - {case_key: k}", []string{
			"input_sets[0].cases[0].challenge_key: required", "input_sets[0].cases[1].challenge_key: required", "input_sets[0].cases[1].case_key: unique"}},
		{"one key in two sets", "      - {challenge_key: c1, case_key: k2}", "  - key: other\n    name: Other\n    cases:\n      - {challenge_key: c1, case_key: k1}", nil},
		{"items with case_key", "    cases:\n", "    items: [{challenge_key: c1, case_key: k}]\n    x-cases:\n", []string{"~input_sets[0].items[0].case_key: ignored", "input_sets[0].cases[0].case_key: required"}},
		{"empty cases and items", "    cases:\n", "    cases: []\n    items: [{challenge_key: c1, item_key: k}]\n    x-cases:\n", nil},
		{"case without a key", "case_key: k1}", "key: k1}", []string{"input_sets[0].cases[0].case_key: required", "~input_sets[0].cases[0].key: named by case_key"}},
		{"input without a value", "case_key: k1}", "case_key: k1, inputs: [{key: a, kind: text}]}", nil},
		{"input path anywhere", "case_key: k1}", "case_key: k1, inputs: [{key: a, kind: text, path: ../../etc}]}", nil},
		{"input key twice", "case_key: k1}", "case_key: k1, inputs: [{key: a, kind: t}, {key: a, kind: t}]}", []string{"input_sets[0].cases[0].inputs[1].key: unique"}},
		{"source with spaces", "case_key: k1}", "case_key: k1, inputs: [{key: a, kind: t}], expectations: [{key: e, kind: t, source: 'input: a '}]}", nil},
		{"source in capitals", "case_key: k1}", "case_key: k1, inputs: [{key: a, kind: t}], expectations: [{key: e, kind: t, source: 'INPUT:a'}]}", []string{"input_sets[0].cases[0].expectations[0].source: must begin"}},
		{"source a word", "case_key: k1}", "case_key: k1, expectations: [{key: e, kind: t, source: input}]}", []string{"input_sets[0].cases[0].expectations[0].source: must begin"}},
		{"artifact of the case", "case_key: k1}", "case_key: k1, assets: [{key: mine, path: edge.txt}], artifacts: [{key: mine}]}", []string{"input_sets[0].cases[0].artifacts[0].key: not an asset"}},
		{"artifact of the challenge", "difficulty: easy\n", "difficulty: easy\n    assets: [{key: mine, path: edge.txt}]\n    artifact_refs: [{key: mine}]\n", nil},
		{"artifact of another challenge", "difficulty: hard\n", "difficulty: hard\n    assets: [{key: mine, path: edge.txt}]\n", nil},
		{"workspace input misshapen", "case_key: k1}", "case_key: k1, inputs: [{key: a, kind: workspace, value: x}]}", []string{"~input_sets[0].cases[0].inputs[0].value: list of files"}},
		{"workspace path absolute", "case_key: k1}", "case_key: k1, payload: {workspace_files: [{path: /etc/x, content: y}]}}", []string{"~input_sets[0].cases[0].payload.workspace_files[0].path: in /workspace"}},
		{"workspace path climbing back", "case_key: k1}", "case_key: k1, payload: {workspace_files: [{path: a/../b, content: y}]}}", []string{"~input_sets[0].cases[0].payload.workspace_files[0].path: in /workspace"}},
		{"workspace path the root", "case_key: k1}", "case_key: k1, payload: {workspace_files: [{path: /workspace, content: y}]}}", []string{"~input_sets[0].cases[0].payload.workspace_files[0].path: in /workspace"}},
		{"workspace file and directory", "case_key: k1}", "case_key: k1, payload: {workspace_files: [{path: a, content: y}, {path: a/b, content: y}]}}", []string{"~input_sets[0].cases[0]: \"/workspace/a\" would be a file and a directory"}},
		// Policy, sandbox, file system, tools.
		{"kinds in any spelling", "  number: 1\n", "  number: 1\n  tool_policy: {allowed_tool_kinds: [FILE, ' file ']}\n", nil},
		{"kinds empty", "  number: 1\n", "  number: 1\n  tool_policy: {allowed_tool_kinds: []}\n", nil},
		{"kinds null", "  number: 1\n", "  number: 1\n  tool_policy: {allowed_tool_kinds: null}\n", []string{"version.tool_policy.allowed_tool_kinds: list of tool kinds"}},
		{"kind shell", "  number: 1\n", "  number: 1\n  tool_policy: {allowed_tool_kinds: [shell]}\n", []string{"version.tool_policy.allowed_tool_kinds[0]: allow_shell"}},
		{"kind mistyped", "  number: 1\n", "  number: 1\n  tool_policy: {allowed_tool_kinds: [files]}\n", []string{"version.tool_policy.allowed_tool_kinds[0]: did you mean \"file\"?"}},
		{"kind null", "  number: 1\n", "  number: 1\n  tool_policy: {allowed_tool_kinds: [null]}\n", []string{"version.tool_policy.allowed_tool_kinds[0]: name of a tool kind"}},
		{"shell as a word", "  number: 1\n", "  number: 1\n  tool_policy: {allow_shell: \"yes\"}\n", []string{"~version.tool_policy.allow_shell: true or false"}},
		{"policy key mistyped", "  number: 1\n", "  number: 1\n  tool_policy: {allow_shel: true}\n", []string{"~version.tool_policy.allow_shel: did you mean \"allow_shell\"?"}},
		{"ranges", "  number: 1\n", "  number: 1\n  sandbox: {network_allowlist: [10.0.0.1/8, '::/0', 10.0.0.1, 010.0.0.0/8, 'fe80::1%eth0/64', ' 10.0.0.0/8', 10.0.0.0/33]}\n", []string{
			"~version.sandbox.network_allowlist: has no effect",
			"version.sandbox.network_allowlist[2]: ", "version.sandbox.network_allowlist[3]: ", "version.sandbox.network_allowlist[4]: ",
			"version.sandbox.network_allowlist[5]: ", "version.sandbox.network_allowlist[6]: "}},
		{"packages", "  number: 1\n", "  number: 1\n  sandbox: {additional_packages: [lib+, g++, 9base, libssl1.1, a, x_y, curl=7.0, \"ab\\n\", bash-]}\n", []string{
			"version.sandbox.additional_packages[4]: ", "version.sandbox.additional_packages[5]: ", "version.sandbox.additional_packages[6]: ",
			"version.sandbox.additional_packages[7]: ", "~version.sandbox.additional_packages[8]: ends in a minus"}},
		{"limits", "  number: 1\n", "  number: 1\n  sandbox: {memory: 64MiB, cpus: 0.5, pids: 48, open_files: 64, output_bytes: 1024, file_bytes: ' 4 KiB '}\n", nil},
		{"limits that cannot be", "  number: 1\n", "  number: 1\n  sandbox: {memory: 64MB, cpus: 0, pids: 47, open_files: 2000000, output_bytes: -1, file_bytes: 4095}\n", []string{
			"version.sandbox.memory: must be a size", "version.sandbox.cpus: must be 0.01 to 1024", "version.sandbox.pids: must be 48 to 4194304",
			"version.sandbox.open_files: must be 64 to", "version.sandbox.output_bytes: must be a size", "version.sandbox.file_bytes: must be at least 4KiB"}},
		{"limits beyond all", "  number: 1\n", "  number: 1\n  sandbox: {memory: 99999999999999999999, cpus: .nan, output_bytes: 9007199254740993GiB, file_bytes: +1MiB}\n", []string{
			"version.sandbox.memory: must be a size", "version.sandbox.cpus: must be a number", "version.sandbox.output_bytes: must be a size", "version.sandbox.file_bytes: must be a size"}},
		{"little memory", "  number: 1\n", "  number: 1\n  sandbox: {memory: 63MiB}\n", []string{"version.sandbox.memory: must be at least 64MiB"}},
		{"a workspace without its memory", "  number: 1\n", "  number: 1\n  sandbox: {memory: 1GiB}\n  filesystem: {max_workspace_bytes: 1073741824}\n", []string{
			"~version.filesystem.max_workspace_bytes: raise version.sandbox.memory to 2561MiB, or lower this to 429496720"}},
		{"a workspace that brings its memory", "  number: 1\n", "  number: 1\n  filesystem: {max_workspace_bytes: 1073741824}\n", nil},
		{"variables", "  number: 1\n", "  number: 1\n  sandbox: {env_vars: {_: x, 1B: x, é: x, T: '${secrets.X}', N: , B: true}}\n", []string{
			"version.sandbox.env_vars[1B]: not the name", "version.sandbox.env_vars[é]: not the name", "version.sandbox.env_vars[T]: http_request"}},
		{"variable with a list", "  number: 1\n", "  number: 1\n  sandbox: {env_vars: {A: [x]}}\n", []string{"version.sandbox.env_vars.A: must be text"}},
		{"sandbox with words", "  number: 1\n", "  number: 1\n  sandbox: {network_access: \"yes\"}\n", nil},
		{"roots", "  number: 1\n", "  number: 1\n  filesystem: {writable_roots: [/workspace/out, /], readable_roots: /workspace}\n", []string{
			"~version.filesystem.writable_roots[1]: in /workspace", "~version.filesystem.readable_roots: list"}},
		{"roots that narrow", "  number: 1\n", "  number: 1\n  filesystem: {working_directory: src/app, writable_roots: [out, /workspace/out/b], readable_roots: [/workspace/src]}\n", nil},
		{"roots that narrow nothing", "  number: 1\n", "  number: 1\n  filesystem: {readable_roots: [src]}\n", []string{"~version.filesystem.readable_roots: set writable_roots, too"}},
		{"roots without the directory that agents start in", "  number: 1\n", "  number: 1\n  filesystem: {writable_roots: [out], readable_roots: [src]}\n", []string{
			"~version.filesystem: set working_directory"}},
		{"roots with the directory that agents start in", "  number: 1\n", "  number: 1\n  filesystem: {writable_roots: [out], readable_roots: [/workspace]}\n", nil},
		{"a working directory nobody may read", "  number: 1\n", "  number: 1\n  filesystem: {working_directory: /workspace/app, writable_roots: [out], readable_roots: [src]}\n", []string{
			"~version.filesystem.working_directory: add it to readable_roots"}},
		{"a working directory elsewhere", "  number: 1\n", "  number: 1\n  filesystem: {working_directory: /workspace/../etc}\n", []string{"~version.filesystem.working_directory: must be a directory in /workspace"}},
		{"tools null", "pack:\n", "tools: null\npack:\n", nil},
		{"tools custom null", "pack:\n", "tools: {custom: null}\npack:\n", nil},
		{"tools with a number for a key", "pack:\n", "tools: {1: x, other: {2: y}}\npack:\n", []string{"tools: is a key that is not text"}},
		{"tools custom no list", "pack:\n", "tools: {custom: {}}\npack:\n", []string{"tools: custom must be a list"}},
		{"tools custom", "pack:\n", "tools: {custom: [{name: mine, implementation: {primitive: exec, args: {}}}], allowed: [mine]}\npack:\n", []string{"~tools.custom[0].implementation.primitive: does not unlock exec"}},
		{"tools allowed in another spelling", "pack:\n", "tools: {Allowed: [reed_file]}\npack:\n", []string{"~tools.allowed[0]: did you mean \"read_file\"?"}},
		{"tools a list", "pack:\n", "tools: []\npack:\n", []string{"tools: must be a mapping"}},
		{"tools in the wrong place", "  number: 1\n", "  number: 1\n  tools: {custom: []}\n", []string{"~version.tools: top level"}},
		{"tool name not text", "pack:\n", "tools: {denied: [1]}\npack:\n", []string{"~tools.denied[0]: name of a tool"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if strings.Count(edgeBase, row.old) == 0 {
				t.Fatalf("%q is not in the base", row.old)
			}
			src := strings.Replace(edgeBase, row.old, row.with, 1)
			p, problems := parseBeside(t, src)
			checkProblems(t, problems, row.want)
			if (p == nil) != (problems.Err() != nil) {
				t.Errorf("got pack %v with problems %v", p != nil, problems)
			}
		})
	}
}

// nested is a list in a list, so many levels deep, around a value.
func nested(levels int, core ...string) string {
	return strings.Repeat("[", levels) + strings.Join(core, "") + strings.Repeat("]", levels)
}

// parseBeside parses a pack beside which there is one file, edge.txt.
func parseBeside(t *testing.T, src string) (*pack.Pack, pack.Problems) {
	t.Helper()
	p, problems, err := pack.LoadFS(files(src), "pack.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return p, problems
}

func checkProblems(t *testing.T, got pack.Problems, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d problems, want %d %q:\n%v", len(got), len(want), want, got)
	}
	for i, w := range want {
		field, gist, _ := strings.Cut(w, ": ")
		warning := strings.HasPrefix(field, "~")
		field = strings.TrimPrefix(field, "~")
		if got[i].Field != field || got[i].Warning != warning || !strings.Contains(got[i].Message, gist) {
			t.Errorf("problem %d: got %v, want %s", i, got[i], w)
		}
		if got[i].Line < 1 || got[i].Column < 1 {
			t.Errorf("problem %d has no place: %v", i, got[i])
		}
	}
}
