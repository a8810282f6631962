package convert

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/scoring"
)

// What an assertion becomes.
const (
	isPattern = "pattern" // a validator of a text
	isSchema  = "schema"  // a json_schema validator
	isRubric  = "rubric"  // a judge
	isCost    = "cost"    // a dimension with a limit
	isLatency = "latency"
)

// check is an assertion in the words of packs.
type check struct {
	node   *yaml.Node
	path   string
	kind   string
	negate bool
	weight float64
	// native and expected are a validator of a text, pattern the same as a regular
	// expression: what tests without the assertion need something in the place of.
	native, expected, pattern string
	schema                    any
	model                     string
	threshold                 *float64 // of a rubric: nil for yes or no
	limit                     float64  // in dollars or milliseconds
	split                     bool     // one of several that are one assertion
}

// check translates one assertion for a test with these variables. What has no
// counterpart is listed.
func (r *reader) check(n *yaml.Node, at string, vars map[string]any, judge string) []check {
	if textAt(n, "type") == "assert-set" {
		return r.checkSet(n, at, vars, judge)
	}
	if r.asserted == nil {
		r.asserted = map[*yaml.Node]bool{}
	}
	if _, again := r.asserted[n]; !again {
		r.asserted[n] = true
	}
	list, why := r.translate(n, vars, judge)
	if why != "" {
		r.lostCheck(n, at, why)
		return nil
	}
	for i := range list {
		list[i].node, list[i].path = n, at
	}
	return list
}

// lostCheck lists an assertion that is not translated, or not for every test.
func (r *reader) lostCheck(n *yaml.Node, at, why string) {
	r.asserted[n] = false
	r.lost(n, at, "%s", why)
}

// checkSet translates a set whose assertions must all hold.
func (r *reader) checkSet(n *yaml.Node, at string, vars map[string]any, judge string) []check {
	if lookup(n, "threshold") != nil || lookup(n, "weight") != nil {
		r.lost(n, at, "a set with a threshold or a weight of its own has no counterpart")
		return nil
	}
	var list []check
	for i, item := range itemsOf(lookup(n, "assert")) {
		if textAt(item, "type") == "assert-set" {
			r.lost(item, fmt.Sprintf("%s.assert[%d]", at, i), "a set within a set has no counterpart")
			continue
		}
		list = append(list, r.check(item, fmt.Sprintf("%s.assert[%d]", at, i), vars, judge)...)
	}
	return list
}

func (r *reader) translate(n *yaml.Node, vars map[string]any, judge string) ([]check, string) {
	typ, negated := strings.CutPrefix(textAt(n, "type"), "not-")
	c := check{negate: negated, weight: 1}
	for _, f := range fieldsOf(n) {
		switch f.key.Value {
		case "type", "value", "metric", "threshold", "provider":
		case "weight":
			w := numberOf(f.value)
			if w == nil || *w < 0 {
				return nil, "its weight is no number"
			}
			c.weight = *w
		default:
			return nil, clip(f.key.Value) + " of an assertion has no counterpart"
		}
	}
	value := lookup(n, "value")
	switch typ {
	case "equals", "contains", "icontains", "starts-with", "regex", "contains-any", "icontains-any", "contains-all", "icontains-all", "levenshtein":
		return textChecks(c, typ, value, numberOf(lookup(n, "threshold")), vars)
	case "is-json":
		return schemaCheck(c, value)
	case "llm-rubric", "g-eval":
		if provider := judgeProvider(n); provider != "" {
			judge = provider
		} else if lookup(n, "provider") != nil {
			return nil, "the judge's provider has no counterpart"
		}
		return rubricCheck(c, typ, value, numberOf(lookup(n, "threshold")), judge, vars)
	case "cost", "latency":
		t := numberOf(lookup(n, "threshold"))
		if t == nil || *t <= 0 || negated {
			return nil, typ + " needs a threshold above 0, and cannot be turned round"
		}
		c.kind, c.limit = typ, *t
		return []check{c}, ""
	}
	return nil, whyNot(typ)
}

// whyNot says why a type of assertion is not translated.
func whyNot(typ string) string {
	switch typ {
	case "javascript", "python", "ruby", "webhook":
		return typ + " runs code of yours: a native pack can run it as a test (code_execution)"
	case "contains-json":
		return "contains-json looks for JSON within other text: json_schema reads the whole text, so ask for JSON alone"
	case "similar":
		return "similar compares embeddings: token_f1, rouge_score or a judge with a reference come near, and are not the same"
	case "rouge-n", "bleu", "meteor", "gleu":
		return typ + " is computed otherwise here: choose a threshold for rouge_score, bleu_score or chrf_score anew"
	case "":
		return "it has no type"
	}
	return "the type " + strconv.Quote(clip(typ)) + " has no counterpart"
}

func textChecks(c check, typ string, value *yaml.Node, threshold *float64, vars map[string]any) ([]check, string) {
	c.kind = isPattern
	if typ == "levenshtein" && (threshold == nil || *threshold != 0) {
		return nil, "levenshtein bounds the number of edits, fuzzy_match their share of the text: choose a threshold for it anew"
	}
	if value == nil {
		return nil, "it has no value"
	}
	if value.Kind == yaml.MappingNode || value.Kind == yaml.SequenceNode && (typ == "equals" || typ == "levenshtein") {
		if typ != "equals" || c.negate {
			return nil, "a value that is no text has no counterpart"
		}
		return constCheck(c, value)
	}
	texts, why := valueTexts(typ, value, vars)
	if why != "" {
		return nil, why
	}
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = regexp.QuoteMeta(text)
	}
	fold := ""
	if strings.HasPrefix(typ, "i") {
		fold = "(?i)"
	}
	only := texts[0]
	switch typ {
	case "equals", "levenshtein":
		c.native, c.expected, c.pattern = scoring.ExactMatch, only, `\A`+quoted[0]+`\z`
	case "contains":
		c.native, c.expected, c.pattern = scoring.Contains, only, quoted[0]
	case "starts-with":
		c.native, c.pattern = scoring.RegexMatch, `\A`+quoted[0]
	case "regex":
		pattern, why := fromJavaScript(only)
		if why != "" {
			return nil, why
		}
		c.native, c.pattern = scoring.RegexMatch, pattern
	case "icontains":
		c.native, c.pattern = scoring.RegexMatch, fold+quoted[0]
	case "contains-any", "icontains-any":
		c.native, c.pattern = scoring.RegexMatch, fold+"(?:"+strings.Join(quoted, "|")+")"
	default: // all of them
		return allOf(c, quoted, fold)
	}
	if c.native == scoring.RegexMatch {
		c.expected = c.pattern
	}
	if c.expected == "" {
		return nil, "its value is empty"
	}
	return []check{c}, ""
}

// allOf is a check for each of several texts.
func allOf(c check, quoted []string, fold string) ([]check, string) {
	if c.negate && len(quoted) > 1 {
		return nil, "not all of several texts has no counterpart"
	}
	var list []check
	for _, q := range quoted {
		c.native, c.pattern, c.expected = scoring.RegexMatch, fold+q, fold+q
		c.split = len(quoted) > 1
		list = append(list, c)
	}
	return list, ""
}

// valueTexts are the texts of a value, with variables filled in.
func valueTexts(typ string, value *yaml.Node, vars map[string]any) (texts []string, why string) {
	nodes := []*yaml.Node{value}
	several := strings.HasSuffix(typ, "-any") || strings.HasSuffix(typ, "-all")
	switch {
	case value.Kind == yaml.SequenceNode && !several:
		return nil, "a list is no text"
	case value.Kind == yaml.SequenceNode:
		nodes = itemsOf(value)
	case several && strings.ContainsAny(value.Value, `"'`):
		return nil, "write its texts as a list"
	case several:
		nodes = nil
		for part := range strings.SplitSeq(value.Value, ",") {
			nodes = append(nodes, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: strings.TrimSpace(part)})
		}
	}
	for _, n := range nodes {
		text, why := filled(n, vars)
		switch {
		case why != "":
			return nil, why
		case text == "" && typ != "equals":
			return nil, "an empty text is in every text"
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return nil, "it has no value"
	}
	return texts, ""
}

// filled is a value as text, with variables filled in.
func filled(n *yaml.Node, vars map[string]any) (text, why string) {
	if n.Kind != yaml.ScalarNode {
		return "", "a value that is no text has no counterpart"
	}
	v, err := plainValue(n)
	if err != nil {
		return "", err.Error()
	}
	text = fmt.Sprint(v)
	switch {
	case strings.HasPrefix(text, "file://"):
		return "", "a value in a file is not read"
	case !plainTemplate(text):
		return "", "its template does more than fill in {{variables}}"
	}
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		if why := fillable(m[0], vars); why != "" {
			return "", why
		}
	}
	return placeholder.ReplaceAllStringFunc(text, func(hole string) string { return fmt.Sprint(inVars(hole, vars)) }), ""
}

// inVars is what stands for a placeholder: nothing for a variable that is not there.
func inVars(hole string, vars map[string]any) any {
	var v any = vars
	for name := range strings.SplitSeq(strings.Trim(hole, "{} \t\n"), ".") {
		object, _ := v.(map[string]any)
		if v = object[name]; v == nil {
			return ""
		}
	}
	return v
}

// fillable says why a placeholder cannot be filled on both sides alike.
func fillable(hole string, vars map[string]any) string {
	switch inVars(hole, vars).(type) {
	case map[string]any, []any:
		return clip(hole) + " is an object or a list, which is written differently"
	}
	return ""
}

// schemaCheck is a text that is JSON, by a schema if there is one.
func schemaCheck(c check, value *yaml.Node) ([]check, string) {
	c.kind = isSchema
	if c.negate {
		return nil, "a text that is no JSON cannot be read here, and so never passes"
	}
	if value == nil {
		c.schema = true
		return []check{c}, ""
	}
	if value.Kind == yaml.ScalarNode {
		var inner yaml.Node
		if strings.HasPrefix(value.Value, "file://") {
			return nil, "a schema in a file is not read: write it out"
		}
		if braces.MatchString(value.Value) || yaml.Unmarshal([]byte(value.Value), &inner) != nil || len(inner.Content) != 1 {
			return nil, "the schema cannot be read"
		}
		value = inner.Content[0]
	}
	var v any
	if err := value.Decode(&v); err != nil {
		return nil, "the schema cannot be read"
	}
	raw, err := json.Marshal(v)
	schema, isObject := parsed(string(raw)).(map[string]any)
	switch {
	case err != nil || !isObject:
		return nil, "the schema is no object"
	case hasKey(schema, "format"):
		return nil, "format is checked there and a remark here: write a pattern"
	case hasKey(schema, "$ref") && strings.Contains(string(raw), "://"):
		return nil, "a schema that refers to another document is not read"
	case braces.Match(raw):
		return nil, "a schema with variables has no counterpart"
	}
	if _, named := schema["$schema"]; !named {
		schema["$schema"] = "http://json-schema.org/draft-07/schema#" // which is meant there when none is named
	}
	c.schema = number(schema)
	return []check{c}, ""
}

func hasKey(v any, key string) bool {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v[key]; ok {
			return true
		}
		for _, inner := range v {
			if hasKey(inner, key) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(inner any) bool { return hasKey(inner, key) })
	}
	return false
}

// constCheck is a text that is JSON and equals a value.
func constCheck(c check, value *yaml.Node) ([]check, string) {
	var v any
	if err := value.Decode(&v); err != nil {
		return nil, "the value cannot be read"
	}
	raw, err := json.Marshal(v)
	if err != nil || braces.Match(raw) {
		return nil, "the value cannot be compared"
	}
	c.kind = isSchema
	c.schema = map[string]any{"const": number(parsed(string(raw)))}
	return []check{c}, ""
}

func rubricCheck(c check, typ string, value *yaml.Node, threshold *float64, judge string, vars map[string]any) ([]check, string) {
	c.kind, c.model, c.threshold = isRubric, judge, threshold
	switch {
	case judge == "":
		return nil, "no model is named that judges: --judge-model PROVIDER/MODEL"
	case value == nil || value.Kind != yaml.ScalarNode:
		return nil, "a rubric that is no text has no counterpart"
	case typ == "g-eval" && threshold == nil:
		c.threshold = new(0.7) // what it is there
	}
	if c.negate && c.threshold != nil {
		return nil, "a rubric with a threshold cannot be turned round"
	}
	if t := c.threshold; t != nil && (*t < 0 || *t > 1) {
		return nil, "its threshold is not between 0 and 1"
	}
	var why string
	c.expected, why = filled(value, vars)
	if why == "" && strings.TrimSpace(c.expected) == "" {
		why = "its rubric is empty"
	}
	return []check{c}, why
}
