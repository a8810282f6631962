package convert

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// caseNode is a case as it is written in a pack.
func caseNode(c Case) *yaml.Node {
	n := mapping("challenge_key", textNode(c.ChallengeKey), "case_key", textNode(c.CaseKey), "payload", valueNode(c.Payload))
	if len(c.Expectations) > 0 {
		var list []*yaml.Node
		for _, e := range c.Expectations {
			list = append(list, mapping("key", textNode(e.Key), "kind", textNode(e.Kind), "value", valueNode(e.Value)))
		}
		n.Content = append(n.Content, textNode("expectations"), sequence(list))
	}
	if c.Comment != "" {
		n.HeadComment = "# " + c.Comment
	}
	return n
}

// mapping is a mapping of keys and nodes in turns.
func mapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i+1 < len(pairs); i += 2 {
		key, _ := pairs[i].(string)
		value, _ := pairs[i+1].(*yaml.Node)
		n.Content = append(n.Content, textNode(key), value)
	}
	return n
}

func sequence(items []*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: items}
}

// textNode is a text. One that has lines is written as a block, one with anything
// that is not to be seen in quotes.
func textNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }), strings.Contains(s, " \n"),
		strings.HasPrefix(s, "\n"), strings.HasPrefix(s, " "), strings.HasSuffix(s, " "), strings.HasSuffix(s, "\n\n"):
		n.Style = yaml.DoubleQuotedStyle
	case slices.Contains([]string{"y", "n", "yes", "no", "on", "off"}, strings.ToLower(s)): // true or false to older readers
		n.Style = yaml.DoubleQuotedStyle
	case strings.Contains(s, "\n"):
		n.Style = yaml.LiteralStyle
	}
	return n
}

// valueNode is a value of JSON's kinds; keys are sorted.
func valueNode(v any) *yaml.Node {
	switch v := v.(type) {
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	case string:
		return textNode(v)
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v)}
	case int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(v)}
	case int64:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(v, 10)}
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".eE") {
			text += ".0"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: text}
	case []any:
		n := sequence(nil)
		for _, item := range v {
			n.Content = append(n.Content, valueNode(item))
		}
		return n
	case map[string]any:
		n := mapping()
		for _, key := range slices.Sorted(maps.Keys(v)) {
			n.Content = append(n.Content, textNode(key), valueNode(v[key]))
		}
		return n
	}
	return textNode(fmt.Sprint(v))
}
