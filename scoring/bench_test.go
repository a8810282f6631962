package scoring_test

import (
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
