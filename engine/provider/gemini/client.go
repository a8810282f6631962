package gemini

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

// Where the vendor is, and the variable its key is read from.
const (
	BaseURL = "https://generativelanguage.googleapis.com"
	KeyVar  = "GEMINI_API_KEY"
	version = "v1beta/" // of the API, where the base URL names none
)

// Client calls one server. It is safe for concurrent use and shares its
// connections between calls.
type Client struct{ *wire.Client }

var (
	_ provider.Client  = (*Client)(nil)
	_ provider.Lister  = (*Client)(nil)
	_ provider.Checker = (*Client)(nil)
)

// New makes a client. The base URL may end in a version of the API; the provider
// is gemini when it is empty. It opens no connection and reads no environment.
func New(o wire.Options) (*Client, error) {
	o.Provider = cmp.Or(o.Provider, provider.Gemini)
	w, err := wire.New(o)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc([]string{"/v1/", "/v1beta/", "/v1alpha/"}, func(end string) bool { return strings.HasSuffix(w.Base.Path, end) }) {
		w.Base.Path += version
	}
	return &Client{w}, nil
}

// Complete makes one streamed call. See [provider.Client] for what it promises.
func (c *Client) Complete(ctx context.Context, req provider.Request, onDelta func(provider.Delta)) (provider.Response, error) {
	body, err := c.body(req)
	if err != nil {
		return provider.Response{}, c.Refused(err)
	}
	call := c.Stream(ctx)
	defer call.End()
	post, err := http.NewRequestWithContext(call.Context, http.MethodPost, c.address(req.Model), bytes.NewReader(body))
	if err != nil {
		return provider.Response{}, c.Refused(err)
	}
	post.Header = c.header()
	post.Header.Set("Content-Type", "application/json")
	res, err := call.Do(post)
	if err != nil {
		return provider.Response{}, call.Failed(err)
	}
	defer func() { _ = res.Body.Close() }() // nothing is lost: the reply was read
	asm := assembler{reply: call.Reply(req, onDelta), ref: req.Ref, hide: c.Hide}
	if err := asm.read(call.Events()); err != nil {
		return provider.Response{}, call.Failed(err)
	}
	return asm.reply.Response(req.Model, finishOf(asm.finish, len(asm.reply.Calls()) > 0)), nil
}

// address is where a model is called. The key is not in it.
func (c *Client) address(model string) string {
	at := *c.Base
	if !strings.HasPrefix(model, "models/") && !strings.HasPrefix(model, "tunedModels/") {
		model = "models/" + model
	}
	at.Path += model + ":streamGenerateContent"
	at.RawQuery = "alt=sse"
	return at.String()
}

func (c *Client) header() http.Header {
	header := http.Header{}
	if c.Key != "" {
		header.Set("X-Goog-Api-Key", c.Key)
	}
	return header
}

// Models lists the vendor's models that write text.
func (c *Client) Models(ctx context.Context) ([]provider.ModelInfo, error) {
	query := url.Values{"pageSize": {"1000"}}
	var list []provider.ModelInfo
	for len(list) < provider.MaxModels {
		var page struct {
			Models []struct {
				Name        string   `json:"name"`
				DisplayName string   `json:"displayName"`
				Methods     []string `json:"supportedGenerationMethods"`
			} `json:"models"`
			NextPageToken string `json:"nextPageToken"`
		}
		if err := c.Get(ctx, "models", query, c.header(), &page); err != nil {
			return nil, err
		}
		for _, m := range page.Models {
			if len(m.Methods) == 0 || slices.Contains(m.Methods, "generateContent") || slices.Contains(m.Methods, "streamGenerateContent") {
				list = append(list, provider.ModelInfo{ID: strings.TrimPrefix(m.Name, "models/"), DisplayName: m.DisplayName})
			}
		}
		if page.NextPageToken == "" || page.NextPageToken == query.Get("pageToken") {
			break
		}
		query.Set("pageToken", page.NextPageToken)
	}
	return wire.Models(list), nil
}

// body is a request in the wire's shape.
func (c *Client) body(req provider.Request) ([]byte, error) {
	b, err := c.request(req)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err = enc.Encode(b)
	return out.Bytes(), err
}
