package tool

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentclash/agentclash/engine/redact"
	"github.com/agentclash/agentclash/sandbox/egress"
)

// How long http_request waits.
const (
	httpTimeout    = 30 * time.Second
	maxHTTPTimeout = 60 * time.Second
)

// Network is what tools have of the world outside one trial.
type Network struct {
	// Dialer reaches it; nil, or one that permits nothing: the pack does not
	// permit network access.
	Dialer *egress.Dialer
	// Secrets are the values of ${secrets.NAME}. They are filled into arguments
	// of http_request, and stand nowhere else.
	Secrets map[string]string
	// Redact takes secrets out of every result; nil takes none.
	Redact *redact.Redactor
	// Tape stands between http_request and the Dialer: it asks, or answers from
	// what was recorded. Nil: the Dialer is asked.
	Tape func(asked HTTPRequest, ask func() (HTTPAnswer, error)) (HTTPAnswer, error)
}

// HTTPRequest is what an http_request asks, without the values of headers that
// are nobody's business.
type HTTPRequest struct {
	Method  string            `json:"method,omitempty"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Timeout int               `json:"timeout_seconds,omitempty"`
}

// HTTPAnswer is what a server answered, without secrets, or why it did not.
type HTTPAnswer struct {
	Status   int               `json:"status_code,omitempty"`
	Headers  map[string]string `json:"headers,omitempty"`
	URL      string            `json:"url,omitempty"`
	Body     string            `json:"body,omitempty"`
	Encoding string            `json:"body_encoding,omitempty"` // base64 for what is no text
	Phase    egress.Phase      `json:"phase,omitempty"`         // in which it failed
	Error    string            `json:"error,omitempty"`
}

// With returns the same tools for one trial, which has a network of its own.
func (s *Set) With(n Network) *Set {
	own := *s
	own.network = n
	return &own
}

// clean takes secrets out of a result, which is JSON unless it is a mock's text.
func (n Network) clean(content string) string {
	switch {
	case n.Redact == nil:
		return content
	case json.Valid([]byte(content)):
		return string(n.Redact.JSON([]byte(content)))
	}
	return n.Redact.String(content)
}

// bytes takes secrets out of what a server sent.
func (n Network) bytes(b []byte) []byte {
	if n.Redact == nil {
		return b
	}
	return n.Redact.Bytes(b)
}

type httpArgs struct {
	Method     string            `json:"method"`
	URL        string            `json:"url"`
	Headers    map[string]string `json:"headers"`
	Body       string            `json:"body"`
	Timeout    int               `json:"timeout_seconds"`
	OutputPath string            `json:"output_path"`
}

// httpRequest makes the request from this process, not from the box: what is in
// its arguments is in no file, no environment and no command line there.
func httpRequest(ctx context.Context, at workplace, raw json.RawMessage) (Result, error) {
	var args httpArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return Result{}, err
	}
	if at.network.Tape == nil && (at.network.Dialer == nil || !at.network.Dialer.Permits()) {
		if at.network.Dialer != nil { // which states what was tried, and sends nothing
			_, _ = at.network.Dialer.Do(ctx, egress.Request{Method: args.Method, URL: args.URL, Timeout: httpTimeout})
		}
		r := failure("http_request is not allowed in this runtime: the task does not permit network access")
		r.Origin = OriginPolicy
		return r, nil
	}
	if args.OutputPath != "" {
		path, err := at.path(args.OutputPath)
		if err == nil {
			err = at.roots.Writable(path) // before anything is asked for it
		}
		if err != nil {
			return Result{}, err
		}
	}
	timeout := httpTimeout
	if args.Timeout > 0 {
		timeout = min(time.Duration(min(args.Timeout, 3600))*time.Second, maxHTTPTimeout)
	}
	ask := func() (HTTPAnswer, error) {
		resp, err := at.network.Dialer.Do(ctx, egress.Request{
			Method: args.Method, URL: args.URL, Headers: args.Headers, Body: []byte(args.Body), Timeout: timeout,
		})
		return at.network.answer(resp, err)
	}
	if at.network.Tape == nil {
		return at.answered(ctx, args, ask)
	}
	return at.answered(ctx, args, func() (HTTPAnswer, error) { return at.network.Tape(asked(args), ask) })
}

// asked is a request as it may be written down.
func asked(args httpArgs) HTTPRequest {
	r := HTTPRequest{Method: args.Method, URL: args.URL, Body: args.Body, Timeout: args.Timeout}
	for name, value := range args.Headers {
		if r.Headers == nil {
			r.Headers = map[string]string{}
		}
		if slices.Contains(confidential, textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))) {
			value = "[redacted]"
		}
		r.Headers[name] = value
	}
	return r
}

// answer is what a request came to, for whoever asked. Secrets are taken out
// before anything of it is written down, encoded or counted. The error is ctx's.
func (n Network) answer(resp egress.Response, err error) (HTTPAnswer, error) {
	if failed, ok := errors.AsType[*egress.RequestError](err); ok {
		return HTTPAnswer{Phase: failed.Phase, Error: failed.Err.Error()}, nil
	}
	if err != nil {
		return HTTPAnswer{}, err
	}
	a := HTTPAnswer{Status: resp.Status, Headers: n.headers(resp.Header), URL: string(n.bytes([]byte(resp.URL)))}
	body := n.bytes(resp.Body)
	a.Body = string(body)
	if !utf8.Valid(body) {
		a.Body, a.Encoding = base64.StdEncoding.EncodeToString(body), "base64"
	}
	return a, nil
}

// answered makes a request and tells the agent what came of it.
func (w workplace) answered(ctx context.Context, args httpArgs, ask func() (HTTPAnswer, error)) (Result, error) {
	a, err := ask()
	if err != nil {
		return Result{}, err
	}
	if a.Phase == "" {
		return w.response(ctx, args.OutputPath, a)
	}
	r := failure("http_request: %v", &egress.RequestError{Phase: a.Phase, Err: errors.New(a.Error)})
	if a.Phase == egress.PhasePolicy {
		r.Origin = OriginPolicy
	}
	return r, nil
}

// response is what the agent is told of a server's answer.
func (w workplace) response(ctx context.Context, outputPath string, a HTTPAnswer) (Result, error) {
	out := struct {
		StatusCode int               `json:"status_code"`
		Headers    map[string]string `json:"headers"`
		URL        string            `json:"url"`
		Body       *string           `json:"body,omitempty"`
		Encoding   string            `json:"body_encoding,omitempty"` // base64 for what is no text
		BodyBytes  *int              `json:"body_bytes,omitempty"`
		OutputPath string            `json:"output_path,omitempty"`
		Downloaded *int              `json:"bytes_downloaded,omitempty"`
	}{StatusCode: a.Status, Headers: a.Headers, URL: a.URL, Encoding: a.Encoding}
	if out.Headers == nil {
		out.Headers = map[string]string{}
	}
	body := []byte(a.Body)
	if a.Encoding != "" {
		var err error
		if body, err = base64.StdEncoding.DecodeString(a.Body); err != nil {
			return Result{}, fmt.Errorf("read a recorded body: %w", err)
		}
	}
	size := len(body)
	if outputPath != "" {
		path, err := w.path(outputPath)
		if err != nil {
			return Result{}, err
		}
		if err := w.box.WriteFile(ctx, path, body); err != nil {
			return Result{}, fmt.Errorf("%s: %w", outputPath, err)
		}
		out.OutputPath, out.Downloaded, out.Encoding = outputPath, &size, ""
		return w.wrap(ctx, out)
	}
	out.Body, out.BodyBytes = &a.Body, &size
	return w.wrap(ctx, out)
}

// confidential are the headers whose values an agent has no business with.
var confidential = []string{
	"Api-Key", "Apikey", "Authorization", "Cookie", "Proxy-Authenticate", "Proxy-Authorization", "Set-Cookie", "Token", "Www-Authenticate",
	"X-Access-Key", "X-Access-Token", "X-Amz-Security-Token", "X-Api-Key", "X-Apikey", "X-Auth-Token", "X-Csrf-Token",
	"X-Goog-Api-Key", "X-Goog-Iam-Authorization-Token", "X-Secret-Key", "X-Session-Id", "X-Session-Token", "X-Xsrf-Token",
}

func (n Network) headers(h http.Header) map[string]string {
	out := map[string]string{}
	for name, values := range h {
		value := string(n.bytes([]byte(strings.Join(values, ", "))))
		if slices.Contains(confidential, name) {
			value = "[redacted]"
		}
		out[string(n.bytes([]byte(name)))] = strings.ToValidUTF8(value, "\uFFFD")
	}
	return out
}
