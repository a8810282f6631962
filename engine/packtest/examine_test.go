package packtest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/packtest"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
)

func TestGoodPacksAreClean(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]exam{
		"prompt": {pack: parts{}.prompt(), reference: solvesSums},
		"native": {pack: parts{}.native(), reference: solvesWords, boxes: sandboxtest.Memory()},
	} {
		r := e.report(t)
		if len(r.Findings) > 0 || len(r.Notes) > 0 {
			t.Errorf("%s: got findings %+v, notes %q", name, r.Findings, r.Notes)
		}
		if r.Mutants.Judged < 3 || r.Mutants.Noticed != r.Mutants.Judged {
			t.Errorf("%s: %+v, want at least 3 mutants, all noticed", name, r.Mutants)
		}
		for _, o := range r.Trials {
			if !o.Right() {
				t.Errorf("%s: %+v is not right", name, o)
			}
		}
		if want := []string{"reference", "silent", "echo", "reader", "hardcoded"}; !slices.Equal(r.Agents, want) || len(r.Trials) != 10 {
			t.Errorf("%s: got %d trials of %q", name, len(r.Trials), r.Agents)
		}
	}
}

// row is a pack with one thing wrong and its twin without.
type row struct {
	name string
	bad  exam
	code string
	want []string // of the bad one
	twin exam
}

func (r row) check(t *testing.T) {
	t.Helper()
	if diff := cmp.Diff(r.want, found(r.bad.report(t), r.code)); diff != "" {
		t.Errorf("the bad pack's %s (-want +got):\n%s", r.code, diff)
	}
	if got := found(r.twin.report(t), r.code); len(got) > 0 {
		t.Errorf("the good twin's %s: got %q, want none", r.code, got)
	}
}

func run(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.check(t)
		})
	}
}

func sums(p parts) exam { return exam{pack: p.prompt()} }
func words(p parts) exam {
	return exam{pack: p.native(), boxes: sandboxtest.Memory()}
}

func TestReference(t *testing.T) {
	t.Parallel()
	good := exam{pack: parts{}.prompt(), reference: solvesSums}
	with := func(script string) exam { return exam{pack: parts{}.prompt(), reference: script} }
	run(t, []row{
		{"a wrong answer", with(`cases: {small: [{text: "3"}], large: [{text: "41"}]}`), packtest.CodeReferenceFailed,
			[]string{"error large reference"}, good},
		{"no reply for one case", with(`cases: {small: [{text: "3"}]}`), packtest.CodeReferenceFailed,
			[]string{"error large reference"}, good},
		{"a key that is refused", with(`cases: {small: [{error: {code: auth, message: no}}], large: [{text: "42"}]}`), packtest.CodeReferenceFailed,
			[]string{"error small reference"}, good},
	})
}

// Judges are not asked: the rest of the pack is examined, as strictly as if they
// had been.
func TestJudgesAreLeftOut(t *testing.T) {
	t.Parallel()
	judge := "llm_judges: [{key: j, mode: rubric, model: gpt-4o, rubric: kind, context_from: [final_output]}]"
	mixed := exam{reference: solvesSums, pack: strings.Replace(parts{
		spec:      judge,
		scorecard: "{strategy: hybrid, dimensions: [correctness, {key: tone, source: llm_judge, judge_key: j, gate: true, pass_threshold: 0.5}]}",
	}.prompt(), "judge_mode: deterministic", "judge_mode: hybrid", 1)}
	r := mixed.report(t)
	if len(r.Findings) > 0 {
		t.Errorf("got %+v", r.Findings)
	}
	if notes := strings.Join(r.Notes, "; "); !strings.Contains(notes, "without the dimensions tone") {
		t.Errorf("got the notes %q", notes)
	}
	alone := mixed
	alone.pack = strings.Replace(alone.pack, "[correctness, {", "[{", 1)
	if _, err := packtest.Examine(t.Context(), alone.options(t)); !errors.Is(err, packtest.ErrOnlyJudges) {
		t.Errorf("got %v, want %v", err, packtest.ErrOnlyJudges)
	}
}

func TestAFailingReferenceIsExplained(t *testing.T) {
	t.Parallel()
	wrong := exam{pack: parts{}.prompt(), reference: `cases: {small: [{text: "3"}], large: [{text: "41"}]}`}.report(t)
	if got := message(t, wrong, packtest.CodeReferenceFailed); !strings.Contains(got, `"right" (the text is not the expected one)`) {
		t.Errorf("got %q, want the failing validator and why", got)
	}
	silent := exam{pack: parts{}.prompt(), reference: `cases: {large: [{text: "42"}]}`}.report(t)
	if got := message(t, silent, packtest.CodeReferenceFailed); !strings.Contains(got, `no replies for case "small"`) {
		t.Errorf("got %q, want what the script lacks", got)
	}
	if got := outcomes(silent, packtest.Reference); got != "small failed, large passed" {
		t.Errorf("got %q: one case without replies must not end the others", got)
	}
}

func TestCheats(t *testing.T) {
	t.Parallel()
	named := `
- {challenge_key: do, case_key: ada, payload: {name: Ada}, expectations: [{key: name, kind: text, value: Ada}]}
- {challenge_key: do, case_key: bo, payload: {name: Bo}, expectations: [{key: name, kind: text, value: Bo}]}`
	contains := `- {key: named, type: contains, target: final_output, expected_from: case.expectations.name}`
	greets := `- {key: named, type: exact_match, target: final_output, expected_from: case.expectations.name}`
	files := func(content string) string {
		return `
- challenge_key: do
  case_key: hot
  payload: {word: hot, workspace_files: [{path: notes/todo.txt, content: "` + content + `"}]}
  expectations: [{key: word, kind: text, value: cold}]
- {challenge_key: do, case_key: tall, payload: {word: tall}, expectations: [{key: word, kind: text, value: short}]}`
	}
	same := `
- {challenge_key: do, case_key: small, payload: {a: 1, b: 2}, expectations: [{key: sum, kind: text, value: "yes"}]}
- {challenge_key: do, case_key: large, payload: {a: 20, b: 22}, expectations: [{key: sum, kind: text, value: "yes"}]}`
	run(t, []row{
		{"silent passes what only forbids", sums(parts{validators: `- {key: polite, type: regex_match, target: final_output, expected_from: "literal:^[^!]*$"}`}),
			packtest.CodeCheatPassed, []string{"error small silent", "error small echo", "error small reader",
				"error large silent", "error large echo", "error large reader", "error large hardcoded"}, sums(parts{})},
		{"silent leaves no file", words(parts{validators: `- {key: tidy, type: file_exists, target: "file:out", config: {must_exist: false}}`}),
			packtest.CodeCheatPassed, []string{"error hot silent", "error hot reader",
				"error tall silent", "error tall reader", "error tall hardcoded"},
			words(parts{validators: `- {key: there, type: file_content_match, target: "file:out", expected_from: case.expectations.word, config: {match_mode: exact}}`})},
		{"echo repeats a word of the prompt", sums(parts{validators: contains, instructions: "Greet {{name}}.", cases: named}),
			packtest.CodeCheatPassed, []string{"error ada echo", "error bo echo"},
			sums(parts{validators: greets, instructions: "Greet {{name}}.", cases: named})},
		{"echo writes the task into the file", words(parts{validators: `- {key: right, type: file_content_match, target: "file:out", expected_from: case.payload.word}`}),
			packtest.CodeCheatPassed, []string{"error hot echo", "error tall echo"}, words(parts{})},
		{"the reader finds a file", words(parts{cases: files(`cold\n`)}), packtest.CodeCheatPassed, []string{"error hot reader"},
			words(parts{cases: files(`warm\n`)})},
		{"one answer for all", sums(parts{cases: same}), packtest.CodeCheatPassed, []string{"error large hardcoded"}, sums(parts{})},
	})
}

func TestACheatIsExplained(t *testing.T) {
	t.Parallel()
	r := sums(parts{instructions: "What is {{a}} + {{b}}? (It is {{c}}.)", cases: `
- {challenge_key: do, case_key: small, payload: {a: 1, b: 2, c: three thousand}, expectations: [{key: sum, kind: text, value: three thousand}]}`,
	}).report(t)
	if got := message(t, r, packtest.CodeCheatPassed); !strings.Contains(got, `let through by "right"`) {
		t.Errorf("got %q, want the validators that let it through", got)
	}
}

// What is right for a case is no cheating: a label that many cases share, the
// same question asked twice.
func TestTheHardcodedAnswerMayBeRight(t *testing.T) {
	t.Parallel()
	labels := `
- {challenge_key: do, case_key: one, payload: {a: 1, b: 2}, expectations: [{key: sum, kind: text, value: odd}]}
- {challenge_key: do, case_key: two, payload: {a: 1, b: 4}, expectations: [{key: sum, kind: text, value: odd}]}
- {challenge_key: do, case_key: three, payload: {a: 1, b: 5}, expectations: [{key: sum, kind: text, value: even}]}`
	for name, e := range map[string]exam{
		"from the expectations": {pack: parts{cases: labels}.prompt()},
		"from the reference": {pack: parts{cases: labels}.prompt(),
			reference: `cases: {one: [{text: odd}], two: [{text: odd}], three: [{text: even}]}`},
	} {
		r := e.report(t)
		if got := found(r, packtest.CodeCheatPassed); len(got) > 0 {
			t.Errorf("%s: got %q", name, got)
		}
		if got, want := outcomes(r, packtest.Hardcoded), "one passed, two passed, three failed"; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// With a reference the hard-coded answer is all that it did, and stronger than
// what can be guessed from expectations.
func TestTheReferenceIsReplayed(t *testing.T) {
	t.Parallel()
	shape := `- {key: shape, type: regex_match, target: final_output, expected_from: "literal:^[0-9]+$"}`
	without := sums(parts{validators: shape}).report(t)
	with := exam{pack: parts{validators: shape}.prompt(), reference: solvesSums}.report(t)
	if got := outcomes(without, packtest.Hardcoded); got != "small failed, large failed" {
		t.Errorf("a pattern is no answer to hard-code: got %q", got)
	}
	if diff := cmp.Diff([]string{"error large hardcoded"}, found(with, packtest.CodeCheatPassed)); diff != "" {
		t.Errorf("the replayed answer (-want +got):\n%s", diff)
	}
	written := exam{pack: parts{}.native(), reference: solvesWords, boxes: sandboxtest.Memory()}.report(t)
	if got := outcomes(written, packtest.Hardcoded); got != "hot passed, tall failed" {
		t.Errorf("the replayed file: got %q", got)
	}
}

// The same question has the same answer, however the two are judged.
func TestTheSameQuestionAgain(t *testing.T) {
	t.Parallel()
	r := exam{reference: `default: [{text: "It is 3."}]`, pack: parts{
		validators: `- {key: right, type: contains, target: final_output, expected_from: case.expectations.sum}`,
		cases: `
- {challenge_key: do, case_key: one, payload: {a: 1, b: 2}, expectations: [{key: sum, kind: text, value: "3"}]}
- {challenge_key: do, case_key: again, payload: {a: 1, b: 2}, expectations: [{key: sum, kind: text, value: "3."}]}`}.prompt()}.report(t)
	if got := found(r, packtest.CodeCheatPassed); len(got) > 0 || outcomes(r, packtest.Hardcoded) != "one passed, again passed" {
		t.Errorf("got %q, hard-coded: %s", got, outcomes(r, packtest.Hardcoded))
	}
}

// What must stand alone is the answer, whatever else is looked for.
func TestTheStrictestExpectationIsHardcoded(t *testing.T) {
	t.Parallel()
	r := sums(parts{
		validators: `
- {key: number, type: contains, target: final_output, expected_from: case.expectations.sum}
- {key: form, type: exact_match, target: final_output, expected_from: case.expectations.line}`,
		cases: `
- {challenge_key: do, case_key: one, payload: {a: 1, b: 2}, expectations: [{key: sum, kind: text, value: "3"}, {key: line, kind: text, value: "SUM: 3"}]}
- {challenge_key: do, case_key: two, payload: {a: 1, b: 3}, expectations: [{key: sum, kind: text, value: "4"}, {key: line, kind: text, value: "SUM: 4"}]}`}).report(t)
	if got := outcomes(r, packtest.Hardcoded); got != "one passed, two failed" {
		t.Errorf("got %q", got)
	}
}

func TestAnotherAttemptBeginsTheReferenceAgain(t *testing.T) {
	t.Parallel()
	boxes := sandboxtest.Memory()
	o := exam{pack: parts{}.native(), reference: solvesWords, boxes: boxes}.options(t)
	o.Concurrency = 1
	boxes.Fail(sandboxtest.OpWrite, 1, &sandbox.BoxError{Kind: sandbox.Lost, Detail: "gone"})
	r, err := packtest.Examine(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) > 0 || outcomes(r, packtest.Hardcoded) != "hot passed, tall failed" {
		t.Errorf("got %+v, hard-coded: %s", r.Findings, outcomes(r, packtest.Hardcoded))
	}
}

func TestAListOfLabelsIsNoGiveaway(t *testing.T) {
	t.Parallel()
	labels := `
- {challenge_key: do, case_key: one, payload: {text: lovely}, expectations: [{key: sum, kind: text, value: favourable}]}
- {challenge_key: do, case_key: two, payload: {text: horrible}, expectations: [{key: sum, kind: text, value: unfavourable}]}`
	listed := sums(parts{cases: labels, instructions: "Is {{text}} favourable or unfavourable?"}).report(t)
	if len(listed.Findings) > 0 {
		t.Errorf("a list of labels: got %+v", listed.Findings)
	}
	told := sums(parts{cases: strings.ReplaceAll(labels, "lovely", "lovely (favourable)"), instructions: "What is {{text}}?"}).report(t)
	if diff := cmp.Diff([]string{"error one reader"}, found(told, packtest.CodeCheatPassed)); diff != "" {
		t.Errorf("a label in the case's own text (-want +got):\n%s", diff)
	}
}

// The reader stops somewhere: a workspace may be as large as its pack wants.
func TestTheReaderReadsABoundedAmount(t *testing.T) {
	t.Parallel()
	e := words(parts{})
	e.files = map[string]string{}
	version := "tool_policy: {allowed_tool_kinds: [file]}\nassets:"
	for i := range 30 {
		name := fmt.Sprintf("data/%02d.txt", i)
		e.files[name] = strings.Repeat("0123456789abcde\n", 16<<10) // 256 KiB
		version += fmt.Sprintf("\n  - {key: f%d, path: %s}", i, name)
	}
	e.pack = parts{version: version}.native()
	boxes := sandboxtest.Memory()
	e.boxes = boxes
	if r := e.report(t); len(r.Findings) > 0 {
		t.Fatalf("got %+v", r.Findings)
	}
	for _, b := range boxes.Boxes() {
		if b.Spec().Labels.Agent != packtest.Reader {
			continue
		}
		reads := 0
		for _, c := range b.Calls() {
			if c.Op == sandboxtest.OpRead {
				reads++
			}
		}
		if pages := 4 << 20 / (64 << 10); reads < pages || reads > pages+1 {
			t.Errorf("%d reads of 64 KiB, want 4 MiB and the capture", reads)
		}
	}
}

func TestPackErrorsAreSaidOnceACase(t *testing.T) {
	t.Parallel()
	pattern := func(p string) exam {
		return sums(parts{
			validators: `- {key: right, type: regex_match, target: final_output, expected_from: case.expectations.sum}`,
			cases: `
- {challenge_key: do, case_key: small, payload: {a: 1, b: 2}, expectations: [{key: sum, kind: text, value: "` + p + `"}]}
- {challenge_key: do, case_key: large, payload: {a: 20, b: 22}, expectations: [{key: sum, kind: text, value: "^42$"}]}`,
		})
	}
	captured := func(make func(parts) exam) exam {
		return make(parts{spec: `post_execution_checks: [{key: out, type: file_capture, path: /workspace/out.txt}]`,
			validators: `- {key: there, type: file_exists, target: "file:out"}`})
	}
	run(t, []row{
		{"a broken pattern", pattern("^(3$"), packtest.CodePackError, []string{"error small"}, pattern("^3$")},
		{"a file of a pack without a sandbox", captured(sums), packtest.CodePackError, []string{"error small", "error large"}, captured(words)},
	})
}

func TestInfrastructureIsNotThePacksFault(t *testing.T) {
	t.Parallel()
	broken := sandboxtest.Memory()
	broken.Fail(sandboxtest.OpOpen, 0, errors.New("no space for boxes"))
	r := exam{pack: parts{}.native(), reference: solvesWords, boxes: broken}.report(t)
	if diff := cmp.Diff([]string{"warning"}, found(r, packtest.CodeInvalidTrial)); diff != "" || len(r.Findings) != 1 {
		t.Errorf("got %+v", r.Findings)
	}
	if code, reason, all := r.Unjudged(); !all || code != "sandbox_engine" || !strings.Contains(reason, "no space for boxes") {
		t.Errorf("got %q, %q, %v", code, reason, all)
	}

	// one box in two attempts: that trial alone is left out
	flaky := sandboxtest.Memory()
	one := exam{pack: parts{}.native(), reference: solvesWords, boxes: flaky}
	o := one.options(t)
	o.Concurrency = 1
	flaky.Fail(sandboxtest.OpOpen, 1, &sandbox.BoxError{Kind: sandbox.Lost, Detail: "gone"})
	flaky.Fail(sandboxtest.OpOpen, 2, &sandbox.BoxError{Kind: sandbox.Lost, Detail: "gone"})
	r, err := packtest.Examine(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"warning hot reference"}, found(r, packtest.CodeInvalidTrial)); diff != "" || len(r.Findings) != 1 {
		t.Errorf("got %+v", r.Findings)
	}
	if _, _, all := r.Unjudged(); all {
		t.Error("trials that were judged count as none")
	}
}

func TestNotesSayWhatLimitsTheReport(t *testing.T) {
	t.Parallel()
	said := func(r *packtest.Report, text string) bool {
		return slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, text) })
	}
	r := sums(parts{}).report(t)
	if !said(r, "no reference agent") || r.Mutants.Judged == 0 {
		t.Errorf("without a reference: got notes %q, %+v", r.Notes, r.Mutants)
	}
	pattern := parts{validators: `- {key: right, type: regex_match, target: final_output, expected_from: case.expectations.sum}`}
	if r := sums(pattern).report(t); !said(r, "no mutant can be judged") || r.Mutants.Judged != 0 {
		t.Errorf("without any agent that passes: got notes %q, %+v", r.Notes, r.Mutants)
	}
	one := parts{cases: `- {challenge_key: do, case_key: small, payload: {a: 1, b: 2}, expectations: [{key: sum, kind: text, value: "3"}]}`}
	if r := sums(one).report(t); !said(r, "hard-coded") {
		t.Errorf("with one case: got notes %q", r.Notes)
	}
}

func TestInputSets(t *testing.T) {
	t.Parallel()
	two := parts{}.prompt() + `
  - key: extra
    name: Extra
    cases:
      - {challenge_key: do, case_key: small, payload: {a: 2, b: 2}, expectations: [{key: sum, kind: text, value: "4"}]}`
	for set, want := range map[string]int{"": 3, "extra": 1, "Default": 2} {
		e := exam{pack: two, inputSet: set}
		if r := e.report(t); len(r.Trials) != want*4 {
			t.Errorf("input set %q: got %d trials, want %d of each of 4 agents", set, len(r.Trials), want)
		}
	}
	if _, err := packtest.Examine(t.Context(), exam{pack: two, inputSet: "none"}.options(t)); err == nil {
		t.Error("an unknown input set is accepted")
	}
}

func TestTheSameExaminationTwice(t *testing.T) {
	t.Parallel()
	e := exam{pack: parts{validators: `
- {key: right, type: exact_match, target: final_output, expected_from: case.expectations.sum}
- {key: also, type: contains, target: final_output, expected_from: case.expectations.sum}`}.prompt(), reference: solvesSums}
	if diff := cmp.Diff(e.report(t), e.report(t)); diff != "" {
		t.Errorf("two reports differ:\n%s", diff)
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	_, err := packtest.Examine(interrupted(t), exam{pack: parts{}.prompt()}.options(t))
	if !errors.Is(err, engine.ErrInterrupted) {
		t.Errorf("got %v, want the interruption", err)
	}
}
