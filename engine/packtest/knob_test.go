package packtest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/packtest"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
	"github.com/agentclash/agentclash/scoring"
)

// single is a spec of one validator of a type.
func single(typ scoring.ValidatorType, config string) scoring.Spec {
	v := scoring.Validator{Key: "v", Type: typ.Name, Target: "final_output", Config: json.RawMessage(config)}
	if typ.NeedsExpected {
		v.ExpectedFrom = "case.expectations.e"
	}
	switch {
	case typ.OnlyTarget != "":
		v.Target = typ.OnlyTarget
	case typ.Name == scoring.DirectoryStructure:
		v.Target = "file:d"
	case typ.FileTarget:
		v.Target = "file:f"
	}
	return scoring.Spec{Name: "s", VersionNumber: 1, JudgeMode: scoring.Deterministic, Validators: []scoring.Validator{v},
		PostExecutionChecks: []scoring.PostExecutionCheck{
			{Key: "f", Type: scoring.FileCapture, Path: "/workspace/f"}, {Key: "d", Type: scoring.DirectoryListing, Path: "/workspace"}},
		Scorecard: scoring.ScorecardSpec{Dimensions: []scoring.Dimension{{Key: "correctness"}}}}
}

// knobs are configs with everything that can be changed, and what is.
var knobs = map[string][]struct {
	config string
	want   []string // besides the negation
}{
	scoring.ExactMatch:      {{`{}`, nil}},
	scoring.NumericMatch:    {{`{"absolute_tolerance": 2}`, []string{"is 10 times as tolerant"}}, {`{"significant_digits": 3}`, []string{"reads one digit less"}}, {`{}`, []string{"tolerates a tenth of the number"}}},
	scoring.MathEquivalence: {{`{"tolerance": 0.01}`, []string{"is 10 times as tolerant"}}, {`{}`, []string{"tolerates a tenth"}}, {`{"numeric_fallback": false}`, nil}},
	scoring.FuzzyMatch:      {{`{"threshold": 0.9}`, []string{"has the threshold 0", "has the threshold 1"}}, {`{}`, nil}},
	scoring.TokenF1:         {{`{"threshold": 1}`, []string{"has the threshold 0"}}},
	scoring.BLEUScore:       {{`{"threshold": 0, "max_ngram": 2}`, []string{"has the max_ngram 1", "has the threshold 1"}}},
	scoring.ROUGEScore:      {{`{"variant": "rouge-2"}`, []string{"compares single words"}}},
	scoring.ChrFScore:       {{`{"char_order": 4}`, []string{"has the char_order 1"}}},
	scoring.NormalizedMatch: {{`{"pipeline": ["trim", "lowercase"]}`, []string{`leaves "lowercase" out of pipeline`, `leaves "trim" out of pipeline`}}},
	scoring.FileContentMatch: {{`{"match_mode": "exact"}`, []string{"has the match_mode contains"}}, {`{}`, []string{"has the match_mode exact"}},
		{`{"match_mode": "not_contains"}`, []string{"has the match_mode contains"}}, {`{"match_mode": "json_equal"}`, []string{"has the match_mode exact"}}},
	scoring.FileExists: {{`{"must_exist": false}`, nil}},
	scoring.Postcondition: {{`{"condition": "equals", "value": 1}`, []string{"only asks whether the file exists"}},
		{`{"condition": "not_exists"}`, nil}},
	scoring.DirectoryStructure: {{`{"required_files": ["a"], "forbidden_files": ["b"], "required_directories": ["c"]}`,
		[]string{`leaves "a" out of required_files`, `leaves "b" out of forbidden_files`, `leaves "c" out of required_directories`}}},
	scoring.CodeExecution: {{`{"test_command": "x", "pass_threshold": 0.5}`, []string{"has the pass_threshold 0", "has the pass_threshold 1"}}},
	scoring.ToolCallAssertion: {
		{`{"tool_name": "a", "count": 2}`, []string{"asks for one call more"}},
		{`{"min_count": 2, "max_count": 3}`, []string{"allows one call more", "asks for one call less"}},
		{`{"arguments_contain": {"k": 1, "l": 2}}`, []string{`leaves "k" out of arguments_contain`, `leaves "l" out of arguments_contain`}},
		{`{"ordered_tools": ["a", "b"]}`, []string{`leaves "a" out of ordered_tools`, `leaves "b" out of ordered_tools`}},
	},
}

// Every change makes another spec, and one that can be scored.
func TestChangesAreSpecs(t *testing.T) {
	t.Parallel()
	for _, typ := range scoring.ValidatorTypes() {
		for _, row := range knobs[typ.Name] {
			spec := single(typ, row.config)
			if _, wrong := scoring.Compile(spec); len(wrong) > 0 {
				t.Fatalf("%s %s: %v", typ.Name, row.config, wrong)
			}
			got := packtest.Changed(spec.Validators[0])
			want := slices.Sorted(slices.Values(append([]string{"is negated"}, row.want...)))
			if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
				t.Errorf("%s %s: changes (-want +got):\n%s", typ.Name, row.config, diff)
			}
			before := spec.Digest()
			for how, v := range got {
				spec.Validators = []scoring.Validator{v}
				if _, wrong := scoring.Compile(spec); len(wrong) > 0 || spec.Digest() == before {
					t.Errorf("%s %s: %s: %v, or nothing is changed", typ.Name, row.config, how, wrong)
				}
			}
		}
	}
}

func TestExamples(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{`abc`, `(?i)8rQ2vK|quoin`, `[0-9]{2,3}-x+`, `(bus|line)( 14)? (is|are) cut`, `\d\s\w[^a]`, `a.c`, `7741$`} {
		text, ok := packtest.TextFor(pattern)
		if !ok || !regexp.MustCompile(pattern).MatchString(text) {
			t.Errorf("%s: got %q, %v", pattern, text, ok)
		}
	}
	for _, pattern := range []string{`(`, `\bB\b\B`, `a^b`, `x{1000}{2}`, strings.Repeat("a{500}", 3)} {
		if text, ok := packtest.TextFor(pattern); ok {
			t.Errorf("%s: got %.40q, want none", pattern, text)
		}
	}
}

// What is forbidden, in whatever way, is done to good answers: then a validator
// that alone forbids it is noticed.
func TestForbiddingValidatorsAreViolated(t *testing.T) {
	t.Parallel()
	said := func(second string) exam {
		return solved(parts{validators: `
- {key: right, type: regex_match, target: final_output, expected_from: case.expectations.pattern}
- ` + second, cases: `
- {challenge_key: do, case_key: small, payload: {a: 1, b: 2}, expectations: [{key: pattern, kind: regex, value: '(^|\D)3(\D|$)'}]}
- {challenge_key: do, case_key: large, payload: {a: 20, b: 22}, expectations: [{key: pattern, kind: regex, value: '(^|\D)42(\D|$)'}]}`})
	}
	left := func(second string) exam {
		return exam{reference: solvesWords, boxes: sandboxtest.Memory(), pack: parts{validators: `
- {key: right, type: file_content_match, target: "file:out", expected_from: case.expectations.word}
- ` + second}.native()}
	}
	for name, e := range map[string]exam{
		"a negated contains":      said(`{key: no, type: contains, target: final_output, expected_from: "literal:sorry", negate: true}`),
		"a negated pattern":       said(`{key: no, type: regex_match, target: final_output, expected_from: 'literal:(?i)as an? (AI|model)', negate: true}`),
		"a file without a text":   left(`{key: no, type: file_content_match, target: "file:out", expected_from: "literal:secret", config: {match_mode: not_contains}}`),
		"a negated file match":    left(`{key: no, type: file_content_match, target: "file:out", expected_from: "literal:secret", negate: true}`),
		"a condition":             left(`{key: no, type: postcondition, target: "file:out", config: {condition: not_contains, value: secret}}`),
		"a negated condition":     left(`{key: no, type: postcondition, target: "file:out", config: {condition: regex_match, value: "se[ck]ret"}, negate: true}`),
		"a call that is not made": left(`{key: no, type: tool_call_assertion, target: tool_calls, config: {tool_name: list_files}, negate: true}`),
	} {
		r := e.report(t)
		if len(r.Findings) > 0 || r.Mutants.Noticed != r.Mutants.Judged || r.Mutants.Judged < 6 {
			t.Errorf("%s: got %+v, %+v; want nothing", name, r.Findings, r.Mutants)
		}
	}
}

// answers is a pack whose two cases expect a text and a number each, and an
// agent that gives these answers.
func answers(validators, small, large string, expected ...string) exam {
	kase := func(key string, expected []string) string {
		list := ""
		for i, e := range expected {
			list += fmt.Sprintf("{key: e%d, kind: text, value: %q}, ", i+1, e)
		}
		return fmt.Sprintf("\n- {challenge_key: do, case_key: %s, payload: {a: %s, b: 2}, expectations: [%s]}", key, key, strings.TrimSuffix(list, ", "))
	}
	half := len(expected) / 2
	return exam{pack: parts{validators: validators, cases: kase("small", expected[:half]) + kase("large", expected[half:])}.prompt(),
		reference: fmt.Sprintf("cases: {small: [{text: %q}], large: [{text: %q}]}", small, large)}
}

// Each of these validators is alone in seeing one small thing that can be wrong
// with a good answer.
func TestSmallThingsAreSpoiled(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]exam{
		"one word of three": answers(`
- {key: form, type: regex_match, target: final_output, expected_from: 'literal:^[a-z]+ [a-z]+ [a-z]+$'}
- {key: one, type: contains, target: final_output, expected_from: case.expectations.e1}
- {key: two, type: regex_match, target: final_output, expected_from: case.expectations.e2}`,
			"alpha beta gamma", "delta eta theta", "alpha", "g[am]+a", "delta", "th?eta$"),
		"a schema that says not": answers(`
- {key: form, type: regex_match, target: final_output, expected_from: 'literal:"why": ?"'}
- {key: sum, type: json_path_match, target: final_output, expected_from: case.expectations.e1}
- {key: no, type: json_schema, target: final_output, expected_from: 'literal:{"properties": {"why": {"not": {"pattern": "(?i)gu+ess"}}}}'}`,
			`{"sum": 3, "why": "adding"}`, `{"sum": 42, "why": "adding"}`, `{"path": "$.sum", "value": 3}`, `{"path": "$.sum", "value": 42}`),
		"the same choice in every case": answers(`
- {key: form, type: json_schema, target: final_output, expected_from: 'literal:{"required": ["sum", "sure"], "additionalProperties": false, "properties": {"sum": {"type": "number"}, "sure": {"enum": ["yes", "no"]}}}'}
- {key: sum, type: json_path_match, target: final_output, expected_from: case.expectations.e1}
- {key: sure, type: json_path_match, target: final_output, expected_from: 'literal:{"path": "$.sure", "value": "yes"}'}`,
			`{"sum": 3, "sure": "yes"}`, `{"sum": 42, "sure": "yes"}`, `{"path": "$.sum", "value": 3}`, `{"path": "$.sum", "value": 42}`),
		"the steps of a normalization": answers(
			`- {key: same, type: normalized_match, target: final_output, expected_from: case.expectations.e1, config: {pipeline: [trim, lowercase, collapse_whitespace, strip_punctuation]}}`,
			"cold and short", "warm and tall", "cold and short", "warm and tall"),
	} {
		if r := e.report(t); len(r.Findings) > 0 || r.Mutants.Judged < 5 {
			t.Errorf("%s: got %+v, %+v; want nothing", name, r.Findings, r.Mutants)
		}
	}
	tree := exam{boxes: sandboxtest.Memory(), pack: parts{
		spec: `post_execution_checks: [{key: out, type: file_capture, path: out.txt}, {key: dir, type: directory_listing, path: /workspace, recursive: true}]`,
		validators: `
- {key: right, type: file_content_match, target: "file:out", expected_from: case.expectations.word, config: {match_mode: exact}}
- {key: tree, type: directory_structure, target: "file:dir", config: {required_files: [out.txt], required_directories: [src]}}`}.native(),
		reference: strings.ReplaceAll(solvesWords, "[{tool_calls: [{name: write_file,", "[{tool_calls: [{name: write_file, arguments: {path: src/a/b.py, content: x}}, {name: write_file, arguments: {path: src/c.py, content: x}}, {name: write_file,")}
	if r := tree.report(t); len(r.Findings) > 0 || r.Mutants.Judged < 8 {
		t.Errorf("a directory with files in it: got %+v, %+v", r.Findings, r.Mutants)
	}
}

// An expectation that must not be met gives nothing away.
func TestWhatIsForbiddenMayBeShown(t *testing.T) {
	t.Parallel()
	with := func(negate string) exam {
		return solved(parts{instructions: "What is {{a}} + {{b}}? Do not say certainly.", validators: `
- {key: right, type: contains, target: final_output, expected_from: case.expectations.sum}
- {key: word, type: contains, target: final_output, expected_from: case.expectations.word, negate: ` + negate + `}`, cases: `
- {challenge_key: do, case_key: small, payload: {a: 1, b: 2}, expectations: [{key: sum, kind: text, value: "3"}, {key: word, kind: text, value: certainly}]}
- {challenge_key: do, case_key: large, payload: {a: 20, b: 22}, expectations: [{key: sum, kind: text, value: "42"}, {key: word, kind: text, value: certainly}]}`})
	}
	run(t, []row{{"a word that must be said", with("false"), packtest.CodeReadable,
		[]string{"warning small", "warning large"}, with("true")}})
}

// A threshold of its own changes a validator's verdict and no trial's.
func TestThresholdsOfValidators(t *testing.T) {
	t.Parallel()
	with := func(config string) exam {
		return solved(parts{scorecard: `{pass_threshold: 0.9, dimensions: [correctness]}`,
			validators: `- {key: near, type: fuzzy_match, target: final_output, expected_from: case.expectations.sum` + config + `}`})
	}
	run(t, []row{{"one that was set", with(", config: {threshold: 0.5}"), packtest.CodeUnnoticedMutant, []string{"warning validators[0]"}, with("")}})
	const want = `no case notices when the validator "near" has the threshold 0, or has the threshold 1: its score counts whatever its verdict, and the pass_threshold of a dimension decides`
	if got := message(t, with(", config: {threshold: 0.5}").report(t), packtest.CodeUnnoticedMutant); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The reader finds what any type expects as a text, and makes what is only to
// be there.
func TestReaderKnowsTheTypes(t *testing.T) {
	t.Parallel()
	shown := func(typ, answer, note string) exam {
		return sums(parts{instructions: "{{note}}", validators: `- {key: right, type: ` + typ + `, target: final_output, expected_from: case.expectations.e}`,
			cases: `
- {challenge_key: do, case_key: one, payload: {note: "` + note + `"}, expectations: [{key: e, kind: text, value: "` + answer + `"}]}
- {challenge_key: do, case_key: two, payload: {note: "nothing"}, expectations: [{key: e, kind: text, value: "quite another text"}]}`})
	}
	for _, typ := range []string{scoring.NormalizedMatch, scoring.FuzzyMatch, scoring.TokenF1, scoring.BLEUScore, scoring.ROUGEScore, scoring.ChrFScore} {
		const text = "the winters here are long and dark"
		run(t, []row{{typ, shown(typ, text, "Do not say: "+text), packtest.CodeCheatPassed, []string{"error one reader"}, shown(typ, text, "Say it.")}})
	}
	run(t, []row{{"math_equivalence", shown(scoring.MathEquivalence, `(x+1)^2/3`, "Not (x+1)^2/3"), packtest.CodeCheatPassed,
		[]string{"error one reader"}, shown(scoring.MathEquivalence, `(x+1)^2/3`, "Work it out.")}})
	left := func(validators string) exam {
		return exam{boxes: sandboxtest.Memory(), pack: parts{
			spec:       `post_execution_checks: [{key: out, type: file_capture, path: /workspace/out.txt}, {key: dir, type: directory_listing, path: /workspace, recursive: true}]`,
			validators: validators}.native()}
	}
	const all = `
- {key: there, type: file_exists, target: "file:out"}
- {key: also, type: postcondition, target: "file:out", config: {condition: exists}}
- {key: tree, type: directory_structure, target: "file:dir", config: {required_files: [src/main.py], required_directories: [tests]}}
- {key: looked, type: tool_call_assertion, target: tool_calls, config: {tool_name: list_files, min_count: 3, arguments_contain: {}}}`
	run(t, []row{{"what must only be there", left(all), packtest.CodeCheatPassed,
		[]string{"error hot reader", "error tall reader", "error tall hardcoded"}, left(all + `
- {key: right, type: file_content_match, target: "file:out", expected_from: case.expectations.word, config: {match_mode: exact}}`)}})
}

// Progress is told of every trial and of every validator.
func TestProgress(t *testing.T) {
	t.Parallel()
	e := exam{pack: parts{}.prompt(), reference: solvesSums}
	var played, judged []int
	e.progress = func(s packtest.Step) {
		switch s.Part {
		case packtest.Playing:
			played = append(played, s.Done, s.Total)
		case packtest.Judging:
			judged = append(judged, s.Done, s.Total)
		}
	}
	e.report(t)
	if len(played) != 20 || played[18] != 10 || played[19] != 10 || !slices.Equal(judged, []int{0, 1}) {
		t.Errorf("got %v and %v, want 10 trials and one validator", played, judged)
	}
}
