package event

import (
	"bytes"
	"encoding/json"

	"github.com/agentclash/agentclash/scoring"
)

// graded reads what the engine's own verification states; there a member of
// the wrong kind is damage.
func graded[T any](e Event) (T, error) {
	var none T
	if raw := bytes.TrimSpace(e.Payload); len(raw) > 0 && raw[0] != '{' && json.Valid(raw) {
		return none, nil
	}
	return Decode[T](e)
}

func (f *Fold) file(e Event) error {
	c, err := graded[scoring.CapturedFile](e)
	if err != nil || c.Key == "" {
		return err
	}
	f.ev.Files[c.Key] = c
	f.captured(c.Key, e)
	return nil
}

// directory: a listing that does not say whether there was anything to list is
// taken as one.
func (f *Fold) directory(e Event) error {
	c, err := graded[struct {
		scoring.CapturedDirectory
		Exists *bool `json:"exists"`
	}](e)
	if err != nil || c.Key == "" {
		return err
	}
	c.CapturedDirectory.Exists = c.Exists == nil || *c.Exists
	f.ev.Directories[c.Key] = c.CapturedDirectory
	f.captured(c.Key, e)
	return nil
}

func (f *Fold) captured(key string, e Event) {
	f.source(scoring.AtFile(key), scoring.KindToolCall, e, scoring.AtFile(key))
}

func (f *Fold) code(e Event) error {
	c, err := graded[scoring.CodeRun](e)
	if err != nil || c.ValidatorKey == "" {
		return err
	}
	f.ev.CodeRuns[c.ValidatorKey] = c
	f.source(scoring.AtCode(c.ValidatorKey), scoring.KindToolCall, e, c.Target)
	return nil
}

// judged takes a judge's reply as it came; scoring makes sense of it.
func (f *Fold) judged(e Event) error {
	r, err := graded[JudgeReply](e)
	if err != nil || r.JudgeKey == "" {
		return err
	}
	reply := r.Evidence()
	reply.Source = scoring.Source{Kind: scoring.KindRunEvent, Sequence: e.Sequence, EventType: string(e.Type), FieldPath: "response_text"}
	f.ev.JudgeReplies = append(f.ev.JudgeReplies, reply)
	return nil
}

// Evidence is the reply as scoring reads it, without its place in the log.
func (r JudgeReply) Evidence() scoring.JudgeReply {
	reply := scoring.JudgeReply{
		JudgeKey: r.JudgeKey, Model: r.JudgeModel, Sample: r.SampleIndex, QuestionID: r.QuestionID, Status: r.Status,
		Text: r.ResponseText, Code: r.Code, Reason: r.Reason, Candidates: r.Candidates, Late: r.Late, Own: -1,
	}
	if r.OwnPlace != nil {
		reply.Own = *r.OwnPlace
	}
	return reply
}
