package packtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/engine/tool"
	"github.com/agentclash/agentclash/pack"
)

// place is something that an agent is shown.
type place struct {
	where string
	text  []byte
	// alone says that nothing else stands here: then a short expectation is
	// recognized as well when it is all there is.
	alone bool
}

// minTelling is how many bytes a text must have to be found inside a longer one
// by more than chance.
const minTelling = 8

// gives says whether a text is to be read here.
func (p place) gives(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" {
		return false
	}
	return p.is(text) || len(text) >= minTelling && (bytes.Contains(p.text, []byte(text)) || p.holds(text))
}

// holds says whether a JSON document that stands here has, anywhere in it, the
// value that an expected JSON object or list is, however either is spaced and
// whatever the order of keys.
func (p place) holds(text string) bool {
	if text[0] != '{' && text[0] != '[' || len(p.text) > maxDocument {
		return false
	}
	var want, doc any
	if json.Unmarshal([]byte(text), &want) != nil {
		return false
	}
	for line := range bytes.Lines(p.text) { // of several values each is on its own line
		if json.Unmarshal(line, &doc) == nil && within(doc, want) {
			return true
		}
	}
	return json.Unmarshal(p.text, &doc) == nil && within(doc, want)
}

// maxDocument bounds the documents that are looked into, in bytes.
const maxDocument = 1 << 20

func within(doc, want any) bool {
	if reflect.DeepEqual(doc, want) {
		return true
	}
	switch doc := doc.(type) {
	case map[string]any:
		for _, v := range doc {
			if within(v, want) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(doc, func(v any) bool { return within(v, want) })
	}
	return false
}

// is says whether this is the text and nothing else.
func (p place) is(text string) bool {
	return p.alone && string(bytes.TrimSpace(p.text)) == strings.TrimSpace(text)
}

// shown lists what an agent on a case is shown.
func (s *subject) shown(c *testCase) []place {
	if s.pack.Asks() {
		challenge, _ := s.pack.Challenge(c.ChallengeKey)
		return []place{{where: "the prompt", text: []byte(c.Render(challenge.Prompt()))}}
	}
	view := s.pack.AgentView(c.Case)
	places := []place{
		{where: "the instructions", text: []byte(view.Challenge.Instructions)},
		{where: "the challenge's definition", text: valueText(view.Challenge.Definition)},
		{where: "the case's payload", text: valueText(view.Case.Payload)},
	}
	for _, in := range view.Case.Inputs {
		places = append(places, place{where: "the input " + quoted(in.Key), text: valueText(in.Value)})
	}
	for _, f := range s.pack.WorkspaceFiles(c.Case) {
		if !s.reads && !s.runs {
			break // nobody can look
		}
		places = append(places, place{where: "the workspace file " + quoted(f.Path), text: f.Data, alone: true})
	}
	if env := s.pack.Environment(); s.runs {
		for _, name := range sorted(env) {
			places = append(places, place{where: "the environment variable " + quoted(name), text: []byte(env[name]), alone: true})
		}
	}
	return places
}

// can says whether the pack's agents can read files, and run programs.
func can(p *pack.Pack) (reads, runs bool, err error) {
	policy, err := tool.ParsePolicy(p.Version.ToolPolicy, p.Tools)
	if err != nil {
		return false, false, err
	}
	set, err := tool.NewSet(policy, nil)
	if err != nil {
		return false, false, err
	}
	return set.Reaches("read_file", "search_text", "query_json", "query_sql"), set.Reaches("exec", "run_tests", "build"), nil
}

// valueText is a value as one text: every text in it, and the whole as JSON.
func valueText(v any) []byte {
	if v == nil {
		return nil
	}
	var b bytes.Buffer
	writeTexts(&b, v)
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // a decoded value always encodes
	return b.Bytes()
}

func writeTexts(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case string:
		b.WriteString(v)
		b.WriteByte('\n')
	case map[string]any:
		for _, k := range sorted(v) {
			writeTexts(b, v[k])
		}
	case []any:
		for _, item := range v {
			writeTexts(b, item)
		}
	}
}

// maxPeers is how many cases of a pack the others are compared with.
const maxPeers = 32

// telling returns which of the places shown give an expectation away. seen says
// that it is shown at all: beside what other cases expect, as in a list of labels to
// choose from, it tells an agent nothing.
func (s *subject) telling(shown []place, ref, text string) (places []string, seen bool) {
	for _, p := range shown {
		if !p.gives(text) {
			continue
		}
		seen = true
		if p.is(text) || !s.choice(ref, text, p) || s.answerKey(ref, p) {
			places = append(places, p.where)
		}
	}
	return places, seen
}

// minLabel is how many bytes another case's expectation must have to be taken
// for a label in a list.
const minLabel = 3

// choice says whether a place shows what other cases expect as well.
func (s *subject) choice(ref, text string, p place) bool {
	return slices.ContainsFunc(s.peers(), func(d *testCase) bool {
		other, ok := d.expected(ref)
		return ok && other != text && len(other) >= minLabel && bytes.Contains(p.text, []byte(other))
	})
}

// answerKey says whether a place holds what several cases expect beside their
// keys. A key that is itself the expected word proves nothing.
func (s *subject) answerKey(ref string, p place) bool {
	rows := map[string]bool{}
	for _, d := range s.peers() {
		text, ok := d.expected(ref)
		if ok && text != "" && !strings.Contains(d.Key(), text) && !strings.Contains(text, d.Key()) &&
			bytes.Contains(p.text, []byte(d.Key())) && bytes.Contains(p.text, []byte(text)) {
			rows[text] = true
		}
	}
	return len(rows) > 1
}

func (s *subject) peers() []*testCase { return s.cases[:min(len(s.cases), maxPeers)] }

// onlyForbidden says that all validators which read an expectation want it not
// to be there: then it gives nothing away.
func (s *subject) onlyForbidden(ref string) bool {
	read := false
	for _, v := range s.spec.Validators {
		if v.ExpectedFrom != ref {
			continue
		}
		if read = true; !forbids(v) {
			return false
		}
	}
	return read
}

// readable reports the expectations that an agent is shown.
func (s *subject) readable(r *Report) {
	for _, c := range s.cases {
		shown := s.shown(c)
		for _, e := range c.Expectations {
			ref := "case.expectations." + e.Key
			text, ok := c.expected(ref)
			if !ok || s.onlyForbidden(ref) {
				continue
			}
			places, _ := s.telling(shown, ref, text)
			if len(places) == 0 {
				continue
			}
			r.add(Finding{Severity: Warning, Code: CodeReadable, InputSet: c.set, Case: c.Key(),
				Message: fmt.Sprintf("the expectation %s is to be read in %s", quoted(e.Key), named(places))})
		}
	}
}
