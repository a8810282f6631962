package otlp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/otlp"
	"github.com/agentclash/agentclash/engine/provider"
)

// fact is an event with its payload.
type fact struct {
	typ     event.Type
	payload any
}

// exported are the spans of the calls among an attempt's facts, a second apart, as
// a collector was sent them.
func exported(t *testing.T, facts ...fact) []string {
	t.Helper()
	var mu sync.Mutex
	var spans []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		var req collector.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(raw, &req) != nil {
			t.Errorf("the collector cannot read what came: %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, span := range req.ResourceSpans[0].ScopeSpans[0].Spans {
			said := ""
			for _, a := range span.Attributes {
				if a.Key == "gen_ai.usage.output_tokens" {
					said = fmt.Sprint(" ", a.Value.GetIntValue(), " tokens")
				}
			}
			if strings.HasPrefix(span.Name, "chat ") {
				spans = append(spans, fmt.Sprintf("%s %d-%d%s %s", span.Name, span.StartTimeUnixNano/1e9, span.EndTimeUnixNano/1e9, said, span.Status.GetMessage()))
			}
		}
	}))
	t.Cleanup(s.Close)
	sink, err := otlp.New(t.Context(), otlp.Options{Endpoint: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range facts {
		payload, err := json.Marshal(f.payload)
		if err != nil {
			t.Fatal(err)
		}
		e := event.Event{RunID: "r", TrialID: "t", Attempt: 1, Type: f.typ, Sequence: int64(i), OccurredAt: time.Unix(int64(i), 0), Payload: payload}
		if err := sink.Emit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	slices.Sort(spans)
	return spans
}

// Calls that are under way at once are spans of their own, each with its own end.
func TestParallelCalls(t *testing.T) {
	t.Parallel()
	start := func(step int, model string) fact {
		return fact{event.CallStarted, event.Call{StepIndex: step, Model: model}}
	}
	done := func(step int, tokens int64) fact {
		return fact{event.CallDone, event.CallEnd{StepIndex: step, Usage: &provider.Usage{Output: tokens}}}
	}
	fails := func(step int, code string) fact {
		return fact{event.CallFailed, event.CallError{StepIndex: step, Code: code}}
	}
	ends := func(step int) fact { return fact{event.StepDone, event.Step{StepIndex: step}} }
	for name, row := range map[string]struct {
		facts []fact
		want  []string
	}{
		"the later one ends first": {
			[]fact{start(1, "a"), start(2, "b"), done(2, 20), ends(2), done(1, 10), ends(1)},
			[]string{"chat a 0-4 10 tokens ", "chat b 1-2 20 tokens "},
		},
		"the earlier one fails": {
			[]fact{start(1, "a"), start(2, "b"), fails(1, "unavailable"), ends(1), done(2, 20), ends(2), {event.TrialDone, event.TrialEnd{}}},
			[]string{"chat a 0-3 unavailable", "chat b 1-4 20 tokens "},
		},
		"one is still under way at the end": {
			[]fact{start(1, "a"), start(2, "b"), done(2, 20), {event.TrialDone, event.TrialEnd{}}},
			[]string{"chat a 0-3 unfinished", "chat b 1-2 20 tokens "},
		},
		"one is tried again": {
			[]fact{start(1, "a"), fails(1, "rate_limit"), done(1, 10)},
			[]string{"chat a 0-2 10 tokens "},
		},
		"a judge's failure is not the agent's": {
			[]fact{start(1, "a"), {event.CallFailed, event.CallError{JudgeKey: "j", Code: "auth"}}, ends(1), done(1, 10)},
			[]string{"chat a 0-3 10 tokens "},
		},
		"facts from before calls had a step": {
			[]fact{start(0, "a"), done(0, 10), start(0, "b"), start(0, "c"), fails(0, "auth"), {event.Failed, event.Failure{StepIndex: 3, ProviderFailure: &event.CallError{Code: "auth"}}}},
			[]string{"chat a 0-1 10 tokens ", "chat b 2-3 unfinished", "chat c 3-5 auth"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(row.want, exported(t, row.facts...)); d != "" {
				t.Errorf("other spans (-want +got):\n%s", d)
			}
		})
	}
}
