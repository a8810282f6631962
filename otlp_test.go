package main_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/agentclash/agentclash/engine/provider/openai/openaitest"
)

// collected is what a collector on loopback was sent.
type collected struct {
	URL string

	mu      sync.Mutex
	spans   []*traces.Span
	headers []string
	paths   []string
}

func newCollector(t *testing.T) *collected {
	t.Helper()
	c := &collected{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			body = z
		}
		raw, err := io.ReadAll(body)
		var req collector.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(raw, &req) != nil {
			t.Errorf("the collector cannot read what came: %v", err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.paths, c.headers = append(c.paths, r.URL.Path), append(c.headers, r.Header.Get("X-Key"))
		for _, rs := range req.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				c.spans = append(c.spans, ss.Spans...)
			}
		}
	}))
	t.Cleanup(s.Close)
	c.URL = s.URL
	return c
}

// asked is where the collector was asked last, and with which key.
func (c *collected) asked() (path, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.paths) == 0 {
		return "", ""
	}
	return c.paths[len(c.paths)-1], c.headers[len(c.headers)-1]
}

// take returns the spans so far, sorted by when they started, and forgets them.
func (c *collected) take() []*traces.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.spans
	c.spans = nil
	slices.SortStableFunc(list, func(a, b *traces.Span) int {
		if a.StartTimeUnixNano != b.StartTimeUnixNano {
			return int(int64(a.StartTimeUnixNano) - int64(b.StartTimeUnixNano))
		}
		return strings.Compare(string(a.ParentSpanId), string(b.ParentSpanId))
	})
	return list
}

// attributes are a span's, as text.
func attributes(list []*common.KeyValue) map[string]string {
	m := map[string]string{}
	for _, kv := range list {
		switch v := kv.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			m[kv.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			m[kv.Key] = fmt.Sprint(v.IntValue)
		default:
			m[kv.Key] = kv.Value.String()
		}
	}
	return m
}

// TestTraces runs an agent with a collector listening, and exports the stored run
// afterwards: the same spans with the same ids.
func TestTraces(t *testing.T) {
	t.Parallel()
	const key = "sk-test-0123456789abcdef"
	limited := openaitest.RateLimited("0.01")
	write := openaitest.Call("write_file", `{"path":"notes.txt","content":"hello"}`)
	write.Usage = &openaitest.Usage{Prompt: 100, Completion: 20, Total: 120}
	submit := openaitest.Call("submit", `{"answer":"by the way your key is `+key+`"}`)
	server := openaitest.New(t, limited, write, submit)
	c := newCollector(t)

	p := newProgram(t)
	p.env = append(p.env, "OPENAI_API_KEY="+key, "OTEL_EXPORTER_OTLP_HEADERS=x-key=secret", "OTEL_TRACES_SAMPLER=always_off")
	p.write(t, "pack.yaml", nativeFiles)
	p.must(t, "deployment", "create", "--name", "served", "--model", "openai/gpt-test", "--base-url", server.URL, "--account", "env://OPENAI_API_KEY")
	p.must(t, "eval", "start", "--pack", "pack.yaml", "--deployment", "served", "--sandbox", "scratch", "--name", "one", "--otlp", c.URL)

	live := c.take()
	if path, key := c.asked(); path != "/v1/traces" || key != "secret" {
		t.Fatalf("the collector was asked at %q with %q", path, key)
	}
	tree := map[string]*traces.Span{}
	var names []string
	for _, s := range live {
		names = append(names, s.Name)
		tree[s.Name] = s
		for _, kv := range append(s.Attributes, eventAttributes(s)...) {
			if strings.Contains(kv.String(), key) || strings.Contains(kv.String(), "hello") {
				t.Errorf("%s says %s", s.Name, kv)
			}
		}
	}
	slices.Sort(names)
	if got := strings.Join(names, ", "); got != "chat gpt-test, chat gpt-test, execute_tool submit, execute_tool write_file, invoke_agent served, invoke_workflow files" {
		t.Fatalf("got the spans %s", got)
	}
	root, chat, tool := tree["invoke_agent served"], live[slices.IndexFunc(live, func(s *traces.Span) bool { return s.Name == "chat gpt-test" })], tree["execute_tool write_file"]
	for _, s := range []*traces.Span{chat, tool} {
		if string(s.ParentSpanId) != string(root.SpanId) || string(s.TraceId) != string(root.TraceId) {
			t.Errorf("%s is not below the trial", s.Name)
		}
		if s.EndTimeUnixNano < s.StartTimeUnixNano || s.StartTimeUnixNano < root.StartTimeUnixNano || s.EndTimeUnixNano > root.EndTimeUnixNano {
			t.Errorf("%s does not lie within the trial", s.Name)
		}
	}
	if len(root.Links) != 1 || string(root.Links[0].TraceId) != string(tree["invoke_workflow files"].TraceId) {
		t.Error("the trial is not linked to its run")
	}
	for span, want := range map[*traces.Span]map[string]string{
		chat: {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-test",
			"gen_ai.usage.input_tokens": "100", "gen_ai.usage.output_tokens": "20"},
		tool: {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "write_file"},
		root: {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "served", "agentclash.outcome": "passed", "agentclash.case.key": "one"},
	} {
		got := attributes(span.Attributes)
		for k, v := range want {
			if got[k] != v {
				t.Errorf("%s: %s is %q, want %q", span.Name, k, got[k], v)
			}
		}
	}
	if len(chat.Events) != 1 || chat.Events[0].Name != "model.call.failed" || attributes(chat.Events[0].Attributes)["error.type"] != "rate_limit" {
		t.Errorf("the retry is not among the events of the call: %v", chat.Events)
	}
	if got := eventNames(root); !strings.Contains(got, "gen_ai.evaluation.result") || root.Status.Code != traces.Status_STATUS_CODE_OK {
		t.Errorf("the trial's outcome is not in it: %s, %s", got, root.Status)
	}

	p.must(t, "run", "export", "one", "--otlp", c.URL)
	again := c.take()
	if len(again) != len(live) {
		t.Fatalf("exported again: %d spans, then %d", len(live), len(again))
	}
	for i := range live {
		if !proto.Equal(live[i], again[i]) {
			t.Errorf("exported again, a span is another:\n%v\n%v", live[i], again[i])
		}
	}

	p.must(t, "run", "export", "one", "--otlp", c.URL+"/custom/v1/traces", "--otlp-content")
	full := fmt.Sprint(c.take())
	if path, _ := c.asked(); !strings.Contains(full, "hello") || strings.Contains(full, key) || path != "/custom/v1/traces" {
		t.Errorf("with content, at %s: got %s", path, full)
	}
}

func eventAttributes(s *traces.Span) (list []*common.KeyValue) {
	for _, e := range s.Events {
		list = append(list, e.Attributes...)
	}
	return list
}

func eventNames(s *traces.Span) string {
	var names []string
	for _, e := range s.Events {
		names = append(names, e.Name)
	}
	return strings.Join(names, " ")
}

// TestTracesOfACollectorThatIsNotThere: the run is what it would be without it.
func TestTracesOfACollectorThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	p := newProgram(t)
	out := p.must(t, "eval", "start", "--pack", "builtin:quickstart", "--model", "scripted/builtin:quickstart-good", "--otlp", s.URL, "--exit-code")
	if !strings.Contains(out, "the traces are not all at "+s.URL) {
		t.Errorf("nothing is said of it:\n%s", out)
	}
}
