package scoring

import (
	"math"
	"strings"

	"github.com/agentclash/agentclash/scoring/mathexpr"
)

// mathEvidence is the evidence of a math_equivalence: the canonical forms, and
// how they were compared.
type mathEvidence struct {
	Kind     string  `json:"kind"`
	Mode     string  `json:"mode_used,omitempty"`
	Actual   string  `json:"canonical_actual"`
	Expected string  `json:"canonical_expected"`
	Diff     *string `json:"difference,omitempty"`
}

// The ways to compare two expressions.
const (
	mathSymbolic = "symbolic"
	mathNumeric  = "numeric"
	mathFallback = "numeric_fallback"
)

// mathRule is a math_equivalence's config.
type mathRule struct {
	delimiter string // "": the whole text is the answer
	numeric   bool
	fallback  bool
	tolerance float64
}

func mathEquivalence(s settings) matcher {
	rule := mathRule{numeric: s.text("comparison_mode") == mathNumeric, fallback: s.flag("numeric_fallback")}
	rule.tolerance, _ = s.number("tolerance")
	if s.flag("extract_answer") {
		if rule.delimiter = strings.TrimSpace(s.text("answer_delimiter")); rule.delimiter == "" {
			rule.delimiter = usualDelimiter
		}
	}
	return func(expected string) (comparison, error) {
		want, err := rule.read(expected)
		if err != nil {
			return nil, err
		}
		return func(actual string) finding {
			got, err := rule.read(actual)
			if err != nil {
				return senseless(err.Error())
			}
			return rule.compare(got, want)
		}, nil
	}
}

// read is the expression in a text. In numeric mode it has to come to a number.
func (r mathRule) read(text string) (mathexpr.Expr, error) {
	e, err := mathexpr.Parse(answerOf(text, r.delimiter))
	if err == nil && r.numeric {
		_, err = e.Number()
	}
	return e, err
}

// answerOf is what follows the last delimiter in a text, or the whole of it;
// without a delimiter the text itself.
func answerOf(text, delimiter string) string {
	if delimiter == "" {
		return text
	}
	if i := strings.LastIndex(text, delimiter); i >= 0 {
		return text[i+len(delimiter):]
	}
	return text
}

func (r mathRule) compare(got, want mathexpr.Expr) finding {
	e := mathEvidence{Kind: MathEquivalence, Actual: clip(got.Key()), Expected: clip(want.Key())}
	if !r.numeric && got.Key() == want.Key() {
		e.Mode = mathSymbolic
		return judged(true, "").with(e)
	}
	reason := "the two expressions are not the same"
	if !r.numeric && !r.fallback {
		return judged(false, reason).with(e)
	}
	x, err := got.Number()
	y, wrong := want.Number()
	if err != nil || wrong != nil {
		return judged(false, reason).with(e)
	}
	e.Mode = mathFallback
	if r.numeric {
		e.Mode = mathNumeric
	}
	diff := math.Abs(x - y)
	e.Diff = new(digits(diff))
	return judged(diff <= r.tolerance && finite(diff), reason+" and differ by "+*e.Diff).with(e)
}
