package tool_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/engine/redact"
	"github.com/agentclash/agentclash/engine/tool"
	"github.com/agentclash/agentclash/pack/template"
	"github.com/agentclash/agentclash/sandbox/egress"
)

const secretValue = "s3cr3t/v4lue+xyz"

type oneName struct{}

func (oneName) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if host == "api.test" {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// online are tools whose network is this machine's loopback.
func online(t *testing.T, p tool.Policy) *tool.Set {
	t.Helper()
	policy, err := egress.NewPolicy([]string{"127.0.0.0/8"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return set(t, p).With(tool.Network{
		Dialer:  egress.New(egress.Options{Policy: policy, Resolver: oneName{}}),
		Secrets: map[string]string{"KEY": secretValue}, Redact: redact.New([]string{secretValue}),
	})
}

func webServer(t *testing.T, h http.HandlerFunc) (at string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	return "http://api.test:" + port
}

func args(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

type object = map[string]any

// enveloped reads the result of a tool whose results can be long.
func enveloped(t *testing.T, r tool.Result) (content object) {
	t.Helper()
	var e struct {
		Truncated *bool
		Content   object
	}
	if err := json.Unmarshal([]byte(r.Content), &e); err != nil || e.Truncated == nil || r.IsError {
		t.Fatalf("got %+v (%v), want a result", r, err)
	}
	return e.Content
}

func TestHTTPRequest(t *testing.T) {
	t.Parallel()
	at := webServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header()["X-Twice"] = []string{"a", "b"}
		w.Header().Set("Set-Cookie", "session=1")
		w.Header().Set("X-Api-Key", "k")
		switch r.URL.Path {
		case "/binary":
			_, _ = w.Write([]byte{0xff, 0, 1})
			return
		case "/moved":
			http.Redirect(w, r, "/there", http.StatusFound)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("X-Mine"), body)
	})
	b, s := box(t), online(t, tool.Policy{})
	got := enveloped(t, call(t, s, b, "http_request", args(object{"method": " post ", "url": at + "/a", "headers": object{"x-mine": "1"}, "body": "hällo"})))
	if got["status_code"] != 404. || got["body"] != "POST 1 hällo" || got["body_bytes"] != 13. || got["url"] != at+"/a" {
		t.Errorf("got %v", got)
	}
	h := got["headers"].(object)
	if h["X-Twice"] != "a, b" || h["Set-Cookie"] != "[redacted]" || h["X-Api-Key"] != "[redacted]" {
		t.Errorf("headers: got %v", h)
	}
	if got := enveloped(t, call(t, s, b, "http_request", args(object{"method": "GET", "url": at + "/moved"}))); got["url"] != at+"/there" {
		t.Errorf("redirect: got %v", got)
	}
	if got := enveloped(t, call(t, s, b, "http_request", args(object{"method": "GET", "url": at + "/binary"}))); got["body"] != "/wAB" || got["body_encoding"] != "base64" || got["body_bytes"] != 3. {
		t.Errorf("binary: got %v", got)
	}
	got = enveloped(t, call(t, s, b, "http_request", args(object{"method": "GET", "url": at + "/binary", "output_path": "in/file"})))
	if _, body := got["body"]; body || got["output_path"] != "in/file" || got["bytes_downloaded"] != 3. || b.Files()["/workspace/in/file"] != "\xff\x00\x01" {
		t.Errorf("to a file: got %v, %q", got, b.Files())
	}
}

func TestLongResponsesGoToAFile(t *testing.T) {
	t.Parallel()
	at := webServer(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.Repeat("line\n", 20_000)+secretValue)
	})
	b, s := box(t), online(t, tool.Policy{})
	r := call(t, s, b, "http_request", args(object{"method": "GET", "url": at}))
	if !strings.Contains(r.Content, `"truncated":true`) || len(r.Content) > 20_000 || len(b.Files()) != 1 {
		t.Errorf("got %d bytes, files %d", len(r.Content), len(b.Files()))
	}
	for name, content := range b.Files() {
		if !strings.Contains(content, "[redacted]") || strings.Contains(content, secretValue) {
			t.Errorf("%s holds the secret", name)
		}
	}
}

func TestHTTPRequestFails(t *testing.T) {
	t.Parallel()
	b, s := box(t), online(t, tool.Policy{})
	for _, row := range []struct{ args, want, origin string }{
		{args(object{"method": "GET", "url": "http://10.0.0.1/"}), "policy: the network policy refuses", tool.OriginPolicy},
		{args(object{"method": "GET", "url": "http://169.254.169.254/latest"}), "policy: ", tool.OriginPolicy},
		{args(object{"method": "GET", "url": "file:///etc/passwd"}), "request: the url must begin with http", tool.OriginPrimitive},
		{args(object{"method": "GET", "url": "http://nowhere.test/"}), "dns: ", tool.OriginPrimitive},
		{args(object{"method": "GET", "url": "http://api.test:1/"}), "connect: ", tool.OriginPrimitive},
		{args(object{"method": "GET", "url": "http://api.test/", "headers": object{"Host": "x"}}), "request: the header Host", tool.OriginPrimitive},
		{args(object{"method": "GET", "url": "http://api.test/", "body": strings.Repeat("x", 1<<20+1)}), "body: ", tool.OriginPrimitive},
		{args(object{"method": "GET", "url": "http://api.test/", "output_path": "/etc/passwd"}), "outside the workspace", tool.OriginPrimitive},
		{args(object{"url": "http://api.test/"}), "do not fit", tool.OriginPrimitive},
		{args(object{"method": "GET", "url": "http://api.test/", "timeout_seconds": 0}), "do not fit", tool.OriginPrimitive},
		{args(object{"method": "GET", "url": "http://api.test/", "verify": false}), "do not fit", tool.OriginPrimitive},
	} {
		r := call(t, s, b, "http_request", row.args)
		if !r.IsError || !strings.Contains(r.Content, row.want) || r.Origin != row.origin {
			t.Errorf("%.100s: got %+v, want %q, origin %s", row.args, r, row.want, row.origin)
		}
	}
	if r := call(t, set(t, tool.Policy{}), b, "http_request", args(object{"method": "GET", "url": "http://api.test/"})); !r.IsError || r.Origin != tool.OriginPolicy || !strings.Contains(r.Content, "does not permit network access") {
		t.Errorf("without a network: got %+v", r)
	}
	if calls := b.Calls(); len(calls) > 0 {
		t.Errorf("the box was touched: %+v", calls)
	}
}

// TestSecretsDoNotComeBack has a server say what it was told in every way it can
// think of. The agent hears of none.
func TestSecretsDoNotComeBack(t *testing.T) {
	t.Parallel()
	ways := map[string]func(string) string{
		"plain": func(s string) string { return s },
		"backwards": func(s string) string {
			b := []byte(s)
			slices.Reverse(b)
			return string(b)
		},
		"hex":       func(s string) string { return hex.EncodeToString([]byte(s)) },
		"HEX":       func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
		"base64":    func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64 +1": func(s string) string { return base64.StdEncoding.EncodeToString([]byte("x" + s + "y")) },
		"base64 +2": func(s string) string { return base64.StdEncoding.EncodeToString([]byte("xy" + s)) },
		"base64url": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		"query":     url.QueryEscape,
		"path":      url.PathEscape,
		"JSON":      func(s string) string { return args(object{"echo": s}) },
		"PHP":       func(s string) string { return strings.ReplaceAll(s, "/", `\/`) },
		"binary":    func(s string) string { return "\xff\x00" + s + "\xfe" },
		"in base64": func(s string) string { return args(args(s)) },
	}
	at := webServer(t, func(w http.ResponseWriter, r *http.Request) {
		said := ways[r.URL.Query().Get("way")](strings.TrimPrefix(r.Header.Get("X-Auth"), "Bearer "))
		if !strings.ContainsAny(said, "\x00\n") {
			w.Header().Set("X-Echo", said)
		}
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, "/end?way=plain&key="+url.QueryEscape(said), http.StatusFound)
			return
		}
		fmt.Fprint(w, said)
	})
	custom, problems := template.ReadTools(object{"custom": []any{object{
		"name": "ask", "parameters": object{"type": "object", "properties": object{"way": object{"type": "string"}, "path": object{"type": "string"}}},
		"implementation": object{"primitive": "http_request", "args": object{
			"method": "GET", "url": at + "/${path}?way=${query:way}", "headers": object{"X-Auth": "Bearer ${secrets.KEY}"}}},
	}}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	b, s := box(t), online(t, tool.Policy{Custom: custom.Custom})
	for way, say := range ways {
		for _, path := range []string{"", "redirect"} {
			r := call(t, s, b, "ask", args(object{"way": way, "path": path}))
			if gone := strings.Contains(r.Content, "[redacted]") || way == "binary"; r.IsError || !gone {
				t.Errorf("%s: got %+v", way, r)
			}
			for _, bad := range []string{say(secretValue), secretValue, base64.StdEncoding.EncodeToString([]byte(say(secretValue)))} {
				if strings.Contains(r.Content, bad) {
					t.Errorf("%s: got %s", way, r.Content)
				}
			}
		}
	}
	for _, c := range b.Calls() {
		t.Errorf("the box was touched: %+v", c)
	}
}
