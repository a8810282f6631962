package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/agentclash/agentclash/engine/provider"
)

const (
	maxAnswerBytes = 64 << 10
	maxAnswerText  = 300
	maxAddress     = 300
	maxRedirects   = 5
	firstPause     = 500 * time.Millisecond
	// A collector that is not there is not waited for as one that is busy.
	maxDials  = 3
	dialPause = 100 * time.Millisecond
)

// client sends spans by OTLP over HTTP, as protobuf. The SDK's own sender links
// gRPC, which it does not use for this: 10 MB of the program.
type client struct {
	url     string
	headers map[string]string
	http    *http.Client
}

func newClient(o Options) *client {
	return &client{url: tracesURL(o.Endpoint), headers: o.Headers, http: &http.Client{
		Transport: &http.Transport{Proxy: o.Proxy}, CheckRedirect: sameOriginOnly,
	}}
}

// sameOriginOnly lets a collector move its own path and nothing else: neither the
// headers, which may hold a key, nor the traces go to another origin.
func sameOriginOnly(req *http.Request, via []*http.Request) error {
	first := via[0]
	if req.URL.Scheme != first.URL.Scheme || !strings.EqualFold(req.URL.Host, first.URL.Host) || req.Method != first.Method || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

var _ otlptrace.Client = (*client)(nil)

func (c *client) Start(context.Context) error { return nil }

func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces sends spans, and again while the collector asks for that and ctx
// lives. One that cannot be reached is tried a few times.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// TracesData is, byte for byte, the request of the collector's service
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	dials, pause := 0, firstPause
	for {
		wait, err := c.send(ctx, body)
		if wait == 0 || err == nil {
			return err
		}
		if unreached(err) {
			if dials++; dials == maxDials {
				return err
			}
			wait = time.Duration(dials) * dialPause
		} else {
			wait = max(wait, pause)
			pause *= 2
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// unreached says that nothing listens at the collector's address.
func unreached(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" && !op.Timeout()
}

// redirected is a redirect that was not followed, with what to type.
func redirected(res *http.Response) error {
	to, err := res.Location()
	if err != nil {
		return fmt.Errorf("the collector answered %s", res.Status)
	}
	at := provider.Excerpt((&url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}).String(), maxAddress)
	return fmt.Errorf("the collector redirects to %s, where neither traces nor keys were sent: give --otlp %s if that is your collector", at, at)
}

// send makes one request. wait is 0 when another is of no use.
func (c *client) send(ctx context.Context, body []byte) (wait time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	for name, value := range c.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("User-Agent", "agentclash")
	res, err := c.http.Do(req)
	if err != nil {
		return time.Millisecond, err
	}
	defer func() { _ = res.Body.Close() }() // what is needed of it has been read
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswerBytes))
	switch {
	case res.StatusCode >= 200 && res.StatusCode < 300 && err == nil:
		return 0, rejected(answer)
	case res.StatusCode >= 200 && res.StatusCode < 300:
		return 0, nil // it was taken; only the answer broke off
	}
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		return 0, redirected(res)
	}
	err = fmt.Errorf("the collector answered %s", res.Status)
	switch res.StatusCode { // OTLP 1.x, Failures: what may be tried again
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(strings.TrimSpace(res.Header.Get("Retry-After")))
		return max(time.Duration(min(seconds, 60))*time.Second, time.Millisecond), err
	}
	return 0, err
}

// rejected reads what a collector that took the request did not take of it:
// ExportTraceServiceResponse.partial_success.
func rejected(answer []byte) error {
	part := field(answer, 1)
	if len(part) == 0 {
		return nil
	}
	number, kind, n := protowire.ConsumeTag(part)
	if n < 0 || number != 1 || kind != protowire.VarintType {
		return nil
	}
	count, m := protowire.ConsumeVarint(part[n:])
	if m < 0 || count == 0 {
		return nil
	}
	text := strings.ToValidUTF8(string(field(part, 2)), "")
	return errors.New(strings.TrimSpace(fmt.Sprintf("the collector rejected %d spans: %.*s", count, maxAnswerText, text)))
}

// field is the first field of bytes with that number in a message, nil for none.
func field(message []byte, wanted protowire.Number) []byte {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil
		}
		if number == wanted && kind == protowire.BytesType {
			v, m := protowire.ConsumeBytes(message[n:])
			if m < 0 {
				return nil
			}
			return v
		}
		m := protowire.ConsumeFieldValue(number, kind, message[n:])
		if m < 0 {
			return nil
		}
		message = message[n+m:]
	}
	return nil
}
