package scoring

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// textStep changes a text before it is compared. The steps are those of
// normalized_match; the other types put some of them together.
type textStep struct {
	name  string
	apply func(string) string
}

// textSteps are the steps in the order of documents.
func textSteps() []textStep {
	return []textStep{
		{"trim", strings.TrimSpace},
		{"lowercase", fold},
		{"collapse_whitespace", collapse},
		{"strip_punctuation", stripPunctuation},
		{"strip_currency", dropping(currencies()...).Replace},
		{"strip_formatting", dropping(",", "(", ")", "[", "]").Replace},
		{"normalize_unicode", norm.NFKC.String},
		{"remove_articles", func(s string) string { return article.ReplaceAllLiteralString(s, " ") }},
		{"sort_words", sortWords},
		{"sort_lines", sortLines},
	}
}

// The steps of normalized_match that are used by name.
const (
	stepTrim        = "trim"
	stepLowercase   = "lowercase"
	stepCollapse    = "collapse_whitespace"
	stepPunctuation = "strip_punctuation"
	stepArticles    = "remove_articles"
)

// usualSteps are what normalized_match does when its config does not say.
func usualSteps() []string { return []string{stepTrim, stepLowercase, stepCollapse} }

// pipeline makes one function of the named steps, in their order. The config
// was checked: every name is known.
func pipeline(names []string) func(string) string {
	known := textSteps()
	var steps []func(string) string
	for _, name := range names {
		if i := slices.IndexFunc(known, func(s textStep) bool { return s.name == name }); i >= 0 {
			steps = append(steps, known[i].apply)
		}
	}
	return func(text string) string {
		for _, apply := range steps {
			text = apply(text)
		}
		return text
	}
}

// preparation is what fuzzy_match and the scores against references do to a text
// first, as their config says.
func preparation(s settings) func(string) string {
	var names []string
	if s.flag("normalize") {
		names = append(names, stepTrim, stepCollapse)
	}
	if s.flag("case_insensitive") {
		names = append(names, stepLowercase)
	}
	return pipeline(names)
}

// fold makes texts equal that differ in case only: full Unicode folding, so
// that ß is ss. A Caser keeps state, hence one for each text.
func fold(text string) string {
	if isPlain(text) {
		return strings.ToLower(text)
	}
	return cases.Fold().String(text)
}

// isPlain says that a text is ASCII, where folding is lower case.
func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// collapse makes one space of every run of ASCII white space.
func collapse(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	in := false
	for i := range len(text) {
		white := strings.IndexByte("\t\n\f\r ", text[i]) >= 0
		switch {
		case !white:
			b.WriteByte(text[i])
		case !in:
			b.WriteByte(' ')
		}
		in = white
	}
	return b.String()
}

var article = regexp.MustCompile(`\b(?:a|an|the)\b`)

func stripPunctuation(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPunct(r) || unicode.IsSymbol(r) {
			return -1
		}
		return r
	}, text)
}

// currencies are the signs and codes of those that the format knows.
func currencies() []string {
	return []string{"$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "JPY", "INR"}
}

// dropping deletes each of the words wherever it stands.
func dropping(words ...string) *strings.Replacer {
	pairs := make([]string, 0, 2*len(words))
	for _, w := range words {
		pairs = append(pairs, w, "")
	}
	return strings.NewReplacer(pairs...)
}

func sortWords(text string) string {
	words := strings.Fields(text)
	slices.Sort(words)
	return strings.Join(words, " ")
}

func sortLines(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// normalizedEvidence is the evidence of a normalized_match.
type normalizedEvidence struct {
	Kind     string   `json:"kind"`
	Actual   string   `json:"normalized_actual"`
	Expected string   `json:"normalized_expected"`
	Pipeline []string `json:"pipeline"`
}

func normalizedMatch(s settings) matcher {
	names := s.list("pipeline")
	if other := s.list("normalizations"); len(other) > 0 {
		names = other
	}
	if len(names) == 0 {
		names = usualSteps()
	}
	apply := pipeline(names)
	return func(expected string) (comparison, error) {
		want := apply(expected)
		return func(actual string) finding {
			got := apply(actual)
			return judged(got == want, "after the same steps the text is not the expected one").
				with(normalizedEvidence{NormalizedMatch, clip(got), clip(want), names})
		}, nil
	}
}
