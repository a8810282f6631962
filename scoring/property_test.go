package scoring_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/scoring"
)

// everything is a spec that uses every validator type, collector and source
// that this version has.
func everything() scoring.Spec {
	spec := allSources()
	spec.Validators = nil
	for _, typ := range scoring.ValidatorTypes() {
		if !typ.Supported {
			continue
		}
		v := scoring.Validator{Key: typ.Name, Type: typ.Name, Target: "final_output"}
		if typ.FileTarget {
			v.Target = "file:f"
		}
		if typ.NeedsExpected {
			v.ExpectedFrom = "case.expectations.want"
		}
		switch typ.Name {
		case scoring.CodeExecution:
			v.Config = json.RawMessage(`{"test_command":"make test"}`)
		case scoring.FileJSONSchema:
			v.Config = json.RawMessage(`{"schema":{"type":"object"}}`)
		case scoring.DirectoryStructure:
			v.Target, v.Config = "file:d", json.RawMessage(`{"required_files":["a"],"forbidden_files":["b"],"required_directories":["c"]}`)
		case scoring.Postcondition:
			v.Config = json.RawMessage(`{"condition":"equals","value":{"a":1}}`)
		case scoring.ToolCallAssertion:
			v.Target, v.Config = typ.OnlyTarget, json.RawMessage(`{"arguments_contain":{"a":[1]},"ordered_tools":["x","y"]}`)
		}
		spec.Validators = append(spec.Validators, v)
		spec.Scorecard.Dimensions = append(spec.Scorecard.Dimensions, scoring.Dimension{Key: "only " + typ.Name, Source: scoring.SourceValidators, Validators: []string{typ.Name}})
	}
	return spec
}

// checkCard holds what is promised of every scorecard.
func checkCard(t *testing.T, card scoring.Scorecard) {
	t.Helper()
	inRange := func(what string, v *float64) {
		if v != nil && (math.IsNaN(*v) || *v < 0 || *v > 1) {
			t.Errorf("%s is %v, not within 0 and 1", what, *v)
		}
	}
	inRange("the overall score", card.OverallScore)
	for _, d := range card.Dimensions {
		inRange("dimension "+d.Key, d.Score)
		if (d.State == scoring.Available) != (d.Score != nil) {
			t.Errorf("dimension %s is %s with score %s", d.Key, d.State, show(d.Score))
		}
	}
	for _, v := range card.Validators {
		inRange("validator "+v.Key, v.NormalizedScore)
		if (v.State == scoring.Available) != (v.NormalizedScore != nil) {
			t.Errorf("validator %s is %s with score %s", v.Key, v.State, show(v.NormalizedScore))
		}
	}
	if b, err := json.Marshal(card); err != nil {
		t.Errorf("the scorecard cannot be written: %v", err)
	} else if len(b) > 1<<20 {
		t.Errorf("the scorecard has %d bytes", len(b))
	}
	if d := card.Decide(); d.Outcome == scoring.OutcomePassed && (card.Passed == nil || !*card.Passed) {
		t.Error("passed without a verdict")
	}
}

func randomEvidence(r *rand.Rand) scoring.Evidence {
	texts := []string{"", "4", "-1e3", "[1,2", `{"a":1}`, `{"path":"$.a","value":1}`, "$.a", "(", `{"type":"object"}`, "1 passed, 2 failed", "NaN", "\x00\xff"}
	text := func() string { return texts[r.IntN(len(texts))] }
	maybe := func() bool { return r.IntN(3) > 0 }
	ev := evidence()
	if maybe() {
		ev.FinalOutput = new(text())
	}
	if maybe() {
		value, _ := json.Marshal(text())
		ev.Case.Expectations = map[string]scoring.CaseInput{"want": {Value: value}}
	}
	if maybe() {
		ev.Files["f"] = scoring.CapturedFile{Key: "f", Exists: maybe(), Content: text()}
	}
	if maybe() {
		run := scoring.CodeRun{Stdout: text(), TimedOut: r.IntN(5) == 0}
		if maybe() {
			run.ExitCode = new(r.IntN(3) - 1)
		}
		ev.CodeRuns[scoring.CodeExecution] = run
	}
	for range r.IntN(6) {
		ev.ToolCalls = append(ev.ToolCalls, scoring.ToolCall{Sequence: r.Int64(), Name: text(), Arguments: text(), Failed: !maybe(), Error: text()})
	}
	if maybe() {
		ev.Directories["d"] = scoring.CapturedDirectory{Key: "d", Path: text(), Exists: maybe(), Truncated: !maybe(),
			Entries: []scoring.DirectoryEntry{{Path: text()}, {Path: text(), IsDir: true}}}
	}
	if !maybe() {
		ev.Turns = []scoring.Turn{{User: text(), Assistant: text()}, {Index: r.Int64(), Assistant: text(), Mismatched: maybe()}}
	}
	if maybe() {
		ev.TotalTokens = new(r.Int64() - r.Int64())
		ev.Models = []scoring.ModelUsage{{ProviderKey: "p", ProviderModelID: "m", InputTokens: r.Int64() - r.Int64(), Known: maybe()}}
	}
	if !maybe() {
		ev.Completed = nil
	}
	ev.EndedAt = ev.StartedAt.Add(time.Duration(r.Int64() - r.Int64()))
	ev.FailureCount = r.IntN(3) - 1
	return ev
}

func TestScorecardPromises(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for _, strategy := range []string{scoring.Weighted, scoring.Binary, scoring.Hybrid} {
		spec := everything()
		spec.Scorecard.Strategy = strategy
		for i := range spec.Scorecard.Dimensions {
			d := &spec.Scorecard.Dimensions[i]
			d.PassThreshold, d.Weight = new(r.Float64()), new([]float64{0, 0.3, math.MaxFloat64}[r.IntN(3)])
			d.Gate = strategy == scoring.Hybrid && i%3 == 0
		}
		s, problems := scoring.Compile(spec)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		for range 200 {
			ev := randomEvidence(r)
			card := s.Score(ev)
			checkCard(t, card)
			if again := s.Score(ev); !reflect.DeepEqual(card, again) {
				t.Fatalf("the same evidence scored twice (-first +second):\n%s", cmp.Diff(card, again))
			}
		}
	}
}

// A Scorer is shared by all trials of a run.
func TestScorerIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	s, problems := scoring.Compile(everything())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(5, uint64(i)))
			for range 50 {
				s.Score(randomEvidence(r))
			}
		})
	}
	wg.Wait()
}

func TestNormalizeIsIdempotent(t *testing.T) {
	t.Parallel()
	blocks := readBlocks(t, "testdata/spec.txt")
	for _, b := range blocks[1:] {
		once := patched(t, blocks[0]["spec"], b["patch"]).Normalize()
		if diff := cmp.Diff(once, once.Normalize()); diff != "" {
			t.Errorf("%s (-once +twice):\n%s", b["case"], diff)
		}
		if once.Digest() != once.Normalize().Digest() {
			t.Errorf("%s: the digest changes", b["case"])
		}
	}
}

// A stored spec reads back as what it was.
func TestSpecRoundTrip(t *testing.T) {
	t.Parallel()
	spec := everything().Normalize()
	raw, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	var back scoring.Spec
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(spec, back); diff != "" {
		t.Errorf("spec (-before +after):\n%s", diff)
	}
	if spec.Digest() != back.Digest() {
		t.Error("the digest changes")
	}
}

func FuzzScore(f *testing.F) {
	f.Add("4", "4", `{"a":1}`, "1 passed", int64(5))
	f.Add(`{"a":1e999}`, `{"type":"integer","multipleOf":1e-300}`, `[`, "<testsuite", int64(-1))
	f.Add(`{"a":[{}]}`, `{"$ref":"#/$defs/a","$defs":{"a":{"$dynamicRef":"#a"}}}`, `"x"`, `{"passed":1}`, int64(0))
	f.Add(`[1]`, `{"path":"$['a\\'b']","comparator":"contains","value":[1]}`, `{}`, "9999999999999999999 passed", int64(1))
	f.Add("x", `{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":true},"format":"regex"}`, "", "", int64(9))
	s, problems := scoring.Compile(everything())
	if len(problems) > 0 {
		f.Fatal(problems)
	}
	f.Fuzz(func(t *testing.T, output, expected, payload, stdout string, tokens int64) {
		value, err := json.Marshal(expected)
		if err != nil {
			t.Skip()
		}
		ev := evidence()
		ev.FinalOutput, ev.TotalTokens = &output, &tokens
		ev.Case = scoring.Case{Payload: json.RawMessage(payload), Expectations: map[string]scoring.CaseInput{"want": {Value: value}}}
		ev.Files["f"] = scoring.CapturedFile{Key: "f", Exists: true, Content: output}
		ev.CodeRuns[scoring.CodeExecution] = scoring.CodeRun{Stdout: stdout, ExitCode: new(int(tokens % 3))}
		ev.Models = []scoring.ModelUsage{{ProviderKey: "p", ProviderModelID: "m", InputTokens: tokens, Known: true}}
		checkCard(t, s.Score(ev))
	})
}

func FuzzCountTests(f *testing.F) {
	for _, s := range []string{"2 passed, 1 failed", `{"passed":1e18}`, `<testsuites tests="-1"><testsuite tests="9223372036854775807"/></testsuites>`, "\r1 error\n"} {
		f.Add(s, "")
	}
	f.Fuzz(func(t *testing.T, stdout, stderr string) {
		n, ok := scoring.CountTests(stdout, stderr)
		if !ok && n.Total > 0 {
			t.Errorf("got %+v and false", n)
		}
		if ok && (n.Total <= 0 || n.Passed < 0 || n.Failed < 0 || n.Errors < 0 || n.Passed+n.Failed+n.Errors > n.Total) {
			t.Errorf("got impossible counts %+v", n)
		}
	})
}

func FuzzReference(f *testing.F) {
	for _, s := range scoring.ReferenceForms() {
		f.Add(s)
	}
	f.Add("case.payload.a..b")
	f.Fuzz(func(t *testing.T, ref string) {
		if _, err := scoring.ParseReference(ref); err != nil {
			return
		}
		if s, problems := scoring.Compile(reading(refOf(ref))); s != nil {
			s.Score(evidence())
		} else if len(problems) != 1 || !strings.Contains(problems[0].Message, "cannot read") {
			t.Errorf("%q is a reference, and a spec that uses it is refused: %v", ref, problems)
		}
	})
}

// refOf keeps a fuzzed file: reference to a check that is declared.
func refOf(ref string) string {
	if strings.HasPrefix(strings.TrimSpace(ref), "file:") {
		return "file:f"
	}
	return ref
}

func FuzzSpec(f *testing.F) {
	f.Add(`{"scorecard":{"dimensions":["latency",{"key":"x"}]}}`)
	if raw, err := json.Marshal(everything()); err == nil {
		f.Add(string(raw))
	}
	f.Fuzz(func(t *testing.T, doc string) {
		var spec scoring.Spec
		if json.Unmarshal([]byte(doc), &spec) != nil {
			t.Skip()
		}
		once := spec.Normalize()
		if diff := cmp.Diff(once, once.Normalize()); diff != "" {
			t.Errorf("normalizing is not idempotent:\n%s", diff)
		}
		if spec.Digest() != once.Digest() {
			t.Error("normalizing changes the digest")
		}
		spec.Validate()
		spec.Unsupported()
		checkCard(t, scoring.Score(spec, randomEvidence(rand.New(rand.NewPCG(1, 1)))))
	})
}
