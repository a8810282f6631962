package proxy

import (
	"encoding/json"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
)

const (
	maxReplyText = 4 << 20 // bytes of a reply that are kept for the record
	maxTokens    = 1 << 40 // the most that one call can be believed to have used
	maxCalls     = 256     // tool calls of one reply
)

// reply gathers what a model said from the pieces of its stream, or from the one
// piece that is the whole. It only listens: a piece that it cannot read is the
// program's to complain about.
type reply struct {
	model  string
	text   strings.Builder
	calls  []*partial
	finish string
	use    provider.Usage
	used   bool // use was said
	whole  bool // the reply has ended as its format has it
	fail   []byte
}

// partial is a tool call whose pieces are still coming.
type partial struct {
	key, id, name string
	arguments     strings.Builder
}

// piece is what one piece brought that is worth showing at once.
func (r *reply) piece(to endpoint, data []byte) (d provider.Delta) {
	if provider.ErrorIn(data) {
		r.fail = data
		return d
	}
	before, calls := r.text.Len(), len(r.calls)
	switch to {
	case chat:
		r.chat(data)
	case responses:
		r.responses(data)
	case messages:
		r.anthropic(data)
	case generate:
		r.gemini(data)
	}
	if r.text.Len() > before {
		d.Text = r.text.String()[before:]
	}
	if len(r.calls) > calls {
		d.ToolName = r.calls[calls].name
	}
	return d
}

func (r *reply) say(s string) {
	if r.text.Len()+len(s) <= maxReplyText {
		r.text.WriteString(strings.ToValidUTF8(s, "\uFFFD"))
	}
}

// call finds the tool call that a piece belongs to, by what its format tells them
// apart by.
func (r *reply) call(key string) *partial {
	for _, c := range r.calls {
		if c.key == key {
			return c
		}
	}
	c := &partial{key: key}
	if len(r.calls) < maxCalls {
		r.calls = append(r.calls, c)
	}
	return c
}

func (p *partial) add(id, name, arguments string) {
	if p.id == "" {
		p.id = provider.Excerpt(id, maxName)
	}
	if p.name == "" {
		p.name = provider.Excerpt(name, maxName)
	}
	if p.arguments.Len()+len(arguments) <= maxReplyText {
		p.arguments.WriteString(arguments)
	}
}

// response is the whole of it.
func (r *reply) response() provider.Response {
	res := provider.Response{Model: provider.Excerpt(r.model, maxName), Text: r.text.String(), Finish: ended(r.finish, len(r.calls) > 0)}
	for _, c := range r.calls {
		res.ToolCalls = append(res.ToolCalls, provider.ToolCall{ID: c.id, Name: c.name, Arguments: provider.RawArguments(c.arguments.String())})
	}
	if r.used {
		res.Usage = believed(r.use)
	}
	return res
}

// believed is a usage whose numbers fit together; one with impossible counts is
// none.
func believed(u provider.Usage) *provider.Usage {
	for _, n := range [...]int64{u.Input, u.Output, u.Total, u.CacheRead, u.CacheWrite, u.Reasoning} {
		if n < 0 || n > maxTokens {
			return nil
		}
	}
	// some servers count reasoning beside the output
	if u.Reasoning > u.Output || u.Reasoning > 0 && u.Total == u.Input+u.Output+u.Reasoning {
		u.Output += u.Reasoning
	}
	u.CacheRead = min(u.CacheRead, u.Input)
	u.CacheWrite = min(u.CacheWrite, u.Input-u.CacheRead)
	u.Total = max(u.Total, u.Input+u.Output)
	return &u
}

type chatCall struct {
	Index    json.Number `json:"index"`
	ID       string      `json:"id"`
	Function struct{ Name, Arguments string }
}

type chatMessage struct {
	Content   json.RawMessage `json:"content"`
	Refusal   string          `json:"refusal"`
	ToolCalls []chatCall      `json:"tool_calls"`
}

func (r *reply) chat(data []byte) {
	var c struct {
		Model   string `json:"model"`
		Choices []struct {
			Finish  string      `json:"finish_reason"`
			Delta   chatMessage `json:"delta"`
			Message chatMessage `json:"message"`
		} `json:"choices"`
		Usage *struct {
			Input  int64 `json:"prompt_tokens"`
			Output int64 `json:"completion_tokens"`
			Total  int64 `json:"total_tokens"`
			In     struct {
				Cached  int64 `json:"cached_tokens"`
				Written int64 `json:"cache_write_tokens"`
			} `json:"prompt_tokens_details"`
			Out struct {
				Reasoning int64 `json:"reasoning_tokens"`
			} `json:"completion_tokens_details"`
		} `json:"usage"`
	}
	if json.Unmarshal(data, &c) != nil {
		return
	}
	r.named(c.Model)
	if u := c.Usage; u != nil {
		r.used = true
		r.use = provider.Usage{Input: u.Input, Output: u.Output, Total: u.Total, CacheRead: u.In.Cached, CacheWrite: u.In.Written, Reasoning: u.Out.Reasoning}
	}
	for _, ch := range c.Choices {
		for i, m := range []chatMessage{ch.Delta, ch.Message} {
			r.say(text(m.Content) + m.Refusal)
			for j, t := range m.ToolCalls {
				key := t.Index.String()
				if i == 1 || key == "" {
					key = string(rune('0' + j)) // a whole message does not number them
				}
				r.call(key).add(t.ID, t.Function.Name, t.Function.Arguments)
			}
		}
		if ch.Finish != "" {
			r.finish, r.whole = ch.Finish, true
		}
	}
}

func (r *reply) named(model string) {
	if r.model == "" {
		r.model = model
	}
}

type responseItem struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Input     string `json:"input"`
	Content   []part `json:"content"`
}

type responseDoc struct {
	Model      string          `json:"model"`
	Status     string          `json:"status"`
	Error      json.RawMessage `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Output []responseItem `json:"output"`
	Usage  *struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
		Total  int64 `json:"total_tokens"`
		In     struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"input_tokens_details"`
		Out struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
}

// responses reads a whole response, or an event of its stream. The last event
// holds the whole again, so that of the others the texts alone are looked at.
func (r *reply) responses(data []byte) {
	var e struct {
		Type     string       `json:"type"`
		Delta    string       `json:"delta"`
		Response *responseDoc `json:"response"`
		responseDoc
	}
	if json.Unmarshal(data, &e) != nil {
		return
	}
	switch e.Type {
	case "":
		r.responseDone(e.responseDoc)
	case "response.output_text.delta", "response.refusal.delta":
		r.say(e.Delta)
	case "response.completed", "response.incomplete", "response.failed":
		if e.Response != nil {
			r.responseDone(*e.Response)
		}
	case "error":
		r.fail = data
	}
}

func (r *reply) responseDone(d responseDoc) {
	r.named(d.Model)
	if d.Status == "failed" {
		r.fail = append(append([]byte(`{"error":`), d.Error...), '}')
		return
	}
	r.whole, r.finish = d.Status == "completed" || d.Status == "incomplete", d.Status
	if d.Status == "incomplete" {
		r.finish = d.Incomplete.Reason
	}
	said := r.text.Len() > 0
	for _, it := range d.Output {
		if strings.HasSuffix(it.Type, "_call") {
			id := it.CallID
			if id == "" {
				id = it.ID
			}
			r.call(id).add(id, it.Name, it.Arguments+it.Input)
		}
		for _, p := range it.Content {
			if !said {
				r.say(p.words())
			}
		}
	}
	if u := d.Usage; u != nil {
		r.used = true
		r.use = provider.Usage{Input: u.Input, Output: u.Output, Total: u.Total, CacheRead: u.In.Cached, Reasoning: u.Out.Reasoning}
	}
}

type anthropicUsage struct {
	Input   *int64 `json:"input_tokens"`
	Output  *int64 `json:"output_tokens"`
	Read    *int64 `json:"cache_read_input_tokens"`
	Written *int64 `json:"cache_creation_input_tokens"`
}

// anthropic reads a whole message, or an event of its stream.
func (r *reply) anthropic(data []byte) {
	type message struct {
		Model string          `json:"model"`
		Stop  string          `json:"stop_reason"`
		Parts []part          `json:"content"`
		Usage *anthropicUsage `json:"usage"`
	}
	var e struct {
		Type    string      `json:"type"`
		Index   json.Number `json:"index"`
		Message message     `json:"message"`
		Block   part        `json:"content_block"`
		Delta   struct {
			Text string `json:"text"`
			JSON string `json:"partial_json"`
			Stop string `json:"stop_reason"`
		} `json:"delta"`
		message
	}
	if json.Unmarshal(data, &e) != nil {
		return
	}
	switch e.Type {
	case "message":
		r.blocks(e.Parts)
		r.named(e.Model)
		r.anthropicUse(e.Usage)
		r.finish, r.whole = e.Stop, true
	case "message_start":
		r.named(e.Message.Model)
		r.anthropicUse(e.Message.Usage)
	case "content_block_start":
		if e.Block.Type == "tool_use" {
			r.call(e.Index.String()).add(e.Block.ID, e.Block.Name, "")
		}
		r.say(e.Block.Text)
	case "content_block_delta":
		r.say(e.Delta.Text)
		if e.Delta.JSON != "" {
			r.call(e.Index.String()).add("", "", e.Delta.JSON)
		}
	case "message_delta":
		r.anthropicUse(e.Usage)
		if e.Delta.Stop != "" {
			r.finish = e.Delta.Stop
		}
	case "message_stop":
		r.whole = true
	}
}

func (r *reply) blocks(parts []part) {
	for _, p := range parts {
		if p.Type == "tool_use" {
			r.call(p.ID).add(p.ID, p.Name, string(p.Input))
			continue
		}
		r.say(p.Text)
	}
}

// anthropicUse takes a usage; those of a stream add to what was said before.
func (r *reply) anthropicUse(u *anthropicUsage) {
	if u == nil {
		return
	}
	plain := r.use.Input - r.use.CacheRead - r.use.CacheWrite
	for _, one := range []struct {
		from *int64
		to   *int64
	}{{u.Input, &plain}, {u.Output, &r.use.Output}, {u.Read, &r.use.CacheRead}, {u.Written, &r.use.CacheWrite}} {
		if one.from != nil {
			*one.to, r.used = *one.from, true
		}
	}
	r.use.Input = plain + r.use.CacheRead + r.use.CacheWrite
	r.use.Total = r.use.Input + r.use.Output
}

// gemini reads a whole reply, or a piece of its stream, which look the same.
func (r *reply) gemini(data []byte) {
	var c struct {
		Model      string `json:"modelVersion"`
		Candidates []struct {
			Finish  string `json:"finishReason"`
			Content struct {
				Parts []struct {
					part
					Thought bool `json:"thought"`
				} `json:"parts"`
			} `json:"content"`
		} `json:"candidates"`
		Feedback struct {
			Blocked string `json:"blockReason"`
		} `json:"promptFeedback"`
		Usage *struct {
			Prompt   int64 `json:"promptTokenCount"`
			Tools    int64 `json:"toolUsePromptTokenCount"`
			Output   int64 `json:"candidatesTokenCount"`
			Thoughts int64 `json:"thoughtsTokenCount"`
			Cached   int64 `json:"cachedContentTokenCount"`
			Total    int64 `json:"totalTokenCount"`
		} `json:"usageMetadata"`
	}
	if json.Unmarshal(data, &c) != nil {
		return
	}
	r.named(c.Model)
	for _, cand := range c.Candidates {
		for _, p := range cand.Content.Parts {
			if p.Call != nil {
				c := r.call(string(rune('0' + len(r.calls))))
				c.add(p.Call.ID, p.Call.Name, string(p.Call.Args))
			} else if !p.Thought {
				r.say(p.Text)
			}
		}
		if cand.Finish != "" {
			r.finish, r.whole = cand.Finish, true
		}
	}
	if c.Feedback.Blocked != "" {
		r.finish, r.whole = "content_filter", true
	}
	if u := c.Usage; u != nil {
		r.used = true
		r.use = provider.Usage{
			Input: u.Prompt + u.Tools, Output: u.Output + u.Thoughts, Total: u.Total, CacheRead: u.Cached, Reasoning: u.Thoughts,
		}
	}
}
