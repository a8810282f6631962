package convert

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// message is one message of a conversation, whoever wrote it down.
type message struct {
	role  string
	text  string
	calls []toolCall
}

type toolCall struct {
	Name      string `json:"name"`
	Arguments any    `json:"arguments,omitempty"`
}

// maxToolCalls is how many tool calls of a conversation are kept.
const maxToolCalls = 100

// readTranscripts reads conversations: one list of messages, or objects with
// one each, whose other keys stay columns.
func readTranscripts(documents []document) ([]Row, error) {
	if messages, ok := oneTranscript(documents); ok {
		fields, err := conversation(messages)
		if err != nil {
			return nil, whole("%v", err)
		}
		return []Row{{N: 1, Line: documents[0].line, Fields: fields}}, nil
	}
	var rows []Row
	var problems Problems
	for i, d := range documents {
		fields, err := transcriptFields(d.value)
		if err != nil {
			problems = append(problems, Problem{Row: i + 1, Line: d.line, Message: err.Error()})
			continue
		}
		rows = append(rows, Row{N: i + 1, Line: d.line, Fields: fields})
	}
	return rows, problems.err()
}

// oneTranscript tells whether the documents are the messages of one conversation.
func oneTranscript(documents []document) (messages []message, ok bool) {
	for _, d := range documents {
		m, ok := readMessage(d.value)
		if !ok {
			return nil, false
		}
		messages = append(messages, m)
	}
	return messages, len(messages) > 0
}

// transcriptFields are the columns of one conversation. What an example says
// was expected stands before what the conversation came to.
func transcriptFields(v any) (map[string]any, error) {
	object, isObject := v.(map[string]any)
	if !isObject {
		list, ok := messageList(v)
		if !ok {
			return nil, fmt.Errorf("is %s, not a conversation: a list of {role, content}", kindOf(v))
		}
		return conversation(list)
	}
	fields := maps.Clone(object)
	for _, key := range []string{"messages", "input", "conversation", "transcript"} {
		list, ok := messageList(object[key])
		if !ok {
			continue
		}
		delete(fields, key)
		_, expected := object["ideal"]
		said, err := conversation(list)
		if err != nil && !expected {
			return nil, err
		}
		if expected { // the conversation ends with the question
			said = question(list)
		}
		for name, value := range said {
			if _, taken := fields[name]; !taken {
				fields[name] = value
			}
		}
		return fields, nil
	}
	if len(object) == 0 || object["item"] == nil && object["ideal"] == nil {
		return nil, fmt.Errorf("has no conversation: a list of {role, content} under messages")
	}
	return fields, nil
}

func messageList(v any) ([]message, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	var messages []message
	for _, item := range list {
		m, ok := readMessage(item)
		if !ok {
			return nil, false
		}
		messages = append(messages, m)
	}
	return messages, len(messages) > 0
}

// readMessage reads a message of the shapes that vendors and the conventions for
// traces have.
func readMessage(v any) (message, bool) {
	object, ok := v.(map[string]any)
	if !ok {
		return message{}, false
	}
	role, ok := object["role"].(string)
	if !ok || role == "" {
		return message{}, false
	}
	m := message{role: role}
	for _, key := range []string{"content", "parts"} {
		m.read(object[key])
	}
	if calls, ok := object["tool_calls"].([]any); ok {
		for _, c := range calls {
			m.call(c)
		}
	}
	return m, true
}

// read takes a content: a text, or a list of parts.
func (m *message) read(content any) {
	switch v := content.(type) {
	case string:
		m.say(v)
	case []any:
		for _, p := range v {
			m.part(p)
		}
	}
}

func (m *message) part(v any) {
	part, ok := v.(map[string]any)
	if !ok {
		if text, ok := v.(string); ok {
			m.say(text)
		}
		return
	}
	switch part["type"] {
	case "text", "input_text", "output_text":
		m.say(cmp.Or(textOf(part["text"]), textOf(part["content"])))
	case "tool_call", "tool_use", "function_call":
		m.call(part)
	}
}

func (m *message) say(text string) {
	if m.text != "" && text != "" {
		m.text += "\n"
	}
	m.text += text
}

func (m *message) call(v any) {
	object, ok := v.(map[string]any)
	if !ok {
		return
	}
	if f, ok := object["function"].(map[string]any); ok {
		object = f
	}
	c := toolCall{Name: textOf(object["name"]), Arguments: object["arguments"]}
	if c.Arguments == nil {
		c.Arguments = object["input"]
	}
	if raw, ok := c.Arguments.(string); ok {
		c.Arguments = parsed(raw)
	}
	if c.Name != "" {
		m.calls = append(m.calls, c)
	}
}

// parsed is a text that is JSON as its value, else the text.
func parsed(raw string) any {
	dec := json.NewDecoder(strings.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || dec.More() {
		return raw
	}
	return v
}

func textOf(v any) string {
	s, _ := v.(string)
	return s
}

// conversation makes columns of a conversation: the last thing the user said is
// the input, the last thing the agent said the answer.
func conversation(messages []message) (map[string]any, error) {
	answer := -1
	for i, m := range messages {
		if isAgent(m.role) && strings.TrimSpace(m.text) != "" {
			answer = i
		}
	}
	if answer < 0 {
		return nil, fmt.Errorf("has no answer: no message of an assistant with a text")
	}
	fields := question(messages[:answer])
	if fields[toInput] == nil {
		return nil, fmt.Errorf("has no question: no message of a user before the answer")
	}
	fields[toExpected] = messages[answer].text
	return fields, nil
}

func isAgent(role string) bool { return role == "assistant" || role == "model" || role == "ai" }

func isUser(role string) bool { return role == "user" || role == "human" }

// question makes columns of what came before an answer.
func question(messages []message) map[string]any {
	fields := map[string]any{}
	var calls []any
	turns := 0
	list := make([]any, 0, len(messages))
	for _, m := range messages {
		if isUser(m.role) && m.text != "" {
			fields[toInput] = m.text
			turns++
		}
		for _, c := range m.calls {
			if len(calls) < maxToolCalls {
				calls = append(calls, map[string]any{"name": c.Name, "arguments": c.Arguments})
			}
		}
		list = append(list, map[string]any{"role": m.role, "content": m.text})
	}
	fields["messages"] = list
	notes := map[string]any{}
	if len(calls) > 0 {
		notes["tool_calls"] = calls
	}
	if turns > 1 {
		notes["turns"] = turns
	}
	if len(notes) > 0 {
		fields[toMetadata] = notes
	}
	return fields
}
