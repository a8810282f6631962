package proxy

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
)

// kind is what a piece of a request asks of the provider.
type kind int

const (
	unlisted kind = iota // not known here
	own                  // text, and what the program did itself
	media                // its tokens are not its bytes
	remote               // the provider goes to the network for it, or has done so
)

// pieces are the types of messages' parts, items and blocks.
var pieces = map[endpoint]map[string]kind{
	chat: {
		"text": own, "refusal": own, "thinking": own, "reasoning": own,
		"image_url": media, "input_audio": media, "file": media, "video_url": media, "document_url": media,
	},
	responses: {
		"input_text": own, "output_text": own, "text": own, "refusal": own, "reasoning_text": own, "summary_text": own,
		"input_image": media, "input_file": media, "input_audio": media, "computer_screenshot": media,
		"message": own, "function_call": own, "function_call_output": own, "custom_tool_call": own, "custom_tool_call_output": own, "reasoning": own,
		"local_shell_call": own, "local_shell_call_output": own, "shell_call": own, "shell_call_output": own, "apply_patch_call": own, "apply_patch_call_output": own,
		"web_search_call": remote, "file_search_call": remote, "code_interpreter_call": remote, "image_generation_call": remote,
		"computer_call": remote, "computer_call_output": remote,
		"mcp_call": remote, "mcp_list_tools": remote, "mcp_approval_request": remote, "mcp_approval_response": remote,
	},
	messages: {
		"text": own, "thinking": own, "redacted_thinking": own, "tool_use": own, "tool_result": own,
		"image": media, "document": media, "search_result": media,
		"server_tool_use": remote, "web_search_tool_result": remote, "web_fetch_tool_result": remote, "code_execution_tool_result": remote,
		"bash_code_execution_tool_result": remote, "text_editor_code_execution_tool_result": remote, "mcp_tool_use": remote, "mcp_tool_result": remote,
	},
	generate: { // the keys of a part
		"text": own, "thought": own, "thoughtSignature": own, "functionCall": own, "functionResponse": own,
		"inlineData": media, "videoMetadata": media, "mediaResolution": media,
		"fileData": remote, "executableCode": remote, "codeExecutionResult": remote,
	},
}

// admit lets a piece through, or says what to send in its place.
func (s *Server) admit(what string, k kind) *Refusal {
	what = provider.Excerpt(what, 80)
	switch {
	case k == unlisted:
		return refuse(http.StatusBadRequest, "unsupported_content", "content of the type %q is not let through: it is not known here; send text", what)
	case k == media && s.o.Bounded:
		return refuse(http.StatusBadRequest, "unsupported_content", "content of the type %q is not let through: a limit on tokens or money is to be kept, and what it comes to is not known beforehand; send text", what)
	case k == remote && !s.o.Reach:
		return refuse(http.StatusBadRequest, "network_not_permitted", "content of the type %q is not let through: the provider goes to the network for it; send what is there instead of its address", what)
	}
	return nil
}

// content judges all that a request holds. What is of another shape than the
// format's is refused, since nobody knows how a provider reads it.
func (s *Server) content(to endpoint, o object) *Refusal {
	switch to {
	case chat:
		return each(o["messages"], "messages", func(m object) *Refusal {
			if set(m["audio"]) {
				return kept("audio")
			}
			return each(m["content"], "content", s.part)
		})
	case responses:
		return each(o["input"], "input", s.item)
	case messages:
		if bad := each(o["system"], "system", s.block); bad != nil {
			return bad
		}
		return each(o["messages"], "messages", func(m object) *Refusal { return each(m["content"], "content", s.block) })
	}
	turn := func(t object) *Refusal { return each(t["parts"], "parts", s.geminiPart) }
	if bad := each(o["systemInstruction"], "systemInstruction", turn); bad != nil {
		return bad
	}
	return each(o["contents"], "contents", turn)
}

// each judges the objects of a list, or the one that stands in its place. A text
// has none.
func each(raw json.RawMessage, what string, judge func(object) *Refusal) *Refusal {
	if !set(raw) || raw[0] == '"' {
		return nil
	}
	list := []object{}
	if raw[0] == '{' {
		raw = slices.Concat(json.RawMessage("["), raw, json.RawMessage("]"))
	}
	if json.Unmarshal(raw, &list) != nil {
		return refuse(http.StatusBadRequest, "invalid_request", "%s is neither a text nor a list of objects", what)
	}
	for _, o := range list {
		if o == nil {
			return refuse(http.StatusBadRequest, "invalid_request", "%s holds what is no object", what)
		}
		if bad := judge(o); bad != nil {
			return bad
		}
	}
	return nil
}

// kept refuses what only names something that the provider has.
func kept(what string) *Refusal {
	return refuse(http.StatusBadRequest, "unsupported_content", "%q is not let through: it names what the provider has kept; send what it stands for", what)
}

// far says whether something is elsewhere: an address, or an object with a url.
func far(raw json.RawMessage) bool {
	at := text(raw)
	if at == "" && set(raw) {
		o, _ := decode(raw) // what is no object has no url
		at = text(o["url"])
	}
	return at != "" && !strings.HasPrefix(strings.ToLower(at), "data:")
}

// fetched says whether a file that should be in the request is an address.
func fetched(data json.RawMessage) bool { return far(data) && strings.Contains(text(data), "://") }

// part is a piece of a message of OpenAI's chat completions. What is beside its
// type counts as well: some servers look at nothing else.
func (s *Server) part(p object) *Refusal {
	name := text(p["type"])
	k := pieces[chat][name]
	file, _ := decode(p["file"]) // most have none
	if set(file["file_id"]) || set(p["file_id"]) {
		return kept("file_id")
	}
	for key, other := range pieces[chat] {
		if other == media && set(p[key]) && k != unlisted {
			k = max(k, media)
			if far(p[key]) || fetched(file["file_data"]) {
				k = remote
			}
		}
	}
	return s.admit(name, k)
}

// item is one of the Responses API's; a message may leave its type out.
func (s *Server) item(it object) *Refusal {
	name := text(it["type"])
	if !set(it["type"]) && set(it["role"]) {
		name = "message"
	}
	if name == "" || name == "item_reference" {
		return kept("item_reference")
	}
	if bad := s.admit(name, pieces[responses][name]); bad != nil {
		return bad
	}
	if name == "reasoning" && s.o.Bounded && !set(it["encrypted_content"]) {
		return refuse(http.StatusBadRequest, "unsupported_content", `"reasoning" without its encrypted_content is not let through: a limit on tokens or money is to be kept, and what is behind the id %q is not known; ask for include ["reasoning.encrypted_content"] with every request`,
			provider.Excerpt(text(it["id"]), 80))
	}
	switch name {
	case "message":
		return each(it["content"], "content", s.itemPart)
	case "function_call_output", "custom_tool_call_output", "computer_call_output":
		return each(it["output"], "output", s.itemPart)
	}
	return nil
}

// itemPart is a piece of a message, or of a tool's result, of the Responses API.
func (s *Server) itemPart(p object) *Refusal {
	name := text(p["type"])
	k := pieces[responses][name]
	if set(p["file_id"]) {
		return kept("file_id")
	}
	if k != unlisted && (set(p["image_url"]) || set(p["file_data"])) {
		k = max(k, media)
	}
	if k != unlisted && (set(p["file_url"]) || far(p["image_url"]) || fetched(p["file_data"])) {
		k = remote
	}
	return s.admit(name, k)
}

// block is a piece of Anthropic's messages.
func (s *Server) block(b object) *Refusal {
	name := text(b["type"])
	k := pieces[messages][name]
	if bad := s.cacheTime(b); bad != nil {
		return bad
	}
	source := object{}
	if v := b["source"]; k == media && set(v) && v[0] == '{' {
		source, _ = decode(v) // it is an object
		switch text(source["type"]) {
		case "base64", "text", "content":
		case "url":
			k = remote
		default:
			return kept("source." + provider.Excerpt(text(source["type"]), 40))
		}
	}
	if bad := s.admit(name, k); bad != nil {
		return bad
	}
	if name == "tool_result" || name == "search_result" {
		return each(b["content"], "content", s.block)
	}
	return each(source["content"], "source.content", s.block)
}

// geminiPart is a piece of Gemini's contents, which says by its keys what it is.
func (s *Server) geminiPart(p object) *Refusal {
	for key := range p {
		if bad := s.admit(key, pieces[generate][camel(key)]); bad != nil {
			return bad
		}
	}
	for _, key := range []string{"functionResponse", "function_response"} {
		if v := p[key]; set(v) && v[0] == '{' {
			result, _ := decode(v) // it is an object
			if bad := each(result["parts"], key+".parts", s.geminiPart); bad != nil {
				return bad
			}
		}
	}
	return nil
}

// ownTools are the kinds of tools that the program runs itself; any other is run
// by the provider.
var ownTools = map[endpoint][]string{
	chat:      {"function", "custom"},
	responses: {"function", "custom", "local_shell", "shell", "apply_patch"},
	messages:  {"custom", "bash_", "text_editor_", "computer_", "memory_"},
	generate:  {"functionDeclarations", "function_declarations"},
}

// What a provider adds to a request, in tokens, beside its bytes: to the
// conversation, to a set of tools, and to each tool that it describes itself. They
// are more than any of the known ones adds.
const (
	addedAlways = 64
	addedTools  = 1024
	addedOwn    = 1024
)

// tools judges a request's tools, and says how many tokens the provider can add
// for them.
func (s *Server) tools(to endpoint, o object) (added int64, bad *Refusal) {
	added = addedAlways
	if set(o["tools"]) || set(o["functions"]) {
		added += addedTools
	}
	bad = each(o["tools"], "tools", func(t object) *Refusal {
		name, owned := ownTool(to, t)
		if !owned && !s.o.Reach {
			return refuse(http.StatusBadRequest, "network_not_permitted", "the tool %q is not let through: the provider runs it", provider.Excerpt(name, 80))
		}
		if name != "" && name != "function" && name != "custom" {
			added += addedOwn
		}
		return s.cacheTime(t)
	})
	return added, bad
}

func ownTool(to endpoint, t object) (name string, owned bool) {
	if to == generate {
		for key := range t {
			if !slices.Contains(ownTools[to], key) {
				return key, false
			}
		}
		return "", true
	}
	name = text(t["type"])
	if to == messages && !set(t["type"]) {
		return "", true
	}
	if where, _ := decode(t["environment"]); where != nil && text(where["type"]) != "local" {
		return name + " in " + text(where["type"]), false // a shell of the provider's
	}
	return name, slices.ContainsFunc(ownTools[to], func(known string) bool {
		return name == known || strings.HasSuffix(known, "_") && strings.HasPrefix(name, known)
	})
}
