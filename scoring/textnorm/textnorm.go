package textnorm

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// step changes a text before it is compared.
type step struct {
	name  string
	apply func(string) string
}

// steps are all there are, in the order of documents.
func steps() []step {
	return []step{
		{Trim, strings.TrimSpace},
		{Lowercase, fold},
		{Collapse, collapse},
		{Punctuation, stripPunctuation},
		{"strip_currency", Dropping(Currencies()...).Replace},
		{"strip_formatting", Dropping(",", "(", ")", "[", "]").Replace},
		{"normalize_unicode", norm.NFKC.String},
		{Articles, func(s string) string { return article.ReplaceAllLiteralString(s, " ") }},
		{"sort_words", sortWords},
		{"sort_lines", sortLines},
	}
}

// The steps that are used by name.
const (
	Trim        = "trim"
	Lowercase   = "lowercase"
	Collapse    = "collapse_whitespace"
	Punctuation = "strip_punctuation"
	Articles    = "remove_articles"
)

// Steps are the names of all steps, in the order of documents.
func Steps() []string {
	var names []string
	for _, s := range steps() {
		names = append(names, s.name)
	}
	return names
}

// Usual are the steps of whoever does not say which.
func Usual() []string { return []string{Trim, Lowercase, Collapse} }

// Pipeline makes one function of the named steps, in their order; a name that
// is unknown is no step.
func Pipeline(names []string) func(string) string {
	known := steps()
	var chosen []func(string) string
	for _, name := range names {
		if i := slices.IndexFunc(known, func(s step) bool { return s.name == name }); i >= 0 {
			chosen = append(chosen, known[i].apply)
		}
	}
	return func(text string) string {
		for _, apply := range chosen {
			text = apply(text)
		}
		return text
	}
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

// Currencies are the signs and codes of those that the format knows.
func Currencies() []string {
	return []string{"$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "JPY", "INR"}
}

// Dropping deletes each of the words wherever it stands. What deleting brings
// together stays.
func Dropping(words ...string) *strings.Replacer {
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
