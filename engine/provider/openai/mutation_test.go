package openai_test

import (
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/openai"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

// Whatever bytes a server sends, the outcome is a reply that can be stored or
// an error in the taxonomy. This is not a fuzz test because instrumenting the
// vendor's SDK for one takes minutes and gigabytes.
func TestMutatedStreams(t *testing.T) {
	t.Parallel()
	var seeds []string
	for _, lines := range [][]string{
		{text("a"), text("é🙂"), stop, done},
		{fragment(0, "1", "x", `{"a":`), fragment(0, "", "", `1}`), fragment(1, "2", "y", ``), stop},
		{text("a"), `{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, stop},
		{`{"error":{"message":"x","code":429}}`},
	} {
		seeds = append(seeds, "data: "+strings.Join(lines, "\n\ndata: ")+"\n\n")
	}
	var sent string
	c, err := openai.New(openai.Options{Options: wire.Options{BaseURL: "http://example.invalid/v1", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
			Body: io.NopCloser(strings.NewReader(sent)), Request: r}, nil
	})}})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	outcomes := map[provider.Code]int{}
	for range 3000 {
		sent = mutate(rng, seeds)
		outcomes[checkOutcome(t, c, sent)]++
		if t.Failed() {
			return
		}
	}
	if outcomes[""] == 0 || outcomes[provider.MalformedResponse] == 0 || outcomes[provider.Unavailable] == 0 {
		t.Errorf("got outcomes %v; the mutations show too little", outcomes)
	}
}

// mutate changes a few bytes of a seed: others in their place, fewer, or a
// piece of another seed.
func mutate(rng *rand.Rand, seeds []string) string {
	b := []byte(seeds[rng.IntN(len(seeds))])
	for range 1 + rng.IntN(3) {
		at := rng.IntN(len(b))
		switch rng.IntN(4) {
		case 0:
			b[at] = byte(rng.IntN(256))
		case 1:
			b[at] = `{}[]":,-019eE\ntrufals`[rng.IntN(22)]
		case 2:
			b = append(b[:at], b[min(len(b)-1, at+rng.IntN(8)):]...)
		case 3:
			other := seeds[rng.IntN(len(seeds))]
			from := rng.IntN(len(other))
			b = append(b[:at:at], other[from:]...)
		}
	}
	return string(b)
}

func checkOutcome(t *testing.T, c *openai.Client, wire string) provider.Code {
	t.Helper()
	var heard strings.Builder
	res, err := c.Complete(t.Context(), provider.Request{Model: "m"}, func(d provider.Delta) { heard.WriteString(d.Text) })
	if err != nil {
		var e *provider.Error
		if !errors.As(err, &e) || e.Provider != "openai" || e.Code == "" {
			t.Errorf("%q: an error outside the taxonomy: %#v", wire, err)
		}
		return provider.CodeOf(err)
	}
	if res.Text != heard.String() || !utf8.ValidString(res.Text) || res.Finish == "" {
		t.Errorf("%q: heard %q of %+v", wire, heard.String(), res)
	}
	if _, err := json.Marshal(res); err != nil {
		t.Errorf("%q: cannot be stored: %v", wire, err)
	}
	for _, call := range res.ToolCalls {
		if call.ID == "" || call.Name == "" {
			t.Errorf("%q: a tool call that is none: %+v", wire, call)
		}
	}
	return ""
}
