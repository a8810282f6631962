package wire

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/agentclash/agentclash/engine/provider"
)

// SentArguments is what a server is told a model's arguments were: a JSON
// object. Several servers refuse the whole conversation when they are broken, so
// broken text travels inside one.
func SentArguments(arguments json.RawMessage) json.RawMessage {
	text, broken := provider.ArgumentText(arguments)
	if !broken {
		return json.RawMessage(text)
	}
	wrapped, err := json.Marshal(map[string]string{"invalid_arguments": text})
	if err != nil { // a map of strings always encodes
		return json.RawMessage("{}")
	}
	return wrapped
}

// Parameters is a tool's schema as it is written, with its own order and
// numbers; a tool without one takes nothing.
func Parameters(t provider.Tool) (json.RawMessage, error) {
	schema := bytes.TrimSpace(t.Parameters)
	if len(schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`), nil
	}
	if schema[0] != '{' || !json.Valid(schema) {
		return nil, fmt.Errorf("tool %q: parameters are not a JSON object", t.Name)
	}
	return schema, nil
}

// Check refuses a request that no vendor could be sent: it names a model, and
// each message is from somebody.
func Check(req provider.Request) error {
	if req.Model == "" {
		return fmt.Errorf("request: no model")
	}
	for i, m := range req.Messages {
		switch m.Role {
		case provider.System, provider.User, provider.Assistant, provider.ToolRole:
		default:
			return fmt.Errorf("message %d: unknown role %q", i+1, m.Role)
		}
	}
	return nil
}
