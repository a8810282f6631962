package vendortest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/providertest"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

// Subject is an adapter under test, with the vendor it speaks to.
type Subject struct {
	Dialect Dialect
	// New makes a client.
	New func(o wire.Options) (provider.Client, error)
}

// Run puts the adapter through the contract of the port and through every
// scenario of its wire.
func Run(t *testing.T, s Subject) {
	t.Helper()
	t.Run("Contract", func(t *testing.T) {
		providertest.Run(t, providertest.Subject{Provider: s.Dialect.Provider, New: func(t *testing.T, replies ...providertest.Reply) provider.Client {
			t.Helper()
			onWire := make([]Reply, len(replies))
			for i, r := range replies {
				onWire[i] = s.reply(r)
			}
			return s.client(t, New(t, s.Dialect, onWire...), wire.Options{})
		}})
	})
	t.Run("Replies", s.replies)
	t.Run("Faults", s.faults)
	t.Run("Errors", s.errors)
	t.Run("RetryAfter", s.retryAfter)
	t.Run("Slow", s.slow)
	t.Run("Usage", s.usage)
	t.Run("Redirects", s.redirects)
	t.Run("Keys", s.keys)
	t.Run("State", s.state)
	t.Run("Models", s.models)
	t.Run("Ids", s.ids)
	t.Run("Mutations", s.mutations)
}

func (s Subject) client(t *testing.T, server *Server, o wire.Options) provider.Client {
	t.Helper()
	o.Provider, o.BaseURL, o.Transport = s.Dialect.Provider, server.URL, server.Transport()
	c, err := s.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if closer, ok := c.(interface{ Close() error }); ok {
		t.Cleanup(func() { _ = closer.Close() })
	}
	return c
}

func (s Subject) call(t *testing.T, r Reply, o wire.Options) (provider.Response, error) {
	t.Helper()
	return s.client(t, New(t, s.Dialect, r), o).Complete(t.Context(), providertest.Ask(t), nil)
}

// reply puts a reply of the port's suite into this package's words.
func (s Subject) reply(r providertest.Reply) Reply {
	if r.Fail != nil {
		return s.failure(*r.Fail)
	}
	out := Reply{Pieces: r.Pieces, Finish: r.Finish, Usage: r.Usage}
	for _, c := range r.Calls {
		out.Calls = append(out.Calls, Call{c.Name, c.Arguments})
	}
	if r.Slow {
		out.Raw, out.StallAfter = []string{": here\n\n", ": and no more\n\n"}, 1
	}
	return out
}

func (s Subject) failure(f providertest.Failure) Reply {
	if f.Code == provider.MalformedResponse {
		return Reply{Raw: []string{"data: {not json\n\n"}}
	}
	_, doc := s.Dialect.Told(f.Code)
	r := Reply{Status: s.Dialect.Status(f.Code), Body: doc}
	if f.RetryAfter > 0 {
		r.Header = map[string]string{"Retry-After": strconv.FormatFloat(f.RetryAfter.Seconds(), 'f', -1, 64)}
	}
	return r
}

// expect is the outcome of one scenario: a text, or an error.
type expect struct {
	reply Reply
	code  provider.Code // "" for a reply
	text  string
	says  string // in the error
}

func (s Subject) each(t *testing.T, o wire.Options, rows map[string]expect) {
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var heard strings.Builder
			c := s.client(t, New(t, s.Dialect, row.reply), o)
			res, err := c.Complete(t.Context(), providertest.Ask(t), func(d provider.Delta) { heard.WriteString(d.Text) })
			var failed *provider.Error
			if err != nil && (!errors.As(err, &failed) || failed.Provider != s.Dialect.Provider) {
				t.Fatalf("got %v, want an error of %s in the taxonomy", err, s.Dialect.Provider)
			}
			if provider.CodeOf(err) != row.code {
				t.Fatalf("got %v, want code %q", err, row.code)
			}
			if err == nil && (res.Text != row.text || heard.String() != row.text) {
				t.Errorf("got %.80q, heard %.80q, want %.80q", res.Text, heard.String(), row.text)
			}
			if err != nil && !strings.Contains(err.Error(), row.says) {
				t.Errorf("got %v, want it to say %q", err, row.says)
			}
		})
	}
}

// replies are streams that are odd and still say everything.
func (s Subject) replies(t *testing.T) {
	long := strings.Repeat("The quick brown fox. ", 50_000)
	whole := s.Dialect.Events(Text("ok"), "m")
	for i, event := range whole { // as other servers end their lines
		whole[i] = strings.ReplaceAll(event, "\n", "\r\n")
	}
	beating := []string{": keep-alive\n\n"}
	for _, event := range s.Dialect.Events(Text("ok"), "m") {
		beating = append(beating, event, ": keep-alive\n\n")
	}
	unended := s.Dialect.Events(Text("ok"), "m")
	unended[len(unended)-1] = strings.TrimRight(unended[len(unended)-1], "\n")
	s.each(t, wire.Options{}, map[string]expect{
		"one piece":                 {reply: Text("ok"), text: "ok"},
		"nothing":                   {reply: Reply{}},
		"white space":               {reply: Text(" \n\t"), text: " \n\t"},
		"long":                      {reply: Text(long), text: long},
		"many pieces":               {reply: Reply{Pieces: strings.SplitAfter(strings.Repeat("a b ", 500), " ")}, text: strings.Repeat("a b ", 500)},
		"characters cut in halves":  {reply: Reply{Pieces: []string{"naïve 日本 ", "🙂👩‍👩‍👧 done"}, ByByte: true}, text: "naïve 日本 🙂👩‍👩‍👧 done"},
		"markup and quotes":         {reply: Text(`<b>"\u0000" & </script>` + "\u2028"), text: `<b>"\u0000" & </script>` + "\u2028"},
		"data: in the text":         {reply: Text("data: [DONE]\n\ndata: {}"), text: "data: [DONE]\n\ndata: {}"},
		"carriage returns":          {reply: Reply{Raw: whole}, text: "ok"},
		"comments between":          {reply: Reply{Raw: beating}, text: "ok"},
		"no empty line at the end":  {reply: Reply{Raw: unended}, text: "ok"},
		"another content type":      {reply: Reply{Pieces: []string{"ok"}, Header: map[string]string{"Content-Type": "application/octet-stream"}}, text: "ok"},
		"invalid UTF-8":             {reply: Reply{Raw: broken(s.Dialect.Events(Text("okXok"), "m"))}, text: "ok\uFFFDok"},
		"reasoning before the text": {reply: Reply{Thought: "hm, secret thoughts", Pieces: []string{"ok"}}, text: "ok"},
	})
}

func broken(events []string) []string {
	for i := range events {
		events[i] = strings.ReplaceAll(events[i], "okXok", "ok\xffok")
	}
	return events
}

// faults are streams that are no reply.
func (s Subject) faults(t *testing.T) {
	const cut, over = "the stream broke off", "before the reply did"
	two := Reply{Pieces: []string{"a", "b"}}
	first := 1 // event, after what is no event of the reply
	for _, event := range s.Dialect.Events(two, "m") {
		if !strings.HasPrefix(event, ":") {
			break
		}
		first++
	}
	at := func(change func(*Reply)) Reply { r := two; change(&r); return r }
	megabyte := strings.Repeat("x", 1<<20)
	huge := make([]string, 8) // twice the bound
	if os.Getenv("AGENTCLASH_SLOW") != "" {
		huge = make([]string, 50)
	}
	for i := range huge {
		huge[i] = megabyte
	}
	s.each(t, wire.Options{}, map[string]expect{
		"a huge reply": {reply: Reply{Pieces: huge}, code: provider.MalformedResponse, says: "passes 4194304 bytes"},
	})
	s.each(t, wire.Options{Limits: wire.Limits{StreamBytes: 40_000, ReplyBytes: 9_000, ArgumentBytes: 1_000}}, map[string]expect{
		"dropped before the headers":      {reply: Reply{Drop: true}, code: provider.Unavailable},
		"cut after the first event":       {reply: at(func(r *Reply) { r.CutAfter = first }), code: provider.Unavailable, says: cut},
		"cut in the middle":               {reply: at(func(r *Reply) { r.CutAfter = first + 1 }), code: provider.Unavailable, says: cut},
		"cut in the middle of an event":   {reply: at(func(r *Reply) { r.CutAfter, r.Half = first+1, true }), code: provider.Unavailable, says: cut},
		"cut before the last word":        {reply: Reply{Pieces: []string{"a"}, Raw: s.withoutEnd(), CutAfter: len(s.withoutEnd()) - 1}, code: provider.Unavailable, says: cut},
		"ended after the first event":     {reply: at(func(r *Reply) { r.EndAfter = first }), code: provider.Unavailable, says: over},
		"ended in the middle":             {reply: at(func(r *Reply) { r.EndAfter = first + 1 }), code: provider.Unavailable, says: over},
		"ended in the middle of an event": {reply: at(func(r *Reply) { r.EndAfter, r.Half = first+1, true }), code: provider.Unavailable, says: over},
		"nothing in the body":             {reply: Reply{Raw: []string{}}, code: provider.Unavailable, says: "ended before the reply did"},
		"comments only":                   {reply: Reply{Raw: []string{": hello\n\n"}}, code: provider.Unavailable, says: "ended before the reply did"},
		"not JSON":                        {reply: Reply{Raw: []string{"data: {\"choices\": [\n\n"}}, code: provider.MalformedResponse, says: "a piece of the stream is not"},
		"JSON and no object":              {reply: Reply{Raw: []string{"data: \"hello\"\n\n"}}, code: provider.MalformedResponse, says: "a piece of the stream is not"},
		"HTML in the stream":              {reply: Reply{Raw: []string{"data: <html>\n\n"}}, code: provider.MalformedResponse, says: "<html>"},
		"an endless comment":              {reply: Reply{Raw: []string{": " + strings.Repeat("x", 60_000)}}, code: provider.MalformedResponse, says: "the stream passes 40000 bytes"},
		"long text":                       {reply: Text(strings.Repeat("x", 9_001)), code: provider.MalformedResponse, says: "the reply passes 9000 bytes"},
		"long arguments":                  {reply: Tool("x", `{"a":"`+strings.Repeat("x", 1_001)+`"}`), code: provider.MalformedResponse, says: "the arguments of a tool call pass 1000 bytes"},
		"a long name":                     {reply: Tool(strings.Repeat("x", 257), `{}`), code: provider.MalformedResponse, says: "passes 256 bytes"},
		"an HTML page":                    {reply: Reply{Status: 200, Header: html(), Body: page}, code: provider.MalformedResponse, says: "did not stream"},
		"JSON that is no error":           {reply: Reply{Status: 200, Body: `{"ok":true}`}, code: provider.MalformedResponse, says: "did not stream"},
		"204":                             {reply: Reply{Status: 204}, code: provider.MalformedResponse},
		"a broken error":                  {reply: Reply{Status: 200, Body: `{"error":`}, code: provider.MalformedResponse},
	})
}

// withoutEnd is a stream without the events that say how it ended.
func (s Subject) withoutEnd() []string {
	events := s.Dialect.Events(Reply{Pieces: []string{"a"}}, "m")
	for i, event := range events {
		if strings.Contains(event, "finish_reason\":\"") || strings.Contains(event, "finishReason") ||
			strings.Contains(event, "message_delta") || strings.Contains(event, "response.completed") {
			return append(events[:i:i], ": the end\n\n")
		}
	}
	return events
}

const page = "<html><head><title>oops</title></head><body>nginx</body></html>"

func html() map[string]string { return map[string]string{"Content-Type": "text/html"} }

// errors are all that a vendor can say instead of a reply, in every place where
// it can be said.
func (s Subject) errors(t *testing.T) {
	rows := map[string]expect{
		"an HTML 502":         {reply: Reply{Status: 502, Header: html(), Body: page}, code: provider.Unavailable, says: "HTML page"},
		"an HTML 401":         {reply: Reply{Status: 401, Header: html(), Body: page}, code: provider.Auth},
		"an HTML 404":         {reply: Reply{Status: 404, Header: html(), Body: page}, code: provider.InvalidRequest},
		"403":                 {reply: Reply{Status: 403, Body: "no"}, code: provider.Auth},
		"402":                 {reply: Reply{Status: 402, Body: "pay"}, code: provider.Auth},
		"413":                 {reply: Reply{Status: 413, Body: "large"}, code: provider.ContextLength},
		"500, nothing said":   {reply: Reply{Status: 500}, code: provider.Unavailable},
		"504":                 {reply: Reply{Status: 504, Body: "late"}, code: provider.Unavailable},
		"529":                 {reply: Reply{Status: 529, Body: "busy"}, code: provider.RateLimit},
		"422":                 {reply: Reply{Status: 422, Body: `{"detail":"no such field"}`}, code: provider.InvalidRequest, says: "no such field"},
		"a huge error":        {reply: Reply{Status: 500, Body: strings.Repeat("x ", 1<<20)}, code: provider.Unavailable},
		"an array of one":     {reply: Reply{Status: 200, Body: `[{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}]`}, code: provider.RateLimit, says: "slow down"},
		"an error as a text":  {reply: Reply{Status: 200, Body: `{"error":"model is loading"}`}, code: provider.Unavailable, says: "model is loading"},
		"control characters":  {reply: Reply{Status: 400, Body: `{"error":{"message":"a\u001b[31mb\u0007"}}`}, code: provider.InvalidRequest, says: "a [31mb"},
		"redirect, no target": {reply: Reply{Status: 307}, code: provider.InvalidRequest},
	}
	for _, code := range provider.Codes() {
		if code == provider.Cancelled || code == provider.MalformedResponse {
			continue
		}
		event, doc := s.Dialect.Told(code)
		rows["first in the stream: "+string(code)] = expect{reply: Reply{Raw: []string{event}}, code: code}
		rows["later in the stream: "+string(code)] = expect{reply: Reply{Pieces: []string{"a", "b", "c"}, Last: []string{event}}, code: code}
		rows["a 200 with: "+string(code)] = expect{reply: Reply{Status: 200, Body: doc}, code: code}
		rows["by its status: "+string(code)] = expect{reply: Reply{Status: s.Dialect.Status(code), Body: doc}, code: code}
	}
	s.each(t, wire.Options{}, rows)
	t.Run("a wrong key", func(t *testing.T) {
		t.Parallel()
		server := New(t, s.Dialect, Text("ok"))
		server.Demand("right-key-123")
		for key, want := range map[string]provider.Code{"wrong-key-123": provider.Auth, " right-key-123\n": ""} {
			if _, err := s.client(t, server, wire.Options{Key: key}).Complete(t.Context(), providertest.Ask(t), nil); provider.CodeOf(err) != want {
				t.Errorf("%q: got %v, want %q", key, err, want)
			}
		}
	})
}

// retryAfter reads the forms in which a vendor asks to wait.
func (s Subject) retryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for name, row := range map[string]struct {
		header map[string]string
		body   string
		want   time.Duration
	}{
		"seconds":                   {map[string]string{"Retry-After": "7"}, "", 7 * time.Second},
		"a fraction":                {map[string]string{"Retry-After": "1.5"}, "", 1500 * time.Millisecond},
		"milliseconds":              {map[string]string{"Retry-After-Ms": "250", "Retry-After": "9"}, "", 250 * time.Millisecond},
		"a date":                    {map[string]string{"Retry-After": at(30 * time.Second), "Date": at(0)}, "", 30 * time.Second},
		"a date, its clock is fast": {map[string]string{"Retry-After": at(2*time.Hour + 30*time.Second), "Date": at(2 * time.Hour)}, "", 30 * time.Second},
		"a date that has passed":    {map[string]string{"Retry-After": at(-time.Minute), "Date": at(0)}, "", 0},
		"far too long":              {map[string]string{"Retry-After": "99999999"}, "", 24 * time.Hour},
		"nonsense":                  {map[string]string{"Retry-After": "soon"}, "", 0},
		"negative":                  {map[string]string{"Retry-After": "-5"}, "", 0},
		"in the body, as Google":    {nil, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"quota","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"12.5s"}]}}`, 12500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := s.call(t, Reply{Status: 429, Header: row.header, Body: row.body}, wire.Options{Now: func() time.Time { return now }})
			var failed *provider.Error
			if !errors.As(err, &failed) || failed.Code != provider.RateLimit || failed.RetryAfter != row.want {
				t.Errorf("got %#v, want a rate limit of %v", failed, row.want)
			}
		})
	}
}

// slow tells silence from slowness.
func (s Subject) slow(t *testing.T) {
	for name, r := range map[string]Reply{
		"silent before the headers": {Pieces: []string{"a"}, Delay: time.Minute},
		"silent after the first":    {Pieces: []string{"a", "b"}, StallAfter: 1},
		"silent in an event":        {Pieces: []string{"a", "b"}, StallAfter: 1, Half: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := s.call(t, r, wire.Options{Limits: wire.Limits{Idle: 40 * time.Millisecond}})
			if provider.CodeOf(err) != provider.Timeout || !errors.Is(err, provider.ErrIdle) {
				t.Errorf("got %v, want the silence to end the call", err)
			}
		})
	}
	t.Run("slow is not silent", func(t *testing.T) {
		t.Parallel()
		const pace, idle = 100 * time.Millisecond, 700 * time.Millisecond
		res, err := s.call(t, Reply{Pieces: strings.Split("okay, fine!", ""), Pace: pace}, wire.Options{Limits: wire.Limits{Idle: idle}})
		if err != nil || res.Text != "okay, fine!" || res.Elapsed < idle {
			t.Errorf("got %q after %v, %v; want a reply that took longer than %v", res.Text, res.Elapsed, err, idle)
		}
		if res.TTFT <= 0 || res.TTFT >= res.Elapsed {
			t.Errorf("got the first piece after %v of %v", res.TTFT, res.Elapsed)
		}
	})
	t.Run("nothing is held back", func(t *testing.T) {
		t.Parallel()
		var heard []string
		at := len(s.Dialect.Events(Reply{Pieces: []string{"first"}}, "m")) - len(s.Dialect.Events(Reply{}, "m"))
		r := Reply{Pieces: []string{"first", "second"}}
		for i, event := range s.Dialect.Events(r, "m") {
			if strings.Contains(event, "second") {
				r.StallAfter = i
				break
			}
		}
		_, err := s.client(t, New(t, s.Dialect, r), wire.Options{Limits: wire.Limits{Idle: 400 * time.Millisecond}}).
			Complete(t.Context(), providertest.Ask(t), func(d provider.Delta) { heard = append(heard, d.Text) })
		if diff := cmp.Diff([]string{"first"}, heard); diff != "" || provider.CodeOf(err) != provider.Timeout || at < 1 {
			t.Errorf("got %v; heard (-want +got):\n%s", err, diff)
		}
	})
}

// usage is read with its parts.
func (s Subject) usage(t *testing.T) {
	for name, u := range map[string]provider.Usage{
		"plain":           {Input: 10, Output: 5, Total: 15},
		"cache reads":     {Input: 100, Output: 5, Total: 105, CacheRead: 80},
		"reasoning":       {Input: 10, Output: 50, Total: 60, Reasoning: 30},
		"zero":            {},
		"large":           {Input: 2_000_000, Output: 100_000, Total: 2_100_000},
		"cache and mixed": {Input: 1000, Output: 70, Total: 1070, CacheRead: 900, Reasoning: 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, err := s.call(t, Reply{Pieces: []string{"x"}, Usage: &u}, wire.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&u, res.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("impossible", func(t *testing.T) {
		t.Parallel()
		res, err := s.call(t, Reply{Pieces: []string{"x"}, Usage: &provider.Usage{Input: -10, Output: 5}}, wire.Options{})
		if err != nil || res.Usage != nil {
			t.Errorf("got %+v, %v; want none", res.Usage, err)
		}
	})
}

// models are listed with their prices where the vendor tells them.
func (s Subject) models(t *testing.T) {
	t.Parallel()
	c := s.client(t, New(t, s.Dialect, Text("ok")), wire.Options{})
	list, err := c.(provider.Lister).Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []provider.ModelInfo{{ID: "a", DisplayName: "The A"}, {ID: "b"}}
	if s.Dialect.KeyPrefix != "" { // the chat completions of a router
		want[0].InputUSD, want[0].OutputUSD = new(0.15), new(0.6)
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
	down := s.Dialect
	down.Lists = nil
	if _, err := s.client(t, New(t, down, Text("ok")), wire.Options{}).(provider.Lister).Models(t.Context()); provider.CodeOf(err) == "" {
		t.Errorf("got %v, want an error in the taxonomy", err)
	}
	for name, body := range map[string]string{"a page": page, "another shape": `{"data":"x","models":7}`, "cut": `{"data":[`} {
		broken := s.Dialect
		broken.Lists = map[string]string{}
		for at := range s.Dialect.Lists {
			broken.Lists[at] = body
		}
		if _, err := s.client(t, New(t, broken, Text("ok")), wire.Options{}).(provider.Lister).Models(t.Context()); provider.CodeOf(err) != provider.MalformedResponse {
			t.Errorf("%s: got %v, want malformed_response", name, err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := c.(provider.Lister).Models(ctx); provider.CodeOf(err) != provider.Cancelled {
		t.Errorf("got %v, want cancelled", err)
	}
}

// ids of calls differ within a conversation, and a result finds its call.
func (s Subject) ids(t *testing.T) {
	t.Parallel()
	server := New(t, s.Dialect, Reply{Calls: []Call{{"look", `{"at":"a"}`}, {"look", `{"at":"b"}`}}}, Tool("submit", `{}`))
	c := s.client(t, server, wire.Options{})
	req := providertest.Ask(t)
	res, err := c.Complete(t.Context(), req, nil)
	if err != nil || len(res.ToolCalls) != 2 || res.ToolCalls[0].ID == res.ToolCalls[1].ID {
		t.Fatalf("got %+v, %v", res.ToolCalls, err)
	}
	req.Ref.Call++
	req.Messages = append(req.Messages, provider.Message{Role: provider.Assistant, ToolCalls: res.ToolCalls, State: res.State})
	for i, call := range res.ToolCalls {
		req.Messages = append(req.Messages, provider.Message{Role: provider.ToolRole, ToolCallID: call.ID, Content: fmt.Sprintf("result-%d", i), IsError: i == 1})
	}
	if _, err := c.Complete(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	body := string(server.Requests()[1].Body)
	first, second := strings.Index(body, "result-0"), strings.Index(body, "result-1")
	if first < 0 || second < first {
		t.Errorf("the results are not there in order: %s", body)
	}
}
