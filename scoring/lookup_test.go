package scoring_test

import (
	"encoding/json"
	"testing"

	"github.com/agentclash/agentclash/scoring"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	ev := scoring.Evidence{
		FinalOutput: new("said"),
		Case: scoring.Case{
			Payload: json.RawMessage(`{"city": {"name": "Berne"}}`),
			Expectations: map[string]scoring.CaseInput{
				"answer": {Value: json.RawMessage(`"42"`)},
				"report": {Value: json.RawMessage(`{"count": 2}`)},
				"tests":  {Source: "artifact:suite"},
			},
			Artifacts: map[string]scoring.AssetEvidence{"suite": {Key: "suite", Path: "t.sh", Text: new("exit 0")}},
		},
	}
	for ref, want := range map[string]string{
		"final_output": "said", "case.expectations.answer": "42", "case.expectations.report.count": "2",
		"case.expectations.tests": "exit 0", "case.payload.city.name": "Berne", "literal:as it is": "as it is", "literal:": "",
	} {
		if got, ok := scoring.Lookup(ref, ev); !ok || got != want {
			t.Errorf("%s: got %q, %v, want %q", ref, got, ok, want)
		}
	}
	for _, ref := range []string{"", "no.reference", "case.expectations.other", "case.payload.city.x", "file:out"} {
		if got, ok := scoring.Lookup(ref, ev); ok || got != "" {
			t.Errorf("%s: got %q, %v, want nothing", ref, got, ok)
		}
	}
}
