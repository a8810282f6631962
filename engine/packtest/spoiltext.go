package packtest

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/agentclash/agentclash/scoring"
)

// Bounds on the ways to spoil one text.
const (
	maxRewritten = 8 << 10 // a longer text is not searched and rewritten
	maxObject    = 200     // texts made of one JSON document
	maxNested    = 3       // objects within objects
	minHalved    = 20      // a shorter value is not cut in two
)

// spoilText are the ways in which a text can be nearly right. The target is its
// path, or the final output; other is what was right for another case, nil when
// there is none.
func (s spoiler) spoilText(target, text string, other *string) []string {
	texts := []string{""}
	if other != nil {
		texts = append(texts, *other)
	}
	if len(text) > maxSpoiledText {
		return texts
	}
	texts = append(texts, text+"\nand something else", "something else:\n"+text, strings.ToValidUTF8(text[:len(text)/2], ""))
	for _, nudge := range s.nudges() {
		if t, ok := nudgeNumber(text, nudge); ok {
			texts = append(texts, t)
		}
	}
	if len(text) <= maxRewritten {
		texts = append(texts, s.rewrite(target, text)...)
	}
	return append(texts, s.choices(target).spoil(text, other)...)
}

// rewrite takes out of a text what validators find in it, puts in what they do
// not want to find, and writes it in forms that some validators take for the
// same.
func (s spoiler) rewrite(target, text string) []string {
	var texts []string
	var wanted, unwanted []string
	similar, same := false, false
	for _, v := range s.spec.Validators {
		if at, ok := s.target(v.Target); !ok || at != target {
			continue
		}
		wanted = append(wanted, s.of.parts(v, text)...)
		unwanted = append(unwanted, s.of.forbidden(v)...)
		similar = similar || slices.Contains([]string{scoring.BLEUScore, scoring.ROUGEScore, scoring.ChrFScore}, v.Type)
		same = same || v.Type == scoring.NormalizedMatch
	}
	for _, part := range s.share(wanted) {
		texts = append(texts, strings.ReplaceAll(text, part, masked(part)), strings.ReplaceAll(text, part, ""))
	}
	for _, bad := range s.share(unwanted) {
		texts = append(texts, bad, text+"\n"+bad)
		texts = append(texts, inDocument(text, bad)...)
	}
	if similar || same {
		texts = append(texts, backwards(text, " "))
	}
	if same {
		texts = append(texts, forms(text)...)
	}
	var doc bytes.Buffer
	if json.Indent(&doc, []byte(text), "", "    ") == nil {
		texts = append(texts, doc.String()+"\n")
	}
	return texts
}

// share is the part of a list that is this trial's turn.
func (s spoiler) share(list []string) []string {
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) <= maxSpoiledKeys {
		return list
	}
	at := s.turn * maxSpoiledKeys % len(list)
	return slices.Concat(list[at:], list[:at])[:maxSpoiledKeys]
}

// parts are what a validator finds in a text.
func (c *testCase) parts(v scoring.Validator, text string) []string {
	if v.Negate || forbids(v) {
		return nil
	}
	expected, _ := c.expected(v.ExpectedFrom)
	pattern, contained := false, false
	switch v.Type {
	case scoring.RegexMatch:
		pattern = true
	case scoring.Contains:
		contained = true
	case scoring.FileContentMatch:
		pattern, contained = matchMode(v) == "regex", matchMode(v) == "contains"
	case scoring.Postcondition:
		condition := configOf(v).Condition
		expected, pattern, contained = configOf(v).value(), condition == "regex_match", condition == "contains"
	}
	switch {
	case contained && expected != "" && strings.Contains(text, expected):
		return []string{expected}
	case pattern:
		if re, err := regexp.Compile(expected); err == nil {
			return slices.DeleteFunc(re.FindAllString(text, maxSpoiledKeys), func(m string) bool { return m == "" })
		}
	}
	return nil
}

// masked is a text of the same form with other letters.
func masked(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return 'x'
		}
		return r
	}, text)
}

// backwards is a text with its words or lines the other way round.
func backwards(text, sep string) string {
	parts := strings.Split(text, sep)
	slices.Reverse(parts)
	return strings.Join(parts, sep)
}

// forms are a text as somebody else would write it, one for each step that
// normalized_match can take.
func forms(text string) []string {
	return []string{
		"  " + text + "  ", strings.ToUpper(text), strings.ReplaceAll(text, " ", "  "), text + "!", "$" + text,
		"**" + text + "**", "the " + text, backwards(text, "\n"), wide(text),
	}
}

// wide writes Latin letters and digits in their full-width forms.
func wide(text string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r <= '~' {
			return r - '!' + '\uff01'
		}
		return r
	}, text)
}

// inDocument puts a text behind each text of a JSON document, in turn.
func inDocument(text, more string) []string {
	var texts []string
	for i := range maxSpoiledKeys {
		var doc any
		if json.Unmarshal([]byte(text), &doc) != nil {
			return nil
		}
		left := i
		doc = lengthen(doc, more, &left)
		if left >= 0 {
			break // there are no more
		}
		if b, err := json.Marshal(doc); err == nil {
			texts = append(texts, string(b))
		}
	}
	return texts
}

// lengthen puts more behind the text that comes after left others, and leaves
// -1 in left when it was there.
func lengthen(v any, more string, left *int) any {
	switch v := v.(type) {
	case string:
		*left--
		if *left == -1 {
			return v + " " + more
		}
	case map[string]any:
		for _, key := range sorted(v) {
			if *left >= 0 {
				v[key] = lengthen(v[key], more, left)
			}
		}
	case []any:
		for i := range v {
			if *left >= 0 {
				v[i] = lengthen(v[i], more, left)
			}
		}
	}
	return v
}

// choices are the lists of values that schemas give to choose from.
type choices [][]string

func (s spoiler) choices(target string) choices {
	var list choices
	for _, v := range s.spec.Validators {
		if at, ok := s.target(v.Target); !ok || at != target || v.Negate {
			continue
		}
		var schema any
		switch v.Type {
		case scoring.JSONSchema:
			text, _ := s.of.expected(v.ExpectedFrom)
			_ = json.Unmarshal([]byte(text), &schema) // no schema has no lists
		case scoring.FileJSONSchema:
			_ = json.Unmarshal(configOf(v).Schema, &schema)
		}
		list.collect(schema)
	}
	return list
}

func (c *choices) collect(v any) {
	switch v := v.(type) {
	case map[string]any:
		if list, ok := v["enum"].([]any); ok {
			var words []string
			for _, item := range list {
				if word, ok := item.(string); ok {
					words = append(words, word)
				}
			}
			*c = append(*c, words)
		}
		for _, key := range sorted(v) {
			c.collect(v[key])
		}
	case []any:
		for _, item := range v {
			c.collect(item)
		}
	}
}

// maxChoices is how many other choices are tried for one.
const maxChoices = 3

// others are what could have been chosen in place of a word.
func (c choices) others(word string) []any {
	var list []any
	for _, words := range c {
		if !slices.Contains(words, word) {
			continue
		}
		for _, other := range words {
			if other != word && len(list) < maxChoices {
				list = append(list, other)
			}
		}
	}
	return list
}

// spoil are a JSON object's texts with one thing in it spoiled.
func (c choices) spoil(text string, other *string) []string {
	var object, others map[string]any
	if json.Unmarshal([]byte(text), &object) != nil || object == nil {
		return nil
	}
	if other != nil && json.Unmarshal([]byte(*other), &others) != nil {
		others = nil
	}
	depth := 1
	if len(text) <= maxRewritten {
		depth = maxNested
	}
	var texts []string
	for _, doc := range c.object(object, others, depth) {
		if b, err := json.Marshal(doc); err == nil && len(texts) < maxObject {
			texts = append(texts, string(b))
		}
	}
	return texts
}

// object takes each key away, changes its value, also to that of another
// object, and adds a key; then the same with the objects in it.
func (c choices) object(object, others map[string]any, depth int) []map[string]any {
	more := maps.Clone(object)
	more["something else"] = true
	list := []map[string]any{more}
	with := func(key string, value any) {
		changed := maps.Clone(object)
		changed[key] = value
		list = append(list, changed)
	}
	keys := some(sorted(object))
	for _, k := range keys {
		less := maps.Clone(object)
		delete(less, k)
		list = append(list, less)
		values := c.value(object[k])
		if v, ok := others[k]; ok {
			values = append(values, v)
		}
		for _, v := range values {
			with(k, v)
		}
	}
	for _, k := range keys {
		inner, ok := object[k].(map[string]any)
		if !ok || depth <= 1 {
			continue
		}
		theirs, _ := others[k].(map[string]any)
		for _, changed := range c.object(inner, theirs, depth-1) {
			with(k, changed)
		}
	}
	return list
}

func (c choices) value(v any) []any {
	switch v := v.(type) {
	case bool:
		return []any{!v, nil}
	case float64:
		return []any{v + 1, nil}
	case string:
		list := append([]any{"something else", nil}, c.others(v)...)
		if runes := []rune(v); len(runes) >= minHalved {
			list = append(list, string(runes[:len(runes)/2]), string(runes[len(runes)/2:]))
		}
		return list
	}
	return []any{nil}
}
