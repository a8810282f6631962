package packtest_test

import (
	"strings"
	"testing"

	"github.com/agentclash/agentclash/engine/packtest"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
)

func card(scorecard string) exam { return sums(parts{scorecard: scorecard}) }

func TestDeadWeights(t *testing.T) {
	t.Parallel()
	two := func(dimensions string) exam {
		return sums(parts{scorecard: dimensions, validators: `
- {key: right, type: exact_match, target: final_output, expected_from: case.expectations.sum}
- {key: spare, type: contains, target: final_output, expected_from: case.expectations.sum}`})
	}
	metric := func(read string) exam {
		return sums(parts{spec: `metrics: [{key: tokens, type: numeric, collector: run_total_tokens}]`,
			scorecard: `{pass_threshold: 1, dimensions: [correctness` + read + `]}`})
	}
	weights := func(a, b string) exam {
		return card(`{pass_threshold: 1, dimensions: [{key: right, source: validators, weight: ` + a + `}, {key: speed, source: reliability, weight: ` + b + `}]}`)
	}
	run(t, []row{
		{"a validator in no dimension", two(`{pass_threshold: 1, dimensions: [{key: right, source: validators, validators: [right]}]}`),
			packtest.CodeDeadWeight, []string{"warning validators[1]"},
			two(`{pass_threshold: 1, dimensions: [{key: right, source: validators}]}`)},
		{"a metric nobody reads", metric(""), packtest.CodeDeadWeight, []string{"warning metrics[0]"},
			metric(`, {key: cheap, source: metric, metric: tokens, better_direction: lower, normalization: {target: 10, max: 20}}`)},
		{"a weight of 0", weights("1", "0"), packtest.CodeDeadWeight, []string{"warning scorecard.dimensions[1].weight"}, weights("1", "0.5")},
		{"weights of 0 only", weights("0", "0"), packtest.CodeDeadWeight,
			[]string{"warning scorecard.dimensions[0].weight", "warning scorecard.dimensions[1].weight"}, weights("1", "1")},
		{"the threshold of no gate", card(`{pass_threshold: 1, dimensions: [{key: right, source: validators, pass_threshold: 1}]}`),
			packtest.CodeDeadWeight, []string{"warning scorecard.dimensions[0].pass_threshold"},
			card(`{dimensions: [{key: right, source: validators, pass_threshold: 1, gate: true}]}`)},
		{"a boolean as a number", sums(parts{spec: `metrics: [{key: done, type: boolean, collector: run_completed_successfully}]`,
			scorecard: `{pass_threshold: 1, dimensions: [correctness, {key: done, source: metric, metric: done, better_direction: higher, normalization: {target: 1, max: 0}}]}`}),
			packtest.CodeDeadWeight, []string{"warning scorecard.dimensions[1].metric"}, metric(`, {key: cheap, source: metric, metric: tokens, better_direction: lower, normalization: {target: 10, max: 20}}`)},
	})
}

const prices = `pricing: {models: [{provider_key: openai, provider_model_id: m, input_cost_per_million_tokens: 1, output_cost_per_million_tokens: 2}]}`

func TestThresholds(t *testing.T) {
	t.Parallel()
	rate := func(target, threshold string) exam {
		return sums(parts{spec: `metrics: [{key: rate, type: numeric, collector: validator_pass_rate}]`,
			scorecard: `{pass_threshold: ` + threshold + `, dimensions: [{key: rate, source: metric, metric: rate, better_direction: higher, normalization: {target: ` + target + `, max: 0}}]}`})
	}
	calls := func(make func(parts) exam, direction, normalization string) exam {
		return make(parts{spec: `metrics: [{key: calls, type: numeric, collector: run_tool_call_count}]` + "\n" + `post_execution_checks: [{key: out, type: file_capture, path: /workspace/out.txt}]`,
			scorecard: `{dimensions: [correctness, {key: calls, source: metric, metric: calls, better_direction: ` + direction + `, normalization: ` + normalization + `, gate: true, pass_threshold: 1}]}`})
	}
	cost := sums(parts{scorecard: `{dimensions: [correctness, {key: cost, source: cost, better_direction: lower, normalization: {target: 1, max: 2}, gate: true, pass_threshold: 0.5}]}`})
	done := sums(parts{spec: `metrics: [{key: done, type: boolean, collector: run_completed_successfully}]`,
		scorecard: `{dimensions: [correctness, {key: done, source: metric, metric: done, better_direction: higher, normalization: {target: 1, max: 0}, gate: true, pass_threshold: 0.5}]}`})
	signals := func(make func(parts) exam) exam {
		return make(parts{spec: `behavioral: {signals: [{key: scope_adherence, weight: 1}, {key: error_cascade, weight: 1}]}` + "\n" + `post_execution_checks: [{key: out, type: file_capture, path: /workspace/out.txt}]`,
			scorecard: `{dimensions: [correctness, {key: behavioral, gate: true, pass_threshold: 0.5}]}`})
	}
	gate := func(threshold string) exam {
		return card(`{strategy: hybrid, dimensions: [{key: right, source: validators, gate: true, pass_threshold: ` + threshold + `}]}`)
	}
	both := func(a, b string) exam {
		return sums(parts{spec: `metrics: [{key: tokens, type: numeric, collector: run_output_tokens}]`, scorecard: `{strategy: binary, dimensions: [
        {key: right, source: validators, pass_threshold: 1},
        {key: terse, source: metric, metric: tokens, better_direction: lower, normalization: {target: ` + a + `, max: 1000}, pass_threshold: 1},
        {key: long, source: metric, metric: tokens, better_direction: higher, normalization: {target: ` + b + `, max: 0}, pass_threshold: 1}]}`})
	}
	const overall, second = "scorecard.pass_threshold", "scorecard.dimensions[1].pass_threshold"
	run(t, []row{
		{"a mean that stays below", rate("2", "0.6"), packtest.CodeUnreachable, []string{"error " + overall}, rate("2", "0.5")},
		{"tool calls without tools", calls(sums, "higher", "{target: 3, max: 0}"), packtest.CodeUnreachable, []string{"error " + second},
			calls(words, "higher", "{target: 3, max: 0}")},
		// a cost has a score although the pack prices nothing: listed models have a price
		{"a gate without a score", done, packtest.CodeUnreachable, []string{"error " + second}, cost},
		{"signals of a trace that cannot be", signals(sums), packtest.CodeIdle, []string{"warning " + second}, signals(words)},
		{"gates that exclude each other", both("10", "20"), packtest.CodeUnreachable, []string{"error " + overall}, both("20", "10")},
		{"a threshold of 0", card(`{pass_threshold: 0, dimensions: [correctness]}`), packtest.CodeIdle, []string{"warning " + overall},
			card(`{pass_threshold: 0.1, dimensions: [correctness]}`)},
		{"no threshold", card(`{dimensions: [correctness]}`), packtest.CodeIdle, []string{"warning " + overall},
			card(`{dimensions: [{key: right, source: validators, gate: true, pass_threshold: 1}]}`)},
		{"a threshold that failing trials reach", card(`{pass_threshold: 0.5, dimensions: [correctness, reliability]}`), packtest.CodeIdle,
			[]string{"warning " + overall}, card(`{pass_threshold: 0.6, dimensions: [correctness, reliability]}`)},
		{"a gate of 0", gate("0"), packtest.CodeIdle, []string{"warning scorecard.dimensions[0].pass_threshold"}, gate("0.01")},
	})
}

func TestACostLimitNeedsAPrice(t *testing.T) {
	t.Parallel()
	limit := "runtime_limits: {max_cost_usd: 0.5}\n"
	run(t, []row{{"no price", sums(parts{spec: limit}), packtest.CodeUnpriced, []string{"warning runtime_limits.max_cost_usd"},
		sums(parts{spec: limit + prices})}})
	// with a price the agents of the examination run under the limit
	r := exam{pack: parts{spec: limit + prices}.prompt(), reference: solvesSums}.report(t)
	if len(r.Findings) > 0 {
		t.Errorf("got %+v", r.Findings)
	}
}

func TestDuplicates(t *testing.T) {
	t.Parallel()
	cases := func(b, challenge string) exam {
		return sums(parts{cases: `
- {challenge_key: do, case_key: one, payload: {a: 1, b: 2}, expectations: [{key: sum, kind: text, value: "3"}]}
- {challenge_key: do, case_key: two, payload: {a: 1, b: 3}, expectations: [{key: sum, kind: text, value: "4"}]}
- {challenge_key: do, case_key: three, payload: {a: 1, b: ` + b + `}, expectations: [{key: sum, kind: text, value: "` + challenge + `"}]}`})
	}
	run(t, []row{
		{"a case again", cases("2", "3"), packtest.CodeDuplicate, []string{"warning three"}, cases("4", "5")},
		{"another expectation is another case", cases("2", "3"), packtest.CodeDuplicate, []string{"warning three"}, cases("2", "5")},
	})
	if got := message(t, cases("2", "3").report(t), packtest.CodeDuplicate); !strings.Contains(got, `"one"`) {
		t.Errorf("got %q, want the first of the two", got)
	}
}

func TestReadable(t *testing.T) {
	t.Parallel()
	hot := func(p parts, rest, word string) exam {
		p.cases = `
- {challenge_key: do, case_key: hot, ` + rest + `, expectations: [{key: word, kind: text, value: ` + word + `}]}
- {challenge_key: do, case_key: tall, payload: {word: tall}, expectations: [{key: word, kind: text, value: rather short}]}`
		return words(p)
	}
	const word = "utterly cold"
	warned := []string{"warning hot"}
	env := func(shell string) exam {
		return hot(parts{version: "tool_policy: {allowed_tool_kinds: [file], allow_shell: " + shell + "}\nsandbox: {env_vars: {HINT: " + word + "}}"}, "payload: {word: hot}", word)
	}
	file := func(path, content string) exam {
		return hot(parts{}, `payload: {word: hot, workspace_files: [{path: `+path+`, content: "`+content+`"}]}`, "cold")
	}
	asset := func(refer string) exam {
		e := hot(parts{version: "tool_policy: {allowed_tool_kinds: [file]}\nassets: [{key: answer, path: answer.txt}]"}, `payload: {word: hot}`+refer, "null, source: \"artifact:answer\"")
		e.files = map[string]string{"answer.txt": word}
		return e
	}
	keyed := func(content string) exam {
		return hot(parts{}, `payload: {word: hot, workspace_files: [{path: notes.txt, content: "`+content+`"}]}`, word)
	}
	run(t, []row{
		{"in the instructions", hot(parts{instructions: "Not " + word + "."}, "payload: {word: hot}", word), packtest.CodeReadable, warned,
			hot(parts{instructions: "Not cold."}, "payload: {word: hot}", word)},
		{"deep in the payload", hot(parts{}, "payload: {word: hot, hints: [{a: 1, b: \"say \\\"utterly cold\\\"\"}]}", word), packtest.CodeReadable, warned,
			hot(parts{}, "payload: {word: hot, hints: [{a: 1, b: utterly, c: cold}]}", word)},
		{"in an input", hot(parts{}, "inputs: [{key: hint, kind: text, value: "+word+"}]", word), packtest.CodeReadable, warned,
			hot(parts{}, "inputs: [{key: hint, kind: text, value: none}]", word)},
		{"a short word alone in a file", file("answer.txt", `cold\n`), packtest.CodeReadable, warned, file("answer.txt", `it is cold\n`)},
		{"a file that is one of two labels", hot(parts{}, "payload: {word: hot, workspace_files: [{path: a.txt, content: rather short then}]}", "rather short then"),
			packtest.CodeReadable, warned, hot(parts{}, "payload: {word: hot, workspace_files: [{path: a.txt, content: rather short then or not}]}", "rather short then")},
		{"in a variable that a shell shows", env("true"), packtest.CodeReadable, warned, env("false")},
		{"in a file that the case is given", asset(", artifacts: [{key: answer}]"), packtest.CodeReadable, warned, asset("")},
		{"the same JSON value in a file, spaced and ordered otherwise", hot(parts{}, `payload: {word: hot, workspace_files: [{path: x.json, content: "{\"n\": 1,\n \"deep\": [ {\"total\": 35.0, \"count\": 2} ]}"}]}`, "{count: 2, total: 35}"),
			packtest.CodeReadable, warned, hot(parts{}, `payload: {word: hot, workspace_files: [{path: x.json, content: "{\"count\": 2, \"total\": 36}"}]}`, "{count: 2, total: 35}")},
		{"among all answers, by case", keyed("hot: " + word + ", tall: rather short"), packtest.CodeReadable, warned, keyed("hot and tall")},
	})
	e := hot(parts{version: "tool_policy: {allowed_tool_kinds: [browser]}"}, `payload: {word: hot, workspace_files: [{path: a.txt, content: cold}]}`, "cold")
	if got := found(e.report(t), packtest.CodeReadable); len(got) > 0 {
		t.Errorf("without a tool that reads files: got %q", got)
	}
}

func TestReadableSaysWhere(t *testing.T) {
	t.Parallel()
	e := exam{boxes: sandboxtest.Memory(), pack: parts{instructions: "It is utterly cold.", cases: `
- {challenge_key: do, case_key: hot, payload: {word: "utterly cold", workspace_files: [{path: d/a.txt, content: utterly cold}]}, expectations: [{key: word, kind: text, value: utterly cold}]}`}.native()}
	want := `the expectation "word" is to be read in the instructions, the case's payload, the workspace file "/workspace/d/a.txt"`
	if got := message(t, e.report(t), packtest.CodeReadable); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
