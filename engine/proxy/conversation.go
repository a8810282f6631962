package proxy

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
)

// What is kept of a request for the record.
const (
	maxContent  = 256 << 10 // bytes of one message
	maxMessages = 20_000
	maxTools    = 1000
	maxName     = 256
)

// conversation is what a request says to a model, in one vocabulary.
type conversation struct {
	messages []provider.Message
}

// part is a piece of a message's content, in any of the formats.
type part struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Refusal  string `json:"refusal"`
	Thinking string `json:"thinking"`

	ID        string          `json:"id"` // Anthropic's tool calls and results
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`

	InlineData json.RawMessage `json:"inlineData"` // Gemini's
	FileData   json.RawMessage `json:"fileData"`
	OldFile    json.RawMessage `json:"file_data"`
	Call       *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Result *struct {
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

// words is a part as text; what is none is named.
func (p part) words() string {
	switch {
	case p.Text != "" || p.Refusal != "":
		return p.Text + p.Refusal
	case p.Thinking != "" || p.Type == "thinking" || p.Type == "redacted_thinking" || p.Type == "reasoning":
		return "" // what a model thought is no part of what was said
	case p.Type != "" && p.Type != "text":
		return "[" + provider.Excerpt(p.Type, 40) + "]"
	case set(p.InlineData) || set(p.FileData) || set(p.OldFile):
		return "[data]"
	}
	return ""
}

// conversationOf reads what is said; what is not as the format has it is left for
// the provider to refuse.
func conversationOf(to endpoint, o object) (conversation, *Refusal) {
	var c conversation
	switch to {
	case chat:
		c.chat(o)
	case responses:
		c.responses(o)
	case messages:
		c.anthropic(o)
	case generate:
		c.gemini(o)
	}
	if len(c.messages) > maxMessages {
		return c, refuse(http.StatusRequestEntityTooLarge, "request_too_large", "more than %d messages", maxMessages)
	}
	return c, nil
}

func (c *conversation) add(m provider.Message) {
	m.Content = clip(m.Content)
	c.messages = append(c.messages, m)
}

// clip cuts a long text for the record.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxContent {
		return s
	}
	return strings.ToValidUTF8(s[:maxContent], "") + "\n[... cut]"
}

// content is a text or a list of parts.
func (c *conversation) content(raw json.RawMessage) (string, []part) {
	if s := text(raw); s != "" {
		return s, nil
	}
	var parts []part
	if json.Unmarshal(raw, &parts) != nil {
		var one part
		if json.Unmarshal(raw, &one) == nil {
			parts = []part{one}
		}
	}
	var words []string
	for _, p := range parts {
		if w := p.words(); w != "" && p.Type != "tool_use" && p.Type != "tool_result" {
			words = append(words, w)
		}
	}
	return strings.Join(words, "\n"), parts
}

func roleOf(role string) provider.Role {
	switch role {
	case "system", "developer":
		return provider.System
	case "assistant", "model":
		return provider.Assistant
	case "tool", "function":
		return provider.ToolRole
	}
	return provider.User
}

func (c *conversation) chat(o object) {
	var list []struct {
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		CallID    string          `json:"tool_call_id"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	_ = json.Unmarshal(o["messages"], &list) // what is none of it is the provider's to refuse
	for _, m := range list {
		words, _ := c.content(m.Content)
		out := provider.Message{Role: roleOf(m.Role), Content: words, ToolCallID: m.CallID}
		for _, t := range m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, callOf(t.ID, t.Function.Name, t.Function.Arguments))
		}
		c.add(out)
	}
}

func (c *conversation) responses(o object) {
	if s := text(o["instructions"]); s != "" {
		c.add(provider.Message{Role: provider.System, Content: s})
	}
	if s := text(o["input"]); s != "" {
		c.add(provider.Message{Role: provider.User, Content: s})
		return
	}
	var items []struct {
		Type      string          `json:"type"`
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		CallID    string          `json:"call_id"`
		Name      string          `json:"name"`
		Arguments string          `json:"arguments"`
		Input     string          `json:"input"`
		Output    json.RawMessage `json:"output"`
	}
	_ = json.Unmarshal(o["input"], &items)
	for _, it := range items {
		switch {
		case strings.HasSuffix(it.Type, "_output"):
			words, _ := c.content(it.Output)
			c.add(provider.Message{Role: provider.ToolRole, Content: words, ToolCallID: it.CallID})
		case strings.HasSuffix(it.Type, "_call"):
			call := callOf(it.CallID, it.Name, it.Arguments+it.Input)
			c.add(provider.Message{Role: provider.Assistant, ToolCalls: []provider.ToolCall{call}})
		case it.Type == "" || it.Type == "message":
			words, _ := c.content(it.Content)
			c.add(provider.Message{Role: roleOf(it.Role), Content: words})
		}
	}
}

func (c *conversation) anthropic(o object) {
	if words, _ := c.content(o["system"]); words != "" {
		c.add(provider.Message{Role: provider.System, Content: words})
	}
	var list []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	_ = json.Unmarshal(o["messages"], &list)
	for _, m := range list {
		words, parts := c.content(m.Content)
		out := provider.Message{Role: roleOf(m.Role), Content: words}
		for _, p := range parts {
			switch p.Type {
			case "tool_use":
				out.ToolCalls = append(out.ToolCalls, callOf(p.ID, p.Name, string(p.Input)))
			case "tool_result":
				result, _ := c.content(p.Content)
				c.add(provider.Message{Role: provider.ToolRole, Content: result, ToolCallID: p.ToolUseID, IsError: p.IsError})
			}
		}
		if out.Content != "" || len(out.ToolCalls) > 0 {
			c.add(out)
		}
	}
}

func (c *conversation) gemini(o object) {
	type turn struct {
		Role  string          `json:"role"`
		Parts json.RawMessage `json:"parts"`
	}
	var system turn
	if json.Unmarshal(o["systemInstruction"], &system) == nil {
		if words, _ := c.content(system.Parts); words != "" {
			c.add(provider.Message{Role: provider.System, Content: words})
		}
	}
	var list []turn
	if json.Unmarshal(o["contents"], &list) != nil {
		var one turn
		_ = json.Unmarshal(o["contents"], &one)
		list = []turn{one}
	}
	for _, t := range list {
		words, parts := c.content(t.Parts)
		out := provider.Message{Role: roleOf(t.Role), Content: words}
		for _, p := range parts {
			if p.Call != nil {
				out.ToolCalls = append(out.ToolCalls, callOf(p.Call.ID, p.Call.Name, string(p.Call.Args)))
			}
			if p.Result != nil {
				id := p.Result.ID
				if id == "" {
					id = p.Result.Name
				}
				c.add(provider.Message{Role: provider.ToolRole, Content: string(p.Result.Response), ToolCallID: id})
			}
		}
		if out.Content != "" || len(out.ToolCalls) > 0 {
			c.add(out)
		}
	}
}

func callOf(id, name, arguments string) provider.ToolCall {
	return provider.ToolCall{
		ID: provider.Excerpt(id, maxName), Name: provider.Excerpt(name, maxName), Arguments: provider.RawArguments(clip(arguments)),
	}
}

// ended puts a format's finish reason into the one vocabulary.
func ended(reason string, calls bool) provider.FinishReason {
	switch strings.ToLower(reason) {
	case "tool_calls", "function_call", "tool_use":
		return provider.FinishToolCalls
	case "stop", "end_turn", "stop_sequence", "completed":
		if calls {
			return provider.FinishToolCalls
		}
		return provider.FinishStop
	case "length", "max_tokens", "model_length", "max_output_tokens", "model_context_window_exceeded":
		return provider.FinishMaxTokens
	}
	if slices.Contains([]string{"content_filter", "refusal", "safety", "recitation", "blocklist", "prohibited_content", "spii"}, strings.ToLower(reason)) {
		return provider.FinishContentFilter
	}
	return provider.FinishOther
}
