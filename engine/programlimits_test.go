package engine_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/proxy"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
	"github.com/agentclash/agentclash/scoring"
)

// bounded is a vendor that keeps the bounds that it was asked with, and cuts its
// replies where cut says so.
func bounded(t *testing.T, cut bool) (*proxy.Upstream, *[]int64) {
	t.Helper()
	var bounds []int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Most int64 `json:"max_tokens"`
		}
		_ = json.NewDecoder(r.Body).Decode(&req)
		bounds = append(bounds, req.Most) // the calls come one by one
		finish, used := "stop", int64(10)
		if cut {
			finish, used = "length", req.Most
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"model": "gpt-x", "choices": []any{map[string]any{"index": 0, "message": map[string]any{"role": "assistant", "content": "so"}, "finish_reason": finish}},
			"usage": map[string]any{"prompt_tokens": 20, "completion_tokens": used, "total_tokens": 20 + used},
		})
	}))
	t.Cleanup(s.Close)
	return &proxy.Upstream{Provider: provider.OpenAI, BaseURL: s.URL, Key: vendorKey}, &bounds
}

// TestProgramsAreGivenWhatIsLeft: a call that asks for more than a limit leaves is
// made with less, down to 256 tokens, and the fact says so.
func TestProgramsAreGivenWhatIsLeft(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, limit string
		cut         bool
		outcome     scoring.Outcome
		code        string
		calls       int
	}{
		{"money", "max_cost_usd: 0.06", false, scoring.OutcomePassed, "", 1},
		{"tokens", "max_total_tokens: 600", false, scoring.OutcomePassed, "", 1},
		{"a reply that is cut", "max_total_tokens: 600", true, scoring.OutcomeFailed, "token_limit", 1},
		{"less than 256 tokens", "max_total_tokens: 380", false, scoring.OutcomeFailed, "token_limit", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			up, bounds := bounded(t, c.cut)
			h, _ := commanded(t, up, func(b *sandboxtest.MemoryBox, cmd sandbox.Command) (sandbox.Result, error) {
				_, _, err := asks(b, cmd, "gpt-x")
				return sandboxtest.Exited(0, "done", ""), err
			}, priced+"\n    runtime_limits: {"+c.limit+"}")
			h.run(t)
			if got := h.only(t); got.Outcome != c.outcome || got.Code != c.code {
				t.Errorf("got %s %s (%s)", got.Outcome, got.Code, got.Reason)
			}
			if len(*bounds) != c.calls {
				t.Fatalf("the vendor was asked %d times, want %d", len(*bounds), c.calls)
			}
			for _, e := range h.facts {
				if e.Type != event.CallStarted {
					continue
				}
				call, err := event.Decode[event.Call](e)
				if sent := (*bounds)[0]; err != nil || sent < 256 || sent > 600 || call.MaxOutputTokens != sent {
					t.Errorf("asked for %d tokens at most, stated %d (%v)", sent, call.MaxOutputTokens, err)
				}
			}
		})
	}
}
