package otlp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/agentclash/agentclash/engine/event"
)

// Options say where to and what.
type Options struct {
	Endpoint string // see CheckEndpoint
	// Content exports what models were asked, what they and tools said, and why
	// scores are what they are.
	Content bool
	Version string            // of agentclash
	Headers map[string]string // for the collector
	// Proxy chooses a proxy for a request, as in [http.Transport]. Nil: none.
	Proxy func(*http.Request) (*url.URL, error)
	// Wait holds Emit up while the collector is slow, so that nothing is dropped.
	Wait bool
}

// Sink turns facts into spans. It implements [event.Sink] and is safe for
// concurrent use by several trials.
type Sink struct {
	provider *sdktrace.TracerProvider
	exporter *keeping
	tracer   trace.Tracer
	content  bool

	mu     sync.Mutex
	run    *scope
	link   trace.Link
	agents map[string]event.AgentRef
	trials map[string]*scope // by trial and attempt
}

// scope is a trace that is being made: its root and what is open below it.
type scope struct {
	ctx    context.Context
	root   trace.Span
	calls  map[int]call          // to the agent's model, by step
	open   map[string]trace.Span // tools and judges
	reused bool
	last   event.Event
}

// call is one to the agent's model that is under way.
type call struct {
	span trace.Span
	code string // of the last try, when it failed
}

// New makes a sink. It connects when there is something to export.
func New(ctx context.Context, o Options) (*Sink, error) {
	if err := CheckEndpoint(o.Endpoint); err != nil {
		return nil, fmt.Errorf("export traces to %q: %w", o.Endpoint, err)
	}
	p, exporter, err := newProvider(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("export traces to %q: %w", o.Endpoint, err)
	}
	return &Sink{
		provider: p, exporter: exporter, content: o.Content,
		tracer: p.Tracer("github.com/agentclash/agentclash", trace.WithInstrumentationVersion(o.Version), trace.WithSchemaURL(semconv.SchemaURL)),
		agents: map[string]event.AgentRef{}, trials: map[string]*scope{},
	}, nil
}

// Close ends what is open, as unfinished, and waits until everything is exported
// or ctx is done. The error says what the collector did not take.
func (s *Sink) Close(ctx context.Context) error {
	s.mu.Lock()
	for _, t := range s.trials {
		t.abandon()
	}
	s.trials = map[string]*scope{}
	if s.run != nil {
		s.run.abandon()
		s.run = nil
	}
	s.mu.Unlock()
	err := s.provider.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("the collector took too long")
	}
	if kept := s.exporter.failure(); kept != nil {
		return kept
	}
	return err
}

// Emit takes one fact. It never fails: a trace is a view.
func (s *Sink) Emit(ctx context.Context, e event.Event) error {
	if e.Transient {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // of which spans only keep what they are about
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.TrialID == "" {
		s.runFact(ctx, e)
		return nil
	}
	key := event.NewID(e.TrialID, e.Attempt, 0)
	t := s.trials[key]
	if t == nil {
		t = s.begin(ctx, e)
		s.trials[key] = t
	}
	t.last = e
	if !t.reused {
		s.trialFact(t, e)
	}
	if e.Type == event.TrialDone {
		delete(s.trials, key)
	}
	return nil
}

// begin starts the trace of an attempt. One of another run's evidence has a trace
// there and gets none here.
func (s *Sink) begin(ctx context.Context, e event.Event) *scope {
	t := &scope{calls: map[int]call{}, open: map[string]trace.Span{}}
	if q, err := event.Decode[event.Queue](e); e.Type == event.TrialQueued && err == nil && q.Reused != nil {
		t.reused = true
		return t
	}
	agent := s.agents[e.RunAgentID]
	options := []trace.SpanStartOption{
		trace.WithTimestamp(e.OccurredAt), trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindInternal),
		trace.WithAttributes(
			semconv.GenAIOperationNameInvokeAgent, semconv.GenAIAgentName(agent.Label), semconv.GenAIAgentID(e.RunAgentID),
			semconv.GenAIConversationID(e.TrialID),
			attribute.String("agentclash.run.id", e.RunID), attribute.String("agentclash.trial.id", e.TrialID),
			attribute.String("agentclash.case.key", e.CaseKey), attribute.Int("agentclash.repetition", e.Repetition),
			attribute.Int("agentclash.attempt", e.Attempt),
		),
	}
	if s.run != nil {
		options = append(options, trace.WithLinks(s.link))
	}
	ctx = about(ctx, "trial", e.TrialID, e.Attempt)
	t.ctx, t.root = s.tracer.Start(ctx, "invoke_agent "+agent.Label, options...)
	return t
}

// span starts a span below the root of a trace.
func (s *Sink) span(t *scope, e event.Event, name string, kind trace.SpanKind, attrs ...attribute.KeyValue) trace.Span {
	ctx := about(t.ctx, e.RunID, e.TrialID, e.Attempt, e.Sequence)
	_, span := s.tracer.Start(ctx, name, trace.WithTimestamp(e.OccurredAt), trace.WithSpanKind(kind), trace.WithAttributes(attrs...))
	return span
}

// abandon ends the spans of a trace that comes to no end of its own.
func (t *scope) abandon() {
	if t.root == nil {
		return
	}
	at := trace.WithTimestamp(t.last.OccurredAt)
	t.endOpen(at)
	t.root.SetStatus(codes.Error, "unfinished")
	t.root.End(at)
}

func (t *scope) endOpen(at trace.SpanEndOption) {
	for _, span := range t.open {
		span.SetStatus(codes.Error, "unfinished")
		span.End(at)
	}
	clear(t.open)
	for _, c := range t.calls {
		c.span.SetStatus(codes.Error, "unfinished")
		c.span.End(at)
	}
	clear(t.calls)
}
