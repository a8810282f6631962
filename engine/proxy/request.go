package proxy

import (
	"cmp"
	"encoding/json"
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
	parts    object // the body, as it was read
	messages []provider.Message
	tools    []string
	added    int64 // tokens that the provider can add to its bytes
	output   int64 // tokens that the reply may have
	least    int64 // tokens that it must be let have, for what it is asked to think
	askUsage bool  // the program asked for the chunk that tells the usage, so that it gets it
}

// object is a JSON object whose values are left as they are.
type object map[string]json.RawMessage

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
	if bad := o.known(r.to, allowed[r.to]); bad != nil {
		return req, bad
	}
	if r.to != generate {
		req.model, req.stream = text(o["model"]), string(o["stream"]) == "true"
	}
	if bad := s.permitted(req.model); bad != nil {
		return req, bad
	}
	if req.output, bad = s.bound(r.to, o, s.o.MaxOutputTokens); bad != nil {
		return req, bad
	}
	if bad := cmp.Or(s.values(r.to, o), s.content(r.to, o)); bad != nil {
		return req, bad
	}
	if req.added, bad = s.tools(r.to, o); bad != nil {
		return req, bad
	}
	conv, bad := conversationOf(r.to, o)
	if bad != nil {
		return req, bad
	}
	req.messages, req.tools = conv.messages, toolNames(r.to, o["tools"])
	req.usage(o)
	req.parts, req.least = o, o.thought()+1
	return req, req.write()
}

// write makes the body of what was read.
func (r *request) write() *Refusal {
	body, err := json.Marshal(r.parts)
	if err != nil {
		return refuse(http.StatusBadRequest, "invalid_json", "the request cannot be read: %v", err)
	}
	r.body = body
	return nil
}

func decode(body []byte) (object, *Refusal) {
	var o object
	if err := json.Unmarshal(body, &o); err != nil || o == nil {
		return nil, refuse(http.StatusBadRequest, "invalid_json", "the request is not a JSON object")
	}
	return o, nil
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
	bad := refuse(http.StatusNotFound, "model_not_found", "the model %q is not permitted here: use %s",
		provider.Excerpt(model, 200), strings.Join(s.o.Models, ", "))
	bad.Model = provider.Excerpt(model, 200)
	return bad
}

// lower gives the reply of a request that was let through fewer tokens.
func (s *Server) lower(r *request, limit int64) (bad *Refusal) {
	if r.output, bad = s.bound(r.to, r.parts, limit); bad != nil {
		return bad
	}
	return r.write()
}

// bound keeps the reply within a limit on its tokens, and says how many it may
// have. A request that names none gets the limit.
func (s *Server) bound(to endpoint, o object, limit int64) (int64, *Refusal) {
	if n := o["n"]; set(n) && string(n) != "1" {
		return 0, refuse(http.StatusBadRequest, "unsupported_parameter", "n must be 1: each reply is a call of its own")
	}
	keys := map[endpoint][]string{chat: {"max_completion_tokens", "max_tokens"}, responses: {"max_output_tokens"}, messages: {"max_tokens"}}[to]
	if to == generate {
		return boundGemini(o, limit)
	}
	absent := keys[0]
	if to == chat && !s.newField {
		absent = "max_tokens"
	}
	return o.clamp(keys, absent, limit)
}

func boundGemini(o object, limit int64) (output int64, bad *Refusal) {
	config := object{}
	if set(o["generationConfig"]) {
		if config, bad = decode(o["generationConfig"]); bad != nil {
			return 0, refuse(http.StatusBadRequest, "invalid_request", "generationConfig is not an object")
		}
	}
	if bad := config.known(generate, allowedIn["generationConfig"]); bad != nil {
		return 0, bad
	}
	if n := config["candidateCount"]; set(n) && string(n) != "1" {
		return 0, refuse(http.StatusBadRequest, "unsupported_parameter", "candidateCount must be 1: each reply is a call of its own")
	}
	if v := config["responseModalities"]; set(v) && !strings.EqualFold(string(v), `["text"]`) {
		return 0, unpermitted("responseModalities", "only text is asked for: leave it out")
	}
	if output, bad = config.clamp([]string{"maxOutputTokens"}, "maxOutputTokens", limit); bad != nil {
		return 0, bad
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return 0, refuse(http.StatusBadRequest, "invalid_json", "generationConfig cannot be read")
	}
	o["generationConfig"] = raw
	return output, nil
}

// clamp lowers the keys that are there to a limit, sets absent when none is, and
// returns the most that they are then. A limit of zero is none.
func (o object) clamp(keys []string, absent string, limit int64) (output int64, bad *Refusal) {
	if limit <= 0 {
		return 0, nil
	}
	most := json.RawMessage(strconv.FormatInt(limit, 10))
	for _, key := range keys {
		if !set(o[key]) {
			delete(o, key)
			continue
		}
		n, err := strconv.ParseInt(string(o[key]), 10, 64)
		if err != nil || n < 1 { // some servers take less for no bound at all
			return 0, refuse(http.StatusBadRequest, "invalid_request", "%s must be a whole number of at least 1", key)
		}
		if n > limit {
			o[key] = most
		}
		output = max(output, min(n, limit))
	}
	if output == 0 {
		o[absent], output = most, limit
	}
	return output, nil
}

// thought is how many tokens of its reply a request leaves to thinking. Providers
// refuse one whose reply may not have more than these.
func (o object) thought() (most int64) {
	for key, of := range map[string]string{"thinking": "budget_tokens", "reasoning": "max_tokens"} {
		if v := o[key]; set(v) && v[0] == '{' {
			in, _ := decode(v) // it is an object
			if n, err := strconv.ParseInt(string(in[of]), 10, 64); err == nil {
				most = max(most, n)
			}
		}
	}
	return most
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
