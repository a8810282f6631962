package proxy

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
)

// request is a call that was let through, as it is forwarded.
type request struct {
	route
	body     []byte
	messages []provider.Message
	tools    []string
	askUsage bool // the program asked for the chunk that tells the usage, so that it gets it
}

// object is a JSON object whose values are left as they are.
type object map[string]json.RawMessage

// decided are the keys of a format's request that are looked at here. Whoever
// writes one of them another way means to be read another way by the provider.
var decided = map[endpoint][]string{
	chat: {"model", "stream", "stream_options", "max_tokens", "max_completion_tokens", "n", "messages", "tools", "functions",
		"models", "route", "plugins", "web_search_options", "background", "service_tier"},
	responses: {"model", "stream", "max_output_tokens", "input", "instructions", "tools", "background", "models", "route", "plugins", "service_tier"},
	messages:  {"model", "stream", "max_tokens", "messages", "system", "tools", "mcp_servers", "container", "service_tier"},
	generate:  {"generationConfig", "contents", "systemInstruction", "tools", "cachedContent", "model"},
}

// refused are those that ask for another model than the named one, or for more
// than a reply.
var refused = map[endpoint][]string{
	chat:      {"models", "route", "plugins", "web_search_options", "background"},
	responses: {"models", "route", "plugins", "background"},
	messages:  {"mcp_servers", "container"},
	generate:  {"cachedContent", "model"},
}

// read judges a request's body and writes it anew, so that nobody reads it
// otherwise than it was judged.
func (s *Server) read(r route, body []byte) (request, *Refusal) {
	req := request{route: r}
	if err := unique(body); err != nil {
		return req, refuse(http.StatusBadRequest, "invalid_json", "the request cannot be read: %v", err)
	}
	o, bad := decode(body)
	if bad != nil {
		return req, bad
	}
	if bad := o.spelled(r.to); bad != nil {
		return req, bad
	}
	for _, key := range refused[r.to] {
		if v := o[key]; set(v) && string(v) != "false" {
			return req, refuse(http.StatusBadRequest, "unsupported_parameter", "%q is not let through: it asks the provider for more than a reply of the model", key)
		}
	}
	if tier := text(o["service_tier"]); tier == "priority" || tier == "scale" {
		return req, refuse(http.StatusBadRequest, "unsupported_parameter", "service_tier %q is not let through: its price is another one", tier)
	}
	if r.to != generate {
		req.model, req.stream = text(o["model"]), string(o["stream"]) == "true"
	}
	if bad := s.permitted(req.model); bad != nil {
		return req, bad
	}
	if bad := s.bound(&req, o); bad != nil {
		return req, bad
	}
	conv, bad := conversationOf(r.to, o)
	if bad != nil {
		return req, bad
	}
	if bad := s.reaches(r.to, o, conv); bad != nil {
		return req, bad
	}
	req.messages, req.tools = conv.messages, toolNames(r.to, o["tools"])
	req.usage(o)
	var err error
	if req.body, err = json.Marshal(o); err != nil {
		return req, refuse(http.StatusBadRequest, "invalid_json", "the request cannot be read: %v", err)
	}
	return req, nil
}

func decode(body []byte) (object, *Refusal) {
	var o object
	if err := json.Unmarshal(body, &o); err != nil || o == nil {
		return nil, refuse(http.StatusBadRequest, "invalid_json", "the request is not a JSON object")
	}
	return o, nil
}

// spelled refuses a decided key in another spelling; Gemini knows two for each,
// and gets the usual one.
func (o object) spelled(to endpoint) *Refusal {
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	for _, key := range slices.Sorted(maps.Keys(o)) {
		for _, known := range decided[to] {
			if key == known || plain(key) != plain(known) {
				continue
			}
			if _, twice := o[known]; to != generate || twice || strings.ToLower(key) != key {
				return refuse(http.StatusBadRequest, "invalid_request", "the key %q must be written %q", provider.Excerpt(key, 80), known)
			}
			o[known] = o[key]
			delete(o, key)
		}
	}
	return nil
}

// set tells whether a value is there and not null.
func set(v json.RawMessage) bool { return len(v) > 0 && string(v) != "null" }

func text(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

func (s *Server) permitted(model string) *Refusal {
	if slices.Contains(s.o.Models, model) {
		return nil
	}
	return refuse(http.StatusNotFound, "model_not_found", "the model %q is not permitted here: use %s",
		provider.Excerpt(model, 200), strings.Join(s.o.Models, ", "))
}

// bound keeps the reply within the limit on its tokens. A request that names none
// gets it.
func (s *Server) bound(req *request, o object) *Refusal {
	if n := o["n"]; set(n) && string(n) != "1" {
		return refuse(http.StatusBadRequest, "unsupported_parameter", "n must be 1: each reply is a call of its own")
	}
	keys := map[endpoint][]string{chat: {"max_completion_tokens", "max_tokens"}, responses: {"max_output_tokens"}, messages: {"max_tokens"}}[req.to]
	if req.to == generate {
		return s.boundGemini(o)
	}
	absent := keys[0]
	if req.to == chat && !s.newField {
		absent = "max_tokens"
	}
	return o.clamp(keys, absent, s.o.MaxOutputTokens)
}

func (s *Server) boundGemini(o object) (bad *Refusal) {
	config := object{}
	if set(o["generationConfig"]) {
		if config, bad = decode(o["generationConfig"]); bad != nil {
			return refuse(http.StatusBadRequest, "invalid_request", "generationConfig is not an object")
		}
	}
	if bad := config.geminiConfig(); bad != nil {
		return bad
	}
	if bad := config.clamp([]string{"maxOutputTokens"}, "maxOutputTokens", s.o.MaxOutputTokens); bad != nil {
		return bad
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return refuse(http.StatusBadRequest, "invalid_json", "generationConfig cannot be read")
	}
	o["generationConfig"] = raw
	return nil
}

// geminiConfig takes both spellings of what is looked at in a generationConfig.
func (o object) geminiConfig() *Refusal {
	for old, usual := range map[string]string{"max_output_tokens": "maxOutputTokens", "candidate_count": "candidateCount"} {
		if v, ok := o[old]; ok {
			if _, twice := o[usual]; twice {
				return refuse(http.StatusBadRequest, "invalid_request", "%q and %q are the same: write one", old, usual)
			}
			o[usual] = v
			delete(o, old)
		}
	}
	if n := o["candidateCount"]; set(n) && string(n) != "1" {
		return refuse(http.StatusBadRequest, "unsupported_parameter", "candidateCount must be 1: each reply is a call of its own")
	}
	return nil
}

// clamp lowers the keys that are there to a limit, and sets absent when none is.
// A limit of zero is none.
func (o object) clamp(keys []string, absent string, limit int64) *Refusal {
	if limit <= 0 {
		return nil
	}
	most := json.RawMessage(strconv.FormatInt(limit, 10))
	there := false
	for _, key := range keys {
		if !set(o[key]) {
			delete(o, key)
			continue
		}
		there = true
		n, err := strconv.ParseInt(string(o[key]), 10, 64)
		if err != nil {
			return refuse(http.StatusBadRequest, "invalid_request", "%s must be a whole number", key)
		}
		if n > limit {
			o[key] = most
		}
	}
	if !there {
		o[absent] = most
	}
	return nil
}

// usage has OpenAI's chat completions tell the usage of a stream, which they do
// only when asked.
func (r *request) usage(o object) {
	if r.to != chat || !r.stream {
		return
	}
	options := object{}
	if set(o["stream_options"]) {
		_ = json.Unmarshal(o["stream_options"], &options) // what is no object is the provider's to refuse
	}
	if r.askUsage = string(options["include_usage"]) == "true"; r.askUsage {
		return
	}
	if options == nil {
		options = object{}
	}
	options["include_usage"] = json.RawMessage("true")
	if raw, err := json.Marshal(options); err == nil {
		o["stream_options"] = raw
	}
}

// ownTools are the kinds of tools that the program runs itself; any other is run
// by the provider.
var ownTools = map[endpoint][]string{
	chat:      {"function", "custom"},
	responses: {"function", "custom", "local_shell", "shell", "apply_patch"},
	messages:  {"custom", "bash_", "text_editor_", "computer_", "memory_"},
	generate:  {"functionDeclarations", "function_declarations"},
}

// reaches refuses what would have the provider go to the network on behalf of a
// program that may not.
func (s *Server) reaches(to endpoint, o object, conv conversation) *Refusal {
	if s.o.Reach {
		return nil
	}
	if conv.remote {
		return refuse(http.StatusBadRequest, "network_not_permitted", "content by its address is not let through: the provider would fetch it; send the bytes")
	}
	var tools []object
	if set(o["tools"]) && json.Unmarshal(o["tools"], &tools) != nil {
		return refuse(http.StatusBadRequest, "invalid_request", "tools is not a list of objects")
	}
	for _, t := range tools {
		if kind, own := ownTool(to, t); !own {
			return refuse(http.StatusBadRequest, "network_not_permitted", "the tool %q is not let through: the provider runs it", provider.Excerpt(kind, 80))
		}
	}
	return nil
}

func ownTool(to endpoint, t object) (kind string, own bool) {
	if to == generate {
		for key := range t {
			if !slices.Contains(ownTools[to], key) {
				return key, false
			}
		}
		return "", true
	}
	kind = text(t["type"])
	if to == messages && !set(t["type"]) {
		return "", true
	}
	return kind, slices.ContainsFunc(ownTools[to], func(known string) bool {
		return kind == known || strings.HasSuffix(known, "_") && strings.HasPrefix(kind, known)
	})
}

// toolNames are the names of the tools that a model is offered.
func toolNames(to endpoint, raw json.RawMessage) []string {
	var list []struct {
		Name     string                  `json:"name"`
		Function struct{ Name string }   `json:"function"`
		Declared []struct{ Name string } `json:"functionDeclarations"`
		Old      []struct{ Name string } `json:"function_declarations"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	var names []string
	add := func(name string) {
		if name != "" && len(names) < maxTools {
			names = append(names, provider.Excerpt(name, maxName))
		}
	}
	for _, t := range list {
		add(t.Name)
		add(t.Function.Name)
		for _, d := range slices.Concat(t.Declared, t.Old) {
			add(d.Name)
		}
	}
	return names
}
