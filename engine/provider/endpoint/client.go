package endpoint

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/agentclash/agentclash/engine/provider"
)

// Name is the provider's name in facts and errors.
const Name = "http"

const (
	dialTime       = 10 * time.Second
	maxHeaderBytes = 256 << 10
	maxReply       = 8 << 20 // bytes of an answer
	maxOutput      = 1 << 20 // bytes of the output in it
	maxErrorBytes  = 64 << 10
	maxRedirects   = 5
	maxTokens      = 1 << 40 // that one answer can be believed to have used
)

// Options configure a Client.
type Options struct {
	// URL is the endpoint. It is the user's own setting: localhost and private
	// addresses are allowed.
	URL string
	// Headers are sent with each call. Their values appear in no error, nor do
	// Secrets, which are what is secret in them.
	Headers map[string]string
	Secrets []string
	// Proxy chooses a proxy for a request, as in [http.Transport]. Nil: none.
	Proxy func(*http.Request) (*url.URL, error)
	// Now measures durations; time.Now when nil.
	Now func() time.Time
}

// Client calls one endpoint. It is safe for concurrent use.
type Client struct {
	o    Options
	at   *url.URL
	http *http.Client
}

var _ provider.Client = (*Client)(nil)

// ParseURL reads an endpoint's address. What could carry a secret into a record
// is refused.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil:
		return nil, errors.New("url: not an address")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("url: it must begin with http:// or https://")
	case u.Hostname() == "":
		return nil, errors.New("url: no host")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("url: a user, a query or a fragment does not belong there; give keys as headers")
	}
	return u, nil
}

// own are the headers that a call has from here.
var own = []string{"Content-Type", "Content-Length", "Content-Encoding", "Accept", "Host", "Connection", "Transfer-Encoding", "User-Agent", "Te", "Trailer", "Upgrade"}

// CheckHeader says what is wrong with a header's name.
func CheckHeader(name string) error {
	token := name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
	switch {
	case !token:
		return fmt.Errorf("header %q: not the name of a header", provider.Excerpt(name, 80))
	case slices.Contains(own, http.CanonicalHeaderKey(name)):
		return fmt.Errorf("header %q: it is set by agentclash", name)
	}
	return nil
}

// New makes a client. It opens no connection.
func New(o Options) (*Client, error) {
	at, err := ParseURL(o.URL)
	if err != nil {
		return nil, err
	}
	for name, value := range o.Headers {
		if err := CheckHeader(name); err != nil {
			return nil, err
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r != '\t' && unicode.IsControl(r) }) {
			return nil, fmt.Errorf("header %q: its value contains control characters", name)
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	dialer := &net.Dialer{Timeout: dialTime, KeepAlive: 30 * time.Second}
	return &Client{o: o, at: at, http: &http.Client{
		CheckRedirect: sameOriginOnly,
		Transport: &http.Transport{
			Proxy: o.Proxy, DialContext: dialer.DialContext, TLSHandshakeTimeout: dialTime, ForceAttemptHTTP2: true,
			MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: maxHeaderBytes,
		},
	}}, nil
}

var errRedirect = errors.New("the endpoint redirects elsewhere; set url to where it is")

// sameOriginOnly lets an endpoint move its own path and nothing else: headers may
// hold a key.
func sameOriginOnly(req *http.Request, via []*http.Request) error {
	first := via[0]
	if req.URL.Scheme != first.URL.Scheme || !strings.EqualFold(req.URL.Host, first.URL.Host) || req.Method != first.Method || len(via) > maxRedirects {
		return errRedirect
	}
	return nil
}

// question is the body of a call.
type question struct {
	CaseKey    string             `json:"case_key"`
	Repetition int                `json:"repetition"`
	Task       any                `json:"task,omitempty"`
	Messages   []provider.Message `json:"messages"`
	DeadlineMS int64              `json:"deadline_ms,omitempty"` // from now
}

// answer is the body of a reply that is JSON.
type answer struct {
	Output   json.RawMessage `json:"output"`
	Usage    *provider.Usage `json:"usage"`
	CostUSD  *float64        `json:"cost_usd"`
	Metadata json.RawMessage `json:"metadata"` // taken, and not looked at
}

// Complete gives the endpoint a case and returns its answer.
func (c *Client) Complete(ctx context.Context, req provider.Request, onDelta func(provider.Delta)) (provider.Response, error) {
	began := c.o.Now()
	q := question{CaseKey: req.Ref.Case, Repetition: req.Ref.Repetition, Task: req.Task, Messages: req.Messages}
	if at, ok := ctx.Deadline(); ok {
		q.DeadlineMS = max(time.Until(at).Milliseconds(), 1)
	}
	res, err := c.ask(ctx, q)
	if err != nil {
		return provider.Response{}, c.failed(ctx, err)
	}
	res.Model = req.Model
	res.Elapsed = c.o.Now().Sub(began)
	res.TTFT = res.Elapsed
	if onDelta != nil && res.Text != "" {
		onDelta(provider.Delta{Text: res.Text})
	}
	return res, nil
}

func (c *Client) ask(ctx context.Context, q question) (provider.Response, error) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(q); err != nil {
		return provider.Response{}, &provider.Error{Code: provider.InvalidRequest, Message: "write the case: " + err.Error(), Err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.at.String(), &body)
	if err != nil {
		return provider.Response{}, err
	}
	for name, value := range c.o.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/plain")
	req.Header.Set("User-Agent", "agentclash")
	res, err := c.http.Do(req)
	if err != nil {
		return provider.Response{}, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBytes)) // what could be read of it will do
		return provider.Response{}, provider.Classify(provider.Failure{Status: res.StatusCode, Header: res.Header, Body: []byte(c.hide(string(data))), Now: c.o.Now()})
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	if err != nil {
		return provider.Response{}, fmt.Errorf("the answer broke off: %w", err)
	}
	if len(data) > maxReply {
		return provider.Response{}, malformed("the answer passes %d bytes", maxReply)
	}
	return read(res.Header.Get("Content-Type"), data)
}

func malformed(format string, args ...any) error {
	return &provider.Error{Code: provider.MalformedResponse, Message: fmt.Sprintf(format, args...)}
}

// read takes JSON with an output, or a text.
func read(contentType string, data []byte) (provider.Response, error) {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media = ""
	}
	switch {
	case media == "application/json" || strings.HasSuffix(media, "+json"):
		return readJSON(data)
	case media == "text/plain" || media == "text/markdown":
		return said(strings.ToValidUTF8(string(data), "\uFFFD"))
	}
	return provider.Response{}, malformed("the endpoint answered with %q, neither JSON nor plain text", provider.Excerpt(contentType, 80))
}

func said(output string) (provider.Response, error) {
	if len(output) > maxOutput {
		return provider.Response{}, malformed("the output passes %d bytes", maxOutput)
	}
	return provider.Response{Text: output, Finish: provider.FinishStop}, nil
}

func readJSON(data []byte) (provider.Response, error) {
	var a answer
	if provider.ErrorIn(data) {
		return provider.Response{}, provider.Classify(provider.Failure{Body: data})
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return provider.Response{}, malformed("the answer is not as documented: %v", err)
	}
	if len(a.Output) == 0 {
		return provider.Response{}, malformed("the answer has no output")
	}
	output := string(a.Output)
	var text string
	if json.Unmarshal(a.Output, &text) == nil {
		output = text
	}
	res, err := said(output)
	if err != nil {
		return res, err
	}
	var impossible []string
	switch u := a.Usage; {
	case u == nil:
	case believable(u):
		u.Total = max(u.Total, u.Input+u.Output)
		res.Usage = u
	default:
		impossible = append(impossible, fmt.Sprintf("usage (%d in, %d out, %d in all)", u.Input, u.Output, u.Total))
	}
	switch cost := a.CostUSD; {
	case cost == nil:
	case *cost >= 0 && !math.IsInf(*cost, 0) && *cost < 1e9:
		res.CostUSD = cost
	default:
		impossible = append(impossible, fmt.Sprintf("cost_usd (%v)", *cost))
	}
	if len(impossible) > 0 {
		res.Note = "left out, since it cannot be: " + strings.Join(impossible, ", ")
	}
	return res, nil
}

func believable(u *provider.Usage) bool {
	for _, n := range [...]int64{u.Input, u.Output, u.Total, u.CacheRead, u.CacheWrite, u.Reasoning} {
		if n < 0 || n > maxTokens {
			return false
		}
	}
	return true
}

// hide takes the headers' values out of an endpoint's words, in case it says them
// back; the longest first, since one may hold another.
func (c *Client) hide(words string) string {
	values := append(slices.Collect(maps.Values(c.o.Headers)), c.o.Secrets...)
	slices.SortFunc(values, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, v := range values {
		if len(v) >= 8 {
			words = strings.ReplaceAll(words, v, "[header]")
		}
	}
	return words
}

// failed turns whatever ended a call into an *provider.Error.
func (c *Client) failed(ctx context.Context, err error) error {
	var e *provider.Error
	if !errors.As(err, &e) {
		if e = provider.FromContext(ctx, Name); e == nil {
			e = c.transport(err)
		}
	}
	e.Provider, e.Message = Name, c.hide(e.Message)
	return e
}

func (c *Client) transport(err error) *provider.Error {
	var where *url.Error
	if errors.As(err, &where) {
		err = where.Err
	}
	e := &provider.Error{Code: provider.Unavailable, Message: provider.Excerpt(err.Error(), 300), Err: err}
	var timeout net.Error
	switch {
	case errors.Is(err, errRedirect):
		e.Code = provider.InvalidRequest
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Code = provider.Timeout
	}
	return e
}
