package scoring_test

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentclash/agentclash/scoring"
)

// judged fails a fuzz test whose scorer breaks a promise, and returns what the
// validator found.
func judged(t *testing.T, typ, config, actual, expected string) scoring.ValidatorResult {
	t.Helper()
	j := judgeOf(t, typ, config)
	ev := evidence()
	ev.FinalOutput = &actual
	ev.Case.Expectations = map[string]scoring.CaseInput{"want": {Value: jsonText(t, expected)}}
	card := j.scorer.Score(ev)
	checkCard(t, card)
	return card.Validators[0]
}

func FuzzMath(f *testing.F) {
	for _, s := range []string{"1/0", "2^-2", `\frac{1}{\sqrt[3]{2}}`, "√√x%", "$$1,000$$", "1e999999999", "((x_1^y)^z)", `a \cdot b \times 5e-1`, "#### 1", "\xff"} {
		f.Add(s, "1/2")
	}
	f.Fuzz(func(t *testing.T, actual, expected string) {
		for _, config := range []string{`{}`, `{"comparison_mode":"numeric","tolerance":1}`, `{"extract_answer":true}`} {
			there, back := judged(t, scoring.MathEquivalence, config, actual, expected), judged(t, scoring.MathEquivalence, config, expected, actual)
			valid := utf8.ValidString(actual + expected) // what a case expects always is
			if valid && (there.State != back.State || there.Verdict != back.Verdict) {
				t.Errorf("%q and %q: %s %s, the other way round %s %s", actual, expected, there.Verdict, there.Reason, back.Verdict, back.Reason)
			}
		}
		if same := judged(t, scoring.MathEquivalence, `{}`, actual, actual); utf8.ValidString(actual) && same.State == scoring.Available && same.Verdict != scoring.VerdictPass {
			t.Errorf("%q is not itself", actual)
		}
	})
}

func FuzzNumber(f *testing.F) {
	for _, s := range []string{"1_000", "0x1p-2", "-.5e3", "$1,234.56 USD", "inf", "NaN", "1e999", "٤"} {
		f.Add(s, "1")
	}
	f.Fuzz(func(t *testing.T, actual, expected string) {
		for _, config := range []string{`{}`, `{"extract_number":true,"significant_digits":3}`, `{"relative_tolerance":0.1,"absolute_tolerance":2}`} {
			same := judged(t, scoring.NumericMatch, config, actual, actual) // but for NaN
			if same.State == scoring.Available && same.Verdict != scoring.VerdictPass && !strings.Contains(strings.ToLower(actual), "n") {
				t.Errorf("%s: %q is not itself: %s", config, actual, same.Reason)
			}
			judged(t, scoring.NumericMatch, config, actual, expected)
		}
	})
}

func FuzzSimilar(f *testing.F) {
	f.Add("the cat", `["the cat","a dog"]`)
	f.Add("", "[]")
	f.Add("a\xffb", "[\"a\", 1")
	f.Fuzz(func(t *testing.T, actual, expected string) {
		for _, c := range [][2]string{
			{scoring.FuzzyMatch, `{"threshold":0.5,"case_insensitive":true,"normalize":true}`},
			{scoring.TokenF1, `{"threshold":0.5,"normalize":true,"remove_punctuation":true,"remove_articles":true}`},
			{scoring.BLEUScore, `{"threshold":0.5,"smoothing":"method1"}`},
			{scoring.ROUGEScore, `{"threshold":0.5}`}, {scoring.ROUGEScore, `{"threshold":0.5,"variant":"rouge-2"}`},
			{scoring.ChrFScore, `{"threshold":0.5}`}, {scoring.BooleanAssert, `{}`},
		} {
			got := judged(t, c[0], c[1], actual, expected)
			if got.State == scoring.Available && c[0] != scoring.BooleanAssert && (got.Verdict == scoring.VerdictPass) != (*got.NormalizedScore >= 0.5) {
				t.Errorf("%s of %q and %q: %s with score %v", c[0], actual, expected, got.Verdict, *got.NormalizedScore)
			}
			if got.NormalizedScore != nil && math.IsNaN(*got.NormalizedScore) {
				t.Errorf("%s of %q and %q has no score", c[0], actual, expected)
			}
		}
	})
}

// FuzzSchema: any schema is refused or compiled, and any document judged.
func FuzzSchema(f *testing.F) {
	f.Add(`{"$ref":"#"}`, `{}`)
	f.Add(`{"oneOf":[{"properties":{"l":{"$ref":"#"}}},{"items":{"$dynamicRef":"#"}}]}`, `{"l":{"l":[[[]]]}}`)
	f.Add(`{"$id":"http://x/","$defs":{"a":{"$anchor":"b"}},"$ref":"#b","pattern":"("}`, `"x"`)
	f.Fuzz(func(t *testing.T, schema, document string) {
		judged(t, scoring.JSONSchema, `{}`, document, schema)
	})
}
