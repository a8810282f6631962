package convert

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

// Patterns for tests that do not have an assertion that others have: one that
// every text matches and one that none does.
const (
	anyText = `(?s).*`
	noText  = `[^\x00-\x{10FFFF}]`
)

// slot is a validator or judge of the pack: what stands at the same place in each
// test.
type slot struct {
	kind   string
	negate bool
	checks []*check // by test; nil where a test has none
}

// writer puts a pack together.
type writer struct {
	o           PromptfooOptions
	description string
	prompts     []prompt
	tests       []oneTest
	models      []string
	slots       []slot
	limits      []check  // of cost and latency
	threshold   *float64 // of the weighted score; nil: everything must hold
}

// arrange finds the validators and judges that judge every test as its own
// assertions do. A pack has one contract for all cases; what only some tests ask
// for, and cannot be made to hold for the others, is listed and left out.
func (w *writer) arrange(r *reader) {
	w.threshold = w.sameThreshold(r)
	for _, kind := range []string{isPattern, isSchema, isRubric} {
		for _, negate := range []bool{false, true} {
			w.slots = append(w.slots, w.slotsOf(kind, negate)...)
		}
	}
	kept := w.slots[:0]
	for _, s := range w.slots {
		if why := w.refuse(s); why != "" {
			for _, c := range s.checks {
				if c != nil {
					r.lostCheck(c.node, c.path, why)
				}
			}
			continue
		}
		kept = append(kept, s)
	}
	w.slots = kept
	for _, kind := range []string{isCost, isLatency} {
		w.limit(kind, r)
	}
	r.assertions = len(r.asserted)
	for _, whole := range r.asserted {
		if whole {
			r.translated++
		}
	}
}

// slotsOf gives the checks of a kind their places: the first of each test is the
// first slot's, and so on.
func (w *writer) slotsOf(kind string, negate bool) []slot {
	var slots []slot
	for t := range w.tests {
		at := 0
		for i := range w.tests[t].checks {
			c := &w.tests[t].checks[i]
			if c.kind != kind || c.negate != negate || c.weight == 0 { // which never decides
				continue
			}
			if at == len(slots) {
				slots = append(slots, slot{kind: kind, negate: negate, checks: make([]*check, len(w.tests))})
			}
			slots[at].checks[t] = c
			at++
		}
	}
	return slots
}

func (s slot) everywhere() bool {
	for _, c := range s.checks {
		if c == nil {
			return false
		}
	}
	return true
}

// first is the first check of a slot.
func (s slot) first() *check {
	for _, c := range s.checks {
		if c != nil {
			return c
		}
	}
	return nil
}

// refuse says why a slot cannot be judged for every test.
func (w *writer) refuse(s slot) string {
	const some = "only some tests have it, and a pack's contract is for all its cases: put them into a config of their own"
	if s.kind == isPattern {
		return ""
	}
	if !s.everywhere() {
		return some
	}
	first := s.first()
	for _, c := range s.checks {
		if s.kind == isRubric && (c.model != first.model || (c.threshold == nil) != (first.threshold == nil) || c.threshold != nil && *c.threshold != *first.threshold) {
			return "tests have it with other thresholds or judges, and a pack's contract is for all its cases"
		}
	}
	return ""
}

// sameThreshold is the threshold of all tests, when it can be that of a pack:
// then all have the same assertions with the same weights.
func (w *writer) sameThreshold(r *reader) *float64 {
	var found *float64
	same := true
	for i, t := range w.tests {
		same = same && uniform(t, w.tests[0]) && (t.threshold == nil) == (w.tests[0].threshold == nil) &&
			(t.threshold == nil || *t.threshold == *w.tests[0].threshold)
		if t.threshold != nil && found == nil {
			found = w.tests[i].threshold
		}
	}
	if found == nil || same && *found >= 0 && *found <= 1 {
		return found
	}
	for _, t := range w.tests {
		if t.threshold != nil {
			r.lost(t.node, t.path, "its threshold is left out, so that all its assertions must hold: a pack has one threshold, for tests with the same assertions and weights")
		}
	}
	return nil
}

// uniform tells whether two tests have the same assertions but for their values,
// and such that a weighted mean is the same on both sides.
func uniform(a, b oneTest) bool {
	if len(a.checks) != len(b.checks) {
		return false
	}
	for i, c := range a.checks {
		d := b.checks[i]
		if c.kind != d.kind || c.negate != d.negate || c.weight != d.weight || c.split || d.split || c.kind != isPattern && c.kind != isSchema {
			return false
		}
	}
	return true
}

// limit makes a dimension of the cost or latency that all tests bound alike.
func (w *writer) limit(kind string, r *reader) {
	var found []check
	for _, t := range w.tests {
		var own []check
		for _, c := range t.checks {
			if c.kind == kind && c.weight > 0 {
				own = append(own, c)
			}
		}
		found = append(found, own...)
	}
	if len(found) == 0 {
		return
	}
	same := len(found) == len(w.tests)
	for _, c := range found {
		same = same && c.limit == found[0].limit
	}
	if same {
		w.limits = append(w.limits, found[0])
		return
	}
	for _, c := range found {
		r.lostCheck(c.node, c.path, "a pack bounds "+kind+" once, for all its cases, and the tests do not all have the same limit")
	}
}

// source is the pack's file.
func (w *writer) source() ([]byte, error) {
	if len(w.slots) == 0 {
		return nil, errors.New("it has no assertion of a text, JSON or rubric that can be translated, and a pack needs one")
	}
	mode := scoring.Deterministic
	if w.judges() {
		mode = scoring.Hybrid
	}
	spec := mapping("name", textNode(w.o.Slug+"-v1"), "version_number", valueNode(1), "judge_mode", textNode(mode))
	validators, judges := w.checksNodes()
	if len(validators) == 0 {
		return nil, errors.New("it has no assertion of a text or JSON that can be translated, and a pack needs one beside its judges")
	}
	spec.Content = append(spec.Content, textNode("validators"), sequence(validators))
	if len(judges) > 0 {
		spec.Content = append(spec.Content, textNode("llm_judges"), sequence(judges))
	}
	spec.Content = append(spec.Content, textNode("scorecard"), w.scorecard())
	meta := mapping("slug", textNode(w.o.Slug), "name", textNode(w.o.Name), "family", textNode(w.o.Slug))
	if w.description != "" {
		meta.Content = append(meta.Content, textNode("description"), textNode(w.description))
	}
	var challenges, sets []*yaml.Node
	for i, p := range w.prompts {
		key := "prompt-" + strconv.Itoa(i+1)
		title := "Prompt " + strconv.Itoa(i+1)
		if p.label != "" {
			title = p.label
		}
		challenges = append(challenges, mapping("key", textNode(key), "title", textNode(title), "category", textNode("general"),
			"difficulty", textNode("medium"), "instructions", textNode(p.text)))
		sets = append(sets, mapping("key", textNode(key), "name", textNode(title), "cases", sequence(w.cases(key, p))))
	}
	root := mapping("pack", meta, "version", mapping("number", valueNode(1), "execution_mode", textNode(pack.PromptEval), "evaluation_spec", spec),
		"challenges", sequence(challenges), "input_sets", sequence(sets))
	root.HeadComment = "# Made from a promptfoo config. Its providers are agents to run this on."
	for _, m := range w.models {
		root.HeadComment += "\n#   --model " + clip(m)
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(root), enc.Close()); err != nil {
		return nil, fmt.Errorf("write the pack: %w", err)
	}
	return b.Bytes(), nil
}

func (w *writer) judges() bool {
	for _, s := range w.slots {
		if s.kind == isRubric {
			return true
		}
	}
	return false
}

// key is the name of a slot's validator or judge, and of the expectation it reads.
func (w *writer) key(i int) string { return w.slots[i].kind + "_" + strconv.Itoa(i+1) }

// native is the validator type of a slot of texts: that of its assertions when
// every test has one of the same, else regex_match.
func (s slot) native() string {
	if !s.everywhere() {
		return scoring.RegexMatch
	}
	for _, c := range s.checks {
		if c.native != s.checks[0].native {
			return scoring.RegexMatch
		}
	}
	return s.checks[0].native
}

func (w *writer) checksNodes() (validators, judges []*yaml.Node) {
	for i, s := range w.slots {
		key, from := w.key(i), "case.expectations."+w.key(i)
		if s.kind == isRubric {
			judges = append(judges, s.judge(key, from))
			continue
		}
		typ := scoring.JSONSchema
		if s.kind == isPattern {
			typ = s.native()
		}
		v := mapping("key", textNode(key), "type", textNode(typ), "target", textNode("final_output"), "expected_from", textNode(from))
		if s.negate {
			v.Content = append(v.Content, textNode("negate"), valueNode(true))
		}
		validators = append(validators, v)
	}
	return validators, judges
}

func (s slot) judge(key, from string) *yaml.Node {
	c := s.first()
	evidence := sequence([]*yaml.Node{textNode(from), textNode("challenge_input"), textNode("final_output")})
	const met = "The final output meets the requirement that is given in "
	n := mapping("key", textNode(key), "mode", textNode("assertion"), "model", textNode(c.model), "samples", valueNode(1), "context_from", evidence)
	if c.threshold == nil {
		n.Content = append(n.Content, textNode("assertion"), textNode(met+from+"."))
		if s.negate {
			n.Content = append(n.Content, textNode("expect"), valueNode(false))
		}
		return n
	}
	n.Content[3] = textNode("rubric")
	n.Content = append(n.Content, textNode("rubric"), textNode("How far the final output meets the requirement that is given in "+from+": 1 entirely, 0 not at all."),
		textNode("score_scale"), mapping("min", valueNode(0), "max", valueNode(1)))
	return n
}

// scorecard is the contract's verdict: everything must hold, or the weighted mean
// must reach the threshold.
func (w *writer) scorecard() *yaml.Node {
	var dimensions, all []*yaml.Node
	for i, s := range w.slots {
		switch {
		case s.kind == isRubric:
			threshold := 1.0
			if t := s.first().threshold; t != nil {
				threshold = *t
			}
			dimensions = append(dimensions, mapping("key", textNode(w.key(i)), "source", textNode("llm_judge"), "judge_key", textNode(w.key(i)), "pass_threshold", valueNode(threshold)))
		case w.threshold != nil:
			dimensions = append(dimensions, mapping("key", textNode(w.key(i)), "source", textNode("validators"),
				"validators", sequence([]*yaml.Node{textNode(w.key(i))}), "weight", valueNode(s.first().weight)))
		default:
			all = append(all, textNode(w.key(i)))
		}
	}
	if len(all) > 0 {
		dimensions = append([]*yaml.Node{mapping("key", textNode("correctness"), "source", textNode("validators"),
			"validators", sequence(all), "pass_threshold", valueNode(1))}, dimensions...)
	}
	for _, c := range w.limits {
		dimensions = append(dimensions, mapping("key", textNode(c.kind), "source", textNode(c.kind), "better_direction", textNode("lower"),
			"normalization", mapping("target", valueNode(c.limit), "max", valueNode(2*c.limit)), "pass_threshold", valueNode(1)))
	}
	if w.threshold != nil {
		return mapping("strategy", textNode("weighted"), "pass_threshold", valueNode(*w.threshold), "dimensions", sequence(dimensions))
	}
	return mapping("strategy", textNode("binary"), "dimensions", sequence(dimensions))
}
