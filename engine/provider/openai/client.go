package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/agentclash/agentclash/engine/provider"
)

// Options configure a Client. Only BaseURL is required.
type Options struct {
	// Provider names the server in errors; "openai" when empty.
	Provider string
	// BaseURL is the address up to and including /v1, http or https. It is the
	// user's own setting: localhost and private addresses are allowed.
	BaseURL string
	// Key is sent as the bearer token; none is sent when it is empty. It
	// appears in no error.
	Key string
	// OutputField chooses the name of the output bound on the wire.
	OutputField OutputField
	Limits      Limits
	// Proxy chooses a proxy for a request, as in [http.Transport]. Nil: none.
	Proxy func(*http.Request) (*url.URL, error)
	// Transport replaces the client's own, and Proxy with it. Nil: its own,
	// with bounded dialling.
	Transport http.RoundTripper
	// Now measures durations; time.Now when nil.
	Now func() time.Time
}

// OutputField is the name of the field that bounds a reply's tokens.
type OutputField string

// The names of the output bound. FieldByHost takes max_completion_tokens for
// OpenAI's and Azure's hosts and max_tokens for all others.
const (
	FieldByHost         OutputField = ""
	MaxCompletionTokens OutputField = "max_completion_tokens"
	MaxTokens           OutputField = "max_tokens"
)

// Limits bound what a server may do to us. Zero fields take DefaultLimits'.
type Limits struct {
	// Idle is the longest silence: before the reply's headers, and between two
	// pieces of its body. Keep-alive comments count as pieces. Passing it is a
	// Timeout.
	Idle time.Duration
	// StreamBytes bounds a whole stream as it is on the wire, ReplyBytes the
	// text and tool calls assembled from it, ArgumentBytes the arguments of one
	// tool call. Passing one is a MalformedResponse.
	StreamBytes   int64
	ReplyBytes    int64
	ArgumentBytes int64
}

// DefaultLimits are 5 minutes of silence, a stream of 64 MiB, a reply of 16 MiB
// and arguments of 4 MiB.
func DefaultLimits() Limits {
	return Limits{Idle: 5 * time.Minute, StreamBytes: 64 << 20, ReplyBytes: 16 << 20, ArgumentBytes: 4 << 20}
}

func (l Limits) orDefaults() Limits {
	d := DefaultLimits()
	return Limits{
		Idle:          cmp.Or(l.Idle, d.Idle),
		StreamBytes:   cmp.Or(l.StreamBytes, d.StreamBytes),
		ReplyBytes:    cmp.Or(l.ReplyBytes, d.ReplyBytes),
		ArgumentBytes: cmp.Or(l.ArgumentBytes, d.ArgumentBytes),
	}
}

// Client calls one server. It is safe for concurrent use and shares its
// connections between calls.
type Client struct {
	name    string
	key     string
	base    string // with a slash at its end
	dialect dialect
	limits  Limits
	now     func() time.Time
	http    *http.Client
	service sdk.ChatCompletionService
}

var _ provider.Client = (*Client)(nil)

// New makes a client. It opens no connection and reads no environment.
func New(o Options) (*Client, error) {
	base, err := parseBaseURL(o.BaseURL)
	if err != nil {
		return nil, err
	}
	key := strings.TrimSpace(o.Key)
	if strings.ContainsFunc(key, unicode.IsControl) {
		return nil, errors.New("key: it contains control characters")
	}
	c := &Client{name: cmp.Or(o.Provider, provider.OpenAI), key: key, base: base.String(), dialect: dialectOf(base),
		limits: o.Limits.orDefaults(), now: o.Now}
	if c.now == nil {
		c.now = time.Now
	}
	switch o.OutputField {
	case FieldByHost:
	case MaxCompletionTokens, MaxTokens:
		c.dialect.maxTokens = o.OutputField == MaxTokens
	default:
		return nil, fmt.Errorf("output field: %q is neither %q nor %q", o.OutputField, MaxCompletionTokens, MaxTokens)
	}
	transport := o.Transport
	if transport == nil {
		transport = newTransport(o.Proxy)
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: sameOriginOnly}
	opts := []option.RequestOption{
		option.WithBaseURL(base.String()),
		option.WithHTTPClient(c.http),
		option.WithMaxRetries(0),
	}
	if key != "" {
		opts = append(opts, option.WithAPIKey(key))
	}
	c.service = sdk.NewChatCompletionService(opts...)
	return c, nil
}

// Close closes idle connections. Calls under way are not disturbed.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// Complete makes one streamed call. See [provider.Client] for what it promises.
func (c *Client) Complete(ctx context.Context, req provider.Request, onDelta func(provider.Delta)) (provider.Response, error) {
	params, err := c.params(req)
	if err != nil {
		return provider.Response{}, &provider.Error{Provider: c.name, Code: provider.InvalidRequest, Message: err.Error(), Err: err}
	}
	if onDelta == nil {
		onDelta = func(provider.Delta) {}
	}
	start := c.now()
	ctx, idle := provider.StartIdle(ctx, c.limits.Idle)
	defer idle.Stop()
	g := guard{client: c, idle: idle}
	stream := c.service.NewStreaming(ctx, params, option.WithMiddleware(g.roundTrip))
	defer func() { _ = stream.Close() }() // nothing is lost: the reply was read
	if err := stream.Err(); err != nil {
		return provider.Response{}, c.failed(ctx, err)
	}
	asm := assembler{limits: c.limits, ref: req.Ref, hide: c.hide}
	asm.emit = func(d provider.Delta) {
		if asm.ttft == 0 {
			asm.ttft = c.now().Sub(start)
		}
		onDelta(d)
	}
	if err := asm.read(g.response); err != nil {
		return provider.Response{}, c.failed(ctx, err)
	}
	res := asm.response()
	res.Model = cmp.Or(res.Model, req.Model)
	res.Elapsed = c.now().Sub(start)
	return res, nil
}
