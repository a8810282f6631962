package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
)

const maxErrorBytes = 64 << 10

// Call is one request and its answer. It stands between an SDK and the server:
// an SDK is given it as its HTTP client. It bounds and watches the body, and
// turns everything that is not what was asked for into an error before an SDK
// can lose its status or read it whole.
type Call struct {
	// Context is what the request must be made with.
	Context context.Context
	client  *Client
	idle    *provider.Idle
	start   time.Time
	stream  bool
	answer  *http.Response
}

// Stream begins a call whose answer is a stream of events. End must be called.
func (c *Client) Stream(ctx context.Context) *Call { return c.begin(ctx, true) }

// Whole begins a call whose answer is one JSON document. End must be called.
func (c *Client) Whole(ctx context.Context) *Call { return c.begin(ctx, false) }

func (c *Client) begin(ctx context.Context, stream bool) *Call {
	k := &Call{client: c, start: c.now(), stream: stream}
	k.Context, k.idle = provider.StartIdle(ctx, c.Limits.Idle)
	return k
}

// End releases the call. It may be called twice.
func (k *Call) End() {
	if k.answer != nil {
		_ = k.answer.Body.Close() // nothing is lost: what was wanted was read
	}
	k.idle.Stop()
}

// Failed says what ended the call.
func (k *Call) Failed(err error) error {
	silent := k.idle.Silent()
	e := k.client.failed(k.Context, err)
	if k.Context.Err() != nil {
		e.Silent = silent
	}
	return e
}

// Do sends a request and returns the answer when it is what was asked for.
func (k *Call) Do(req *http.Request) (*http.Response, error) {
	for name := range req.Header {
		if !sent(name) {
			req.Header.Del(name)
		}
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "application/json")
	if k.stream {
		req.Header.Set("Accept", "text/event-stream, application/json")
	}
	res, err := k.client.http.Do(req)
	if err != nil {
		return nil, err
	}
	body := k.idle.Reader(res.Body)
	if res.StatusCode != http.StatusOK || k.stream && !streams(res) {
		defer func() { _ = body.Close() }()
		return nil, k.refusal(res, body)
	}
	limit := k.client.Limits.StreamBytes
	res.Body = &cappedBody{ReadCloser: body, left: limit, limit: limit}
	if !k.stream {
		defer func() { _ = body.Close() }()
		if err := k.document(res); err != nil {
			return nil, err
		}
	}
	k.answer = res
	return res, nil
}

// document reads a whole answer, which must be JSON and tell of no error.
func (k *Call) document(res *http.Response) error {
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("the reply broke off: %w", err)
	}
	if !json.Valid(data) {
		return k.refusalOf(res, []byte(k.client.Hide(string(data[:min(len(data), maxErrorBytes)]))))
	}
	res.Body = io.NopCloser(bytes.NewReader(data))
	return nil
}

// streams says whether a 200 may be a stream. Servers that name no type, or
// text/plain, are given the chance to be one.
func streams(res *http.Response) bool {
	media, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return true
	}
	return media != "text/html" && media != "application/json" && !strings.HasSuffix(media, "+json")
}

// refusal reads as much of a body as an error needs. Beside a status that says
// enough, what could be read of a body that breaks off will do.
func (k *Call) refusal(res *http.Response, body io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(body, maxErrorBytes))
	if err != nil && res.StatusCode == http.StatusOK {
		return fmt.Errorf("the reply broke off: %w", err)
	}
	return k.refusalOf(res, []byte(k.client.Hide(string(data))))
}

func (k *Call) refusalOf(res *http.Response, data []byte) error {
	f := provider.Failure{Provider: k.client.Name, Status: res.StatusCode, Header: res.Header, Body: data, Now: k.client.now()}
	if res.StatusCode != http.StatusOK {
		return provider.Classify(f)
	}
	f.Status = 0
	if provider.ErrorIn(data) {
		return provider.Classify(f)
	}
	if !k.stream {
		return Malformed("the answer is not a JSON document: %s", provider.Excerpt(string(data), 80))
	}
	return Malformed("the server did not stream: it answered with %s", res.Header.Get("Content-Type"))
}

// cappedBody ends a stream that grows past all reason.
type cappedBody struct {
	io.ReadCloser
	left, limit int64
}

func (b *cappedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, Malformed("the stream passes %d bytes", b.limit)
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}

// Get reads the JSON document at a path below the base URL.
func (c *Client) Get(ctx context.Context, path string, query url.Values, header http.Header, into any) error {
	k := c.Whole(ctx)
	defer k.End()
	at := *c.Base
	at.Path += path
	at.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(k.Context, http.MethodGet, at.String(), nil)
	if err != nil {
		return c.Refused(err)
	}
	req.Header = header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	res, err := k.Do(req)
	if err != nil {
		return k.Failed(err)
	}
	defer func() { _ = res.Body.Close() }() // it has been read whole
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		return k.Failed(Malformed("the answer is not what this address should say: %s", provider.Excerpt(err.Error(), maxTransportText)))
	}
	return nil
}
