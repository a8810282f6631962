package regression

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/pack"
)

// header opens a new file.
const header = `# Regression cases: what an agent once failed and must not fail again.
# Made by agentclash run promote-failure; edit it by hand as you like, comments stay.
`

// Source is a new file of the suite.
func (s *Suite) Source() ([]byte, error) {
	whole := *s
	whole.Cases = append([]Case{}, s.Cases...)
	for _, quoted := range []bool{false, true} {
		n, err := nodeOf(whole, quoted)
		if err != nil {
			return nil, err
		}
		out, err := encode(n)
		if err != nil {
			return nil, err
		}
		out = append([]byte(header), out...)
		if s.is(out) {
			return out, nil
		}
	}
	return nil, fmt.Errorf("write suite %q: a text in it cannot be written as YAML and read back", s.Name)
}

// Append adds cases to the source of a suite. Comments and the order of what is
// there stay.
func Append(src []byte, cases ...Case) ([]byte, error) {
	s, problems := Parse("suite", src)
	if s == nil {
		return nil, problems
	}
	s.Cases = append(s.Cases, cases...)
	for _, quoted := range []bool{false, true} {
		var added []*yaml.Node
		for _, c := range cases {
			n, err := nodeOf(c, quoted)
			if err != nil {
				return nil, err
			}
			added = append(added, n)
		}
		out, err := edit(src, func(root *yaml.Node) error {
			list := value(root, "cases")
			if list == nil || list.Kind != yaml.SequenceNode {
				list = put(root, "cases", &yaml.Node{Kind: yaml.SequenceNode})
			}
			list.Style = 0 // from []
			list.Content = append(list.Content, added...)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if s.is(out) {
			return out, nil
		}
	}
	return nil, errNotWritable
}

// errNotWritable is for a file that says something else once it is written again.
var errNotWritable = errors.New("the file cannot be changed without changing what else it says: edit it by hand")

// SetStatus changes the state of a suite, and with an id that of one of its
// cases, in a suite's source.
func SetStatus(src []byte, id, status string) ([]byte, error) {
	s, problems := Parse("suite", src)
	if s == nil {
		return nil, problems
	}
	i := s.Find(id)
	switch {
	case id == "":
		s.Status = status
	case i < 0:
		return nil, fmt.Errorf("find case %q: %w", id, pack.ErrNotFound)
	default:
		s.Cases[i].Status = status
	}
	out, err := edit(src, func(root *yaml.Node) error {
		at := root
		if id != "" {
			at = followed(value(root, "cases").Content[i])
		}
		n := value(at, "status")
		if n == nil || n.Kind != yaml.ScalarNode {
			return errNotWritable
		}
		n.Value, n.Style = status, 0
		return nil
	})
	if err == nil && !s.is(out) {
		err = errNotWritable
	}
	return out, err
}

// edit changes the first document of a file.
func edit(src []byte, change func(root *yaml.Node) error) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(src, &doc); err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errNotWritable
	}
	if err := change(doc.Content[0]); err != nil {
		return nil, err
	}
	return encode(&doc)
}

// is says whether a source reads back as this suite.
func (s *Suite) is(src []byte) bool {
	got, _ := Parse("suite", src)
	if got == nil {
		return false
	}
	want, err := json.Marshal(s.normalized())
	is, gotErr := json.Marshal(got)
	return err == nil && gotErr == nil && bytes.Equal(want, is)
}

func (s *Suite) normalized() *Suite {
	n := *s
	n.Cases = nil
	for _, c := range s.Cases {
		c.Document = c.Document.Normalized()
		n.Cases = append(n.Cases, c)
	}
	return &n
}

func encode(n *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return b.Bytes(), nil
}

func followed(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// value is what a mapping has under a key, nil for nothing.
func value(m *yaml.Node, key string) *yaml.Node {
	for i := 0; m != nil && i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}

// put gives a mapping a key, in place of what is there.
func put(m *yaml.Node, key string, v *yaml.Node) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			m.Content[i+1] = v
			return v
		}
	}
	m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, v)
	return v
}

// nodeOf is a value as YAML, with the keys in the order of its JSON. Texts of
// several lines are written as blocks, unless quoted says otherwise.
func nodeOf(v any, quoted bool) (*yaml.Node, error) {
	doc, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	n, err := readNode(dec, quoted)
	if err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	dropItemKey(value(n, "case"))
	if list := value(n, "cases"); list != nil {
		for _, c := range list.Content {
			dropItemKey(value(c, "case"))
		}
	}
	return n, nil
}

// dropItemKey leaves out the old name of a case's key.
func dropItemKey(c *yaml.Node) {
	key, item := value(c, "case_key"), value(c, "item_key")
	if key == nil || item == nil || key.Value != item.Value {
		return
	}
	at := slices.Index(c.Content, item)
	c.Content = slices.Delete(c.Content, at-1, at+1)
}

func readNode(dec *json.Decoder, quoted bool) (*yaml.Node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	open, isDelim := token.(json.Delim)
	if !isDelim {
		return scalar(token, quoted), nil
	}
	n := &yaml.Node{Kind: yaml.SequenceNode}
	if open == '{' {
		n.Kind = yaml.MappingNode
	}
	for dec.More() {
		child, err := readNode(dec, quoted)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, child)
	}
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	_, err = dec.Token() // the end of it
	return n, err
}

// survives says whether a text reads back as it is written; not every text does in
// every style.
func survives(n *yaml.Node) bool {
	out, err := encode(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{n}})
	if err != nil {
		return false
	}
	var back yaml.Node
	if err := yaml.Unmarshal(out, &back); err != nil || len(back.Content) != 1 || len(back.Content[0].Content) != 1 {
		return false
	}
	got := back.Content[0].Content[0]
	return got.Kind == yaml.ScalarNode && got.ShortTag() == "!!str" && got.Value == n.Value
}

// oldBool is text that older YAML readers take for true or false.
var oldBool = regexp.MustCompile(`^(?i:y|yes|n|no|on|off)$`)

func scalar(token json.Token, quoted bool) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode}
	switch v := token.(type) {
	case nil:
		n.Tag, n.Value = "!!null", "null"
	case bool:
		n.Tag, n.Value = "!!bool", fmt.Sprint(v)
	case json.Number:
		n.Tag, n.Value = "!!float", v.String()
		if !strings.ContainsAny(v.String(), ".eE") {
			n.Tag = "!!int"
		}
	case string:
		n.Tag, n.Value = "!!str", v
		switch {
		case quoted, oldBool.MatchString(v):
			n.Style = yaml.DoubleQuotedStyle
		case strings.Contains(v, "\n"):
			n.Style = yaml.LiteralStyle
		}
		if !survives(n) {
			n.Style = yaml.DoubleQuotedStyle
		}
	}
	return n
}
