package otlp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/otlp"
)

// TestCollectorsAnswers has a collector answer in the ways that OTLP knows.
func TestCollectorsAnswers(t *testing.T) {
	t.Parallel()
	partial, err := proto.Marshal(&collector.ExportTraceServiceResponse{
		PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: 3, ErrorMessage: "too old"}})
	if err != nil {
		t.Fatal(err)
	}
	whole, _ := proto.Marshal(&collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{}})
	for name, c := range map[string]struct {
		answers []func(http.ResponseWriter)
		asked   int32
		want    string
	}{
		"nothing":        {[]func(http.ResponseWriter){says(200, nil)}, 1, ""},
		"all":            {[]func(http.ResponseWriter){says(200, whole)}, 1, ""},
		"garbage":        {[]func(http.ResponseWriter){says(200, []byte("\x0a\xff\xff\xff"))}, 1, ""},
		"some":           {[]func(http.ResponseWriter){says(200, partial)}, 1, "rejected 3 spans: too old"},
		"busy at first":  {[]func(http.ResponseWriter){says(503, nil), says(200, whole)}, 2, ""},
		"not allowed":    {[]func(http.ResponseWriter){says(401, []byte("no"))}, 1, "401"},
		"not a trace":    {[]func(http.ResponseWriter){says(404, nil)}, 1, "404"},
		"sent elsewhere": {[]func(http.ResponseWriter){says(500, nil)}, 1, "500"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-Key") != "k" {
					t.Error("the header is not there")
				}
				c.answers[min(int(asked.Add(1)), len(c.answers))-1](w)
			}))
			t.Cleanup(s.Close)
			sink, err := otlp.New(t.Context(), otlp.Options{Endpoint: s.URL, Headers: map[string]string{"x-key": "k"}})
			if err != nil {
				t.Fatal(err)
			}
			for i, typ := range []event.Type{event.RunStarted, event.RunFinished} {
				payload, _ := json.Marshal(map[string]string{"status": "completed"})
				e := event.Event{RunID: "r", Type: typ, Sequence: int64(i), OccurredAt: time.Unix(1, 0), Payload: payload}
				if err := sink.Emit(t.Context(), e); err != nil {
					t.Fatal(err)
				}
			}
			err = sink.Close(t.Context())
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if got := asked.Load(); got != c.asked {
				t.Errorf("asked %d times, want %d", got, c.asked)
			}
		})
	}
}

func says(status int, body []byte) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
}
