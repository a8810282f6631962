package otlp

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

const (
	maxValueBytes = 32 << 10 // of one attribute
	queuedSpans   = 8192     // more are dropped rather than hold a run up
	exportTime    = 10 * time.Second
)

// CheckEndpoint refuses what is no address of a collector.
func CheckEndpoint(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("it is not a URL")
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return errors.New("write http://HOST:PORT or https://HOST:PORT, such as http://localhost:4318")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return errors.New("user, query and fragment do not belong there; OTEL_EXPORTER_OTLP_HEADERS holds keys")
	}
	return nil
}

// tracesURL is where an endpoint takes traces: /v1/traces unless a path is given.
func tracesURL(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || strings.Trim(u.Path, "/") != "" {
		return endpoint
	}
	return u.Scheme + "://" + u.Host + "/v1/traces"
}

// newProvider makes a provider of tracers that touches no global state. Its
// exporter keeps what goes wrong.
func newProvider(ctx context.Context, o Options) (*sdktrace.TracerProvider, *keeping, error) {
	inner, err := otlptrace.New(ctx, newClient(o))
	if err != nil {
		return nil, nil, err
	}
	exporter := &keeping{SpanExporter: inner}
	batch := []sdktrace.BatchSpanProcessorOption{sdktrace.WithMaxQueueSize(queuedSpans), sdktrace.WithExportTimeout(exportTime)}
	if o.Wait {
		batch = append(batch, sdktrace.WithBlocking())
	}
	limits := sdktrace.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxValueBytes
	return sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter, batch...),
		sdktrace.WithIDGenerator(ids{}),
		sdktrace.WithSampler(sdktrace.AlwaysSample()), // whatever the environment says: it was asked for
		sdktrace.WithRawSpanLimits(limits),
		sdktrace.WithResource(resource.NewSchemaless(semconv.ServiceName("agentclash"), semconv.ServiceVersion(o.Version))),
	), exporter, nil
}

// keeping keeps the first error of an exporter, which the SDK would otherwise
// hand to a handler of the whole process.
type keeping struct {
	sdktrace.SpanExporter
	mu   sync.Mutex
	err  error
	lost int // spans
}

func (k *keeping) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := k.SpanExporter.ExportSpans(ctx, spans)
	if err != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.lost += len(spans)
		if k.err == nil {
			k.err = err
		}
	}
	return nil
}

// failure is what went wrong, nil for nothing.
func (k *keeping) failure() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		return nil
	}
	return fmt.Errorf("%d spans were not taken: %w", k.lost, k.err)
}

// ids makes the ids of spans of what they are about, so that a run that is
// exported twice has the same.
type ids struct{}

type identity struct{}

// about says what the next span of a context is about.
func about(ctx context.Context, what ...any) context.Context {
	return context.WithValue(ctx, identity{}, sha256.Sum256([]byte(fmt.Sprintf("agentclash span v1 %q", what))))
}

func (ids) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	sum, _ := ctx.Value(identity{}).([sha256.Size]byte)
	copy(id[:], sum[:])
	copy(span[:], sum[len(id):])
	return id, span
}

func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, span := ids{}.NewIDs(ctx)
	return span
}
