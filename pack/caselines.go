package pack

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// CaseLines says on which line of a pack's source each case of an input set
// begins, by the case's key. Cases that are not written there are not in it; it
// is nil for a source that cannot be read.
func CaseLines(src []byte, inputSet string) map[string]int {
	root, ok := parseTree(src, newReport(""))
	if !ok || root == nil || len(src) > MaxBytes {
		return nil
	}
	lines := map[string]int{}
	for _, set := range root.below("input_sets") {
		if set.word("key") != inputSet {
			continue
		}
		cases := set.below("cases")
		if len(cases) == 0 {
			cases = set.below("items") // what normalization turns into cases
		}
		for _, c := range cases {
			key := c.word("case_key")
			if key == "" {
				key = c.word("item_key")
			}
			if _, twice := lines[key]; key != "" && !twice {
				lines[key] = c.at.line
			}
		}
	}
	return lines
}

// below are the items of the list under a key; none where there is no list.
func (n *node) below(key string) []*node {
	if p, ok := n.get(key); ok && p.value != nil {
		return p.value.items
	}
	return nil
}

// word is the scalar under a key without the spaces around it, "" where there is
// none.
func (n *node) word(key string) string {
	if p, ok := n.get(key); ok && !p.value.isNull() && p.value.kind == yaml.ScalarNode {
		return strings.TrimSpace(p.value.text)
	}
	return ""
}
