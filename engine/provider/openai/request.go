package openai

import (
	"encoding/json"
	"fmt"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

// params puts a request into the wire's shape.
func (c *Client) params(req provider.Request) (sdk.ChatCompletionNewParams, error) {
	p := sdk.ChatCompletionNewParams{Model: req.Model}
	if err := wire.Check(req); err != nil {
		return p, err
	}
	for _, m := range req.Messages {
		p.Messages = append(p.Messages, message(m))
	}
	for _, t := range req.Tools {
		definition, err := toolDefinition(t)
		if err != nil {
			return p, err
		}
		p.Tools = append(p.Tools, definition)
	}
	if !c.dialect.noStreamUsage {
		p.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	c.sampling(&p, req.Sampling)
	return p, nil
}

func (c *Client) sampling(p *sdk.ChatCompletionNewParams, s provider.Sampling) {
	if s.Temperature != nil {
		p.Temperature = param.NewOpt(*s.Temperature)
	}
	if s.TopP != nil {
		p.TopP = param.NewOpt(*s.TopP)
	}
	if s.Seed != nil && c.dialect.seed == "seed" {
		p.Seed = param.NewOpt(*s.Seed)
	} else if s.Seed != nil {
		p.SetExtraFields(map[string]any{c.dialect.seed: *s.Seed})
	}
	if len(s.Stop) > 0 {
		p.Stop.OfStringArray = s.Stop
	}
	if s.ReasoningEffort != "" {
		p.ReasoningEffort = shared.ReasoningEffort(s.ReasoningEffort)
	}
	switch {
	case s.MaxOutputTokens <= 0:
	case c.dialect.maxTokens:
		p.MaxTokens = param.NewOpt(s.MaxOutputTokens)
	default:
		p.MaxCompletionTokens = param.NewOpt(s.MaxOutputTokens)
	}
}

func message(m provider.Message) sdk.ChatCompletionMessageParamUnion {
	switch m.Role {
	case provider.System:
		return sdk.SystemMessage(m.Content)
	case provider.ToolRole:
		return sdk.ToolMessage(m.Content, m.ToolCallID)
	case provider.Assistant:
		return assistantMessage(m)
	default:
		return sdk.UserMessage(m.Content)
	}
}

// assistantMessage leaves content out only beside tool calls: it is required
// otherwise, be it empty.
func assistantMessage(m provider.Message) sdk.ChatCompletionMessageParamUnion {
	var a sdk.ChatCompletionAssistantMessageParam
	if m.Content != "" || len(m.ToolCalls) == 0 {
		a.Content.OfString = param.NewOpt(m.Content)
	}
	for _, call := range m.ToolCalls {
		a.ToolCalls = append(a.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID: call.ID,
				Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name:      call.Name,
					Arguments: string(wire.SentArguments(call.Arguments)),
				},
			},
		})
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &a}
}

// toolDefinition hands the schema on as it is written, with its own order and
// numbers.
func toolDefinition(t provider.Tool) (sdk.ChatCompletionToolUnionParam, error) {
	schema, err := wire.Parameters(t)
	if err != nil {
		return sdk.ChatCompletionToolUnionParam{}, err
	}
	definition, err := json.Marshal(struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}{t.Name, t.Description, schema})
	if err != nil {
		return sdk.ChatCompletionToolUnionParam{}, fmt.Errorf("tool %q: %w", t.Name, err)
	}
	return sdk.ChatCompletionFunctionTool(
		param.Override[shared.FunctionDefinitionParam](json.RawMessage(definition))), nil
}
