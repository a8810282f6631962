package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

// responsesState marks state as this API's.
const responsesState = "openai/responses"

// response is what of a response object a reply is made of.
type response struct {
	ID         string `json:"id"`
	Model      string `json:"model"`
	Status     string `json:"status"`
	OutputText string `json:"output_text"`
	Output     []struct {
		Type    string `json:"type"`
		Content []struct {
			Type    string `json:"type"`
			Text    string `json:"text"`
			Refusal string `json:"refusal"`
		} `json:"content"`
	} `json:"output"`
	Error             json.RawMessage `json:"error"`
	IncompleteDetails struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage *responseUsage `json:"usage"`
}

// responseUsage is written in two ways: servers that only speak the API's format
// may count as chat completions do.
type responseUsage struct {
	Input             int64        `json:"input_tokens"`
	Output            int64        `json:"output_tokens"`
	Total             int64        `json:"total_tokens"`
	InputDetails      tokenDetails `json:"input_tokens_details"`
	OutputDetails     tokenDetails `json:"output_tokens_details"`
	Prompt            int64        `json:"prompt_tokens"`
	Completion        int64        `json:"completion_tokens"`
	PromptDetails     tokenDetails `json:"prompt_tokens_details"`
	CompletionDetails tokenDetails `json:"completion_tokens_details"`
}

type tokenDetails struct {
	Cached     int64 `json:"cached_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
	Reasoning  int64 `json:"reasoning_tokens"`
}

func (u *responseUsage) usage() *provider.Usage {
	if u == nil {
		return nil
	}
	return wire.Usage(provider.Usage{
		Input: cmp.Or(u.Input, u.Prompt), Output: cmp.Or(u.Output, u.Completion), Total: u.Total,
		CacheRead:  cmp.Or(u.InputDetails.Cached, u.PromptDetails.Cached),
		CacheWrite: cmp.Or(u.InputDetails.CacheWrite, u.PromptDetails.CacheWrite),
		Reasoning:  cmp.Or(u.OutputDetails.Reasoning, u.CompletionDetails.Reasoning),
	})
}

// finish puts how a response ended into the one vocabulary.
func (r *response) finish(calls bool) provider.FinishReason {
	switch {
	case r.Status == "completed" && calls:
		return provider.FinishToolCalls
	case r.Status == "completed":
		return provider.FinishStop
	case r.IncompleteDetails.Reason == "max_output_tokens":
		return provider.FinishMaxTokens
	case r.IncompleteDetails.Reason == "content_filter":
		return provider.FinishContentFilter
	default:
		return provider.FinishOther
	}
}

// failure is why a response did not become one.
func (r *response) failure(hide func(string) string) *provider.Error {
	body, err := json.Marshal(map[string]json.RawMessage{"error": r.Error})
	if err != nil || len(r.Error) == 0 || bytes.Equal(r.Error, []byte("null")) {
		return &provider.Error{Code: provider.Unavailable, Message: "the response ended as " + provider.Excerpt(hide(r.Status), wire.MaxNameBytes)}
	}
	return provider.Classify(provider.Failure{Body: []byte(hide(string(body)))})
}

// itemEvent is what of a stream's event is read.
type itemEvent struct {
	Type        string          `json:"type"`
	OutputIndex int64           `json:"output_index"`
	Delta       string          `json:"delta"`
	Item        json.RawMessage `json:"item"`
	Response    json.RawMessage `json:"response"`
	Code        json.RawMessage `json:"code"`
	Message     string          `json:"message"`
}

// itemHead is what of an output item is read.
type itemHead struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Encrypted string `json:"encrypted_content"`
	Content   []struct {
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
}

// item is an output item whose pieces are still arriving.
type item struct {
	call   *wire.ToolCall
	pieces bool // some came on their own
}

// itemAssembler makes one reply of a stream's events.
type itemAssembler struct {
	reply  *wire.Reply
	hide   func(string) string // takes secrets out of what an error repeats
	items  map[int64]*item
	done   []json.RawMessage // whole items, in order
	sealed bool              // some hold reasoning that must be shown again
	end    *response
	said   bool
}

// read takes the whole stream, to the event that ends the response.
func (a *itemAssembler) read(events *wire.Events) error {
	for events.Next() && a.end == nil {
		data := events.Data()
		if bytes.Equal(data, []byte("[DONE]")) {
			break
		}
		if err := a.event(data); err != nil {
			return err
		}
	}
	if err := a.reply.Ended(events.Err(), a.end != nil, a.said); err != nil || !a.sealed {
		return err
	}
	state, err := wire.PackState(responsesState, a.done)
	if err != nil {
		return err
	}
	return a.reply.Keep(state)
}

func (a *itemAssembler) event(data []byte) error {
	if provider.ErrorIn(data) {
		return provider.Classify(provider.Failure{Body: []byte(a.hide(string(data)))})
	}
	var e itemEvent
	if data[0] != '{' || json.Unmarshal(data, &e) != nil {
		return wire.Malformed("a piece of the stream is not an event: %s", provider.Excerpt(a.hide(string(data)), 80))
	}
	switch e.Type {
	case "error":
		body, err := json.Marshal(map[string]any{"error": map[string]any{"code": e.Code, "message": e.Message}})
		if err != nil {
			return err
		}
		return provider.Classify(provider.Failure{Body: []byte(a.hide(string(body)))})
	case "response.created", "response.in_progress", "response.queued":
		a.said = true
	case "response.output_item.added":
		return a.added(e)
	case "response.output_text.delta", "response.refusal.delta": // a refusal is the model's answer too
		a.at(e.OutputIndex).pieces = true
		return a.reply.Say(e.Delta)
	case "response.function_call_arguments.delta":
		it := a.at(e.OutputIndex)
		if it.call == nil {
			return wire.Malformed("arguments came for output %d, which is no tool call", e.OutputIndex)
		}
		it.pieces = true
		return a.reply.Add(it.call, "", e.Delta)
	case "response.output_item.done":
		return a.whole(e)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return a.over(e)
	}
	return nil // what this version does not know
}

func (a *itemAssembler) at(index int64) *item {
	a.said = true
	if a.items[index] == nil {
		a.items[index] = &item{}
	}
	return a.items[index]
}

func (a *itemAssembler) added(e itemEvent) error {
	head, err := a.head(e)
	if err != nil || head.Type != "function_call" {
		return err
	}
	it := a.at(e.OutputIndex)
	if it.call != nil {
		return wire.Malformed("output %d began twice", e.OutputIndex)
	}
	if it.call, err = a.reply.Begin(int64(len(a.reply.Calls()))); err != nil {
		return err
	}
	it.call.ID = head.CallID
	return a.reply.Add(it.call, head.Name, "")
}

// whole takes an item that is complete: what did not come in pieces comes now.
func (a *itemAssembler) whole(e itemEvent) error {
	head, err := a.head(e)
	if err != nil {
		return err
	}
	it := a.at(e.OutputIndex)
	if err := a.keep(head, e.Item); err != nil {
		return err
	}
	if head.Type == "function_call" && it.call == nil {
		if err := a.added(e); err != nil {
			return err
		}
	}
	if it.pieces {
		return nil
	}
	if it.call != nil {
		return a.reply.Add(it.call, "", head.Arguments)
	}
	if head.Type != "message" {
		return nil
	}
	for _, part := range head.Content {
		if err := a.reply.Say(part.Text + part.Refusal); err != nil {
			return err
		}
	}
	return nil
}

// keep keeps an item for the next request. Reasoning that is not sealed could
// not be shown again: nothing is kept on the server.
func (a *itemAssembler) keep(head itemHead, raw json.RawMessage) error {
	switch head.Type {
	case "reasoning":
		if head.Encrypted == "" {
			return nil
		}
		a.sealed = true
	case "message", "function_call":
	default:
		return nil
	}
	a.done = append(a.done, bytes.Clone(raw))
	return a.reply.Grow(len(raw))
}

func (a *itemAssembler) head(e itemEvent) (itemHead, error) {
	var h itemHead
	if err := json.Unmarshal(e.Item, &h); err != nil {
		return h, wire.Malformed("an item of the reply cannot be read: %s", provider.Excerpt(a.hide(string(e.Item)), 80))
	}
	return h, nil
}

func (a *itemAssembler) over(e itemEvent) error {
	var r response
	if err := json.Unmarshal(e.Response, &r); err != nil {
		return wire.Malformed("the end of the reply cannot be read: %s", provider.Excerpt(a.hide(string(e.Response)), 80))
	}
	r.Status = cmp.Or(r.Status, strings.TrimPrefix(e.Type, "response."))
	if r.Status == "failed" || r.Status == "cancelled" {
		return r.failure(a.hide)
	}
	a.said, a.end = true, &r
	a.reply.Named(r.Model)
	a.reply.Usage = r.Usage.usage()
	return nil
}
