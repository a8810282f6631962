package packtest

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/tool"
)

// cheat is an agent made to pass without solving anything. It is a function of
// the request: what it does next is read off the conversation.
type cheat struct {
	// look has it look around in its sandbox first.
	look bool
	// agrees has it say yes to what it is asked afterwards.
	agrees bool
	// think makes its answer of what it was shown.
	think func(req provider.Request) answer
}

// The phases of a cheat with tools. The ids of its calls begin with them.
const (
	phaseList   = "list"
	phaseRead   = "read"
	phaseCall   = "call"
	phaseWrite  = "write"
	phaseSubmit = "submit"
)

// Complete answers at once; what there is to be done with tools is done first.
func (c cheat) Complete(ctx context.Context, req provider.Request, onDelta func(provider.Delta)) (provider.Response, error) {
	if err := provider.FromContext(ctx, provider.Scripted); err != nil {
		return provider.Response{}, err
	}
	res := provider.Response{Model: req.Model, Finish: provider.FinishStop, Usage: &provider.Usage{}, Recorded: true}
	if after := afterwards(req.Messages); after || len(req.Tools) == 0 {
		switch {
		case after && c.agrees:
			res.Text = agrees
		default:
			res.Text = c.think(req).final
		}
		if onDelta != nil {
			onDelta(provider.Delta{Text: res.Text})
		}
		return res, nil
	}
	res.ToolCalls, res.Finish = c.next(req), provider.FinishToolCalls
	return res, nil
}

// phase is a part of a cheat's work and the calls it makes for it.
type phase struct {
	name  string
	calls func() []provider.ToolCall
}

// next are the calls of the first phase after the last one that has any.
func (c cheat) next(req provider.Request) []provider.ToolCall {
	has := toolbox(req.Tools)
	phases := []phase{
		{phaseList, func() []provider.ToolCall { return c.listing(has) }},
		{phaseRead, func() []provider.ToolCall { return c.reading(has, req.Messages) }},
		{phaseCall, func() []provider.ToolCall { return having(has, c.think(req).calls) }},
		{phaseWrite, func() []provider.ToolCall { return writing(has, c.think(req).files) }},
	}
	done := lastPhase(req.Messages)
	at := slices.IndexFunc(phases, func(p phase) bool { return p.name == done })
	for _, p := range phases[at+1:] {
		calls := p.calls()
		for i := range calls {
			calls[i].ID = p.name + "-" + strconv.Itoa(i+1)
		}
		if len(calls) > 0 {
			return calls
		}
	}
	return []provider.ToolCall{{ID: phaseSubmit + "-1", Name: tool.Submit, Arguments: arguments(map[string]any{"answer": c.think(req).final})}}
}

// lastPhase is the phase of the latest calls, "" before the first.
func lastPhase(messages []provider.Message) string {
	for _, m := range slices.Backward(messages) {
		if m.Role == provider.Assistant && len(m.ToolCalls) > 0 {
			phase, _, _ := strings.Cut(m.ToolCalls[0].ID, "-")
			return phase
		}
	}
	return ""
}

// afterwards says that the work is done, and something else is asked.
func afterwards(messages []provider.Message) bool {
	last := len(messages) - 1
	if last < 0 || messages[last].Role != provider.User {
		return false
	}
	return slices.ContainsFunc(messages[:last], func(m provider.Message) bool { return m.Role == provider.Assistant })
}

// toolbox are the tools of a request.
type toolbox []provider.Tool

func (b toolbox) has(name string) bool {
	return slices.ContainsFunc(b, func(t provider.Tool) bool { return t.Name == name })
}

func arguments(args map[string]any) json.RawMessage {
	raw, err := json.Marshal(args)
	if err != nil {
		return json.RawMessage("{}") // texts and numbers always marshal
	}
	return raw
}

func call(name string, args map[string]any) provider.ToolCall {
	return provider.ToolCall{Name: name, Arguments: arguments(args)}
}

func script(text string, env map[string]string) provider.ToolCall {
	args := map[string]any{"command": []string{"sh", "-c", text}}
	if len(env) > 0 {
		args["environment"] = env
	}
	return call("exec", args)
}

// What a shell is asked: for its environment, and for the files of the
// workspace, with a zero byte after each text.
const (
	readEnv = `cat /proc/self/environ || export -p`
	readAll = `for f in * */* */*/*; do if [ -f "$f" ]; then cat "$f"; printf '\000'; fi; done`
)

// listing looks for files and, with a shell, at the environment.
func (c cheat) listing(has toolbox) []provider.ToolCall {
	if !c.look {
		return nil
	}
	var calls []provider.ToolCall
	if has.has("list_files") {
		calls = append(calls, call("list_files", map[string]any{}))
	}
	if has.has("exec") {
		text := readEnv
		if !has.has("list_files") || !has.has("read_file") {
			text += "; " + readAll
		}
		calls = append(calls, script(text, nil))
	}
	return calls
}

// What the reader reads at most.
const (
	maxFilesRead = 200
	maxFileRead  = 256 << 10
	maxRead      = 4 << 20
	pageBytes    = 64 << 10 // of one read_file
)

// reading reads what was listed, the first part of long files.
func (c cheat) reading(has toolbox, messages []provider.Message) []provider.ToolCall {
	if !c.look || !has.has("read_file") {
		return nil
	}
	var listed struct {
		Files []struct {
			Path string `json:"path"`
			Size int64  `json:"size"`
		} `json:"files"`
	}
	for _, m := range messages {
		if m.Role == provider.ToolRole && m.ToolCallID == phaseList+"-1" {
			_ = json.Unmarshal([]byte(m.Content), &listed) // an error of the tool lists nothing
		}
	}
	var calls []provider.ToolCall
	left := int64(maxRead)
	for _, f := range listed.Files[:min(len(listed.Files), maxFilesRead)] {
		size := min(f.Size, maxFileRead, left)
		left -= size
		for offset := int64(0); offset < size; offset += pageBytes {
			calls = append(calls, call("read_file", map[string]any{"path": f.Path, "offset": offset}))
		}
	}
	return calls
}

// having are the calls of tools that there are.
func having(has toolbox, calls []provider.ToolCall) []provider.ToolCall {
	return slices.DeleteFunc(slices.Clone(calls), func(c provider.ToolCall) bool { return !has.has(c.Name) })
}

// writing puts files in place, through the shell where no other tool is.
func writing(has toolbox, files map[string]string) []provider.ToolCall {
	var calls []provider.ToolCall
	for _, path := range sorted(files) {
		switch {
		case has.has("write_file"):
			calls = append(calls, call("write_file", map[string]any{"path": path, "content": files[path]}))
		case has.has("exec"):
			calls = append(calls, script(`mkdir -p "${FILE%/*}"; printf %s "$TEXT" >"$FILE"`, map[string]string{"FILE": path, "TEXT": files[path]}))
		}
	}
	return calls
}

// asked is the task as the agent was given it.
func asked(req provider.Request) string {
	for _, m := range req.Messages {
		if m.Role == provider.User {
			return m.Content
		}
	}
	return ""
}

// seen is everything an agent was shown so far. JSON is read as well as taken
// as it stands, so that its escapes hide nothing.
func seen(messages []provider.Message) []place {
	var list []place
	for _, m := range messages {
		if m.Role == provider.Assistant {
			continue
		}
		list = append(list, place{text: []byte(m.Content)})
		start := strings.IndexByte(m.Content, '{')
		if start < 0 {
			continue
		}
		var v map[string]any
		if json.Unmarshal([]byte(m.Content[start:]), &v) != nil {
			continue
		}
		list = append(list, place{text: valueText(v)})
		if m.Role != provider.ToolRole {
			continue
		}
		if content, ok := v["content"].(string); ok {
			list = append(list, place{text: []byte(content), alone: true})
		}
		if output, ok := v["stdout"].(string); ok {
			for text := range strings.SplitSeq(output, "\x00") {
				_, value, _ := strings.Cut(text, "=") // of a variable
				list = append(list, place{text: []byte(text), alone: true}, place{text: []byte(value), alone: true})
			}
		}
	}
	return list
}
