package proxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
)

const (
	dialTime       = 10 * time.Second
	maxHeaderBytes = 256 << 10
	maxErrorBytes  = 64 << 10
	maxEventBytes  = 8 << 20 // of one event of a stream
	maxHeaderValue = 1 << 10
	userAgent      = "agentclash"
)

func newTransport(proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTime, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy: proxy, DialContext: dialer.DialContext, TLSHandshakeTimeout: dialTime, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression: true,
	}
}

// asked are the headers of a program's request that go on; shown those of a
// reply that come back. All others stay where they are.
var (
	asked = map[Wire][]string{OpenAI: {"OpenAI-Beta"}, Anthropic: {"Anthropic-Version", "Anthropic-Beta"}, Gemini: {}}
	shown = []string{"Content-Type", "Retry-After", "Retry-After-Ms", "X-Should-Retry", "Request-Id", "X-Request-Id", "Date", "Cache-Control"}
)

// outgoing is the request as the provider gets it. Nothing of the program's own
// but its body and a few named headers is in it.
func (s *Server) outgoing(ctx context.Context, from http.Header, req request) (*http.Request, error) {
	u := *s.base
	u.Path = s.base.Path + s.path(req)
	switch {
	case req.to == generate && req.stream:
		u.RawQuery = "alt=sse"
	case req.to == messages && from.Get("Anthropic-Beta") != "":
		u.RawQuery = "beta=true"
	}
	out, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(req.body))
	if err != nil {
		return nil, err
	}
	h := out.Header
	for _, name := range asked[s.wire] {
		if v := from.Get(name); v != "" && len(v) <= maxHeaderValue {
			h.Set(name, v)
		}
	}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("User-Agent", userAgent)
	key := s.o.Upstream.Key
	switch {
	case key == "":
	case s.wire == Anthropic:
		h.Set("X-Api-Key", key)
	case s.wire == Gemini:
		h.Set("X-Goog-Api-Key", key)
	default:
		h.Set("Authorization", "Bearer "+key)
	}
	if s.wire == Anthropic && h.Get("Anthropic-Version") == "" {
		h.Set("Anthropic-Version", "2023-06-01")
	}
	return out, nil
}

// path is the endpoint's below the base URL, which may end with the version.
func (s *Server) path(req request) string {
	version := func(v string) string {
		if strings.HasSuffix(s.base.Path, "/"+v) {
			return "/"
		}
		return "/" + v + "/"
	}
	switch req.to {
	case chat:
		return "/chat/completions"
	case responses:
		return "/responses"
	case messages:
		return version("v1") + "messages"
	}
	method := ":generateContent"
	if req.stream {
		method = ":streamGenerateContent"
	}
	return version("v1beta") + "models/" + req.model + method
}

// forward makes a call and hands the reply on while it comes. The call goes on to
// its end when the program does not wait for it: what it uses counts. Over is
// called then.
func (s *Server) forward(w http.ResponseWriter, r *http.Request, req request, c *Call, over func()) *Refusal {
	to := newSpool(s.o.Limits.Behind)
	x := &exchange{s: s, req: req, call: c, began: time.Now(), to: to}
	go func() {
		defer over()
		defer to.close()
		x.run(r.Header.Clone())
	}()
	return to.copyTo(r.Context(), w)
}

// exchange is one call from its request to the end of its reply.
type exchange struct {
	s     *Server
	req   request
	call  *Call
	began time.Time
	to    *spool
	reply reply
	ttft  time.Duration
	left  int64 // bytes that may still come
	kept  heardAnswer
}

// begin, write and cut hand the reply on, and keep it where that is asked for.
func (x *exchange) begin(status int, head http.Header) {
	x.kept.head, x.kept.status = head.Clone(), status
	x.to.begin(status, head)
}

func (x *exchange) write(p []byte) {
	if x.s.o.Keep {
		_, _ = x.kept.Write(p) // which keeps all
	}
	x.to.write(p)
}

func (x *exchange) cut() {
	x.kept.cut = true
	x.to.cut()
}

func (x *exchange) run(from http.Header) {
	ctx, stop := context.WithTimeoutCause(x.s.life, x.s.o.CallTime, fmt.Errorf("no whole reply within %v: %w", x.s.o.CallTime, context.DeadlineExceeded))
	defer stop()
	ctx, idle := provider.StartIdle(ctx, 0) // which ends nothing: the silence is measured
	defer idle.Stop()
	x.s.quiet.begin()
	defer x.s.quiet.end()
	out, err := x.s.outgoing(ctx, from, x.req)
	if err == nil {
		var res *http.Response
		if res, err = x.s.http.RoundTrip(out); err == nil {
			res.Body = x.s.quiet.reader(idle.Reader(res.Body))
			defer res.Body.Close()
			err = x.take(res)
		}
	}
	if err != nil {
		x.failed(ctx, err, idle.Silent())
		return
	}
	x.call.Answer = x.kept.answer()
	res := x.reply.response()
	res.TTFT, res.Elapsed = x.ttft, time.Since(x.began)
	if res.TTFT == 0 {
		res.TTFT = res.Elapsed
	}
	x.s.o.Watch.Done(x.call, res)
}

// failed says what became of a call that has no reply, to the watch and, when it
// has heard nothing yet, to the program. Silent is how long nothing had come by then.
func (x *exchange) failed(ctx context.Context, err error, silent time.Duration) {
	var e *provider.Error
	told := "the provider gave no reply" // where it is, is none of the program's business
	if errors.As(err, &e) {
		told = e.Message
	} else if e = provider.FromContext(ctx, x.s.o.Upstream.Provider); e != nil {
		e.Silent = silent
	} else {
		e = &provider.Error{Code: provider.Unavailable, Message: x.s.hide(provider.Excerpt(bare(err).Error(), 300)), Err: err}
	}
	e.Provider = x.s.o.Upstream.Provider
	answer := refusalOf(e)
	answer.Message = told
	x.to.fail(answer)
	if x.call.Answer = x.kept.answer(); x.kept.status == 0 {
		x.s.answered(x.call, answer, nil)
	}
	x.s.o.Watch.Failed(x.call, e)
}

// bare leaves out the address, which says nothing new.
func bare(err error) error {
	var where *url.Error
	if errors.As(err, &where) {
		return where.Err
	}
	return err
}

// take reads a reply of whatever kind, and hands it on.
func (x *exchange) take(res *http.Response) error {
	head := http.Header{}
	for name, values := range res.Header {
		low := strings.ToLower(name)
		if contains(shown, name) || strings.HasPrefix(low, "x-ratelimit-") || strings.HasPrefix(low, "anthropic-ratelimit-") {
			for _, v := range values {
				head.Add(name, x.s.hide(v))
			}
		}
	}
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		return &provider.Error{Code: provider.MalformedResponse, Status: res.StatusCode, Message: "the server redirects; set base_url to where the API is"}
	}
	if res.Header.Get("Content-Encoding") != "" {
		return &provider.Error{Code: provider.MalformedResponse, Message: "the server compresses what it was asked not to"}
	}
	if res.StatusCode != http.StatusOK {
		return x.refused(res, head)
	}
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")) // "" when it has none
	x.left = x.s.o.Limits.ReplyBytes
	if media == "text/event-stream" {
		return x.stream(res.Body, head)
	}
	return x.document(res.Body, head)
}

// refused hands on what a provider said instead of a reply.
func (x *exchange) refused(res *http.Response, head http.Header) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBytes)) // what could be read of it will do
	body = []byte(x.s.hide(string(body)))
	x.begin(res.StatusCode, head)
	x.write(body)
	return provider.Classify(provider.Failure{Status: res.StatusCode, Header: res.Header, Body: body, Now: time.Now()})
}

// document hands on a reply in one piece.
func (x *exchange) document(from io.Reader, head http.Header) error {
	body, err := io.ReadAll(io.LimitReader(from, x.left+1))
	if err != nil {
		return fmt.Errorf("the reply broke off: %w", err)
	}
	if int64(len(body)) > x.left {
		return tooLong(x.s.o.Limits.ReplyBytes)
	}
	body = []byte(x.s.hide(string(body)))
	x.begin(http.StatusOK, head)
	x.write(body)
	x.reply.piece(x.req.to, body)
	return x.ended()
}

func tooLong(limit int64) error {
	return &provider.Error{Code: provider.MalformedResponse, Message: fmt.Sprintf("the reply passes %d bytes", limit)}
}

// ended judges a reply that is over.
func (x *exchange) ended() error {
	switch {
	case x.reply.fail != nil:
		return provider.Classify(provider.Failure{Body: x.reply.fail})
	case !x.reply.whole:
		return &provider.Error{Code: provider.MalformedResponse, Message: "the server answered with something else than a reply"}
	}
	return nil
}

// stream hands on the events of a stream, each when it is whole.
func (x *exchange) stream(from io.Reader, head http.Header) error {
	x.begin(http.StatusOK, head)
	in := bufio.NewReaderSize(from, 64<<10)
	var event, data []byte
	for {
		line, err := readLine(in, maxEventBytes-len(event))
		x.left -= int64(len(line))
		event = append(event, line...)
		if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimSpace(rest)...)
		}
		if len(bytes.TrimSpace(line)) == 0 || err != nil {
			x.event(event, data)
			event, data = nil, nil
		}
		switch {
		case err == nil && x.left < 0:
			x.cut()
			return tooLong(x.s.o.Limits.ReplyBytes)
		case err == nil:
			continue
		case errors.Is(err, io.EOF) && (x.reply.whole || x.reply.fail != nil):
			return x.ended()
		case x.reply.whole && x.reply.used: // it broke off after the last word
			return nil
		}
		x.cut()
		if errors.Is(err, io.EOF) {
			return &provider.Error{Code: provider.Unavailable, Message: "the stream ended before the reply did"}
		}
		if errors.Is(err, bufio.ErrTooLong) {
			return tooLong(maxEventBytes)
		}
		return fmt.Errorf("the stream broke off: %w", err)
	}
}

// readLine reads to the end of a line, or of the stream; it is bufio.ErrTooLong
// for a line of more than limit bytes.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		piece, err := in.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case len(line) > limit:
			return line, bufio.ErrTooLong
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			return line, err
		}
	}
}

// event looks at one event and hands it on.
func (x *exchange) event(raw, data []byte) {
	if len(raw) == 0 {
		return
	}
	if len(data) > 0 && data[0] == '{' {
		d := x.reply.piece(x.req.to, data)
		if (d.Text != "" || d.ToolName != "") && x.ttft == 0 {
			x.ttft = max(time.Since(x.began), 1)
			x.s.o.Watch.First(x.call, d)
		}
		if x.req.to == chat && !x.req.askUsage && usageAlone(data) {
			return
		}
	}
	x.write([]byte(x.s.hide(string(raw))))
}

// usageAlone tells whether a chunk is the one that only says the usage.
func usageAlone(data []byte) bool {
	o, bad := decode(data)
	return bad == nil && set(o["usage"]) && string(bytes.TrimSpace(o["choices"])) == "[]"
}

// hide takes the key out of a server's words, in case it says it back.
func (s *Server) hide(words string) string {
	if s.o.Upstream.Key == "" {
		return words
	}
	return strings.ReplaceAll(words, s.o.Upstream.Key, "[key]")
}

func contains(list []string, name string) bool {
	for _, s := range list {
		if strings.EqualFold(s, name) {
			return true
		}
	}
	return false
}
