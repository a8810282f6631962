package openai

import (
	"cmp"
	"context"
	"fmt"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

// Options configure a Client. The base URL is the address up to and including
// /v1. The provider is openai when it is empty.
type Options struct {
	wire.Options
	// OutputField chooses the name of the output bound on the wire.
	OutputField OutputField
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

// Client calls one server. It is safe for concurrent use and shares its
// connections between calls.
type Client struct {
	server
	dialect dialect
	service sdk.ChatCompletionService
}

// server is what the clients of both APIs have in common.
type server struct{ *wire.Client }

var (
	_ provider.Client = (*Client)(nil)
	_ provider.Lister = (*Client)(nil)
)

// New makes a client. It opens no connection and reads no environment.
func New(o Options) (*Client, error) {
	s, err := newServer(o.Options)
	if err != nil {
		return nil, err
	}
	c := &Client{server: s, dialect: dialectOf(s.Base)}
	switch o.OutputField {
	case FieldByHost:
	case MaxCompletionTokens, MaxTokens:
		c.dialect.maxTokens = o.OutputField == MaxTokens
	default:
		return nil, fmt.Errorf("output field: %q is neither %q nor %q", o.OutputField, MaxCompletionTokens, MaxTokens)
	}
	c.service = sdk.NewChatCompletionService(s.options()...)
	return c, nil
}

func newServer(o wire.Options) (server, error) {
	o.Provider = cmp.Or(o.Provider, provider.OpenAI)
	w, err := wire.New(o)
	return server{w}, err
}

func (s server) options() []option.RequestOption {
	opts := []option.RequestOption{option.WithBaseURL(s.Base.String()), option.WithMaxRetries(0)}
	if s.Key != "" {
		opts = append(opts, option.WithAPIKey(s.Key))
	}
	return opts
}

// Complete makes one streamed call. See [provider.Client] for what it promises.
func (c *Client) Complete(ctx context.Context, req provider.Request, onDelta func(provider.Delta)) (provider.Response, error) {
	params, err := c.params(req)
	if err != nil {
		return provider.Response{}, c.Refused(err)
	}
	call := c.Stream(ctx)
	defer call.End()
	stream := c.service.NewStreaming(call.Context, params, option.WithHTTPClient(call))
	if err := stream.Err(); err != nil {
		return provider.Response{}, call.Failed(err)
	}
	asm := assembler{reply: call.Reply(req, onDelta), hide: c.Hide}
	if err := asm.read(call.Events()); err != nil {
		return provider.Response{}, call.Failed(err)
	}
	return asm.reply.Response(req.Model, finishOf(asm.finish, len(asm.reply.Calls()) > 0)), nil
}
