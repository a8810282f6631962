package scoring_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/scoring"
)

// The 20,000-case run scores one contains a trial.
func BenchmarkScoreContains(b *testing.B) {
	spec, ev := oneValidator(), answered()
	spec.Validators[0].Type, spec.Validators[0].ExpectedFrom = scoring.Contains, "case.expectations.answer"
	ev.Case.Expectations = map[string]scoring.CaseInput{"answer": {Value: []byte(`"4"`)}}
	benchScore(b, spec, ev)
}

func BenchmarkScoreSchema(b *testing.B) {
	spec, ev := oneValidator(), answered()
	spec.Validators[0].Type = scoring.JSONSchema
	spec.Validators[0].ExpectedFrom = `literal:{"type":"object","required":["answer"],"properties":{"answer":{"type":"string"}}}`
	ev.FinalOutput = new(`{"answer":"4","steps":[1,2,3]}`)
	benchScore(b, spec, ev)
}

// BenchmarkValidators says how many validators of each type are judged in a
// second: an answer of about a hundred words where the type compares texts.
func BenchmarkValidators(b *testing.B) {
	answer := strings.Repeat("the quick brown fox jumps over the lazy dog and runs away ", 8)
	other := strings.Replace(strings.Repeat("the quick brown fox jumps over the lazy dog and ran away ", 8), "lazy", "old", 3)
	for _, c := range []struct{ typ, config, actual, expected string }{
		{scoring.ExactMatch, "", answer, answer},
		{scoring.Contains, "", answer, "lazy dog"},
		{scoring.RegexMatch, "", answer, `\bfox\b.*away`},
		{scoring.BooleanAssert, "", "Yes", "true"},
		{scoring.JSONSchema, "", `{"answer":"4","steps":[1,2,3]}`, `{"type":"object","required":["answer"],"properties":{"answer":{"type":"string"}}}`},
		{scoring.JSONPathMatch, "", `{"answer":"4","steps":[1,2,3]}`, `{"path":"$.steps[1]","value":2}`},
		{scoring.NumericMatch, `{"extract_number":true,"relative_tolerance":0.01}`, "about $1,234.5", "1234.56"},
		{scoring.NormalizedMatch, "", strings.ToUpper(answer), answer},
		{scoring.MathEquivalence, "", `\frac{1}{2} + \sqrt{x} \cdot 3`, `3*x^(1/2) + 0.5`},
		{scoring.FuzzyMatch, "", answer, other},
		{scoring.TokenF1, `{"normalize":true,"remove_punctuation":true}`, answer, other},
		{scoring.BLEUScore, "", answer, other},
		{scoring.ROUGEScore, "", answer, other},
		{scoring.ChrFScore, "", answer, other},
	} {
		b.Run(c.typ, func(b *testing.B) {
			benchTexts(b, c.typ, c.config, c.actual, c.expected)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "validators/s")
		})
	}
	for _, v := range []scoring.Validator{
		{Type: scoring.FileContentMatch, Target: "file:f", ExpectedFrom: "literal:fox"},
		{Type: scoring.FileExists, Target: "file:f"},
		{Type: scoring.FileJSONSchema, Target: "file:j", Config: []byte(`{"schema":{"type":"object","required":["answer"]}}`)},
		{Type: scoring.DirectoryStructure, Target: "file:d", Config: []byte(`{"required_files":["src/file-99"],"forbidden_files":[".env"]}`)},
		{Type: scoring.CodeExecution, Target: "file:f", Config: []byte(`{"test_command":"make test"}`)},
		{Type: scoring.Postcondition, Target: "file:f", Config: []byte(`{"condition":"contains","value":"fox"}`)},
		{Type: scoring.ToolCallAssertion, Target: "tool_calls", Config: []byte(`{"tool_name":"read_file","min_count":10}`)},
	} {
		b.Run(v.Type, func(b *testing.B) {
			spec, ev := oneValidator(), worked(answer)
			v.Key = "v"
			spec.Validators[0] = v
			spec.PostExecutionChecks = append(spec.PostExecutionChecks, scoring.PostExecutionCheck{Key: "j", Type: scoring.FileCapture, Path: "/workspace/j"})
			benchScore(b, spec, ev)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "validators/s")
		})
	}
}

// worked is evidence of an agent that called twenty tools, left a hundred files
// and passed its tests.
func worked(text string) scoring.Evidence {
	ev := answered()
	ev.Files["f"] = scoring.CapturedFile{Key: "f", Path: "/workspace/f", Exists: true, Content: text, Size: int64(len(text))}
	ev.Files["j"] = scoring.CapturedFile{Key: "j", Path: "/workspace/j", Exists: true, Content: `{"answer":"4","steps":[1,2,3]}`, Size: 30}
	ev.CodeRuns["v"] = scoring.CodeRun{ValidatorKey: "v", ExitCode: new(0), Stdout: "===== 12 passed in 0.03s ====="}
	d := scoring.CapturedDirectory{Key: "d", Path: "/workspace", Exists: true}
	for i := range 100 {
		d.Entries = append(d.Entries, scoring.DirectoryEntry{Path: fmt.Sprintf("/workspace/src/file-%d", i)})
	}
	ev.Directories["d"] = d
	for i := range 20 {
		ev.ToolCalls = append(ev.ToolCalls, scoring.ToolCall{Sequence: int64(i + 1), Name: "read_file", Arguments: fmt.Sprintf(`{"path":"file-%d"}`, i)})
	}
	return ev
}

// BenchmarkLargest takes the texts that cost most within the bounds.
func BenchmarkLargest(b *testing.B) {
	for _, c := range []struct{ typ, config, actual, expected string }{
		{scoring.FuzzyMatch, `{"threshold":0}`, strings.Repeat("abcdefghij", 10_000), strings.Repeat("jihgfedcba", 10_000)},
		{scoring.ROUGEScore, `{"threshold":0}`, strings.Repeat("a b c d e ", 20_000), strings.Repeat("e d c b a ", 20_000)},
		{scoring.BLEUScore, `{"max_ngram":80}`, strings.Repeat("a b c d e ", 20_000), strings.Repeat("a b c d e ", 20_000)},
		{scoring.ChrFScore, "", strings.Repeat("abcdefghij", 200_000), strings.Repeat("abcdefghij", 200_000)},
		{scoring.MathEquivalence, "", strings.Repeat("(9^32)^32*x+", 60) + "1", strings.Repeat("(9^32)^32*x+", 60) + "1"},
		{scoring.JSONSchema, "", "[" + strings.Repeat("1,", 900_000) + "1]", `{"items":{"type":"integer"}}`},
	} {
		b.Run(c.typ, func(b *testing.B) { benchTexts(b, c.typ, c.config, c.actual, c.expected) })
	}
}

func benchTexts(b *testing.B, typ, config, actual, expected string) {
	spec, ev := oneValidator(), answered()
	v := &spec.Validators[0]
	v.Type, v.ExpectedFrom, v.Config = typ, "case.expectations.want", json.RawMessage(config)
	spec.Scorecard.PassThreshold = new(0.0)
	value, err := json.Marshal(expected)
	if err != nil {
		b.Fatal(err)
	}
	ev.FinalOutput = &actual
	ev.Case.Expectations = map[string]scoring.CaseInput{"want": {Value: value}}
	benchScore(b, spec, ev)
}

func benchScore(b *testing.B, spec scoring.Spec, ev scoring.Evidence) {
	s, problems := scoring.Compile(spec)
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	if d := s.Score(ev).Decide(); d.Outcome != scoring.OutcomePassed {
		b.Fatalf("got %+v", d)
	}
	b.ReportAllocs()
	for b.Loop() {
		s.Score(ev)
	}
}

func BenchmarkAggregate(b *testing.B) {
	trials := make([]scoring.Trial, 20000)
	for i := range trials {
		trials[i] = attempt("case", i, 1, scoring.OutcomePassed, 1)
	}
	b.ReportAllocs()
	for b.Loop() {
		scoring.Aggregate(oneValidator(), trials, 1)
	}
}

// A long trial: a hundred calls, all signals, and validators that look at the
// trace and at a large listing.
func BenchmarkScoreTrace(b *testing.B) {
	spec, ev := allSources(), answered()
	spec.Scorecard.Dimensions = []scoring.Dimension{{Key: "correctness"}, {Key: "behavioral"}}
	spec.Validators = append(spec.Validators,
		scoring.Validator{Key: "calls", Type: scoring.ToolCallAssertion, Target: "tool_calls",
			Config: []byte(`{"tool_name":"read_file","arguments_contain":{"path":"file-50"},"count":1}`)},
		scoring.Validator{Key: "tree", Type: scoring.DirectoryStructure, Target: "file:d",
			Config: []byte(`{"required_files":["src/file-9999"],"required_directories":["src"],"forbidden_files":[".env"]}`)})
	for i := range 100 {
		ev.ToolCalls = append(ev.ToolCalls, scoring.ToolCall{Sequence: int64(i + 1), Name: "read_file", Arguments: fmt.Sprintf(`{"path":"file-%d"}`, i)})
	}
	d := scoring.CapturedDirectory{Key: "d", Path: "/workspace", Exists: true}
	for i := range 10000 {
		d.Entries = append(d.Entries, scoring.DirectoryEntry{Path: fmt.Sprintf("/workspace/src/file-%d", i)})
	}
	ev.Directories["d"] = d
	benchScore(b, spec, ev)
}
