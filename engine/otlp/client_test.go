package otlp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
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
			err := export(t, otlp.Options{Endpoint: s.URL, Headers: map[string]string{"x-key": "k"}})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if got := asked.Load(); got != c.asked {
				t.Errorf("asked %d times, want %d", got, c.asked)
			}
		})
	}
}

// A redirect to another origin, a port included, takes neither the traces nor the
// headers along; one on the same origin does.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	var moved atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to, status := other.URL+"/v1/traces?key=x", http.StatusTemporaryRedirect
		switch r.URL.Path {
		case "/same":
			to = "/moved"
		case "/lost":
			to, status = "/moved", http.StatusFound // which would be asked by GET
		case "/round":
			to = "/round"
		case "/moved":
			if moved.Add(1); r.Header.Get("X-Key") != "k" || r.ContentLength <= 0 {
				t.Error("the header or the traces are not there")
			}
			return
		}
		http.Redirect(w, r, to, status)
	}))
	t.Cleanup(s.Close)
	for path, want := range map[string]string{
		"/same":  "",
		"/other": "give --otlp " + other.URL + "/v1/traces if",
		"/lost":  "give --otlp " + s.URL + "/moved if",
		"/round": "give --otlp " + s.URL + "/round if",
	} {
		err := export(t, otlp.Options{Endpoint: s.URL + path, Headers: map[string]string{"X-Key": "k", "Authorization": "Bearer k"}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
	if elsewhere.Load() != 0 || moved.Load() != 1 {
		t.Errorf("the other origin was asked %d times, the moved path %d times; want 0 and 1", elsewhere.Load(), moved.Load())
	}
}

// A collector that is not there is tried a few times, not for as long as one that is
// busy is waited for.
func TestNobodyListens(t *testing.T) {
	t.Parallel()
	var dials atomic.Int32
	err := export(t, otlp.Options{Endpoint: "http://127.0.0.1:1", Proxy: func(*http.Request) (*url.URL, error) {
		dials.Add(1) // it is asked before each
		return nil, nil
	}})
	if err == nil || dials.Load() != 3 {
		t.Errorf("got %v after %d tries, want 3", err, dials.Load())
	}
}

// export exports the beginning and the end of a run.
func export(t *testing.T, o otlp.Options) error {
	t.Helper()
	sink, err := otlp.New(t.Context(), o)
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
	return sink.Close(t.Context())
}

func says(status int, body []byte) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
}
