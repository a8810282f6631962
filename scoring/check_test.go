package scoring_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/scoring"
)

// oneOf is a valid spec whose validator has the type and the config.
func oneOf(t *testing.T, name, config string) scoring.Spec {
	t.Helper()
	typ, spec := validatorType(t, name), oneValidator()
	v := &spec.Validators[0]
	v.Type, v.Target, v.ExpectedFrom, v.Config = name, "final_output", "", json.RawMessage(config)
	if typ.NeedsExpected {
		v.ExpectedFrom = "case.expectations.answer"
	}
	switch {
	case typ.OnlyTarget != "":
		v.Target = typ.OnlyTarget
	case name == scoring.DirectoryStructure:
		v.Target = "file:d"
	case typ.FileTarget:
		v.Target = "file:f"
	}
	return spec
}

func TestConfigVectors(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, b := range readBlocks(t, "testdata/config.txt") {
		b.only(t, "case", "type", "config", "want", "warn", "not_yet", "message")
		seen[b["type"]] = true
		t.Run(b["type"]+"/"+b["case"], func(t *testing.T) {
			t.Parallel()
			want := block{"want": below("validators[0]", b["want"]), "warn": below("validators[0]", b["warn"]),
				"not_yet": below("validators[0]", b["not_yet"]), "message": b["message"]}
			if typ := validatorType(t, b["type"]); !typ.Supported && want["not_yet"] == "" {
				want["not_yet"] = "validators[0].type"
			}
			checkSpec(t, want, oneOf(t, b["type"], b["config"]))
		})
	}
	for _, typ := range scoring.ValidatorTypes() {
		if !seen[typ.Name] {
			t.Errorf("no vectors for the config of %s", typ.Name)
		}
	}
}

// below puts the fields of a vector under their ancestor.
func below(ancestor, fields string) string {
	if fields == "" || fields == "valid" {
		return fields
	}
	return ancestor + "." + strings.ReplaceAll(fields, ", ", ", "+ancestor+".")
}

func TestJudgeVectors(t *testing.T) {
	t.Parallel()
	blocks := readBlocks(t, "testdata/judges.txt")
	for _, b := range blocks[1:] {
		b.only(t, "case", "mode", "patch", "want", "warn", "not_yet", "message")
		t.Run(b["case"], func(t *testing.T) {
			t.Parallel()
			raw := blocks[0][b["mode"]]
			if b["patch"] != "" {
				raw = mergedText(t, raw, b["patch"])
			}
			var j scoring.LLMJudge
			if err := json.Unmarshal([]byte(raw), &j); err != nil {
				t.Fatal(err)
			}
			spec := oneValidator()
			spec.JudgeMode, spec.LLMJudges = scoring.JudgeHybrid, []scoring.LLMJudge{j}
			spec.Scorecard.Dimensions = append(spec.Scorecard.Dimensions, scoring.Dimension{Key: "q", Source: scoring.SourceJudge, JudgeKey: "j"})
			checkSpec(t, block{"want": below("llm_judges[0]", b["want"]), "warn": below("llm_judges[0]", b["warn"]),
				"not_yet": below("llm_judges[0]", b["not_yet"]), "message": b["message"]}, spec)
		})
	}
}

// Every key that the table of types describes is read as it is described.
func TestConfigKeys(t *testing.T) {
	t.Parallel()
	keys := 0
	for _, typ := range scoring.ValidatorTypes() {
		for _, k := range typ.Config {
			keys++
			t.Run(typ.Name+"/"+k.Name, func(t *testing.T) {
				t.Parallel()
				checkKey(t, typ.Name, k)
			})
		}
	}
	if keys < 40 {
		t.Fatalf("got %d keys, which cannot be all", keys)
	}
}

func checkKey(t *testing.T, typ string, k scoring.ConfigKey) {
	t.Helper()
	at := "validators[0].config"
	if k.Type != scoring.KeyAny {
		wrong := map[string]string{scoring.KeyString: "[]", scoring.KeyStrings: "{}", scoring.KeyObject: "[]"}[k.Type]
		if wrong == "" {
			wrong = `"1"`
		}
		hasProblem(t, oneOf(t, typ, fmt.Sprintf(`{%q:%s}`, k.Name, wrong)), at, k.Name+" must be ")
	}
	hasProblem(t, oneOf(t, typ, fmt.Sprintf(`{"%sx":1}`, k.Name)), at, "unknown key")
	for _, bound := range []struct {
		limit *float64
		past  float64
	}{{k.Min, -1}, {k.Above, 0}, {k.Max, 1}} {
		name := k.Name
		if typ == scoring.NumericMatch && name == "tolerance" { // the older form is read as the newer one
			name = "relative_tolerance"
		}
		if bound.limit != nil {
			hasProblem(t, oneOf(t, typ, fmt.Sprintf(`{%q:%v}`, k.Name, *bound.limit+bound.past)), at+"."+name, "must be ")
		}
	}
	if len(k.Enum) > 0 {
		value, field := `"nonsense"`, at+"."+k.Name
		if k.Type == scoring.KeyStrings {
			value, field = `["nonsense"]`, field+"[0]"
		}
		hasProblem(t, oneOf(t, typ, fmt.Sprintf(`{%q:%s}`, k.Name, value)), field, "must be one of "+k.Enum[0])
	}
	if k.Default != nil {
		raw, err := json.Marshal(k.Default)
		if err != nil {
			t.Fatal(err)
		}
		if p := problemAt(oneOf(t, typ, fmt.Sprintf(`{%q:%s}`, k.Name, raw)), at+"."+k.Name); p != nil && strings.HasPrefix(p.Message, "must be") {
			t.Errorf("the default %s is refused: %v", raw, *p)
		}
	}
}

// hasProblem looks for an error at a field that says something.
func hasProblem(t *testing.T, spec scoring.Spec, field, message string) {
	t.Helper()
	for _, p := range spec.Validate() {
		if p.Field == field && !p.Warning && strings.Contains(p.Message, message) {
			return
		}
	}
	t.Errorf("config %s: got %v, want one at %s that says %q", spec.Validators[0].Config, spec.Validate(), field, message)
}

func problemAt(spec scoring.Spec, field string) *scoring.Problem {
	for _, p := range spec.Validate() {
		if p.Field == field {
			return &p
		}
	}
	return nil
}

// A reference is valid or not whatever reads it: the forms, and what looks
// like them.
func TestReferenceForms(t *testing.T) {
	t.Parallel()
	for ref, valid := range map[string]bool{
		" final_output ": true, "run.final_output": true, "challenge_input": true, "case.payload": true, "case.payload.a.0": true,
		"case.inputs.k": true, "case.expectations.k.x": true, "artifact.a.path": true, "file:f": true, "literal:": true,
		"transcript.full": true, "transcript.from_mismatch": true, "turn.expectations": true,
		"transcript.last_n:1": true, "transcript.last_n: 2": true,
		"transcript.last_n:0": false, "transcript.last_n:-1": false, "transcript.last_n": false, "transcript.last_n:x": false,
		"transcript.last_n:99999999999999999999": false, "transcript.full:1": false, "transcript.": false, "transcript": false, "transcript.last": false,
		"case.payload.": false, "case.payload.a..b": false, "case.inputs": false, "case.expectations": false, "case.foo": false,
		"artifact": false, "artifact.": false, "file:": false, "file: ": false, "Final_output": false, "run.cost": false, "tool_calls": false, "": false,
	} {
		p := problemAt(reading(ref), "validators[0].target")
		if (p == nil) != valid {
			t.Errorf("%q: valid is %v, want %v", ref, p == nil, valid)
		}
	}
}

// A flood of broken names is told in time and within bounds.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	spec := oneValidator()
	config := map[string]int{}
	for i := range 3000 {
		spec.Validators = append(spec.Validators, scoring.Validator{Key: fmt.Sprint("validator", i), Type: "contans", Target: "final_outputs"})
		spec.Scorecard.Dimensions[0].Source = scoring.SourceValidators
		spec.Scorecard.Dimensions[0].Validators = append(spec.Scorecard.Dimensions[0].Validators, fmt.Sprint("validater", i))
		config[fmt.Sprint("unknown", i)] = i
	}
	raw, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	spec.Validators[0].Config = raw
	problems := spec.Validate()
	if len(problems) < 9000 {
		t.Fatalf("got %d problems", len(problems))
	}
	for _, p := range problems {
		if len(p.Message) > 2<<10 {
			t.Fatalf("a message has %d bytes", len(p.Message))
		}
	}
}

// Rows 432 to 439, and names that are none.
func TestModelProvider(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"claude-sonnet-4-5": "anthropic", "gpt-4.1-mini": "openai", "GPT-4o": "openai", "o1": "openai", "o3-mini": "openai", "o4-mini": "openai",
		"text-embedding-3": "openai", "gemini-2.5-pro": "gemini", "grok-4": "xai", "mistral-large": "mistral", " gpt-4o ": "openai",
		"meta-llama/llama-3": "openrouter", "openai/gpt-4o": "openai", "Anthropic/claude-x": "anthropic", "scripted/dir/judge.yaml": "scripted",
		"ollama/llama3": "ollama", "gpt-oss/x": "openrouter",
		"deepseek-chat": "", "chatgpt-4o": "", "": "", "/x": "", "openai/": "", "a/": "", "gpt-\x1b[0m": "", "gpt-" + strings.Repeat("x", 5000): "",
	} {
		got, ok := scoring.ModelProvider(name)
		if got != want || ok != (want != "") {
			t.Errorf("%.40q: got %q and %v, want %q", name, got, ok, want)
		}
	}
}

// An empty config means the same as none, but where none means nothing.
func TestEmptyConfig(t *testing.T) {
	t.Parallel()
	for _, typ := range scoring.ValidatorTypes() {
		without, empty := oneOf(t, typ.Name, "null"), oneOf(t, typ.Name, "{ }")
		same := without.Digest() == empty.Digest()
		differs := len(without.Validate()) != 0 // a warning, or an error
		if same == differs {
			t.Errorf("%s: {} and no config have the same digest: %v; no config is a problem: %v", typ.Name, same, differs)
		}
		if diff := cmp.Diff(empty.Normalize(), empty.Normalize().Normalize()); diff != "" {
			t.Errorf("%s (-once +twice):\n%s", typ.Name, diff)
		}
	}
}
