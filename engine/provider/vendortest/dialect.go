package vendortest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
)

// Dialect is a vendor's wire format.
type Dialect struct {
	Provider string
	// Host is the name the vendor's server goes by, where the adapter looks at
	// it; "" is loopback's own.
	Host string
	// Base is the path that belongs to the base URL, Path what is asked below it.
	Base string
	Path func(model string) string
	// KeyHeader carries the key, after KeyPrefix.
	KeyHeader, KeyPrefix string
	// Unknown are fields of a request that the server refuses.
	Unknown []string
	// Events are the events of a good stream, each with its blank line.
	Events func(r Reply, model string) []string
	// Told is an error as an event of the stream, and as a document.
	Told func(code provider.Code) (event, document string)
	// Status is the HTTP status of an error.
	Status func(code provider.Code) int
	// Stated is what the vendor must be shown again of a reply with a Thought:
	// a text that the next request must hold. "" is nothing.
	Stated string
	// Lists is what the server says of its models.
	Lists map[string]string
}

// kinds are what errors are called in OpenAI's way: type, code, message.
var kinds = map[provider.Code][3]string{
	provider.Auth:           {"invalid_request_error", "invalid_api_key", "Incorrect API key provided."},
	provider.RateLimit:      {"requests", "rate_limit_exceeded", "Rate limit reached."},
	provider.Timeout:        {"timeout", "timeout", "Request timed out."},
	provider.Unavailable:    {"server_error", "server_error", "The server had an error."},
	provider.InvalidRequest: {"invalid_request_error", "unknown_parameter", "Unknown parameter: 'foo'."},
	provider.UnknownModel:   {"invalid_request_error", "model_not_found", "The model 'x' does not exist."},
	provider.ContextLength:  {"invalid_request_error", "context_length_exceeded", "This model's maximum context length is 8192 tokens."},
	provider.ContentFilter:  {"invalid_request_error", "content_filter", "The prompt was filtered."},
}

var statuses = map[provider.Code]int{
	provider.Auth: 401, provider.RateLimit: 429, provider.Timeout: 408, provider.Unavailable: 503,
	provider.InvalidRequest: 400, provider.UnknownModel: 404, provider.ContextLength: 400, provider.ContentFilter: 400,
}

func statusOf(code provider.Code) int { return statuses[code] }

func openaiTold(code provider.Code) (string, string) {
	k := kinds[code]
	doc := object{"error": object{"message": k[2], "type": k[0], "param": nil, "code": k[1]}}
	return data(doc), encode(doc)
}

// Chat is OpenAI's chat completions, as other servers speak them too.
func Chat(name string) Dialect {
	return Dialect{
		Provider: name, Base: "/v1", Path: func(string) string { return "/v1/chat/completions" },
		KeyHeader: "Authorization", KeyPrefix: "Bearer ",
		Events: chatEvents, Told: openaiTold, Status: statusOf,
		Lists: map[string]string{"/v1/models": `{"object":"list","data":[{"id":"b"},{"id":"a","name":"The A","pricing":{"prompt":"0.00000015","completion":"0.0000006"}},{"id":"b"}]}`},
	}
}

// Mistral refuses fields it does not know and reports usage unasked.
func Mistral() Dialect {
	d := Chat(provider.Mistral)
	d.Host, d.Unknown = "api.mistral.ai", []string{"stream_options", "seed", "max_completion_tokens", "reasoning"}
	return d
}

// XAI reports reasoning beside the output, and tells it in a field of its own.
func XAI() Dialect {
	d := Chat(provider.XAI)
	d.Events = func(r Reply, model string) []string {
		if u := r.Usage; u != nil && u.Reasoning > 0 {
			beside := *u
			beside.Output -= u.Reasoning
			beside.Total = u.Input + u.Output
			r.Usage = &beside
		}
		return append([]string{data(object{"model": model, "choices": []any{object{"index": 0, "delta": object{"reasoning_content": "hm"}}}})}, chatEvents(r, model)...)
	}
	return d
}

// OpenRouter says that it is at work before it answers.
func OpenRouter() Dialect {
	d := Chat(provider.OpenRouter)
	d.Events = func(r Reply, model string) []string {
		return append([]string{": OPENROUTER PROCESSING\n\n"}, chatEvents(r, model)...)
	}
	return d
}

// Ollama numbers every call 0 and sends its arguments whole.
func Ollama() Dialect {
	d := Chat(provider.Ollama)
	d.Events = func(r Reply, model string) []string {
		calls := r.Calls
		finish := r.finish()
		r.Calls, r.Finish = nil, finish
		events := chatEvents(r, model)
		for i, call := range calls {
			doc := object{"model": model, "choices": []any{object{"index": 0, "delta": object{"tool_calls": []any{
				object{"index": 0, "id": fmt.Sprintf("call_%d", i), "type": "function", "function": object{"name": call.Name, "arguments": call.Arguments}}}}}}}
			at := 1 + len(r.Pieces) + i
			events = append(events[:at:at], append([]string{data(doc)}, events[at:]...)...)
		}
		return events
	}
	return d
}

func chatEvents(r Reply, model string) []string {
	var events []string
	add := func(delta object, finish any) {
		events = append(events, data(object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": model,
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}}))
	}
	add(object{"role": "assistant", "content": ""}, nil)
	for _, text := range r.Pieces {
		add(object{"content": text}, nil)
	}
	for i, call := range r.Calls {
		add(object{"tool_calls": []any{object{"index": i, "id": fmt.Sprintf("call_%d", i), "type": "function",
			"function": object{"name": call.Name, "arguments": ""}}}}, nil)
		for _, p := range pieces(call.Arguments) {
			add(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": p}}}}, nil)
		}
	}
	finish := string(r.finish())
	if r.finish() == provider.FinishMaxTokens {
		finish = "length"
	}
	add(object{}, finish)
	if u := r.Usage; u != nil {
		total := u.Total
		if total == 0 {
			total = u.Input + u.Output
		}
		events = append(events, data(object{"model": model, "choices": []any{}, "usage": object{
			"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": total,
			"prompt_tokens_details":     object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
			"completion_tokens_details": object{"reasoning_tokens": u.Reasoning}}}))
	}
	return append(events, "data: [DONE]\n\n")
}

// Responses is OpenAI's Responses API, streamed.
func Responses() Dialect {
	return Dialect{
		Provider: provider.OpenAI, Base: "/v1", Path: func(string) string { return "/v1/responses" },
		KeyHeader: "Authorization", KeyPrefix: "Bearer ", Events: responsesEvents, Status: statusOf,
		Told: func(code provider.Code) (string, string) {
			k := kinds[code]
			if code == provider.InvalidRequest { // which it is called there
				k[1] = "invalid_request"
			}
			failed := object{"type": "response.failed", "response": object{"id": "resp_1", "status": "failed", "error": object{"code": k[1], "message": k[2]}}}
			_, doc := openaiTold(code)
			return named(failed), doc
		},
		Stated: "sealed-reasoning",
		Lists:  Chat("").Lists,
	}
}

func responsesEvents(r Reply, model string) []string {
	head := object{"id": "resp_1", "object": "response", "model": model, "status": "in_progress", "error": nil, "incomplete_details": nil, "usage": nil, "output": []any{}}
	events := []string{named(object{"type": "response.created", "response": head}), named(object{"type": "response.in_progress", "response": head})}
	var output []any
	index := 0
	done := func(item object) {
		events = append(events, named(object{"type": "response.output_item.done", "output_index": index, "item": item}))
		output = append(output, item)
		index++
	}
	if r.Thought != "" {
		done(object{"type": "reasoning", "id": "rs_1", "summary": []any{}, "encrypted_content": "sealed-reasoning"})
	}
	if len(r.Pieces) > 0 {
		events = append(events, named(object{"type": "response.output_item.added", "output_index": index, "item": object{"type": "message", "id": "msg_1", "role": "assistant", "content": []any{}}}))
		for _, text := range r.Pieces {
			events = append(events, named(object{"type": "response.output_text.delta", "output_index": index, "content_index": 0, "item_id": "msg_1", "delta": text}))
		}
		done(object{"type": "message", "id": "msg_1", "role": "assistant", "content": []any{object{"type": "output_text", "text": strings.Join(r.Pieces, ""), "annotations": []any{}}}})
	}
	for i, call := range r.Calls {
		item := object{"type": "function_call", "id": fmt.Sprintf("fc_%d", i), "call_id": fmt.Sprintf("call_%d", i), "name": call.Name, "arguments": ""}
		events = append(events, named(object{"type": "response.output_item.added", "output_index": index, "item": item}))
		for _, p := range pieces(call.Arguments) {
			events = append(events, named(object{"type": "response.function_call_arguments.delta", "output_index": index, "item_id": item["id"], "delta": p}))
		}
		whole := object{"arguments": call.Arguments}
		for k, v := range item {
			if k != "arguments" {
				whole[k] = v
			}
		}
		done(whole)
	}
	end := object{"id": "resp_1", "object": "response", "model": model, "status": "completed", "error": nil, "output": output}
	kind := "response.completed"
	switch r.finish() {
	case provider.FinishMaxTokens:
		kind, end["status"], end["incomplete_details"] = "response.incomplete", "incomplete", object{"reason": "max_output_tokens"}
	case provider.FinishContentFilter:
		kind, end["status"], end["incomplete_details"] = "response.incomplete", "incomplete", object{"reason": "content_filter"}
	}
	if u := r.Usage; u != nil {
		end["usage"] = object{"input_tokens": u.Input, "output_tokens": u.Output, "total_tokens": u.Input + u.Output,
			"input_tokens_details":  object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
			"output_tokens_details": object{"reasoning_tokens": u.Reasoning}}
	}
	return append(events, named(object{"type": kind, "response": end}))
}

// Anthropic is the Messages API.
func Anthropic() Dialect {
	return Dialect{
		Provider: provider.Anthropic, Path: func(string) string { return "/v1/messages" }, KeyHeader: "X-Api-Key",
		Events: anthropicEvents, Told: anthropicTold, Stated: "signed-thought",
		Status: func(code provider.Code) int {
			if code == provider.Unavailable {
				return 500
			}
			return statuses[code]
		},
		Lists: map[string]string{
			"/v1/models?limit=1000":            `{"data":[{"id":"b","display_name":""}],"has_more":true,"last_id":"b"}`,
			"/v1/models?after_id=b&limit=1000": `{"data":[{"id":"a","display_name":"The A"}],"has_more":false,"last_id":"a"}`,
		},
	}
}

func anthropicTold(code provider.Code) (string, string) {
	e := map[provider.Code][2]string{
		provider.Auth:           {"authentication_error", "invalid x-api-key"},
		provider.RateLimit:      {"overloaded_error", "Overloaded"},
		provider.Timeout:        {"timeout_error", "Request timed out."},
		provider.Unavailable:    {"api_error", "Internal server error"},
		provider.InvalidRequest: {"invalid_request_error", "foo: Extra inputs are not permitted"},
		provider.UnknownModel:   {"not_found_error", "model: x"},
		provider.ContextLength:  {"invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"},
		provider.ContentFilter:  {"invalid_request_error", "Output blocked by content filtering policy: content policy"},
	}[code]
	doc := object{"type": "error", "error": object{"type": e[0], "message": e[1]}, "request_id": "req_1"}
	return named(doc), encode(doc)
}

func anthropicEvents(r Reply, model string) []string {
	message := object{"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil}
	if u := r.Usage; u != nil {
		message["usage"] = object{"input_tokens": u.Input - u.CacheRead - u.CacheWrite, "output_tokens": min(1, u.Output),
			"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite}
	}
	events := []string{named(object{"type": "message_start", "message": message}), named(object{"type": "ping"})}
	index := 0
	block := func(start object, deltas ...object) {
		events = append(events, named(object{"type": "content_block_start", "index": index, "content_block": start}))
		for _, d := range deltas {
			events = append(events, named(object{"type": "content_block_delta", "index": index, "delta": d}))
		}
		events = append(events, named(object{"type": "content_block_stop", "index": index}))
		index++
	}
	if r.Thought != "" {
		block(object{"type": "thinking", "thinking": "", "signature": ""},
			object{"type": "thinking_delta", "thinking": r.Thought}, object{"type": "signature_delta", "signature": "signed-thought"})
	}
	if len(r.Pieces) > 0 {
		var deltas []object
		for _, text := range r.Pieces {
			deltas = append(deltas, object{"type": "text_delta", "text": text})
		}
		block(object{"type": "text", "text": ""}, deltas...)
	}
	for i, call := range r.Calls {
		var deltas []object
		for _, p := range pieces(call.Arguments) {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": p})
		}
		block(object{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", i), "name": call.Name, "input": object{}}, deltas...)
	}
	reason := map[provider.FinishReason]string{provider.FinishStop: "end_turn", provider.FinishToolCalls: "tool_use",
		provider.FinishMaxTokens: "max_tokens", provider.FinishContentFilter: "refusal"}[r.finish()]
	end := object{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil}}
	if u := r.Usage; u != nil {
		end["usage"] = object{"output_tokens": u.Output, "output_tokens_details": object{"thinking_tokens": u.Reasoning}}
	}
	return append(events, named(end), named(object{"type": "message_stop"}))
}

// Gemini is streamGenerateContent.
func Gemini() Dialect {
	return Dialect{
		Provider: provider.Gemini, KeyHeader: "X-Goog-Api-Key", Events: geminiEvents, Told: geminiTold, Stated: "c2lnbmVk",
		Path: func(model string) string { return "/v1beta/models/" + model + ":streamGenerateContent?alt=sse" },
		Status: func(code provider.Code) int {
			if code == provider.Auth { // a bad key is a bad request there
				return 400
			}
			return statuses[code]
		},
		Lists: map[string]string{
			"/v1beta/models?pageSize=1000":                `{"models":[{"name":"models/b","supportedGenerationMethods":["generateContent"]},{"name":"models/e","supportedGenerationMethods":["embedContent"]}],"nextPageToken":"more"}`,
			"/v1beta/models?pageSize=1000&pageToken=more": `{"models":[{"name":"models/a","displayName":"The A"}]}`,
		},
	}
}

func geminiTold(code provider.Code) (string, string) {
	type told struct {
		code            int
		status, message string
		detail          object
	}
	e := map[provider.Code]told{
		provider.Auth:           {400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", object{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}},
		provider.RateLimit:      {429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", nil},
		provider.Timeout:        {408, "DEADLINE_EXCEEDED", "The deadline passed.", nil},
		provider.Unavailable:    {503, "UNAVAILABLE", "The model is overloaded.", nil},
		provider.InvalidRequest: {400, "INVALID_ARGUMENT", "Unknown name \"foo\".", nil},
		provider.UnknownModel:   {404, "NOT_FOUND", "models/x is not found for API version v1beta.", nil},
		provider.ContextLength:  {400, "INVALID_ARGUMENT", "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).", nil},
		provider.ContentFilter:  {400, "INVALID_ARGUMENT", "The prompt was flagged: content policy.", nil},
	}[code]
	doc := object{"code": e.code, "message": e.message, "status": e.status}
	if e.detail != nil {
		doc["details"] = []any{e.detail}
	}
	whole := object{"error": doc}
	return data(whole), encode(whole)
}

func geminiEvents(r Reply, model string) []string {
	var events []string
	add := func(finish string, usage object, parts ...any) {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
		if finish != "" {
			candidate["finishReason"] = finish
		}
		doc := object{"candidates": []any{candidate}, "modelVersion": model, "responseId": "r1"}
		if usage != nil {
			doc["usageMetadata"] = usage
		}
		events = append(events, data(doc))
	}
	if r.Thought != "" {
		add("", nil, object{"text": r.Thought, "thought": true})
	}
	for _, text := range r.Pieces {
		add("", nil, object{"text": text})
	}
	for i, call := range r.Calls {
		f := object{"name": call.Name}
		switch {
		case call.Arguments == "":
		case json.Valid([]byte(call.Arguments)):
			f["args"] = json.RawMessage(call.Arguments)
		default:
			f["args"] = call.Arguments
		}
		part := object{"functionCall": f}
		if r.Thought != "" && i == 0 {
			part["thoughtSignature"] = "c2lnbmVk"
		}
		add("", nil, part)
	}
	reason := map[provider.FinishReason]string{provider.FinishStop: "STOP", provider.FinishToolCalls: "STOP",
		provider.FinishMaxTokens: "MAX_TOKENS", provider.FinishContentFilter: "SAFETY"}[r.finish()]
	var usage object
	if u := r.Usage; u != nil {
		usage = object{"promptTokenCount": u.Input, "candidatesTokenCount": u.Output - u.Reasoning, "thoughtsTokenCount": u.Reasoning,
			"cachedContentTokenCount": u.CacheRead, "totalTokenCount": u.Input + u.Output}
	}
	add(reason, usage)
	return events
}
