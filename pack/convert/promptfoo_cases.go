package convert

import (
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

// cases are the tests with one prompt.
func (w *writer) cases(challenge string, p prompt) []*yaml.Node {
	seen := map[string]int{}
	var list []*yaml.Node
	for t, test := range w.tests {
		payload := map[string]any{}
		for key, v := range test.vars {
			payload[key] = v
		}
		for _, name := range p.vars {
			if _, ok := payload[name]; !ok {
				payload[name] = "" // as a template engine fills it
			}
		}
		c := Case{Case: pack.Case{ChallengeKey: challenge, Payload: payload}}
		for i, s := range w.slots {
			c.Expectations = append(c.Expectations, w.expectation(i, s.checks[t]))
		}
		c.CaseKey = "test-" + strconv.Itoa(t+1)
		if slug := Slug(test.description); slug != "" {
			c.CaseKey = slug
		}
		if seen[c.CaseKey]++; seen[c.CaseKey] > 1 {
			c.CaseKey += "-" + strconv.Itoa(t+1)
		}
		list = append(list, caseNode(c))
	}
	return list
}

func (w *writer) expectation(i int, c *check) pack.Expectation {
	s := w.slots[i]
	e := pack.Expectation{Key: w.key(i), Kind: "text"}
	switch {
	case s.kind == isSchema:
		e.Kind, e.Value = "json", c.schema
		if c.schema == true {
			e.Value = map[string]any{}
		}
	case s.kind == isRubric:
		e.Value = c.expected
	case c == nil && s.negate:
		e.Value = noText
	case c == nil:
		e.Value = anyText
	case s.native() == scoring.RegexMatch:
		e.Value = c.pattern
	default:
		e.Value = c.expected
	}
	return e
}

// Slug makes a key of a description.
func Slug(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 60 {
			break
		}
	}
	return strings.Trim(b.String(), "-")
}
