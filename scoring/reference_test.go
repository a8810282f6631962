package scoring_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/scoring"
)

func TestReferenceVectors(t *testing.T) {
	t.Parallel()
	blocks := readBlocks(t, "testdata/references.txt")
	blocks[0].only(t, "output", "payload", "inputs", "expectations", "artifacts")
	ev := referenceEvidence(t, blocks[0])
	for _, b := range blocks[1:] {
		b.only(t, "case", "ref", "want", "message")
		spec := reading(b.text(t, "ref"))
		if b["want"] == "(refused)" {
			t.Run(b["case"], func(t *testing.T) { refused(t, spec, "validators[0].target", b["message"]) })
			continue
		}
		if got := resolvedText(t, spec, ev); got != b.text(t, "want") {
			t.Errorf("%s: %s resolves to %s, want %s", b["case"], b["ref"], got, b["want"])
		}
	}
}

// reading is a spec whose validator accepts whatever its target resolves to.
func reading(ref string) scoring.Spec {
	spec := oneValidator()
	spec.Validators[0] = scoring.Validator{Key: "v", Type: scoring.Contains, Target: ref, ExpectedFrom: "literal:"}
	return spec
}

func resolvedText(t *testing.T, spec scoring.Spec, ev scoring.Evidence) string {
	t.Helper()
	card := scoring.Score(spec, ev)
	if len(card.Validators) == 0 {
		t.Fatalf("the spec is refused: %s", card.PackError)
	}
	r := card.Validators[0]
	if r.State != scoring.Available {
		return "(" + string(r.State) + ")"
	}
	return *r.Actual
}

func referenceEvidence(t *testing.T, b block) scoring.Evidence {
	t.Helper()
	ev := evidence()
	ev.FinalOutput = new(b["output"])
	ev.Case.Payload = json.RawMessage(b["payload"])
	for key, into := range map[string]any{"inputs": &ev.Case.Inputs, "expectations": &ev.Case.Expectations, "artifacts": &ev.Case.Artifacts} {
		if err := json.Unmarshal([]byte(b[key]), into); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
	}
	return ev
}

func TestNumbersAsText(t *testing.T) {
	t.Parallel()
	for _, b := range readBlocks(t, "testdata/numbers_as_text.txt") {
		b.only(t, "case", "json", "want")
		ev := evidence()
		ev.Case.Inputs = map[string]scoring.CaseInput{"x": {Value: json.RawMessage(b["json"])}}
		if got := resolvedText(t, reading("case.inputs.x"), ev); got != b["want"] {
			t.Errorf("%s: %s becomes %s, want %s", b["case"], b["json"], got, b["want"])
		}
	}
}

func TestReferencesToFiles(t *testing.T) {
	t.Parallel()
	ev := evidence()
	ev.Files["f"] = scoring.CapturedFile{Key: "f", Path: "/workspace/f", Exists: true, Content: "text"}
	ev.Directories["d"] = scoring.CapturedDirectory{
		Key: "d", Path: "/workspace", Exists: true,
		Entries: []scoring.DirectoryEntry{{Path: "/workspace/f", Size: 4}, {Path: "/workspace/src", IsDir: true}},
	}
	if got := resolvedText(t, reading("file:f"), ev); got != "text" {
		t.Errorf("a file resolves to %q, want its content", got)
	}
	want := `{"key":"d","path":"/workspace","entries":[{"path":"/workspace/f","size":4},{"path":"/workspace/src","size":0,"is_dir":true}]}`
	if got := resolvedText(t, reading("file:d"), ev); got != want {
		t.Errorf("a directory resolves to %s\nwant %s", got, want)
	}
	ev.Directories["d"] = scoring.CapturedDirectory{Key: "d", Path: "/workspace"}
	if got := resolvedText(t, reading("file:d"), ev); got != "(unavailable)" {
		t.Errorf("a directory that does not exist resolves to %s", got)
	}
}

func TestChallengeInput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, payload, want string }{
		{"no wrapped text: the JSON itself", ` {"a":1} `, `{"a":1}`},
		{"no payload", "", "(unavailable)"},
		{"an empty payload", "{}", "{}"},
	} {
		ev := evidence()
		ev.Case.Payload = json.RawMessage(c.payload)
		if got := resolvedText(t, reading("challenge_input"), ev); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestBrokenCases(t *testing.T) {
	t.Parallel()
	ev := evidence()
	ev.Case.Payload = json.RawMessage(`{"a":`)
	ev.Case.Inputs = map[string]scoring.CaseInput{"x": {Value: json.RawMessage(`{`)}}
	for _, ref := range []string{"case.payload.a", "case.inputs.x"} {
		card := scoring.Score(reading(ref), ev)
		if r := card.Validators[0]; r.OutcomeClass != scoring.ClassPackError || card.PackError == "" {
			t.Errorf("%s: got class %s and pack error %q, want the author to be told", ref, r.OutcomeClass, card.PackError)
		}
	}
}

// What a result keeps is cut, in whole characters, and says so.
func TestStoredValuesAreBounded(t *testing.T) {
	t.Parallel()
	spec, ev := oneValidator(), evidence()
	ev.FinalOutput = new(strings.Repeat("é", 1<<14))
	spec.Validators[0].Type, spec.Validators[0].ExpectedFrom = scoring.RegexMatch, "case.expectations.p"
	ev.Case.Expectations = map[string]scoring.CaseInput{"p": {Value: jsonText(t, strings.Repeat("x?", 5000))}}
	r := scoring.Score(spec, ev).Validators[0]
	for name, text := range map[string]string{"actual": *r.Actual, "expected": *r.Expected, "evidence": string(r.Evidence)} {
		if len(text) > 8<<10 || !strings.Contains(text, "bytes more]") {
			t.Errorf("%s: kept %d bytes, ending %q", name, len(text), text[max(0, len(text)-40):])
		}
		if strings.ContainsRune(text, '\uFFFD') {
			t.Errorf("%s: cut in the middle of a character", name)
		}
	}
}

// Texts that are parsed are bounded before they are parsed; whose text it is
// decides whose failure that is.
func TestParsedTextsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(" ", 3<<20)
	for _, c := range []struct{ name, typ, actual, expected, class string }{
		{"a document", scoring.JSONSchema, "{}" + long, "{}", scoring.ClassEvaluatorError},
		{"a document with a path", scoring.JSONPathMatch, "{}" + long, "$", scoring.ClassEvaluatorError},
		{"a schema", scoring.JSONSchema, "{}", "{}" + long, scoring.ClassPackError},
		{"a pattern", scoring.RegexMatch, "x", strings.Repeat("x", 100<<10), scoring.ClassPackError},
		{"a path", scoring.JSONPathMatch, "{}", "$" + strings.Repeat(".x", 50<<10), scoring.ClassPackError},
	} {
		spec, ev := oneValidator(), evidence()
		spec.Validators[0].Type, spec.Validators[0].ExpectedFrom = c.typ, "case.expectations.want"
		ev.FinalOutput = &c.actual
		ev.Case.Expectations = map[string]scoring.CaseInput{"want": {Value: jsonText(t, c.expected)}}
		if r := scoring.Score(spec, ev).Validators[0]; r.OutcomeClass != c.class {
			t.Errorf("%s: got class %s (%s), want %s", c.name, r.OutcomeClass, r.Reason, c.class)
		}
	}
}
