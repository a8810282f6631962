package event_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/event"
)

func TestHTTPCalls(t *testing.T) {
	t.Parallel()
	asked := `{"method":" get ","url":"https://a.test/x","phase":"dns"}`
	for _, row := range []struct {
		what string
		tool event.Tool
		want *event.HTTPCall
	}{
		{"an answer", request("http_request", asked, `{"truncated":false,"content":{"status_code":404,"url":"https://b.test/"}}`, false),
			&event.HTTPCall{Method: "GET", URL: "https://a.test/x", Status: 404}},
		{"a bare answer", request("http_request", asked, `{"status_code":200,"url":"https://b.test/"}`, false),
			&event.HTTPCall{Method: "GET", URL: "https://a.test/x", Status: 200}},
		{"an answer that was cut", request("http_request", asked, `{"truncated":true,"preview":"..."}`, false),
			&event.HTTPCall{Method: "GET", URL: "https://a.test/x"}},
		{"a failure", request("http_request", asked, `{"error":"http_request: tls: it is not signed: by anybody"}`, true),
			&event.HTTPCall{Method: "GET", URL: "https://a.test/x", Phase: "tls", Error: "it is not signed: by anybody"}},
		{"a pack without a network", with(request("http_request", asked, `{"error":"http_request is not allowed"}`, true), "policy"),
			&event.HTTPCall{Method: "GET", URL: "https://a.test/x", Phase: "policy", Error: "http_request is not allowed"}},
		{"arguments that do not fit", request("http_request", `{}`, `{"error":"the arguments do not fit: url is missing"}`, true), nil},
		{"a phase that is none", request("http_request", asked, `{"error":"http_request: moon: eclipse"}`, true), nil},
		{"another tool", request("read_file", asked, `{"error":"http_request: dns: no"}`, true), nil},
		{"a mock of its name", mock(request("http_request", asked, `{"status_code":200}`, false)), nil},
		{"a composed tool", composed(request("ask", `{"method":"DELETE","url":"https://evil.test/"}`, `{"error":"ask failed: shop failed: http_request: connect: refused"}`, true)),
			&event.HTTPCall{Phase: "connect", Error: "refused"}},
		{"a composed tool's answer", composed(request("ask", `{"what":"tea"}`, `{"status_code":200,"url":"https://shop.test/"}`, false)),
			&event.HTTPCall{URL: "https://shop.test/", Status: 200}},
	} {
		if diff := cmp.Diff(row.want, event.NewHTTPCall(row.tool)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.what, diff)
		}
	}
}

func request(name, args, content string, failed bool) event.Tool {
	return event.Tool{ToolName: name, ToolCategory: "primitive", Arguments: json.RawMessage(args), Result: &event.ToolResult{Content: content, IsError: failed}}
}

func with(t event.Tool, origin string) event.Tool {
	t.FailureOrigin = origin
	return t
}

func mock(t event.Tool) event.Tool {
	t.ToolCategory = "mock"
	return t
}

func composed(t event.Tool) event.Tool {
	t.ResolutionChain = []string{"ask", "shop", "http_request"}
	t.ToolCategory, t.ResolvedToolName, t.ResolvedToolCategory = "composed", "http_request", "primitive"
	return t
}
