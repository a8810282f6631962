package scoring_test

import (
	"fmt"
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
