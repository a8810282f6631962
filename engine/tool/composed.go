package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/pack/template"
	"github.com/agentclash/agentclash/sandbox"
)

// delegate fills a composed tool's arguments and calls its delegate. The guards
// hold whatever the pack's checks have let through.
func (s *Set) delegate(ctx context.Context, box sandbox.Session, c *template.Composed, args json.RawMessage, chain []string) (Result, error) {
	name := chain[len(chain)-1]
	fail := func(origin, format string, args ...any) (Result, error) {
		r := failure("%s failed: %s", name, fmt.Sprintf(format, args...))
		r.Origin = origin
		return r, nil
	}
	switch {
	case len(chain) > template.MaxDelegations:
		return fail(OriginDepth, "it is called through more than %d tools", template.MaxDelegations)
	case slices.Contains(chain, c.Primitive):
		return fail(OriginCycle, "it comes to %s again", c.Primitive)
	case s.tools[c.Primitive] == nil:
		return fail(OriginDelegation, "there is no tool %s here", c.Primitive)
	}
	filled, err := c.Fill(decoded(args), s.network.Secrets)
	if err != nil {
		return fail(OriginResolution, "%v", err)
	}
	inner, err := compact(filled)
	if err != nil {
		return fail(OriginResolution, "%v", err)
	}
	r, err := s.call(ctx, box, c.Primitive, json.RawMessage(inner), chain)
	if err == nil && r.IsError {
		r.Content = blamed(name, r.Content)
	}
	return r, err
}

// blamed puts the name of a composed tool before what its delegate says went
// wrong. A result that is not an error message, such as that of a command that
// failed, stays readable beside it.
func blamed(name, content string) string {
	var inner struct {
		Error  *string         `json:"error"`
		Result json.RawMessage `json:"result,omitempty"`
	}
	if json.Unmarshal([]byte(content), &inner) != nil || inner.Error == nil {
		inner.Error, inner.Result = new(string), json.RawMessage(content)
	}
	message := name + " failed"
	if *inner.Error != "" {
		message += ": " + *inner.Error
	}
	message = clip(message, maxMessage)
	inner.Error = &message
	blamed, err := compact(inner)
	if err != nil {
		return failure("%s", message).Content // the delegate's result was no JSON
	}
	return blamed
}

// answer is what a mock says.
func answer(m template.Mock, args json.RawMessage) Result {
	v, err := m.Answer(decoded(args))
	if err != nil {
		return failure("%v", err)
	}
	if text, ok := v.(string); ok {
		return Result{Content: text}
	}
	content, err := compact(v)
	if err != nil {
		return failure("the answer cannot be written as JSON: %v", err)
	}
	return Result{Content: content}
}

// decoded are arguments that have been checked to be an object, with numbers as
// they were written.
func decoded(args json.RawMessage) map[string]any {
	dec := json.NewDecoder(strings.NewReader(string(bytes.TrimSpace(args))))
	dec.UseNumber()
	var m map[string]any
	if dec.Decode(&m) != nil {
		return map[string]any{} // check has seen that they decode
	}
	return m
}
