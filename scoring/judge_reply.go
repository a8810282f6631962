package scoring

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/scoring/jsondoc"
)

// Bounds of a judge's reply.
const (
	maxJudgeReply = 256 << 10 // bytes that are read
	maxReasoning  = 600       // bytes that are kept of what a judge says
	maxCandidates = 256
)

// verdict is a reply that was read: the object it holds, and the ranking's
// candidates.
type verdict struct {
	object map[string]any
	reply  JudgeReply
}

// errUnable is a judge that says it cannot judge.
var errUnable = errors.New("the judge says that it cannot judge")

// call reads one reply. What is not there is not guessed: a reply without the
// field that its mode needs is a failed sample.
func (j *judge) call(r JudgeReply) JudgeCall {
	c := JudgeCall{Model: r.Model, Sample: r.Sample}
	if r.Source.Sequence > 0 {
		c.Source = new(r.Source)
	}
	switch r.Status {
	case JudgeAnswered:
	case JudgeUnable:
		c.Unable, c.Error = true, clipTo(r.Reason, maxReason)
		return c
	case JudgeAlone:
		c.Score, c.Reasoning = new(1.0), clipTo(r.Reason, maxReasoning)
		return c
	default:
		c.Error = clipTo("the judge could not be asked: "+r.Reason, maxReason)
		return c
	}
	object, err := replyObject(r.Text)
	if err != nil {
		c.Error = err.Error()
		return c
	}
	c.Reasoning, c.Confidence = clipTo(textOf(object["reasoning"]), maxReasoning), confidenceOf(object["confidence"])
	score, err := j.scoreOf(verdict{object, r})
	switch {
	case errors.Is(err, errUnable):
		c.Unable, c.Error = true, err.Error()
	case err != nil:
		c.Error = clipTo(err.Error(), maxReason)
	default:
		c.Score = &score
	}
	return c
}

// scoreOf is the score, 0 to 1, that a reply gives.
func (j *judge) scoreOf(v verdict) (float64, error) {
	switch unable := v.object["unable_to_judge"].(type) {
	case nil:
	case bool:
		if unable {
			return 0, errUnable
		}
	default:
		return 0, lacks(v.object, "unable_to_judge", "true or false")
	}
	if err := j.keepsSchema(v.object); err != nil {
		return 0, err
	}
	return j.mode.read(j, v)
}

func (j *judge) keepsSchema(object map[string]any) error {
	if j.schema == nil {
		return nil
	}
	b, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("the reply cannot be checked against output_schema: %w", err)
	}
	if f := validate(j.schema, string(b)); !f.pass {
		return fmt.Errorf("the reply does not keep output_schema: %s", f.reason)
	}
	return nil
}

// replyObject is the JSON object in a reply: the whole of it, without a code
// fence around it, else what stands between the first { and the last }.
func replyObject(text string) (map[string]any, error) {
	if len(text) > maxJudgeReply {
		return nil, fmt.Errorf("the reply has %d bytes; at most %d are read", len(text), maxJudgeReply)
	}
	text = unfenced(strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")))
	if v, err := jsondoc.Parse(text); err == nil {
		if object, ok := v.(map[string]any); ok {
			return object, nil
		}
		return nil, errors.New("the reply is JSON, and no object")
	}
	start, end := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if start < 0 || end < start {
		return nil, errors.New("the reply holds no JSON object")
	}
	v, err := jsondoc.Parse(text[start : end+1])
	if err != nil {
		return nil, errors.New("the reply is not one JSON object: " + clipTo(err.Error(), maxReason))
	}
	return v.(map[string]any), nil // it begins with a brace
}

func unfenced(text string) string {
	inner, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	if len(inner) >= 4 && strings.EqualFold(inner[:4], "json") {
		inner = inner[4:]
	}
	if end := strings.LastIndex(inner, "```"); end >= 0 {
		inner = inner[:end]
	}
	return strings.TrimSpace(inner)
}

func textOf(v any) string {
	s, _ := v.(string)
	return strings.TrimSpace(s)
}

func confidenceOf(v any) string {
	s := strings.ToLower(textOf(v))
	if slices.Contains([]string{confidenceLow, confidenceMedium, confidenceHigh}, s) {
		return s
	}
	return ""
}

// readScore maps a score onto 0 to 1. One off the scale counts as the end of
// it that it lies beyond.
func (j *judge) readScore(v verdict) (float64, error) {
	n, ok := v.object["score"].(json.Number)
	if !ok {
		return 0, lacks(v.object, "score", "a number")
	}
	score, err := n.Float64()
	if err != nil || !finite(score) {
		return 0, fmt.Errorf("the score %s is out of range", quoted(n.String()))
	}
	s := j.scale()
	return higherIsBetter(score, s.Max, s.Min), nil
}

// readPass takes a verdict in words over pass, and turns both around where
// the statement is expected to be false.
func (j *judge) readPass(v verdict) (float64, error) {
	pass, ok := v.object["pass"].(bool)
	if word, given := v.object["verdict"]; given {
		if pass, ok = passWord(textOf(word)); !ok {
			return 0, fmt.Errorf("the verdict %s is neither pass nor fail", quoted(textOf(word)))
		}
	}
	switch {
	case !ok:
		return 0, lacks(v.object, "pass", "true or false")
	case pass == (j.Expect == nil || *j.Expect):
		return 1, nil
	}
	return 0, nil
}

func passWord(s string) (pass, ok bool) {
	switch strings.ToLower(s) {
	case "pass", "true", "yes":
		return true, true
	case "fail", "false", "no":
		return false, true
	}
	return false, false
}

// readRanking is the trial's own part of a ranking: 1 for the best of them, 0
// for the worst, in even steps between (Borda count).
func (j *judge) readRanking(v verdict) (float64, error) {
	list, ok := v.object["ranking"].([]any)
	if !ok {
		if list, ok = v.object["ranked_ids"].([]any); !ok {
			return 0, lacks(v.object, "ranking", "a list of all candidates")
		}
	}
	n := len(v.reply.Candidates)
	if n > maxCandidates {
		return 0, fmt.Errorf("%d candidates; at most %d are ranked", n, maxCandidates)
	}
	names, at, seen := candidateNames(n), -1, make([]bool, n)
	position := 0
	for _, item := range list {
		name := textOf(item)
		if name == "" {
			continue
		}
		i := slices.Index(names, name)
		switch {
		case i < 0:
			return 0, fmt.Errorf("the ranking names %s, which is no candidate", quoted(name))
		case seen[i]:
			return 0, fmt.Errorf("the ranking names %s twice", quoted(name))
		case i == v.reply.Own:
			at = position
		}
		seen[i] = true
		position++
	}
	switch {
	case position < n:
		return 0, fmt.Errorf("the ranking names %d of %d candidates", position, n)
	case at < 0:
		return 0, errors.New("the ranking is of other candidates")
	case n == 1:
		return 1, nil
	}
	return float64(n-1-at) / float64(n-1), nil
}

func lacks(object map[string]any, field, what string) error {
	if v, ok := object[field]; ok && v != nil {
		return fmt.Errorf("the reply's %s is not %s", field, what)
	}
	return fmt.Errorf("the reply has no %s, which must be %s", field, what)
}
