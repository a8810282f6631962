package openai

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

// Responses calls one server by the Responses API, streamed, and keeps nothing
// there. It is safe for concurrent use and shares its connections between calls.
type Responses struct {
	server
	service responses.ResponseService
}

var (
	_ provider.Client  = (*Responses)(nil)
	_ provider.Lister  = (*Responses)(nil)
	_ provider.Checker = (*Responses)(nil)
)

// NewResponses makes a client. The base URL is the address up to and including
// /v1. It opens no connection and reads no environment.
func NewResponses(o wire.Options) (*Responses, error) {
	s, err := newServer(o)
	if err != nil {
		return nil, err
	}
	return &Responses{server: s, service: responses.NewResponseService(s.options()...)}, nil
}

// Check refuses what the Responses API does not have.
func (c *Responses) Check(s provider.Sampling) error { return checkResponses(s) }

func checkResponses(s provider.Sampling) error {
	var errs []error
	if s.Seed != nil {
		errs = append(errs, errors.New("sampling.seed: the Responses API has no seed; leave it out, or use the API chat"))
	}
	if len(s.Stop) > 0 {
		errs = append(errs, errors.New("sampling.stop: the Responses API has no stop sequences; leave them out, or use the API chat"))
	}
	return errors.Join(errs...)
}

// Complete makes one streamed call. See [provider.Client] for what it promises.
func (c *Responses) Complete(ctx context.Context, req provider.Request, onDelta func(provider.Delta)) (provider.Response, error) {
	params, err := responsesParams(req)
	if err != nil {
		return provider.Response{}, c.Refused(err)
	}
	call := c.Stream(ctx)
	defer call.End()
	stream := c.service.NewStreaming(call.Context, params, option.WithHTTPClient(call))
	if err := stream.Err(); err != nil {
		return provider.Response{}, call.Failed(err)
	}
	asm := itemAssembler{reply: call.Reply(req, onDelta), hide: c.Hide, items: map[int64]*item{}}
	if err := asm.read(call.Events()); err != nil {
		return provider.Response{}, call.Failed(err)
	}
	return asm.reply.Response(req.Model, asm.end.finish(len(asm.reply.Calls()) > 0)), nil
}

// responsesParams puts a request into the wire's shape.
func responsesParams(req provider.Request) (responses.ResponseNewParams, error) {
	p := responses.ResponseNewParams{Model: req.Model, Store: param.NewOpt(false)}
	if err := errors.Join(wire.Check(req), checkResponses(req.Sampling)); err != nil {
		return p, err
	}
	var system []string
	for _, m := range req.Messages {
		if m.Role == provider.System {
			system = append(system, m.Content)
			continue
		}
		items, err := inputItems(m)
		if err != nil {
			return p, err
		}
		p.Input.OfInputItemList = append(p.Input.OfInputItemList, items...)
	}
	if len(system) > 0 {
		p.Instructions = param.NewOpt(strings.Join(system, "\n\n"))
	}
	for _, t := range req.Tools {
		definition, err := functionTool(t)
		if err != nil {
			return p, err
		}
		p.Tools = append(p.Tools, definition)
	}
	if reasons(req) {
		p.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	responsesSampling(&p, req.Sampling)
	return p, nil
}

func responsesSampling(p *responses.ResponseNewParams, s provider.Sampling) {
	if s.Temperature != nil {
		p.Temperature = param.NewOpt(*s.Temperature)
	}
	if s.TopP != nil {
		p.TopP = param.NewOpt(*s.TopP)
	}
	if s.MaxOutputTokens > 0 {
		p.MaxOutputTokens = param.NewOpt(s.MaxOutputTokens)
	}
	p.Reasoning.Effort = shared.ReasoningEffort(s.ReasoningEffort)
}

// reasons goes by the names of models that reason. The others refuse to be asked
// for reasoning that can be shown again.
func reasons(req provider.Request) bool {
	name := strings.ToLower(req.Model[strings.LastIndex(req.Model, "/")+1:])
	numbered := func(before string, from byte) bool {
		rest, ok := strings.CutPrefix(name, before)
		return ok && rest != "" && rest[0] >= from && rest[0] <= '9'
	}
	return req.Sampling.ReasoningEffort != "" || numbered("o", '1') || numbered("gpt-", '5') ||
		strings.HasPrefix(name, "gpt-oss") || strings.HasPrefix(name, "codex") || strings.HasPrefix(name, "computer-use")
}

// inputItems is one message as items. What the model said goes back as it came
// when its reasoning must go with it.
func inputItems(m provider.Message) ([]responses.ResponseInputItemUnionParam, error) {
	switch m.Role {
	case provider.ToolRole:
		return rawItems(map[string]any{"type": "function_call_output", "call_id": m.ToolCallID, "output": m.Content})
	case provider.Assistant:
	default:
		return said("user", m.Content)
	}
	var kept []json.RawMessage
	if wire.UnpackState(responsesState, m.State, &kept) {
		items := make([]responses.ResponseInputItemUnionParam, len(kept))
		for i, raw := range kept {
			items[i] = param.Override[responses.ResponseInputItemUnionParam](raw)
		}
		return items, nil
	}
	var docs []any
	if m.Content != "" || len(m.ToolCalls) == 0 {
		docs = append(docs, map[string]any{"role": "assistant", "content": m.Content})
	}
	for _, call := range m.ToolCalls {
		docs = append(docs, map[string]any{"type": "function_call", "call_id": call.ID, "name": call.Name,
			"arguments": string(wire.SentArguments(call.Arguments))})
	}
	return rawItems(docs...)
}

// said is a text that goes into the response.
func said(role, text string) ([]responses.ResponseInputItemUnionParam, error) {
	return rawItems(map[string]any{"role": role, "content": []any{map[string]any{"type": "input_text", "text": text}}})
}

func rawItems(docs ...any) ([]responses.ResponseInputItemUnionParam, error) {
	items := make([]responses.ResponseInputItemUnionParam, len(docs))
	for i, doc := range docs {
		raw, err := json.Marshal(doc)
		if err != nil {
			return nil, err
		}
		items[i] = param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(raw))
	}
	return items, nil
}

// functionTool hands the schema on as it is written. Not strict: a pack's
// schemas need not be what strictness demands.
func functionTool(t provider.Tool) (responses.ToolUnionParam, error) {
	schema, err := wire.Parameters(t)
	if err != nil {
		return responses.ToolUnionParam{}, err
	}
	raw, err := json.Marshal(struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      bool            `json:"strict"`
	}{"function", t.Name, t.Description, schema, false})
	if err != nil {
		return responses.ToolUnionParam{}, err
	}
	return param.Override[responses.ToolUnionParam](json.RawMessage(raw)), nil
}
