package scoring

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/scoring/textnorm"
)

func numericConfig() []ConfigKey {
	return []ConfigKey{
		{Name: "absolute_tolerance", Type: KeyNumber, Min: new(0.0), Doc: "the two may differ by this much"},
		{Name: "relative_tolerance", Type: KeyNumber, Min: new(0.0), Doc: "the two may differ by this share of the expected number"},
		flagKey("extract_number", "use the first number in each text, currency signs and thousands commas ignored"),
		{Name: "significant_digits", Type: KeyInteger, Above: new(0.0), Doc: "round both to this many digits first"},
		{Name: "tolerance_mode", Type: KeyString, Enum: []string{"absolute", "relative"}, Default: "relative",
			Doc: "older form: which of the two tolerance is"},
		{Name: "tolerance", Type: KeyNumber, Min: new(0.0), Default: 0.001, at: "relative_tolerance",
			Doc: "older form: what tolerance_mode makes absolute_tolerance or relative_tolerance; used when either of the two is given"},
	}
}

func checkNumeric(s settings, p *problems, field string) {
	if s.anyOf("tolerance", "tolerance_mode") && s.anyOf("absolute_tolerance", "relative_tolerance") {
		p.add(field, "tolerance and tolerance_mode are the older form: use either them or absolute_tolerance and relative_tolerance")
	}
}

// numericEvidence is the evidence of a numeric_match: the numbers compared.
type numericEvidence struct {
	Kind     string  `json:"kind"`
	Actual   string  `json:"actual_number"`
	Expected string  `json:"expected_number"`
	Diff     *string `json:"difference,omitempty"`
}

// numberRule is numeric_match's config.
type numberRule struct {
	absolute, relative *float64
	noise              *strings.Replacer // set: extract the first number
	digits             int64
}

func numericMatch(s settings) matcher {
	rule := numberRule{}
	if s.flag("extract_number") {
		rule.noise = numberNoise()
	}
	if v, ok := s.number("absolute_tolerance"); ok {
		rule.absolute = &v
	}
	if v, ok := s.number("relative_tolerance"); ok {
		rule.relative = &v
	}
	rule.digits, _ = s.integer("significant_digits")
	if s.anyOf("tolerance", "tolerance_mode") {
		rule.legacy(s)
	}
	return func(expected string) (comparison, error) {
		e, err := rule.read(expected)
		if err != nil {
			return nil, err
		}
		return func(actual string) finding {
			a, err := rule.read(actual)
			if err != nil {
				return senseless(err.Error())
			}
			return rule.compare(a, e)
		}, nil
	}
}

// legacy reads the older form of a tolerance.
func (r *numberRule) legacy(s settings) {
	tolerance, _ := s.number("tolerance")
	if s.text("tolerance_mode") == "absolute" {
		r.absolute = &tolerance
	} else {
		r.relative = &tolerance
	}
}

var firstNumber = regexp.MustCompile(`[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?`)

// numberNoise drops what may surround a number or stand inside it.
func numberNoise() *strings.Replacer {
	return textnorm.Dropping(append(textnorm.Currencies(), ",", "%")...)
}

func (r numberRule) read(text string) (float64, error) {
	s := strings.TrimSpace(text)
	if r.noise != nil {
		s = firstNumber.FindString(r.noise.Replace(text))
		if s == "" {
			return 0, fmt.Errorf("there is no number in %s", quoted(text))
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is no number", quoted(s))
	}
	return significant(v, r.digits), nil
}

// significant rounds v to d digits, half away from zero; 0 digits leave it.
func significant(v float64, d int64) float64 {
	if d == 0 || v == 0 || !finite(v) {
		return v
	}
	scale := math.Pow(10, float64(d)-math.Floor(math.Log10(math.Abs(v)))-1)
	rounded := math.Round(v*scale) / scale
	if !finite(rounded) || scale == 0 {
		return v
	}
	return rounded
}

func (r numberRule) compare(a, e float64) finding {
	diff := math.Abs(a - e)
	rel := diff / math.Abs(e)
	if e == 0 && diff == 0 {
		rel = 0
	}
	pass := a == e && r.absolute == nil && r.relative == nil
	pass = pass || r.absolute != nil && diff <= *r.absolute
	pass = pass || r.relative != nil && rel <= *r.relative
	detail := numericEvidence{Kind: NumericMatch, Actual: digits(a), Expected: digits(e)}
	if !pass {
		detail.Diff = new(digits(diff))
	}
	return judged(pass, fmt.Sprintf("%s is not %s", digits(a), digits(e))).with(detail)
}

// digits writes a float64 so that it reads back the same, Inf and NaN too,
// which JSON numbers cannot hold.
func digits(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
