package proxy_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/engine/provider"
)

// TestABoundIsLowered in every format: what the watch leaves a call goes out in the
// key that bounds its reply, and the rest of the request stays.
func TestABoundIsLowered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, vendor, path, body string
		output, least            int64  // as the watch sees them
		want                     string // in what goes out
	}{
		{"chat completions, no bound", provider.OpenRouter, "openai/v1/chat/completions", `{"model":"good","messages":[]}`, 1000, 1, `"max_tokens":300`},
		{"chat completions, both bounds", provider.OpenRouter, "openai/v1/chat/completions", `{"model":"good","messages":[],"max_tokens":400,"max_completion_tokens":200}`, 400, 1, `"max_completion_tokens":200,"max_tokens":300`},
		{"chat completions, that may think", provider.OpenRouter, "openai/v1/chat/completions", `{"model":"good","messages":[],"reasoning":{"max_tokens":250}}`, 1000, 251, `"max_tokens":300`},
		{"responses", provider.OpenAI, "openai/v1/responses", `{"model":"good","input":"a","max_output_tokens":900}`, 900, 1, `"max_output_tokens":300`},
		{"messages", provider.Anthropic, "anthropic/v1/messages", `{"model":"good","max_tokens":5000,"messages":[{"role":"user","content":"a"}]}`, 1000, 1, `"max_tokens":300`},
		{"messages that think", provider.Anthropic, "anthropic/v1/messages", `{"model":"good","max_tokens":900,"thinking":{"type":"enabled","budget_tokens":280},"messages":[{"role":"user","content":"a"}]}`, 900, 281, `"max_tokens":300`},
		{"generateContent", provider.Gemini, "gemini/v1beta/models/good:generateContent", `{"contents":[{"parts":[{"text":"a"}]}],"generationConfig":{"topK":4}}`, 1000, 1, `"maxOutputTokens":300,"topK":4`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, u := to(t, c.vendor, func(w http.ResponseWriter, _ ask) { http.Error(w, "{}", http.StatusTeapot) })
			b.w.lower = 300
			b.post(t, c.path, c.body)
			call := b.w.begun[0]
			if call.Least != c.least {
				t.Errorf("at least %d tokens, want %d", call.Least, c.least)
			}
			sent, err := json.Marshal(u.only(t).body)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(sent), c.want) {
				t.Errorf("sent %s, want %s in it", sent, c.want)
			}
			quiet, _ := to(t, c.vendor, func(w http.ResponseWriter, _ ask) { http.Error(w, "{}", http.StatusTeapot) })
			quiet.post(t, c.path, c.body)
			if got := quiet.w.begun[0].Output; got != c.output {
				t.Errorf("the watch is told of %d tokens, want %d", got, c.output)
			}
		})
	}
}

// TestABoundIsANumber: what some servers take for no bound at all is refused.
func TestABoundIsANumber(t *testing.T) {
	t.Parallel()
	for _, n := range []string{"-1", "0", "1.5", `"9"`} {
		b, u := to(t, provider.OpenAI, nil)
		if res, body := b.post(t, "openai/v1/chat/completions", `{"model":"good","messages":[],"max_tokens":`+n+`}`); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, "at least 1") {
			t.Errorf("max_tokens %s: %d %s", n, res.StatusCode, body)
		}
		if len(u.asked) > 0 {
			t.Errorf("max_tokens %s went out", n)
		}
	}
}

// TestTheWatchHearsOfRefusals: what is answered with a refusal, with the model or
// the key that it is about, and nothing of what the provider refuses.
func TestTheWatchHearsOfRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, body, code, model, key string }{
		{"openai/v1/chat/completions", `{"model":"other","messages":[]}`, "model_not_found", "other", ""},
		{"openai/v1/chat/completions", `{"model":"good","messages":[],"plugins":[1]}`, "unsupported_parameter", "", "plugins"},
		{"openai/v1/chat/completions", `{"model":"good","messages":[],"service_tier":"priority"}`, "unsupported_parameter", "good", "service_tier"},
		{"openai/v1/chat/completions", `{`, "invalid_json", "", ""},
		{"openai/v1/embeddings", `{}`, "not_found", "", ""},
		{"anthropic/v1/messages", `{}`, "wrong_format", "", ""},
		{"openai/v1/chat/completions", `{"model":"good","messages":[]}`, "", "", ""},
	} {
		b, _ := to(t, provider.OpenAI, func(w http.ResponseWriter, _ ask) { http.Error(w, "{}", http.StatusBadRequest) })
		b.post(t, c.path, c.body)
		if c.code == "" {
			if len(b.w.stated) > 0 {
				t.Errorf("%s: the provider's refusal is taken for ours: %+v", c.path, b.w.stated[0])
			}
			continue
		}
		if len(b.w.stated) != 1 {
			t.Errorf("%s %s: %d refusals are told, want one", c.path, c.body, len(b.w.stated))
			continue
		}
		if got := b.w.stated[0]; got.Code != c.code || got.Model != c.model || got.Key != c.key || got.Message == "" {
			t.Errorf("%s %s: got %+v", c.path, c.body, got)
		}
	}
}
