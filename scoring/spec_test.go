package scoring_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/scoring"
)

func TestSpecVectors(t *testing.T) {
	t.Parallel()
	blocks := readBlocks(t, "testdata/spec.txt")
	base := blocks[0]["spec"]
	for _, b := range blocks[1:] {
		b.only(t, "case", "patch", "want", "message")
		t.Run(b["case"], func(t *testing.T) {
			t.Parallel()
			problems := patched(t, base, b["patch"]).Validate()
			fields := make([]string, len(problems))
			for i, p := range problems {
				fields[i] = p.Field
			}
			want := strings.Split(b["want"], ", ")
			if b["want"] == "valid" {
				want = []string{}
			}
			if diff := cmp.Diff(want, fields); diff != "" {
				t.Errorf("problems (-want +got):\n%s\n%v", diff, problems)
			}
			if len(problems) > 0 && !strings.Contains(problems[0].Message, b["message"]) {
				t.Errorf("got message %q, want it to contain %q", problems[0].Message, b["message"])
			}
		})
	}
}

// patched applies a JSON merge patch to a spec.
func patched(t *testing.T, base, patch string) scoring.Spec {
	t.Helper()
	var doc, change any
	if err := json.Unmarshal([]byte(base), &doc); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(patch), &change); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(merge(doc, change))
	if err != nil {
		t.Fatal(err)
	}
	var spec scoring.Spec
	if err := json.Unmarshal(raw, &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

func merge(doc, change any) any {
	to, ok := doc.(map[string]any)
	from, isObject := change.(map[string]any)
	if !ok || !isObject {
		return change
	}
	for k, v := range from {
		if v == nil {
			delete(to, k)
			continue
		}
		to[k] = merge(to[k], v)
	}
	return to
}

func TestNotANumberIsRefused(t *testing.T) {
	t.Parallel()
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		spec := oneValidator()
		spec.RuntimeLimits.MaxCostUSD = &v
		spec.Pricing.Models = []scoring.Price{{ProviderKey: "p", ProviderModelID: "m", InputCostPerMillionTokens: v, OutputCostPerMillionTokens: v}}
		spec.Scorecard.PassThreshold = &v
		spec.Scorecard.Dimensions = []scoring.Dimension{{
			Key: "c", Source: scoring.SourceCost, BetterDirection: scoring.Lower, Weight: &v, PassThreshold: &v,
			Normalization: &scoring.Normalization{Target: &v, Max: &v},
		}}
		if got := len(spec.Validate()); got < 8 {
			t.Errorf("%v: got %d problems, want one for each of the 8 numbers: %v", v, got, spec.Validate())
		}
		if d := spec.Digest(); d != "" {
			t.Errorf("%v: got digest %q of a spec that JSON cannot hold", v, d)
		}
	}
}

func TestNormalizeShorthands(t *testing.T) {
	t.Parallel()
	spec := patched(t, readBlocks(t, "testdata/spec.txt")[0]["spec"],
		`{"name":" s ","runtime_limits":{"max_cost_usd":2},"scorecard":{"dimensions":["correctness","reliability",{"key":"latency","weight":3},"cost","behavioral","other"],
		  "normalization":{"cost":{"target_usd":1}}}}`)
	got := spec.Normalize()
	want := []scoring.Dimension{
		{Key: "correctness", Source: "validators", BetterDirection: "higher"},
		{Key: "reliability", Source: "reliability", BetterDirection: "higher"},
		{Key: "latency", Source: "latency", BetterDirection: "lower", Weight: new(3.0), Normalization: &scoring.Normalization{Target: new(100.0), Max: new(5000.0)}},
		{Key: "cost", Source: "cost", BetterDirection: "lower", Normalization: &scoring.Normalization{Target: new(1.0), Max: new(2.0)}},
		{Key: "behavioral", Source: "behavioral", BetterDirection: "higher"},
		{Key: "other"},
	}
	if diff := cmp.Diff(want, got.Scorecard.Dimensions); diff != "" {
		t.Errorf("dimensions (-want +got):\n%s", diff)
	}
	if got.Name != "s" || got.Scorecard.Strategy != scoring.Weighted {
		t.Errorf("got name %q and strategy %q", got.Name, got.Scorecard.Strategy)
	}
	if spec.Name != " s " || spec.Scorecard.Dimensions[0].Source != "" {
		t.Error("Normalize changed its receiver")
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	base := readBlocks(t, "testdata/spec.txt")[0]["spec"]
	plain := patched(t, base, `{}`).Digest()
	if len(plain) != 64 {
		t.Fatalf("got digest %q, want 64 hex digits", plain)
	}
	same := map[string]string{
		"a shorthand written out": `{"scorecard":{"dimensions":[{"key":"correctness","source":"validators","better_direction":"higher"}]}}`,
		"space around a key":      `{"name":" s "}`,
		"the default strategy":    `{"scorecard":{"strategy":"weighted"}}`,
	}
	for name, patch := range same {
		if patched(t, base, patch).Digest() != plain {
			t.Errorf("%s changes the digest", name)
		}
	}
	if patched(t, base, `{"scorecard":{"pass_threshold":1}}`).Digest() == plain {
		t.Error("a threshold does not change the digest")
	}
	spec := oneValidator()
	spec.Validators[0].Config = json.RawMessage(`{"b": 1, "a": 2}`)
	before := spec.Digest()
	spec.Validators[0].Config = json.RawMessage(`{"a":2,"b":1}`)
	if spec.Digest() != before {
		t.Error("the order of a config's keys changes the digest")
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	spec := oneValidator()
	if got := spec.Warnings(); len(got) != 0 {
		t.Errorf("got warnings %v for a spec without fault", got)
	}
	spec.PostExecutionChecks = nil
	spec.Validators = []scoring.Validator{
		{Key: "re", Type: scoring.RegexMatch, Target: "final_output", ExpectedFrom: "literal:["},
		{Key: "file", Type: scoring.FileExists, Target: "file:f"},
		{Key: "idle", Type: scoring.Contains, Target: "final_output", ExpectedFrom: "literal:x"},
	}
	spec.Metrics = []scoring.Metric{{Key: "done", Type: "boolean", Collector: "run_completed_successfully"}}
	spec.Scorecard.Dimensions = []scoring.Dimension{
		{Key: "correctness", Validators: []string{"re", "file"}},
		{Key: "d", Source: "metric", Metric: "done", BetterDirection: "lower", Normalization: &scoring.Normalization{Target: new(0.0), Max: new(1.0)}},
	}
	var fields []string
	for _, w := range spec.Warnings() {
		fields = append(fields, w.Field)
	}
	want := []string{"validators[0].expected_from", "validators[1].target", "validators[2]", "scorecard.dimensions[1].metric"}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if got := (scoring.Spec{}).Warnings(); got != nil {
		t.Errorf("got warnings %v for a spec that is not valid", got)
	}
}

// The tables that documents are made of are complete and have no blanks.
func TestTables(t *testing.T) {
	t.Parallel()
	for _, v := range scoring.ValidatorTypes() {
		if v.Name == "" || v.Doc == "" {
			t.Errorf("a validator type has a blank: %+v", v)
		}
		for _, k := range v.Config {
			if k.Name == "" || k.Doc == "" || k.Type == "" {
				t.Errorf("%s: a config key has a blank: %+v", v.Name, k)
			}
		}
	}
	for _, c := range scoring.Collectors() {
		if c.Name == "" || c.Doc == "" || c.Type == "" {
			t.Errorf("a collector has a blank: %+v", c)
		}
	}
	if len(scoring.ReferenceForms()) == 0 || len(scoring.DimensionSources()) == 0 {
		t.Error("a table is empty")
	}
}
