package openai_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/openai"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

const listKey = "sk-list-0123456789"

func listing(t *testing.T, answer http.HandlerFunc) *openai.Client {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	c, err := openai.New(openai.Options{Options: wire.Options{BaseURL: s.URL + "/v1", Key: listKey, Limits: wire.Limits{Idle: 2 * time.Second}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// The list is sorted, prices are of a million tokens, and the key goes with it.
func TestModels(t *testing.T) {
	t.Parallel()
	c := listing(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer "+listKey {
			w.WriteHeader(401)
			return
		}
		fmt.Fprint(w, `{"object":"list","data":[{"id":"z","object":"model"},
			{"id":"a","name":"The A","pricing":{"prompt":"0.00000015","completion":"0.0000006"}},
			{"id":"auto","pricing":{"prompt":"-1","completion":"-1"}}]}`)
	})
	got, err := c.Models(t.Context())
	want := []provider.ModelInfo{{ID: "a", DisplayName: "The A", InputUSD: new(0.15), OutputUSD: new(0.6)}, {ID: "auto"}, {ID: "z"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// What is no list is named, and tells no key.
func TestModelsThatCannotBeListed(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		code   provider.Code
		answer http.HandlerFunc
	}{
		"refused": {provider.Auth, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(401)
			fmt.Fprint(w, `{"error":{"message":"bad key `+listKey+`"}}`)
		}},
		"limited": {provider.RateLimit, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }},
		"down":    {provider.Unavailable, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503); fmt.Fprint(w, "<html>") }},
		"a page":  {provider.MalformedResponse, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>"+listKey) }},
		"no list": {provider.MalformedResponse, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) }},
		"an error": {provider.Auth, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"error":{"message":"x","type":"authentication"}}`)
		}},
		"too long": {provider.MalformedResponse, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat(" ", 17<<20)) }},
		"silent":   {provider.Timeout, func(w http.ResponseWriter, r *http.Request) { w.(http.Flusher).Flush(); <-r.Context().Done() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := listing(t, row.answer).Models(t.Context())
			if provider.CodeOf(err) != row.code || strings.Contains(err.Error(), listKey) {
				t.Errorf("got %v, want %s", err, row.code)
			}
		})
	}
}
