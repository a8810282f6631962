package record

import (
	"fmt"
	"slices"

	"github.com/agentclash/agentclash/engine/provider"
)

// ids renames the ids of tool calls, which vendors draw at random, by the order
// in which they come up in a conversation.
type ids map[string]string

func (m ids) of(id string) string {
	if id == "" {
		return ""
	}
	if m[id] == "" {
		m[id] = fmt.Sprintf("call_%d", len(m)+1)
	}
	return m[id]
}

func (m ids) calls(calls []provider.ToolCall) []provider.ToolCall {
	calls = slices.Clone(calls)
	for i := range calls {
		calls[i].ID = m.of(calls[i].ID)
	}
	return calls
}

// plain is a request without anything random in it.
func (m ids) plain(req provider.Request) provider.Request {
	req.Messages = slices.Clone(req.Messages)
	for i := range req.Messages {
		msg := &req.Messages[i]
		msg.ToolCalls, msg.ToolCallID = m.calls(msg.ToolCalls), m.of(msg.ToolCallID)
	}
	return req
}
