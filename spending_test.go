package main_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/filelock"
)

// spoken is what a program has said so far.
type spoken struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *spoken) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *spoken) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestPolicyBoundsRunsThatBeginTogether holds up runs that were planned while all of
// a day's limit was left, and lets them go at once: together they stay below it.
func TestPolicyBoundsRunsThatBeginTogether(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.write(t, "pack.yaml", strings.Replace(hundredCases("prompt_eval"), "    scorecard:",
		"    pricing: {models: [{provider_key: scripted, provider_model_id: agent.yaml, input_cost_per_million_tokens: 1, output_cost_per_million_tokens: 1}]}\n    scorecard:", 1))
	p.write(t, "agent.yaml", `default: [{text: "done", usage: {input_tokens: 500, output_tokens: 500}}]`)
	p.must(t, "infra", "spend-policy", "create", "--name", "daily", "--window", "day", "--limit-usd", "0.15") // a run costs 0.1
	home := filepath.Join(p.dir, "home")
	if _, err := os.Stat(home); err != nil {
		t.Fatal(err)
	}
	release, err := filelock.Hold(t.Context(), filepath.Join(home, "spending"))
	if err != nil {
		t.Fatal(err)
	}
	said := make([]spoken, 3)
	var over sync.WaitGroup
	for i := range said {
		c := p.command(t.Context(), "eval", "start", "--pack", "pack.yaml", "--model", "scripted/agent.yaml", "--concurrency", "1")
		c.Stderr = &said[i]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		over.Go(func() { _ = c.Wait() }) // how each ends is for the policy to say
	}
	for i := range said {
		for !strings.Contains(said[i].String(), "gives this run a budget of $0.15") {
			select {
			case <-t.Context().Done():
				t.Fatalf("run %d was not planned: %s", i, said[i].String())
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	release()
	over.Wait()
	var policy struct {
		Spent float64 `json:"spent_usd"`
	}
	p.query(t, &policy, "infra", "spend-policy", "get", "daily")
	if policy.Spent <= 0 || policy.Spent > 0.15 {
		t.Errorf("the runs have spent %v of 0.15; they said:\n%s\n%s\n%s", policy.Spent, said[0].String(), said[1].String(), said[2].String())
	}
}
