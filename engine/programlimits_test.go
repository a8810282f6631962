package engine_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/proxy"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
	"github.com/agentclash/agentclash/scoring"
)

// TestRefusalsAreFacts: what the proxy does not let through is stated, the first
// ones each and the others by their number, and a program that fails afterwards
// fails with the last of them.
func TestRefusalsAreFacts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		asks         []string // models
		status       int
		facts, count int
		reason       string // "": not of the refusal
	}{
		{"another model", []string{"gpt-5"}, 1, 1, 0, `exited with status 1; the last thing that it asked its model was refused: the model "gpt-5" is not permitted here: use gpt-x`},
		{"an answer since", []string{"gpt-5", "gpt-x"}, 1, 1, 0, ""},
		{"a program that copes", []string{"gpt-5"}, 0, 1, 0, ""},
		{"again and again", slices.Repeat([]string{"gpt-5"}, 23), 1, 21, 3, "gpt-5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, _ := commanded(t, vendor(t, always(200, completion("ok", "", ""))), func(b *sandboxtest.MemoryBox, cmd sandbox.Command) (sandbox.Result, error) {
				for _, model := range c.asks {
					if _, _, err := asks(b, cmd, model); err != nil {
						return sandbox.Result{}, err
					}
				}
				return sandboxtest.Exited(c.status, "done", ""), nil
			})
			h.run(t)
			var facts []event.RefusedCall
			for _, e := range h.facts {
				if e.Type == event.CallRefused {
					fact, err := event.Decode[event.RefusedCall](e)
					if err != nil {
						t.Fatal(err)
					}
					facts = append(facts, fact)
				}
			}
			if len(facts) != c.facts {
				t.Fatalf("%d refusals are stated, want %d", len(facts), c.facts)
			}
			last := facts[len(facts)-1]
			if last.Code != "model_not_found" || last.Status != 404 || last.Model != "gpt-5" || last.Count != c.count {
				t.Errorf("got %+v", last)
			}
			got := h.only(t)
			if c.status == 0 && got.Outcome != scoring.OutcomePassed || c.status != 0 && got.Code != "agent_exit" {
				t.Errorf("got %s %s (%s)", got.Outcome, got.Code, got.Reason)
			}
			if !strings.Contains(got.Reason, c.reason) || c.reason == "" && strings.Contains(got.Reason, "refused") {
				t.Errorf("the reason is %q, want %q in it", got.Reason, c.reason)
			}
		})
	}
}

// TestASilentProviderOfAProgram: when the time is up during a call in which nothing
// has come for more than half of it, the provider is what failed.
func TestASilentProviderOfAProgram(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		limit   int // ms of the trial
		first   bool
		outcome scoring.Outcome
		reason  string
	}{
		{"no byte", 1000, false, scoring.OutcomeInvalid, "the provider had been silent for "},
		{"no byte after the first", 1000, true, scoring.OutcomeInvalid, "the provider had been silent for "},
		{"a call that was begun late", 3_600_000, false, scoring.OutcomeFailed, "still running"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan struct{})
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // so that the end of the connection is seen
				if c.first {
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"f\"}}]}\n\n")
					w.(http.Flusher).Flush()
				}
				close(asked)
				<-r.Context().Done()
			}))
			t.Cleanup(s.Close)
			up := &proxy.Upstream{Provider: provider.OpenAI, BaseURL: s.URL, Key: vendorKey}
			h, _ := commanded(t, up, func(b *sandboxtest.MemoryBox, cmd sandbox.Command) (sandbox.Result, error) {
				go asks(b, cmd, "gpt-x")
				<-asked
				time.Sleep(700 * time.Millisecond) // at least: more than half of the trial's time
				return sandbox.Result{ExitCode: 137, Signal: 9, TimedOut: true}, nil
			}, fmt.Sprintf("runtime_limits: {max_duration_ms: %d}", c.limit))
			h.options.RetryInvalid = 0
			h.run(t)
			got := h.only(t)
			if got.Outcome != c.outcome || got.Code != "timeout" || !strings.Contains(got.Reason, c.reason) {
				t.Errorf("got %s %s (%s)", got.Outcome, got.Code, got.Reason)
			}
			for _, e := range h.facts {
				if failed, err := event.Decode[event.CallError](e); e.Type == event.CallFailed && (err != nil || failed.SilentMS < 700) {
					t.Errorf("the call was silent for %d ms at least 700 (%v)", failed.SilentMS, err)
				}
			}
		})
	}
}

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
