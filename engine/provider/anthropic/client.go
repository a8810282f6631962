package anthropic

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

// Where the vendor is, and the variable its key is read from.
const (
	BaseURL = "https://api.anthropic.com"
	KeyVar  = "ANTHROPIC_API_KEY"
	version = "2023-06-01" // of the API
)

// Options configure a Client. The base URL is the address without /v1, which
// may be there all the same. The provider is anthropic when it is empty.
type Options struct {
	wire.Options
	// NoPromptCache leaves out the marks that ask the vendor to cache prompts.
	NoPromptCache bool
}

// Client calls one server. It is safe for concurrent use and shares its
// connections between calls.
type Client struct {
	*wire.Client
	cache   bool
	service sdk.MessageService
}

var (
	_ provider.Client  = (*Client)(nil)
	_ provider.Lister  = (*Client)(nil)
	_ provider.Checker = (*Client)(nil)
)

// New makes a client. It opens no connection and reads no environment.
func New(o Options) (*Client, error) {
	o.Provider = cmp.Or(o.Provider, provider.Anthropic)
	w, err := wire.New(o.Options)
	if err != nil {
		return nil, err
	}
	w.Base.Path = strings.TrimSuffix(w.Base.Path, "v1/")
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(), option.WithoutOpenTelemetry(), option.WithOpenTelemetryPropagation(false),
		option.WithBaseURL(w.Base.String()), option.WithMaxRetries(0),
	}
	if w.Key != "" {
		opts = append(opts, option.WithAPIKey(w.Key))
	}
	return &Client{Client: w, cache: !o.NoPromptCache, service: sdk.NewMessageService(opts...)}, nil
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
	asm := assembler{reply: call.Reply(req, onDelta), hide: c.Hide, blocks: map[int64]*block{}}
	if err := asm.read(call.Events()); err != nil {
		return provider.Response{}, call.Failed(err)
	}
	return asm.reply.Response(req.Model, finishOf(asm.finish, len(asm.reply.Calls()) > 0)), nil
}

// Models lists the vendor's models.
func (c *Client) Models(ctx context.Context) ([]provider.ModelInfo, error) {
	header := http.Header{"Anthropic-Version": {version}}
	if c.Key != "" {
		header.Set("X-Api-Key", c.Key)
	}
	query := url.Values{"limit": {"1000"}}
	var list []provider.ModelInfo
	for len(list) < provider.MaxModels {
		var page struct {
			Data []struct {
				ID          string `json:"id"`
				DisplayName string `json:"display_name"`
			} `json:"data"`
			HasMore bool   `json:"has_more"`
			LastID  string `json:"last_id"`
		}
		if err := c.Get(ctx, "v1/models", query, header, &page); err != nil {
			return nil, err
		}
		for _, m := range page.Data {
			list = append(list, provider.ModelInfo{ID: m.ID, DisplayName: m.DisplayName})
		}
		if !page.HasMore || len(page.Data) == 0 || page.LastID == "" || page.LastID == query.Get("after_id") {
			break
		}
		query.Set("after_id", page.LastID)
	}
	return wire.Models(list), nil
}
