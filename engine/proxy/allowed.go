package proxy

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
)

// allowed are the keys of a request that are let through. What each of them asks
// for is a part of one reply of the named model, comes to no more than is counted
// for it, and goes on from nothing that the provider has kept. What another key
// would have a provider do is not known here, so that it is refused.
var allowed = map[endpoint][]string{
	chat: {
		"model", "messages", "stream", "stream_options", "temperature", "top_p", "top_k", "min_p", "max_tokens", "max_completion_tokens", "n", "stop",
		"seed", "random_seed", "presence_penalty", "frequency_penalty", "repetition_penalty", "logit_bias", "logprobs", "top_logprobs",
		"response_format", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "modalities", "reasoning_effort", "reasoning",
		"include_reasoning", "verbosity", "user", "metadata", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "store", "service_tier", "usage",
	},
	responses: {
		"model", "input", "instructions", "stream", "stream_options", "temperature", "top_p", "top_logprobs", "max_output_tokens", "max_tool_calls",
		"tools", "tool_choice", "parallel_tool_calls", "text", "reasoning", "truncation", "include", "user", "metadata", "safety_identifier",
		"prompt_cache_key", "prompt_cache_retention", "store", "service_tier", "background",
	},
	messages: {
		"model", "messages", "system", "max_tokens", "stream", "temperature", "top_p", "top_k", "stop_sequences", "tools", "tool_choice", "thinking",
		"output_config", "output_format", "cache_control", "context_management", "metadata", "service_tier",
	},
	generate: {"contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig"},
}

// allowedIn are the keys of values that could ask for more than a reply as well.
var allowedIn = map[string][]string{
	"reasoning":     {"effort", "summary", "generate_summary", "max_tokens", "exclude", "enabled"},
	"thinking":      {"type", "budget_tokens", "display"},
	"output_config": {"effort", "format"},
	"generationConfig": {
		"candidateCount", "stopSequences", "maxOutputTokens", "temperature", "topP", "topK", "seed", "presencePenalty", "frequencyPenalty",
		"responseLogprobs", "logprobs", "responseMimeType", "responseSchema", "responseJsonSchema", "_responseJsonSchema", "responseModalities",
		"thinkingConfig", "mediaResolution",
	},
}

// The reasons why known keys are refused, with what to do in their place.
const (
	keeps    = "the provider would go on from what it has kept: send the whole conversation"
	searches = "the provider would search: do it with a tool of the program's own"
	another  = "it asks for another model, or another server, than the named one: send a request for each"
	dearer   = "its price is another one: leave it out"
	lives    = "the provider would run something: do it in the program"
)

var refused = map[string]string{
	"previous_response_id": keeps, "conversation": keeps, "prompt": keeps, "cachedContent": keeps, "cached_content": keeps,
	"search_parameters": searches, "web_search_options": searches, "plugins": searches,
	"models": another, "route": another, "provider": another,
	"mcp_servers": lives, "container": lives, "deferred": lives,
	"prediction": "what is predicted and not used is billed beside the reply: leave it out",
	"audio":      "only text is asked for: leave it out", "speed": dearer, "inference_geo": dearer,
}

func unpermitted(key, why string) *Refusal {
	bad := refuse(http.StatusBadRequest, "unsupported_parameter", "%q is not let through: %s", provider.Excerpt(key, 80), why)
	bad.Key = provider.Excerpt(key, 80)
	return bad
}

// known refuses a key that is not one of those. Gemini knows two spellings of
// each, and gets the usual one; elsewhere whoever writes a key another way means
// to be read another way by the provider.
func (o object) known(to endpoint, keys []string) *Refusal {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if slices.Contains(keys, key) {
			continue
		}
		for _, usual := range keys {
			if plain(key) != plain(usual) {
				continue
			}
			if _, twice := o[usual]; to != generate || twice || camel(key) != usual {
				return refuse(http.StatusBadRequest, "invalid_request", "the key %q must be written %q", provider.Excerpt(key, 80), usual)
			}
			o[usual] = o[key]
			delete(o, key)
		}
		v, still := o[key]
		why := refused[key]
		switch {
		case !still:
		case !set(v): // which asks for nothing
			delete(o, key)
		case why == "":
			return unpermitted(key, "it is not known here, and could ask the provider for more than is counted for a reply: leave it out")
		default:
			return unpermitted(key, why)
		}
	}
	return nil
}

func plain(key string) string { return strings.ToLower(strings.ReplaceAll(key, "_", "")) }

// camel is the usual spelling of a key of Gemini's that is written with underscores.
func camel(key string) string {
	words := strings.Split(key, "_")
	for i, w := range words {
		if i > 0 && w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// tiers are the service tiers whose price is not above the usual one.
var tiers = []string{"auto", "default", "flex", "standard_only"}

// values refuses values of allowed keys that ask for more than a reply.
func (s *Server) values(to endpoint, o object) *Refusal {
	for _, key := range slices.Sorted(maps.Keys(allowedIn)) {
		if v := o[key]; key != "generationConfig" && set(v) && v[0] == '{' {
			in, bad := decode(v)
			if bad == nil {
				bad = in.known(to, allowedIn[key])
			}
			if bad != nil {
				return bad
			}
		}
	}
	if tier := o["service_tier"]; set(tier) && !slices.Contains(tiers, text(tier)) {
		return unpermitted("service_tier", "the price of "+provider.Excerpt(string(tier), 40)+" is another one: use auto, default, flex or standard_only")
	}
	if v := o["background"]; set(v) && string(v) != "false" {
		return unpermitted("background", "a reply is waited for: leave it out")
	}
	if v := o["modalities"]; set(v) && string(v) != `["text"]` {
		return unpermitted("modalities", "only text is asked for: leave it out")
	}
	if bad := s.stored(to, o); bad != nil {
		return bad
	}
	if bad := s.cacheTime(o); bad != nil {
		return bad
	}
	return edits(o["context_management"])
}

// stored keeps conversations from being kept at the provider. The Responses API
// does so by default, and many programs go on from it by the ids of what the model
// thought; where a limit is to be kept, what is behind an id has to be sent.
func (s *Server) stored(to endpoint, o object) *Refusal {
	v := o["store"]
	if to == responses && !s.o.Bounded {
		return nil
	}
	if set(v) && string(v) != "false" {
		return unpermitted("store", `the provider would keep the conversation, and what it goes on from could not be counted: send false`)
	}
	if to == responses {
		o["store"] = []byte("false")
	}
	return nil
}

// cacheTime refuses to have something cached for longer than is reckoned with.
func (s *Server) cacheTime(o object) *Refusal {
	control := object{}
	if v := o["cache_control"]; s.o.Bounded && set(v) && v[0] == '{' {
		control, _ = decode(v) // it is an object
	}
	if ttl := control["ttl"]; set(ttl) && text(ttl) != "5m" {
		return unpermitted("cache_control.ttl", "a limit is to be kept, and what is written for longer than 5m costs more than is set aside: leave it out")
	}
	return nil
}

// edits lets nothing but the leaving out of old results and thoughts be done to a
// conversation: to sum one up is another call of a model.
func edits(raw []byte) *Refusal {
	o := object{}
	if set(raw) {
		var bad *Refusal
		if o, bad = decode(raw); bad != nil {
			return refuse(http.StatusBadRequest, "invalid_request", "context_management is not an object")
		}
	}
	if bad := o.known(messages, []string{"edits"}); bad != nil {
		return bad
	}
	return each(o["edits"], "context_management.edits", func(e object) *Refusal {
		kind := text(e["type"])
		if strings.HasPrefix(kind, "clear_tool_uses_") || strings.HasPrefix(kind, "clear_thinking_") {
			return nil
		}
		return unpermitted(kind, "of context_management only clear_tool_uses and clear_thinking are")
	})
}

// dearBetas are headers that change what a token costs.
var dearBetas = []string{"context-1m", "fast-mode"}

func beta(wire Wire, header http.Header) *Refusal {
	if wire != Anthropic {
		return nil
	}
	for name := range strings.SplitSeq(header.Get("Anthropic-Beta"), ",") {
		for _, dear := range dearBetas {
			if strings.HasPrefix(strings.ToLower(strings.TrimSpace(name)), dear) {
				return unpermitted("anthropic-beta: "+strings.TrimSpace(name), dearer)
			}
		}
	}
	return nil
}
