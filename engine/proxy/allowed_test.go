package proxy_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/proxy"
)

// The paths of the endpoints.
const (
	chatPath      = "openai/v1/chat/completions"
	responsesPath = "openai/v1/responses"
	messagesPath  = "anthropic/v1/messages"
	generatePath  = "gemini/v1beta/models/good:generateContent"
)

// wrap puts what is of interest into a request that is let through otherwise.
func wrap(path, more string) string {
	switch path {
	case chatPath:
		return `{"model":"good","messages":[{"role":"user","content":"hi"}],` + more + `}`
	case responsesPath:
		return `{"model":"good","input":"hi",` + more + `}`
	case messagesPath:
		return `{"model":"good","max_tokens":5,"messages":[{"role":"user","content":"hi"}],` + more + `}`
	}
	return `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],` + more + `}`
}

// said puts a part into a message.
func said(path, part string) string {
	switch path {
	case chatPath:
		return `{"model":"good","messages":[{"role":"user","content":[` + part + `]}]}`
	case responsesPath:
		return `{"model":"good","input":[{"role":"user","content":[` + part + `]}]}`
	case messagesPath:
		return `{"model":"good","max_tokens":5,"messages":[{"role":"user","content":[` + part + `]}]}`
	}
	return `{"contents":[{"role":"user","parts":[` + part + `]}]}`
}

// sent is what came of a request: whether the provider got it, and what the program
// was told.
func sent(t *testing.T, o proxy.Options, path, body string) (upstream *upstream, told string) {
	t.Helper()
	of := provider.OpenAI
	if strings.HasPrefix(path, "anthropic") {
		of = provider.Anthropic
	} else if strings.HasPrefix(path, "gemini") {
		of = provider.Gemini
	}
	u := newUpstream(t, func(w http.ResponseWriter, _ ask) { jsonReply(w, http.StatusOK, `{}`) })
	o.Upstream = &proxy.Upstream{Provider: of, BaseURL: u.URL, Key: realKey}
	b := newBox(t, o)
	res, told := b.post(t, path, body)
	if len(u.asked) > 0 {
		b.w.wait(t, 1)
		return u, told
	}
	var doc struct {
		Type  string
		Error struct {
			Message, Type, Status string
			Code                  any
		}
	}
	if err := json.Unmarshal([]byte(told), &doc); err != nil || res.StatusCode != http.StatusBadRequest || doc.Error.Message == "" || len(b.w.begun) > 0 {
		t.Errorf("refused with %d, %v: %s", res.StatusCode, err, told)
	}
	own := doc.Error.Type == "invalid_request_error" && doc.Error.Code != nil
	switch of {
	case provider.Anthropic:
		own = doc.Type == "error" && doc.Error.Type == "invalid_request_error"
	case provider.Gemini:
		own = doc.Error.Status == "INVALID_ARGUMENT"
	}
	if !own {
		t.Errorf("not in the format of %s: %s", of, told)
	}
	return u, told
}

// TestWhatReachesNoProvider: whatever is not known is refused by its name, with or
// without a limit to be kept, and where the network is permitted, too.
func TestWhatReachesNoProvider(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, body, says string }{
		{chatPath, wrap(chatPath, `"search_parameters":{"mode":"on"}`), "search_parameters"},
		{chatPath, wrap(chatPath, `"web_search_options":{}`), "web_search_options"},
		{chatPath, wrap(chatPath, `"plugins":[{"id":"web"}]`), "plugins"},
		{chatPath, wrap(chatPath, `"provider":{"order":["dear"]}`), "provider"},
		{chatPath, wrap(chatPath, `"prediction":{"type":"content","content":"x"}`), "prediction"},
		{chatPath, wrap(chatPath, `"modalities":["text","audio"]`), "modalities"},
		{chatPath, wrap(chatPath, `"audio":{"voice":"x"}`), "audio"},
		{chatPath, wrap(chatPath, `"store":true`), "store"},
		{chatPath, wrap(chatPath, `"tomorrow":{"anything":1}`), "tomorrow"},
		{chatPath, wrap(chatPath, `"reasoning":{"effort":"high","mode":"pro"}`), "mode"},
		{chatPath, wrap(chatPath, `"service_tier":"tomorrow"`), "service_tier"},
		{chatPath, said(chatPath, `{"type":"file","file":{"file_id":"file_1"}}`), "file_id"},
		{chatPath, said(chatPath, `{"type":"tomorrow","text":"x"}`), "tomorrow"},
		{chatPath, said(chatPath, `{"text":"x"}`), "unsupported_content"},
		{chatPath, `{"model":"good","messages":[{"role":"assistant","audio":{"id":"audio_1"}}]}`, "audio"},
		{chatPath, `{"model":"good","messages":[{"role":"user","content":[["x"]]}]}`, "content"},
		{chatPath, `{"model":"good","messages":[null]}`, "messages"},
		{responsesPath, wrap(responsesPath, `"previous_response_id":"resp_1"`), "previous_response_id"},
		{responsesPath, wrap(responsesPath, `"previousResponseId":"resp_1"`), "previousResponseId"},
		{responsesPath, wrap(responsesPath, `"conversation":"conv_1"`), "conversation"},
		{responsesPath, wrap(responsesPath, `"prompt":{"id":"pmpt_1"}`), "prompt"},
		{responsesPath, wrap(responsesPath, `"context_management":[{"type":"compaction"}]`), "context_management"},
		{responsesPath, `{"model":"good","input":[{"type":"item_reference","id":"msg_1"}]}`, "item_reference"},
		{responsesPath, `{"model":"good","input":[{"id":"msg_1"}]}`, "item_reference"},
		{responsesPath, `{"model":"good","input":[{"type":null,"id":"msg_1"}]}`, "item_reference"},
		{responsesPath, `{"model":"good","input":[{"type":"compaction","encrypted_content":"x"}]}`, "compaction"},
		{responsesPath, said(responsesPath, `{"type":"input_image","file_id":"file_1"}`), "file_id"},
		{responsesPath, said(responsesPath, `{"type":"input_file","file_id":"file_1"}`), "file_id"},
		{responsesPath, `{"model":"good","input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_file","file_id":"file_1"}]}]}`, "file_id"},
		{messagesPath, wrap(messagesPath, `"mcp_servers":[{"url":"http://x.test"}]`), "mcp_servers"},
		{messagesPath, wrap(messagesPath, `"container":"c_1"`), "container"},
		{messagesPath, wrap(messagesPath, `"speed":"fast"`), "speed"},
		{messagesPath, wrap(messagesPath, `"inference_geo":"us"`), "inference_geo"},
		{messagesPath, wrap(messagesPath, `"context_management":{"edits":[{"type":"compact_20260112"}]}`), "compact_20260112"},
		{messagesPath, said(messagesPath, `{"type":"document","source":{"type":"file","file_id":"f_1"}}`), "source.file"},
		{messagesPath, said(messagesPath, `{"type":"image","source":{"type":"file","file_id":"f_1"}}`), "source.file"},
		{messagesPath, said(messagesPath, `{"type":"tool_result","tool_use_id":"c","content":[{"type":"image","source":{"type":"file","file_id":"f_1"}}]}`), "source.file"},
		{messagesPath, said(messagesPath, `{"type":"container_upload","file_id":"f_1"}`), "container_upload"},
		{generatePath, wrap(generatePath, `"cachedContent":"cachedContents/1"`), "cachedContent"},
		{generatePath, wrap(generatePath, `"cached_content":"cachedContents/1"`), "cached_content"},
		{generatePath, wrap(generatePath, `"serviceTier":"priority"`), "serviceTier"},
		{generatePath, wrap(generatePath, `"generationConfig":{"responseModalities":["IMAGE"]}`), "responseModalities"},
		{generatePath, wrap(generatePath, `"generationConfig":{"speechConfig":{}}`), "speechConfig"},
		{generatePath, wrap(generatePath, `"generation_config":{"candidate_count":4}`), "candidateCount"},
		{generatePath, said(generatePath, `{"tomorrow":"x"}`), "tomorrow"},
	} {
		for name, o := range map[string]proxy.Options{"free": {}, "bounded": {Bounded: true}, "with the network": {Reach: true}} {
			u, told := sent(t, o, c.path, c.body)
			if len(u.asked) > 0 || !strings.Contains(told, c.says) {
				t.Errorf("%s: %s: asked %d times: %s", name, c.body, len(u.asked), told)
			}
		}
	}
}

// TestWhatNeedsTheNetwork is let through where programs may use it, and only there.
func TestWhatNeedsTheNetwork(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, body string }{
		{chatPath, said(chatPath, `{"type":"image_url","image_url":{"url":"https://x.test/?q=secret"}}`)},
		{chatPath, said(chatPath, `{"type":"image_url","image_url":"//x.test/"}`)},
		{chatPath, said(chatPath, `{"type":"text","text":"x","image_url":{"url":"https://x.test/"}}`)},
		{chatPath, said(chatPath, `{"type":"file","file":{"file_data":"https://x.test/a.pdf"}}`)},
		{responsesPath, said(responsesPath, `{"type":"input_file","file_url":"https://x.test/"}`)},
		{responsesPath, said(responsesPath, `{"type":"input_text","text":"x","image_url":"https://x.test/"}`)},
		{responsesPath, `{"model":"good","input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"https://x.test/"}]}]}`},
		{responsesPath, `{"model":"good","input":[{"type":"web_search_call","id":"ws_1"}]}`},
		{responsesPath, wrap(responsesPath, `"tools":[{"type":"shell","environment":{"type":"container_auto"}}]`)},
		{responsesPath, wrap(responsesPath, `"tools":[{"type":"mcp","server_url":"https://x.test"}]`)},
		{messagesPath, said(messagesPath, `{"type":"document","source":{"type":"url","url":"https://x.test"}}`)},
		{messagesPath, said(messagesPath, `{"type":"tool_result","tool_use_id":"c","content":[{"type":"image","source":{"type":"url","url":"https://x.test"}}]}`)},
		{messagesPath, said(messagesPath, `{"type":"web_search_tool_result","tool_use_id":"c","content":[]}`)},
		{generatePath, said(generatePath, `{"file_data":{"file_uri":"https://x.test"}}`)},
		{generatePath, said(generatePath, `{"functionResponse":{"name":"f","response":{},"parts":[{"fileData":{"fileUri":"https://x.test"}}]}}`)},
		{generatePath, wrap(generatePath, `"tools":[{"googleSearch":{}}]`)},
	} {
		for reach, asked := range map[bool]int{false: 0, true: 1} {
			u, told := sent(t, proxy.Options{Reach: reach}, c.path, c.body)
			if len(u.asked) != asked || !reach && !strings.Contains(told, "not let through") {
				t.Errorf("%s: asked %d times, want %d: %s", c.body, len(u.asked), asked, told)
			}
		}
	}
}

// TestWhatHasNoBound is refused where a limit is to be kept, and only there.
func TestWhatHasNoBound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, body, says string }{
		{chatPath, said(chatPath, `{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}`), "image_url"},
		{chatPath, said(chatPath, `{"type":"file","file":{"file_data":"data:application/pdf;base64,AA"}}`), "file"},
		{responsesPath, said(responsesPath, `{"type":"input_image","image_url":"data:image/png;base64,AA"}`), "input_image"},
		{responsesPath, wrap(responsesPath, `"store":true`), "store"},
		{responsesPath, `{"model":"good","input":[{"type":"reasoning","id":"rs_1","summary":[]}]}`, "encrypted_content"},
		{messagesPath, said(messagesPath, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA"}}`), "image"},
		{messagesPath, said(messagesPath, `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AA"}}`), "document"},
		{messagesPath, said(messagesPath, `{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}}`), "cache_control.ttl"},
		{messagesPath, wrap(messagesPath, `"cache_control":{"type":"ephemeral","ttl":"1h"}`), "cache_control.ttl"},
		{messagesPath, wrap(messagesPath, `"system":[{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}}]`), "cache_control.ttl"},
		{messagesPath, wrap(messagesPath, `"tools":[{"name":"f","input_schema":{},"cache_control":{"type":"ephemeral","ttl":"1h"}}]`), "cache_control.ttl"},
		{generatePath, said(generatePath, `{"inline_data":{"mime_type":"video/mp4","data":"AA"}}`), "inline_data"},
	} {
		for bounded, asked := range map[bool]int{true: 0, false: 1} {
			u, told := sent(t, proxy.Options{Bounded: bounded}, c.path, c.body)
			if len(u.asked) != asked || bounded && !strings.Contains(told, c.says) {
				t.Errorf("%s: asked %d times, want %d: %s", c.body, len(u.asked), asked, told)
			}
		}
	}
}

// TestOrdinaryAgentsAreLetThrough: what the vendors' SDKs and common agents send,
// with a limit to be kept.
func TestOrdinaryAgentsAreLetThrough(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, body string }{
		{chatPath, `{"model":"good","messages":[{"role":"system","content":"be"},{"role":"user","content":[{"type":"text","text":"see https://x.test/ and data"}],"name":"u"},
			{"role":"assistant","content":null,"refusal":null,"annotations":[],"audio":null,"function_call":null,"reasoning_content":"hm","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"file_id\":1}"}}]},
			{"role":"tool","tool_call_id":"c","content":"ok"}],"stream":true,"stream_options":{"include_usage":true},"temperature":0,"top_p":1,"max_tokens":100,"n":1,"stop":["x"],
			"seed":1,"presence_penalty":0,"frequency_penalty":0,"logit_bias":{"1":1},"logprobs":true,"top_logprobs":2,"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{}}},
			"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"file_id":{"type":"string"}}}}}],"tool_choice":"auto","parallel_tool_calls":false,
			"user":"u","metadata":{"a":"b"},"reasoning_effort":"low","verbosity":"low","service_tier":"auto","store":false,"web_search_options":null,"previous":null,"modalities":["text"]}`},
		{chatPath, `{"model":"good","messages":[{"role":"user","content":"hi"}],"reasoning":{"effort":"high","exclude":true},"include_reasoning":true,"usage":{"include":true},"top_k":40}`},
		{responsesPath, `{"model":"good","instructions":"be","input":[{"role":"user","content":"hi"},{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"x"}],"encrypted_content":"AAAA"},
			{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"x","annotations":[],"logprobs":[]}]},
			{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}","status":"completed"},{"type":"function_call_output","call_id":"c","output":"ok"},
			{"type":"custom_tool_call","call_id":"d","name":"g","input":"x"},{"type":"custom_tool_call_output","call_id":"d","output":[{"type":"input_text","text":"ok"}]},
			{"type":"shell_call","call_id":"e","action":{"commands":["ls"]}},{"type":"shell_call_output","call_id":"e","output":[{"stdout":"x","stderr":"","outcome":{"type":"exit","exit_code":0}}]}],
			"tools":[{"type":"function","name":"f","parameters":{},"strict":true},{"type":"custom","name":"g"},{"type":"local_shell"},{"type":"shell","environment":{"type":"local"}},{"type":"apply_patch"}],"tool_choice":"auto","parallel_tool_calls":true,
			"store":false,"stream":true,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"medium","summary":"auto"},"text":{"verbosity":"low","format":{"type":"text"}},"prompt_cache_key":"k",
			"truncation":"disabled","previous_response_id":null,"conversation":null,"background":false,"max_output_tokens":100,"metadata":{},"safety_identifier":"s","service_tier":"default"}`},
		{messagesPath, `{"model":"good","max_tokens":100,"system":[{"type":"text","text":"be","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral","ttl":"5m"}}]},
			{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"s"},{"type":"redacted_thinking","data":"x"},{"type":"tool_use","id":"c","name":"f","input":{"file_id":"1","type":"file"}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","is_error":false,"content":[{"type":"text","text":"ok"}]}]}],"stream":true,"temperature":1,"top_k":5,"top_p":1,"stop_sequences":["x"],
			"tools":[{"name":"f","description":"d","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}},{"type":"bash_20250124","name":"bash"},{"type":"text_editor_20250728","name":"e"}],
			"tool_choice":{"type":"auto"},"thinking":{"type":"enabled","budget_tokens":50},"metadata":{"user_id":"u"},"service_tier":"standard_only","output_config":{"effort":"high"},
			"context_management":{"edits":[{"type":"clear_tool_uses_20250919"},{"type":"clear_thinking_20251015","keep":"all"}]}}`},
		{generatePath, `{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"name":"f","args":{"fileData":1}},"thoughtSignature":"AA"}]},
			{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"x":1}}}]}],"systemInstruction":{"role":"user","parts":[{"text":"be"}]},"tools":[{"functionDeclarations":[{"name":"f"}]}],
			"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}},"safetySettings":[{"category":"x","threshold":"y"}],"generationConfig":{"temperature":0,"topP":1,"topK":4,"maxOutputTokens":50,"stopSequences":["x"],
			"candidateCount":1,"responseMimeType":"application/json","responseSchema":{},"thinkingConfig":{"includeThoughts":true,"thinkingBudget":10},"seed":1,"responseModalities":["TEXT"]}}`},
		{generatePath, `{"contents":{"parts":[{"text":"hi"}]},"system_instruction":{"parts":{"text":"be"}},"generation_config":{"top_p":1,"thinking_config":{"thinking_budget":1}},"safety_settings":[],"tool_config":{}}`},
	} {
		u, told := sent(t, proxy.Options{Bounded: true}, c.path, c.body)
		if len(u.asked) != 1 {
			t.Errorf("%.120s: refused: %s", c.body, told)
		}
	}
}

// TestNothingIsKept: where a limit is to be kept the Responses API is told to keep
// nothing, and elsewhere it does as it does.
func TestNothingIsKept(t *testing.T) {
	t.Parallel()
	for bounded, want := range map[bool]any{true: false, false: nil} {
		u, _ := sent(t, proxy.Options{Bounded: bounded}, responsesPath, `{"model":"good","input":"hi"}`)
		if got := u.only(t).body["store"]; got != want {
			t.Errorf("bounded %v: asked with store %v, want %v", bounded, got, want)
		}
	}
}

// TestDearBetas: a header that changes the price of a token is not sent on.
func TestDearBetas(t *testing.T) {
	t.Parallel()
	for value, asked := range map[string]int{"interleaved-thinking-2025-05-14, context-1m-2025-08-07": 0, "Fast-Mode-2026-02-01": 0, "interleaved-thinking-2025-05-14": 1} {
		u := newUpstream(t, func(w http.ResponseWriter, _ ask) { jsonReply(w, http.StatusOK, `{}`) })
		b := newBox(t, proxy.Options{Upstream: &proxy.Upstream{Provider: provider.Anthropic, BaseURL: u.URL, Key: realKey}})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL+"/agentclash/"+messagesPath, strings.NewReader(wrap(messagesPath, `"stream":false`)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Anthropic-Beta", value)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if len(u.asked) != asked {
			t.Errorf("%s: asked %d times, want %d", value, len(u.asked), asked)
		}
	}
}

// TestMostOfARequest: its bytes, and what the provider adds to it.
func TestMostOfARequest(t *testing.T) {
	t.Parallel()
	plain := wrap(messagesPath, `"stream":false`)
	for body, added := range map[string]int64{
		plain: 64,
		strings.Replace(plain, `"stream":false`, `"tools":[{"name":"f","input_schema":{}}]`, 1):                                64 + 1024,
		strings.Replace(plain, `"stream":false`, `"tools":[{"type":"bash_20250124","name":"bash"},{"name":"f"}]`, 1):           64 + 2*1024,
		strings.Replace(plain, `"stream":false`, `"tools":[{"type":"bash_1","name":"b"},{"type":"computer_1","name":"c"}]`, 1): 64 + 3*1024,
	} {
		u := newUpstream(t, func(w http.ResponseWriter, _ ask) { jsonReply(w, http.StatusOK, `{}`) })
		b := newBox(t, proxy.Options{Upstream: &proxy.Upstream{Provider: provider.Anthropic, BaseURL: u.URL, Key: realKey}, MaxOutputTokens: 5})
		b.post(t, messagesPath, body)
		b.w.wait(t, 1)
		if got, want := b.w.begun[0].Most, int64(len(body))+added; got != want {
			t.Errorf("%s: %d tokens at most, want %d", body, got, want)
		}
	}
}
