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
		b.only(t, "case", "patch", "want", "warn", "not_yet", "message")
		t.Run(b["case"], func(t *testing.T) {
			t.Parallel()
			checkSpec(t, b, patched(t, base, b["patch"]))
		})
	}
}

// checkSpec holds a spec's problems against a vector: its errors, its warnings
// and what this version cannot score.
func checkSpec(t *testing.T, b block, spec scoring.Spec) {
	t.Helper()
	found, later := spec.Validate(), spec.Unsupported()
	var errs, warnings []scoring.Problem
	for _, p := range found {
		if p.Warning {
			warnings = append(warnings, p)
		} else {
			errs = append(errs, p)
		}
	}
	want := b["want"]
	if want == "valid" {
		want = ""
	}
	checkFields(t, "want", want, errs)
	checkFields(t, "warn", b["warn"], warnings)
	checkFields(t, "not_yet", b["not_yet"], later)
	if all := append(found, later...); len(all) > 0 && !strings.Contains(all[0].Message, b["message"]) {
		t.Errorf("got message %q, want it to contain %q", all[0].Message, b["message"])
	}
	scorer, problems := scoring.Compile(spec)
	if diff := cmp.Diff(append(errs, later...), problems); diff != "" {
		t.Errorf("Compile's problems are not the errors and then what is unsupported (-want +got):\n%s", diff)
	}
	if (scorer != nil) != (len(problems) == 0) {
		t.Errorf("got scorer %v with %d problems", scorer != nil, len(problems))
	}
}

func checkFields(t *testing.T, key, want string, got []scoring.Problem) {
	t.Helper()
	fields := make([]string, len(got))
	for i, p := range got {
		fields[i] = p.Field
	}
	if list := strings.Join(fields, ", "); list != want {
		t.Errorf("%s: got %q, want %q\n%v", key, list, want, got)
	}
}

// patched applies a JSON merge patch to a spec.
func patched(t *testing.T, base, patch string) scoring.Spec {
	t.Helper()
	var spec scoring.Spec
	if err := json.Unmarshal([]byte(mergedText(t, base, patch)), &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

// mergedText applies a JSON merge patch to a document.
func mergedText(t *testing.T, base, patch string) string {
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
	return string(raw)
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
	if patched(t, base, `{"validators":[{"key":"v","type":"exact_match","target":"final_output","expected_from":"literal:4","negate":true}]}`).Digest() ==
		patched(t, base, `{"validators":[{"key":"v","type":"exact_match","target":"final_output","expected_from":"literal:4","negate":false}]}`).Digest() {
		t.Error("a negation does not change the digest")
	}
	spec := oneValidator()
	spec.Validators[0].Config = json.RawMessage(`{"b": 1, "a": 2}`)
	before := spec.Digest()
	spec.Validators[0].Config = json.RawMessage(`{"a":2,"b":1}`)
	if spec.Digest() != before {
		t.Error("the order of a config's keys changes the digest")
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
