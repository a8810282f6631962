package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	maxAnswerBytes = 64 << 10
	maxAnswerText  = 300
	firstPause     = 500 * time.Millisecond
)

// client sends spans by OTLP over HTTP, as protobuf. The SDK's own sender links
// gRPC, which it does not use for this: 10 MB of the program.
type client struct {
	url     string
	headers map[string]string
	http    *http.Client
}

var _ otlptrace.Client = (*client)(nil)

func (c *client) Start(context.Context) error { return nil }

func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces sends spans, and again while the collector asks for that and ctx
// lives.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// TracesData is, byte for byte, the request of the collector's service
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	for pause := firstPause; ; pause *= 2 {
		wait, err := c.send(ctx, body)
		if wait == 0 || err == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(max(wait, pause)):
		}
	}
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
