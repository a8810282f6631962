package provider_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agentclash/agentclash/engine/provider"
)

// Bodies as servers send them.
const (
	openAITooLong   = `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`
	vllmTooLong     = `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","param":null,"code":400}`
	llamaTooLong    = `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`
	azureFiltered   = `{"error":{"message":"The response was filtered","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`
	openAIFlagged   = `{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","type":"invalid_request_error","code":"invalid_prompt"}}`
	openAINoModel   = `{"error":{"message":"The model 'gpt-9' does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}`
	ollamaNoModel   = `{"error":{"message":"model \"llama9\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`
	vllmNoModel     = `{"object":"error","message":"The model 'x' does not exist.","type":"NotFoundError","param":null,"code":404}`
	mistralNoModel  = `{"object":"error","message":"Invalid model: nope","type":"invalid_model","param":null,"code":"1500"}`
	routerNoModel   = `{"error":{"message":"nope/nope is not a valid model ID","code":400},"user_id":"u"}`
	routerUpstream  = `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"message\":\"prompt is too long: 210000 tokens\"}","provider_name":"X"}}}`
	openAIBadPath   = `{"error":{"message":"Invalid URL (POST /v2/chat/completions)","type":"invalid_request_error","param":null,"code":null}}`
	openAISlow      = `{"error":{"message":"Rate limit reached for gpt-4o","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`
	openAIQuota     = `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`
	openAIKey       = `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`
	openAIServer    = `{"error":{"message":"The server had an error while processing your request.","type":"server_error","param":null,"code":null}}`
	plainBadRequest = `{"error":{"message":"Unknown parameter: 'foo'.","type":"invalid_request_error","param":"foo","code":"unknown_parameter"}}`
	page            = "<html><body><h1>502 Bad Gateway</h1></body></html>"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		status int
		body   string
		want   provider.Code
	}{
		{"key", 401, openAIKey, provider.Auth},
		{"permission", 403, `{"error":{"message":"no"}}`, provider.Auth},
		{"no credits", 402, `{"error":{"message":"Insufficient credits","code":402}}`, provider.Auth},
		{"flagged by the router", 403, `{"error":{"message":"Your input was flagged","code":403}}`, provider.ContentFilter},
		{"rate", 429, openAISlow, provider.RateLimit},
		{"rate, a page", 429, page, provider.RateLimit},
		{"rate, nothing", 429, "", provider.RateLimit},
		{"quota", 429, openAIQuota, provider.Auth},
		{"overloaded", 529, `{"error":{"type":"overloaded_error"}}`, provider.RateLimit},
		{"request", 400, plainBadRequest, provider.InvalidRequest},
		{"request, a page", 400, page, provider.InvalidRequest},
		{"unprocessable", 422, `{"detail":[{"msg":"extra"}]}`, provider.InvalidRequest},
		{"too long, openai", 400, openAITooLong, provider.ContextLength},
		{"too long, vllm", 400, vllmTooLong, provider.ContextLength},
		{"too long, llama.cpp", 400, llamaTooLong, provider.ContextLength},
		{"too long, behind a router", 400, routerUpstream, provider.ContextLength},
		{"too large", 413, `{"error":{"message":"too large"}}`, provider.ContextLength},
		{"too large for a proxy", 413, page, provider.MalformedResponse},
		{"filtered", 400, azureFiltered, provider.ContentFilter},
		{"flagged", 400, openAIFlagged, provider.ContentFilter},
		{"model, openai", 404, openAINoModel, provider.UnknownModel},
		{"model, ollama", 404, ollamaNoModel, provider.UnknownModel},
		{"model, vllm", 404, vllmNoModel, provider.UnknownModel},
		{"model, mistral", 400, mistralNoModel, provider.UnknownModel},
		{"model, openrouter", 400, routerNoModel, provider.UnknownModel},
		{"address", 404, openAIBadPath, provider.InvalidRequest},
		{"address, fastapi", 404, `{"detail":"Not Found"}`, provider.InvalidRequest},
		{"address, a page", 404, page, provider.InvalidRequest},
		{"method", 405, "", provider.InvalidRequest},
		{"too slow", 408, "", provider.Timeout},
		{"conflict", 409, "", provider.Unavailable},
		{"server", 500, openAIServer, provider.Unavailable},
		{"server, that mentions context length", 500, openAITooLong, provider.Unavailable},
		{"gateway, a page", 502, page, provider.Unavailable},
		{"unavailable, a page", 503, page, provider.Unavailable},
		{"gateway timeout", 504, "", provider.Unavailable},
		{"nothing in it", 204, "", provider.MalformedResponse},
		{"moved", 302, "", provider.InvalidRequest},
		{"told in a stream: server", 0, openAIServer, provider.Unavailable},
		{"told in a stream: rate", 0, openAISlow, provider.RateLimit},
		{"told in a stream: number", 0, `{"error":{"code":429,"message":"upstream"}}`, provider.RateLimit},
		{"told in a stream: number as text", 0, `{"error":{"code":"502","message":"upstream"}}`, provider.Unavailable},
		{"told in a stream: key", 0, openAIKey, provider.Auth},
		{"told in a stream: quota", 0, openAIQuota, provider.Auth},
		{"told in a stream: request", 0, plainBadRequest, provider.InvalidRequest},
		{"told in a stream: too long", 0, openAITooLong, provider.ContextLength},
		{"told in a stream: filtered", 0, azureFiltered, provider.ContentFilter},
		{"told in a stream: overloaded", 0, `{"error":{"type":"overloaded_error","message":"Overloaded"}}`, provider.RateLimit},
		{"told in a stream: not found", 0, `{"type":"error","error":{"type":"not_found_error","message":"model: x"}}`, provider.UnknownModel},
		{"Google's bad key", 400, `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`, provider.Auth},
		{"no money at Anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}`, provider.Auth},
		{"too long for Gemini", 400, `{"error":{"code":400,"message":"The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, provider.ContextLength},
		{"told in a stream: time", 0, `{"error":{"type":"timeout_error"}}`, provider.Timeout},
		{"told in a stream: a text", 0, `{"error":"boom"}`, provider.Unavailable},
		{"told in a stream: google", 0, `[{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"bad"}}]`, provider.InvalidRequest},
	} {
		e := provider.Classify(provider.Failure{Provider: "p", Status: test.status, Body: []byte(test.body)})
		if e.Code != test.want {
			t.Errorf("%s: got %q (%v), want %q", test.name, e.Code, e, test.want)
		}
		if e.Provider != "p" || e.Status != test.status {
			t.Errorf("%s: got provider %q, status %d", test.name, e.Provider, e.Status)
		}
	}
}

func TestClassifyMessages(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status     int
		body, want string
	}{
		{400, openAINoModel, "The model 'gpt-9' does not exist or you do not have access to it."},
		{502, page, "Bad Gateway: an HTML page came back, not a reply of the API"},
		{503, "", "Service Unavailable"},
		{503, "upstream connect error\r\n\x1b[31mred\x07", "upstream connect error [31mred"},
		{422, `{"detail":"Field required"}`, "Field required"},
		{400, routerUpstream, `Provider returned error: {"message":"prompt is too long: 210000 tokens"}`},
		{500, `{"error":{"message":"` + strings.Repeat("é", 2000) + `"}}`, strings.Repeat("é", 250) + "…"},
	} {
		got := provider.Classify(provider.Failure{Status: test.status, Body: []byte(test.body)}).Message
		if got != test.want {
			t.Errorf("status %d, body %.60q: got %q, want %q", test.status, test.body, got, test.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		name   string
		header map[string]string
		want   time.Duration
	}{
		{"nothing", nil, 0},
		{"seconds", map[string]string{"Retry-After": "20"}, 20 * time.Second},
		{"a fraction", map[string]string{"Retry-After": "1.5"}, 1500 * time.Millisecond},
		{"milliseconds first", map[string]string{"Retry-After-Ms": "250", "Retry-After": "1"}, 250 * time.Millisecond},
		{"a date", map[string]string{"Retry-After": now.Add(30 * time.Second).Format(http.TimeFormat)}, 30 * time.Second},
		{"a date that has passed", map[string]string{"Retry-After": now.Add(-time.Hour).Format(http.TimeFormat)}, 0},
		{"a date of a server whose clock is an hour ahead", map[string]string{
			"Retry-After": now.Add(time.Hour + 30*time.Second).Format(http.TimeFormat),
			"Date":        now.Add(time.Hour).Format(http.TimeFormat)}, 30 * time.Second},
		{"negative", map[string]string{"Retry-After": "-3"}, 0},
		{"not a number", map[string]string{"Retry-After": "NaN"}, 0},
		{"endless", map[string]string{"Retry-After": "Inf"}, 24 * time.Hour},
		{"absurd", map[string]string{"Retry-After": "1e300"}, 24 * time.Hour},
		{"words", map[string]string{"Retry-After": "soon"}, 0},
	} {
		h := http.Header{}
		for k, v := range test.header {
			h.Set(k, v)
		}
		if got := provider.RetryAfter(h, now); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

func TestErrorIn(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]bool{
		openAIServer: true, `{"error":"boom"}`: true, `{"error":{}}`: true,
		`{"error":null,"choices":[]}`: false, `{"error":false}`: false, `{"error":""}`: false,
		`{"choices":[{"delta":{"content":"\"error\""}}]}`: false, `"error"`: false, `["error"]`: false, ``: false, `{`: false,
	} {
		if got := provider.ErrorIn([]byte(doc)); got != want {
			t.Errorf("%s: got %v, want %v", doc, got, want)
		}
	}
}

func FuzzClassify(f *testing.F) {
	for _, body := range []string{openAITooLong, vllmTooLong, azureFiltered, routerUpstream, page, `[{"error":{"code":"429"}}]`, `{"error":[1]}`} {
		f.Add(400, body)
		f.Add(0, body)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		e := provider.Classify(provider.Failure{Provider: "p", Status: status, Body: []byte(body)})
		if e.Code == "" || e.Code == provider.Cancelled {
			t.Errorf("got code %q", e.Code)
		}
		const most = 500 + len("…")
		if len(e.Message) > most || !utf8.ValidString(e.Message) || strings.ContainsFunc(e.Message, unicode.IsControl) {
			t.Errorf("got a message unfit to print: %q", e.Message)
		}
	})
}
