package scoring_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/scoring"
)

// judge runs one validator of a type on two texts.
type judge struct {
	t      *testing.T
	scorer *scoring.Scorer
}

func judgeOf(t *testing.T, typ, config string) judge {
	t.Helper()
	spec := oneValidator()
	v := &spec.Validators[0]
	v.Type, v.ExpectedFrom, v.Config = typ, "case.expectations.want", json.RawMessage(config)
	scorer, problems := scoring.Compile(spec)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return judge{t, scorer}
}

func (j judge) of(actual, expected string) scoring.ValidatorResult {
	ev := evidence()
	ev.FinalOutput = &actual
	ev.Case.Expectations = map[string]scoring.CaseInput{"want": {Value: jsonText(j.t, expected)}}
	return j.scorer.Score(ev).Validators[0]
}

// score fails the test when there is none.
func (j judge) score(actual, expected string) float64 {
	j.t.Helper()
	r := j.of(actual, expected)
	if r.NormalizedScore == nil {
		j.t.Fatalf("%s of %q and %q: %s", r.Type, actual, expected, r.Reason)
	}
	return *r.NormalizedScore
}

// texts are short random texts of few words, so that they have some in common.
func texts(r *rand.Rand) func() string {
	words := []string{"the", "a", "Cat", "cat", "sat.", "on", "mat", "ß", "SS", "日本", "e\u0301", "\u00e9", "$5", "😀", "\u00a0", "x"}
	gaps := []string{" ", " ", "  ", "\n", "\t", ""}
	return func() string {
		var b strings.Builder
		for range r.IntN(9) {
			b.WriteString(words[r.IntN(len(words))] + gaps[r.IntN(len(gaps))])
		}
		return b.String()
	}
}

// What is promised of every score, whatever the texts and the config.
func TestSimilarityPromises(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ, config        string
		threshold          float64
		symmetric, nothing bool // nothing: identical texts may have nothing to compare
	}{
		{scoring.FuzzyMatch, `{}`, 0.8, true, false},
		{scoring.FuzzyMatch, `{"threshold":0.4,"case_insensitive":true,"normalize":true}`, 0.4, true, false},
		{scoring.TokenF1, `{}`, 0.5, true, false},
		{scoring.TokenF1, `{"threshold":0.3,"normalize":true,"remove_articles":true,"remove_punctuation":true}`, 0.3, true, false},
		{scoring.BLEUScore, `{}`, 0.3, false, false},
		{scoring.BLEUScore, `{"threshold":0.1,"smoothing":"method1","max_ngram":7,"case_insensitive":true}`, 0.1, false, false},
		{scoring.ROUGEScore, `{}`, 0.3, true, true},
		{scoring.ROUGEScore, `{"variant":"rouge-1","normalize":true,"case_insensitive":true}`, 0.3, true, true},
		{scoring.ROUGEScore, `{"variant":"rouge-2","threshold":0}`, 0, true, true},
		{scoring.ROUGEScore, `{"variant":"rouge-1","beta":2.5}`, 0.3, false, true},
		{scoring.ChrFScore, `{"beta":1}`, 0.3, true, false},
		{scoring.ChrFScore, `{"char_order":2,"normalize":true,"case_insensitive":true}`, 0.3, false, false},
	} {
		t.Run(c.typ+c.config, func(t *testing.T) {
			t.Parallel()
			j, r := judgeOf(t, c.typ, c.config), rand.New(rand.NewPCG(7, 8))
			text := texts(r)
			for range 400 {
				a, b := text(), text()
				got := j.of(a, b)
				if got.State != scoring.Available {
					t.Fatalf("%q and %q: %s", a, b, got.Reason)
				}
				score := *got.NormalizedScore
				if math.IsNaN(score) || score < 0 || score > 1 {
					t.Errorf("%q and %q: score %v", a, b, score)
				}
				if (got.Verdict == scoring.VerdictPass) != (score >= c.threshold) {
					t.Errorf("%q and %q: %s with score %v and threshold %v", a, b, got.Verdict, score, c.threshold)
				}
				if other := j.score(b, a); c.symmetric && math.Abs(other-score) > 1e-12 {
					t.Errorf("%q and %q: score %v, the other way round %v", a, b, score, other)
				}
				if same := j.score(a, a); math.Abs(same-1) > 1e-12 && !(c.nothing && same == 0) {
					t.Errorf("%q and itself: score %v", a, same)
				}
			}
		})
	}
}

// More references never make a candidate worse.
func TestBestReferenceCounts(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{scoring.ROUGEScore, scoring.ChrFScore} {
		j, text := judgeOf(t, typ, ""), texts(rand.New(rand.NewPCG(9, 9)))
		for range 300 {
			candidate, one, two := text(), text(), text()
			want := max(j.score(candidate, list(t, one)), j.score(candidate, list(t, two)))
			if got := j.score(candidate, list(t, one, two)); got != want {
				t.Errorf("%s of %q against %q and %q: got %v, want %v", typ, candidate, one, two, got, want)
			}
		}
	}
}

func list(t *testing.T, texts ...string) string {
	t.Helper()
	raw, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// What is too long is an error that says so, of whoever wrote it.
func TestTextBounds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_001)
	words, more := strings.Repeat("a b ", 10_000), strings.Repeat("a b ", 100_000)
	for _, c := range []struct {
		typ, config, actual, expected, want, reason string
	}{
		{scoring.FuzzyMatch, "", strings.Repeat("ü", 100_000), "x", "fail", "below the threshold"},
		{scoring.FuzzyMatch, "", long, "x", scoring.ClassEvaluatorError, "at most 100000 are compared"},
		{scoring.FuzzyMatch, "", "x", long, scoring.ClassPackError, "at most 100000 are compared"},
		{scoring.FuzzyMatch, `{"normalize":true}`, strings.Repeat(" ", 200_000) + "x", "x", "pass", ""},
		{scoring.FuzzyMatch, `{"case_insensitive":true}`, strings.Repeat("ß", 50_001), "x", scoring.ClassEvaluatorError, "100002 characters"},
		{scoring.MathEquivalence, "", "1" + strings.Repeat(" ", 5000) + "+1", "2", scoring.ClassEvaluatorError, "at most 4096 are read"},
		{scoring.MathEquivalence, `{"extract_answer":true}`, strings.Repeat("so ", 5000) + "#### 2", "2", "pass", ""},
		{scoring.MathEquivalence, "", strings.Repeat("x^", 50) + strings.Repeat("1e1000*", 400) + "1", "1", scoring.ClassEvaluatorError, "too large"},
		{scoring.MathEquivalence, "", strings.Repeat("(9^32)^32*x+", 340) + "1", "1", scoring.ClassEvaluatorError, "too large"},
		{scoring.NormalizedMatch, `{"pipeline":["trim"` + strings.Repeat(`,"normalize_unicode"`, 99) + `]}`, strings.Repeat("\ufdfa", 60_000), "x", scoring.ClassEvaluatorError, "too many for 100 steps"},
		{scoring.NormalizedMatch, "", strings.Repeat("X ", 1<<20), "x", "fail", "after the same steps"},
		{scoring.BLEUScore, `{"max_ngram":1000}`, words, words, scoring.ClassPackError, "no more are counted"},
		{scoring.BLEUScore, `{"max_ngram":1000}`, words, "a b", "fail", ""},
		{scoring.ChrFScore, `{"char_order":1000}`, words, strings.Repeat("c", 1000), scoring.ClassEvaluatorError, "no more are counted"},
		{scoring.ROUGEScore, "", strings.Repeat("c d ", 100_000), more, scoring.ClassEvaluatorError, "too many for a longest common subsequence"},
		{scoring.ROUGEScore, `{"variant":"rouge-2"}`, words, words, "pass", ""},
		{scoring.RegexMatch, "", "x", strings.Repeat("x", 65<<10), scoring.ClassPackError, "at most 65536 are compiled"},
		{scoring.RegexMatch, "", "x", "(((a{10}){10}){10}){10}", scoring.ClassPackError, "the pattern is no RE2 expression"},
		{scoring.RegexMatch, "", "x", strings.Repeat("(a?){1000}", 50), scoring.ClassPackError, "at most 20000 are run"},
		{scoring.RegexMatch, "", strings.Repeat("a", 1<<20), "(a?){1000}b", scoring.ClassEvaluatorError, "too many for a pattern of this size"},
		{scoring.RegexMatch, "", strings.Repeat("a", 1<<20), `(?i)\b(foo|bar)\b.*\d+$`, "fail", ""},
		{scoring.JSONSchema, "", "1", `{"allOf":[` + strings.Repeat("true,", 5000) + `true]}`, scoring.ClassPackError, "the schema is too large"},
		{scoring.JSONSchema, "", "[" + strings.Repeat("1,", 20_000) + "1]",
			`{"allOf":[` + strings.Repeat(`{"type":"array"},`, 2000) + `{}],"unevaluatedItems":false}`, scoring.ClassEvaluatorError, "too many steps"},
		{scoring.JSONSchema, "", `"` + strings.Repeat("abc", 100_000) + `"`,
			`{"anyOf":[` + strings.Repeat(`{"pattern":"(a|b|c)*d$"},`, 2000) + `true]}`, scoring.ClassEvaluatorError, "too many steps"},
		{scoring.JSONSchema, "", "[" + strings.Repeat("1,", 100_000) + "1]", `{"items":{"type":"integer","minimum":0}}`, "pass", ""},
		{scoring.JSONSchema, "", "1", `{"allOf":[` + strings.Repeat(`{"pattern":"(abcdefghij){1000}"},`, 1000) + `{}]}`, scoring.ClassPackError, "too large together"},
		{scoring.JSONSchema, "", `"a-1"`, `{"allOf":[` + strings.Repeat(`{"pattern":"^[a-z]+-[0-9]{1,8}$"},`, 1000) + `{}]}`, "pass", ""},
		{scoring.JSONSchema, "", "[" + strings.Repeat("{},", 20_000) + "1]", `{"items":{"required":` + nameList(20_000) + `}}`, scoring.ClassEvaluatorError, "too many steps"},
		{scoring.JSONSchema, "", "[" + strings.Repeat("{},", 20_000) + "1]", `{"items":{"dependentRequired":{"a":[]` + manyDependencies(10_000) + `}}}`, scoring.ClassEvaluatorError, "too many steps"},
		{scoring.JSONSchema, "", numberList(20_000), `{"allOf":[` + strings.Repeat(`{"uniqueItems":true},`, 1000) + `{}]}`, scoring.ClassEvaluatorError, "too many steps"},
		{scoring.JSONSchema, "", "[" + strings.Repeat(numberList(19)+",", 20_000) + "1]", `{"items":{"uniqueItems":true}}`, scoring.ClassEvaluatorError, "too many steps"},
		{scoring.JSONSchema, "", "[" + strings.Repeat("2,", 1000) + "4000]", `{"items":{"enum":` + numberList(4000) + `}}`, "pass", ""},
		{scoring.JSONSchema, "", "[" + strings.Repeat("[1,1,1,1,1,1,1,1,1,1],", 20_000) + "1]", `{"items":{"anyOf":[` + strings.Repeat(`{"const":[1,1,1,1,1,1,1,1,1,2]},`, 500) + `{}]}}`, scoring.ClassEvaluatorError, "too many steps"},
		{scoring.JSONSchema, "", "[" + strings.Repeat("1,", 1<<20) + "1]", "true", scoring.ClassEvaluatorError, "at most 2097152 are read"},
	} {
		got := judgeOf(t, c.typ, c.config).of(c.actual, c.expected)
		if got.OutcomeClass != c.want || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%s %s: got %s (%s), want %s (%s)", c.typ, c.config, got.OutcomeClass, got.Reason, c.want, c.reason)
		}
	}
}

// nameList is a JSON list of n names.
func nameList(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("k%d", i)
	}
	raw, _ := json.Marshal(list)
	return string(raw)
}

// manyDependencies are n more members of a dependentRequired.
func manyDependencies(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":["z"]`, i)
	}
	return b.String()
}

// numberList is a JSON list of the numbers up to n.
func numberList(n int) string {
	list := make([]int, n)
	for i := range list {
		list[i] = i + 1
	}
	raw, _ := json.Marshal(list)
	return string(raw)
}

// Two texts that are the same after the usual steps are so however often the
// steps are written down.
func TestPipelineOfMany(t *testing.T) {
	t.Parallel()
	steps := strings.Repeat(`"trim","collapse_whitespace",`, 49) + `"lowercase"`
	j := judgeOf(t, scoring.NormalizedMatch, fmt.Sprintf(`{"pipeline":[%s]}`, steps))
	if got := j.score(" A  b ", "a b"); got != 1 {
		t.Errorf("got score %v", got)
	}
}

// Neither a long list of directories nor one of arguments takes the time of all
// pairs. The sizes are such that all pairs would take minutes.
func TestLongListsEnd(t *testing.T) {
	t.Parallel()
	spec, ev := oneValidator(), answered()
	spec.Validators = []scoring.Validator{
		{Key: "tree", Type: scoring.DirectoryStructure, Target: "file:d", Config: json.RawMessage(`{"required_directories":` + nameList(10_000) + `}`)},
		{Key: "calls", Type: scoring.ToolCallAssertion, Target: "tool_calls", Config: json.RawMessage(`{"arguments_contain":{"a":` + numberList(5000) + `}}`)},
	}
	d := scoring.CapturedDirectory{Key: "d", Path: "/workspace", Exists: true}
	for i := range 10_000 {
		d.Entries = append(d.Entries, scoring.DirectoryEntry{Path: fmt.Sprintf("/workspace/k%d/deep/x", i+1)})
	}
	ev.Directories["d"] = d
	down := make([]int, 5000)
	for i := range down {
		down[i] = len(down) - i
	}
	raw, err := json.Marshal(map[string]any{"a": down})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		ev.ToolCalls = append(ev.ToolCalls, scoring.ToolCall{Sequence: int64(i + 1), Name: "t", Arguments: string(raw)})
	}
	results := scoring.Score(spec, ev).Validators
	if r := results[0]; r.Reason != "missing directories: k0" {
		t.Errorf("got %s: %s", r.Verdict, r.Reason)
	}
	if r := results[1]; r.OutcomeClass != scoring.ClassEvaluatorError || !strings.Contains(r.Reason, "too many steps") {
		t.Errorf("got %s: %s", r.OutcomeClass, r.Reason)
	}
}
