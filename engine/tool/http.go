package tool

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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
	if at.network.Dialer == nil || !at.network.Dialer.Permits() {
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
	resp, err := at.network.Dialer.Do(ctx, egress.Request{
		Method: args.Method, URL: args.URL, Headers: args.Headers, Body: []byte(args.Body), Timeout: timeout,
	})
	if failed, ok := errors.AsType[*egress.RequestError](err); ok {
		r := failure("http_request: %v", failed)
		if failed.Phase == egress.PhasePolicy {
			r.Origin = OriginPolicy
		}
		return r, nil
	}
	if err != nil {
		return Result{}, err
	}
	return at.response(ctx, args.OutputPath, resp)
}

// response is what the agent is told of a server's answer. Secrets are taken out
// before anything of it is written down, encoded or counted.
func (w workplace) response(ctx context.Context, outputPath string, resp egress.Response) (Result, error) {
	out := struct {
		StatusCode int               `json:"status_code"`
		Headers    map[string]string `json:"headers"`
		URL        string            `json:"url"`
		Body       *string           `json:"body,omitempty"`
		Encoding   string            `json:"body_encoding,omitempty"` // base64 for what is no text
		BodyBytes  *int              `json:"body_bytes,omitempty"`
		OutputPath string            `json:"output_path,omitempty"`
		Downloaded *int              `json:"bytes_downloaded,omitempty"`
	}{StatusCode: resp.Status, Headers: w.network.headers(resp.Header), URL: string(w.network.bytes([]byte(resp.URL)))}
	body := w.network.bytes(resp.Body)
	size := len(body)
	if outputPath != "" {
		path, err := w.path(outputPath)
		if err != nil {
			return Result{}, err
		}
		if err := w.box.WriteFile(ctx, path, body); err != nil {
			return Result{}, fmt.Errorf("%s: %w", outputPath, err)
		}
		out.OutputPath, out.Downloaded = outputPath, &size
		return w.wrap(ctx, out)
	}
	text := string(body)
	if !utf8.Valid(body) {
		text, out.Encoding = base64.StdEncoding.EncodeToString(body), "base64"
	}
	out.Body, out.BodyBytes = &text, &size
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
