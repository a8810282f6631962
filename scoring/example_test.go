package scoring_test

import (
	"fmt"

	"github.com/agentclash/agentclash/scoring"
)

// A spec with two validators is compiled once; each trial's evidence is then
// judged by it.
func Example() {
	scorer, problems := scoring.Compile(scoring.Spec{
		Name: "capitals", VersionNumber: 1, JudgeMode: scoring.Deterministic,
		Validators: []scoring.Validator{
			{Key: "names_it", Type: scoring.Contains, Target: "final_output", ExpectedFrom: "case.expectations.answer"},
			{Key: "is_short", Type: scoring.RegexMatch, Target: "final_output", ExpectedFrom: "literal:^.{1,40}$"},
		},
		Scorecard: scoring.ScorecardSpec{
			Dimensions:    []scoring.Dimension{{Key: "correctness"}},
			PassThreshold: new(0.75),
		},
	})
	if len(problems) > 0 {
		fmt.Println(problems)
		return
	}
	card := scorer.Score(scoring.Evidence{
		Completed:   new(true),
		FinalOutput: new("I would say that it is Paris, which lies on the Seine."),
		Case:        scoring.Case{Expectations: map[string]scoring.CaseInput{"answer": {Value: []byte(`"Paris"`)}}},
	})
	fmt.Println(card.Decide().Outcome, *card.OverallScore)
	for _, v := range card.Validators {
		fmt.Printf("%s: %s\n", v.Key, v.Verdict)
	}
	// Output:
	// failed 0.5
	// names_it: pass
	// is_short: fail
}
