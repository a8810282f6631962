package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

const echoes = `# kept
pack: {slug: echoes, name: Echoes, family: echoes}
version:
  number: 1
  execution_mode: prompt_eval
  evaluation_spec:
    name: echoes-v1
    version_number: 1
    judge_mode: deterministic
    validators: [{key: word, type: contains, target: final_output, expected_from: case.expectations.word}]
    scorecard: {strategy: weighted, pass_threshold: 1, dimensions: [correctness]}
challenges:
  - {key: say, title: Say it, category: general, difficulty: easy, instructions: "Say {{word}}"}
input_sets:
  - key: default
    name: Default
    cases:
      - {challenge_key: say, case_key: one, payload: {word: one}, expectations: [{key: word, kind: text, value: one}]}
      - {challenge_key: say, case_key: two, payload: {word: two}, expectations: [{key: word, kind: text, value: two}]}
`

// TestOwnTracesAsCases exports a run as traces, writes them down as a collector
// does, and takes them over as cases.
func TestOwnTracesAsCases(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	p := newProgram(t)
	p.write(t, "pack.yaml", echoes)
	p.write(t, "agent.yaml", "cases: {one: [{text: it is one}], two: [{text: it is two}]}\n")
	p.must(t, "eval", "start", "--pack", "pack.yaml", "--model", "scripted/agent.yaml", "--otlp", c.URL, "--otlp-content")
	raw, err := protojson.Marshal(&traces.TracesData{ResourceSpans: []*traces.ResourceSpans{{ScopeSpans: []*traces.ScopeSpans{{Spans: c.take()}}}}})
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, "traces.json", string(raw))
	p.must(t, "dataset", "import", "traces.json", "--pack", "pack.yaml", "--input-set", "seen", "--create",
		"--map", "input.word=input,expected.word=expected")
	edited, err := os.ReadFile(filepath.Join(p.dir, "pack.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(edited), echoes) {
		t.Errorf("the rest of the pack has changed:\n%s", edited)
	}
	for _, want := range []string{"word: Say one", "word: Say two", "value: it is one", "value: it is two", "# proposed: nobody has confirmed", `"outcome":"passed"`, `"model":`} {
		if !strings.Contains(string(edited), want) {
			t.Errorf("the pack does not hold %q:\n%s", want, edited)
		}
	}
	p.must(t, "challenge-pack", "validate", "pack.yaml", "--strict")
}
