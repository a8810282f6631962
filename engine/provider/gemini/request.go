package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

// request is the body of a call.
type request struct {
	System   *instruction      `json:"systemInstruction,omitempty"`
	Contents []content         `json:"contents"`
	Tools    []tools           `json:"tools,omitempty"`
	Config   *generationConfig `json:"generationConfig,omitempty"`
}

// content is one side's words; its parts are kept as they are written.
type content struct {
	Role  string            `json:"role"`
	Parts []json.RawMessage `json:"parts"`
}

type tools struct {
	Functions []function `json:"functionDeclarations"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// maxStops is how many stop sequences the vendor takes.
const maxStops = 5

// Check refuses what the Gemini API does not have.
func (c *Client) Check(s provider.Sampling) error {
	var errs []error
	if s.Seed != nil && (*s.Seed < math.MinInt32 || *s.Seed > math.MaxInt32) {
		errs = append(errs, fmt.Errorf("sampling.seed: Gemini takes 32 bits, so not %d", *s.Seed))
	}
	if len(s.Stop) > maxStops {
		errs = append(errs, fmt.Errorf("sampling.stop: Gemini takes at most %d sequences, not %d", maxStops, len(s.Stop)))
	}
	if t := s.Temperature; t != nil && (*t < 0 || *t > 2) {
		errs = append(errs, fmt.Errorf("sampling.temperature: Gemini takes 0 to 2, not %g", *t))
	}
	if s.MaxOutputTokens > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("max_output_tokens: Gemini takes 32 bits, so not %d", s.MaxOutputTokens))
	}
	if e := s.ReasoningEffort; e != "" && !slices.Contains(efforts, e) {
		errs = append(errs, fmt.Errorf("sampling.reasoning_effort: Gemini takes %s, not %q", strings.Join(efforts, ", "), e))
	}
	return errors.Join(errs...)
}

var efforts = []string{"none", "minimal", "low", "medium", "high"}

func (c *Client) request(req provider.Request) (request, error) {
	var r request
	if err := errors.Join(wire.Check(req), c.Check(req.Sampling)); err != nil {
		return r, err
	}
	var system []string
	for _, m := range req.Messages {
		if m.Role == provider.System && strings.TrimSpace(m.Content) != "" {
			system = append(system, m.Content)
		}
	}
	if len(system) > 0 {
		r.System = &instruction{Parts: []*textOrCall{{Text: strings.Join(system, "\n\n")}}}
	}
	var err error
	if r.Contents, err = contents(req.Messages); err != nil {
		return r, err
	}
	if len(r.Contents) == 0 {
		return r, errors.New("request: no message says anything")
	}
	if len(req.Tools) > 0 {
		r.Tools = []tools{{}}
	}
	for _, t := range req.Tools {
		schema, err := wire.Parameters(t)
		if err != nil {
			return r, err
		}
		r.Tools[0].Functions = append(r.Tools[0].Functions, function{t.Name, t.Description, parameters(schema)})
	}
	r.Config = config(req)
	return r, nil
}

// contents merges what the same side says in a row, so that the results of one
// turn's tools are one content, as the vendor wants them. What is blank is left
// out: the vendor refuses it.
func contents(all []provider.Message) ([]content, error) {
	var out []content
	names := map[string]string{} // of functions, by the call's id
	for i, m := range all {
		var parts []json.RawMessage
		var err error
		role := roleUser
		switch m.Role {
		case provider.User:
			parts, err = textPart(m.Content)
		case provider.ToolRole:
			name := names[m.ToolCallID]
			if name == "" {
				return nil, fmt.Errorf("message %d: it is the result of a call that the conversation does not have", i+1)
			}
			parts, err = part(result(m, name))
		case provider.Assistant:
			role = roleModel
			for _, call := range m.ToolCalls {
				names[call.ID] = call.Name
			}
			parts, err = model(m)
		}
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		if len(parts) == 0 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Parts = append(out[n-1].Parts, parts...)
			continue
		}
		out = append(out, content{role, parts})
	}
	return out, nil
}

func part(p *textOrCall) ([]json.RawMessage, error) {
	raw, err := json.Marshal(p)
	return []json.RawMessage{raw}, err
}

func textPart(text string) ([]json.RawMessage, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	return part(&textOrCall{Text: text})
}

// result is what a function said. The vendor wants an object, and tells outputs
// from errors by its key.
func result(m provider.Message, name string) *textOrCall {
	key := "output"
	if m.IsError {
		key = "error"
	}
	r := &functionResponse{Name: name, Response: map[string]any{key: m.Content}}
	if !ours(m.ToolCallID) {
		r.ID = m.ToolCallID
	}
	return &textOrCall{FunctionResponse: r}
}

// model is what the model said, with its thought signatures where they stood.
func model(m provider.Message) ([]json.RawMessage, error) {
	var kept []json.RawMessage
	if wire.UnpackState(provider.Gemini, m.State, &kept) {
		return kept, nil
	}
	parts, err := textPart(m.Content)
	if err != nil {
		return nil, err
	}
	for _, call := range m.ToolCalls {
		f := &functionCall{Name: call.Name}
		if !ours(call.ID) {
			f.ID = call.ID
		}
		dec := json.NewDecoder(bytes.NewReader(wire.SentArguments(call.Arguments)))
		dec.UseNumber() // as the model wrote them
		if err := dec.Decode(&f.Args); err != nil {
			f.Args = map[string]any{"invalid_arguments": string(call.Arguments)} // JSON, and no object
		}
		p, err := part(&textOrCall{FunctionCall: f})
		if err != nil {
			return nil, err
		}
		parts = append(parts, p...)
	}
	return parts, nil
}

func config(req provider.Request) *generationConfig {
	s := req.Sampling
	g := &generationConfig{MaxOutputTokens: int32(s.MaxOutputTokens), StopSequences: s.Stop, Temperature: s.Temperature, TopP: s.TopP} // within 32 bits, as checked
	if s.Seed != nil {
		g.Seed = new(int32(*s.Seed))
	}
	g.Thinking = thinking(req.Model, s.ReasoningEffort)
	return g
}

// thinking puts an effort into the words of the model's generation: 2.5 takes a
// budget of tokens, later ones a level.
func thinking(model, effort string) *thinkingConfig {
	if effort == "" {
		return nil
	}
	budget := map[string]int32{"none": 0, "minimal": 512, "low": 1024, "medium": 8192, "high": 24576}[effort]
	if effort == "none" || strings.HasPrefix(strings.TrimPrefix(model, "models/"), "gemini-2.5") {
		return &thinkingConfig{Budget: &budget}
	}
	return &thinkingConfig{Level: strings.ToUpper(effort)}
}
