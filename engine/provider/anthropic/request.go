package anthropic

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

// defaultOutput is the output bound of a request that sets none: the vendor
// wants one.
const defaultOutput = 8192

// Check refuses what the Messages API does not have.
func (c *Client) Check(s provider.Sampling) error {
	var errs []error
	if s.Seed != nil {
		errs = append(errs, errors.New("sampling.seed: Anthropic has no seed; leave it out"))
	}
	if t := s.Temperature; t != nil && (*t < 0 || *t > 1) {
		errs = append(errs, fmt.Errorf("sampling.temperature: Anthropic takes 0 to 1, not %g", *t))
	}
	if s.Temperature != nil && s.ReasoningEffort != "" && s.ReasoningEffort != noEffort {
		errs = append(errs, errors.New("sampling.temperature: Anthropic takes none together with a reasoning_effort; leave one of them out"))
	}
	if e := s.ReasoningEffort; e != "" && !slices.Contains(efforts, e) {
		errs = append(errs, fmt.Errorf("sampling.reasoning_effort: Anthropic takes %s, not %q", strings.Join(efforts, ", "), e))
	}
	return errors.Join(errs...)
}

var efforts = []string{noEffort, "low", "medium", "high", "xhigh", "max"}

const noEffort = "none" // no reasoning at all

// params puts a request into the wire's shape.
func (c *Client) params(req provider.Request) (sdk.MessageNewParams, error) {
	p := sdk.MessageNewParams{Model: sdk.Model(req.Model), MaxTokens: cmp.Or(req.Sampling.MaxOutputTokens, defaultOutput)}
	if err := errors.Join(wire.Check(req), c.Check(req.Sampling)); err != nil {
		return p, err
	}
	var system []string
	for _, m := range req.Messages {
		if m.Role == provider.System && strings.TrimSpace(m.Content) != "" {
			system = append(system, m.Content)
		}
	}
	if len(system) > 0 {
		p.System = []sdk.TextBlockParam{{Text: strings.Join(system, "\n\n")}}
	}
	for _, t := range req.Tools {
		definition, err := toolDefinition(t)
		if err != nil {
			return p, err
		}
		p.Tools = append(p.Tools, definition)
	}
	p.Messages = messages(req.Messages)
	if len(p.Messages) == 0 {
		return p, errors.New("request: no message says anything")
	}
	sampling(&p, req.Sampling)
	if c.cache {
		markCache(&p)
	}
	return p, nil
}

func sampling(p *sdk.MessageNewParams, s provider.Sampling) {
	if s.Temperature != nil {
		p.Temperature = param.NewOpt(*s.Temperature)
	}
	if s.TopP != nil {
		p.TopP = param.NewOpt(*s.TopP)
	}
	p.StopSequences = s.Stop
	switch s.ReasoningEffort {
	case "":
	case noEffort:
		off := sdk.NewThinkingConfigDisabledParam()
		p.Thinking.OfDisabled = &off
	default:
		p.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{}
		p.OutputConfig.Effort = sdk.OutputConfigEffort(s.ReasoningEffort)
	}
}

// messages merges what the same side says in a row, so that the results of one
// turn's tools are one message, as the vendor wants them. What is blank is left
// out: the vendor refuses it.
func messages(all []provider.Message) []sdk.MessageParam {
	var out []sdk.MessageParam
	for _, m := range all {
		role, blocks := sdk.MessageParamRoleUser, []sdk.ContentBlockParamUnion(nil)
		switch m.Role {
		case provider.User:
			blocks = textBlocks(m.Content)
		case provider.ToolRole:
			blocks = toolResult(m)
		case provider.Assistant:
			role, blocks = sdk.MessageParamRoleAssistant, assistant(m)
		}
		if len(blocks) == 0 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			continue
		}
		out = append(out, sdk.MessageParam{Role: role, Content: blocks})
	}
	return out
}

func textBlocks(text string) []sdk.ContentBlockParamUnion {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []sdk.ContentBlockParamUnion{sdk.NewTextBlock(text)}
}

func toolResult(m provider.Message) []sdk.ContentBlockParamUnion {
	result := sdk.ToolResultBlockParam{ToolUseID: m.ToolCallID}
	if strings.TrimSpace(m.Content) != "" {
		result.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: m.Content}}}
	}
	if m.IsError {
		result.IsError = param.NewOpt(true)
	}
	return []sdk.ContentBlockParamUnion{{OfToolResult: &result}}
}

// assistant is what the model said, with its signed reasoning in the places
// where it stood.
func assistant(m provider.Message) []sdk.ContentBlockParamUnion {
	var kept []json.RawMessage
	if wire.UnpackState(provider.Anthropic, m.State, &kept) {
		blocks := make([]sdk.ContentBlockParamUnion, len(kept))
		for i, raw := range kept {
			blocks[i] = param.Override[sdk.ContentBlockParamUnion](raw)
		}
		return blocks
	}
	blocks := textBlocks(m.Content)
	for _, call := range m.ToolCalls {
		blocks = append(blocks, sdk.NewToolUseBlock(call.ID, wire.SentArguments(call.Arguments), call.Name))
	}
	return blocks
}

func toolDefinition(t provider.Tool) (sdk.ToolUnionParam, error) {
	schema, err := wire.Parameters(t)
	if err != nil {
		return sdk.ToolUnionParam{}, err
	}
	tool := sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](schema)}
	if t.Description != "" {
		tool.Description = param.NewOpt(t.Description)
	}
	return sdk.ToolUnionParam{OfTool: &tool}, nil
}

// markCache asks the vendor to keep what will be sent again: tools and system
// text, which every request of a run agent begins with, and, where there are
// tools and so another request to come, the conversation so far.
func markCache(p *sdk.MessageNewParams) {
	mark := sdk.NewCacheControlEphemeralParam()
	switch {
	case len(p.System) > 0:
		p.System[len(p.System)-1].CacheControl = mark
	case len(p.Tools) > 0:
		p.Tools[len(p.Tools)-1].OfTool.CacheControl = mark
	}
	if len(p.Tools) == 0 {
		return
	}
	last := p.Messages[len(p.Messages)-1]
	if last.Role != sdk.MessageParamRoleUser {
		return
	}
	switch block := last.Content[len(last.Content)-1]; {
	case block.OfText != nil:
		block.OfText.CacheControl = mark
	case block.OfToolResult != nil:
		block.OfToolResult.CacheControl = mark
	}
}
