package packtest

import (
	"encoding/json"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/agentclash/agentclash/scoring"
)

// maxExample bounds a text that is made for a pattern, in runes.
const maxExample = 1000

// example is a short text that a pattern matches; ok is false when none was
// found: the anchors and word boundaries of a pattern are not reasoned about.
func example(pattern string) (text string, ok bool) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	write(&b, tree)
	matcher, err := regexp.Compile(pattern)
	if err != nil || b.Len() > maxExample || !matcher.MatchString(b.String()) {
		return "", false
	}
	return b.String(), true
}

// write writes the shortest way through a pattern, the first of several.
func write(b *strings.Builder, re *syntax.Regexp) {
	if b.Len() > maxExample {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(member(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpCapture, syntax.OpPlus:
		write(b, re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			write(b, sub)
		}
	case syntax.OpAlternate:
		write(b, re.Sub[0])
	case syntax.OpRepeat:
		for range re.Min {
			write(b, re.Sub[0])
		}
	}
}

// member is a rune of a class, a plain one where there is one.
func member(ranges []rune) rune {
	for _, r := range "a0A " {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= r && r <= ranges[i+1] {
				return r
			}
		}
	}
	if len(ranges) == 0 {
		return 'x'
	}
	return ranges[0]
}

// forbids says whether a validator is met by a text not being there.
func forbids(v scoring.Validator) bool {
	excludes := v.Type == scoring.FileContentMatch && matchMode(v) == "not_contains" ||
		v.Type == scoring.Postcondition && (configOf(v).Condition == "not_contains" || configOf(v).Condition == "not_exists")
	return excludes != v.Negate
}

// forbidden is what a validator does not want to see, as texts that have it.
func (c *testCase) forbidden(v scoring.Validator) []string {
	text, _ := c.expected(v.ExpectedFrom)
	switch v.Type {
	case scoring.JSONSchema:
		return ruledOut([]byte(text))
	case scoring.FileJSONSchema:
		return ruledOut(configOf(v).Schema)
	}
	if !forbids(v) {
		return nil
	}
	pattern := v.Type == scoring.RegexMatch
	switch v.Type {
	case scoring.Postcondition:
		text, pattern = configOf(v).value(), configOf(v).Condition == "regex_match"
	case scoring.FileContentMatch:
		pattern = matchMode(v) == "regex"
	case scoring.BLEUScore, scoring.ROUGEScore, scoring.ChrFScore:
		text = firstReference(text)
	}
	if pattern {
		text, _ = example(text)
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []string{text}
}

// ruledOut are texts that a JSON Schema rules out by "not".
func ruledOut(schema []byte) []string {
	var v any
	if json.Unmarshal(schema, &v) != nil {
		return nil
	}
	var texts []string
	collectRuledOut(v, false, &texts)
	return texts
}

func collectRuledOut(v any, not bool, texts *[]string) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range sorted(v) {
			text, isText := v[key].(string)
			switch {
			case not && key == "pattern" && isText:
				if made, ok := example(text); ok {
					*texts = append(*texts, made)
				}
			case not && key == "const" && isText:
				*texts = append(*texts, text)
			default:
				collectRuledOut(v[key], not != (key == "not"), texts)
			}
		}
	case []any:
		for _, item := range v {
			collectRuledOut(item, not, texts)
		}
	}
}
